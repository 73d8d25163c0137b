"""Closure equations at a batch of states as arrays, and the names of their rows.

Every closure has rows in world axes: three for its force along x, y, z, then, if it is rigid, three
for its moment.  `robolin.dynamics.loops` computes them.  This module computes only the angle of a
rotation from its matrix, because the scalar algorithms have no arctangent.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property

import numpy as np

from robolin.core.arm import Arm
from robolin.core.arrays import Floats
from robolin.evaluation.evaluate import RunOptions, evaluate_rows

COMPONENTS = ("fx", "fy", "fz", "tx", "ty", "tz")

DEFAULT_OPTIONS: RunOptions = {}


def row_names(arm: Arm) -> tuple[str, ...]:
    """Names of all rows: the loop, and the component of its force or moment."""
    return tuple(
        f"{loop.name}/{component}"
        for loop in arm.loops
        for component in COMPONENTS[: 3 if loop.kind == "point" else 6]
    )


def closure_row_count(arm: Arm) -> int:
    return sum(3 if loop.kind == "point" else 6 for loop in arm.loops)


def closure_rows(arm: Arm) -> Iterator[tuple[str, slice]]:
    """Name and rows of every closure."""
    first = 0
    for loop in arm.loops:
        stop = first + (3 if loop.kind == "point" else 6)
        yield loop.name, slice(first, stop)
        first = stop


def evaluate_flat(
    arm: Arm, verb: str, values: Mapping[str, Floats], options: RunOptions
) -> tuple[dict[str, Floats], Floats]:
    """Results for states (B, n); a single state takes the faster path for one state."""
    if len(values["q"]) != 1:
        return evaluate_rows(arm, verb, values, **options)
    state = {name: np.ascontiguousarray(array[0]) for name, array in values.items()}
    results, unanswered = evaluate_rows(arm, verb, state, **options)
    return {name: array[None] for name, array in results.items()}, unanswered


class Closures:
    """The closures of an arm at states q and velocities q̇ (B, n)."""

    def __init__(
        self, arm: Arm, q: Floats, qd: Floats | float = 0.0, options: RunOptions = DEFAULT_OPTIONS
    ) -> None:
        self.arm, self.q, self.qd, self._options = arm, q, np.broadcast_to(qd, q.shape), options
        self._arrays = evaluate_flat(arm, "closures", {"q": q, "qd": self.qd}, options)[0]

    @property
    def jacobian(self) -> Floats:
        """L (B, m, n)."""
        return self._arrays["closure_jacobian"]

    @cached_property
    def open_by(self) -> Floats:
        """Constraint violation (B, m), in metres and radians."""
        return open_by(self.arm, self._arrays)

    @property
    def opening(self) -> Floats:
        """L q̇ (B, m): rate of the constraint violation."""
        return self._arrays["closure_velocity"]

    @property
    def bias(self) -> Floats:
        """c = -L̇ q̇ (B, m), the right-hand side of L q̈ = c."""
        return -self._arrays["closure_jacobian_rate_qd"]

    def change(self, dq: Floats, dqd: Floats) -> tuple[Floats, Floats]:
        """Constraint violation of small changes: L δq, and L δq̇ + δL q̇ (B, m)."""
        along_q = self.linearized(np.zeros_like(self.q))["dclosure_velocity_dq"]
        L, dq, dqd = self.jacobian, dq[..., None], dqd[..., None]
        return (L @ dq)[..., 0], (L @ dqd + along_q @ dq)[..., 0]

    def linearized(self, qdd: Floats) -> Mapping[str, Floats]:
        """Derivatives of the closures with respect to the state, for accelerations q̈ (B, n)."""
        values = {"q": self.q, "qd": self.qd, "qdd": qdd}
        return evaluate_flat(self.arm, "linearize-closures", values, self._options)[0]


def open_by(arm: Arm, arrays: Mapping[str, Floats]) -> Floats:
    """Gaps (..., m) in metres and radians, with rotation vectors for rigid closures."""
    gaps = arrays["closure_gap"]
    if all(loop.kind == "point" for loop in arm.loops):
        return gaps
    gaps = gaps.copy()
    for loop, (_, rows) in zip(arm.loops, closure_rows(arm), strict=True):
        if loop.kind == "rigid":
            angular = slice(rows.start + 3, rows.stop)
            R = arrays["closure_turn"][..., angular, :]
            gaps[..., angular] = rotation_vector(R.reshape(-1, 3, 3)).reshape(R.shape[:-1])
    return gaps


def rotation_vector(R: Floats) -> Floats:
    """Rotation vectors (B, 3) of rotations (B, 3, 3); for the angle π the sign is arbitrary."""
    sine = 0.5 * np.stack(
        [R[:, 2, 1] - R[:, 1, 2], R[:, 0, 2] - R[:, 2, 0], R[:, 1, 0] - R[:, 0, 1]], axis=-1
    )
    size = np.linalg.norm(sine, axis=-1)
    cosine = 0.5 * (np.trace(R, axis1=-2, axis2=-1) - 1.0)
    angle = np.arctan2(size, cosine)
    # near the angle π the axis follows from 1 + R = 2 axis axis*, not from the sine
    square = 0.5 * (np.eye(3) + 0.5 * (R + R.swapaxes(-1, -2)))
    column = np.argmax(np.diagonal(square, axis1=-2, axis2=-1), axis=-1)
    axis = square[np.arange(len(R)), :, column]
    axis = axis / np.linalg.norm(axis, axis=-1, keepdims=True)
    half = (cosine < 0.0) & (size < 1e-6)
    scale = np.where(size > 0.0, angle / np.where(size > 0.0, size, 1.0), 1.0)
    return np.where(half[:, None], angle[:, None] * axis, scale[:, None] * sine)
