"""Inverse kinematics: damped least squares within the joint limits, from a batch of starts.

    δq = Jᵀ (J Jᵀ + μ 1)⁻¹ e,   μ = λ |e|²

Joints at a limit that the step would leave keep their position: their columns of J are zero.
λ falls after a step that reduces |e| and rises after one that does not.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from robolin.control.optimization.joint_limits import joint_ranges
from robolin.control.optimization.pose_goal import (
    GoalError,
    PoseGoal,
    PoseResidual,
    matrix_product,
)
from robolin.core.arm import Arm
from robolin.core.arrays import Floats, JointValues, Mask, as_joint_array, require_arm, require_tree
from robolin.core.configuration import difference, integrate
from robolin.core.notebook import DisplayMixin
from robolin.errors import RobolinError, UsageError

ITERATIONS = 100
# iterations that other starts get after the first success, to find a nearer solution
EXTRA_ITERATIONS = 20
# longest step of a joint, in rad or m
LONGEST_STEP = 0.6
# range of the damping factor λ in 1/(rad² or m²)
LEAST_DAMPING, FIRST_DAMPING, MOST_DAMPING = 1e-6, 1e-2, 1e8
# smallest μ: keeps J Jᵀ + μ invertible where a direction is out of reach
FLOOR = 1e-14
# random positions of joints without limits, in rad or m
UNLIMITED_RANGE = np.pi


@dataclass(frozen=True, eq=False, repr=False)
class InverseKinematics(DisplayMixin):
    """Joint positions that place a frame at a goal.

    Fields:
        q: positions (n,) in rad or m, within the limits
        position_error: remaining distance in m
        orientation_error: remaining angle in rad; 0 if the goal has no orientation
        reached: number of starts that reach the goal
        frame: name of the frame

    Example:
        >>> arm = robolin.load("ur5")
        >>> found = robolin.ik(arm, robolin.PoseGoal("tool0", [0.4, 0.2, 0.5]))
        >>> robolin.jacobian(arm, found.q, frame="tool0").position.round(6)
        array([0.4, 0.2, 0.5])
    """

    q: Floats
    position_error: float
    orientation_error: float
    reached: int
    frame: str


def ik(
    arm: Arm,
    goal: PoseGoal,
    *,
    q: JointValues | None = None,
    starts: int = 32,
    seed: int = 0,
    limits: bool = True,
    tolerance: float = 1e-9,
) -> InverseKinematics:
    """Find joint positions that place a frame at a goal (inverse kinematics).

    The solver starts at q and at random positions.  Among the solutions, it returns the one
    nearest to q.

    Args:
        arm: the arm, from `robolin.load`
        goal: the `PoseGoal`: frame, position and optionally orientation
        q: first start (n,) in rad or m; None for zero, moved into the limits
        starts: number of starts
        seed: random seed of the other starts
        limits: stay within the position limits of the robot file
        tolerance: largest error at the goal, in m and in rad

    Returns:
        an `InverseKinematics`

    Raises:
        RobolinError: no start reaches the goal; the error has the smallest pose error.  Also a
            start outside the limits, closed loops, or a goal with invalid numbers
        UsageError: not an arm, an unknown link, or invalid numbers of starts

    Example:
        >>> arm = robolin.load("panda")
        >>> down = [[1, 0, 0], [0, -1, 0], [0, 0, -1]]
        >>> goal = robolin.PoseGoal("panda_hand_tcp", [0.5, 0.1, 0.3], down)
        >>> found = robolin.ik(arm, goal, q=arm.poses["home"])
        >>> found.position_error < 1e-9 and found.orientation_error < 1e-9
        True
    """
    require_arm(arm)
    require_tree(arm, "ik")
    _require_count("starts", starts, 1)
    _require_count("seed", seed, 0)
    if not tolerance > 0.0:
        raise UsageError(f"must be > 0, got {tolerance!r}", where="tolerance")
    bounds = _bounds(arm, limits)
    first = _first_start(arm, q, *bounds)
    residual = PoseResidual(arm, goal)
    found, error = solutions(residual, first, bounds, starts, seed, tolerance)
    if not len(found):
        raise _unreachable(arm, residual, error, starts, limits)
    return InverseKinematics(
        found[0], float(error.distance[0]), float(error.angle[0]), len(found), residual.frame
    )


def solutions(
    residual: PoseResidual,
    first: Floats,
    bounds: tuple[Floats, Floats],
    starts: int,
    seed: int,
    tolerance: float,
) -> tuple[Floats, GoalError]:
    """All positions (solutions, n) that reach a goal, the nearest to `first` first.

    Without any, the errors are those of all starts.
    """
    arm = residual.arm
    positions = np.concatenate([first[None], _random_starts(*bounds, starts - 1, seed)])
    found, error = _descend(arm, residual, positions, bounds, tolerance)
    reached = np.flatnonzero((error.distance <= tolerance) & (error.angle <= tolerance))
    if not len(reached):
        return found[:0], error
    away = np.abs(difference(arm, first, found[reached])).max(axis=-1)
    rows = reached[np.argsort(away, kind="stable")]
    return found[rows], GoalError(*(part[rows] for part in error))


def _descend(
    arm: Arm,
    residual: PoseResidual,
    q: Floats,
    bounds: tuple[Floats, Floats],
    tolerance: float,
) -> tuple[Floats, GoalError]:
    """Positions (starts, n) after damped steps, and their errors."""
    q, damping = q.copy(), np.full(len(q), FIRST_DAMPING)
    error, last = residual(q), ITERATIONS
    for iteration in range(ITERATIONS):
        done = (error.distance <= 0.01 * tolerance) & (error.angle <= 0.01 * tolerance)
        active = np.flatnonzero(~done & (damping < MOST_DAMPING))
        last = min(last, iteration + EXTRA_ITERATIONS) if done.any() else last
        if not active.size or iteration >= last:
            break
        here = GoalError(*(part[active] for part in error))
        step = _step(here, q[active], damping[active], bounds)
        trial = np.clip(integrate(arm, q[active], step), *bounds)
        tried = residual(trial)
        better = _square(tried.error) < _square(here.error)
        rows = active[better]
        q[rows] = trial[better]
        for part, new in zip(error, tried, strict=True):
            part[rows] = new[better]
        damping[active] *= np.where(better, 0.2, 8.0)
        damping = np.maximum(damping, LEAST_DAMPING)
    return q, error


def _step(error: GoalError, q: Floats, damping: Floats, bounds: tuple[Floats, Floats]) -> Floats:
    """Damped least-squares steps (starts, n), not longer than `LONGEST_STEP`."""
    e, J = error.error, error.jacobian
    pull = (J * e[..., None]).sum(axis=-2)
    stuck: Mask = ((q <= bounds[0]) & (pull < 0.0)) | ((q >= bounds[1]) & (pull > 0.0))
    free = np.where(stuck[..., None, :], 0.0, J)
    A = matrix_product(free, np.swapaxes(free, -1, -2))
    rows = np.arange(A.shape[-1])
    A[..., rows, rows] += np.maximum(damping * _square(e), FLOOR)[..., None]
    step = (free * solve_positive(A, e)[..., None]).sum(axis=-2)
    length = np.abs(step).max(axis=-1, keepdims=True)
    limited: Floats = step * np.minimum(1.0, LONGEST_STEP / np.maximum(length, LONGEST_STEP))
    return limited


def solve_positive(A: Floats, b: Floats) -> Floats:
    """Solve A x = b for positive definite A (..., m, m) by LDLᵀ, without LAPACK."""
    m = A.shape[-1]
    L, x = A.copy(), b.copy()
    for k in range(m):
        ratio = L[..., k + 1 :, k] / L[..., k, k, None]
        L[..., k + 1 :, k + 1 :] -= ratio[..., None] * L[..., None, k, k + 1 :]
        x[..., k + 1 :] -= ratio * x[..., k, None]
    for k in reversed(range(m)):
        known = (L[..., k, k + 1 :] * x[..., k + 1 :]).sum(axis=-1)
        x[..., k] = (x[..., k] - known) / L[..., k, k]
    return x


def _square(e: Floats) -> Floats:
    total: Floats = (e * e).sum(axis=-1)
    return total


def _bounds(arm: Arm, limits: bool) -> tuple[Floats, Floats]:
    if not limits:
        return np.full(arm.n, -np.inf), np.full(arm.n, np.inf)
    ranges = joint_ranges(arm)
    return ranges.q_lower, ranges.q_upper


def _first_start(arm: Arm, q: JointValues | None, lower: Floats, upper: Floats) -> Floats:
    if q is None:
        return np.clip(np.zeros(arm.n), lower, upper)
    start = as_joint_array(arm, "q", q)
    if start.ndim != 1 or not np.isfinite(start).all():
        raise RobolinError("q: must be one finite pose (n,)")
    outside = (start < lower) | (start > upper)
    if outside.any():
        i = int(np.argmax(outside))
        raise RobolinError(
            f"q: joint '{arm.joint_names[i]}' starts at {start[i]:.6g}, outside its limits "
            f"{lower[i]:.6g} to {upper[i]:.6g}",
            where=arm.source,
            hint="start within the limits, or ignore them with --ignore-limits (limits=False)",
        )
    return start


def _random_starts(lower: Floats, upper: Floats, count: int, seed: int) -> Floats:
    """Uniform positions (count, n) between the limits; a joint without limits turns ±π."""
    width = 2.0 * UNLIMITED_RANGE
    from_upper = np.where(np.isfinite(upper), upper - width, -UNLIMITED_RANGE)
    low = np.where(np.isfinite(lower), lower, from_upper)
    high = np.where(np.isfinite(upper), upper, low + width)
    share = np.random.default_rng(seed).random((count, len(low)))
    starts: Floats = low + share * (high - low)
    return starts


def _unreachable(
    arm: Arm, residual: PoseResidual, error: GoalError, starts: int, limits: bool
) -> RobolinError:
    best = int(np.argmin(_square(error.error)))
    angle = np.degrees(error.angle[best])
    turned = f" and {angle:.3g} deg" if residual.rotation is not None else ""
    hints = ["move the goal", *(["omit its orientation"] if turned else [])]
    hints += ["add starts with --starts (starts=)"] if starts < 1000 else []
    hints += ["ignore the limits with --ignore-limits (limits=False)"] if limits else []
    return RobolinError(
        f"frame '{residual.frame}' does not reach the goal: the nearest of {starts} starts "
        f"ends {1000.0 * error.distance[best]:.4g} mm{turned} off",
        where=arm.source,
        hint=f"{', '.join(hints[:-1])}, or {hints[-1]}",
    )


def _require_count(name: str, value: object, least: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise UsageError(f"must be an integer ≥ {least}, got {value!r}", where=name)
