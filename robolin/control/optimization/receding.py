"""Receding-horizon control (MPC): one iteration of the acceleration form per sample.

The last solution, shifted by one knot, is the first guess of the next one.  Limits are quadratic
penalties along the horizon: multipliers would grow without bound while a disturbed state is outside
them.  The torques of a sample never exceed their limits.  A torque bias, estimated from the motion
since the last sample, compensates loads that the model lacks:

    b ← b + g (τ - ID(q, q̇, Δq̇/dt) - b)
"""

from __future__ import annotations

import numpy as np

from robolin.api.inverse_and_forward import inverse
from robolin.codegen.mpc_files import MpcTables
from robolin.control.optimization.acceleration_form import (
    COST_ROUNDING,
    DAMPING_RANGE,
    SHORT_STEP,
    STEP_FRACTIONS,
    SUFFICIENT,
    AccelerationForm,
    IterationLog,
)
from robolin.control.optimization.compiled_pass import BatchKernel
from robolin.control.optimization.inverse_kinematics import PoseGoal, ik
from robolin.control.optimization.joint_limits import require_one, require_simple, scaled_ranges
from robolin.control.optimization.problem import Problem, Weight, weights
from robolin.core.arm import Arm
from robolin.core.arrays import Floats, JointValues, as_joint_array, require_real
from robolin.description.inspection import in_words, moving_differences
from robolin.engine.compiled.kernels import require_compiler
from robolin.errors import RobolinError, UsageError

# default weight of positions in 1/rad² or 1/m² per second
POSITION_WEIGHT = 10.0
# factor of the penalties of limits
LIMIT_STIFFNESS = 30.0


class Receding:
    """A controller that optimizes the motion of the next `horizon` seconds at every sample.

    Attributes:
        goal: goal positions (n,) in rad or m
        bias: estimated torque of loads that the model lacks (n,) in N·m or N
        q: planned positions (knots, n) in rad or m
        tau: planned torques (knots, n) in N·m or N, without the bias

    Example:
        >>> arm = robolin.load("two-link")
        >>> control = robolin.receding(arm, [0.5, -0.5], horizon=0.3)
        >>> control.step(np.zeros(2), np.zeros(2)).shape
        (2,)
    """

    goal: Floats
    bias: Floats

    def __init__(self, problem: Problem, iterations: int, observer: float) -> None:
        self._problem, self._iterations, self._observer = problem, iterations, observer
        self.goal = np.array(problem.goal)
        n, N = problem.n, problem.N
        self._form = AccelerationForm(
            problem.arm, problem.dt, problem.start, np.zeros((N, n)), problem.stage_cost()
        )
        self.bias = np.zeros(n)
        self._last: tuple[Floats, Floats, Floats] | None = None
        self._state, self._torque = np.zeros((1, 3 * n)), np.zeros((1, n))
        parts = [self._state[:, i * n : (i + 1) * n] for i in range(3)]
        self._inverse = BatchKernel(problem.arm, "inverse").bind(parts, [self._torque])
        self._form.cost_terms.penalty[...] *= LIMIT_STIFFNESS
        self._set_reference()

    def _set_reference(self) -> None:
        """Measure positions from the goal, and torques from those that hold it."""
        reference = self._form.cost_terms.reference
        reference[:, 0] = self.goal
        reference[:-1, 2] = inverse(self._problem.arm, self.goal)

    @property
    def q(self) -> Floats:
        """Planned positions (knots, n) in rad or m."""
        return self._form.x[:, : self._problem.n].copy()

    @property
    def tau(self) -> Floats:
        """Planned torques (knots, n) in N·m or N, without the bias."""
        return self._form.tau[:-1].copy()

    def set_goal(self, goal: JointValues) -> None:
        """Change the goal positions.

        Args:
            goal: positions (n,) in rad or m

        Raises:
            RobolinError: an array with the wrong shape, or values that are not finite
        """
        problem = self._problem
        self.goal = require_one("goal", as_joint_array(problem.arm, "goal", goal))
        self._set_reference()

    def step(self, q: Floats, qd: Floats) -> Floats:
        """Torques for the next sample, from the measured state.

        Args:
            q: measured positions (n,) in rad or m
            qd: measured velocities (n,) in rad/s or m/s

        Returns:
            torques (n,) in N·m or N, within the effort limits

        Raises:
            RobolinError: a state that is not finite or not of shape (n,), or torques that
                overflow; the controller is unchanged
        """
        form, problem = self._form, self._problem
        n = problem.n
        q, qd = np.asarray(q, dtype=float), np.asarray(qd, dtype=float)
        if q.shape != (n,) or qd.shape != (n,):
            raise RobolinError(f"step: q and qd must have shape ({n},), got {q.shape}, {qd.shape}")
        if not (np.isfinite(q).all() and np.isfinite(qd).all()):
            raise RobolinError("step: the state must be finite")
        self._roll_out(q, qd)
        if self._last is not None:
            self._observe(q, qd)
        form.progress = IterationLog()
        form.iterate(self._iterations, 0.0)
        ranges = problem.ranges
        planned = form.tau[0] + self.bias
        tau = np.minimum(np.maximum(planned, ranges.tau_lower), ranges.tau_upper)
        self._last = q.copy(), qd.copy(), tau
        command: Floats = tau.copy()
        return command

    def tables(self) -> MpcTables:
        """The numbers of this controller, for `robolin.generate`."""
        problem, terms = self._problem, self._form.cost_terms
        knots = [0, min(1, problem.N - 1), problem.N]
        weight, lower, upper, penalty = (
            getattr(terms, name)[knots] for name in ("weight", "lower", "upper", "penalty")
        )
        effort = np.stack([problem.ranges.tau_lower, problem.ranges.tau_upper])
        return MpcTables(
            problem.N, problem.dt, self._iterations, self._observer,
            weight, lower, upper, penalty, effort, self.goal,
            STEP_FRACTIONS, SHORT_STEP, SUFFICIENT, DAMPING_RANGE, COST_ROUNDING,
        )  # fmt: skip

    def differences(self, arm: Arm) -> str:
        """Differences between this controller's arm and another one, as a text.

        Args:
            arm: the other arm

        Returns:
            the first differences that affect the dynamics; empty for equal dynamics
        """
        own = self._problem.arm
        if own is arm:
            return ""
        return in_words(moving_differences(arm, own))

    def replay(self, states: Floats) -> Floats:
        """Torques of a new controller with the same goal, for measured states.

        Args:
            states: positions and velocities of consecutive samples (rows, 2, n)

        Returns:
            torques (rows, n) in N·m or N
        """
        other = Receding(self._problem, self._iterations, self._observer)
        other.set_goal(self.goal)
        return np.array([other.step(q, qd) for q, qd in states])

    def _observe(self, q: Floats, qd: Floats) -> None:
        """Update the torque bias from the motion since the last sample."""
        if self._observer == 0.0:
            return
        assert self._last is not None, "the observer has a previous sample"
        q0, qd0, tau = self._last
        n = self._problem.n
        state = self._state[0]
        state[:n], state[n : 2 * n] = 0.5 * (q0 + q), 0.5 * (qd0 + qd)
        state[2 * n :] = (qd - qd0) / self._problem.dt
        if self._inverse():
            self.bias = self.bias + self._observer * (tau - self._torque[0] - self.bias)

    def _roll_out(self, q: Floats, qd: Floats) -> None:
        """Move the plan one knot ahead and start it at the measured state."""
        form, n = self._form, self._problem.n
        plan = form.a, form.x, form.tau
        before = [each.copy() for each in plan]
        if self._last is not None:
            form.a[:-1] = form.a[1:]
            form.a[-1] = 0.0
        form.x[0, :n], form.x[0, n:] = q, qd
        try:
            form.roll_out()
        except RobolinError:
            # the next sample continues with the last plan
            for each, values in zip(plan, before, strict=True):
                each[...] = values
            raise


def receding(
    arm: Arm,
    goal: JointValues | PoseGoal,
    *,
    q: JointValues = 0.0,
    horizon: float = 0.5,
    dt: float = 0.01,
    Q: Weight | None = None,
    R: Weight | None = None,
    final: float | None = None,
    limits: bool = True,
    limit_scale: float = 1.0,
    max_effort: JointValues | None = None,
    max_velocity: JointValues | None = None,
    iterations: int = 1,
    observer: float = 0.2,
) -> Receding:
    """Create a receding-horizon controller (MPC) for a fully actuated arm.

    Call `step` once every `dt` seconds with the measured state, and apply the torques that it
    returns until the next call.

    Args:
        arm: the arm, from `robolin.load`
        goal: goal positions (n,) in rad or m, or a `PoseGoal`, for which `ik` finds positions
        q: expected initial positions (n,) in rad or m, for the scale of the penalties and for `ik`
        horizon: length of the planned motion in s
        dt: sample time and time between knots, in s
        Q: weights of states per second; None for positions 10, and velocities 1/limit² or 1
        R: weights per second of deviations from the holding torques at the goal; None for
            1/limit², or 1 without a limit
        final: weight of the last state; None for the weight of the positions
        limits: respect the limits in the robot file along the horizon
        limit_scale: factor of the velocity and effort limits
        max_effort: effort limits (n,) instead of the limits in the file, in N·m or N
        max_velocity: velocity limits (n,) instead of the limits in the file, in rad/s or m/s
        iterations: iterations per sample
        observer: gain of the torque-bias observer between 0 (none) and 1

    Returns:
        a `Receding`

    Raises:
        RobolinError: closed loops, multi-DoF joints, passive joints, or a goal out of reach
        UsageError: `arm` is not an `Arm`, or an option with an invalid value

    Example:
        >>> arm = robolin.load("panda")
        >>> home = arm.poses["home"]
        >>> control = robolin.receding(arm, home + 0.2, q=home)
        >>> tau = control.step(home, np.zeros(7))
        >>> tau.shape
        (7,)
    """
    require_compiler("receding")
    require_simple(arm)
    if arm.passive_joints:
        raise RobolinError(
            "receding requires a motor at every joint, but these joints are passive: "
            + ", ".join(arm.passive_joints),
            where=arm.source,
            hint="use robolin.optimize, and simulate with the gains of its result",
        )
    require_real(horizon=horizon, dt=dt, observer=observer)
    for name, value in (("horizon", horizon), ("dt", dt)):
        if not (np.isfinite(value) and value > 0.0):
            raise UsageError(f"must be > 0 s, got {value!r}", where=name)
    if not 0.0 <= observer <= 1.0:
        raise UsageError(f"must be between 0 and 1, got {observer!r}", where="observer")
    if isinstance(iterations, bool) or not isinstance(iterations, int) or iterations < 1:
        raise UsageError(f"must be an integer ≥ 1, got {iterations!r}", where="iterations")
    start = require_one("q", as_joint_array(arm, "q", q))
    ranges = scaled_ranges(arm, limits, limit_scale, max_effort, max_velocity)
    if isinstance(goal, PoseGoal):
        target = ik(arm, goal, q=np.clip(start, ranges.q_lower, ranges.q_upper), limits=limits).q
    else:
        target = require_one("goal", as_joint_array(arm, "goal", goal))
    every = tuple(range(arm.n))
    weight = weights(arm, Q, R, every, stays=False)
    if Q is None:
        weight[0] = POSITION_WEIGHT
    if final is not None:
        require_real(final=final)
    last = float(weight[0].max()) if final is None else final
    problem = Problem(
        arm, float(dt), max(1, round(horizon / dt)), (start, np.zeros(arm.n)), every, weight,
        max(last, 1e-12), ranges, target, None, None,
    )  # fmt: skip
    return Receding(problem, iterations, float(observer))
