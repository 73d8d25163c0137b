"""States brought onto the closures: positions by Newton's method, then velocities."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from robolin.core.arm import Arm
from robolin.core.arrays import Floats
from robolin.evaluation.evaluate import RunOptions, evaluate_rows
from robolin.evaluation.loops.closure_arrays import AS_USUAL, Closures, open_by
from robolin.evaluation.loops.loop_dynamics import has_kernel
from robolin.evaluation.loops.solve import DEPENDENT_WITHIN, Mask

# gaps below this, in metres and radians, are closed; a few roundings of an arm some metres long
ASSEMBLED_WITHIN = 1e-13
MOST_CLOSING_STEPS = 60

# gaps below which a state is on its way back from a small step, and no other branch is near
NEARBY = 1e-3

# the largest step, in radians or metres: longer ones may end on another branch
LONGEST_CLOSING_STEP = 0.5


@dataclass(frozen=True)
class AssembledStates:
    """Positions and velocities (B, n), and what is left of the gaps (B, m) and their rates."""

    q: Floats
    qd: Floats
    open_by: Floats
    opening: Floats


def assemble(
    arm: Arm, q: Floats, qd: Floats, held: Sequence[int] = (), how: RunOptions = AS_USUAL
) -> AssembledStates:
    """The states closed, the held places of q and q̇ as they are, every step as short as can be."""
    free = _free(arm.n, held)
    q = assembled_positions(arm, q, free, how)
    closures = Closures(arm, q, qd, how)
    qd = assembled_velocities(closures, qd, free)
    opening = np.einsum("bij,bj->bi", closures.jacobian, qd)
    return AssembledStates(q, qd, closures.open_by, opening)


def assembled_positions(arm: Arm, q: Floats, free: Mask, how: RunOptions = AS_USUAL) -> Floats:
    """q ← q - L⁺ e until the gaps e no longer shrink; steps that widen them are halved."""
    q = q.copy()
    closures = Closures(arm, q, how=how)
    gap, step = _largest(closures.open_by), _shortest(closures, closures.open_by, free)
    share = np.ones(len(q))
    active = gap > ASSEMBLED_WITHIN
    for _ in range(MOST_CLOSING_STEPS):
        if not active.any():
            break
        trial = q[active] - share[active, None] * step[active]
        tried = Closures(arm, trial, how=how)
        left = _largest(tried.open_by)
        better = left < gap[active]
        rows = np.flatnonzero(active)
        won = rows[better]
        q[won], gap[won] = trial[better], left[better]
        step[won] = _shortest(tried, tried.open_by, free)[better]
        share[won], share[rows[~better]] = 1.0, 0.25 * share[rows[~better]]
        active = (gap > ASSEMBLED_WITHIN) & (share > 1e-6)
    return q


def assembled_velocities(closures: Closures, qd: Floats, free: Mask) -> Floats:
    """q̇ - L⁺ L q̇: the nearest velocity that keeps the closures closed."""
    opening = np.einsum("bij,bj->bi", closures.jacobian, qd)
    return np.asarray(qd - _least(closures, opening, free))


def assembled_change(
    closures: Closures, dq: Floats, dqd: Floats, held: Sequence[int] = ()
) -> tuple[Floats, Floats]:
    """The nearest small changes that keep the closures: L δq = 0 and L δq̇ + δL q̇ = 0."""
    free = _free(dq.shape[-1], held)
    dq = dq - _least(closures, closures.change(dq, dqd)[0], free)
    return dq, dqd - _least(closures, closures.change(dq, dqd)[1], free)


def closed_nearby(arm: Arm, q: Floats, qd: Floats, how: RunOptions) -> tuple[Floats, Floats] | None:
    """One state (n,) that all but meets its closures brought onto them; None if it is not so.

    The same steps as above, by the algorithm `closing-step`.
    """
    if not has_kernel(arm, None):
        return None
    nearest: tuple[float, Floats, Floats] | None = None
    for _ in range(MOST_CLOSING_STEPS):
        found, unanswered = evaluate_rows(arm, "closing-step", {"q": q, "qd": qd}, **how)
        gap = float(np.abs(open_by(arm, found)).max())
        if unanswered.any() or not gap < NEARBY:
            return None
        if nearest is not None and gap >= nearest[0]:
            return nearest[1:]
        nearest = gap, q, qd - found["dqd"]
        if gap <= ASSEMBLED_WITHIN:
            break
        q = q - found["dq"]
    return None if nearest is None else nearest[1:]


def _free(n: int, held: Sequence[int]) -> Mask:
    free = np.ones(n, dtype=bool)
    free[list(held)] = False
    return free


def _shortest(closures: Closures, gap: Floats, free: Mask) -> Floats:
    """The smallest step that closes the gap to first order, cut where it is long."""
    step = _least(closures, gap, free)
    return np.asarray(
        step * np.minimum(1.0, LONGEST_CLOSING_STEP / np.maximum(_largest(step), 1e-300))[:, None]
    )


def _least(closures: Closures, rows: Floats, free: Mask) -> Floats:
    L = closures.jacobian[..., free]
    step = np.zeros((len(L), len(free)))
    step[:, free] = np.einsum("bij,bj->bi", np.linalg.pinv(L, rcond=DEPENDENT_WITHIN), rows)
    return step


def _largest(values: Floats) -> Floats:
    return np.asarray(np.abs(values).max(axis=-1, initial=0.0))
