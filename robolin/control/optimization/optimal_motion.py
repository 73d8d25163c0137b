"""First guesses of a motion; an optimal motion with its gains, its polish and its checks.

A first guess is a smooth path to the goal, another motion, or has random torques.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

import numpy as np

from robolin.api.inverse_and_forward import forward
from robolin.control.optimization.acceleration_form import AccelerationForm
from robolin.control.optimization.augmented_lagrangian import MotionTolerances, violation
from robolin.control.optimization.backward_pass import StageCost
from robolin.control.optimization.inverse_kinematics import solutions
from robolin.control.optimization.problem import Problem, TimedMotion, sampled_motion
from robolin.control.optimization.torque_form import TorqueForm, violations
from robolin.control.simulation.feedback_control import FeedbackControl
from robolin.control.simulation.integration import feedback_states
from robolin.control.simulation.schedule import Schedule
from robolin.control.simulation.simulate import SimulationTask, run_simulation
from robolin.control.simulation.torques import EffortLimits, InterpolatedTorque
from robolin.core.arm import Arm
from robolin.core.arrays import Floats
from robolin.core.notebook import DisplayMixin
from robolin.core.quantity_table import joint_unit
from robolin.core.records import dataclass
from robolin.errors import RobolinError, UsageError
from robolin.evaluation.evaluate import RunOptions

# starts with an unknown final position
POSE_STARTS = 4
# height of the random bumps of other starts, relative to the distance
BUMP = 0.1
# torques of random starts relative to the limits, and the number of their waves
TORQUE_SHARE, WAVES = 0.4, 6
# steps of the replay between two knots
REPLAY_STEPS = 10
# relative increase of the cost that is the cost of strict limits
POLISH_COST = 1e-6
COMPILED: RunOptions = {"engine": "compiled", "jobs": 1}


@dataclass(frozen=True, eq=False, repr=False)
class OptimalMotion(DisplayMixin):
    """A locally optimal motion: states, torques and time-varying gains at the knots.

    Between knots, torques are linear in time (method "acceleration") or constant (method "torque").

    Fields:
        time: times of the knots (rows,) in s
        q: positions (rows, n) in rad or m
        qd: velocities (rows, n) in rad/s or m/s
        qdd: accelerations (rows, n) in rad/s² or m/s²
        tau: torques (rows, n) in N·m or N
        K: gains (rows, m, 2n) of τ - K x at the actuated joints, for deviations x of q and q̇
        P: cost-to-go xᵀ P x (rows, 2n, 2n)
        actuated: names of the m actuated joints
        method: "acceleration" or "torque"
        cost: integral of the weighted squares
        cost_parts: parts of the cost: "effort", "state" and "end"
        costs: cost after each iteration (iterations + 1,), with the penalties of limits
        converged: whether the cost converged; otherwise `reason` explains why
        reason: why the iterations ended
        goal_error: remaining distance from the goal by unit, such as {"rad": 1e-9}
        defect: largest relative difference between q̈ and an independent forward dynamics
        replay_errors: largest final errors, by unit, of a simulation with shorter steps: without
            gains, and with gains
        arm: the arm
        starts: number of starts that were tried
        diverged: number of starts that were ignored, because the motion was not finite

    Example:
        >>> arm = robolin.load("two-link")
        >>> result = robolin.optimize(arm, [1.0, -0.5], duration=1.0)
        >>> result.q[-1].round(4), result.converged
        (array([ 1. , -0.5]), True)
        >>> result.K.shape
        (101, 2, 4)
    """

    time: Floats
    q: Floats
    qd: Floats
    qdd: Floats
    tau: Floats
    K: Floats
    P: Floats
    actuated: tuple[str, ...]
    method: str
    cost: float
    cost_parts: Mapping[str, float]
    costs: Floats
    converged: bool
    reason: str
    goal_error: Mapping[str, float]
    defect: float
    replay_errors: tuple[Mapping[str, float], Mapping[str, float]]
    arm: Arm = field(repr=False)
    starts: int = 1
    diverged: int = 0

    @property
    def iterations(self) -> int:
        """Number of iterations."""
        return len(self.costs) - 1

    @property
    def dt(self) -> float:
        """Time between knots in s."""
        return float(self.time[1] - self.time[0])

    def feedback(self, *, gains: bool = True) -> FeedbackControl:
        """Control law for `simulate`: τ = τ₀ - K x about the motion.

        Args:
            gains: False for the torques without feedback

        Returns:
            a `FeedbackControl` with one gain matrix (m, 2n) per row

        Raises:
            UsageError: gains that are neither True nor False

        Example:
            >>> arm = robolin.load("two-link")
            >>> result = robolin.optimize(arm, [1.0, -0.5], duration=1.0)
            >>> motion = robolin.simulate(arm, 0.0, duration=1.0, control=result.feedback())
            >>> motion.q[-1].round(2)
            array([ 1. , -0.5])
        """
        if not isinstance(gains, bool):
            raise UsageError(f"must be True or False, got {gains!r}", where="gains")
        K = self.K if gains else np.zeros_like(self.K)
        held = self.dt if self.method == "torque" else None
        qd = self.qd if held else centred_velocities(self.qd)
        return FeedbackControl(
            K, self.q, qd, self.tau, self.actuated, self.time, dt=held, arm=self.arm
        )


def centred_velocities(qd: Floats) -> Floats:
    """Velocities at the times of the knots, from those of semi-implicit Euler steps.

    v(k) is the difference of the positions before and at knot k: the velocity half a step earlier.
    """
    centred = qd.copy()
    centred[1:-1] = 0.5 * (qd[1:-1] + qd[2:])
    return centred


def polish_accelerations(
    problem: Problem, form: AccelerationForm, tolerances: MotionTolerances
) -> None:
    """Bring torques at their limits within them by box-DDP; keep the motion if it gets worse."""
    if not form.cost_terms.multiplier[:-1, 2].any():
        return
    before = form.x.copy(), form.a.copy(), form.block.copy()
    logs = form.progress.costs, form.progress.fractions
    lengths = [len(log) for log in logs]
    cost = sum(cost_parts(problem, form.y()).values())
    limits = EffortLimits(problem.ranges.tau_lower, problem.ranges.tau_upper)
    good = form.polish(limits) and violation(form, tolerances).worst <= 1.0
    if good:
        after = sum(cost_parts(problem, form.y()).values())
        good = after <= cost + POLISH_COST * abs(cost)
    # the gains are those of the first terms: fixed torques would have none
    form.block[...] = before[2]
    if not good:
        form.restore(*before[:2])
        for log, length in zip(logs, lengths, strict=True):
            del log[length:]


def polish_torques(problem: Problem, form: TorqueForm, best: int, tolerance: float) -> None:
    """Bring torques at their limits within them by box-DDP; keep the motion if it gets worse."""
    ranges, driven, y = problem.ranges, list(problem.actuated), form.y()[best]
    limits = ranges.tau_lower[driven], ranges.tau_upper[driven]
    if not form.cost_terms.multiplier[best, :-1, 2].any():
        return
    parts = form.x[best], form.u[best], form.K[best], form.P[best]
    before = [part.copy() for part in parts]
    terms = StageCost(*(part[best].copy() for part in form.cost_terms))
    cost = sum(cost_parts(problem, y).values())
    form.polish(best, limits, tolerance)
    after = sum(cost_parts(problem, form.y()[best]).values())
    worst = violations(form, problem.tolerances())[best]
    if not (worst <= 1.0 and after <= cost + POLISH_COST * abs(cost)):
        form.box = None
        for part, values in zip(parts, before, strict=True):
            part[...] = values
        for part, values in zip(form.cost_terms, terms, strict=True):
            part[best] = values


def cost_parts(problem: Problem, y: Floats) -> dict[str, float]:
    """Effort, state and end part of the cost of y = (q, v, τ): (N + 1, 3, n)."""
    terms = problem.stage_cost()
    squares = 0.5 * terms.weight * (y - terms.reference) ** 2
    end = float(squares[-1].sum())
    if problem.final is not None and problem.residual is not None:
        error = problem.residual(y[-1, 0]).error
        end += float(problem.final * (error * error).sum())
    return {
        "effort": float(squares[:-1, 2].sum()),
        "state": float(squares[:-1, :2].sum()),
        "end": end,
    }


def goal_error(problem: Problem, q: Floats) -> dict[str, float]:
    """Distance of positions from the goal by unit; {} without a goal."""
    if problem.residual is not None:
        pose = problem.residual(q)
        errors = {"m": float(pose.distance)}
        if problem.residual.rotation is not None:
            errors["rad"] = float(pose.angle)
        return errors
    if problem.goal is None:
        return {}
    return by_unit(problem.arm, q - problem.goal)


def shortfall(problem: Problem, y: Floats) -> tuple[str, str]:
    """Describe the largest violation of y = (q, v, τ): (N + 1, 3, n): a limit, or else the goal.

    Returns:
        "position", "velocity" or "effort" of the limit, else ""; and the text, "" if nothing
    """
    cost, tolerances, arm = problem.stage_cost(), problem.tolerances(), problem.arm
    beyond = np.maximum(np.maximum(cost.lower - y, y - cost.upper), 0.0)
    # the goal is the limits of the last knot
    beyond[-1][cost.lower[-1] == cost.upper[-1]] = 0.0
    missed = _missed_goal(problem, y[-1], tolerances.goal)
    relative = beyond / tolerances.limits
    if not relative.max() > 1.0:
        return "", missed
    knot, row, i = np.unravel_index(int(np.argmax(relative)), relative.shape)
    quantity = ("position", "velocity", "effort")[row]
    unit, value = joint_unit(quantity, arm.joints[i].turns), y[knot, row, i]
    limit = (cost.upper if value > cost.upper[knot, row, i] else cost.lower)[knot, row, i]
    limit = abs(limit) if row else limit
    text = (
        f"exceeds the {quantity} limit of joint '{arm.joint_names[i]}' by "
        f"{beyond[knot, row, i]:.3g} {unit} (limit {limit:.4g} {unit})"
    )
    return quantity, f"{text}, and misses the goal" if missed else text


def _missed_goal(problem: Problem, end: Floats, tolerance: float) -> str:
    """Describe the distance of the last knot (3, n) from the goal; '' if it is there."""
    if problem.final is not None or (problem.goal is None and problem.residual is None):
        return ""
    errors = goal_error(problem, end[0])
    away = ", ".join(f"{x:.3g} {unit}" for unit, x in errors.items() if x > tolerance)
    i = int(np.argmax(np.abs(end[1])))
    speed = f"{end[1, i]:.3g} {joint_unit('velocity', problem.arm.joints[i].turns)}"
    joint = f"joint '{problem.arm.joint_names[i]}'"
    if not abs(end[1, i]) > tolerance:
        return f"ends {away} from the goal" if away else ""
    if not away:
        return f"reaches the goal, but not at rest: {joint} still moves at {speed}"
    return f"ends {away} from the goal, and {joint} still moves at {speed}"


def by_unit(arm: Arm, change: Floats) -> dict[str, float]:
    """Largest change of the joints by unit: rad, m, or both."""
    turns = np.array([joint.turns for joint in arm.joints])
    kinds = {"rad": turns, "m": ~turns}
    return {unit: float(np.abs(change[..., own]).max()) for unit, own in kinds.items() if own.any()}


def independent_defect(arm: Arm, q: Floats, qd: Floats, qdd: Floats, tau: Floats) -> float:
    """Largest difference between q̈ and forward dynamics by elimination, relative to max |q̈|."""
    again = forward(arm, q, qd, tau, method="conventional", engine="compiled", jobs=1)
    scale = max(1.0, float(np.abs(qdd).max()))
    return float(np.abs(again - qdd).max()) / scale


def replayed(motion: OptimalMotion, problem: Problem, gains: bool) -> dict[str, float]:
    """Errors at the end of the motion simulated with shorter steps; infinite if it diverges."""
    try:
        end = _replayed_end(motion, gains)
    except RobolinError:
        units = goal_error(problem, motion.q[-1]) or by_unit(motion.arm, motion.q[-1])
        return dict.fromkeys(units, float("inf"))
    return goal_error(problem, end) or by_unit(motion.arm, end - motion.q[-1])


def _replayed_end(motion: OptimalMotion, gains: bool) -> Floats:
    """Positions at the end of the motion simulated with shorter steps, without effort limits."""
    arm, duration, start = motion.arm, float(motion.time[-1]), (motion.q[0], motion.qd[0])
    dt = motion.dt / REPLAY_STEPS
    if motion.method == "torque":
        law = motion.feedback(gains=gains)
        schedule = Schedule(duration, dt=dt, every=None)
        task = SimulationTask(arm, schedule, control=law, limits=False, engine="compiled", jobs=1)
        q = run_simulation(task, *start, 0.0).q
    else:
        schedule, none = Schedule(duration, dt=dt, every=None), np.full(arm.n, np.inf)
        limits = EffortLimits(-none, none)
        torques = InterpolatedTorque(motion.time, motion.tau)
        q = feedback_states(
            arm, motion.feedback() if gains else torques, start, schedule, limits, COMPILED
        ).q
    end: Floats = q[-1]
    return end


def guesses(
    problem: Problem, starts: int | None, seed: int, initial: TimedMotion | None
) -> list[Floats]:
    """Accelerations (N, n) of the starts: to each solution of a pose, then with random bumps."""
    if initial is not None:
        positions = [sampled_motion(problem.arm, initial, problem.time)[:, 0]]
        return [accelerations_of(problem, each) for each in positions]
    if problem.reference is not None:
        return [accelerations_of(problem, problem.reference[:, 0])]
    count = starts or (1 if problem.residual is None else POSE_STARTS)
    ends = [problem.start[0] if problem.goal is None else problem.goal]
    if problem.residual is not None:
        bounds = problem.ranges.q_lower, problem.ranges.q_upper
        first = np.clip(problem.start[0], *bounds)
        reaching, _ = solutions(problem.residual, first, bounds, 8 * count, seed, 1e-7)
        ends = list(reaching[:count]) or ends
    rng, found_paths = np.random.default_rng(seed), []
    for i in range(count):
        path = smooth_path(problem, ends[i % len(ends)])
        if i >= len(ends):
            size = BUMP * (1.0 + np.abs(path[-1] - path[0]))
            wave = np.sin(np.pi * problem.time / problem.duration) ** 2
            path = path + (rng.normal(size=problem.n) * size) * wave[:, None]
        found_paths.append(accelerations_of(problem, path))
    return found_paths


def smooth_path(problem: Problem, end: Floats) -> Floats:
    """Positions (N + 1, n) from the start to an end, at rest at both (minimum jerk)."""
    s = (problem.time / problem.duration)[:, None]
    share = s * s * s * (10.0 - 15.0 * s + 6.0 * s * s)
    path: Floats = problem.start[0] + share * (end - problem.start[0])
    return path


def accelerations_of(problem: Problem, path: Floats) -> Floats:
    """Accelerations (N, n) that move through positions at the knots from the given velocity."""
    velocity = np.concatenate([problem.start[1][None], np.diff(path, axis=0) / problem.dt])
    a: Floats = np.diff(velocity, axis=0) / problem.dt
    return a


def torque_guesses(problem: Problem, starts: int, seed: int, initial: TimedMotion | None) -> Floats:
    """Torques (starts, N, m): zero or those of a motion, then random smooth ones."""
    N, m = problem.N, len(problem.actuated)
    rng, time = np.random.default_rng(seed), problem.time[:N] / problem.duration
    most = np.minimum(problem.ranges.tau_upper, -problem.ranges.tau_lower)[list(problem.actuated)]
    size = np.where(np.isfinite(most), TORQUE_SHARE * most, 1.0)
    u = np.zeros((starts, N, m))
    for i in range(1, starts):
        for wave in range(1, WAVES + 1):
            phase, height = rng.uniform(0.0, 2.0 * np.pi, m), rng.normal(size=m)
            u[i] += size * height * np.sin(np.pi * wave * time[:, None] + phase)
    if initial is not None:
        tau = getattr(initial, "tau", None)
        if tau is None:
            raise UsageError(
                "must contain torques, because the robot has passive joints", where="initial"
            )
        at = np.asarray(initial.time, dtype=float)
        torques = np.asarray(tau, dtype=float)[:, list(problem.actuated)]
        u[0] = np.stack([np.interp(problem.time[:N], at, torques[:, i]) for i in range(m)], axis=-1)
    return u
