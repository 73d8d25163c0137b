"""Parse one value per joint: in the arm's order, by name, or as a quaternion."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from robolin.core.number_parsing import FlagText, ParsedNumber, parse_named_numbers, parse_number
from robolin.core.text import did_you_mean, pluralize, quote_list

if TYPE_CHECKING:
    from robolin.core.arm import Arm
    from robolin.core.arrays import Floats


def parse_per_joint(
    typed: FlagText, arm: Arm, angular: bool, positions: bool = False
) -> list[float]:
    """Parse one value per joint, in the arm's order; `angular` allows degrees for revolute joints.

    Among positions, a quaternion may replace the angles of a floating joint.
    """
    items = typed.text.split(",")
    with_name = sum("=" in item for item in items)
    if with_name == 0:
        parsed = [parse_number(typed, item) for item in items]
        if len(parsed) != arm.n:
            raise typed.wrong(
                f"{pluralize(len(parsed), 'value')}, "
                f"but '{arm.name}' has {pluralize(arm.n, 'joint')}",
                f"the joints are, in order: {', '.join(arm.joint_names)}",
            )
    elif with_name == len(items):
        entries = parse_named_numbers(typed)
        if positions:
            entries = _without_quaternions(typed, entries, arm)
        _require_known(typed, list(entries), arm)
        parsed = [entries.get(name, ParsedNumber(0.0)) for name in arm.joint_names]
    else:
        raise typed.wrong(
            "some values have a name and some have none",
            "either one value per joint, or JOINT=VALUE everywhere",
        )
    _require_angles(typed, parsed, arm, angular)
    return [value for value, _ in parsed]


def quaternion_names(arm: Arm) -> dict[str, list[str]]:
    """Names of the four quaternion components of each spherical or floating joint."""
    floating = (group.name for group in arm.groups if group.kind != "planar")
    return {name: [f"{name}:q{letter}" for letter in "xyzw"] for name in floating}


def _without_quaternions(
    typed: FlagText, entries: dict[str, ParsedNumber], arm: Arm
) -> dict[str, ParsedNumber]:
    """Replace every quaternion by roll, pitch and yaw."""
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
        rpy = _rpy(typed, joint, [entries[name] for name in names])
        others = {name: value for name, value in entries.items() if name not in names}
        entries = {**others, **dict(zip(angles, rpy, strict=True))}
    return entries


def _rpy(typed: FlagText, joint: str, parsed: Sequence[ParsedNumber]) -> list[ParsedNumber]:
    import numpy as np

    from robolin.core.quaternions import LENGTH_TOLERANCE, rpy_from_quaternion

    if any(angle for _, angle in parsed):
        raise typed.wrong(
            f"the quaternion of '{joint}' has no angles in it", "a plain number is needed"
        )
    quaternion = np.array([value for value, _ in parsed])
    length = float(np.linalg.norm(quaternion))
    if abs(length - 1.0) > LENGTH_TOLERANCE:
        raise typed.wrong(f"the quaternion of '{joint}' has length {length:.9g}, not 1")
    return [ParsedNumber(float(angle)) for angle in rpy_from_quaternion(quaternion / length)]


def _require_known(typed: FlagText, names: Sequence[str], arm: Arm) -> None:
    followers = {link.joint.name: link.joint.mimic for link in arm.links if link.joint.mimic}
    for name in names:
        if rule := followers.get(name):
            hint = f"its place follows from '{rule.leader}'"
            raise typed.wrong(f"joint '{name}' mimics another and has no value of its own", hint)
        if name in arm.locked_joints:
            hint = "leave it out, or let it move: it is locked, or off the chain from base to tip"
            raise typed.wrong(f"joint '{name}' stands still and has no value", hint)
        if name not in arm.joint_names:
            coordinates = [each for each in arm.joint_names if each.startswith(f"{name}:")]
            hint = f"its freedoms are {quote_list(coordinates)}"
            hint = hint if coordinates else did_you_mean(name, arm.joint_names)
            raise typed.wrong(f"'{arm.name}' has no moving joint '{name}'", hint)


def _require_angles(
    typed: FlagText, parsed: Sequence[ParsedNumber], arm: Arm, angular: bool
) -> None:
    for joint, (_, angle) in zip(arm.joints, parsed, strict=True):
        if angle and not angular:
            raise typed.wrong(
                f"joint '{joint.name}': this is not an angle", "a plain number is needed"
            )
        if angle and not joint.turns:
            raise typed.wrong(f"joint '{joint.name}' slides: its values are in m, not angles")


def accelerations_text(arm: Arm, prescribed: Floats, qdd: Sequence[float] | None) -> str:
    """Describe the accelerations of prescribed joints: their values, or zero by default.

    prescribed: 1 for every coordinate (n,) with prescribed acceleration, 0 for the others
    """
    from robolin.description.building.contract import group_by_value

    if qdd is None:
        return "zero (not given)"
    joints = zip(arm.joint_names, qdd, prescribed.tolist(), strict=True)
    values = {name: float(value) for name, value, own in joints if own}
    return f"given ({group_by_value(values) or 'zero'})"
