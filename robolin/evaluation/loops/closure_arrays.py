"""The equations of the closures at a batch of states, as arrays, and what they are called.

Every closure has rows in world axes, first those of the force that keeps it, along x, y, z, then,
if it is rigid, those of the moment.  What they are is worked out by `robolin.dynamics.loops`; only
the angle of a turn is told here, from the turn itself, since algorithms know no arctangent.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property

import numpy as np

from robolin.core.arm import Arm
from robolin.core.arrays import Floats
from robolin.evaluation.evaluate import RunOptions, evaluate_rows

COMPONENTS = ("fx", "fy", "fz", "tx", "ty", "tz")

AS_USUAL: RunOptions = {}


def row_names(arm: Arm) -> tuple[str, ...]:
    """What every row is called: the closure, and the component of its force or moment."""
    return tuple(
        f"{loop.name}/{component}"
        for loop in arm.loops
        for component in COMPONENTS[: 3 if loop.kind == "point" else 6]
    )


def closure_row_count(arm: Arm) -> int:
    return sum(3 if loop.kind == "point" else 6 for loop in arm.loops)


def closure_rows(arm: Arm) -> Iterator[tuple[str, slice]]:
    """Every closure's name and its rows."""
    first = 0
    for loop in arm.loops:
        stop = first + (3 if loop.kind == "point" else 6)
        yield loop.name, slice(first, stop)
        first = stop


def evaluate_flat(
    arm: Arm, verb: str, values: Mapping[str, Floats], how: RunOptions
) -> tuple[dict[str, Floats], Floats]:
    """Results for states (B, n); a single one runs on plain numbers, which are quicker."""
    if len(values["q"]) != 1:
        return evaluate_rows(arm, verb, values, **how)
    state = {name: np.ascontiguousarray(array[0]) for name, array in values.items()}
    found, unanswered = evaluate_rows(arm, verb, state, **how)
    return {name: array[None] for name, array in found.items()}, unanswered


class Closures:
    """The closures of an arm at states q and velocities q̇ (B, n)."""

    def __init__(
        self, arm: Arm, q: Floats, qd: Floats | float = 0.0, how: RunOptions = AS_USUAL
    ) -> None:
        self.arm, self.q, self.qd, self._how = arm, q, np.broadcast_to(qd, q.shape), how
        self._found = evaluate_flat(arm, "closures", {"q": q, "qd": self.qd}, how)[0]

    @property
    def jacobian(self) -> Floats:
        """L (B, m, n)."""
        return self._found["closure_jacobian"]

    @cached_property
    def open_by(self) -> Floats:
        """How far the closures stand open (B, m), in metres and radians."""
        return open_by(self.arm, self._found)

    @property
    def opening(self) -> Floats:
        """L q̇ (B, m): how fast they open."""
        return self._found["closure_velocity"]

    @property
    def bias(self) -> Floats:
        """c = -L̇ q̇ (B, m): L q̈ = c keeps the closures closed."""
        return -self._found["closure_jacobian_rate_qd"]

    def change(self, dq: Floats, dqd: Floats) -> tuple[Floats, Floats]:
        """By how much small changes open the closures: L δq, and L δq̇ + δL q̇ (B, m)."""
        along_q = self.linearized(np.zeros_like(self.q))["dclosure_velocity_dq"]
        L, dq, dqd = self.jacobian, dq[..., None], dqd[..., None]
        return (L @ dq)[..., 0], (L @ dqd + along_q @ dq)[..., 0]

    def linearized(self, qdd: Floats) -> Mapping[str, Floats]:
        """How the closures change with the state, for accelerations q̈ (B, n)."""
        values = {"q": self.q, "qd": self.qd, "qdd": qdd}
        return evaluate_flat(self.arm, "linearize-closures", values, self._how)[0]


def open_by(arm: Arm, found: Mapping[str, Floats]) -> Floats:
    """Gaps (..., m) in metres and radians: the sines of turns made into angles."""
    gaps = found["closure_gap"]
    if all(loop.kind == "point" for loop in arm.loops):
        return gaps
    gaps = gaps.copy()
    for loop, (_, rows) in zip(arm.loops, closure_rows(arm), strict=True):
        if loop.kind == "rigid":
            turning = slice(rows.start + 3, rows.stop)
            turns = found["closure_turn"][..., turning, :]
            gaps[..., turning] = rotation_vector(turns.reshape(-1, 3, 3)).reshape(turns.shape[:-1])
    return gaps


def rotation_vector(R: Floats) -> Floats:
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
