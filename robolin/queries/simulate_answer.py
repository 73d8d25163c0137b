"""The `simulate` query: trajectory from an initial state under torques or a controller."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, cast

import numpy as np

from robolin.control.simulation.schedule import Schedule, scheduled
from robolin.control.simulation.simulate import (
    SimulationTask,
    run_simulation,
    runs_in_parts,
    simulated_parts,
    with_samples_met,
)
from robolin.control.simulation.simulated_motion import Simulation
from robolin.control.simulation.torques import AnyTorque, Push, TorqueTable
from robolin.core.arrays import Floats, seconds_of
from robolin.core.choices import CONTROL_LAWS, Integrator, StateForm
from robolin.core.result import Result, ResultStream
from robolin.core.text_parsing import (
    FlagText,
    number,
    numbers,
    parse_one_or_per_joint,
    parse_per_joint,
    parse_pose,
    parse_time_window,
    split_hold,
)
from robolin.errors import RobolinError
from robolin.queries.feedback_file import ReturnCheck, StoredFeedback, cost_text, read_feedback
from robolin.queries.loop_answer import closed_state, loop_options
from robolin.queries.question import Question, parsed_option
from robolin.queries.request import QueryContext
from robolin.queries.simulate_result import SimulatedMotion, motion_result, motion_stream
from robolin.queries.simulate_start import (
    PrescribedTrajectory,
    ReferenceTrajectory,
    read_prescribed,
    read_reference,
    read_with_notes,
    simulation_start,
)
from robolin.queries.state_monitor import StateMonitor, noted_angles
from robolin.queries.values import accelerations_text

if TYPE_CHECKING:
    from robolin.control.simulation.controllers import Law
    from robolin.control.simulation.feedback_control import ComputedTorque, PDControl
    from robolin.control.simulation.torques import Prescription
    from robolin.core.arm import Arm
    from robolin.queries.simulate_start import ReferenceTrajectory


# relative tolerance of a file's end time compared with the duration
DURATION_ROUNDING = 1e-9
# round-off of positions (m, rad) after some thousand steps
POSITION_ROUNDING = 1e-12
# numbers in a part of a long motion, and numbers of a row that are not of joints
_NUMBERS_PER_PART, _NUMBERS_PER_ROW = 1 << 19, 8


def answer_simulate(context: QueryContext) -> Result | ResultStream:
    """Simulate, and emit notes and warnings."""
    question, arm = context.question, context.arm
    context.emit_arm_notes()
    loops = loop_options(question)
    loops.require_useful(arm)
    files: dict[str, str] = {}
    stored, reference_motion = _feedback(context, files), read_reference(context, files)
    reference = stored or reference_motion
    prescribed = read_prescribed(context, files, reference_motion)
    origin = reference_motion.origin if reference_motion else 0.0
    for rows in (reference, prescribed):
        if rows is not None and rows.times is not None:
            _check_time_span(context, rows.name, rows.times, origin)
    start = simulation_start(context, files, reference, prescribed)
    q, qd, start_text = start.q, start.qd, start.start_text
    if loops.close is not None:
        closed = closed_state(arm, loops, {"q": q, "qd": qd})
        q, qd, start_text = (
            closed["q"],
            closed["qd"],
            f"{start_text}, projected onto the loop constraints",
        )
    monitor = StateMonitor(context, divides=True)
    monitor.update(q, lambda row: f"row {row + 1}" if q.ndim > 1 else "")
    monitor.report()
    tau, torque_text = (0.0, stored.line) if stored else _torque(context, files)
    many = "initial" in question.options
    schedule = _schedule(question, many, reference_motion)
    task = with_samples_met(_task(context, schedule, stored, reference_motion, prescribed))
    ends_only = many and not _selects_rows(question, schedule)
    returning = _return_check(arm, stored, task)
    simulated = SimulatedMotion(task, start_text, torque_text, files, ends_only, returning)

    def cost(motion: Simulation) -> str:
        if stored is None:
            return ""
        run = partial(_with_schedule, task, q, qd, tau)
        return cost_text(context, stored, motion, run, task.schedule)

    part = context.settings.chunk_rows or _NUMBERS_PER_PART // (4 * arm.n + _NUMBERS_PER_ROW)
    # the cost of time-varying gains may need all rows
    any_row = stored is None or stored.law.Q is None or stored.law.time is None
    if any_row and runs_in_parts(task, q) and part < task.schedule.stored_rows:
        return motion_stream(context, simulated, simulated_parts(task, q, qd, tau, part), cost)
    motion = run_simulation(task, q, qd, tau)
    if prescribed is not None:
        _note_tracking_error(context, prescribed, motion)
    return motion_result(context, simulated, motion, cost(motion))


def _return_check(
    arm: Arm, stored: StoredFeedback | None, task: SimulationTask
) -> ReturnCheck | None:
    """Check the return to the reference of the gains, after the end of a disturbance."""
    push, end = task.disturbance, task.schedule.duration
    if stored is None or stored.law.P is None or not (push is None or isinstance(push, Push)):
        return None
    begin = 0.0 if push is None else push.stop
    return ReturnCheck(arm, stored.law, begin, end) if begin < end else None


def _with_schedule(
    task: SimulationTask, q: Floats, qd: Floats, tau: AnyTorque, schedule: Schedule
) -> Simulation:
    """Simulate the same trajectory with another schedule."""
    return run_simulation(replace(task, schedule=schedule), q, qd, tau)


def _task(
    context: QueryContext,
    schedule: Schedule,
    stored: StoredFeedback | None,
    reference_motion: ReferenceTrajectory | None,
    prescribed: PrescribedTrajectory | None,
) -> SimulationTask:
    """Return the simulation task, independent of initial state and feedforward torques."""
    question, arm = context.question, context.arm
    return SimulationTask(
        arm,
        schedule,
        hold=compensates_gravity(question),
        control=stored.law if stored else control_law(context, reference_motion),
        form=cast(StateForm, question.text("state") or "rates"),
        limits=not question.flag("ignore-limits"),
        jobs=context.settings.jobs,
        baumgarte=loop_options(question).baumgarte,
        disturbance=disturbance(question, arm),
        prescribed=prescribed.prescription
        if prescribed
        else prescription_from_options(question, arm),
    )


def _feedback(context: QueryContext, files: dict[str, str]) -> StoredFeedback | None:
    """Read the --feedback file and add it to `files`; None without the option."""
    path = context.question.text("feedback")
    if path is None:
        return None
    stored = read_feedback(context.arm, path, context.question.flag("allow-model-mismatch"))
    files[stored.name] = stored.digest
    if stored.differ:
        context.warn(
            f"{stored.name}: the gains are for another robot: {'; '.join(stored.differ[:3])}"
        )
    return stored


def _check_time_span(context: QueryContext, name: str, times: Floats, origin: float = 0.0) -> None:
    """Reject files whose times do not overlap the simulation; note partial overlap.

    origin: time in the file at the start of the simulation
    """
    duration = _number(context.question, "duration")
    if duration is None:
        return
    first, last = float(times[0]), float(times[-1])
    span = f"the file covers {first + origin:.12g} s to {last + origin:.12g} s"
    if first >= duration or last < 0.0:
        raise RobolinError(
            f"{span}, but the simulation covers {origin:.12g} s to {origin + duration:.12g} s",
            where=name,
            hint=f"start the times of the trajectory at {origin:.12g} s",
        )
    if _misses_part(first, last, duration):
        context.note(f"{name}: {span}; at other times, the nearest row is used")


def _misses_part(first: float, last: float, duration: float) -> bool:
    """True if the times `first` to `last` do not cover the simulation, up to round-off."""
    rounding = DURATION_ROUNDING * duration
    return first > rounding or last < duration - rounding


def _note_tracking_error(
    context: QueryContext, prescribed: PrescribedTrajectory, motion: Simulation
) -> None:
    """Note the position error of prescribed joints, which only accelerations drive."""
    errors = prescribed.tracking_error(float(motion.time[-1]), motion.q[..., -1, :])
    rounding = POSITION_ROUNDING * max(1.0, float(np.abs(motion.q).max()))
    large = [f"{error:.2g} {unit}" for unit, error in errors.items() if error > rounding]
    if large:
        most = "up to " * (motion.q.ndim > 2)
        away = f"{most}{' and '.join(large)} away from the positions in the file"
        context.note(f"{prescribed.name}: at the end, the prescribed joints are {away}")


def validate_values(question: Question) -> None:
    """Parse the values, so that errors come before the arm is loaded."""
    for label in ("duration", "dt", "rtol", "atol"):
        _number(question, label)
    loop_options(question)


def _number(question: Question, label: str) -> float | None:
    return parsed_option(question, label, number)


def _schedule(
    question: Question, many: bool, reference: ReferenceTrajectory | None = None
) -> Schedule:
    """Return the schedule: output at every step, for several initial states only at the end."""
    duration = _number(question, "duration")
    if duration is None and reference is not None:
        duration = float(reference.time[-1])
    assert duration is not None, "--duration is required without --follow"
    return scheduled(
        duration,
        cast("Integrator | None", question.text("integrator")),
        _number(question, "dt"),
        _number(question, "rtol"),
        _number(question, "atol"),
        question.count("every") or (None if many else 1),
        question.count("rows"),
    )


def _selects_rows(question: Question, schedule: Schedule) -> bool:
    """True if the options select output times between the ends."""
    if schedule.fixed:
        return bool(question.count("every"))
    return bool(question.count("rows") or _number(question, "dt"))


def _torque(context: QueryContext, files: dict[str, str]) -> tuple[AnyTorque, str]:
    """Return the feedforward torque, and a description of all torques."""
    question, path = context.question, context.question.text("trajectory")
    if path is not None:
        return _torque_table(context, path, files)
    if question.text("control") is not None:
        return 0.0, control_line(question)
    tau = np.array(constant_torque(question, context.arm))
    parts = ["compensation of gravity and loads"] if compensates_gravity(question) else []
    if tau.any():
        parts.append("constant, as given")
    return tau, " and ".join(parts) or "zero"


def _torque_table(
    context: QueryContext, path: str, files: dict[str, str]
) -> tuple[TorqueTable, str]:
    read, file = read_with_notes(context, path, ("tau",), (), files)
    if read.seconds is None:
        hint = "add a column 'time' in s"
        raise RobolinError("column 'time' is missing", where=file, hint=hint)
    assert read.tau is not None, "tau is required"
    time = seconds_of(read.seconds, file)
    _check_time_span(context, file, time)
    return TorqueTable(time, read.tau), f"efforts of {file}, interpolated linearly between rows"


RATE, POSE, PD, COMPUTED = CONTROL_LAWS
TRACKING = (PD, COMPUTED)


def compensates_gravity(question: Question) -> bool:
    """True if --tau hold compensates gravity and external loads."""
    return split_hold(question.text("tau") or "")[0]


def constant_torque(question: Question, arm: Arm) -> list[float]:
    """Parse the constant torque, without gravity compensation."""
    _, text = split_hold(question.text("tau") or "")
    return parse_per_joint(FlagText("--tau", text), arm, False) if text else [0.0] * arm.n


def disturbance(question: Question, arm: Arm) -> Push | None:
    """Parse the disturbance torque VALUES or VALUES@FROM:TO."""
    from robolin.control.simulation.torques import Push

    text = question.text("disturb")
    if text is None:
        return None
    values, *window = parse_time_window(FlagText("--disturb", text)) or (text,)
    return Push(parse_per_joint(FlagText("--disturb", values), arm, False), *window)


def prescription_from_options(question: Question, arm: Arm) -> Prescription | None:
    """Return the prescribed joints and their typed accelerations; None without --prescribe."""
    from robolin.control.simulation.torques import Prescription
    from robolin.evaluation.constant_inputs import prescribed_joints

    named, text = question.text("prescribe"), question.text("qdd")
    if named is None:
        return None
    # parse here, so that an error names the flag
    prescribed = prescribed_joints(arm, named, "--prescribe")
    if text is None:
        return Prescription(named, 0.0, accelerations_text(arm, prescribed, None))
    qdd = parse_per_joint(FlagText("--qdd", text), arm, True)
    return Prescription(named, qdd, accelerations_text(arm, prescribed, qdd))


def control_law(context: QueryContext, reference: ReferenceTrajectory | None) -> Law | None:
    """Return the control law of --control; None without the option."""
    from robolin.control.simulation.controllers import PoseControl, RateControl
    from robolin.core.arm_parts import rotation_from_rpy

    question, arm = context.question, context.arm
    control, gains = question.text("control"), question.text("gain")
    if control is None:
        return None
    if control in TRACKING:
        return _tracking(context, reference)
    gain = 1.0 if gains is None else parse_one_or_per_joint(FlagText("--gain", gains), arm)
    if control == RATE:
        return RateControl(gain)
    target = question.text("target") or ""
    frame, position, angles = parse_pose(FlagText("--target", target))
    R = rotation_from_rpy(*angles)
    rotation = [list(R[i : i + 3]) for i in (0, 3, 6)]
    stiffness = {
        label.replace("-", "_"): values if len(values) == 3 else values[0]
        for label in ("position-gain", "orientation-gain")
        if (
            values := parsed_option(
                question, label, numbers, "write one number for all axes, or X,Y,Z", 1, 3
            )
        )
    }
    return PoseControl(frame, position, rotation, gain, **stiffness)


def _tracking(
    context: QueryContext, reference: ReferenceTrajectory | None
) -> PDControl | ComputedTorque:
    from robolin.control.simulation.feedback_control import ComputedTorque, PDControl

    question, arm = context.question, context.arm
    kp, kd = (
        _gain(question, label, default, arm) for label, default in (("kp", 100.0), ("kd", 20.0))
    )
    pd = question.text("control") == PD
    if reference is not None:
        motion, time = (reference.q, reference.qd), reference.time
        if pd:
            return PDControl(*motion, kp=kp, kd=kd, time=time)
        return ComputedTorque(*motion, reference.qdd, kp=kp, kd=kd, time=time)
    goal = question.text("goal")
    q = (
        [0.0] * arm.n
        if goal is None
        else noted_angles(
            context, "goal", parse_per_joint(FlagText("--goal", goal), arm, True, True)
        )
    )
    return (PDControl if pd else ComputedTorque)(q, kp=kp, kd=kd)


def _gain(question: Question, label: str, default: float, arm: Arm) -> float | list[float]:
    text = question.text(label)
    return default if text is None else parse_one_or_per_joint(FlagText(f"--{label}", text), arm)


def control_line(question: Question) -> str:
    """Describe the control law for the contract."""
    if question.text("control") in TRACKING:
        kp, kd = (
            question.text(label) or default for label, default in (("kp", "100"), ("kd", "20"))
        )
        follow = question.recorded_options.get("follow")
        goal = f"along {follow}" if follow else f"to {question.text('goal') or '0'}"
        to = f"kp = {kp}, kd = {kd}, {goal}"
        law = "kp (q₀ - q) + kd (q̇₀ - q̇)" if follow else "kp (q₀ - q) - kd q̇"
        if question.text("control") == PD:
            return f"{law} and compensation of gravity and loads; {to}"
        return f"inverse dynamics of {'q̈₀ + ' if follow else ''}{law}; {to}"
    more = "gravity, loads and dissipation compensated"
    gain = f"c = {question.text('gain') or '1'}"
    if question.text("control") == RATE:
        return f"control 8.1, ε = -c ν with {gain}; {more}"
    position, orientation = (question.text(f"{name}-gain") for name in ("position", "orientation"))
    stiff = f"{position or '100'} N/m and {orientation or '10'} N·m"
    law = "control 8.2, ε = -c ν + m⁻¹ J* k e"
    return f"{law} with {gain}, k = {stiff}, to {question.text('target')}; {more}"
