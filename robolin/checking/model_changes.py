"""Differences between two models: parts added, removed or renamed, and changed parameters."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import atan2, hypot
from typing import Any, TypeGuard

from robolin.checking.differences import distinguishing_digits, percent
from robolin.core.quantity_table import FIGURES, joint_unit
from robolin.core.records import dataclass
from robolin.description.model import Description, Figures, with_gravity
from robolin.description.named_poses import movable

Parts = Mapping[str, Figures]

_XYZ = ("x", "y", "z")
_COMPONENTS: Mapping[str, Sequence[str]] = {
    "com": _XYZ,
    "axis": _XYZ,
    "origin": _XYZ,
    "gravity": _XYZ,
    "inertia": ("xx", "xy", "xz", "yy", "yz", "zz"),
    "rotation": ("roll", "pitch", "yaw"),
}
_EFFORT, _LOWER_EFFORT = "effort limit", "lower effort limit"
_FRICTION, _NEGATIVE_FRICTION = "friction", "negative friction"
_POSE = "pose"
_KINDS = {"links": "link", "joints": "joint", "loops": "loop"}
# keys that name other parts, which may have been renamed
_REFERENCES: Mapping[str, Mapping[str, str]] = {
    "links": {},
    "joints": {"parent": "links", "child": "links", "mimic": "joints"},
    "loops": {"first link": "links", "second link": "links"},
}
# angles are computed from a matrix: smaller changes may be round-off
_ROUNDING = 1e-14
_STRAIGHT = [1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0]


@dataclass(frozen=True)
class Change:
    """One difference between two models.

    quantity: 'mass', 'com x', …, or 'added', 'removed', 'renamed'
    old, new: numbers or words; None if the model has no value
    """

    part: str
    name: str
    quantity: str
    old: float | str | None = None
    new: float | str | None = None
    unit: str = ""

    @property
    def changes_motion(self) -> bool:
        """True if the dynamics change; which joints are actuated does not matter."""
        return self.quantity != "actuated"

    @property
    def relative(self) -> float | None:
        """The change divided by the old value, None if that is undefined."""
        if not (_is_number(self.old) and _is_number(self.new)) or not self.old:
            return None
        return (self.new - self.old) / abs(self.old)

    @property
    def values(self) -> tuple[str, str]:
        """Old and new as text."""
        if _is_number(self.old) and _is_number(self.new):
            return distinguishing_digits(self.old, self.new)
        old, new = (_shown(value) for value in (self.old, self.new))
        return old, new

    @property
    def share(self) -> str:
        """The relative change as text."""
        relative = self.relative
        return "" if relative is None else f"{'+' * (relative > 0)}{percent(relative)}"

    def __str__(self) -> str:
        subject = f"{self.part} {self.name}"
        if self.quantity in ("added", "removed"):
            return f"{subject}: {self.quantity}"
        old, new = self.values
        if self.quantity == "renamed":
            return f"{subject}: renamed to {new}"
        unit = f" {self.unit}" if self.unit and self.new is not None else ""
        share = f" ({self.share})" if self.share else ""
        return f"{subject}: {self.quantity} {old} → {new}{unit}{share}"


def model_changes(old: Figures, new: Figures) -> tuple[Change, ...]:
    """All differences between two models."""
    # models without a gravity vector use the default one
    old, new = with_gravity(old), with_gravity(new)
    renamed = {kind: _renames(old[kind], new[kind], kind) for kind in _KINDS}
    changes = list(
        _value_changes(
            "arm", old["arm"].get("name", ""), _arm_with_new_names(old, renamed), new["arm"]
        )
    )
    for kind, word in _KINDS.items():
        before, after, names = old[kind], new[kind], renamed[kind]
        for name, values in before.items():
            if names.get(name, name) not in after:
                changes.append(Change(word, name, "removed"))
                continue
            now = names.get(name, name)
            if now != name:
                changes.append(Change(word, name, "renamed", name, now))
            expected = _with_new_names(values, kind, renamed)
            changes += _value_changes(word, now, expected, after[now])
        present = {names.get(name, name) for name in before}
        changes += [Change(word, name, "added") for name in after if name not in present]
    return tuple(changes)


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
    differences: list[Change] = []
    for name, positions in before.items():
        if name in after:
            differences += _moved(name, positions, after[name], angles)
        else:
            differences.append(Change(_POSE, name, "removed"))
    differences += [Change(_POSE, name, "added") for name in after if name not in before]
    return tuple(differences)


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
            yield Change(_POSE, pose, joint, old, new, unit)


def _renames(before: Parts, after: Parts, kind: str) -> dict[str, str]:
    """Match removed parts with added parts whose numbers are all equal."""
    gone = [name for name in before if name not in after]
    fresh = [name for name in after if name not in before]
    pairs = {}
    for name in gone:
        numbers = _numbers(before[name], kind)
        same = next((other for other in fresh if _numbers(after[other], kind) == numbers), None)
        if same is not None:
            fresh.remove(same)
            pairs[name] = same
    return pairs


def _numbers(values: Figures, kind: str) -> dict[str, Any]:
    return {key: value for key, value in values.items() if key not in _REFERENCES[kind]}


def _with_new_names(
    values: Figures, kind: str, renamed: Mapping[str, Mapping[str, str]]
) -> dict[str, Any]:
    """Parameters of a part with all renamed references replaced."""
    references = _REFERENCES[kind]
    return {
        key: renamed[references[key]].get(value, value) if key in references else value
        for key, value in values.items()
    }


def _arm_with_new_names(old: Figures, renamed: Mapping[str, Mapping[str, str]]) -> dict[str, Any]:
    arm = dict(old["arm"])
    return arm | {"root": renamed["links"].get(arm.get("root", ""), arm.get("root"))}


def _value_changes(part: str, name: str, old: Figures, new: Figures) -> Iterator[Change]:
    """Changed parameters of one part, component by component."""
    # a fixed joint has no units
    moving = new if old.get("type") == "fixed" else old
    slides = moving.get("type") == "prismatic"
    old, new = _with_both_ends(old, new), _with_both_ends(new, old)
    for key in [*old, *(key for key in new if key not in old)]:
        before, after = old.get(key), new.get(key)
        if before == after:
            continue
        kind = key.rpartition(" ")[2] if key.rpartition(" ")[2] in _COMPONENTS else key
        unit = FIGURES.get(kind, ("", ""))[slides]
        if key == "actuated":
            yield Change(part, name, key, *("yes" if x is None else "no" for x in (before, after)))
        elif kind in _COMPONENTS:
            yield from _components(part, name, key, kind, before or [], after or [], unit)
        elif key in FIGURES and "limit" not in key:
            one_side = key == _FRICTION and _NEGATIVE_FRICTION in old
            shown = f"positive {key}" if one_side else key
            # a missing value is 0
            yield Change(part, name, shown, before or 0.0, after or 0.0, unit)
        else:
            yield Change(part, name, key, before, after, unit)


def _with_both_ends(values: Figures, other: Figures) -> Figures:
    """Parameters with both sides of symmetric values, if the other model has different sides."""
    more: dict[str, Any] = {}
    if _LOWER_EFFORT in other and _EFFORT in values:
        more[_LOWER_EFFORT] = -values[_EFFORT]
    if _NEGATIVE_FRICTION in other:
        more[_NEGATIVE_FRICTION] = values.get(_FRICTION, 0.0)
    return {**more, **values} if more else values


def _components(
    part: str, name: str, key: str, kind: str, before: list[float], after: list[float], unit: str
) -> Iterator[Change]:
    shown = key.removesuffix("rotation") + "origin" if kind == "rotation" else key
    if kind == "rotation":
        olds, news = (_angles(matrix or _STRAIGHT) for matrix in (before, after))
    else:
        length = len(_COMPONENTS[kind])
        olds, news = before or [0.0] * length, after or [0.0] * length
    pairs = list(zip(_COMPONENTS[kind], olds, news, strict=True))
    least = _ROUNDING if kind == "rotation" else 0.0
    changed = [(which, old, new) for which, old, new in pairs if abs(new - old) > least]
    if not changed and kind == "rotation":
        # a rotation too small to change the angles
        yield Change(part, name, f"{shown} rotation", str(before), str(after))
    for which, old, new in changed:
        yield Change(part, name, f"{shown} {which}", old, new, unit)


def _angles(R: Sequence[float]) -> list[float]:
    """Roll, pitch and yaw of a row-major rotation matrix; yaw is 0 in gimbal lock."""
    level = hypot(R[0], R[3])
    if level < 1e-12:
        return [atan2(-R[5], R[4]), atan2(-R[6], level), 0.0]
    return [atan2(R[7], R[8]), atan2(-R[6], level), atan2(R[3], R[0])]


def _is_number(value: object) -> TypeGuard[float]:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _shown(value: float | str | None) -> str:
    return "none" if value is None else f"{value:.5g}" if isinstance(value, float) else str(value)
