"""Time-varying LQR along a trajectory: Riccati recursion backwards over discrete models.

    K(k) = (R + B(k)ᵀ P(k+1) B(k))⁻¹ (B(k)ᵀ P(k+1) A(k) + Nᵀ)
    P(k) = Q + Kᵀ R K - N K - Kᵀ Nᵀ + F(k)ᵀ P(k+1) F(k),        F = A - B K

The recursion needs the rows in reverse.  Models of a long trajectory go through a temporary
file: one pass forwards, one backwards by blocks that overwrites models with gains, one forwards.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator
from typing import IO, TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from robolin.control.riccati import (
    Weight,
    Weights,
    one_blas_thread,
    require_weights,
    weight_matrix,
    weights_of,
)
from robolin.control.state_space import StateSpace, require_model
from robolin.core.arrays import Floats
from robolin.core.notebook import DisplayMixin
from robolin.core.progress import track
from robolin.core.records import dataclass
from robolin.errors import UsageError

if TYPE_CHECKING:
    from robolin.control.simulation.feedback_control import FeedbackControl
    from robolin.control.simulation.simulated_motion import FeedbackCost, Simulation


@dataclass(frozen=True, eq=False, repr=False)
class TimeVaryingRegulator(DisplayMixin):
    """Time-varying feedback u = -K(k) x at row k of a trajectory.

    Fields:
        K: the gains (rows, m, N)
        P: (rows, N, N): the cost-to-go from x at a row is xᵀ P x
        Q: weights of the states (N, N)
        R: weights of the torques (m, m)
        N: cross weights (N, m)
        model: the discrete models of the rows

    Example:
        >>> arm, way = robolin.load("two-link"), np.linspace(0.0, 1.0, 11)
        >>> model = robolin.state_space(arm, np.stack([way, -way], axis=-1), qd=[1.0, -1.0])
        >>> robolin.tvlqr(model, dt=0.1).K.shape
        (11, 2, 4)
    """

    K: Floats
    P: Floats
    Q: Floats
    R: Floats
    N: Floats
    model: StateSpace

    def feedback(
        self, start: float = 0.0, *, allow_model_mismatch: bool = False, other_figures: bool = False
    ) -> FeedbackControl:
        """Control law for `simulate`: τ = τ₀ - K x about the trajectory, interpolated between rows.

        Args:
            start: time of the first row, in s
            allow_model_mismatch: True allows an arm whose dynamics differ from the arm of the
                design, for example by the payload; otherwise, `simulate` rejects this arm
            other_figures: earlier name of `allow_model_mismatch`

        Returns:
            a `FeedbackControl` with one gain matrix (m, N) per row

        Raises:
            UsageError: a start that is not a finite number, or a trajectory with closed loops

        Example:
            >>> arm, way = robolin.load("two-link"), np.linspace(0.0, 0.1, 6)
            >>> model = robolin.state_space(arm, np.stack([way, -way], axis=-1), qd=[1.0, -1.0])
            >>> robolin.tvlqr(model, dt=0.02).feedback(start=1.0).time
            array([1.  , 1.02, 1.04, 1.06, 1.08, 1.1 ])
        """
        from robolin.control.closed_loop import feedback_along

        return feedback_along(self, start, allow_model_mismatch or other_figures)

    def motion_cost(self, motion: Simulation, start: float = 0.0) -> FeedbackCost:
        """Cost of a simulated motion of the nonlinear arm, and xᵀ P x at its first row.

        The integrator accumulates the cost of a motion under this regulator, for any choice of
        rows.  Any other motion uses the sum over its rows.

        Args:
            motion: a `Simulation` of the arm; under another controller, with a row at every sample
            start: time in the motion of the regulator's first row, in s

        Returns:
            a `FeedbackCost` over the common rows; its parts have the shape (...) of the motion's
            batch

        Raises:
            UsageError: not a motion of this arm, or rows that miss a sample

        Example:
            >>> arm, way = robolin.load("two-link"), np.linspace(0.0, 0.1, 6)
            >>> model = robolin.state_space(arm, np.stack([way, -way], axis=-1), qd=[1.0, -1.0])
            >>> regulator = robolin.tvlqr(model, dt=0.02)
            >>> law, q, qd = regulator.feedback(), [0.001, 0.0], [1.0, -1.0]
            >>> motion = robolin.simulate(arm, q, qd, duration=0.1, dt=0.01, control=law)
            >>> regulator.motion_cost(motion).predicted.shape
            ()
        """
        from robolin.control.closed_loop import feedback_cost_along

        return feedback_cost_along(self, motion, start)


class GainRows(NamedTuple):
    """Gains and cost-to-go matrices of the rows of one block, in order."""

    K: Floats
    P: Floats


def tvlqr(
    model: StateSpace,
    Q: Weight | None = None,
    R: Weight | None = None,
    N: ArrayLike | None = None,
    *,
    terminal: ArrayLike | None = None,
    dt: float | None = None,
    bryson: bool = False,
) -> TimeVaryingRegulator:
    """Design the finite-horizon (time-varying) LQR along the rows of a trajectory.

    Args:
        model: a batch of models (rows, ...) in time order; each is valid for one dt
        Q: weights of states in units of 1/state², as for `lqr`: (N, N), (N,), …; same in all rows
        R: weights of torques in units of 1/torque², as for `lqr`: (m, m), (m,), …
        N: cross weights (..., N, m), in the same units; None for 0
        terminal: the weight (..., N, N) of the state after the last row, in units of Q; None for Q
        dt: the time between rows in s, unless the models are already discrete
        bryson: weights from the limits in the file, 1/(largest value)²

    Returns:
        a `TimeVaryingRegulator`

    Raises:
        RobolinError: a limit that Bryson's rule needs is missing
        UsageError: not a row of models, a missing or second dt, weights of wrong sign or shape

    Example:
        >>> arm, way = robolin.load("two-link"), np.linspace(0.0, 1.0, 11)
        >>> model = robolin.state_space(arm, np.stack([way, -way], axis=-1), qd=[1.0, -1.0])
        >>> robolin.tvlqr(model, {"q": 100.0}, dt=0.1).K[0].round(3)
        array([[10.72 ,  2.211,  7.29 ,  2.085],
               [ 2.058,  3.77 ,  1.918,  1.358]])
    """
    sampled = _sampled(model, dt)
    weights = weights_of(sampled[0], Q, R, N, bryson)
    A, B = sampled.A.copy(), sampled.B
    K = np.empty((len(A), B.shape[-1], A.shape[-1]))
    with one_blas_thread():
        riccati_recursion(A, B, weights, _terminal(terminal, weights), K, A)
    return TimeVaryingRegulator(K, A, *weights, sampled)


def tvlqr_blocks(
    blocks: Iterable[StateSpace],
    Q: Weight | None = None,
    R: Weight | None = None,
    N: ArrayLike | None = None,
    *,
    terminal: ArrayLike | None = None,
    dt: float | None = None,
    bryson: bool = False,
) -> Iterator[GainRows]:
    """Design the time-varying LQR block by block, for trajectories too long for memory.

    Args:
        blocks: batches of models (rows, ...) in time order; they are stored in a temporary file
        Q: weights of states in units of 1/state², as for `lqr`: (N, N), (N,), …; same in all rows
        R: weights of torques in units of 1/torque², as for `lqr`: (m, m), (m,), …
        N: cross weights (..., N, m), in the same units; None for 0
        terminal: the weight (..., N, N) of the state after the last row, in units of Q; None for Q
        dt: the time between rows in s, unless the models are already discrete
        bryson: weights from the limits in the file, 1/(largest value)²

    Returns:
        an iterator over blocks with K (rows, m, N) and P (rows, N, N)

    Raises:
        RobolinError: a limit that Bryson's rule needs is missing
        UsageError: no rows, a missing or second dt, weights with the wrong sign or shape

    Example:
        >>> arm, way = robolin.load("two-link"), np.linspace(0.0, 1.0, 11)
        >>> model = robolin.state_space(arm, np.stack([way, -way], axis=-1), qd=[1.0, -1.0])
        >>> [block.K.shape for block in robolin.tvlqr_blocks([model[:6], model[6:]], dt=0.1)]
        [(6, 2, 4), (5, 2, 4)]
    """
    if not isinstance(blocks, Iterable):
        raise UsageError(f"blocks: must be state-space models, got {blocks!r}")
    with tempfile.TemporaryFile() as file, one_blas_thread():
        weights, sizes = None, []
        for block in blocks:
            sampled = _sampled(block, dt)
            weights = weights or weights_of(sampled[0], Q, R, N, bryson)
            sizes.append(_append(file, sampled))
        if weights is None:
            raise UsageError("the trajectory has no rows")
        stored = _BlockFile(file, sizes, *weights.N.shape)
        P = _terminal(terminal, weights)
        for number in track("LQR gains", reversed(range(len(sizes))), len(sizes)):
            A, B = stored.read(number, (stored.states, stored.inputs))
            K = np.empty((len(A), stored.inputs, stored.states))
            P = riccati_recursion(A, B, weights, P, K, A)
            stored.write(number, A, K)
        for number in range(len(sizes)):
            cost, gains = stored.read(number, (stored.inputs, stored.states))
            yield GainRows(gains, cost)


def _append(file: IO[bytes], sampled: StateSpace) -> int:
    """Append A and B of a block to the file; return its number of rows."""
    for array in (sampled.A, sampled.B):
        file.write(np.ascontiguousarray(array).data)
    return len(sampled.A)


@dataclass(frozen=True)
class _BlockFile:
    """Blocks in a file, each A then B; P and K have the same size and overwrite them."""

    file: IO[bytes]
    sizes: list[int]
    states: int
    inputs: int

    def _start(self, number: int) -> int:
        return 8 * sum(self.sizes[:number]) * self.states * (self.states + self.inputs)

    def read(self, number: int, shape: tuple[int, int]) -> tuple[Floats, Floats]:
        """Read the square matrices of a block, then the others, of this shape."""
        self.file.seek(self._start(number))
        rows, square = self.sizes[number], self.states**2
        count = rows * (square + self.states * self.inputs)
        numbers = np.frombuffer(bytearray(self.file.read(8 * count)))
        first, second = numbers[: rows * square], numbers[rows * square :]
        return first.reshape(rows, self.states, self.states), second.reshape(rows, *shape)

    def write(self, number: int, first: Floats, second: Floats) -> None:
        self.file.seek(self._start(number))
        for array in (first, second):
            self.file.write(array.data)


def riccati_recursion(
    A: Floats, B: Floats, weights: Weights, P: Floats, K_out: Floats, P_out: Floats
) -> Floats:
    """Riccati recursion over the rows of A and B, last to first; P_out may be A itself."""
    Q, R, N = weights
    for k in range(len(A) - 1, -1, -1):
        a, b = A[k], B[k]
        BP = b.T @ P
        K = np.linalg.solve(R + BP @ b, BP @ a + N.T)
        F, NK = a - b @ K, N @ K
        P = Q + K.T @ (R @ K) - NK - NK.T + F.T @ (P @ F)
        P = 0.5 * (P + P.T)
        K_out[k], P_out[k] = K, P
    return P


def _terminal(terminal: ArrayLike | None, weights: Weights) -> Floats:
    if terminal is None:
        return weights.Q
    matrix = weight_matrix("terminal", terminal, len(weights.Q))
    require_weights("terminal", matrix, positive=False)
    return matrix


def _sampled(model: StateSpace, dt: float | None) -> StateSpace:
    require_model(model)
    if len(model.batch) != 1 or not model.batch[0]:
        hint = "linearize with q of shape (rows, n)"
        raise UsageError(
            f"a trajectory requires a batch of models with one axis, got {model.batch}", hint=hint
        )
    if model.dt is not None:
        if dt is not None and dt != model.dt:
            raise UsageError(
                f"must be the time between the models, {model.dt:g} s, got {dt:g}", where="dt"
            )
        return model
    if dt is None:
        raise UsageError(
            "dt: the time between the rows is required", hint="pass for example dt=0.01, in s"
        )
    return model.discretize(dt)
