"""What an arm is made of: links, joints, frames, loads and closures, as frozen data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import inf
from typing import Literal

from robolin.core.choices import GroupKind, WrenchModel

Vector3 = tuple[float, float, float]
Matrix3 = tuple[float, float, float, float, float, float, float, float, float]
Rotary = tuple[float, float, float, float, float, float]

JointKind = Literal["revolute", "continuous", "prismatic"]
LoopKind = Literal["point", "rigid"]
DhConvention = Literal["standard", "modified"]

NO_TURN: Matrix3 = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0)
ORIGIN: Vector3 = (0.0, 0.0, 0.0)


@dataclass(frozen=True, slots=True)
class Pose:
    """A frame seen from another: `rotation` row-major, `translation` in metres."""

    rotation: Matrix3 = NO_TURN
    translation: Vector3 = ORIGIN


HERE = Pose()


@dataclass(frozen=True, slots=True)
class Inertia:
    """A rigid body: mass, centre of mass, and xx xy xz yy yz zz about that centre."""

    mass: float = 0.0
    com: Vector3 = ORIGIN
    rotary: Rotary = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)


@dataclass(frozen=True, slots=True)
class Limits:
    """What the description allows; None where it says nothing.

    effort:       the largest effort
    effort_lower: the least effort (negative as a rule), None where it is -effort
    """

    lower: float | None = None
    upper: float | None = None
    velocity: float | None = None
    effort: float | None = None
    effort_lower: float | None = None

    @property
    def effort_range(self) -> tuple[float, float]:
        """The least and the largest effort, infinite without an effort limit."""
        if self.effort is None:
            return -inf, inf
        return -self.effort if self.effort_lower is None else self.effort_lower, self.effort

    @property
    def efforts(self) -> float | list[float] | None:
        """The effort limit as descriptions have it: one number, or [least, largest]."""
        if self.effort is None or self.effort_lower is None:
            return self.effort
        return [self.effort_lower, self.effort]


def effort_ends(lower: float, upper: float) -> tuple[float, float | None]:
    """`effort` and `effort_lower` of limits for a range; a symmetric range is one number."""
    return upper, None if lower == -upper else lower


UNLIMITED = Limits()


@dataclass(frozen=True, slots=True)
class Mimic:
    """q = ratio · q(leader) + offset; the leader itself follows nobody."""

    leader: str
    ratio: float = 1.0
    offset: float = 0.0


@dataclass(frozen=True, slots=True)
class Joint:
    """One moving joint: where it sits on the link inboard of it, and what it does.

    Fields:
        name: as the description has it
        kind: "revolute", "continuous" or "prismatic"
        pose: of the joint on the link inboard of it: rotation (9 numbers, row by row),
            translation in m
        axis: (3,), a unit vector in the joint's own axes
        limits: lower and upper in rad or m, velocity in rad/s or m/s, effort and effort_lower in
            N·m or N; None where nothing is said, and effort_lower None for -effort
        damping: in N·m·s/rad or N·s/m
        friction: Coulomb friction in N·m or N
        friction_negative: the same for negative velocities, None where it is `friction`
        armature: reflected rotor inertia in kg·m² or kg
        mimic: the joint that this one follows, or None
        actuated: whether it has a motor, as far as the description says; it does not change how
            the arm moves, so equal joints may differ in it
        stiffness: of a spring in the joint, in N·m/rad or N/m
        rest: position at which the spring is relaxed, in rad or m

    Example:
        >>> joint = robolin.load("panda").joints[3]
        >>> joint.name, joint.kind, joint.limits.upper
        ('panda_joint4', 'revolute', -0.0698)
    """

    name: str
    kind: JointKind
    pose: Pose
    axis: Vector3
    limits: Limits = UNLIMITED
    damping: float = 0.0
    friction: float = 0.0
    armature: float = 0.0
    mimic: Mimic | None = None
    actuated: bool = field(default=True, compare=False)
    stiffness: float = 0.0
    rest: float = 0.0
    friction_negative: float | None = None

    @property
    def friction_sides(self) -> tuple[float, float]:
        """Coulomb friction for positive and for negative velocities."""
        negative = self.friction_negative
        return self.friction, self.friction if negative is None else negative

    @property
    def turns(self) -> bool:
        """Whether its positions are angles in rad rather than lengths in m."""
        return self.kind != "prismatic"


@dataclass(frozen=True, slots=True)
class Link:
    """A moving link, the joint inboard of it, and the number of the link that joint sits on.

    Fields:
        name: as the description has it
        joint: the `Joint` inboard of it
        parent: the number of the link inboard, counted from 1 at the tip: `arm.link(parent)`,
            or `arm.base`
        inertia: mass in kg, com (3,) in m, rotary xx xy xz yy yz zz about it in kg·m², in link
            axes
        merged: names of the links that are rigidly part of this one

    Example:
        >>> link = robolin.load("two-link").links[0]
        >>> link.name, link.inertia.mass
        ('upper', 1.0)
    """

    name: str
    joint: Joint
    parent: int
    inertia: Inertia
    merged: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Frame:
    """A named place on a link: a link of the description, moving or merged."""

    name: str
    link: int
    pose: Pose = HERE


@dataclass(frozen=True, slots=True)
class Wrench:
    """A load applied to the arm at a frame.

    follower: force and moment fixed in the frame, acting at its origin
    dead:     force and moment fixed in world axes, acting at the frame's origin
    world:    force and moment fixed in world axes, acting about the world's origin
    """

    frame: str
    model: WrenchModel
    force: Vector3
    moment: Vector3


@dataclass(frozen=True, slots=True)
class Loop:
    """A closure between two frames, which makes a loop of the tree's branches.

    point: the origins of both frames coincide, 3 equations
    rigid: the frames coincide, 6 equations
    """

    name: str
    kind: LoopKind
    first: Frame
    second: Frame


@dataclass(frozen=True, slots=True)
class DhRow:
    """The row of a Denavit–Hartenberg table that a joint was written in.

    inboard, outboard: the frames that its four figures lie between
    """

    joint: str
    convention: DhConvention
    inboard: str
    outboard: str


# the freedoms of a joint with several, from the innermost link that stands for it outward
GROUP_FREEDOMS: Mapping[GroupKind, tuple[str, ...]] = {
    "floating": ("x", "y", "z", "rz", "ry", "rx"),
    "planar": ("x", "y", "rz"),
    "spherical": ("rz", "ry", "rx"),
}


@dataclass(frozen=True, slots=True)
class Group:
    """A joint with several freedoms: one link for each, the body itself outermost.

    Positions are those of its links, one after the other: a floating body slides along x, y, z
    and then turns by yaw, pitch, roll, a spherical joint only turns.  Velocities are those of the
    body in its own axes.
    """

    name: str
    kind: GroupKind
    links: tuple[int, ...]

    @property
    def body(self) -> int:
        """The outermost link, which carries the mass and all frames."""
        return self.links[-1]

    @property
    def freedoms(self) -> dict[str, int]:
        """The link that stands for each freedom: x, y, z slide, rx, ry, rz turn."""
        return dict(zip(GROUP_FREEDOMS[self.kind], self.links, strict=True))
