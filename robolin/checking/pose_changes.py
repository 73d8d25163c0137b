"""Differences between the named poses of two robot files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from robolin.checking.model_changes import Change
from robolin.core.quantity_table import joint_unit
from robolin.description.model import Description
from robolin.description.named_poses import movable

_PART = "pose"


def pose_changes(
    old: Description, new: Description, changes: Iterable[Change]
) -> tuple[Change, ...]:
    """Poses added and removed, and joints at another position; unmentioned joints are at 0.

    changes: other differences of the models, with renamed joints
    """
    renamed = {
        change.name: str(change.new)
        for change in changes
        if (change.part, change.quantity) == ("joint", "renamed")
    }
    before = {
        pose.name: {renamed.get(name, name): value for name, value in pose.positions.items()}
        for pose in old.poses
    }
    after = {pose.name: dict(pose.positions) for pose in new.poses}
    angles = {**movable(old.joints), **movable(new.joints)}
    found: list[Change] = []
    for name, positions in before.items():
        if name in after:
            found += _moved(name, positions, after[name], angles)
        else:
            found.append(Change(_PART, name, "removed"))
    found += [Change(_PART, name, "added") for name in after if name not in before]
    return tuple(found)


def _moved(
    pose: str,
    before: Mapping[str, float],
    after: Mapping[str, float],
    angles: Mapping[str, bool],
) -> Iterator[Change]:
    for joint in {**before, **after}:
        old, new = before.get(joint, 0.0), after.get(joint, 0.0)
        if old != new:
            unit = joint_unit("position", angles.get(joint, True))
            yield Change(_PART, pose, joint, old, new, unit)
