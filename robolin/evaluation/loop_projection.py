"""Project states onto the loop closures: positions by Newton's method, then velocities.

A simulation satisfies only L q̈ = c, so the gaps grow slowly with rounding and step size.  Either
every step ends with a projection onto the closures, or Baumgarte stabilisation reduces the gaps
continuously.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from robolin.core.arm import Arm
from robolin.core.arrays import Floats, JointValues
from robolin.core.choices import LoopMethod
from robolin.core.configuration import integrate
from robolin.core.records import dataclass
from robolin.errors import RobolinError, UsageError
from robolin.evaluation.evaluate import RunOptions, evaluate_arm, evaluate_rows
from robolin.evaluation.loop_dynamics import (
    Baumgarte,
    Mechanism,
    has_kernel,
    without_closures,
)
from robolin.evaluation.loop_linear_algebra import (
    DEFAULT_OPTIONS,
    DEPENDENT_WITHIN,
    Closures,
    Mask,
    open_by,
)
from robolin.evaluation.quick_calls import quick_call

# gaps below this, in metres and radians, count as closed: rounding for arms of some metres
ASSEMBLED_WITHIN = 1e-13
MAX_CLOSING_STEPS = 60

# gaps below which a state is near its branch, as after a small integration step
NEARBY = 1e-3

# largest step, in radians or metres: longer steps may end on another branch
LONGEST_CLOSING_STEP = 0.5


@dataclass(frozen=True)
class AssembledStates:
    """Projected positions and velocities (B, n), remaining gaps (B, m) and their rates."""

    q: Floats
    qd: Floats
    open_by: Floats
    opening: Floats


def assemble(
    arm: Arm, q: Floats, qd: Floats, held: Sequence[int] = (), options: RunOptions = DEFAULT_OPTIONS
) -> AssembledStates:
    """Project states onto the closures by minimum-norm steps; joints in `held` stay unchanged."""
    free = _free(arm.n, held)
    q = assembled_positions(arm, q, free, options)
    closures = Closures(arm, q, qd, options)
    qd = assembled_velocities(closures, qd, free)
    opening = np.einsum("bij,bj->bi", closures.jacobian, qd)
    return AssembledStates(q, qd, closures.open_by, opening)


def assembled_positions(
    arm: Arm, q: Floats, free: Mask, options: RunOptions = DEFAULT_OPTIONS
) -> Floats:
    """Iterate q ← q - L⁺ e until the gaps e are closed; shorten steps that widen them."""
    q = q.copy()
    closures = Closures(arm, q, options=options)
    gap, step = _largest(closures.open_by), _limited_step(closures, closures.open_by, free)
    fraction = np.ones(len(q))
    active = gap > ASSEMBLED_WITHIN
    for _ in range(MAX_CLOSING_STEPS):
        if not active.any():
            break
        trial = _moved_back(arm, q[active], fraction[active, None] * step[active])
        trial_closures = Closures(arm, trial, options=options)
        left = _largest(trial_closures.open_by)
        better = left < gap[active]
        rows = np.flatnonzero(active)
        improved = rows[better]
        q[improved], gap[improved] = trial[better], left[better]
        step[improved] = _limited_step(trial_closures, trial_closures.open_by, free)[better]
        fraction[improved], fraction[rows[~better]] = 1.0, 0.25 * fraction[rows[~better]]
        active = (gap > ASSEMBLED_WITHIN) & (fraction > 1e-6)
    return q


def assembled_velocities(closures: Closures, qd: Floats, free: Mask) -> Floats:
    """q̇ - L⁺ L q̇: the nearest velocity that satisfies the closures."""
    opening = np.einsum("bij,bj->bi", closures.jacobian, qd)
    return np.asarray(qd - _minimum_norm(closures, opening, free))


def assembled_change(
    closures: Closures, dq: Floats, dqd: Floats, held: Sequence[int] = ()
) -> tuple[Floats, Floats]:
    """The nearest small changes that satisfy L δq = 0 and L δq̇ + δL q̇ = 0."""
    free = _free(dq.shape[-1], held)
    dq = dq - _minimum_norm(closures, closures.change(dq, dqd)[0], free)
    return dq, dqd - _minimum_norm(closures, closures.change(dq, dqd)[1], free)


def closed_nearby(
    arm: Arm, q: Floats, qd: Floats, options: RunOptions
) -> tuple[Floats, Floats] | None:
    """Project one state (n,) that nearly satisfies its closures; None if it does not.

    The steps are those of `assemble`, by the algorithm `closing-step`.
    """
    if not has_kernel(arm, None):
        return None
    nearest: tuple[float, Floats, Floats] | None = None
    for _ in range(MAX_CLOSING_STEPS):
        step, unanswered = evaluate_rows(arm, "closing-step", {"q": q, "qd": qd}, **options)
        gap = float(np.abs(open_by(arm, step)).max())
        if unanswered.any() or not gap < NEARBY:
            return None
        if nearest is not None and gap >= nearest[0]:
            return nearest[1:]
        nearest = gap, q, qd - step["dqd"]
        if gap <= ASSEMBLED_WITHIN:
            break
        q = _moved_back(arm, q, step["dq"])
    return None if nearest is None else nearest[1:]


def _moved_back(arm: Arm, q: Floats, step: Floats) -> Floats:
    """q - step; for a multi-DoF joint the step is a twist of its body."""
    return integrate(arm, q, -step) if arm.groups else q - step


def _free(n: int, held: Sequence[int]) -> Mask:
    free = np.ones(n, dtype=bool)
    free[list(held)] = False
    return free


def _limited_step(closures: Closures, gap: Floats, free: Mask) -> Floats:
    """Minimum-norm step that closes the gap to first order, limited in length."""
    step = _minimum_norm(closures, gap, free)
    return np.asarray(
        step * np.minimum(1.0, LONGEST_CLOSING_STEP / np.maximum(_largest(step), 1e-300))[:, None]
    )


def _minimum_norm(closures: Closures, rows: Floats, free: Mask) -> Floats:
    L = closures.jacobian[..., free]
    step = np.zeros((len(L), len(free)))
    step[:, free] = np.einsum("bij,bj->bi", np.linalg.pinv(L, rcond=DEPENDENT_WITHIN), rows)
    return step


def _largest(values: Floats) -> Floats:
    return np.asarray(np.abs(values).max(axis=-1, initial=0.0))


@dataclass(frozen=True)
class LoopMotion:
    """q̈ (..., n) of an arm with loops, for states that may violate their closures slightly."""

    arm: Arm
    options: RunOptions
    method: LoopMethod = "null-space"
    baumgarte: Baumgarte | None = None

    def __call__(self, t: float, q: Floats, qd: Floats, tau: Floats) -> Floats:
        if self.baumgarte is None and has_kernel(self.arm, self.method):
            quick = quick_call(self.arm, "forward-closed", self.options.get("engine", "auto"))
            fast_result: tuple[Floats, ...] | None = quick(q, qd, tau)
            if fast_result is not None:
                return fast_result[0]
            values = {"q": q, "qd": qd, "tau": tau}
            results, unanswered = evaluate_rows(self.arm, "forward-closed", values, **self.options)
            if not unanswered.any():
                return results["qdd"]
        return self._by_lapack(q, qd, tau)

    def _by_lapack(self, q: Floats, qd: Floats, tau: Floats) -> Floats:
        batch, n = q.shape[:-1], self.arm.n
        q, qd, tau = (np.broadcast_to(x, (*batch, n)).reshape(-1, n) for x in (q, qd, tau))
        mechanism = Mechanism(self.arm, q, qd, tau, self.method, self.options)
        qdd, _, dead_point = mechanism.motion(self.baumgarte)
        if dead_point.any():
            raise RobolinError(
                "the constraints are singular: the linkage has reached a dead point",
                hint="start at another state, or end the simulation earlier",
            )
        return qdd.reshape((*batch, n))


@dataclass(frozen=True)
class Projection:
    """Projection of q and q̇ (..., n) onto the closures."""

    arm: Arm
    options: RunOptions

    def __call__(self, q: Floats, qd: Floats) -> tuple[Floats, Floats]:
        nearby = closed_nearby(self.arm, q, qd, self.options) if q.ndim == 1 else None
        if nearby is not None:
            return nearby
        n = self.arm.n
        projected = assemble(self.arm, q.reshape(-1, n), qd.reshape(-1, n), options=self.options)
        return projected.q.reshape(q.shape), projected.qd.reshape(qd.shape)


@dataclass(frozen=True)
class SimulatedLoops:
    """An arm with loops for simulation: its tree, accelerations and projection."""

    tree: Arm
    accelerations: LoopMotion
    project: Projection | None


def simulated_loops(
    arm: Arm,
    q: JointValues,
    qd: JointValues,
    options: RunOptions,
    baumgarte: tuple[float, float] | None = None,
    fixed_steps: bool = True,
) -> SimulatedLoops:
    """Prepare an arm with loops for simulation from a closed initial state.

    baumgarte: alpha and beta in 1/s, instead of a projection after each step
    """
    # raises if the state violates its closures or has no acceleration
    evaluate_arm(arm, "forward", {"q": q, "qd": qd, "tau": 0.0})
    if baumgarte is None and not fixed_steps:
        hint = "add --baumgarte 10,10 (baumgarte=(10, 10)), or remove --rtol (rtol)"
        raise UsageError("projection onto the constraints requires fixed steps", hint=hint)
    terms = None if baumgarte is None else _terms(baumgarte)
    options = {"engine": options.get("engine", "auto"), "jobs": options.get("jobs")}
    project = Projection(arm, options) if terms is None else None
    return SimulatedLoops(without_closures(arm), LoopMotion(arm, options, baumgarte=terms), project)


def _terms(baumgarte: tuple[float, float]) -> Baumgarte:
    alpha, beta = (float(each) for each in baumgarte)
    if not (0.0 <= alpha < np.inf and 0.0 <= beta < np.inf):
        hint = "write for example baumgarte=(10, 10); alpha = beta gives critical damping"
        raise UsageError(f"baumgarte: must be two rates ≥ 0, got {alpha:g}, {beta:g}", hint=hint)
    return Baumgarte(alpha, beta)
