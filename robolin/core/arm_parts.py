"""Frozen data classes of an arm, from links to loop closures, and operations on poses and inertias.

Matrices are row-major tuples of nine floats.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field
from math import cos, hypot, inf, pi, sin
from typing import Literal

from robolin.core.choices import GroupKind, WrenchModel
from robolin.core.records import dataclass
from robolin.dynamics.algebra.scalar import float_sum

Vector3 = tuple[float, float, float]
Matrix3 = tuple[float, float, float, float, float, float, float, float, float]
Rotary = tuple[float, float, float, float, float, float]

JointKind = Literal["revolute", "continuous", "prismatic"]
LoopKind = Literal["point", "rigid"]
DhConvention = Literal["standard", "modified"]

NO_TURN: Matrix3 = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0)
ORIGIN: Vector3 = (0.0, 0.0, 0.0)


@dataclass(frozen=True)
class Pose:
    """Pose of a frame in another frame: `rotation` row-major, `translation` in metres."""

    rotation: Matrix3 = NO_TURN
    translation: Vector3 = ORIGIN


HERE = Pose()


@dataclass(frozen=True)
class Inertia:
    """Inertia of a rigid body: mass, centre of mass, and xx xy xz yy yz zz about that centre."""

    mass: float = 0.0
    com: Vector3 = ORIGIN
    rotary: Rotary = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)


@dataclass(frozen=True)
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


@dataclass(frozen=True)
class Mimic:
    """q = ratio · q(leader) + offset; the leader itself is not a mimic joint."""

    leader: str
    ratio: float = 1.0
    offset: float = 0.0


@dataclass(frozen=True)
class Joint:
    """A moving joint: its pose on the parent link, its axis, limits and parameters.

    Fields:
        name: name in the robot description
        kind: "revolute", "continuous" or "prismatic"
        pose: pose of the joint on the parent link: rotation (9 numbers, row by row),
            translation in m
        axis: (3,), a unit vector in the joint's own axes
        limits: lower and upper in rad or m, velocity in rad/s or m/s, effort and effort_lower in
            N·m or N; None for no limit, and effort_lower None for -effort
        damping: in N·m·s/rad or N·s/m
        friction: Coulomb friction in N·m or N
        friction_negative: Coulomb friction for negative velocities; None if equal to `friction`
        armature: reflected rotor inertia in kg·m² or kg
        mimic: the joint that this joint mimics, or None
        actuated: whether it has a motor according to the description; not part of equality,
            because it does not change the dynamics
        stiffness: stiffness of a spring in the joint, in N·m/rad or N/m
        rest: position at which the spring is relaxed, in rad or m
        friction_velocity: velocity scale v of the smoothed friction μ tanh(q̇ / v), in rad/s or m/s;
            None for the value of the arm

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
    friction_velocity: float | None = None

    @property
    def friction_sides(self) -> tuple[float, float]:
        """Coulomb friction for positive and for negative velocities."""
        negative = self.friction_negative
        return self.friction, self.friction if negative is None else negative

    @property
    def turns(self) -> bool:
        """True for a revolute or continuous joint, whose position is an angle in rad."""
        return self.kind != "prismatic"


@dataclass(frozen=True)
class Link:
    """A moving link, with its joint and the number of its parent link.

    Fields:
        name: name in the robot description
        joint: the `Joint` between the link and its parent link
        parent: the number of the parent link, counted from 1 at the tip: `arm.link(parent)`,
            or `arm.base`
        inertia: mass in kg, com (3,) in m, rotational xx xy xz yy yz zz about com in kg·m², in link
            axes
        merged: names of the links that are merged with this link

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


@dataclass(frozen=True)
class Frame:
    """A named frame fixed to a moving link: a link of the description, moving or merged."""

    name: str
    link: int
    pose: Pose = HERE


@dataclass(frozen=True)
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


@dataclass(frozen=True)
class Loop:
    """A loop-closure constraint between two frames of the tree.

    point: the origins of both frames coincide, 3 equations
    rigid: the frames coincide, 6 equations
    """

    name: str
    kind: LoopKind
    first: Frame
    second: Frame


@dataclass(frozen=True)
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


@dataclass(frozen=True)
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
    def coordinates(self) -> dict[str, int]:
        """Coordinate -> number of its link: x, y, z are prismatic, rx, ry, rz revolute."""
        return dict(zip(GROUP_FREEDOMS[self.kind], self.links, strict=True))


# squares of lengths between these neither underflow nor overflow
SHORTEST, LONGEST = 1e-150, 1e150

NO_BODY = Inertia()


def rotation_from_rpy(roll: float, pitch: float, yaw: float) -> Matrix3:
    """Rotation about the fixed axes x, y, z in this order: R = Rz(yaw) Ry(pitch) Rx(roll)."""
    cr, sr = cos(roll), sin(roll)
    cp, sp = cos(pitch), sin(pitch)
    cy, sy = cos(yaw), sin(yaw)
    return (
        cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr,
        sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr,
        0.0 - sp, cp * sr, cp * cr,
    )  # fmt: skip


def rotation_from_quaternion(w: float, x: float, y: float, z: float) -> Matrix3:
    """Rotation matrix of a unit quaternion."""
    return (
        1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - w * z), 2.0 * (x * z + w * y),
        2.0 * (x * y + w * z), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - w * x),
        2.0 * (x * z - w * y), 2.0 * (y * z + w * x), 1.0 - 2.0 * (x * x + y * y),
    )  # fmt: skip


def rotation_about(axis: Vector3, angle: float) -> Matrix3:
    """Rotation by an angle about a unit axis."""
    x, y, z = axis
    half = sin(0.5 * angle)
    return rotation_from_quaternion(cos(0.5 * angle), half * x, half * y, half * z)


def transpose(R: Matrix3) -> Matrix3:
    """Rᵀ, the inverse of a rotation."""
    xx, xy, xz, yx, yy, yz, zx, zy, zz = R
    return xx, yx, zx, xy, yy, zy, xz, yz, zz


def matmul(A: Matrix3, B: Matrix3) -> Matrix3:
    """The product A B: rotation by B, then by A."""
    a, b, c, d, e, f, g, h, i = A
    p, q, r, s, t, u, v, w, x = B
    return (
        a * p + b * s + c * v, a * q + b * t + c * w, a * r + b * u + c * x,
        d * p + e * s + f * v, d * q + e * t + f * w, d * r + e * u + f * x,
        g * p + h * s + i * v, g * q + h * t + i * w, g * r + h * u + i * x,
    )  # fmt: skip


def rotate_point(R: Matrix3, v: Vector3) -> Vector3:
    """R v."""
    x, y, z = v
    return (
        R[0] * x + R[1] * y + R[2] * z,
        R[3] * x + R[4] * y + R[5] * z,
        R[6] * x + R[7] * y + R[8] * z,
    )


def turned_rotary(R: Matrix3, rotary: Rotary) -> Rotary:
    """R I Rᵀ: a rotary inertia (xx xy xz yy yz zz) in the axes that R maps to."""
    xx, xy, xz, yy, yz, zz = rotary
    full: Matrix3 = (xx, xy, xz, xy, yy, yz, xz, yz, zz)
    turned = matmul(matmul(R, full), transpose(R))
    return turned[0], turned[1], turned[2], turned[4], turned[5], turned[8]


def apply(pose: Pose, point: Vector3) -> Vector3:
    """Transform a point from the frame of the pose to its reference frame."""
    x, y, z = rotate_point(pose.rotation, point)
    px, py, pz = pose.translation
    return x + px, y + py, z + pz


def inverse_rotation(pose: Pose) -> Pose:
    """The inverse of a pose."""
    back = transpose(pose.rotation)
    x, y, z = rotate_point(back, pose.translation)
    return Pose(back, (0.0 - x, 0.0 - y, 0.0 - z))


def compose(outer: Pose, inner: Pose) -> Pose:
    """The inner pose, given in the frame of the outer, in the reference frame of the outer."""
    return Pose(matmul(outer.rotation, inner.rotation), apply(outer, inner.translation))


def without_direction(axis: Vector3) -> str:
    """Error text if the direction of an axis cannot be computed; '' if it can."""
    length = hypot(*axis)
    if length == 0.0:
        return "is zero"
    if length < SHORTEST:
        return f"is shorter than {SHORTEST:g}, so its direction is lost in round-off"
    return f"is longer than {LONGEST:g}" if length > LONGEST else ""


def unit(axis: Vector3) -> Vector3:
    """Normalize an axis; a unit axis is returned unchanged, bit for bit."""
    x, y, z = axis
    length = hypot(x, y, z)
    return axis if length == 1.0 else (x / length, y / length, z / length)


def axis_to_z(axis: Vector3) -> Matrix3:
    """A rotation whose third column is the axis: exact for axes along x, y or z."""
    x, y, z = axis
    if z == 1.0 and x == y == 0.0:
        return NO_TURN
    # crossing with the axis of the smallest component is best conditioned
    i = min(range(3), key=lambda j: abs(axis[j]))
    other = tuple(1.0 if j == i else 0.0 for j in range(3))
    first = _cross(other, axis)
    size = (first[0] ** 2 + first[1] ** 2 + first[2] ** 2) ** 0.5
    u = (first[0] / size, first[1] / size, first[2] / size)
    v = _cross(axis, u)
    return (u[0], v[0], x, u[1], v[1], y, u[2], v[2], z)


def _cross(a: tuple[float, ...], b: tuple[float, ...]) -> Vector3:
    return (a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0])


def placed(inertia: Inertia, pose: Pose) -> Inertia:
    """Transform an inertia from the frame of the pose to its reference frame."""
    if pose == Pose():
        return inertia
    rotary = turned_rotary(pose.rotation, inertia.rotary)
    return Inertia(inertia.mass, apply(pose, inertia.com), rotary)


def merged_inertia(bodies: Iterable[Inertia]) -> Inertia:
    """Sum of inertias given in one frame, by the parallel-axis theorem.

        m = Σ mᵢ,   m c = Σ mᵢ cᵢ,   I = Σ Iᵢ + mᵢ (|dᵢ|² 1 − dᵢ dᵢᵀ),   dᵢ = cᵢ − c

    Bodies without mass and rotary inertia are skipped, so they cause no rounding.
    Masses that sum to zero have no centre: ZeroDivisionError.
    """
    parts = [body for body in bodies if body.mass or any(body.rotary)]
    if len(parts) <= 1:
        return parts[0] if parts else NO_BODY
    mass = float_sum(part.mass for part in parts)
    com = _centre(parts, mass)
    rotaries = [_about(part, com) for part in parts]
    xx, xy, xz, yy, yz, zz = (float_sum(entries) for entries in zip(*rotaries, strict=True))
    return Inertia(mass, com, (xx, xy, xz, yy, yz, zz))


def _centre(parts: list[Inertia], mass: float) -> Vector3:
    """The common centre of mass; that of the only part with mass is returned exactly."""
    heavy = [part for part in parts if part.mass]
    if len(heavy) == 1:
        return heavy[0].com
    if not heavy:
        return parts[0].com
    x, y, z = (float_sum(part.mass * part.com[i] for part in heavy) / mass for i in range(3))
    return x, y, z


def _about(part: Inertia, centre: Vector3) -> Rotary:
    """The part's rotary inertia about another point (parallel-axis theorem)."""
    x, y, z = (a - b for a, b in zip(part.com, centre, strict=True))
    xx, xy, xz, yy, yz, zz = part.rotary
    m = part.mass
    return (
        xx + m * (y * y + z * z), xy - m * x * y, xz - m * x * z,
        yy + m * (x * x + z * z), yz - m * y * z,
        zz + m * (x * x + y * y),
    )  # fmt: skip


def inertia_about(inertia: Inertia, axis: Vector3) -> float:
    """Moment of inertia about a unit axis through the frame's origin."""
    x, y, z = axis
    xx, xy, xz, yy, yz, zz = _about(inertia, (0.0, 0.0, 0.0))
    return xx * x * x + yy * y * y + zz * z * z + 2.0 * (xy * x * y + xz * x * z + yz * y * z)
