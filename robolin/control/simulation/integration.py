"""Integration of a motion: steps and their stability, callbacks, cost, and errors of a step."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import floor, log10
from typing import Any, NamedTuple

import numpy as np

from robolin.control.simulation.controllers import (
    BrakingController,
    Law,
    PoseControl,
    RateControl,
    SteeringController,
    controller_of,
)
from robolin.control.simulation.equations import Drive, Equations, FreeMotion, JointRates
from robolin.control.simulation.feedback_control import (
    ComputedTorque,
    FeedbackControl,
    PDControl,
    StateFeedback,
    TrackingController,
)
from robolin.control.simulation.integrators import FixedSteps, Look, Repair, adapted_steps
from robolin.control.simulation.rollout import rollout_of
from robolin.control.simulation.schedule import Schedule
from robolin.control.simulation.simulated_motion import (
    FeedbackCost,
    IntegralsAt,
    RecordedRates,
    RunningCost,
)
from robolin.control.simulation.torques import EffortLimits, InterpolatedTorque
from robolin.core.arm import Arm
from robolin.core.arrays import Complexes, Floats, nonfinite_input_rows
from robolin.core.quantity_table import joint_unit
from robolin.core.records import dataclass
from robolin.description.inspection import in_words, moving_differences
from robolin.errors import RobolinError
from robolin.evaluation.evaluate import RunOptions, evaluate_arm

# projects q and q̇ onto the constraints
Project = Callable[[Floats, Floats], tuple[Floats, Floats]]


class Steps(NamedTuple):
    """y at the stored times (rows, …), the cost of the motion, and torques of stored rows.

    first: number of the first row
    """

    kept: Floats
    cost: FeedbackCost | None
    recorded: RecordedRates | None = None
    first: int = 0


@dataclass(frozen=True, eq=False)
class Integration:
    """Equations of motion, their integrator, and callbacks between the steps.

    account:      accumulates the cost of a regulator
    project:      projects states onto the constraints after each fixed step
    look:         called before each step; samples held torques
    integrals_at: integrals of the control law that are not part of y
    """

    equations: Equations
    schedule: Schedule
    account: RunningCost | None = None
    project: Project | None = None
    look: Look | None = None
    integrals_at: IntegralsAt | None = None

    def steps(self, y: Floats) -> Steps:
        """Integrate from y."""
        if self.schedule.fixed:
            return next(self.parts(y))
        failure = self._failure()
        rate, schedule, account = self.equations.rate, self.schedule, self.account
        if account is None:
            return Steps(adapted_steps(rate, y, schedule, failure), None)
        costs: list[FeedbackCost | None] = []

        def along(solution: Any) -> None:
            costs.append(account.along(self.equations, solution))

        return Steps(adapted_steps(rate, y, schedule, failure, along), costs[0])

    def _failure(self) -> StepFailure:
        may_adapt = self.project is None and self.look is None
        return StepFailure(self.equations, self.schedule, may_adapt)

    def parts(self, y: Floats, rows: int | None = None) -> Iterator[Steps]:
        """Integrate with fixed steps, in compiled code as far as possible.

        Each part has this number of rows; the last one may have another, and has the cost.
        """
        equations, schedule, account = self.equations, self.schedule, self.account
        look = self.look if account is None else self._look
        repair = self._repair()
        rules = (self._failure(), repair, look, equations.move)
        fixed = FixedSteps(equations.rate, y, schedule, *rules, part=rows)
        rollout = None
        if repair is None and self.look is None and (account is None or account.integrated):
            rollout = rollout_of(equations, schedule, account)
        if rollout is not None:
            rollout.start(fixed, self._look)
        while True:
            recorded = None if rollout is None else rollout.begin_part(fixed)
            kept, cost = fixed.run(rollout), None
            if account is not None and fixed.ended:
                cost = account.after_steps(equations, kept[-1], self._integrals)
            if recorded is not None:
                recorded = recorded.of_rows(len(kept))
            yield Steps(kept, cost, recorded, fixed.first)
            if fixed.ended:
                return
            fixed.begin_part()

    def _look(self, step: int, t: float, y: Floats) -> None:
        assert self.account is not None, "the control law has a cost"
        if self.look is not None:
            self.look(step, t, y)
        self.account.look(self.equations, t, y, self._integrals)

    def _integrals(self, t: float, y: Floats) -> Floats:
        return self.equations.integrals(y) if self.integrals_at is None else self.integrals_at(t, y)

    def _repair(self) -> Repair | None:
        project = self.project
        if project is None:
            return None

        def repair(y: Floats) -> None:
            self.equations.replace(y, *project(*self.equations.state(y)))

        return repair


class FeedbackStates(NamedTuple):
    """Stored states of a motion under feedback: q and q̇ (rows, n).

    rates: commanded torques and accelerations of the rows in compiled code; None without
    """

    q: Floats
    qd: Floats
    rates: RecordedRates | None


def feedback_states(
    arm: Arm,
    law: FeedbackControl | InterpolatedTorque,
    start: tuple[Floats, Floats],
    schedule: Schedule,
    limits: EffortLimits,
    run_options: RunOptions,
) -> FeedbackStates:
    """Integrate from one state under feedback with fixed steps, without energies and checks.

    law: the feedback, or the torques of a table without feedback
    """
    controller = StateFeedback(arm, law) if isinstance(law, FeedbackControl) else law
    drive, free = Drive(controller, limits), FreeMotion(arm, run_options)
    equations = Equations(arm, (), JointRates(free), drive, free, run_options)
    steps = Integration(equations, schedule).steps(equations.start(*start))
    return FeedbackStates(*equations.state(steps.kept), steps.recorded)


# largest motion of a joint in one step, in rad or m, that the step resolves
_FARTHEST_PER_STEP = 0.5
# largest plausible joint velocity, in rad/s or m/s
_FASTEST = 1e6


@dataclass(frozen=True, eq=False)
class StepFailure:
    """Builds the error to raise when the rates at a time t and a state y cannot be computed.

    equations: equations of the motion
    schedule:  schedule with the steps
    may_adapt: whether an integrator with adaptive steps can be used instead
    """

    equations: Equations
    schedule: Schedule
    may_adapt: bool

    def __call__(self, t: float, before: Floats, y: Floats, error: RobolinError) -> RobolinError:
        """The error at time t.

        Args:
            t: time in s
            before: the last state y that was reached
            y: the state at which `error` was raised
            error: the error of the equations of motion or of the controller
        """
        if t > 0.0 and self.diverged(y):
            return self._divergence(t, before, y)
        return RobolinError(f"at t = {t:g} s: {error.message}", where=error.where, hint=error.hint)

    def stopped(self, t: float, y: Floats) -> RobolinError:
        """Error of an integrator whose adaptive steps became too small."""
        if self.diverged(y):
            return self._divergence(t, y, y)
        _, joint = self._fastest(y, y)
        return RobolinError(
            f"the integration stopped at t = {t:g} s because the step size became too small: "
            f"{self._joint_text(y, 0, joint)}",
            hint="check torques and gains for divergence or jumps; for strong damping or "
            "high gains, use the integrator radau; or increase the tolerance (rtol)",
        )

    def exhausted(self, t: float, y: Floats, evaluations: int) -> RobolinError:
        """The error of an integrator whose adaptive steps are too many for the time reached."""
        if self.diverged(y):
            return self._divergence(t, y, y)
        _, joint = self._fastest(y, y)
        stiff = (
            ""
            if self.schedule.integrator == "radau"
            else "use --integrator radau (integrator='radau') for strong damping or high gains; "
        )
        return RobolinError(
            f"the integration reached only t = {t:g} s of {self.schedule.duration:g} s in "
            f"{evaluations} evaluations: {self._joint_text(y, 0, joint)}",
            hint="check torques, gains and loads if the joint is too fast, or use a shorter "
            f"duration; {stiff}or use a larger tolerance (--rtol) or fixed steps "
            "(--integrator rk4 --dt, without --rtol)",
        )

    def diverged(self, y: Floats) -> bool:
        """Return whether y is not finite, or larger than in any plausible motion."""
        x, v, _ = self.equations.parts(y)
        values = {"qd": v} if self.equations.curved else {"q": x, "qd": v}
        beyond = nonfinite_input_rows(self.equations.arm, values, v.shape[:-1]).any()
        return bool(beyond or not np.isfinite(x).all() or np.abs(v).max() > _FASTEST)

    def _divergence(self, t: float, before: Floats, y: Floats) -> RobolinError:
        state, joint = self._fastest(before, y)
        where = f"state {state}: " if self.equations.parts(y)[1].ndim > 1 else ""
        motion = self._joint_text(y, state, joint)
        if self.schedule.fixed and not self._resolved(y):
            return RobolinError(
                f"{where}the simulation diverged at t = {t:g} s: {motion}", hint=self._advice()
            )
        return RobolinError(
            f"{where}the simulation diverged at t = {t:g} s: {motion}",
            hint="check the signs and magnitudes of torques, gains and loads, or use a shorter "
            "duration",
        )

    def _resolved(self, y: Floats) -> bool:
        """Return whether the longest step resolves the motion."""
        v = self.equations.parts(y)[1]
        return bool(np.abs(v).max() * self.schedule.longest < _FARTHEST_PER_STEP)

    def _advice(self) -> str:
        dt = self.schedule.longest / 10.0
        parts = [f"use a smaller step (--dt {dt:g}; in Python dt={dt:g})"]
        if self.may_adapt:
            parts.append(
                "use --integrator radau (integrator='radau') for strong damping or high gains"
            )
        parts.append("if the motion still diverges, check torques, gains and damping")
        return "; ".join(parts)

    def _fastest(self, before: Floats, y: Floats) -> tuple[int, int]:
        """Index of the state in the batch and of the joint that diverge first."""
        v, n = self.equations.parts(y)[1], self.equations.arm.n
        sizes = np.abs(v).reshape(-1, n)
        lost = ~np.isfinite(sizes)
        if lost.any():
            # several values diverge in one step: take the joint that was fastest before
            last = np.abs(self.equations.parts(before)[1]).reshape(-1, n)
            sizes = np.where(lost, np.nan_to_num(last, nan=np.inf), -1.0)
        state, joint = np.unravel_index(int(np.argmax(sizes)), sizes.shape)
        return int(state), int(joint)

    def _joint_text(self, y: Floats, state: int, joint: int) -> str:
        """Position and velocity of a joint, if they are finite."""
        arm, (x, v, _) = self.equations.arm, self.equations.parts(y)
        turns = arm.joints[joint].turns
        values = {} if self.equations.curved else {"position": x.reshape(-1, arm.n)[state, joint]}
        if self.equations.of_rates:
            values["velocity"] = v.reshape(-1, arm.n)[state, joint]
        texts = [
            f"{word} {value:.3g} {joint_unit(word, turns)}"
            for word, value in values.items()
            if np.isfinite(value)
        ]
        at = " and ".join(texts) or "position and velocity too large for double precision"
        return f"joint '{arm.joint_names[joint]}' has {at}"


# |λ| dt up to which rk4 is stable for every decaying mode; its limit is 2.6157, near 121°
DAMPED = 2.6
# rows of a reference at which the modes of pd control are checked; up to twice as many
MOST_CHECKED = 1000


def require_short_steps(
    arm: Arm, law: Law | None, schedule: Schedule, q: Floats, run_options: RunOptions
) -> None:
    """Reject steps of rk4 that make a stable closed-loop mode grow.

    Torques that are constant between samples close no loop within a step.

    q: initial positions (..., n)
    """
    if law is None or schedule.integrator != "rk4":
        return
    step, lower = schedule.longest, ""
    if isinstance(law, FeedbackControl):
        if law.dt is not None:
            return
        closed = _closed_loop(arm, StateFeedback(arm, law), law, schedule.duration, run_options)
        dof = arm.n if law.basis is None else np.shape(law.basis)[-1]
    elif arm.loops or any(joint.limits.effort_range == (0.0, 0.0) for joint in arm.joints):
        # the law alone does not determine the modes of closed loops and of joints without torque
        return
    else:
        try:
            closed, dof = _stiff_loop(arm, law, q, schedule.duration, run_options), arm.n
        except np.linalg.LinAlgError:
            # a joint moves no inertia: forward dynamics reports the joint
            return
        lower = f"smaller {GAINS[type(law)]}, "
    # matrices without a pole beyond DAMPED / step need no eigenvalues
    closed = closed[_norm_bounds(closed, dof) * step > DAMPED]
    poles: Complexes = np.linalg.eigvals(closed).astype(complex)
    z = step * poles[poles.real < 0.0]
    grown = 1.0 + z * (1.0 + z / 2.0 * (1.0 + z / 3.0 * (1.0 + z / 4.0)))
    if not ((np.abs(z) > DAMPED) & (np.abs(grown) > 1.0)).any():
        return
    fastest = float(np.abs(z).max()) / step
    dt = _rounded_down(DAMPED / fastest)
    raise RobolinError(
        f"with these gains, a mode decays at {fastest:.4g} 1/s; steps of {step:g} s are too long "
        "for this mode, so the simulation would be unstable",
        where="dt",
        hint=f"use {lower}--integrator radau, or --dt {dt:g} or less; in Python "
        f"integrator='radau' or dt={dt:g}",
    )


# names of the gains of each law, for hints
GAINS: dict[type, str] = {
    PDControl: "--kp and --kd",
    ComputedTorque: "--kp and --kd",
    RateControl: "--gain",
    PoseControl: "--gain, --position-gain and --orientation-gain",
}


def _closed_loop(
    arm: Arm,
    feedback: StateFeedback,
    law: FeedbackControl,
    duration: float,
    run_options: RunOptions,
) -> Floats:
    """Closed-loop matrices (..., size, size) of all rows of gains."""
    at = feedback.rows(duration)
    values = {name: at[name] for name in ("q", "qd", "tau")}
    model = evaluate_arm(arm, "linearize-forward", values, **run_options)
    kept = np.eye(arm.n) if law.basis is None else np.asarray(law.basis, dtype=float)
    n, motors = kept.shape[-1], feedback.motors
    K, size = at["K"], at["K"].shape[-1]
    closed = np.zeros((*K.shape[:-2], size, size))
    closed[..., :n, n : 2 * n] = np.eye(n)
    closed[..., n : 2 * n, :n] = kept.T @ model["dqdd_dq"] @ kept
    closed[..., n : 2 * n, n : 2 * n] = kept.T @ model["dqdd_dqd"] @ kept
    closed[..., n : 2 * n, :] -= kept.T @ model["dqdd_dtau"][..., motors] @ K
    if size > 2 * n:
        closed[..., 2 * n :, :] = at["integrals"]
    return closed


def _stiff_loop(arm: Arm, law: Law, q: Floats, duration: float, run_options: RunOptions) -> Floats:
    """Matrices (..., 2 n, 2 n) of M q̈ = -S δq - D q̇, the stiff part of other control laws.

    PDControl: at up to 2 MOST_CHECKED rows of the reference.  PoseControl: at the initial
    positions.
    """
    controller, M = controller_of(arm, law, run_options), np.eye(arm.n)
    S, D = np.zeros_like(M), np.zeros_like(M)
    if isinstance(controller, TrackingController):
        S, D = np.diag(controller.kp), np.diag(controller.kd)
        if isinstance(law, PDControl):
            at = controller.positions(duration)
            # neighbouring rows of a long reference have nearly the same modes
            at = at[:: max(1, len(at) // MOST_CHECKED)] if at.ndim == 2 else at
            M = evaluate_arm(arm, "mass-matrix", {"q": at}, **run_options)["mass_matrix"]
            D = D + np.diag([arm.damping * joint.damping for joint in arm.joints])
    elif isinstance(controller, BrakingController):
        D = np.diag(controller.gain)
    elif isinstance(controller, SteeringController):
        M = evaluate_arm(arm, "mass-matrix", {"q": q}, **run_options)["mass_matrix"]
        S, D = controller.stiffness(q), M * controller.gain
    n = arm.n
    closed = np.zeros((*M.shape[:-2], 2 * n, 2 * n))
    closed[..., :n, n:] = np.eye(n)
    closed[..., n:, :n] = -np.linalg.solve(M, np.broadcast_to(S, M.shape))
    closed[..., n:, n:] = -np.linalg.solve(M, np.broadcast_to(D, M.shape))
    return closed


def _norm_bounds(closed: Floats, n: int) -> Floats:
    """Upper bounds of |λ| of matrices (..., size, size): row sums with velocities scaled.

    A scale of √‖∂q̈/∂q‖ balances positions and velocities; a similar matrix has the same poles.
    """
    stiffness = np.abs(closed[..., n : 2 * n, :n]).sum(axis=-1).max(axis=-1)
    scale = np.sqrt(np.where(stiffness > 0.0, stiffness, 1.0))[..., None]
    rows = np.abs(closed)
    rows[..., n : 2 * n] *= scale[..., None]
    rows[..., n : 2 * n, :] /= scale[..., None]
    bounds: Floats = rows.sum(axis=-1).max(axis=-1)
    return bounds


def _rounded_down(value: float) -> float:
    """Round a positive number down to two digits."""
    unit = floor(log10(value)) - 1
    return float(f"{floor(value / 10.0**unit)}e{unit}")


def require_own_gains(arm: Arm, law: Law | None) -> None:
    """Reject gains that were designed for an arm with other dynamics."""
    if not isinstance(law, FeedbackControl) or law.arm is None or law.arm is arm:
        return
    if differ := moving_differences(arm, law.arm):
        named = f", '{law.arm.name}'" if law.arm.name != arm.name else ""
        raise RobolinError(
            f"the gains are for another robot{named}: {in_words(differ)}",
            where="control",
            hint="compute the gains again, or use feedback(allow_model_mismatch=True)",
        )
