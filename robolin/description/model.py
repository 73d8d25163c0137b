"""What a robot file says, before anyone asks how it moves; as data, and as plain figures.

Both readers, URDF and YAML, end here.  Values are kept as written (an axis is not yet unit
length, an inertia not yet judged), each with the place it came from, so that every later
complaint can point at a line.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from robolin.core.arm import (
    HERE,
    NO_TURN,
    ORIGIN,
    UNLIMITED,
    DhRow,
    Inertia,
    Limits,
    LoopKind,
    Mimic,
    Pose,
    Vector3,
)
from robolin.core.text import printable
from robolin.errors import RobolinError

# of an arm whose file says nothing of gravity
STANDARD_GRAVITY: Vector3 = (0.0, 0.0, -9.81)
Level = Literal["error", "warning", "note"]
EntryKind = Literal[
    "revolute",
    "continuous",
    "prismatic",
    "fixed",
    "floating",
    "planar",
    "spherical",
    "universal",
    "cylindrical",
]

MOST_OF_A_KIND = 200
# of what is ignored; a file with more of them is not written by hand
MOST_KINDS = 1000

Figures = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class SourceLocation:
    """Where in which file; column only where the reader knows it."""

    file: str
    line: int = 0
    column: int = 0

    def __str__(self) -> str:
        return ":".join([self.file, *(str(part) for part in (self.line, self.column) if part)])


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing noticed in a description; `id` is stable and listed in docs/findings.md.

    Message and hint repeat what the file says, so both are made printable here, once for all.
    """

    id: str
    level: Level
    place: SourceLocation
    message: str
    hint: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "message", printable(self.message))
        object.__setattr__(self, "hint", printable(self.hint))

    def error(self) -> RobolinError:
        return RobolinError(self.message, where=str(self.place), hint=self.hint)


@dataclass(frozen=True, slots=True)
class LinkEntry:
    """A link as written; the inertia is None where the file gives none.

    The inertia is already in the link's own axes (the inertial frame's turn applied).
    """

    name: str
    place: SourceLocation
    inertia: Inertia | None = None
    inertia_place: SourceLocation | None = None
    places: Mapping[str, SourceLocation] = field(default_factory=dict)

    def at(self, part: str) -> SourceLocation:
        """Where a part of the body ('mass', 'com', 'inertia') stands."""
        return self.places.get(part, self.inertia_place or self.place)


# stands for an axis that a reader has complained about: nothing is concluded from it
UNREAD: Vector3 = (0.0, 0.0, 0.0)


@dataclass(frozen=True, slots=True)
class JointEntry:
    """A joint as written; `axis`, and `axis2` of a universal one, may have any length."""

    name: str
    kind: EntryKind
    parent: str
    child: str
    place: SourceLocation
    pose: Pose = HERE
    axis: Vector3 = (1.0, 0.0, 0.0)
    axis2: Vector3 = (0.0, 1.0, 0.0)
    limits: Limits = UNLIMITED
    damping: float = 0.0
    friction: float = 0.0
    friction_negative: float | None = None
    armature: float = 0.0
    mimic: Mimic | None = None
    actuated: bool = True
    dh: DhRow | None = None
    stiffness: float = 0.0
    rest: float = 0.0
    places: Mapping[str, SourceLocation] = field(default_factory=dict)

    @property
    def friction_sides(self) -> tuple[float, float]:
        """Coulomb friction for positive and for negative velocities."""
        negative = self.friction_negative
        return self.friction, self.friction if negative is None else negative

    def at(self, part: str) -> SourceLocation:
        """Where a part of the joint ('axis', 'limit', 'dynamics', 'mimic') stands."""
        return self.places.get(part, self.place)


@dataclass(frozen=True, slots=True)
class LoopEnd:
    """A frame that a closure holds on to: a link, and where on it."""

    link: str
    place: SourceLocation
    pose: Pose = HERE


@dataclass(frozen=True, slots=True)
class LoopEntry:
    """A closure as written."""

    name: str
    kind: LoopKind
    place: SourceLocation
    first: LoopEnd
    second: LoopEnd


@dataclass(frozen=True)
class Description:
    """A whole file: links and joints in the order written, and what was not understood."""

    name: str
    links: tuple[LinkEntry, ...]
    joints: tuple[JointEntry, ...]
    root: str
    source: str
    digest: str
    gravity: Vector3 | None = None
    loops: tuple[LoopEntry, ...] = ()
    ignored: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    places: Mapping[str, SourceLocation] = field(default_factory=dict)


@dataclass(frozen=True)
class Reading:
    """What a reader returns: the description if one could be made, and all it noticed."""

    description: Description | None
    findings: Sequence[Finding]


def limit_findings(findings: Sequence[Finding]) -> list[Finding]:
    """The first findings of each id, and one more for each that has more than can be read."""
    counts = Counter(found.id for found in findings)
    if not counts or max(counts.values()) <= MOST_OF_A_KIND:
        return list(findings)
    kept: list[Finding] = []
    seen: Counter[str] = Counter()
    for found in findings:
        seen[found.id] += 1
        if seen[found.id] <= MOST_OF_A_KIND:
            kept.append(found)
        elif seen[found.id] == MOST_OF_A_KIND + 1:
            kept.append(_rest(found, counts[found.id] - MOST_OF_A_KIND))
    return kept


def _rest(first: Finding, count: int) -> Finding:
    message = f"and {count} more findings of this kind from here on"
    return Finding(first.id, first.level, first.place, message, "correct these first")


def sorted_counts(counts: Mapping[str, int]) -> tuple[str, ...]:
    """'visual (12)', 'gazebo (3)', … in alphabetical order."""
    listed = [f"{what} ({count})" for what, count in sorted(counts.items())]
    if len(listed) > MOST_KINDS:
        listed[MOST_KINDS:] = [f"and {len(listed) - MOST_KINDS} more kinds"]
    return tuple(listed)


def figures_of(description: Description) -> dict[str, Any]:
    """What a description says in plain numbers: enough to tell two models apart, part by part.

    What is left out is 0, or not there at all, but for gravity, which then is the standard one;
    names of files and lines are no figures.
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


def with_gravity(figures: Figures) -> dict[str, Any]:
    """The figures with the gravity that an arm has where its description says nothing of it."""
    arm = figures.get("arm", {})
    return {**figures, "arm": {**arm, "gravity": arm.get("gravity", list(STANDARD_GRAVITY))}}


def _link(inertia: Inertia | None) -> dict[str, Any]:
    if inertia is None:
        return {}
    com, rotary = list(inertia.com), list(inertia.rotary)
    return _given_figures({"mass": inertia.mass, "com": com, "inertia": rotary})


def _joint(joint: JointEntry) -> dict[str, Any]:
    limits, mimic = joint.limits, joint.mimic
    moves = joint.kind != "fixed"
    figures = {
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
        figures |= {"mimic": mimic.leader, "mimic ratio": mimic.ratio, "mimic offset": mimic.offset}
    bounds = {
        "lower limit": limits.lower,
        "upper limit": limits.upper,
        "velocity limit": limits.velocity,
        "effort limit": limits.effort,
        "lower effort limit": limits.effort_lower,
    }
    if joint.friction_negative is not None:
        bounds["negative friction"] = joint.friction_negative
    # a limit of 0 is not the same as none
    given = {key: value for key, value in bounds.items() if value is not None}
    return _given_figures(figures) | given | ({} if joint.actuated else {"actuated": 0})


def _loop(loop: LoopEntry) -> dict[str, Any]:
    return _given_figures(
        {"type": loop.kind, **_end(loop.first, "first "), **_end(loop.second, "second ")}
    )


def _end(end: LoopEnd, which: str) -> dict[str, Any]:
    return {f"{which}link": end.link, **_pose(end.pose, which)}


def _pose(pose: Pose, which: str) -> dict[str, Any]:
    return {
        f"{which}origin": [] if pose.translation == ORIGIN else list(pose.translation),
        f"{which}rotation": [] if pose.rotation == NO_TURN else list(pose.rotation),
    }


def _given_figures(figures: Figures) -> dict[str, Any]:
    """Without what is 0, empty or absent."""
    return {
        key: value
        for key, value in figures.items()
        if (any(value) if isinstance(value, list) else value)
    }
