"""Named poses of a YAML arm: `poses: {home: {elbow: 90deg}}`, or a list in joint order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from robolin.core.text import pluralize
from robolin.description.model import Description, PoseEntry
from robolin.description.named_poses import movable, usable_poses
from robolin.description.tree import coordinate_names, tree_of
from robolin.description.yaml.yaml_fields import Fields, fields_of
from robolin.description.yaml.yaml_nodes import Node, shown


def read_poses(arm: Fields, description: Description) -> tuple[PoseEntry, ...]:
    """Read the poses; every problem becomes a finding of `arm`."""
    node = arm.node.get("poses")
    names = [key.text for key, _ in node.pairs] if node and node.kind == "mapping" else []
    fields = arm.fields("poses", names)
    if fields is None:
        return ()
    angles = movable(description.joints)
    sound = not any(finding.level == "error" for finding in arm.findings)
    order = _joint_order(description) if sound else []
    entries = [
        PoseEntry(key.text, key.location, _positions(fields, key.text, value, angles, order))
        for key, value in fields.node.pairs
        if key.kind == "scalar"
    ]
    return usable_poses(entries, description.joints, "error", arm.findings)


def _joint_order(description: Description) -> list[str]:
    """The independent coordinates of a sound tree in the order of q; others may have cycles."""
    return [
        name
        for joint in tree_of(description).joints
        if joint.kind != "fixed" and joint.mimic is None
        for name in coordinate_names(joint)
    ]


def _positions(
    poses: Fields, name: str, value: Node, angles: Mapping[str, bool], order: Sequence[str]
) -> dict[str, float]:
    """Positions by coordinate, from a list in joint order or from a mapping."""
    what = f"pose {shown(name)}"
    if value.kind == "list" and not order:
        return {}
    if value.kind == "list":
        hint = f"one for each of {pluralize(len(order), 'joint')}: {', '.join(order)}"
        owner = replace(poses, what=what, prefix="")
        numbers = owner.numbers(name, [angles[each] for each in order], hint)
        return dict(zip(order, numbers or (), strict=numbers is not None))
    fields = fields_of(value, what, list(angles), poses.findings)
    if fields is None:
        return {}
    return {
        joint: fields.number(joint, angle=angle)
        for joint, angle in angles.items()
        if fields.has(joint)
    }
