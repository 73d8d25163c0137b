"""Optional keys of a joint in a YAML arm, common to `joints:` and `dh:`, and loop closures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import field, replace
from math import isfinite
from typing import Any, cast, get_args

from robolin.core.arm import HERE, NO_TURN, Limits, LoopKind, Mimic, Pose, effort_ends
from robolin.core.arm_parts import rotation_from_rpy
from robolin.core.records import dataclass
from robolin.core.text import did_you_mean
from robolin.description.model import (
    JOINT_TYPES,
    EntryKind,
    Finding,
    JointEntry,
    LinkEntry,
    LoopEnd,
    LoopEntry,
    SourceLocation,
)
from robolin.description.yaml.yaml_fields import Fields, fields_of, name_or_number

ORIGIN_KEYS = ("xyz", "rpy")
LIMIT_KEYS = ("lower", "upper", "velocity", "effort")
MIMIC_KEYS = ("joint", "ratio", "offset")
SPRING_KEYS = ("stiffness", "rest")
DYNAMICS_KEYS = (
    *("damping", "friction", "armature", "rotor_inertia", "gear_ratio", *SPRING_KEYS),
    "friction_velocity",
)
FRICTION_KEYS = ("positive", "negative")
MOTION_KEYS = ("limits", *DYNAMICS_KEYS, "mimic", "actuated")


@dataclass
class YamlJoints:
    """The joints read from a file, their additional frames, and the ignored values."""

    joints: list[JointEntry] = field(default_factory=list)
    frames: list[LinkEntry] = field(default_factory=list)
    ignored: list[str] = field(default_factory=list)


def pose_of(fields: Fields) -> Pose:
    """The pose in `origin: {xyz: …, rpy: …}`; omitted parts are zero."""
    origin = fields.fields("origin", ORIGIN_KEYS)
    if origin is None:
        return Pose()
    rotation = (
        rotation_from_rpy(*origin.vector("rpy", angle=True)) if origin.has("rpy") else NO_TURN
    )
    return Pose(rotation, origin.vector("xyz"))


def with_motion(joint: JointEntry, fields: Fields, written: YamlJoints) -> JointEntry:
    """The joint with its limits, damping, friction, armature, spring, mimic rule and motor."""
    if joint.kind == "fixed":
        _ignore_keys(fields, ("axis", *MOTION_KEYS), "a fixed joint does not move", written)
        return joint
    joint_type = JOINT_TYPES[joint.kind]
    if not joint_type.axes:
        _ignore_keys(fields, ("axis",), f"a {joint.kind} joint {joint_type.motion}", written)
    if "axis2" not in joint_type.axes:
        kinds = [kind for kind, other in JOINT_TYPES.items() if "axis2" in other.axes]
        why = f"only a {' or '.join(kinds)} joint has a second axis"
        _ignore_keys(fields, ("axis2",), why, written)
    if joint_type.two_units:
        why = "a single limit cannot apply to a position in m and an angle in rad"
        _ignore_keys(fields, ("limits",), why, written)
    if fields.has("mimic"):
        why = "a mimic joint has no motor"
        _ignore_keys(fields, ("actuated",), why, written)
    return replace(
        joint,
        limits=_limits(fields, joint.kind, written),
        damping=fields.number("damping"),
        **_friction(fields),
        friction_velocity=_friction_velocity(fields),
        armature=_armature(fields),
        mimic=_mimic(fields, joint_type.rotary),
        actuated=fields.has("mimic") or fields.truth("actuated", True),
        stiffness=fields.number("stiffness"),
        rest=_rest(fields, joint.kind, written),
        locations={**joint.locations, **_motion_places(fields)},
    )


def _limits(fields: Fields, kind: EntryKind, written: YamlJoints) -> Limits:
    limits = fields.fields("limits", LIMIT_KEYS)
    if limits is None:
        return Limits()
    turns = JOINT_TYPES[kind].rotary
    lower, upper, velocity = (limits.maybe_number(key, angle=turns) for key in LIMIT_KEYS[:3])
    effort, effort_lower = _effort(limits)
    if kind == "continuous":
        why = "a continuous joint has no position limits; use type revolute"
        _ignore_keys(limits, ("lower", "upper"), why, written)
        lower = upper = None
    return Limits(lower, upper, velocity, effort, effort_lower)


def _effort(limits: Fields) -> tuple[float | None, float | None]:
    """`effort: 4` for both directions, or `effort: [-3, 4]`."""
    if not limits.is_kind("effort", "list"):
        return limits.maybe_number("effort"), None
    ends = limits.pair("effort", "write effort: [-3, 4], the lower and the upper limit")
    if ends is None:
        return None, None
    lower, upper = ends
    if lower > upper:
        message = (
            f"{limits.what}: limits.effort: the lower limit {lower:g} is above the upper limit "
            f"{upper:g}"
        )
        hint = f"write effort: [{upper:g}, {lower:g}]"
        limits.error("effort-limits-inverted", limits.location("effort"), message, hint)
        return None, None
    return effort_ends(lower, upper)


def _friction(fields: Fields) -> dict[str, Any]:
    """`friction: 2` for both directions, or `friction: {positive: 2, negative: 3}`."""
    if not fields.is_kind("friction", "mapping"):
        return {"friction": fields.number("friction")}
    sides = fields.fields("friction", FRICTION_KEYS)
    if sides is None:
        return {}
    sides.need(
        *FRICTION_KEYS, hint="write both values as positive numbers: {positive: 2, negative: 3}"
    )
    positive, negative = (sides.number(key) for key in FRICTION_KEYS)
    same = positive == negative
    return {"friction": positive, "friction_negative": None if same else negative}


def _friction_velocity(fields: Fields) -> float | None:
    velocity = fields.maybe_number("friction_velocity")
    if velocity is None or velocity > 0.0:
        return velocity
    message = f"{fields.what}: friction_velocity must be > 0, got {velocity:g}"
    hint = "write the velocity v of the smoothing μ tanh(q̇/v), for example 0.01"
    fields.error("friction-velocity", fields.location("friction_velocity"), message, hint)
    return None


def _armature(fields: Fields) -> float:
    """Reflected inertia of the rotor: gear_ratio² · rotor_inertia."""
    armature, inertia, ratio = (fields.maybe_number(key) for key in DYNAMICS_KEYS[2:5])
    present = [key for key in ("rotor_inertia", "gear_ratio") if fields.has(key)]
    if not present:
        return armature or 0.0
    if fields.has("armature"):
        message = f"{fields.what} has both 'armature' and '{present[0]}'"
        hint = "remove one of the two keys: armature is gear_ratio² · rotor_inertia"
        fields.error("armature-twice", fields.location("armature"), message, hint)
    fields.need("rotor_inertia", "gear_ratio", hint="write gear_ratio: 1 for a direct drive")
    if ratio == 0:
        message = f"{fields.what}: gear_ratio is 0"
        hint = "write the number of rotor revolutions per joint revolution"
        fields.error("zero-gear-ratio", fields.location("gear_ratio"), message, hint)
    felt = (ratio or 0.0) * (ratio or 0.0) * (inertia or 0.0)
    if not isfinite(felt):
        message = f"{fields.what}: gear_ratio² · rotor_inertia is too large"
        hint = "check that gear_ratio and rotor_inertia are in SI units"
        fields.error("number-not-finite", fields.location("gear_ratio"), message, hint)
        return 0.0
    return felt


def _rest(fields: Fields, kind: EntryKind, written: YamlJoints) -> float:
    """The rest position of the spring."""
    rest = fields.number("rest", angle=JOINT_TYPES[kind].rotary)
    if not fields.has("stiffness"):
        _ignore_keys(fields, ("rest",), "a joint without stiffness has no spring", written)
        return 0.0
    if rest and JOINT_TYPES[kind].two_units:
        message = (
            f"{fields.what} translates and rotates, so a rest position would need two units, m "
            "and rad"
        )
        hint = "omit rest, or replace the joint by a prismatic joint and a revolute joint"
        fields.error("rest-of-two-units", fields.location("rest"), message, hint)
    return rest


def _mimic(fields: Fields, turns: bool) -> Mimic | None:
    rule = fields.fields("mimic", MIMIC_KEYS)
    if rule is None:
        return None
    rule.need("joint", hint="name the joint to mimic")
    return Mimic(rule.text("joint"), rule.number("ratio", 1.0), rule.number("offset", angle=turns))


def _motion_places(fields: Fields) -> dict[str, SourceLocation]:
    keys = [key for key in MOTION_KEYS if fields.has(key)]
    dynamics = [key for key in DYNAMICS_KEYS if key in keys]
    locations = {{"limits": "limit"}.get(key, key): fields.location(key) for key in keys}
    return {"dynamics": fields.location(dynamics[0]), **locations} if dynamics else locations


def _ignore_keys(fields: Fields, keys: tuple[str, ...], why: str, written: YamlJoints) -> None:
    """Warn about keys without effect, and list them as ignored."""
    for key in filter(fields.has, keys):
        name = fields.prefix + key
        written.ignored.append(f"{fields.what}: {name}")
        message = f"{fields.what}: {name} is ignored"
        fields.warning("ignored-key", fields.location(key), message, why)


LOOP_KEYS = ("name", "kind", "first", "second")
END_KEYS = ("link", "xyz", "rpy")
LOOP_KINDS = get_args(LoopKind)


def read_loops(arm: Fields) -> tuple[LoopEntry, ...]:
    """The loop closures as written; `check_loops` checks their links."""
    loops = []
    for number, node in enumerate(arm.items("loops"), start=1):
        fields = fields_of(node, name_or_number(node, "loop", number), LOOP_KEYS, arm.findings)
        if fields is not None:
            loops.append(_loop(fields))
    return tuple(loops)


def _loop(fields: Fields) -> LoopEntry:
    fields.need("name")
    fields.need("kind", hint="write kind: point, or kind: rigid")
    fields.need("first", "second", hint="write a link name, or {link: …, xyz: […], rpy: […]}")
    kind = fields.choice("kind", LOOP_KINDS, "unknown-loop-kind")
    return LoopEntry(
        name=fields.text("name"),
        kind=cast(LoopKind, kind or "point"),
        location=fields.node.location,
        first=_end(fields, "first"),
        second=_end(fields, "second"),
    )


def _end(fields: Fields, key: str) -> LoopEnd:
    """A link's own frame, or a frame at a pose on it."""
    node, location = fields.node.get(key), fields.location(key)
    if node is None or node.kind == "scalar":
        return LoopEnd(fields.text(key), location)
    end = fields.fields(key, END_KEYS)
    if end is None:
        return LoopEnd("", location)
    end.need("link")
    rotation = rotation_from_rpy(*end.vector("rpy", angle=True)) if end.has("rpy") else NO_TURN
    pose = Pose(rotation, end.vector("xyz")) if end.has("rpy") or end.has("xyz") else HERE
    return LoopEnd(end.text("link"), end.location("link"), pose)


def check_loops(loops: Sequence[LoopEntry], links: Sequence[LinkEntry]) -> Iterator[Finding]:
    """Errors for closures with duplicate names, equal links or unknown links."""
    known = [link.name for link in links if link.name]
    seen: dict[str, LoopEntry] = {}
    for loop in loops:
        if loop.name and loop.name in seen:
            message = f"loop '{loop.name}' is defined twice; the first is at "
            message += str(seen[loop.name].location)
            hint = "rename or remove one of the two loops"
            yield Finding("duplicate-loop", "error", loop.location, message, hint)
        seen.setdefault(loop.name, loop)
        for end in (loop.first, loop.second):
            if end.link and end.link not in known:
                message = f"loop '{loop.name}' names an unknown link '{end.link}'"
                hint = did_you_mean(end.link, known)
                yield Finding("unknown-link", "error", end.location, message, hint)
        if loop.first.link and loop.first.link == loop.second.link:
            message = f"loop '{loop.name}' connects two points of the same link '{loop.first.link}'"
            hint = "connect two different links"
            yield Finding("loop-to-itself", "error", loop.second.location, message, hint)
