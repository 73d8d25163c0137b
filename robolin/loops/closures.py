"""The equations of the closures: how far they stand open, their Jacobian, and its derivatives.

Every closure has rows in world axes, first those of the force that keeps it, along x, y, z, then,
if it is rigid, those of the moment:

    position   r₁ - r₂                        and the turn from frame 2 to frame 1
    velocity   L q̇ = v₁ - v₂                  and ω₁ - ω₂
    force      L* λ: λ acts on the first frame, -λ on the second, both at the closure
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from robolin.arm import Arm, Frame
from robolin.loops.loop_kinematics import (
    Array,
    Moved,
    cross,
    motion_cross,
    move,
    place,
    skeleton,
)

COMPONENTS = ("fx", "fy", "fz", "tx", "ty", "tz")


def row_names(arm: Arm) -> tuple[str, ...]:
    """What every row is called: the closure, and the component of its force or moment."""
    return tuple(
        f"{loop.name}/{component}"
        for loop in arm.loops
        for component in COMPONENTS[: 3 if loop.kind == "point" else 6]
    )


def rows_of(arm: Arm) -> Iterator[tuple[str, slice]]:
    """Every closure's name and its rows."""
    first = 0
    for loop in arm.loops:
        stop = first + (3 if loop.kind == "point" else 6)
        yield loop.name, slice(first, stop)
        first = stop


@dataclass(frozen=True)
class End:
    """A frame of the tree: rotation, point r, and what every joint does to it (B, N, 3).

    h and dr are the joint's effect on the frame's direction and on r, zero off its path.
    """

    link: int
    R: Array
    r: Array
    h: Array
    dr: Array

    def jacobian(self) -> Array:
        """(B, 6, N): velocity of r, then angular velocity."""
        return np.concatenate([self.dr, self.h], axis=-1).swapaxes(-1, -2)


class Closures:
    """The closures of an arm at states q (B, n) with velocities and accelerations."""

    def __init__(self, arm: Arm, q: Array) -> None:
        self.arm = arm
        self._bones = bones = skeleton(arm)
        self._placed = place(bones, q @ bones.S.T + bones.s)
        self.ends = [(self._end(loop.first), self._end(loop.second)) for loop in arm.loops]

    def _end(self, frame: Frame) -> End:
        b, at = frame.link - 1, self._placed
        R = at.R[:, b] @ np.reshape(frame.pose.rotation, (3, 3))
        r = at.p[:, b] + at.R[:, b] @ np.array(frame.pose.translation)
        H = at.H * self._bones.carried[b][:, None]
        h = H[..., :3]
        return End(b, R, r, h, H[..., 3:] + cross(h, r[:, None]))

    def _stacked(self, per_end: list[tuple[Array, Array]]) -> Array:
        """First end minus second end of six rows each, as the rows that the closures have."""
        parts = [
            (first - second)[:, : 3 if loop.kind == "point" else 6]
            for loop, (first, second) in zip(self.arm.loops, per_end, strict=True)
        ]
        return np.concatenate(parts, axis=1)

    @cached_property
    def jacobian(self) -> Array:
        """L (B, m, n)."""
        return self._stacked([(a.jacobian(), b.jacobian()) for a, b in self.ends]) @ self._bones.S

    @cached_property
    def open_by(self) -> Array:
        """How far the closures stand open (B, m), in metres and radians."""
        gaps = []
        for first, second in self.ends:
            turn = rotation_vector(first.R @ second.R.swapaxes(-1, -2))
            gap = np.concatenate([first.r - second.r, turn], axis=-1)
            gaps.append((gap, np.zeros_like(gap)))
        return self._stacked(gaps)

    def moving(self, qd: Array, qdd: Array) -> Moved:
        """Velocities and accelerations of the links for q̇ and q̈ (B, n)."""
        S = self._bones.S
        return move(self._bones, self._placed.H, qd @ S.T, qdd @ S.T)

    def bias(self, qd: Array) -> Array:
        """c = -L̇ q̇ (B, m): L q̈ = c keeps the closures closed."""
        moved = self.moving(qd, np.zeros_like(qd))
        ends = [(_accelerating(a, moved), _accelerating(b, moved)) for a, b in self.ends]
        return -self._stacked(ends)

    def change(self, qd: Array, dq: Array, dqd: Array) -> tuple[Array, Array]:
        """By how much small changes open the closures: L δq, and L δq̇ + δL q̇ (B, m)."""
        moved = self.moving(qd, np.zeros_like(qd))
        rates = [
            (self._rate_gradient(a, moved), self._rate_gradient(b, moved)) for a, b in self.ends
        ]
        along_q = self._stacked(rates) @ self._bones.S
        L, dq, dqd = self.jacobian, dq[..., None], dqd[..., None]
        return (L @ dq)[..., 0], (L @ dqd + along_q @ dq)[..., 0]

    def _rate_gradient(self, end: End, moved: Moved) -> Array:
        """∂[v; ω]/∂q (B, 6, N) of one end."""
        dV, dv = self._velocity_gradient(end, moved)
        return np.concatenate([dv, dV[..., :3]], axis=-1).swapaxes(-1, -2)

    def _velocity_gradient(self, end: End, moved: Moved) -> tuple[Array, Array]:
        """∂V/∂q (B, N, 6) of the link, and ∂v/∂q (B, N, 3) of the point v = u + ω x r.

        dV = Hd - V x H        dv = dV_lin + dV_ang x r + ω x dr
        """
        path = self._bones.carried[end.link][:, None]
        V, r = moved.V[:, end.link, None], end.r[:, None]
        dV = moved.Hd * path - motion_cross(V, self._placed.H * path)
        dv = dV[..., 3:] + cross(dV[..., :3], r) + cross(V[..., :3], end.dr)
        return dV, dv

    def acceleration_gradients(self, qd: Array, qdd: Array) -> tuple[Array, Array]:
        """∂(L q̈ + L̇ q̇)/∂q and ∂/∂q̇ (B, m, n)."""
        moved = self.moving(qd, qdd)
        gradients = [(self._gradients(a, moved), self._gradients(b, moved)) for a, b in self.ends]
        along_q, along_qd = (
            self._stacked([(a[i], b[i]) for a, b in gradients]) @ self._bones.S for i in range(2)
        )
        return along_q, along_qd

    def _gradients(self, end: End, moved: Moved) -> tuple[Array, Array]:
        """The derivatives of the acceleration of one end along q and q̇ (B, 6, N).

        da/dq = Hdd - a x H - V x Hd        da/dq̇ = 2 Hd - V x H = Hd + dV
        point:  da_lin + da_ang x r + a_ang x dr + dV_ang x v + ω x dv
        """
        path = self._bones.carried[end.link][:, None]
        H, Hd, Hdd = self._placed.H * path, moved.Hd * path, moved.Hdd * path
        V, a, r = moved.V[:, end.link, None], moved.a[:, end.link, None], end.r[:, None]
        w, v = V[..., :3], V[..., 3:] + cross(V[..., :3], r)
        dV, dv = self._velocity_gradient(end, moved)
        da_dqd = Hd + dV
        da_dq = Hdd - motion_cross(a, H) - motion_cross(V, Hd)
        point_q = da_dq[..., 3:] + cross(da_dq[..., :3], r) + cross(a[..., :3], end.dr)
        point_q += cross(dV[..., :3], v) + cross(w, dv)
        point_qd = da_dqd[..., 3:] + cross(da_dqd[..., :3], r)
        point_qd += cross(end.h, v) + cross(w, end.dr)
        along_q = np.concatenate([point_q, da_dq[..., :3]], axis=-1)
        along_qd = np.concatenate([point_qd, da_dqd[..., :3]], axis=-1)
        return along_q.swapaxes(-1, -2), along_qd.swapaxes(-1, -2)

    def force_gradient(self, lam: Array) -> Array:
        """∂(L* λ)/∂q (B, n, n) while λ (B, m) keeps its components in world axes."""
        total = np.zeros((len(lam), len(self.arm.links), len(self.arm.links)), lam.dtype)
        for (_, rows), (first, second) in zip(rows_of(self.arm), self.ends, strict=True):
            wrench = lam[:, rows]
            total += _force_gradient(first, wrench) - _force_gradient(second, wrench)
        return np.asarray(self._bones.S.T @ total @ self._bones.S)


def _accelerating(end: End, moved: Moved) -> Array:
    """Acceleration of the point r, a_lin + a_ang x r + ω x v, then angular acceleration."""
    V, a = moved.V[:, end.link], moved.a[:, end.link]
    w, alpha = V[:, :3], a[:, :3]
    v = V[:, 3:] + cross(w, end.r)
    point = a[:, 3:] + cross(alpha, end.r) + cross(w, v)
    return np.concatenate([point, alpha], axis=-1)


def _force_gradient(end: End, wrench: Array) -> Array:
    """∂(J* [f; n])(j)/∂q(c) (B, N, N) for a force f at the frame, and a moment n if there is one.

    A joint c turns everything outboard of it, the effects dr(j) and h(j) of joints there included:

        f · ∂dr(j)/∂q(c) = f · (h(c) x dr(j))   c inboard of j, or j itself
                         = f · (h(j) x dr(c))   c outboard of j
        n · ∂h(j)/∂q(c)  = n · (h(c) x h(j))    c inboard of j, else 0
    """
    count = end.h.shape[1]
    inboard = np.arange(count)[None, :] >= np.arange(count)[:, None]
    pulled = end.dr @ cross(wrench[:, None, :3], end.h).swapaxes(-1, -2)
    gradient = np.where(inboard, pulled, pulled.swapaxes(-1, -2))
    if wrench.shape[1] == 6:
        twisted = end.h @ cross(wrench[:, None, 3:], end.h).swapaxes(-1, -2)
        gradient = gradient + np.where(inboard, twisted, 0.0)
    return np.asarray(gradient)


def rotation_vector(R: Array) -> Array:
    """Axis times angle (B, 3) of rotations (B, 3, 3); half a turn has either sign."""
    sine = 0.5 * np.stack(
        [R[:, 2, 1] - R[:, 1, 2], R[:, 0, 2] - R[:, 2, 0], R[:, 1, 0] - R[:, 0, 1]], axis=-1
    )
    size = np.linalg.norm(sine, axis=-1)
    cosine = 0.5 * (np.trace(R, axis1=-2, axis2=-1) - 1.0)
    angle = np.arctan2(size, cosine)
    # close to half a turn the axis shows in 1 + R = 2 axis axis*, not in the sine
    square = 0.5 * (np.eye(3) + 0.5 * (R + R.swapaxes(-1, -2)))
    column = np.argmax(np.diagonal(square, axis1=-2, axis2=-1), axis=-1)
    axis = square[np.arange(len(R)), :, column]
    axis = axis / np.linalg.norm(axis, axis=-1, keepdims=True)
    half = (cosine < 0.0) & (size < 1e-6)
    scale = np.where(size > 0.0, angle / np.where(size > 0.0, size, 1.0), 1.0)
    return np.where(half[:, None], angle[:, None] * axis, scale[:, None] * sine)
