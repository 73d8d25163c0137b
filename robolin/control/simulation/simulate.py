"""Simulation of a motion from its initial state."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
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
from robolin.control.simulation.integration import (
    Integration,
    Project,
    require_own_gains,
    require_short_steps,
)
from robolin.control.simulation.integrators import ZeroOrderHold, fitting_schedule, steps_between
from robolin.control.simulation.schedule import Schedule, scheduled
from robolin.control.simulation.simulated_motion import (
    EnergyCheck,
    RunningCost,
    Simulation,
    observed_motion,
    stacked_motions,
)
from robolin.control.simulation.torques import (
    AnyAcceleration,
    AnyTorque,
    EffortLimits,
    HoldingTorque,
    PrescribedMotion,
    Prescription,
    TorqueTable,
    effort_limits,
    prescribed_motion,
    prescription,
    torque_of,
)
from robolin.core.arm import Arm
from robolin.core.arrays import (
    Floats,
    JointValues,
    as_joint_array,
    batch_of,
    joint_arrays,
    nonfinite_input_rows,
    require_arm,
    require_sound,
)
from robolin.core.choices import Integrator, StateForm
from robolin.core.records import dataclass
from robolin.engine.compiled.kernels import can_compile
from robolin.errors import UsageError, require_callable, warn
from robolin.evaluation.constant_inputs import JointsNamed, require_no_closures
from robolin.evaluation.evaluate import FEW_STATES, Engine, RunOptions
from robolin.evaluation.loop_projection import simulated_loops


@dataclass(frozen=True)
class SimulationTask:
    """Settings of a simulation, without the initial state."""

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
    """Simulate the motion of an arm from one initial state or a batch of initial states.

    Args:
        arm: the arm, from `robolin.load`
        q: positions (..., n) in rad or m, in the order of `arm.joint_names`
        qd: velocities (..., n) in rad/s or m/s
        duration: length in s
        dt: the fixed step, in s  [1 ms]; with adaptive steps, the time between rows
        rtol, atol: tolerances of adaptive steps; each state then has its own steps
        integrator: "rk4" or "euler" (fixed steps), or "dop853", "rk45", "radau" (adaptive steps);
            "euler" is semi-implicit: q advances by the new q̇
        every: fixed steps per row; None stores only the first and the last
        rows: number of rows with adaptive steps  [101]
        tau: constant torque (..., n) in N·m or N, a `TorqueTable`, or a function of t, q and q̇
        hold: add the static torque that compensates gravity and loads
        control: a `RateControl`, `PoseControl`, `PDControl`, `ComputedTorque` or
            `FeedbackControl` instead of tau and hold
        state: the integrated velocities: q̇ ("rates"), "xi" or "nu"
        limits: saturate torques at the effort limits in the robot file
        accelerations: q̈ as a function of t, q, q̇ and τ, for other constraints
        project: function that projects q and q̇ onto these constraints after each step
        engine: "auto", "python" or "compiled"; results are bit-identical
        jobs: number of threads for batches; None for one thread per processor
        baumgarte: alpha and beta in 1/s of Baumgarte stabilization of the loop constraints, instead
            of a projection after every step
        disturbance: external torques as for tau, or a `Push`; effort limits do not apply to them,
            and `.tau` excludes them
        prescribe: joints with prescribed motion, such as "base" of an arm with a floating base;
            `.tau` contains the torque that this requires
        qdd: accelerations (n,) of the prescribed joints in rad/s² or m/s², constant or a function
            of t; 0 for all other joints  [0]

    Returns:
        a `Simulation`

    Raises:
        RobolinError: invalid values, violated loop constraints, a motion that diverges, gains that
            belong to an arm with other parameters, or gains that are too stiff for dt
        UsageError: options that cannot be combined, or an option with an invalid value

    Warns:
        RobolinWarning: a large energy error, or a step longer than the duration

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
    require_callable(accelerations=accelerations, project=project)
    schedule = scheduled(duration, integrator, dt, rtol, atol, every, rows)
    constraint = (accelerations, project)
    wish = prescription(prescribe, qdd)
    options = (*constraint, engine, jobs, baumgarte, disturbance, wish)
    task = SimulationTask(arm, schedule, hold, control, state, limits, *options)
    motion = run_simulation(task, q, qd, tau)
    energies = EnergyCheck(arm)
    energies.update(motion)
    # constraints of the user may exchange energy
    free = accelerations is None and project is None
    for text in (schedule.long_step_text(), energies.text(flags=False) if free else ""):
        if text:
            warn(text)
    return motion


def with_samples_met(task: SimulationTask) -> SimulationTask:
    """Choose steps that end at the samples of held torques, unless the task sets the step."""
    law = task.control
    if not isinstance(law, FeedbackControl) or law.dt is None:
        return task
    return replace(task, schedule=fitting_schedule(task.schedule, law.dt))


def run_simulation(
    task: SimulationTask, q: JointValues, qd: JointValues, tau: AnyTorque
) -> Simulation:
    """Simulate a task from these states."""
    task, q, qd, tau = _prepared(task, q, qd, tau)
    motion = (_motion if task.schedule.fixed else _one_by_one)(task, q, qd, tau)
    return replace(motion, control=task.control)


def runs_in_parts(task: SimulationTask, q: Floats) -> bool:
    """True for one motion with fixed steps whose torques do not depend on a stored history."""
    law = task.control
    held = isinstance(law, FeedbackControl) and law.dt is not None
    return task.schedule.fixed and q.ndim == 1 and not held and task.prescribed is None


def simulated_parts(
    task: SimulationTask, q: Floats, qd: Floats, tau: AnyTorque, rows: int
) -> Iterator[Simulation]:
    """Simulate in parts with this number of rows; the last one may have another.

    The bits are those of `run_simulation`.  The memory does not grow with the duration.
    """
    task, q, qd, tau = _prepared(task, q, qd, tau)
    parts = _motion_parts(task, q, qd, tau, rows)
    return (replace(part, control=task.control) for part in parts)


def _prepared(
    task: SimulationTask, q: JointValues, qd: JointValues, tau: AnyTorque
) -> tuple[SimulationTask, Floats, Floats, AnyTorque]:
    """Check a task and its states; an arm with loops becomes its tree."""
    _require_one_drive(task, tau)
    require_own_gains(task.arm, task.control)
    if task.prescribed is not None:
        require_no_closures(task.arm)
        if task.accelerations is not None:
            raise UsageError("cannot be combined with prescribed accelerations", where="prescribe")
        if task.form in DIAGONAL_FORMS:
            message = f"the state '{task.form}' does not support prescribed joints"
            raise UsageError(message, where="prescribe", hint="use the state 'rates'")
    task = with_samples_met(task)
    q, qd, tau = _together(task.arm, q, qd, tau)
    if task.prescribed is None and task.accelerations is None:
        run_options: RunOptions = {"engine": task.engine, "jobs": task.jobs}
        require_short_steps(task.arm, task.control, task.schedule, q, run_options)
    if task.arm.loops:
        task = _on_closures(task, q, qd)
    elif task.baumgarte is not None:
        raise UsageError("the robot has no closed loops", where="baumgarte")
    if task.project is not None and not task.schedule.fixed:
        raise UsageError("projection onto the constraints requires fixed steps", where="project")
    return task, q, qd, tau


def _on_closures(task: SimulationTask, q: Floats, qd: Floats) -> SimulationTask:
    """Run the task on the tree of an arm with loops, with its loop constraints enforced."""
    run_options = _run_options(task, prod(q.shape[:-1]))
    loops = simulated_loops(task.arm, q, qd, run_options, task.baumgarte, task.schedule.fixed)
    return replace(task, arm=loops.tree, accelerations=loops.accelerations, project=loops.project)


def _require_one_drive(task: SimulationTask, tau: AnyTorque) -> None:
    if callable(tau) or isinstance(tau, TorqueTable):
        has_torque = True
    else:
        has_torque = bool(as_joint_array(task.arm, "tau", tau).any())
    if task.control is not None and (task.hold or has_torque):
        hint = (
            "omit tau and hold: a control law computes the whole torque, including gravity and "
            "friction"
        )
        raise UsageError("control cannot be combined with tau or hold", where="control", hint=hint)


def _together(
    arm: Arm, q: JointValues, qd: JointValues, tau: AnyTorque
) -> tuple[Floats, Floats, AnyTorque]:
    """Broadcast and check the inputs; a torque that is not an array is unchanged."""
    inputs = {"q": q, "qd": qd}
    if not (callable(tau) or isinstance(tau, TorqueTable)):
        inputs["tau"] = tau
    arrays = joint_arrays(arm, inputs)
    batch = batch_of(arrays)
    spread = {name: np.broadcast_to(x, (*batch, arm.n)) for name, x in arrays.items()}
    for row in np.flatnonzero(nonfinite_input_rows(arm, arrays, batch)):
        index = np.unravel_index(row, batch) if batch else ()
        require_sound(arm, {name: values[index] for name, values in spread.items()})
    return spread["q"], spread["qd"], arrays.get("tau", tau)


def _run_options(task: SimulationTask, states: int) -> RunOptions:
    """Use compiled kernels as soon as they pay off; the engine changes no bit."""
    worthwhile = task.engine == "auto" and states * task.schedule.steps >= FEW_STATES
    compiled = worthwhile and can_compile()
    return {"engine": "compiled" if compiled else task.engine, "jobs": task.jobs}


def _one_by_one(task: SimulationTask, q: Floats, qd: Floats, tau: AnyTorque) -> Simulation:
    """Integrate each state separately, because each has its own adaptive steps."""
    batch, motions = q.shape[:-1], []
    for index in np.ndindex(*batch):
        own = np.broadcast_to(tau, q.shape)[index] if isinstance(tau, np.ndarray) else tau
        motions.append(_motion(task, q[index], qd[index], own))
    return stacked_motions(motions, batch)


def _motion(task: SimulationTask, q: Floats, qd: Floats, tau: AnyTorque) -> Simulation:
    """Integrate all states of the batch together."""
    return next(_motion_parts(task, q, qd, tau))


def _motion_parts(
    task: SimulationTask, q: Floats, qd: Floats, tau: AnyTorque, rows: int | None = None
) -> Iterator[Simulation]:
    """Integrate all states of the batch together, in parts of this number of rows."""
    arm, run_options = task.arm, _run_options(task, prod(q.shape[:-1]))
    controller = None if task.control is None else controller_of(arm, task.control, run_options)
    torque = torque_of(arm, tau)
    prescribed = prescribed_motion(arm, task.prescribed, tau, run_options)
    command = controller or (HoldingTorque(arm, torque, run_options) if task.hold else torque)
    drive = Drive(
        command,
        _torque_limits(task, prescribed),
        None if task.disturbance is None else torque_of(arm, task.disturbance),
        prescribed=prescribed,
    )
    if isinstance(controller, StateFeedback) and controller.dt is not None:
        yield _sampled(task, q, qd, drive, controller, run_options)
        return
    if isinstance(controller, StateFeedback) and controller.memory:
        drive = replace(drive, law=controller)
    account = _account(task, controller, q.shape[:-1])
    equations = _equations(task, q.shape[:-1], drive, run_options, account)
    run, schedule = Integration(equations, task.schedule, account, task.project), task.schedule
    y, energy = equations.start(q, qd), None
    for kept, cost, recorded, first in run.parts(y, rows) if schedule.fixed else [run.steps(y)]:
        rows_here = slice(first, first + len(kept))
        time = schedule.times_of(rows_here) if schedule.fixed else schedule.times()
        integrals = equations.integrals(kept)
        motion = observed_motion(
            time, kept, equations, integrals, controller, cost, recorded, energy
        )
        if energy is None:
            energy = motion.kinetic_energy[..., 0] + motion.potential_energy[..., 0]
        yield motion


def _account(
    task: SimulationTask, controller: Controller | None, batch: tuple[int, ...]
) -> RunningCost | None:
    """Accumulator for the cost of a regulator with weights."""
    if not isinstance(controller, StateFeedback) or not controller.has_cost:
        return None
    return RunningCost(controller, task.schedule, batch)


def _torque_limits(task: SimulationTask, prescribed: PrescribedMotion | None) -> EffortLimits:
    """Effort limits of the motors; prescribed joints have none."""
    limits = effort_limits(task.arm)
    if not task.limits:
        return limits.without(np.full(task.arm.n, True))
    return limits if prescribed is None else limits.without(prescribed.driven != 0.0)


def _sampled(
    task: SimulationTask,
    q: Floats,
    qd: Floats,
    drive: Drive,
    law: StateFeedback,
    run_options: RunOptions,
) -> Simulation:
    """Simulate with torques that are constant between samples."""
    assert law.dt is not None, "the control law has a sample time"
    batch, between = q.shape[:-1], steps_between(task.schedule, law.dt)
    held, account = ZeroOrderHold(law, law.dt, batch), _account(task, law, batch)
    equations = _equations(task, batch, replace(drive, command=held), run_options, None)

    def integrals_at(t: float, y: Floats) -> Floats:
        return held.integrals_at(t)

    def look(step: int, t: float, y: Floats) -> None:
        if step % between == 0:
            held.sample(t, *equations.state(y))

    run = Integration(equations, task.schedule, account, task.project, look, integrals_at)
    kept, cost, *_ = run.steps(equations.start(q, qd))
    history = held.history()
    equations.torque = replace(drive, command=history)
    integrals = history.integrals_at(task.schedule.times())
    return observed_motion(task.schedule.times(), kept, equations, integrals, law, cost)


def _equations(
    task: SimulationTask,
    batch: tuple[int, ...],
    drive: Drive,
    run_options: RunOptions,
    account: RunningCost | None,
) -> Equations:
    constrained = task.accelerations or drive.prescribed
    velocities = velocities_of(task.arm, task.form, constrained, run_options)
    free = constrained or FreeMotion(task.arm, run_options)
    # a cost in the state would influence the adaptive step size
    counted = task.schedule.fixed and account is not None and account.integrated
    cost = account if counted else None
    return Equations(task.arm, batch, velocities, drive, free, run_options, cost)
