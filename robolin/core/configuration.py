"""Configuration space of arms with multi-DoF joints: integrate and difference on the manifold.

A floating or spherical joint stores roll, pitch and yaw in q.  Its velocities are those of the
body in its own axes, so q̇ is not the time derivative of q.  This module converts q to coordinates
with smooth derivatives (unit quaternions), advances q along a body twist, and computes the twist
between two configurations.  For one-DoF joints these are the identity, the sum and the difference.

Rotations are unit quaternions (x, y, z, w), roll-pitch-yaw, or rotation vectors, which point along
the axis and have the angle as length.  All functions work on any leading axes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from robolin.core.arm import Arm, Group
from robolin.core.arrays import AnyArray, Floats, JointValues, joint_arrays, require_arm

TURN_FREEDOMS, SLIDE_FREEDOMS = ("rx", "ry", "rz"), ("x", "y", "z")


def has_groups(arm: Arm) -> bool:
    """True if the arm has a multi-DoF joint."""
    return bool(arm.groups)


def embedded(arm: Arm, q: JointValues) -> Floats:
    """Convert q (..., n) to continuous coordinates y (..., n + ball and floating joints).

    y is q with roll, pitch and yaw of each such joint replaced by qx, qy, qz of its unit
    quaternion; the qw are appended, one per joint.
    """
    q = np.array(q, dtype=float)
    quaternions = [(rpy, quaternion_from_rpy(q[..., rpy])) for rpy in _rpy_indices(arm)]
    for rpy, quaternion in quaternions:
        q[..., rpy] = quaternion[..., :3]
    last = [quaternion[..., 3:] for _, quaternion in quaternions]
    return np.concatenate([q, *last], axis=-1)


def coordinates_of(arm: Arm, y: ArrayLike) -> Floats:
    """Inverse of `embedded`: q (..., n) from y; quaternions need not be normalized."""
    y = np.asarray(y, dtype=float)
    q = y[..., : arm.n].copy()
    for i, indices in enumerate(_rpy_indices(arm)):
        q[..., indices] = rpy_from_quaternion(_quaternion(arm, y, i, indices))
    return q


def embedded_rates(arm: Arm, y: ArrayLike, qd: JointValues) -> Floats:
    """dy/dt of the coordinates y of `embedded` for velocities q̇ (..., n)."""
    y, qd = np.asarray(y, dtype=float), np.asarray(qd, dtype=float)
    batch = np.broadcast_shapes(y.shape[:-1], qd.shape[:-1])
    rates = np.zeros((*batch, y.shape[-1]))
    rates[..., : arm.n] = qd
    i = 0
    for group in arm.groups:
        at = _q_indices(arm, group)
        if group.kind == "planar":
            rates[..., at["xy"]] = _rotate_2d(y[..., at["rz"]], qd[..., at["xy"]])
            continue
        quaternion = _quaternion(arm, y, i, at["turns"])
        spin = qd[..., at["turns"]]
        pure = np.concatenate([spin, np.zeros((*spin.shape[:-1], 1))], axis=-1)
        turning = 0.5 * quaternion_product(quaternion, pure)
        rates[..., at["turns"]] = turning[..., :3]
        rates[..., arm.n + i] = turning[..., 3]
        if at["slides"]:
            rates[..., at["slides"]] = _rotate(matrix_of(quaternion), qd[..., at["slides"]])
        i += 1
    return rates


def integrate(arm: Arm, q: JointValues, delta: JointValues) -> Floats:
    """Compute q ⊕ δ: the configuration after a step δ, a constant body twist per multi-DoF joint.

    Args:
        arm: the arm, from `robolin.load`
        q: positions (..., n) in rad or m, in the order of `arm.joint_names`
        delta: the change (..., n) in rad or m; for a multi-DoF joint, a twist of the child link

    Returns:
        positions (..., n) in rad or m

    Raises:
        RobolinError: an array with the wrong shape
        UsageError: `arm` is not an `Arm`

    Example:
        >>> arm = robolin.load("ur5", floating_base=True)
        >>> moved = robolin.integrate(arm, np.zeros(12), np.full(12, 0.5))
        >>> robolin.difference(arm, np.zeros(12), moved).round(9)
        array([0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5])
    """
    start, change = _checked(arm, q=q, delta=delta)
    after = start + change
    for group in arm.groups:
        at = _q_indices(arm, group)
        if group.kind == "planar":
            step = planar_translation_of_twist(change[..., at["rz"]], change[..., at["xy"]])
            after[..., at["xy"]] = start[..., at["xy"]] + _rotate_2d(start[..., at["rz"]], step)
            continue
        turn, slide = change[..., at["turns"]], change[..., at["slides"]]
        before = quaternion_from_rpy(start[..., at["turns"]])
        if at["slides"]:
            moved = _rotate(matrix_of(before), translation_of_twist(turn, slide))
            after[..., at["slides"]] = start[..., at["slides"]] + moved
        after[..., at["turns"]] = rpy_from_quaternion(
            quaternion_product(before, quaternion_from_turn(turn))
        )
    return after


def difference(arm: Arm, q0: JointValues, q1: JointValues) -> Floats:
    """Compute δ with q0 ⊕ δ = q1, along the shorter rotation for spherical and floating joints.

    Args:
        arm: the arm, from `robolin.load`
        q0, q1: positions (..., n) in rad or m, in the order of `arm.joint_names`

    Returns:
        the change (..., n) in rad or m; for a multi-DoF joint, a twist of the child link

    Raises:
        RobolinError: an array with the wrong shape
        UsageError: `arm` is not an `Arm`

    Example:
        >>> arm = robolin.load("two-link")
        >>> robolin.difference(arm, [0.1, 0.2], [0.4, 0.0]).round(9)
        array([ 0.3, -0.2])
    """
    return change_between(arm, *_checked(arm, q0=q0, q1=q1))


def change_between(arm: Arm, start: Floats, end: Floats) -> Floats:
    """`difference` for arrays (..., n) that are already validated."""
    delta = end - start
    for group in arm.groups:
        at = _q_indices(arm, group)
        if group.kind == "planar":
            translation = _rotate_2d(-start[..., at["rz"]], delta[..., at["xy"]])
            delta[..., at["xy"]] = planar_twist_of_translation(delta[..., at["rz"]], translation)
            continue
        before = quaternion_from_rpy(start[..., at["turns"]])
        back = before * np.array([-1.0, -1.0, -1.0, 1.0])
        turn = turn_from_quaternion(
            quaternion_product(back, quaternion_from_rpy(end[..., at["turns"]]))
        )
        delta[..., at["turns"]] = turn
        if at["slides"]:
            translation = _rotate(matrix_of(back), delta[..., at["slides"]])
            delta[..., at["slides"]] = twist_of_translation(turn, translation)
    return delta


def kinematic_block(arm: Arm, qd: JointValues) -> Floats:
    """Compute the matrix `block` in d(δq)/dt = δq̇ + block δq.

    The block is -crm(v) for multi-DoF joints, else zero.  The block is the upper left block of
    the linear system whose other blocks are those of `linearize_forward`.

    Args:
        arm: the arm, from `robolin.load`
        qd: velocities (..., n) in rad/s or m/s

    Returns:
        (..., n, n) in 1/s, m/s or 1

    Raises:
        RobolinError: an array with the wrong shape
        UsageError: `arm` is not an `Arm`

    Example:
        >>> arm = robolin.load("ur5", floating_base=True)
        >>> rates = np.zeros(12)
        >>> rates[2] = 0.5
        >>> robolin.kinematic_block(arm, rates)[:3, :3] + 0.0
        array([[ 0. ,  0.5,  0. ],
               [-0.5,  0. ,  0. ],
               [ 0. ,  0. ,  0. ]])
    """
    (rates,) = _checked(arm, qd=qd)
    block = np.zeros((*rates.shape, arm.n))
    for group in arm.groups:
        at = arm.coordinate_indices(group)
        twist = [
            rates[..., at[part]] if part in at else 0.0 for part in TURN_FREEDOMS + SLIDE_FREEDOMS
        ]
        for row, column, sign, i in _MOTION_CROSS:
            if row in at and column in at:
                block[..., at[row], at[column]] -= sign * twist[i]
    return block


def _checked(arm: Arm, **values: JointValues) -> list[Floats]:
    """Validate joint values of users and convert them to arrays (..., n)."""
    require_arm(arm)
    return [*joint_arrays(arm, values).values()]


# entries of crm([w; u]) = [[w~, 0], [u~, w~]]: row, column, sign, index in the twist
_MOTION_CROSS = tuple(
    entry
    for i in range(3)
    for row, column, sign in (((i + 1) % 3, (i + 2) % 3, -1.0), ((i + 2) % 3, (i + 1) % 3, 1.0))
    for entry in (
        (TURN_FREEDOMS[row], TURN_FREEDOMS[column], sign, i),
        (SLIDE_FREEDOMS[row], SLIDE_FREEDOMS[column], sign, i),
        (SLIDE_FREEDOMS[row], TURN_FREEDOMS[column], sign, 3 + i),
    )
)


def _q_indices(arm: Arm, group: Group) -> Mapping[str, Any]:
    """Indices in q by part: rotations and translations, or xy and rz of a planar joint."""
    at = arm.coordinate_indices(group)
    if group.kind == "planar":
        return {"xy": [at["x"], at["y"]], "rz": at["rz"]}
    slides = [at[part] for part in SLIDE_FREEDOMS if part in at]
    return {"turns": [at[part] for part in TURN_FREEDOMS], "slides": slides}


def _rpy_indices(arm: Arm) -> list[list[int]]:
    return [_q_indices(arm, group)["turns"] for group in arm.groups if group.kind != "planar"]


def _quaternion(arm: Arm, y: Floats, i: int, indices: list[int]) -> Floats:
    """The i-th quaternion, normalized."""
    x, y_, z, w = (*(y[..., index] for index in indices), y[..., arm.n + i])
    quaternion = np.stack([x, y_, z, w], axis=-1)
    length = np.sqrt(x * x + y_ * y_ + z * z + w * w)
    unit: Floats = quaternion / length[..., None]
    return unit


def _rotate(R: Floats, v: Floats) -> Floats:
    """R v, summed in the same order for one vector and for many."""
    x, y, z = v[..., 0, None], v[..., 1, None], v[..., 2, None]
    rotated: Floats = (R[..., 0] * x + R[..., 2] * z) + R[..., 1] * y
    return rotated


def _rotate_2d(angle: Floats, v: Floats) -> Floats:
    """Rotate plane vectors by an angle."""
    c, s = np.cos(angle), np.sin(angle)
    return np.stack([c * v[..., 0] - s * v[..., 1], s * v[..., 0] + c * v[..., 1]], axis=-1)


def planar_translation_of_twist(angle: Floats, v: Floats) -> Floats:
    """Exponential map of SE(2): translation along v under a steady rotation by the angle."""
    a, b = _sine_over(angle), _versine_over(angle)
    return np.stack([a * v[..., 0] - b * v[..., 1], b * v[..., 0] + a * v[..., 1]], axis=-1)


def planar_twist_of_translation(angle: Floats, translation: Floats) -> Floats:
    """Logarithm of SE(2): the v whose exponential map gives `translation`."""
    a, b = _sine_over(angle), _versine_over(angle)
    size = a * a + b * b
    x, y = translation[..., 0], translation[..., 1]
    return np.stack([(a * x + b * y) / size, (a * y - b * x) / size], axis=-1)


def _sine_over(angle: Floats) -> Floats:
    """sin(x) / x."""
    return np.sinc(angle / np.pi)


def _versine_over(angle: Floats) -> Floats:
    """(1 - cos(x)) / x, accurate for small x."""
    half = 0.5 * angle
    return np.sin(half) * np.sinc(half / np.pi)


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


def quaternion_angles(quaternion: Sequence[float]) -> tuple[float, list[float]]:
    """Return the length of a quaternion (x, y, z, w), and roll, pitch and yaw of its direction."""
    array = np.array(quaternion)
    x, y, z, w = (each * each for each in array.tolist())
    # summed from left to right, on every machine
    length = sqrt(x + y + z + w)
    return length, rpy_from_quaternion(array / length).tolist() if length else [0.0] * 3


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
