"""Frozen data classes of an arm: links, joints, frames, wrenches and loop closures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import inf, pi
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
    """Pose of a frame in another frame: `rotation` row-major, `translation` in metres."""

    rotation: Matrix3 = NO_TURN
    translation: Vector3 = ORIGIN


HERE = Pose()


@dataclass(frozen=True, slots=True)
class Inertia:
    """Inertia of a rigid body: mass, centre of mass, and xx xy xz yy yz zz about that centre."""

    mass: float = 0.0
    com: Vector3 = ORIGIN
    rotary: Rotary = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)


@dataclass(frozen=True, slots=True)
class Limits:
    """Joint limits of the description; None where it has none.

    effort:       the largest effort
    effort_lower: the smallest effort (usually negative), None for -effort
    """

    lower: float | None = None
    upper: float | None = None
    velocity: float | None = None
    effort: float | None = None
    effort_lower: float | None = None

    @property
    def effort_range(self) -> tuple[float, float]:
        """The smallest and the largest effort, infinite without an effort limit."""
        if self.effort is None:
            return -inf, inf
        return -self.effort if self.effort_lower is None else self.effort_lower, self.effort

    def far_outside(self, low: float, high: float, *, turns: bool) -> bool:
        """True if positions exceed the limits so far that their unit is likely wrong.

        The threshold is 2π for an angle and ten times the travel for a prismatic joint.
        """
        if self.lower is None or self.upper is None:
            return False
        beyond = max(self.lower - low, high - self.upper)
        return beyond > (2.0 * pi if turns else 10.0 * max(self.upper - self.lower, 0.0))

    @property
    def efforts(self) -> float | list[float] | None:
        """The effort limit as written in descriptions: one number, or [smallest, largest]."""
        if self.effort is None or self.effort_lower is None:
            return self.effort
        return [self.effort_lower, self.effort]


def effort_ends(lower: float, upper: float) -> tuple[float, float | None]:
    """`effort` and `effort_lower` of `Limits` for a range; None as the second if symmetric."""
    return upper, None if lower == -upper else lower


UNLIMITED = Limits()


@dataclass(frozen=True, slots=True)
class Mimic:
    """q = ratio · q(leader) + offset; the leader itself is not a mimic joint."""

    leader: str
    ratio: float = 1.0
    offset: float = 0.0


@dataclass(frozen=True, slots=True)
class Joint:
    """A moving joint: its pose on the link inboard of it, its axis, limits and parameters.

    Fields:
        name: as the description has it
        kind: "revolute", "continuous" or "prismatic"
        pose: of the joint on the link inboard of it: rotation (9 numbers, row by row),
            translation in m
        axis: (3,), a unit vector in the joint's own axes
        limits: lower and upper in rad or m, velocity in rad/s or m/s, effort and effort_lower in
            N·m or N; None for no limit, and effort_lower None for -effort
        damping: in N·m·s/rad or N·s/m
        friction: Coulomb friction in N·m or N
        friction_negative: the same for negative velocities, None where it is `friction`
        armature: reflected rotor inertia in kg·m² or kg
        mimic: the joint that this one mimics, or None
        actuated: whether it has a motor according to the description; not part of equality,
            because it does not change the dynamics
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
        """True for a revolute or continuous joint, whose position is an angle in rad."""
        return self.kind != "prismatic"


@dataclass(frozen=True, slots=True)
class Link:
    """A moving link with the joint inboard of it and the number of its parent link.

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
    """A named frame fixed to a moving link: a link of the description, moving or merged."""

    name: str
    link: int
    pose: Pose = HERE


@dataclass(frozen=True, slots=True)
class Wrench:
    """An external wrench applied at a frame.

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
    """A loop-closure constraint between two frames of the tree.

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

    inboard, outboard: the frames that its four parameters relate
    """

    joint: str
    convention: DhConvention
    inboard: str
    outboard: str


# coordinates of a multi-DoF joint, from its innermost virtual link outward
GROUP_FREEDOMS: Mapping[GroupKind, tuple[str, ...]] = {
    "floating": ("x", "y", "z", "rz", "ry", "rx"),
    "planar": ("x", "y", "rz"),
    "spherical": ("rz", "ry", "rx"),
}


@dataclass(frozen=True, slots=True)
class Group:
    """A multi-DoF joint: one link per DoF, the body itself outermost.

    Positions are those of its links in order: a floating body translates along x, y, z and then
    rotates by yaw, pitch, roll; a spherical joint only rotates.  Velocities are those of the body
    in its own axes.
    """

    name: str
    kind: GroupKind
    links: tuple[int, ...]

    @property
    def body(self) -> int:
        """Number of the outermost link, which has the mass and all frames."""
        return self.links[-1]

    @property
    def freedoms(self) -> dict[str, int]:
        """Coordinate -> number of its link: x, y, z are prismatic, rx, ry, rz revolute."""
        return dict(zip(GROUP_FREEDOMS[self.kind], self.links, strict=True))
