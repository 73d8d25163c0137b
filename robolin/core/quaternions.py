"""Rotations on NumPy arrays: unit quaternions (x, y, z, w), roll-pitch-yaw, rotation vectors.

A rotation vector points along the axis; its length is the angle.  Functions accept any leading
axes.
"""

from __future__ import annotations

import numpy as np

from robolin.core.arrays import AnyArray

# below this squared angle the first terms of the series are exact to rounding
SMALL = 0.01

# tolerance for the norm of quaternions in files
LENGTH_TOLERANCE = 1e-6


def quaternion_product(a: AnyArray, b: AnyArray) -> AnyArray:
    """Product a b: rotation by b, then by a."""
    va, wa, vb, wb = a[..., :3], a[..., 3:], b[..., :3], b[..., 3:]
    vector = wa * vb + wb * va + np.cross(va, vb)
    return np.concatenate([vector, wa * wb - _dot(va, vb)], axis=-1)


def matrix_of(quaternion: AnyArray) -> AnyArray:
    """Rotation matrices (..., 3, 3) of unit quaternions."""
    x, y, z, w = np.moveaxis(quaternion, -1, 0)
    rows = (
        (1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - w * z), 2.0 * (x * z + w * y)),
        (2.0 * (x * y + w * z), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - w * x)),
        (2.0 * (x * z - w * y), 2.0 * (y * z + w * x), 1.0 - 2.0 * (x * x + y * y)),
    )
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)


def quaternion_from_rpy(rpy: AnyArray) -> AnyArray:
    """Unit quaternions of rotations about the fixed axes x, y, z, in this order."""
    (cr, cp, cy), (sr, sp, sy) = (
        np.moveaxis(part, -1, 0) for part in (np.cos(0.5 * rpy), np.sin(0.5 * rpy))
    )
    parts = (
        sr * cp * cy - cr * sp * sy,
        cr * sp * cy + sr * cp * sy,
        cr * cp * sy - sr * sp * cy,
        cr * cp * cy + sr * sp * sy,
    )
    return np.stack(parts, axis=-1)


def rpy_from_quaternion(quaternion: AnyArray) -> AnyArray:
    """Roll, pitch and yaw of unit quaternions.

    At gimbal lock (pitch ±90°) only yaw ± roll is determined.  Roll and pitch are computed from
    the rotation that remains after removing the yaw, so the three always reproduce the rotation.
    """
    R = matrix_of(quaternion)
    yaw = np.arctan2(R[..., 1, 0], R[..., 0, 0])
    c, s = np.cos(yaw), np.sin(yaw)
    pitch = np.arctan2(-R[..., 2, 0], c * R[..., 0, 0] + s * R[..., 1, 0])
    roll = np.arctan2(
        s * R[..., 0, 2] - c * R[..., 1, 2],
        c * R[..., 1, 1] - s * R[..., 0, 1],
    )
    # adding 0.0 converts -0.0 to 0.0
    return np.stack([roll, pitch, yaw], axis=-1) + 0.0


def quaternion_from_turn(turn: AnyArray) -> AnyArray:
    """The unit quaternion of a rotation vector."""
    half = 0.5 * np.sqrt(_dot(turn, turn))
    return np.concatenate([0.5 * np.sinc(half / np.pi) * turn, np.cos(half)], axis=-1)


def turn_from_quaternion(quaternion: AnyArray) -> AnyArray:
    """The rotation vector of a unit quaternion, at most π long."""
    quaternion = np.where(quaternion[..., 3:] < 0.0, -quaternion, quaternion)
    vector, w = quaternion[..., :3], quaternion[..., 3:]
    sine = np.sqrt(_dot(vector, vector))
    safe = np.where(sine > 0.0, sine, 1.0)
    return np.where(sine > 0.0, 2.0 * np.arctan2(sine, w) / safe, 2.0) * vector


def translation_of_twist(turn: AnyArray, slide: AnyArray) -> AnyArray:
    """Exponential map of SE(3): translation of a body under a constant twist in its own axes.

    v + (1 - cos t)/t² ω x v + (t - sin t)/t³ ω x (ω x v)
    """
    square = _dot(turn, turn)
    angle = np.sqrt(square)
    first = 0.5 * np.sinc(0.5 * angle / np.pi) ** 2
    series = 1.0 / 6.0 - square / 120.0 + square**2 / 5040.0 - square**3 / 362880.0
    large = np.where(square > SMALL, angle, 1.0)
    second = np.where(square > SMALL, (large - np.sin(large)) / large**3, series)
    once = np.cross(turn, slide)
    return slide + first * once + second * np.cross(turn, once)


def twist_of_translation(turn: AnyArray, translation: AnyArray) -> AnyArray:
    """Inverse of `translation_of_twist`: w - ½ ω x w + (1 - (t/2) cot(t/2))/t² ω x (ω x w)."""
    square = _dot(turn, turn)
    series = 1.0 / 12.0 + square / 720.0 + square**2 / 30240.0 + square**3 / 1209600.0
    half = np.where(square > SMALL, 0.5 * np.sqrt(square), 1.0)
    exact = (1.0 - half * np.cos(half) / np.sin(half)) / (4.0 * half**2)
    once = np.cross(turn, translation)
    return translation - 0.5 * once + np.where(square > SMALL, exact, series) * np.cross(turn, once)


def _dot(a: AnyArray, b: AnyArray) -> AnyArray:
    """a · b of vectors (..., 3), as (..., 1), summed from left to right."""
    product = a * b
    return product[..., :1] + product[..., 1:2] + product[..., 2:3]
