"""The description of a robot as its file contains it, as data and as plain numbers.

All readers return it.  Values are stored as written (an axis may not have unit length, an
inertia is not checked), each with its location in the file, so that every later finding can
name a line.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import field
from math import cos, sin
from typing import Any, Literal, NamedTuple, cast

from robolin.core.arm import (
    GROUP_FREEDOMS,
    HERE,
    NO_TURN,
    ORIGIN,
    UNLIMITED,
    DhRow,
    GroupKind,
    Inertia,
    Limits,
    LoopKind,
    Matrix3,
    Mimic,
    Pose,
    Vector3,
)
from robolin.core.arm_parts import compose, unit
from robolin.core.records import dataclass
from robolin.core.text import printable
from robolin.errors import RobolinError

# gravity of an arm whose file does not specify it
STANDARD_GRAVITY: Vector3 = (0.0, 0.0, -9.81)

Level = Literal["error", "warning", "note"]

EntryKind = Literal[
    "revolute",
    "continuous",
    "prismatic",
    "floating",
    "planar",
    "spherical",
    "fixed",
    "universal",
    "cylindrical",
]


# annotations are evaluated: a named tuple compiles texts, 1.3 million instructions each
class JointPart(NamedTuple):
    """One of the two single-DoF joints of a joint pair."""

    coordinate: str
    rotary: bool
    axis: str = "axis"


class JointType(NamedTuple):
    """Properties of a joint type that readers and checks use.

    rotary: positions, limits and offsets are angles
    axes:   keys of its axes in a file
    parts:  for a joint pair, its two joints from the inner one outward
    motion: motion of a joint without an axis
    """

    rotary: bool = False
    axes: tuple[str, ...] = ("axis",)
    parts: tuple[JointPart, ...] = ()
    motion: str = ""

    @property
    def two_units(self) -> bool:
        """True for a joint with one coordinate in m and one in rad."""
        return len({part.rotary for part in self.parts}) > 1


JOINT_TYPES: dict[EntryKind, JointType] = {
    "revolute": JointType(rotary=True),
    "continuous": JointType(rotary=True),
    "prismatic": JointType(),
    "floating": JointType(axes=(), motion="moves along and about all axes"),
    "planar": JointType(),
    "spherical": JointType(axes=(), motion="rotates about all axes"),
    "fixed": JointType(axes=(), motion="does not move"),
    "universal": JointType(
        rotary=True,
        axes=("axis", "axis2"),
        parts=(JointPart("axis", rotary=True), JointPart("axis2", rotary=True, axis="axis2")),
    ),
    "cylindrical": JointType(
        parts=(JointPart("slide", rotary=False), JointPart("turn", rotary=True))
    ),
}

MOST_OF_A_KIND = 200

# kinds of ignored elements that are listed; a file with more is not written by hand
MOST_KINDS = 1000

Figures = Mapping[str, Any]


@dataclass(frozen=True)
class SourceLocation:
    """File, line and column; the column only if the reader provides it."""

    file: str
    line: int = 0
    column: int = 0

    def __str__(self) -> str:
        return ":".join([self.file, *(str(part) for part in (self.line, self.column) if part)])


@dataclass(frozen=True)
class Finding:
    """An error, warning or note about a description; docs/reference/findings.md lists all ids.

    Message and hint may quote the file, so control characters are removed here.
    """

    id: str
    level: Level
    location: SourceLocation
    message: str
    hint: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "message", printable(self.message))
        object.__setattr__(self, "hint", printable(self.hint))

    def error(self) -> RobolinError:
        return RobolinError(self.message, where=str(self.location), hint=self.hint)


@dataclass(frozen=True)
class LinkEntry:
    """A link as written; the inertia is None if the file has none.

    The inertia is already in the link's own axes (the inertial frame's rotation is applied).
    `locations` has 'default' if the reader has reported a default of the format, and 'virtual' for
    a link that only models an equation or a rotor.
    """

    name: str
    location: SourceLocation
    inertia: Inertia | None = None
    inertia_location: SourceLocation | None = None
    locations: Mapping[str, SourceLocation] = field(default_factory=dict)

    def at(self, part: str) -> SourceLocation:
        """Location of a part of the body: 'mass', 'com' or 'inertia'."""
        return self.locations.get(part, self.inertia_location or self.location)


# placeholder for an invalid axis that a reader has reported: no further checks
UNREAD: Vector3 = (0.0, 0.0, 0.0)


@dataclass(frozen=True)
class JointEntry:
    """A joint as written; `axis` and `axis2` may have any length."""

    name: str
    kind: EntryKind
    parent: str
    child: str
    location: SourceLocation
    pose: Pose = HERE
    axis: Vector3 = (1.0, 0.0, 0.0)
    axis2: Vector3 = (0.0, 1.0, 0.0)
    limits: Limits = UNLIMITED
    damping: float = 0.0
    friction: float = 0.0
    friction_negative: float | None = None
    friction_velocity: float | None = None
    armature: float = 0.0
    mimic: Mimic | None = None
    actuated: bool = True
    dh: DhRow | None = None
    stiffness: float = 0.0
    rest: float = 0.0
    locations: Mapping[str, SourceLocation] = field(default_factory=dict)

    @property
    def friction_sides(self) -> tuple[float, float]:
        """Coulomb friction for positive and for negative velocities."""
        negative = self.friction_negative
        return self.friction, self.friction if negative is None else negative

    def at(self, part: str) -> SourceLocation:
        """Location of a part of the joint: 'axis', 'limit', 'dynamics' or 'mimic'."""
        return self.locations.get(part, self.location)


@dataclass(frozen=True)
class LoopEnd:
    """One frame of a loop closure: a link and a pose on it."""

    link: str
    location: SourceLocation
    pose: Pose = HERE


@dataclass(frozen=True)
class LoopEntry:
    """A loop closure as written."""

    name: str
    kind: LoopKind
    location: SourceLocation
    first: LoopEnd
    second: LoopEnd


@dataclass(frozen=True)
class PoseEntry:
    """A named pose as written: coordinate -> position in rad or m; missing ones are 0."""

    name: str
    location: SourceLocation
    positions: Mapping[str, float]


@dataclass(frozen=True)
class Description:
    """The content of a file: links and joints in file order, and the ignored elements.

    placement: the fixed joint that only places the root link in the world, '' if there is none
    """

    name: str
    links: tuple[LinkEntry, ...]
    joints: tuple[JointEntry, ...]
    root: str
    source: str
    digest: str
    gravity: Vector3 | None = None
    loops: tuple[LoopEntry, ...] = ()
    poses: tuple[PoseEntry, ...] = ()
    ignored: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    locations: Mapping[str, SourceLocation] = field(default_factory=dict)
    placement: str = ""


@dataclass(frozen=True)
class Reading:
    """The result of a reader: the description, None after an error, and all findings.

    partial: links and joints of a file with errors, for the checks of `validate`
    files: paths of the other files that were read, such as included ones
    """

    description: Description | None
    findings: Sequence[Finding]
    partial: Description | None = None
    files: tuple[str, ...] = ()


def limit_findings(findings: Sequence[Finding]) -> list[Finding]:
    """The first findings of each id, and one that counts the omitted ones."""
    counts = Counter(finding.id for finding in findings)
    if not counts or max(counts.values()) <= MOST_OF_A_KIND:
        return list(findings)
    kept: list[Finding] = []
    seen: Counter[str] = Counter()
    for finding in findings:
        seen[finding.id] += 1
        if seen[finding.id] <= MOST_OF_A_KIND:
            kept.append(finding)
        elif seen[finding.id] == MOST_OF_A_KIND + 1:
            kept.append(_rest(finding, counts[finding.id] - MOST_OF_A_KIND))
    return kept


def _rest(first: Finding, count: int) -> Finding:
    message = f"and {count} more findings of this kind"
    return Finding(first.id, first.level, first.location, message, "correct these first")


def sorted_counts(counts: Mapping[str, int]) -> tuple[str, ...]:
    """'visual (12)', 'gazebo (3)', … in alphabetical order."""
    listed = [f"{what} ({count})" for what, count in sorted(counts.items())]
    if len(listed) > MOST_KINDS:
        listed[MOST_KINDS:] = [f"and {len(listed) - MOST_KINDS} more kinds"]
    return tuple(listed)


def model_dict_of(description: Description) -> dict[str, Any]:
    """All parameters of a description as plain data, to compare two models part by part.

    Omitted values are 0 or absent; omitted gravity is the standard one.  Names of files and line
    numbers are not included.
    """
    arm: dict[str, Any] = {"name": description.name, "root": description.root}
    if description.gravity is not None:
        arm["gravity"] = list(description.gravity)
    return {
        "arm": arm,
        "links": {link.name: _link(link.inertia) for link in description.links},
        "joints": {joint.name: _joint(joint) for joint in description.joints},
        "loops": {loop.name: _loop(loop) for loop in description.loops},
    }


def with_gravity(values: Figures) -> dict[str, Any]:
    """The parameters, with standard gravity if the description does not specify it."""
    arm = values.get("arm", {})
    return {**values, "arm": {**arm, "gravity": arm.get("gravity", list(STANDARD_GRAVITY))}}


def _link(inertia: Inertia | None) -> dict[str, Any]:
    if inertia is None:
        return {}
    com, rotary = list(inertia.com), list(inertia.rotary)
    return _nonzero_values({"mass": inertia.mass, "com": com, "inertia": rotary})


def _joint(joint: JointEntry) -> dict[str, Any]:
    limits, mimic = joint.limits, joint.mimic
    moves = joint.kind != "fixed"
    values = {
        "type": joint.kind,
        "parent": joint.parent,
        "child": joint.child,
        **_pose(joint.pose, ""),
        "axis": list(joint.axis) if moves else [],
        "damping": joint.damping,
        "friction": joint.friction,
        "armature": joint.armature,
        "stiffness": joint.stiffness,
        "rest": joint.rest,
    }
    if mimic is not None:
        values |= {"mimic": mimic.leader, "mimic ratio": mimic.ratio, "mimic offset": mimic.offset}
    bounds = {
        "lower limit": limits.lower,
        "upper limit": limits.upper,
        "velocity limit": limits.velocity,
        "effort limit": limits.effort,
        "lower effort limit": limits.effort_lower,
    }
    if joint.friction_negative is not None:
        bounds["negative friction"] = joint.friction_negative
    if joint.friction_velocity is not None:
        bounds["friction velocity"] = joint.friction_velocity
    # a limit of 0 differs from no limit
    finite_bounds = {key: value for key, value in bounds.items() if value is not None}
    return _nonzero_values(values) | finite_bounds | ({} if joint.actuated else {"actuated": 0})


def _loop(loop: LoopEntry) -> dict[str, Any]:
    return _nonzero_values(
        {"type": loop.kind, **_end(loop.first, "first "), **_end(loop.second, "second ")}
    )


def _end(end: LoopEnd, which: str) -> dict[str, Any]:
    return {f"{which}link": end.link, **_pose(end.pose, which)}


def _pose(pose: Pose, which: str) -> dict[str, Any]:
    return {
        f"{which}origin": [] if pose.translation == ORIGIN else list(pose.translation),
        f"{which}rotation": [] if pose.rotation == NO_TURN else list(pose.rotation),
    }


def _nonzero_values(values: Figures) -> dict[str, Any]:
    """Remove entries that are 0, empty or absent."""
    return {
        key: value
        for key, value in values.items()
        if (any(value) if isinstance(value, list) else value)
    }


# public order of the coordinates; in a floating joint rotations come before translations
PUBLIC_PARTS: Mapping[GroupKind, tuple[str, ...]] = {
    "floating": ("rx", "ry", "rz", "x", "y", "z"),
    "planar": ("x", "y", "rz"),
    "spherical": ("rx", "ry", "rz"),
}


def group_kind(joint: JointEntry) -> GroupKind | None:
    """The type of a multi-DoF joint, None for a single-DoF joint."""
    return cast(GroupKind, joint.kind) if joint.kind in GROUP_FREEDOMS else None


def coordinate_names(joint: JointEntry) -> tuple[str, ...]:
    """The names of a joint's coordinates in public order: for a single-DoF joint, its own name."""
    kind = group_kind(joint)
    return tuple(f"{joint.name}:{part}" for part in PUBLIC_PARTS[kind]) if kind else (joint.name,)


def turn_about(axis: Vector3, angle: float) -> Matrix3:
    """The rotation by an angle about a unit axis (Rodrigues)."""
    x, y, z = axis
    c, s = cos(angle), sin(angle)
    v = 1.0 - c
    return (
        c + x * x * v, x * y * v - z * s, x * z * v + y * s,
        y * x * v + z * s, c + y * y * v, y * z * v - x * s,
        z * x * v - y * s, z * y * v + x * s, c + z * z * v,
    )  # fmt: skip


def standing_pose(joint: JointEntry, position: float) -> Pose:
    """The pose of the child link in the parent link for a joint position."""
    if position == 0.0:
        return joint.pose
    x, y, z = axis = unit(joint.axis)
    if joint.kind == "prismatic":
        motion = Pose(translation=(position * x, position * y, position * z))
    else:
        motion = Pose(rotation=turn_about(axis, position))
    return compose(joint.pose, motion)
