"""Three methods to solve the equations of motion of a tree with closures.

    [[M, L*], [L, 0]] [x; -λ] = [top; bottom],   L with independent rows

With top = τ - C and bottom = c, x is the acceleration and λ the constraint forces; with
derivatives on the right-hand side, their derivatives.  Right-hand sides have shapes (B, n, k) and
(B, r, k).

Closure equations are arrays at a batch of states, and their rows have names.

Every closure has rows in world axes: three for its force along x, y, z, then, if it is rigid, three
for its moment.  `robolin.dynamics.loops` computes them.  This module computes only the angle of a
rotation from its matrix, because the scalar algorithms have no arctangent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property

import numpy as np

from robolin.core.arm import Arm
from robolin.core.arrays import Floats, Indices
from robolin.core.arrays import Mask as Mask
from robolin.core.choices import LoopMethod
from robolin.core.records import dataclass
from robolin.dynamics.loops.independent_rows import DEPENDENT_WITHIN as DEPENDENT_WITHIN
from robolin.evaluation.evaluate import RunOptions, evaluate_rows

LoopSystemSolution = tuple[Floats, Floats]

# ratio of smallest to largest inertia of the free motions, below which inertia is missing
NEGLIGIBLE_FREE_INERTIA = 1e-14


@dataclass(frozen=True)
class System:
    """Mass matrix M (B, n, n) and closures L (B, r, n) of states with the same independent rows.

    mass_matrix_inverse: called only by the method that needs it
    """

    M: Floats
    L: Floats
    mass_matrix_inverse: Callable[[], Floats]


def by_kkt(system: System, top: Floats, bottom: Floats) -> LoopSystemSolution:
    """Method 1: solve the complete KKT system."""
    M, L = system.M, system.L
    batch, r, n = L.shape
    matrix = np.zeros((batch, n + r, n + r))
    matrix[:, :n, :n], matrix[:, :n, n:], matrix[:, n:, :n] = M, L.swapaxes(-1, -2), L
    solution = solved_or_nan(matrix, np.concatenate([top, bottom], axis=1))
    return solution[:, :n], -solution[:, n:]


def by_schur(system: System, top: Floats, bottom: Floats) -> LoopSystemSolution:
    """Method 2: the forces first, L M⁻¹ L* λ = bottom - L M⁻¹ top; then x = M⁻¹ (top + L* λ)."""
    L, inverse = system.L, system.mass_matrix_inverse()
    Lt = L.swapaxes(-1, -2)
    lam = solved_or_nan(L @ inverse @ Lt, bottom - L @ (inverse @ top))
    return inverse @ (top + Lt @ lam), lam


def by_null_space(system: System, top: Floats, bottom: Floats) -> LoopSystemSolution:
    """Method 3: x = K y + x₀ with L K = 0 and L x₀ = bottom; K* M K y = K* (top - M x₀).

    From L* = [Q₁ K] [R; 0]: x₀ = Q₁ R⁻* bottom, and R λ = Q₁* (M x - top) in the end.
    """
    M, r = system.M, system.L.shape[1]
    Q1, K, R = orthogonal(system.L)
    Kt = K.swapaxes(-1, -2)
    x0 = Q1 @ solved_or_nan(R.swapaxes(-1, -2), bottom) if r else np.zeros_like(top)
    x = x0 + K @ solved_or_nan(Kt @ M @ K, Kt @ (top - M @ x0))
    lam = solved_or_nan(R, Q1.swapaxes(-1, -2) @ (M @ x - top)) if r else np.zeros_like(bottom)
    return x, lam


LOOP_SOLVERS: Mapping[LoopMethod, Callable[[System, Floats, Floats], LoopSystemSolution]] = {
    "kkt": by_kkt,
    "schur": by_schur,
    "null-space": by_null_space,
}


def orthogonal(L: Floats) -> tuple[Floats, Floats, Floats]:
    """Q₁ (B, n, r), K (B, n, n-r) and R (B, r, r) of L* = [Q₁ K] [R; 0]."""
    batch, r, n = L.shape
    if r == 0:
        none = np.zeros((batch, n, 0))
        return none, np.broadcast_to(np.eye(n), (batch, n, n)), np.zeros((batch, 0, 0))
    Q, R = np.linalg.qr(L.swapaxes(-1, -2), mode="complete")
    return Q[..., :r], Q[..., r:], R[:, :r]


def without_inertia(system: System) -> Floats:
    """Mask (B,) of states in which a motion that the closures allow has no inertia."""
    K = orthogonal(system.L)[1]
    if K.shape[-1] == 0:
        return np.zeros(len(K), dtype=bool)
    sizes = np.linalg.eigvalsh(K.swapaxes(-1, -2) @ system.M @ K)
    return np.asarray(sizes[:, 0] <= NEGLIGIBLE_FREE_INERTIA * sizes[:, -1])


def solved_or_nan(A: Floats, b: Floats) -> Floats:
    """A⁻¹ b (B, k, c), NaN in the states whose A has no inverse."""
    try:
        return np.asarray(np.linalg.solve(A, b), dtype=np.float64)
    except np.linalg.LinAlgError:
        solution = np.full(b.shape, np.nan)
        for i in range(len(A)):
            try:
                solution[i] = np.linalg.solve(A[i], b[i])
            except np.linalg.LinAlgError:
                continue
        return solution


def independent_row_mask(L: Floats) -> Mask:
    """Mask (B, m) of independent rows, by Gram–Schmidt with pivoting on the largest remainder.

    The remainders of all rows are made orthogonal to each selected row.  No remainder exceeds the
    last selected one, so rounding does not grow relative to the largest row.
    """
    batch, count, width = L.shape
    rest, selected = L.copy(), np.zeros((batch, count), dtype=bool)
    largest = np.linalg.norm(L, axis=-1).max(axis=-1, initial=0.0)
    each = np.arange(batch)
    for _ in range(min(count, width)):
        sizes = np.where(selected, 0.0, np.linalg.norm(rest, axis=-1))
        pivot = sizes.argmax(axis=-1)
        size = sizes[each, pivot]
        independent = size > DEPENDENT_WITHIN * largest
        if not independent.any():
            break
        selected[each, pivot] |= independent
        row = rest[each, pivot] / np.where(independent, size, np.inf)[:, None]
        rest = rest - (rest @ row[..., None]) * row[:, None]
    return selected


def patterns(kept: Mask) -> Iterator[tuple[Indices, Indices]]:
    """Groups of states with the same independent rows: state indices and row indices."""
    if (kept == kept[:1]).all():
        yield np.arange(len(kept)), np.flatnonzero(kept[:1].any(axis=0))
        return
    distinct, which = np.unique(kept, axis=0, return_inverse=True)
    for i, pattern in enumerate(distinct):
        yield np.flatnonzero(which.reshape(-1) == i), np.flatnonzero(pattern)


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

    qd: Floats
    arm: Arm
    q: Floats

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
