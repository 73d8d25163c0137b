"""Turns in space on NumPy arrays: unit quaternions (x, y, z, w), roll-pitch-yaw, turn vectors.

A turn vector points along the axis and is as long as the angle.  All functions work on any
leading axes.
"""

from __future__ import annotations

import numpy as np

from robolin.core.arm import Arm, Joint
from robolin.core.arrays import AnyArray

# below this square of an angle the first terms of a series are exact to rounding
SMALL = 0.01

# how far from 1 the length of a quaternion may be that someone wrote down
LENGTH_TOLERANCE = 1e-6


def quaternion_product(a: AnyArray, b: AnyArray) -> AnyArray:
    """a b: first turned by b, then by a."""
    va, wa, vb, wb = a[..., :3], a[..., 3:], b[..., :3], b[..., 3:]
    vector = wa * vb + wb * va + np.cross(va, vb)
    return np.concatenate([vector, wa * wb - _dot(va, vb)], axis=-1)


def matrix_of(quaternion: AnyArray) -> AnyArray:
    """The rotation (..., 3, 3) of unit quaternions."""
    x, y, z, w = np.moveaxis(quaternion, -1, 0)
    rows = (
        (1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - w * z), 2.0 * (x * z + w * y)),
        (2.0 * (x * y + w * z), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - w * x)),
        (2.0 * (x * z - w * y), 2.0 * (y * z + w * x), 1.0 - 2.0 * (x * x + y * y)),
    )
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)


def quaternion_from_rpy(rpy: AnyArray) -> AnyArray:
    """Turns about the fixed axes x, y, z in this order."""
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

    Where the pitch is a right angle, only yaw ± roll is told by the turn.  Roll and pitch are
    what is left once the yaw is taken out, whatever it came out as, so that the three together
    always make the same turn to rounding.
    """
    R = matrix_of(quaternion)
    yaw = np.arctan2(R[..., 1, 0], R[..., 0, 0])
    c, s = np.cos(yaw), np.sin(yaw)
    pitch = np.arctan2(-R[..., 2, 0], c * R[..., 0, 0] + s * R[..., 1, 0])
    roll = np.arctan2(
        s * R[..., 0, 2] - c * R[..., 1, 2],
        c * R[..., 1, 1] - s * R[..., 0, 1],
    )
    # adding nothing turns -0.0 into 0.0
    return np.stack([roll, pitch, yaw], axis=-1) + 0.0


def quaternion_from_turn(turn: AnyArray) -> AnyArray:
    """The quaternion of a turn vector."""
    half = 0.5 * np.sqrt(_dot(turn, turn))
    return np.concatenate([0.5 * np.sinc(half / np.pi) * turn, np.cos(half)], axis=-1)


def turn_from_quaternion(quaternion: AnyArray) -> AnyArray:
    """The turn vector of a unit quaternion, at most half a turn long."""
    quaternion = np.where(quaternion[..., 3:] < 0.0, -quaternion, quaternion)
    vector, w = quaternion[..., :3], quaternion[..., 3:]
    sine = np.sqrt(_dot(vector, vector))
    safe = np.where(sine > 0.0, sine, 1.0)
    return np.where(sine > 0.0, 2.0 * np.arctan2(sine, w) / safe, 2.0) * vector


def translation_of_twist(turn: AnyArray, slide: AnyArray) -> AnyArray:
    """Where a body ends that slides along its own axes while turning steadily.

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


def twist_of_translation(turn: AnyArray, way: AnyArray) -> AnyArray:
    """The slide that ends at `way`: w - ½ ω x w + (1 - (t/2) cot(t/2))/t² ω x (ω x w)."""
    square = _dot(turn, turn)
    series = 1.0 / 12.0 + square / 720.0 + square**2 / 30240.0 + square**3 / 1209600.0
    half = np.where(square > SMALL, 0.5 * np.sqrt(square), 1.0)
    exact = (1.0 - half * np.cos(half) / np.sin(half)) / (4.0 * half**2)
    once = np.cross(turn, way)
    return way - 0.5 * once + np.where(square > SMALL, exact, series) * np.cross(turn, once)


def _dot(a: AnyArray, b: AnyArray) -> AnyArray:
    """a · b of vectors (..., 3), as (..., 1), summed from left to right."""
    product = a * b
    return product[..., :1] + product[..., 1:2] + product[..., 2:3]


# metres beyond which a link has slid far
FAR_SLID = 4.0


def travelling(arm: Arm) -> tuple[int, ...]:
    """The links that may slide far, base to tip, up to a branch or the frame in question.

    What slides on the base may, whatever its limits; behind joints that turn, limits decide.
    """
    joints = {k: arm.link(k).joint for k in _stem(arm)}
    turning = next((k for k, joint in joints.items() if joint.turns), 0)
    found = (k for k, joint in joints.items() if k > turning or slides_far(joint))
    return () if arm.groups or arm.loops else tuple(found)


def slides_far(joint: Joint) -> bool:
    """Whether it slides, and no limits keep it within `FAR_SLID` of home."""
    ends = joint.limits.lower, joint.limits.upper
    return not (joint.turns or all(end is not None and abs(end) <= FAR_SLID for end in ends))


def _stem(arm: Arm) -> list[int]:
    """The links from the base on that carry all others, no further than the frame in question."""
    carried: dict[int, list[int]] = {}
    for k, link in enumerate(arm.links_tip_to_base, start=1):
        carried.setdefault(link.parent, []).append(k)
    stem, end = [arm.base], arm.tip.link if arm.tip else 0
    while stem[-1] != end and len(carried.get(stem[-1], ())) == 1:
        stem += carried[stem[-1]]
    return stem[1:]
