"""Goal pose of a frame, its error, and inverse kinematics within the joint limits.

    e = [log(R* Rᵀ); p* - p]        in world axes, zero at the goal R*, p*
    δe = -J δq                      to first order in e, for the geometric Jacobian J

Damped least squares improve a batch of starts:

    δq = Jᵀ (J Jᵀ + μ 1)⁻¹ e,   μ = λ |e|²

Joints at a limit that the step would leave keep their position: their columns of J are zero.
λ falls after a step that reduces |e| and rises after one that does not.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from robolin.control.optimization.joint_limits import joint_ranges
from robolin.core.arm import Arm
from robolin.core.arrays import (
    Floats,
    JointValues,
    Mask,
    as_joint_array,
    require_arm,
    require_real,
    require_tree,
)
from robolin.core.configuration import difference, integrate
from robolin.core.notebook import DisplayMixin
from robolin.core.records import dataclass
from robolin.errors import RobolinError, UsageError
from robolin.evaluation.evaluate import Engine, evaluate
from robolin.evaluation.frames import at_frame

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
_SQUARE_ENOUGH = 1e-6
# below this sine, angle / sine is 1 to rounding, or the angle is nearly π
SMALL_SINE = 1e-8


@dataclass(frozen=True, eq=False, repr=False)
class PoseGoal(DisplayMixin):
    """Goal pose of a frame, for `ik` and `optimize`.

    Fields:
        frame: name of the link, moving or merged; None for the tip or the only end link
        position: goal position in the root frame (3,) in m
        rotation: goal orientation in the root frame, a matrix (3, 3); None for any orientation

    Example:
        >>> robolin.PoseGoal("tool0", [0.4, 0.2, 0.5]).position
        [0.4, 0.2, 0.5]
    """

    frame: str | None
    position: ArrayLike
    rotation: ArrayLike | None = None


class GoalError(NamedTuple):
    """Error vectors (..., 3) of the orientation in rad and of the position in m, and Jacobian.

    `error` (..., m) and `jacobian` (..., m, n) have the rows of the goal: 6, or 3 for a position.
    """

    error: Floats
    jacobian: Floats
    distance: Floats
    angle: Floats


class PoseResidual:
    """Error of a frame from its goal, for states (..., n)."""

    arm: Arm
    frame: str
    position: Floats
    rotation: Floats | None

    def __init__(self, arm: Arm, goal: PoseGoal, engine: Engine = "auto") -> None:
        self._engine = engine
        # callers without type checks
        argument: object = goal
        if not isinstance(argument, PoseGoal):
            hint = "use robolin.PoseGoal(frame, position)"
            raise UsageError(f"goal: must be a PoseGoal, got {type(goal).__name__}", hint=hint)
        self.arm = at_frame(arm, goal.frame)
        assert self.arm.tip is not None, "the robot has a default frame"
        self.frame = self.arm.tip.name
        if self.arm.tip.link == arm.base:
            raise RobolinError(
                f"the frame '{self.frame}' is fixed to the base",
                where=arm.source,
                hint="choose a frame on a moving link",
            )
        self._still = np.zeros(arm.n)
        self.position = _finite("position", goal.position, (3,))
        self.rotation = None if goal.rotation is None else _rotation(goal.rotation)

    @property
    def rows(self) -> int:
        """Number of rows of the error."""
        return 3 if self.rotation is None else 6

    def __call__(self, q: Floats) -> GoalError:
        pose = evaluate(self.arm, "jacobian", {"q": q, "qd": self._still}, engine=self._engine)
        shift = self.position - pose["position"]
        distance = np.sqrt((shift * shift).sum(axis=-1))
        if self.rotation is None:
            return GoalError(shift, pose["jacobian"][..., 3:, :], distance, 0.0 * distance)
        turn = rotation_logarithm(
            matrix_product(self.rotation, np.swapaxes(pose["rotation"], -1, -2))
        )
        angle = np.sqrt((turn * turn).sum(axis=-1))
        return GoalError(np.concatenate([turn, shift], axis=-1), pose["jacobian"], distance, angle)


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
        >>> result = robolin.ik(arm, robolin.PoseGoal("tool0", [0.4, 0.2, 0.5]))
        >>> robolin.jacobian(arm, result.q, frame="tool0").position.round(6)
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

    The solver starts at q and at random positions.  It returns the solution
    nearest to q.

    Args:
        arm: the arm, from `robolin.load`
        goal: the `PoseGoal`: frame, position and optionally orientation
        q: first start (n,) in rad or m; None for zero, moved into the limits
        starts: number of starts
        seed: random seed of the other starts
        limits: stay within the position limits in the robot file
        tolerance: largest error at the goal, in m and in rad

    Returns:
        an `InverseKinematics`

    Raises:
        RobolinError: no start reaches the goal; the error has the smallest pose error.  Also a
            start outside the limits, closed loops, or a goal with invalid numbers
        UsageError: `arm` is not an `Arm`, an unknown link, or invalid numbers of starts

    Example:
        >>> arm = robolin.load("panda")
        >>> down = [[1, 0, 0], [0, -1, 0], [0, 0, -1]]
        >>> goal = robolin.PoseGoal("panda_hand_tcp", [0.5, 0.1, 0.3], down)
        >>> result = robolin.ik(arm, goal, q=arm.poses["home"])
        >>> result.position_error < 1e-9 and result.orientation_error < 1e-9
        True
    """
    require_arm(arm)
    require_tree(arm, "ik")
    _require_count("starts", starts, 1)
    _require_count("seed", seed, 0)
    require_real(tolerance=tolerance)
    if not tolerance > 0.0:
        raise UsageError(f"must be > 0, got {tolerance!r}", where="tolerance")
    bounds = _bounds(arm, limits)
    first = _first_start(arm, q, *bounds)
    residual = PoseResidual(arm, goal)
    positions, error = solutions(residual, first, bounds, starts, seed, tolerance)
    if not len(positions):
        raise _unreachable(arm, residual, error, starts, limits)
    return InverseKinematics(
        positions[0],
        float(error.distance[0]),
        float(error.angle[0]),
        len(positions),
        residual.frame,
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
    ends, error = _descend(arm, residual, positions, bounds, tolerance)
    reached = np.flatnonzero((error.distance <= tolerance) & (error.angle <= tolerance))
    if not len(reached):
        return ends[:0], error
    away = np.abs(difference(arm, first, ends[reached])).max(axis=-1)
    rows = reached[np.argsort(away, kind="stable")]
    return ends[rows], GoalError(*(part[rows] for part in error))


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
        raise RobolinError("q: must be one pose of finite positions (n,)")
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
    angle, distance = np.degrees(error.angle[best]), error.distance[best]
    far = f"{1000.0 * distance:.4g} mm" if distance < 10.0 else f"{distance:.4g} m"
    turned = f" and {angle:.3g} deg" if residual.rotation is not None else ""
    move = "move the goal" if distance < 10.0 else "move the goal (goal positions are in m)"
    hints = [move, *(["omit its orientation"] if turned else [])]
    hints += ["use more starting points with --starts (starts=)"] if starts < 1000 else []
    hints += ["ignore the limits with --ignore-limits (limits=False)"] if limits else []
    return RobolinError(
        f"frame '{residual.frame}' does not reach the goal: the best of {starts} starting points "
        f"is still {far}{turned} away from the goal",
        where=arm.source,
        hint=f"{', '.join(hints[:-1])}, or {hints[-1]}",
    )


def _require_count(name: str, value: object, least: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise UsageError(f"must be an integer ≥ {least}, got {value!r}", where=name)


def matrix_product(a: Floats, b: Floats) -> Floats:
    """Product of small matrices, summed from left to right: the same bits on every machine."""
    total = a[..., :, 0, None] * b[..., None, 0, :]
    for k in range(1, a.shape[-1]):
        total = total + a[..., :, k, None] * b[..., None, k, :]
    return total


def rotation_logarithm(R: Floats) -> Floats:
    """Rotation vectors (..., 3), at most π long, of rotation matrices (..., 3, 3)."""
    skew = R - np.swapaxes(R, -1, -2)
    w = np.stack([skew[..., 2, 1], skew[..., 0, 2], skew[..., 1, 0]], axis=-1)
    sine = 0.5 * np.sqrt((w * w).sum(axis=-1))
    cosine = 0.5 * (R[..., 0, 0] + R[..., 1, 1] + R[..., 2, 2] - 1.0)
    angle = np.arctan2(sine, cosine)
    small = sine < SMALL_SINE
    scale = np.where(small, 0.5, 0.5 * angle / np.where(small, 1.0, sine))
    vector: Floats = scale[..., None] * w
    # near a half turn the axis follows from the symmetric part: R + Rᵀ = 2 a aᵀ - …
    half = small & (cosine < 0.0)
    if not half.any():
        return vector
    return np.where(half[..., None], angle[..., None] * _axis_of_half_turn(R, w), vector)


def _axis_of_half_turn(R: Floats, w: Floats) -> Floats:
    """Unit axis of a rotation by nearly π: the longest column of ½ (R + Rᵀ) + 1."""
    outer = 0.5 * (R + np.swapaxes(R, -1, -2)) + np.eye(3)
    longest = np.argmax(np.einsum("...ii->...i", outer), axis=-1)
    axis = np.take_along_axis(outer, longest[..., None, None], axis=-1)[..., 0]
    axis = axis / np.sqrt((axis * axis).sum(axis=-1, keepdims=True))
    signed: Floats = np.where((axis * w).sum(axis=-1, keepdims=True) < 0.0, -axis, axis)
    return signed


def _finite(name: str, value: ArrayLike, shape: tuple[int, ...]) -> Floats:
    array = np.asarray(value, dtype=float)
    if array.shape != shape or not np.isfinite(array).all():
        raise RobolinError(
            f"{name}: must be finite numbers of shape {shape}, got shape {array.shape}"
        )
    return array


def _rotation(value: ArrayLike) -> Floats:
    R = _finite("rotation", value, (3, 3))
    if not (np.abs(R.T @ R - np.eye(3)).max() < _SQUARE_ENOUGH and np.linalg.det(R) > 0.0):
        raise RobolinError(
            "rotation: must be a rotation matrix", hint="check that RᵀR = I and det R = 1"
        )
    return R
