"""An optimal-motion problem as arrays: weights, references, limits and goals of every knot."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from robolin.api.inverse_and_forward import inverse
from robolin.api.linear_models import linearize_inverse
from robolin.api.mass_matrices import mass_matrix
from robolin.control.operating_point import JointNames, actuated_indices
from robolin.control.optimization.augmented_lagrangian import MotionTolerances, PoseTerminal
from robolin.control.optimization.backward_pass import StageCost
from robolin.control.optimization.inverse_kinematics import PoseGoal, PoseResidual
from robolin.control.optimization.joint_limits import (
    JointRanges,
    joint_ranges,
    require_one,
    require_simple,
    scaled_ranges,
)
from robolin.core.arm import Arm
from robolin.core.arrays import Floats, JointValues, as_joint_array, is_real_number, require_real
from robolin.core.quantity_table import joint_unit
from robolin.core.records import dataclass
from robolin.core.text import did_you_mean, list_some
from robolin.errors import RobolinError, UsageError

Weight = Mapping[str, float] | float
# violations that count as none: of a limit, relative to it; of a goal, in rad, m, rad/s or m/s
LIMIT_TOLERANCE, GOAL_TOLERANCE = 1e-6, 1e-6
# knots of a motion without dt
KNOTS = 100
# default weight of positions to follow a motion or hold, in 1/rad² or 1/m²
FOLLOW_WEIGHT = 1e4


@dataclass(frozen=True, eq=False)
class Problem:
    """A motion to optimize, from a start within a duration.

    Fields:
        dt: time between knots in s, N of them
        start: positions and velocities (n,)
        weight: of q, v and τ per second (3, n)
        final: weight of the goal at the end; None for a goal that must be reached
        ranges: limits, infinite without
        goal: positions at the end (n,), or None
        residual: error of a goal pose, or None
        reference: positions and velocities to follow (N + 1, 2, n), or None
    """

    arm: Arm
    dt: float
    N: int
    start: tuple[Floats, Floats]
    actuated: tuple[int, ...]
    weight: Floats
    final: float | None
    ranges: JointRanges
    goal: Floats | None
    residual: PoseResidual | None
    reference: Floats | None

    @property
    def n(self) -> int:
        return self.arm.n

    @property
    def limited(self) -> bool:
        """True if any quantity has a limit."""
        return any(np.isfinite(each).any() for each in vars(self.ranges).values())

    @property
    def duration(self) -> float:
        return self.N * self.dt

    @property
    def time(self) -> Floats:
        """Times of the knots in s."""
        return self.dt * np.arange(self.N + 1, dtype=np.float64)

    def stage_cost(self) -> StageCost:
        """Terms of all knots, with penalties of the limits; solvers copy the arrays."""
        return self._stage_cost

    @cached_property
    def _stage_cost(self) -> StageCost:
        N, n, shape = self.N, self.n, (self.N + 1, 3, self.n)
        weight, reference, penalty = np.zeros(shape), np.zeros(shape), np.zeros(shape)
        lower, upper = np.full(shape, -np.inf), np.full(shape, np.inf)
        # the solvers minimize half the sum of squares
        weight[:N] = 2.0 * self.dt * self.weight
        if self.reference is not None:
            reference[:, :2] = self.reference
            weight[N, :2] = weight[N - 1, :2]
        elif self.goal is not None:
            reference[:, 0] = self.goal
        else:
            reference[:, 0] = self.start[0]
        limits = self.ranges
        # the first state is given, and the last one has a goal
        lower[1:, 0], upper[1:, 0] = limits.q_lower, limits.q_upper
        lower[1:, 1], upper[1:, 1] = -limits.qd_upper, limits.qd_upper
        lower[:N, 2], upper[:N, 2] = limits.tau_lower, limits.tau_upper
        passive = [i for i in range(n) if i not in self.actuated]
        lower[:, 2, passive], upper[:, 2, passive] = -np.inf, np.inf
        scale = self._scales(10.0 * self.dt)
        penalty[:, :2] = scale
        penalty[:N, 2] = 10.0 * weight[:N, 2]
        penalty[~(np.isfinite(lower) | np.isfinite(upper))] = 0.0
        if self.goal is not None or self.residual is not None:
            self._set_goal(weight, reference, lower, upper, penalty)
        cost = StageCost(weight, reference, lower, upper, np.zeros(shape), penalty)
        for part in cost:
            part.flags.writeable = False
        return cost

    def _set_goal(
        self, weight: Floats, reference: Floats, lower: Floats, upper: Floats, penalty: Floats
    ) -> None:
        """Goal of the last knot: positions unless a pose is the goal, and zero velocities."""
        scale = self._scales(0.2 * self.duration)
        goals = [] if self.goal is None else [(0, self.goal)]
        for i, value in [*goals, (1, np.zeros(self.n))]:
            reference[-1, i] = value
            if self.final is None:
                lower[-1, i], upper[-1, i], penalty[-1, i] = value, value, 100.0 * scale[i]
            else:
                weight[-1, i] = 2.0 * self.final

    def terminal(self) -> PoseTerminal | None:
        """The goal pose as a cost of the last knot."""
        if self.residual is None:
            return None
        rows = self.residual.rows
        if self.final is not None:
            return PoseTerminal(self.residual, np.full(rows, 2.0 * self.final), hard=False)
        size = 100.0 * float(self._scales(0.2 * self.duration)[0].max())
        return PoseTerminal(self.residual, np.full(rows, size), hard=True)

    @cached_property
    def _inertia(self) -> Floats:
        """Inertia of each joint at the start (n,)."""
        arm, q = self.arm, self.start[0]
        if self._passive:
            return np.diagonal(mass_matrix(arm, q))
        # the acceleration form needs this kernel anyway; the bits are those of `mass_matrix`
        return np.diagonal(linearize_inverse(arm, q, engine="compiled").mass_matrix)

    @property
    def _passive(self) -> bool:
        return len(self.actuated) < self.n

    def _scales(self, time: float) -> Floats:
        """Second derivative of the effort cost by positions and velocities to change in a time.

        A change δq within t takes torques of M δq / t², so it costs about 12 w M² / t³ δq².
        Joints that move together cost at most n times the sum of the single joints.
        """
        inertia = self._inertia
        effort = 2.0 * self.weight[2, list(self.actuated)].max() * inertia * inertia
        together = 1.0 if self._passive else float(self.n)
        return together * np.stack([12.0 * effort / time**3, 4.0 * effort / time])

    def tolerances(self) -> MotionTolerances:
        """Violations that count as none."""
        limits = self.ranges
        reach = limits.q_upper - limits.q_lower
        effort = np.maximum(np.abs(limits.tau_lower), np.abs(limits.tau_upper))
        sizes = np.stack([reach, limits.qd_upper, effort])
        # limits of 0 exist: joints that may not move, and joints without a motor
        usable = np.isfinite(sizes) & (sizes > 0.0)
        sizes[~usable] = 1.0
        return MotionTolerances(LIMIT_TOLERANCE * sizes, GOAL_TOLERANCE)


def motion_problem(
    arm: Arm,
    goal: JointValues | PoseGoal | str | None = None,
    *,
    q: JointValues | None = None,
    qd: JointValues = 0.0,
    duration: float | None = None,
    dt: float | None = None,
    follow: TimedMotion | None = None,
    Q: Weight | None = None,
    R: Weight | None = None,
    final: float | None = None,
    actuated: JointNames = None,
    passive: JointNames = None,
    limits: bool = True,
    limit_scale: float = 1.0,
    max_effort: JointValues | None = None,
    max_velocity: JointValues | None = None,
) -> Problem:
    """The problem of these arguments of `optimize`, which are checked here."""
    ranges = scaled_ranges(require_simple(arm), limits, limit_scale, max_effort, max_velocity)
    if goal is None and follow is None:
        hint = "pass goal=[...] (joint positions in rad or m) and duration, or pass follow"
        raise UsageError("a goal or a motion to follow is required", where="goal", hint=hint)
    require_motion("follow", follow)
    first = 0.0 if follow is None else np.asarray(follow.q, dtype=float)[0]
    start = require_one("q", as_joint_array(arm, "q", first if q is None else q))
    velocity = require_one("qd", as_joint_array(arm, "qd", qd))
    if duration is None:
        if follow is None:
            raise UsageError("a duration is required", where="duration")
        duration = float(np.asarray(follow.time, dtype=float)[-1])
    optional = {"dt": dt, "final": final}
    require_real(duration=duration, **{k: x for k, x in optional.items() if x is not None})
    if not (np.isfinite(duration) and duration > 0.0):
        raise UsageError(f"must be > 0 s, got {duration!r}", where="duration")
    N = KNOTS if dt is None else _knots(duration, dt)
    step = duration / N
    if final is not None and not (np.isfinite(final) and final > 0.0):
        raise UsageError(f"must be > 0, got {final!r}", where="final")
    driven = actuated_indices(arm, actuated, passive)
    joints = residual = None
    if isinstance(goal, PoseGoal):
        residual = PoseResidual(arm, goal, engine="compiled")
    elif isinstance(goal, str):
        if goal != "hold":
            raise UsageError(f"must be positions, a PoseGoal or 'hold', got {goal!r}", where="goal")
        joints = start
    elif goal is not None:
        joints = require_one("goal", as_joint_array(arm, "goal", goal))
    reference = (
        None
        if follow is None
        else sampled_motion(arm, follow, step * np.arange(N + 1, dtype=np.float64))
    )
    stays = follow is not None or isinstance(goal, str)
    weight = weights(arm, Q, R, driven, stays)
    return Problem(
        arm, step, N, (start, velocity), driven, weight, final, ranges, joints, residual, reference
    )


def _knots(duration: float, dt: float) -> int:
    if not (np.isfinite(dt) and 0.0 < dt <= duration):
        raise UsageError(f"must be > 0 s and at most the duration, got {dt!r}", where="dt")
    return max(1, round(duration / dt))


class TimedMotion(Protocol):
    """A motion with times: a simulation, an optimal motion, or a reference."""

    @property
    def time(self) -> Any: ...

    @property
    def q(self) -> Any: ...


def require_motion(keyword: str, motion: object) -> None:
    """Reject an object without times and positions."""
    if motion is not None and not (hasattr(motion, "time") and hasattr(motion, "q")):
        hint = "pass the result of simulate or optimize"
        message = f"{keyword}: must have the attributes time and q, got {motion!r}"
        raise UsageError(message, hint=hint)


def sampled_motion(arm: Arm, follow: TimedMotion, time: Floats) -> Floats:
    """Positions and velocities (knots, 2, n) of a motion at the knots, linear between rows."""
    at, q = np.asarray(follow.time, dtype=float), np.asarray(follow.q, dtype=float)
    velocities = getattr(follow, "qd", None)
    qd = np.gradient(q, at, axis=0) if velocities is None else np.asarray(velocities, dtype=float)
    if q.ndim != 2 or q.shape != (len(at), arm.n) or (np.diff(at) <= 0.0).any():
        raise RobolinError("follow: must have increasing times, and one row of positions per time")
    columns = [np.interp(time, at, values[:, i]) for values in (q, qd) for i in range(arm.n)]
    return np.stack(columns, axis=-1).reshape(len(time), 2, arm.n)


def weights(
    arm: Arm,
    Q: Weight | None,
    R: Weight | None,
    actuated: tuple[int, ...],
    stays: bool,
) -> Floats:
    """Weights of q, v and τ per second (3, n).

    Defaults: 1/limit² of velocities and efforts, or 1; 0 of positions, more to follow or hold.
    """
    ranges, joints = joint_ranges(arm), arm.joint_names
    most = np.maximum(np.abs(ranges.tau_lower), np.abs(ranges.tau_upper))
    table = np.zeros((3, arm.n))
    table[0] = FOLLOW_WEIGHT if stays else 0.0
    table[1] = _inverse_square(ranges.qd_upper)
    table[2] = _inverse_square(most)
    for word, rows, weight in (("Q", (0, 1), Q), ("R", (2,), R)):
        if weight is None:
            continue
        if is_real_number(weight):
            table[list(rows)] = _weight(word, weight)
            continue
        if not isinstance(weight, Mapping):
            raise UsageError(
                f"must be one weight or a dict of weights by name, got {weight!r}", where=word
            )
        _set_named(table, word, rows, weight, joints)
    table[2, [i for i in range(arm.n) if i not in actuated]] = 0.0
    if not (table[2, list(actuated)] > 0.0).all():
        raise UsageError("R: every actuated joint must have a weight > 0")
    return table


_WORDS = {"q": 0, "position": 0, "qd": 1, "velocity": 1, "effort": 2}


def _set_named(
    table: Floats, word: str, rows: tuple[int, ...], named: Mapping[str, Any], joints: Any
) -> None:
    """Set weights such as q, qd, elbow/q, and of torques elbow or elbow/effort."""
    every = {name: i for name, i in _WORDS.items() if i in rows}
    # common weights first, so that those of a joint override them
    for name, value in sorted(named.items(), key=lambda item: item[0] not in every):
        number = _weight(name, value)
        joint, _, part = name.rpartition("/")
        if name in every:
            table[every[name]] = number
        elif rows == (2,) and name in joints:
            table[2, joints.index(name)] = number
        elif joint in joints and part in every:
            table[every[part], joints.index(joint)] = number
        else:
            known = [*every, *(f"{each}/{part}" for each in joints for part in every)]
            raise UsageError(f"{word}: '{name}' not found", hint=did_you_mean(name, known))


def _weight(name: str, value: Any) -> float:
    if not is_real_number(value) or not np.isfinite(float(value)) or float(value) < 0.0:
        raise UsageError(f"the weight of '{name}' must be finite and ≥ 0, got {value!r}")
    return float(value)


def _inverse_square(most: Floats) -> Floats:
    usable = np.isfinite(most) & (most > 0.0)
    return np.where(usable, 1.0 / np.where(usable, most, 1.0) ** 2, 1.0)


def require_start(problem: Problem) -> None:
    """Reject a start or a goal outside the limits, and goals that the motors cannot hold."""
    arm, ranges = problem.arm, problem.ranges
    q, qd = problem.start
    for what, values in (("start", q), ("goal", problem.goal)):
        if values is None:
            continue
        outside = (values < ranges.q_lower) | (values > ranges.q_upper)
        if outside.any():
            i, *others = np.flatnonzero(outside).tolist()
            unit = joint_unit("position", arm.joints[i].turns)
            names = list_some([arm.joint_names[j] for j in others])
            raise RobolinError(
                f"the {what} position of joint '{arm.joint_names[i]}' is {values[i]:.6g} {unit}, "
                f"outside its limits {ranges.q_lower[i]:.6g} to {ranges.q_upper[i]:.6g} {unit}"
                + (f"; also {names}" if others else ""),
                where=arm.source,
                hint=f"{_pose_hint(problem, what)}, or ignore the limits with --ignore-limits "
                "(limits=False)",
            )
    fast = np.abs(qd) > ranges.qd_upper
    if fast.any():
        i = int(np.argmax(fast))
        unit = joint_unit("velocity", arm.joints[i].turns)
        raise RobolinError(
            f"joint '{arm.joint_names[i]}' starts at {qd[i]:.6g} {unit}, faster than its velocity "
            f"limit of {ranges.qd_upper[i]:.6g} {unit}",
            where=arm.source,
            hint="start at a lower velocity, or ignore the limits with --ignore-limits "
            "(limits=False)",
        )
    if problem.goal is not None and problem.final is None and len(problem.actuated) == arm.n:
        _require_held(problem, problem.goal)


def _pose_hint(problem: Problem, what: str) -> str:
    """How to move a start or a goal into the limits, with a named pose if one is within them."""
    option, ranges = "--q" if what == "start" else "--goal", problem.ranges
    for name, pose in problem.arm.named_poses:
        q = np.asarray(pose)
        if ((q >= ranges.q_lower) & (q <= ranges.q_upper)).all():
            return f"use {option} {name}, a pose within the limits"
    return f"use {option} with values within the limits"


def _require_held(problem: Problem, q: Floats) -> None:
    arm, ranges = problem.arm, problem.ranges
    tau = inverse(arm, q)
    weak = (tau < ranges.tau_lower) | (tau > ranges.tau_upper)
    if weak.any():
        i = int(np.argmax(weak))
        unit = joint_unit("effort", arm.joints[i].turns)
        most = ranges.tau_upper[i] if tau[i] > 0.0 else ranges.tau_lower[i]
        raise RobolinError(
            f"the robot cannot hold the goal position: joint '{arm.joint_names[i]}' needs "
            f"{tau[i]:.4g} {unit}, but its effort limit is {most:.4g} {unit}",
            where=arm.source,
            hint="choose another goal, reduce the payload, or raise the limit with --max-effort",
        )
