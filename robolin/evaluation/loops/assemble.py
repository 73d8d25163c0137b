"""Project states onto the loop closures: positions by Newton's method, then velocities."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from robolin.core.arm import Arm
from robolin.core.arrays import Floats
from robolin.core.configuration import integrate
from robolin.evaluation.evaluate import RunOptions, evaluate_rows
from robolin.evaluation.loops.closure_arrays import DEFAULT_OPTIONS, Closures, open_by
from robolin.evaluation.loops.loop_dynamics import has_kernel
from robolin.evaluation.loops.solve import DEPENDENT_WITHIN, Mask

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
