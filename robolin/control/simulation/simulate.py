"""A motion from its beginning: integrated, and looked at row by row."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod

import numpy as np

from robolin.control.simulation.controllers import Controller, Law, controller_of
from robolin.control.simulation.equations import (
    DIAGONAL_FORMS,
    Accelerations,
    Drive,
    Equations,
    FreeMotion,
    velocities_of,
)
from robolin.control.simulation.feedback_control import FeedbackControl, StateFeedback
from robolin.control.simulation.integration import Integration, Project
from robolin.control.simulation.integrators import ZeroOrderHold, fitting_schedule, steps_between
from robolin.control.simulation.reference import (
    AnyAcceleration,
    PrescribedMotion,
    Prescription,
    prescribed_motion,
    prescription,
)
from robolin.control.simulation.running_cost import RunningCost
from robolin.control.simulation.schedule import Schedule, scheduled
from robolin.control.simulation.simulated_motion import Simulation, observed_motion, stacked_motions
from robolin.control.simulation.step_stability import require_own_gains, require_short_steps
from robolin.control.simulation.torques import (
    AnyTorque,
    EffortLimits,
    HoldingTorque,
    TorqueTable,
    effort_limits,
    torque_of,
)
from robolin.core.arm import Arm
from robolin.core.array_checks import (
    as_joint_array,
    batch_of,
    joint_arrays,
    require_arm,
    require_sound,
)
from robolin.core.arrays import Floats, JointValues
from robolin.core.choices import Integrator, StateForm
from robolin.errors import UsageError
from robolin.evaluation.evaluate import FEW_STATES, Engine, RunOptions, nonfinite_input_rows
from robolin.evaluation.loops.loop_simulation import simulated_loops
from robolin.evaluation.prescribed_joints import JointsNamed, require_no_closures


@dataclass(frozen=True)
class SimulationTask:
    """What is to be simulated, but for where it starts."""

    arm: Arm
    schedule: Schedule
    hold: bool = False
    control: Law | None = None
    form: StateForm = "rates"
    limits: bool = True
    accelerations: Accelerations | None = None
    project: Project | None = None
    engine: Engine = "auto"
    jobs: int | None = None
    baumgarte: tuple[float, float] | None = None
    disturbance: AnyTorque | None = None
    prescribed: Prescription | None = None


def simulate(
    arm: Arm,
    q: JointValues,
    qd: JointValues = 0.0,
    *,
    duration: float,
    dt: float | None = None,
    rtol: float | None = None,
    atol: float | None = None,
    integrator: Integrator | None = None,
    every: int | None = 1,
    rows: int | None = None,
    tau: AnyTorque = 0.0,
    hold: bool = False,
    control: Law | None = None,
    state: StateForm = "rates",
    limits: bool = True,
    accelerations: Accelerations | None = None,
    project: Project | None = None,
    engine: Engine = "auto",
    jobs: int | None = None,
    baumgarte: tuple[float, float] | None = None,
    disturbance: AnyTorque | None = None,
    prescribe: JointsNamed | None = None,
    qdd: AnyAcceleration | None = None,
) -> Simulation:
    """The motion of an arm from a state, or from many at once.

    Args:
        arm: the arm, from `robolin.load`
        q: positions (..., n) in rad or m, in the order of `arm.joint_names`
        qd: velocities (..., n) in rad/s or m/s
        duration: how long, in s
        dt: the step of rk4, in s  [1 ms]; else the time between rows
        rtol, atol: tolerances of steps whose size adapts; each state then takes its own steps
        integrator: "rk4", or "dop853", "rk45", "radau" whose steps adapt
        every: with rk4, steps from row to row; None keeps only the first and the last
        rows: how many rows to keep when steps adapt  [101]
        tau: one torque (..., n) for all times in N·m or N, a `TorqueTable`, or a function of t, q
            and q̇
        hold: add the torque that carries weight and loads
        control: a `RateControl`, `PoseControl`, `PDControl`, `ComputedTorque` or
            `FeedbackControl` in place of tau and hold
        state: the velocities that are integrated: q̇ ("rates"), "xi" or "nu"
        limits: cut torques off at what the description allows
        accelerations: q̈ of t, q, q̇ and τ where something else constrains the arm
        project: brings q and q̇ back to such a constraint after each step
        engine: "auto", "python" or "compiled": what runs it; every bit of the result is the same
        jobs: threads for many states; None takes one per processor
        baumgarte: alpha and beta in 1/s that draw the closures of loops shut, in place of
            bringing every step back onto them
        disturbance: torques as for tau, or a `Push`, that act besides and are no motor's: limits
            do not cut them off, and `.tau` is without them
        prescribe: joints that move as told, such as "base" of an arm with a floating base, whatever
            torque that takes; `.tau` tells it
        qdd: their accelerations (n,) in rad/s² or m/s² for all times, or a function of t that
            gives them; the others' are 0 there  [0]

    Returns:
        a `Simulation`

    Raises:
        RobolinError: values that are not sound, a state off its closures, a motion that runs
            away, gains that were found for an arm with other figures, or that are too stiff for dt
        UsageError: settings that do not go together, or an option with a value it cannot have

    Example:
        >>> arm = robolin.load("two-link")
        >>> motion = robolin.simulate(arm, [1.0, -0.5], duration=0.5, every=250)
        >>> motion.q[-1].round(4)
        array([ 0.3699, -0.7067])
        >>> many = robolin.simulate(arm, np.zeros((10, 2)), duration=0.1, every=None)
        >>> many.q.shape
        (10, 2, 2)
    """
    require_arm(arm)
    schedule = scheduled(duration, integrator, dt, rtol, atol, every, rows)
    constraint = (accelerations, project)
    wish = prescription(prescribe, qdd)
    options = (*constraint, engine, jobs, baumgarte, disturbance, wish)
    task = SimulationTask(arm, schedule, hold, control, state, limits, *options)
    return run_simulation(task, q, qd, tau)


def with_samples_met(task: SimulationTask) -> SimulationTask:
    """The task with steps that end where held torques change, unless it says which to take."""
    law = task.control
    if not isinstance(law, FeedbackControl) or law.dt is None:
        return task
    return replace(task, schedule=fitting_schedule(task.schedule, law.dt))


def run_simulation(
    task: SimulationTask, q: JointValues, qd: JointValues, tau: AnyTorque
) -> Simulation:
    """The motion that a task asks for, from these states."""
    _require_one_drive(task, tau)
    require_own_gains(task.arm, task.control)
    if task.prescribed is not None:
        require_no_closures(task.arm)
        if task.accelerations is not None:
            raise UsageError("cannot go together with accelerations", where="prescribe")
        if task.form in DIAGONAL_FORMS:
            message = f"joints that move as prescribed cannot be simulated in {task.form}"
            raise UsageError(message, where="prescribe", hint="take the state 'rates'")
    task = with_samples_met(task)
    q, qd, tau = _together(task.arm, q, qd, tau)
    if task.prescribed is None and task.accelerations is None:
        how: RunOptions = {"engine": task.engine, "jobs": task.jobs}
        require_short_steps(task.arm, task.control, task.schedule, how)
    if task.arm.loops:
        task = _on_closures(task, q, qd)
    elif task.baumgarte is not None:
        raise UsageError("the arm has no closed loops", where="baumgarte")
    if task.project is not None and not task.schedule.fixed:
        raise UsageError("states are projected after steps of fixed size only", where="project")
    motion = (_motion if task.schedule.fixed else _one_by_one)(task, q, qd, tau)
    return replace(motion, control=task.control)


def _on_closures(task: SimulationTask, q: Floats, qd: Floats) -> SimulationTask:
    """The task on the tree of an arm with loops, kept on their closures."""
    how = _run_options(task, prod(q.shape[:-1]))
    loops = simulated_loops(task.arm, q, qd, how, task.baumgarte, task.schedule.fixed)
    return replace(task, arm=loops.tree, accelerations=loops.accelerations, project=loops.project)


def _require_one_drive(task: SimulationTask, tau: AnyTorque) -> None:
    if callable(tau) or isinstance(tau, TorqueTable):
        given = True
    else:
        given = bool(as_joint_array(task.arm, "tau", tau).any())
    if task.control is not None and (task.hold or given):
        hint = "a control law gives the torque, weight and losses included"
        raise UsageError("control cannot go together with tau or hold", where="control", hint=hint)


def _together(
    arm: Arm, q: JointValues, qd: JointValues, tau: AnyTorque
) -> tuple[Floats, Floats, AnyTorque]:
    """Sound values of the same leading axes; a torque that is no array stays as it is."""
    given = {"q": q, "qd": qd}
    if not (callable(tau) or isinstance(tau, TorqueTable)):
        given["tau"] = tau
    arrays = joint_arrays(arm, given)
    batch = batch_of(arrays)
    spread = {name: np.broadcast_to(x, (*batch, arm.n)) for name, x in arrays.items()}
    for row in np.flatnonzero(nonfinite_input_rows(arm, arrays, batch)):
        place = np.unravel_index(row, batch) if batch else ()
        require_sound(arm, {name: values[place] for name, values in spread.items()})
    return spread["q"], spread["qd"], arrays.get("tau", tau)


def _run_options(task: SimulationTask, states: int) -> RunOptions:
    """Kernels as soon as they pay; which engine runs changes no bit."""
    worthwhile = task.engine == "auto" and states * task.schedule.steps >= FEW_STATES
    return {"engine": "compiled" if worthwhile else task.engine, "jobs": task.jobs}


def _one_by_one(task: SimulationTask, q: Floats, qd: Floats, tau: AnyTorque) -> Simulation:
    """Every state by itself: the steps that suit one are not those of its neighbour."""
    batch, motions = q.shape[:-1], []
    for place in np.ndindex(*batch):
        own = np.broadcast_to(tau, q.shape)[place] if isinstance(tau, np.ndarray) else tau
        motions.append(_motion(task, q[place], qd[place], own))
    return stacked_motions(motions, batch)


def _motion(task: SimulationTask, q: Floats, qd: Floats, tau: AnyTorque) -> Simulation:
    """The motion of all states at once."""
    arm, how = task.arm, _run_options(task, prod(q.shape[:-1]))
    controller = None if task.control is None else controller_of(arm, task.control, how)
    given, prescribed = torque_of(arm, tau), prescribed_motion(arm, task.prescribed, tau, how)
    wanted = controller or (HoldingTorque(arm, given, how) if task.hold else given)
    drive = Drive(
        wanted,
        _torque_limits(task, prescribed),
        None if task.disturbance is None else torque_of(arm, task.disturbance),
        prescribed=prescribed,
    )
    if isinstance(controller, StateFeedback) and controller.dt is not None:
        return _sampled(task, q, qd, drive, controller, how)
    if isinstance(controller, StateFeedback) and controller.memory:
        drive = replace(drive, law=controller)
    account = _account(task, controller, q.shape[:-1])
    equations = _equations(task, q.shape[:-1], drive, how, account)
    run = Integration(equations, task.schedule, account, task.project)
    kept, cost = run.steps(equations.start(q, qd))
    integrals = equations.integrals(kept)
    return observed_motion(task.schedule, kept, equations, integrals, controller, cost)


def _account(
    task: SimulationTask, controller: Controller | None, batch: tuple[int, ...]
) -> RunningCost | None:
    """What counts the cost of a regulator that has weights."""
    if not isinstance(controller, StateFeedback) or not controller.has_cost:
        return None
    return RunningCost(controller, task.schedule, batch)


def _torque_limits(task: SimulationTask, prescribed: PrescribedMotion | None) -> EffortLimits:
    """What motors can give; a prescribed joint has no limit."""
    limits = effort_limits(task.arm)
    if not task.limits:
        return limits.without(np.full(task.arm.n, True))
    return limits if prescribed is None else limits.without(prescribed.driven != 0.0)


def _sampled(
    task: SimulationTask, q: Floats, qd: Floats, drive: Drive, law: StateFeedback, how: RunOptions
) -> Simulation:
    """The motion under torques that are held from sample to sample."""
    assert law.dt is not None, "only laws with a sample time hold their torques"
    batch, between = q.shape[:-1], steps_between(task.schedule, law.dt)
    held, account = ZeroOrderHold(law, law.dt, batch), _account(task, law, batch)
    equations = _equations(task, batch, replace(drive, wanted=held), how, None)

    def integrals_at(t: float, y: Floats) -> Floats:
        return held.integrals_at(t)

    def look(step: int, t: float, y: Floats) -> None:
        if step % between == 0:
            held.sample(t, *equations.state(y))

    run = Integration(equations, task.schedule, account, task.project, look, integrals_at)
    kept, cost = run.steps(equations.start(q, qd))
    taken = held.taken()
    equations.torque = replace(drive, wanted=taken)
    integrals = taken.integrals_at(task.schedule.moments())
    return observed_motion(task.schedule, kept, equations, integrals, law, cost)


def _equations(
    task: SimulationTask,
    batch: tuple[int, ...],
    drive: Drive,
    how: RunOptions,
    account: RunningCost | None,
) -> Equations:
    constrained = task.accelerations or drive.prescribed
    velocities = velocities_of(task.arm, task.form, constrained, how)
    free = constrained or FreeMotion(task.arm, how)
    # adaptive steps would follow the error of a cost among their states
    counted = task.schedule.fixed and account is not None and account.integrated
    cost = account if counted else None
    return Equations(task.arm, batch, velocities, drive, free, how, cost)
