"""The answer of `simulate`: the motion from where it starts, under what drives it."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import cast

import numpy as np

from robolin.control.simulation.schedule import Schedule, scheduled
from robolin.control.simulation.simulate import SimulationTask, with_samples_met
from robolin.control.simulation.simulate import run_simulation as simulated
from robolin.control.simulation.simulated_motion import Simulation
from robolin.control.simulation.torques import AnyTorque, TorqueTable
from robolin.core.array_checks import seconds_of
from robolin.core.arrays import Floats
from robolin.core.choices import Integrator, StateForm
from robolin.core.number_parsing import FlagText, number
from robolin.core.results.result import Result
from robolin.errors import RobolinError, UsageError
from robolin.queries.feedback_file import StoredFeedback, cost_text, read_feedback
from robolin.queries.loop_answer import closed_state, loop_options
from robolin.queries.query_context import QueryContext
from robolin.queries.question import Question, validate_read_options
from robolin.queries.reference_trajectory import (
    ReferenceTrajectory,
    followed_motion,
    read_with_notes,
)
from robolin.queries.simulate_result import SimulatedMotion, motion_result
from robolin.queries.simulate_start import PrescribedTrajectory, prescribed_rows, simulation_start
from robolin.queries.simulate_torque import (
    compensates_gravity,
    constant_torque,
    control_law,
    control_line,
    disturbance,
    prescription_asked,
    require_single_torque_source,
)
from robolin.queries.state_monitor import StateMonitor
from robolin.queries.states import States

# how far, beside it, the end of a file's times may be from a duration that means the same
DURATION_ROUNDING = 1e-9
# metres and radians that are rounding after some thousand steps
POSITION_ROUNDING = 1e-12


def answer_simulate(posed: QueryContext) -> Result:
    """Simulate, and say what deserves attention."""
    question, arm = posed.question, posed.arm
    posed.emit_arm_notes()
    loops = loop_options(question)
    loops.require_useful(arm)
    files: dict[str, str] = {}
    stored, followed = _feedback(posed, files), followed_motion(posed, files)
    way, told = stored or followed, prescribed_rows(posed, files)
    for rows in (way, told):
        _tell_of_times(posed, rows)
    start = simulation_start(posed, files, way, told)
    q, qd, begun = start.q, start.qd, start.begun
    if loops.close is not None:
        closed = closed_state(arm, loops, {"q": q, "qd": qd})
        q, qd, begun = closed["q"], closed["qd"], f"{begun}, brought onto the closures"
    doubtful = StateMonitor(posed, divides=True)
    doubtful.look(q, lambda row: f"row {row + 1}" if q.ndim > 1 else "")
    doubtful.tell()
    tau, driven = (0.0, stored.line) if stored else _torque(posed, files)
    many = "initial" in question.asks
    schedule = _schedule(question, many)
    task = with_samples_met(_task(posed, schedule, stored, followed, told))
    motion = simulated(task, q, qd, tau)
    if told is not None:
        _tell_of_misses(posed, told, motion)
    ends_only = many and not _asks_for_rows(question, schedule)
    cost = ""
    if stored is not None:
        run = partial(_by_steps, task, q, qd, tau)
        cost = cost_text(posed, stored, motion, run, task.schedule)
    simulated_motion = SimulatedMotion(task, motion, begun, driven, files, ends_only, cost)
    return motion_result(posed, simulated_motion)


def _by_steps(
    task: SimulationTask, q: Floats, qd: Floats, tau: AnyTorque, schedule: Schedule
) -> Simulation:
    """The same motion by other steps."""
    return simulated(replace(task, schedule=schedule), q, qd, tau)


def _task(
    posed: QueryContext,
    schedule: Schedule,
    stored: StoredFeedback | None,
    followed: ReferenceTrajectory | None,
    told: PrescribedTrajectory | None,
) -> SimulationTask:
    """What is simulated, wherever it starts and whatever torques drive it."""
    question, arm = posed.question, posed.arm
    return SimulationTask(
        arm,
        schedule,
        hold=compensates_gravity(question),
        control=stored.law if stored else control_law(question, arm, followed),
        form=cast(StateForm, question.text("state") or "rates"),
        limits=not question.asked("ignore-limits"),
        jobs=posed.settings.jobs,
        baumgarte=loop_options(question).baumgarte,
        disturbance=disturbance(question, arm),
        prescribed=told.prescription if told else prescription_asked(question, arm),
    )


def _feedback(posed: QueryContext, files: dict[str, str]) -> StoredFeedback | None:
    """The gains in the file that was given."""
    path = posed.question.text("feedback")
    if path is None:
        return None
    stored = read_feedback(posed.arm, path, posed.question.asked("other-figures"))
    files[stored.name] = stored.digest
    if stored.differ:
        posed.warn(f"{stored.name}: the gains are for another arm: {'; '.join(stored.differ[:3])}")
    return stored


def _tell_of_times(
    posed: QueryContext, way: StoredFeedback | ReferenceTrajectory | PrescribedTrajectory | None
) -> None:
    """Refuse gains or a motion of other times than the simulation's, and tell where they end."""
    duration = _number(posed.question, "duration")
    if way is None or way.times is None or duration is None:
        return
    first, last = float(way.times[0]), float(way.times[-1])
    span = f"its rows are from {first:g} s to {last:g} s"
    if first >= duration or last < 0.0:
        raise RobolinError(
            f"{span}, the simulation goes from 0 s to {duration:g} s",
            where=way.name,
            hint="let the times of the motion begin at 0 s",
        )
    if _leaves_out(first, last, duration):
        posed.note(f"{way.name}: {span}; outside, its nearest row counts")


def _leaves_out(first: float, last: float, duration: float) -> bool:
    """Whether times from `first` to `last` leave out a part of the simulation, but for rounding."""
    rounding = DURATION_ROUNDING * duration
    return first > rounding or last < duration - rounding


def _tell_of_misses(posed: QueryContext, told: PrescribedTrajectory, motion: Simulation) -> None:
    """Accelerations alone lead prescribed joints, so their positions show how well these fit."""
    missed = told.missed(float(motion.time[-1]), motion.q[..., -1, :])
    rounding = POSITION_ROUNDING * max(1.0, float(np.abs(motion.q).max()))
    far = [f"{way:.2g} {unit}" for unit, way in missed.items() if way > rounding]
    if far:
        most = "up to " * (motion.q.ndim > 2)
        away = f"{most}{' and '.join(far)} from its positions"
        posed.note(f"{told.name}: prescribed joints end {away}")


def require_sense(question: Question, states: States, arm: str) -> None:
    """Refuse two beginnings, two drives, and numbers that are none."""
    initial = question.text("initial")
    if initial is not None and (typed := [f"--{name}" for name in states.typed]):
        hint = "give the state either by flags or by a file"
        where = f"--initial={initial}"
        raise UsageError(f"cannot go together with {' and '.join(typed)}", where=where, hint=hint)
    if states.arrays:
        hint = "give one state, or a file of them: Question('simulate', initial=…)"
        raise UsageError("simulate starts from one state, not from arrays", hint=hint)
    if "offset" in question.asks and (states.typed or initial is not None):
        hint = "the motion starts there, or so far from where the gains begin"
        other = f"--{next(iter(states.typed), 'initial')}"
        raise UsageError(f"cannot go together with {other}", where="--offset", hint=hint)
    require_single_torque_source(question)
    files = ("trajectory", "initial", "follow", "prescribe-from")
    there = any(name in question.asks for name in files)
    validate_read_options(question.asks, tuple(f"--{name}" for name in files), there)
    _require_one_stdin(question, arm)
    for label in ("duration", "dt", "rtol", "atol"):
        _number(question, label)
    loop_options(question)


def _number(question: Question, label: str) -> float | None:
    text = question.text(label)
    return None if text is None else number(FlagText(f"--{label}", text), text)


def _schedule(question: Question, many: bool) -> Schedule:
    """When to step and when to look: by itself at every step, or for many only at the ends."""
    duration = _number(question, "duration")
    assert duration is not None, "a question to simulate has a duration"
    return scheduled(
        duration,
        cast("Integrator | None", question.text("integrator")),
        _number(question, "dt"),
        _number(question, "rtol"),
        _number(question, "atol"),
        question.count("every") or (None if many else 1),
        question.count("rows"),
    )


def _asks_for_rows(question: Question, schedule: Schedule) -> bool:
    """Whether the question says which moments to keep between the ends."""
    if schedule.fixed:
        return bool(question.count("every"))
    return bool(question.count("rows") or _number(question, "dt"))


def _require_one_stdin(question: Question, arm: str) -> None:
    flags = ("initial", "trajectory", "follow", "prescribe-from")
    given = {"the arm": arm, **{f"--{name}": question.text(name) for name in flags}}
    piped = [name for name, path in given.items() if path == "-"]
    if len(piped) > 1:
        message = f"{piped[0]} is read from standard input already"
        raise UsageError(message, where=f"{piped[1]} -")


def _torque(posed: QueryContext, files: dict[str, str]) -> tuple[AnyTorque, str]:
    """The torque besides that of a controller, and all of it in words."""
    question, path = posed.question, posed.question.text("trajectory")
    if path is not None:
        return _torque_table(posed, path, files)
    if question.text("control") is not None:
        return 0.0, control_line(question)
    tau = np.array(constant_torque(question, posed.arm))
    parts = ["what carries weight and loads"] if compensates_gravity(question) else []
    if tau.any():
        parts.append("constant, as given")
    return tau, " and ".join(parts) or "zero"


def _torque_table(posed: QueryContext, path: str, files: dict[str, str]) -> tuple[TorqueTable, str]:
    read, file = read_with_notes(posed, path, ("tau",), (), files)
    if read.seconds is None:
        hint = "torques between rows need it"
        raise RobolinError("there is no column 'time'", where=file, hint=hint)
    assert read.tau is not None, "efforts are needed"
    time = seconds_of(read.seconds, file)
    if _leaves_out(time[0], time[-1], _number(posed.question, "duration") or 0.0):
        span = f"{time[0]:g} s to {time[-1]:g} s"
        posed.note(f"{file}: it has torques from {span}; outside, its nearest row counts")
    return TorqueTable(time, read.tau), f"efforts of {file}, linear between rows"
