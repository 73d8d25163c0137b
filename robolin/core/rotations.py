"""Rotations, poses and inertias on plain floats; matrices are row-major tuples of nine."""

from __future__ import annotations

from collections.abc import Iterable
from math import cos, hypot, sin

from robolin.core.arm import NO_TURN, Inertia, Matrix3, Pose, Rotary, Vector3
from robolin.dynamics.algebra.scalar import float_sum

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
        return "has no direction"
    if length < SHORTEST:
        return f"is shorter than {SHORTEST:g}, and its direction is lost in rounding"
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
