"""Parse the values of options that users type, such as `0,0.5,pi/2` or `elbow=30deg,wrist=-1.2`.

Every error names the flag with its text, the invalid part, and an example.
Do not import NumPy here: reading a description needs this module.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from robolin.core.text import (
    ParsedNumber,
    closest_match,
    did_you_mean,
    is_number,
    number_or_problem,
    pluralize,
    quote_list,
)
from robolin.errors import UsageError

if TYPE_CHECKING:
    from robolin.core.arm import Arm

_ROWS = r"\s*(\d{0,18})\s*:\s*(\d{0,18})\s*"
_SHARD = r"\s*(\d{1,9})\s*/\s*(\d{1,9})\s*"
FREQUENCIES = "write FIRST:LAST:COUNT (logarithmic) or a comma-separated list, in rad/s"
# model options that can be swept: text before, values, text after
SWEPT_FORMS = {
    "payload": r"(?P<before>.+:)(?P<values>[^:@]*,[^:@]*)(?P<behind>@.*)?",
    "armature": r"(?P<before>[^=,]+=)(?P<values>[^=]*,[^=]*)(?P<behind>)",
    "lock": r"(?P<before>[^=,]+=)(?P<values>[^=]*,[^=]*)(?P<behind>)",
    "friction-velocity": r"(?P<before>)(?P<values>[^=]*,[^=]*)(?P<behind>)",
}
HOLD_TORQUE = "hold"
# more values are not repeated in a hint
_FEW_JOINTS = 12
KEEP_ONE = "keep only one of the values"

Vector3 = tuple[float, float, float]


class FlagText(NamedTuple):
    """A flag and the text of its value, for error messages."""

    flag: str
    text: str

    def wrong(self, message: str, hint: str = "") -> UsageError:
        return UsageError(message, where=f"{self.flag}={self.text}", hint=hint)


# numbers


_NUMBERS = "write numbers like 0.5, -1.2, 1e-3, 30deg or pi/2, separated by commas"


def parse_number(typed: FlagText, item: str, hint: str = _NUMBERS) -> ParsedNumber:
    """Parse a number with an optional suffix `deg` or `°`, or a fraction of π such as `-pi/2`."""
    parsed = number_or_problem(item.strip())
    if isinstance(parsed, ParsedNumber):
        return parsed
    raise typed.wrong(parsed, hint if parsed.endswith(("not a number", "missing")) else "")


def number(typed: FlagText, item: str | None = None) -> float:
    """Parse a number that is not an angle: the whole text, or a part of it."""
    item = typed.text if item is None else item
    value, angle = parse_number(typed, item, "write numbers like 0.5 or 1e-3, without a unit")
    if angle:
        raise typed.wrong(f"'{item.strip()}' is an angle", "give a plain number")
    return value


def numbers(
    typed: FlagText, what: str, *counts: int, text: str | None = None, separator: str = ","
) -> list[float]:
    """Parse separated numbers, as many as one of `counts`; `what` describes them in the hint."""
    text = typed.text if text is None else text
    values = [number(typed, item) for item in text.split(separator)]
    if counts and len(values) not in counts:
        allowed = " or ".join(map(str, counts))
        raise typed.wrong(f"must have {allowed} numbers, got {len(values)}", f"write {what}")
    return values


# names and pairs


def parse_names(text: str) -> tuple[str, ...]:
    """Split comma-separated names."""
    return tuple(name.strip() for name in text.split(","))


def split_name(
    typed: FlagText, form: str, example: str, text: str | None = None, separator: str = "="
) -> tuple[str, str]:
    """Split NAME=REST at the last separator, since a name may contain it."""
    name, separated, rest = (typed.text if text is None else text).rpartition(separator)
    if not separated or not name:
        raise typed.wrong(f"must have the form {form}", f"write for example {example}")
    return name, rest


def parse_pairs(flag: str, texts: Iterable[str], separator: str = "=") -> dict[str, str]:
    """Parse NAME=VALUE texts of a repeatable flag."""
    pairs: dict[str, str] = {}
    for text in texts:
        typed = FlagText(flag, text)
        name, separated, value = text.partition(separator)
        if not separated or not name.strip():
            raise typed.wrong(f"must have the form NAME{separator}VALUE")
        _require_new(typed, name.strip(), pairs)
        pairs[name.strip()] = value
    return pairs


def parse_keyed(
    flag: str, texts: Iterable[str], keys: Sequence[str], example: str
) -> dict[str, FlagText]:
    """Parse KEY=VALUES texts of a repeatable flag into the values of each key."""
    values: dict[str, FlagText] = {}
    for text in texts:
        typed = FlagText(flag, text)
        key, equals, rest = (part.strip() for part in text.partition("="))
        if not equals or key not in keys:
            raise typed.wrong(
                f"must be one of {', '.join(keys)}, got '{key}'", f"write for example {example}"
            )
        _require_new(typed, key, values)
        values[key] = FlagText(f"{flag}={key}", rest)
    return values


def parse_named_numbers(
    flag: str,
    texts: Iterable[str],
    form: str = "JOINT=VALUE",
    is_angle: Callable[[str], bool] = lambda _: True,
) -> dict[str, ParsedNumber]:
    """Parse comma-separated NAME=NUMBER entries of a repeatable flag.

    form:     description of one entry in error messages
    is_angle: whether the value of a name may be an angle
    """
    entries: dict[str, ParsedNumber] = {}
    for text in texts:
        typed = FlagText(flag, text)
        for item in text.split(","):
            # a name may contain '=', a number may not
            name, equals, value = item.rpartition("=")
            name = name.strip()
            if not equals or not name:
                value = item.strip()
                hint = (
                    f"write NAME={value}" if is_number(value) else f"write {value or 'NAME'}=VALUE"
                )
                raise typed.wrong(f"'{item.strip()}' must have the form {form}", hint)
            _require_new(typed, name, entries)
            entries[name] = parse_number(typed, value)
            if entries[name].angle and not is_angle(name):
                raise typed.wrong(f"the value of '{name}' is not an angle", "omit 'deg'")
    return entries


def _require_new(typed: FlagText, name: str, existing: Mapping[str, Any]) -> None:
    if name in existing:
        raise typed.wrong(f"'{name}' is given twice", KEEP_ONE)


# values per joint


def _repeated(items: Sequence[str], joints: int) -> str:
    """End of a hint for one value: the text of the same value for all joints."""
    if len(items) != 1 or joints > _FEW_JOINTS:
        return ""
    return f"; write {','.join([items[0].strip()] * joints)} for the same value on all joints"


def parse_per_joint(
    typed: FlagText, arm: Arm, angular: bool, positions: bool = False
) -> list[float]:
    """Parse one value per joint, in the arm's order; `angular` allows degrees for revolute joints.

    Among positions, a quaternion may replace the angles of a floating joint, and the name of a
    pose may replace all values.
    """
    if positions and (pose := named_pose(typed, arm)) is not None:
        return list(pose)
    items = typed.text.split(",")
    named = ["=" in item for item in items]
    if not any(named):
        parsed = [parse_number(typed, item) for item in items]
        if len(parsed) != arm.n:
            raise typed.wrong(
                f"got {pluralize(len(parsed), 'value')}, but '{arm.name}' has "
                f"{pluralize(arm.n, 'joint')}",
                f"joint order: {', '.join(arm.joint_names)}{_repeated(items, arm.n)}",
            )
    elif all(named):
        entries = parse_named_numbers(typed.flag, (typed.text,))
        if positions:
            entries = _without_quaternions(typed, entries, arm)
        for name in entries:
            _require_moving_joint(typed, name, arm)
        parsed = [entries.get(name, ParsedNumber(0.0)) for name in arm.joint_names]
    else:
        raise typed.wrong(
            "some values have a joint name and others do not",
            "write one value per joint, or JOINT=VALUE for every value",
        )
    for joint, (_, angle) in zip(arm.joints, parsed, strict=True):
        if angle and not angular:
            message = f"joint '{joint.name}': the value is not an angle"
            raise typed.wrong(message, "give a plain number")
        if angle and not joint.turns:
            raise typed.wrong(f"joint '{joint.name}' is prismatic: its values are in m, not angles")
    return [value for value, _ in parsed]


def named_pose(typed: FlagText, arm: Arm) -> tuple[float, ...] | None:
    """The positions (n,) of a named pose; None for numbers, an unknown name is an error."""
    name, poses = typed.text.strip(), dict(arm.named_poses)
    if name in poses or not name or "," in name or "=" in name or is_number(name):
        return poses.get(name)
    words = name.split()
    if len(words) > 1 and all(map(is_number, words)):
        raise typed.wrong("the values must be separated by commas", f"write {','.join(words)}")
    if not poses:
        adds = "the key 'poses:'" if arm.source.endswith((".yaml", ".yml")) else "--srdf FILE"
        hint = f"write 0.5, 30deg or pi/2; '{arm.name}' has no named poses ({adds} adds poses)"
        raise typed.wrong(f"'{name}' is not a number", hint)
    near = closest_match(name, poses)
    hint = f"did you mean '{near}'? " * bool(near) + f"the poses are {quote_list(list(poses))}"
    raise typed.wrong(f"'{name}' is not a number and not a pose of '{arm.name}'", hint)


def parse_one_or_per_joint(typed: FlagText, arm: Arm) -> float | list[float]:
    """Parse one number for all joints, or one per joint."""
    one = "," not in typed.text and "=" not in typed.text
    return number(typed) if one else parse_per_joint(typed, arm, False)


def quaternion_names(arm: Arm) -> dict[str, list[str]]:
    """Names of the four quaternion components of each spherical or floating joint."""
    floating = (group.name for group in arm.groups if group.kind != "planar")
    return {name: [f"{name}:q{letter}" for letter in "xyzw"] for name in floating}


def _without_quaternions(
    typed: FlagText, entries: dict[str, ParsedNumber], arm: Arm
) -> dict[str, ParsedNumber]:
    """Replace every quaternion by roll, pitch and yaw."""
    for joint, names in quaternion_names(arm).items():
        present = [name for name in names if name in entries]
        angles = [f"{joint}:{part}" for part in ("rx", "ry", "rz")]
        if not present:
            continue
        if missing := [name for name in names if name not in entries]:
            raise typed.wrong(f"the quaternion of '{joint}' lacks {', '.join(missing)}")
        if both := [name for name in angles if name in entries]:
            message = f"'{joint}' has both a quaternion and {', '.join(both)}"
            raise typed.wrong(message, KEEP_ONE)
        rpy = _rpy(typed, joint, [entries[name] for name in names])
        others = {name: value for name, value in entries.items() if name not in names}
        entries = {**others, **dict(zip(angles, rpy, strict=True))}
    return entries


def _rpy(typed: FlagText, joint: str, parsed: Sequence[ParsedNumber]) -> list[ParsedNumber]:
    from robolin.core.configuration import LENGTH_TOLERANCE, quaternion_angles

    if any(angle for _, angle in parsed):
        raise typed.wrong(
            f"the quaternion of '{joint}' must not contain angles", "give plain numbers"
        )
    length, angles = quaternion_angles([value for value, _ in parsed])
    if abs(length - 1.0) > LENGTH_TOLERANCE:
        raise typed.wrong(f"the quaternion of '{joint}' must have length 1, got {length:.9g}")
    return [ParsedNumber(angle) for angle in angles]


def _require_moving_joint(typed: FlagText, name: str, arm: Arm) -> None:
    followers = {link.joint.name: link.joint.mimic for link in arm.links if link.joint.mimic}
    if rule := followers.get(name):
        hint = f"set joint '{rule.leader}' instead"
        raise typed.wrong(f"joint '{name}' is a mimic joint and has no value of its own", hint)
    if name in arm.locked_joints:
        hint = "omit the joint, which is locked or not on the chain from base to tip"
        raise typed.wrong(f"joint '{name}' is locked and has no value", hint)
    if name not in arm.joint_names:
        coordinates = [each for each in arm.joint_names if each.startswith(f"{name}:")]
        hint = f"set the degrees of freedom {quote_list(coordinates)} of the joint"
        hint = hint if coordinates else did_you_mean(name, arm.joint_names)
        raise typed.wrong(f"'{arm.name}' has no movable joint '{name}'", hint)


# forms of single options


def parse_seconds(typed: FlagText) -> float:
    """Parse a positive time in s."""
    value = number(typed)
    if not value > 0.0:
        hint = f"write for example {typed.flag} 0.01"
        raise typed.wrong("must be > 0 s", hint)
    return value


def parse_gravity(typed: FlagText) -> Vector3 | float:
    """Parse X,Y,Z, or a magnitude that points downwards."""
    parts = numbers(typed, "X,Y,Z, or 0 for no gravity", 1, 3)
    if len(parts) == 3:
        x, y, z = parts
        return x, y, z
    (down,) = parts
    if down < 0.0:
        hint = f"write {-down:g}, or the components 0,0,{down:g}"
        raise typed.wrong(f"a single number is a magnitude and must be ≥ 0, got {down:g}", hint)
    return abs(down)


def parse_payload(typed: FlagText) -> tuple[str, float, Vector3]:
    """Parse LINK:MASS[@X,Y,Z] into link, mass and position."""
    head, at, point = typed.text.rpartition("@")
    text = head if at else typed.text
    link, mass = split_name(typed, "LINK:MASS[@X,Y,Z]", "tool0:1.5@0,0,0.1", text, ":")
    x, y, z = (0.0, 0.0, 0.0)
    if at:
        x, y, z = numbers(typed, "X,Y,Z after the @", 3, text=point)
    return link, number(typed, mass), (x, y, z)


def parse_wrench(typed: FlagText) -> tuple[str, Vector3, Vector3]:
    """Parse LINK=FX,FY,FZ,TX,TY,TZ into link, force and moment."""
    form = "FX,FY,FZ,TX,TY,TZ"
    link, load = split_name(typed, f"LINK={form}", "tool0=0,0,-10,0,0,0")
    fx, fy, fz, tx, ty, tz = numbers(typed, form, 6, text=load)
    return link, (fx, fy, fz), (tx, ty, tz)


def parse_pose(typed: FlagText) -> tuple[str, list[float], Vector3]:
    """Parse FRAME=X,Y,Z,ROLL,PITCH,YAW into frame, position and angles."""
    form, example = "FRAME=X,Y,Z,ROLL,PITCH,YAW", "tool0=0.4,0,0.5,0,90deg,0"
    frame, pose = split_name(typed, form, example)
    parsed = [parse_number(typed, item) for item in pose.split(",")]
    if len(parsed) != 6:
        raise typed.wrong(f"must have the form {form}", f"write for example {example}")
    if any(degrees for _, degrees in parsed[:3]):
        raise typed.wrong("X, Y and Z are in m, so they cannot be in degrees")
    x, y, z, roll, pitch, yaw = (value for value, _ in parsed)
    return frame.strip(), [x, y, z], (roll, pitch, yaw)


def parse_time_window(typed: FlagText) -> tuple[str, float, float] | None:
    """Parse VALUES@FROM:TO into values, start and end; None without a time."""
    values, at, window = typed.text.partition("@")
    if not at:
        return None
    example = "write for example elbow=5@0.5:0.7, in s"
    times = numbers(typed, "FROM:TO", text=window, separator=":")
    if len(times) != 2:
        raise typed.wrong("the time must have the form FROM:TO", example)
    if not 0.0 <= times[0] < times[1]:
        raise typed.wrong("the times must satisfy 0 ≤ FROM < TO", example)
    return values, times[0], times[1]


def split_hold(text: str) -> tuple[bool, str]:
    """Split 'hold+VALUES': whether gravity is compensated, and the other torques."""
    first, _, rest = text.partition("+")
    return (True, rest.strip()) if first.strip() == HOLD_TORQUE else (False, text)


def parse_frequencies(typed: FlagText) -> tuple[list[float], int | None]:
    """Parse frequencies in rad/s: a list, or the ends of a range and its number of values."""
    if ":" not in typed.text:
        return numbers(typed, FREQUENCIES), None
    *ends, count = numbers(typed, FREQUENCIES, separator=":")
    if len(ends) != 2 or count != int(count) or count < 2 or not min(ends) > 0.0:
        raise typed.wrong(
            "FIRST and LAST must be > 0, and COUNT must be an integer ≥ 2", FREQUENCIES
        )
    return ends, int(count)


def parse_rows(typed: FlagText) -> tuple[int, int | None]:
    """Parse FIRST:STOP; STOP is None for the end."""
    match = re.fullmatch(_ROWS, typed.text)
    if match is None:
        hint = "write for example 1000:2000, 1000: or :2000; the first row is 0"
        raise typed.wrong("must have the form FIRST:STOP", hint)
    first, stop = int(match[1] or 0), int(match[2]) if match[2] else None
    if stop is not None and stop <= first:
        raise typed.wrong("STOP must be greater than FIRST", "choose a larger STOP")
    return first, stop


def parse_shard(typed: FlagText) -> tuple[int, int]:
    """Parse NUMBER/COUNT, counted from 1."""
    match, hint = re.fullmatch(_SHARD, typed.text), "1/16, 2/16, … 16/16"
    if match is None:
        raise typed.wrong("must have the form NUMBER/COUNT", hint)
    index, count = int(match[1]), int(match[2])
    if not 1 <= index <= count:
        message = f"NUMBER must be from 1 to {count}, got {index}" if count else "COUNT must be ≥ 1"
        raise typed.wrong(message, hint)
    return index, count


def parse_swept(label: str, text: str) -> tuple[str, tuple[str, ...], tuple[float, ...]] | None:
    """Parse a model option with several values: what it is about, each option text and value."""
    parts = re.fullmatch(SWEPT_FORMS[label], text)
    if parts is None:
        return None
    before, items, typed = parts["before"], parts["values"].split(","), FlagText(f"--{label}", text)
    texts = tuple(f"{before}{item.strip()}{parts['behind'] or ''}" for item in items)
    return before.rstrip(":="), texts, tuple(parse_number(typed, item).value for item in items)


# texts


def text_of(value: Any) -> str:
    """Format a value as users type it; floats use the fewest digits that round-trip."""
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping):
        return ",".join(f"{name}={text_of(item)}" for name, item in value.items())
    if hasattr(value, "tolist"):
        # an array or a number of NumPy's
        return text_of(value.tolist())
    if isinstance(value, (list, tuple)):
        return ",".join(map(text_of, value))
    return repr(value) if isinstance(value, float) else str(value)
