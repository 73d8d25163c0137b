"""Numbers as people type them into flags: `0,0.5,-1.2` or `elbow=30deg,wrist=-1.2`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import isfinite, radians
from typing import TYPE_CHECKING, NamedTuple

from robolin.errors import UsageError
from robolin.wording import counted, did_you_mean, quoted

if TYPE_CHECKING:
    from robolin.arm import Arm

# plain decimal notation: Python's float() would also take 1_000, nan and ٣
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)


class Figure(NamedTuple):
    """A number, already in rad if it was typed in degrees."""

    value: float
    degrees: bool = False


class Typed(NamedTuple):
    """What stands after a flag, for messages that repeat it."""

    flag: str
    text: str

    def wrong(self, message: str, hint: str = "") -> UsageError:
        return UsageError(message, where=f"{self.flag}={self.text}", hint=hint)


def figure(typed: Typed, item: str) -> Figure:
    """One number, with or without `deg` behind it."""
    item = item.strip()
    plain = item.removesuffix("deg").rstrip()
    if not _NUMBER.fullmatch(plain):
        what = f"'{item}' is not a number" if item else "a number is missing"
        raise typed.wrong(what, "numbers look like 0.5, -1.2 or 1e-3, separated by commas")
    value = float(plain)
    if not isfinite(value):
        raise typed.wrong(f"'{item}' is too large a number")
    return Figure(radians(value), True) if plain != item else Figure(value)


def number(typed: Typed, item: str) -> float:
    """One number that cannot be an angle."""
    value, degrees = figure(typed, item)
    if degrees:
        raise typed.wrong(f"'{item.strip()}' is not an angle", "leave out 'deg'")
    return value


def numbers(typed: Typed, text: str, count: int, what: str) -> list[float]:
    """Exactly so many numbers with commas between them; `what` names them."""
    values = [number(typed, item) for item in text.split(",")]
    if len(values) != count:
        raise typed.wrong(f"{len(values)} numbers, not {count}", f"it takes {what}")
    return values


def named(typed: Typed, form: str = "JOINT=VALUE") -> dict[str, Figure]:
    """`name=number` entries with commas between them; `form` tells what they look like."""
    entries: dict[str, Figure] = {}
    for item in typed.text.split(","):
        # a name may contain '=', a number may not
        name, equals, value = item.rpartition("=")
        name = name.strip()
        if not equals or not name:
            raise typed.wrong(f"'{item.strip()}' is not {form}")
        if name in entries:
            raise typed.wrong(f"'{name}' is there twice", "keep one of them")
        entries[name] = figure(typed, value)
    return entries


def per_joint(typed: Typed, arm: Arm, angular: bool, positions: bool = False) -> list[float]:
    """One value per joint of the arm, in its order; `angular` if turning joints may use degrees.

    Among positions, a quaternion may stand for the angles of a floating joint.
    """
    items = typed.text.split(",")
    with_name = sum("=" in item for item in items)
    if with_name == 0:
        figures = [figure(typed, item) for item in items]
        if len(figures) != arm.n:
            raise typed.wrong(
                f"{counted(len(figures), 'value')}, but '{arm.name}' has {counted(arm.n, 'joint')}",
                f"the joints are, in order: {', '.join(arm.joint_names)}",
            )
    elif with_name == len(items):
        entries = named(typed)
        if positions:
            entries = _without_quaternions(typed, entries, arm)
        _require_known(typed, list(entries), arm)
        figures = [entries.get(name, Figure(0.0)) for name in arm.joint_names]
    else:
        raise typed.wrong(
            "some values have a name and some have none",
            "either one value per joint, or JOINT=VALUE everywhere",
        )
    _require_angles(typed, figures, arm, angular)
    return [value for value, _ in figures]


def quaternion_names(arm: Arm) -> dict[str, list[str]]:
    """For every floating joint, what the four numbers of its quaternion are called."""
    floating = (group.name for group in arm.groups if group.kind == "floating")
    return {name: [f"{name}:q{letter}" for letter in "xyzw"] for name in floating}


def _without_quaternions(typed: Typed, entries: dict[str, Figure], arm: Arm) -> dict[str, Figure]:
    """The entries with every quaternion turned into roll, pitch and yaw."""
    for joint, names in quaternion_names(arm).items():
        given = [name for name in names if name in entries]
        angles = [f"{joint}:{part}" for part in ("rx", "ry", "rz")]
        if not given:
            continue
        if missing := [name for name in names if name not in entries]:
            raise typed.wrong(f"the quaternion of '{joint}' has no {', '.join(missing)}")
        if both := [name for name in angles if name in entries]:
            message = f"'{joint}' has both a quaternion and {', '.join(both)}"
            raise typed.wrong(message, "keep one of them: they say the same")
        turn = _rpy(typed, joint, [entries[name] for name in names])
        kept = {name: value for name, value in entries.items() if name not in names}
        entries = {**kept, **dict(zip(angles, turn, strict=True))}
    return entries


def _rpy(typed: Typed, joint: str, figures: Sequence[Figure]) -> list[Figure]:
    import numpy as np

    from robolin.geometry.quaternions import LENGTH_TOLERANCE, rpy_from_quaternion

    if any(degrees for _, degrees in figures):
        raise typed.wrong(f"the quaternion of '{joint}' has no angles in it", "leave out 'deg'")
    quaternion = np.array([value for value, _ in figures])
    length = float(np.linalg.norm(quaternion))
    if abs(length - 1.0) > LENGTH_TOLERANCE:
        raise typed.wrong(f"the quaternion of '{joint}' has length {length:.9g}, not 1")
    return [Figure(float(angle)) for angle in rpy_from_quaternion(quaternion / length)]


def _require_known(typed: Typed, names: Sequence[str], arm: Arm) -> None:
    followers = {link.joint.name: link.joint.mimic for link in arm.links if link.joint.mimic}
    for name in names:
        if rule := followers.get(name):
            hint = f"its place follows from '{rule.leader}'"
            raise typed.wrong(f"joint '{name}' mimics another and has no value of its own", hint)
        if name in arm.still_joints:
            hint = "leave it out, or let it move: it is locked, or off the chain from base to tip"
            raise typed.wrong(f"joint '{name}' stands still and has no value", hint)
        if name not in arm.joint_names:
            freedoms = [each for each in arm.joint_names if each.startswith(f"{name}:")]
            hint = f"its freedoms are {quoted(freedoms)}"
            hint = hint if freedoms else did_you_mean(name, arm.joint_names)
            raise typed.wrong(f"'{arm.name}' has no moving joint '{name}'", hint)


def _require_angles(typed: Typed, figures: Sequence[Figure], arm: Arm, angular: bool) -> None:
    for joint, (_, degrees) in zip(arm.joints, figures, strict=True):
        if degrees and not angular:
            raise typed.wrong(f"joint '{joint.name}': this is not an angle", "leave out 'deg'")
        if degrees and not joint.turns:
            raise typed.wrong(f"joint '{joint.name}' slides: its values are in m, not in deg")
