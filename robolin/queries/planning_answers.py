"""The `optimize`, `retime`, `ik` and `excite` queries: motions and poses of least cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import isclose
from types import SimpleNamespace
from typing import Any, cast

import numpy as np

from robolin.analysis.excitation import excite
from robolin.control.linear_model import state_space
from robolin.control.optimization.inverse_kinematics import PoseGoal, ik
from robolin.control.optimization.joint_limits import scaled_ranges
from robolin.control.optimization.optimal_motion import REPLAY_STEPS, OptimalMotion
from robolin.control.optimization.optimize import optimize
from robolin.control.retiming import REVERSAL, PathStop, retime
from robolin.control.simulation.schedule import Schedule
from robolin.control.simulation.simulate import SimulationTask, run_simulation
from robolin.core.arm import Arm
from robolin.core.arm_parts import rotation_from_rpy
from robolin.core.arrays import Floats
from robolin.core.choices import OptimizeMethod, Solver
from robolin.core.progress import running
from robolin.core.quantity_table import COLUMN_WORDS, unit_of
from robolin.core.result import Array, Result
from robolin.core.text_parsing import (
    FlagText,
    number,
    parse_names,
    parse_number,
    parse_one_or_per_joint,
    parse_per_joint,
    parse_seconds,
    split_name,
)
from robolin.errors import RobolinError
from robolin.evaluation.frames import default_frame
from robolin.queries.linear_model_answer import model_array
from robolin.queries.lqr_answer import parse_efforts, state_weights
from robolin.queries.question import Question, parsed_option
from robolin.queries.request import QueryContext
from robolin.queries.simulate_start import read_with_notes, require_increasing_time
from robolin.queries.state_monitor import noted_angles

# entry of the contract with the cost after each iteration
COST_BY_ITERATION = "cost by iteration"
# errors of the simulated motion at its end that are worth a warning, in m and rad
_LARGEST_REPLAY_ERROR = {"m": 0.005, "rad": 0.02}
# used fraction of a limit in the simulated motion that causes a warning
_OVER = 1.001
# stops of a retimed motion in a note
_SHOWN_STOPS = 3


def answer_optimize(context: QueryContext) -> Result:
    """Optimize a motion; emit its summary."""
    arm, question = context.arm, context.question
    context.emit_arm_notes()
    files: dict[str, str] = {}
    ranges = _limit_options(question, arm)
    tolerance = parsed_option(question, "tolerance", number)
    with running("optimize"):
        motion = optimize(
            arm,
            _goal(context),
            q=_typed(context, "q"),
            qd=0.0 if (qd := _typed(context, "qd")) is None else qd,
            duration=parsed_option(question, "duration", number),
            dt=parsed_option(question, "dt", number),
            follow=_motion_file(context, "follow", ("qd",), files),
            Q=state_weights(question) or None,
            R=_efforts(question),
            final=parsed_option(question, "final", number),
            actuated=_names(question, "actuated"),
            passive=_names(question, "passive"),
            **ranges,
            method=cast(OptimizeMethod, question.text("method") or "auto"),
            starts=question.count("starts"),
            seed=question.count("seed") or 0,
            iterations=question.count("iterations"),
            tolerance=1e-9 if tolerance is None else tolerance,
            solver=cast(Solver, question.text("solver") or "own"),
            initial=_motion_file(context, "from", ("tau",), files),
        )
    if not motion.converged:
        context.warn(f"the cost has not converged: {motion.reason}")
    closed = motion.replay_errors[1]
    if not all(value < _LARGEST_REPLAY_ERROR[unit] for unit, value in closed.items()):
        context.warn(
            f"the simulation with gains ends {_distance(closed)}; use shorter steps "
            f"(--dt {motion.dt / 4.0:.3g}) or a longer --duration"
        )
    lines = summary_lines(motion, ranges)
    if over := _replay_over(motion, ranges):
        lines["replay"] += f", {over} of the limit"
        # --limit-scale does not scale positions
        remedy = "use --limit-scale 0.9" if "velocity" in over else "use shorter steps (--dt)"
        context.warn(f"the simulation with gains exceeds the limits: {over}; {remedy}")
    for name, text in lines.items():
        context.settings.notify("summary", f"{name}: {text}")
    # of the augmented cost, which rises when a penalty does
    history = {COST_BY_ITERATION: ", ".join(f"{cost:.6g}" for cost in motion.costs)}
    result = context.result(motion_arrays(motion), {**lines, **history}, files, motion.time)
    # the control law depends on the method, so the result names the one that was used
    options = {**result.options, "method": motion.method}
    return replace(result, options=options)


def validate_values(question: Question) -> None:
    """Parse goals and numbers, so that errors come before the arm is loaded."""
    if question.verb == "ik":
        parse_pose_goal(FlagText("--goal", question.text("goal") or ""))
    if question.verb != "optimize":
        return
    for label in ("duration", "dt", "final", "tolerance", "limit-scale"):
        parsed_option(question, label, number)
    state_weights(question)
    parse_efforts(question)


def _goal(context: QueryContext) -> PoseGoal | list[float] | str | None:
    """Parse JOINTS, FRAME=POSE, or --hold."""
    text, arm = context.question.text("goal"), context.arm
    if text is None:
        return "hold" if context.question.flag("hold") else None
    typed = FlagText("--goal", text)
    name, equals, rest = text.partition("=")
    is_pose = equals and "=" not in rest and rest.count(",") in (2, 5)
    if is_pose and name.strip() not in arm.joint_names:
        return parse_pose_goal(typed)
    return noted_angles(context, "goal", parse_per_joint(typed, arm, True, True))


def _typed(context: QueryContext, name: str) -> list[float] | None:
    if (text := context.states.typed.get(name)) is None:
        return None
    values = parse_per_joint(FlagText(f"--{name}", text), context.arm, True, name == "q")
    return noted_angles(context, name, values)


def _names(question: Question, label: str) -> tuple[str, ...] | str | None:
    text = question.text(label)
    return text if text is None or text == "all" else parse_names(text)


def _efforts(question: Question) -> Mapping[str, float] | float | None:
    common, named = parse_efforts(question)
    if common is None:
        return named or None
    return {"effort": common, **named} if named else common


def _limit_options(question: Question, arm: Arm) -> dict[str, Any]:
    """Keywords of the limits."""
    own = {
        label.replace("-", "_"): parse_one_or_per_joint(FlagText(f"--{label}", text), arm)
        for label in ("max-effort", "max-velocity")
        if (text := question.text(label)) is not None
    }
    scale = parsed_option(question, "limit-scale", number)
    return {
        "limits": not question.flag("ignore-limits"),
        "limit_scale": 1.0 if scale is None else scale,
        **own,
    }


def _motion_file(
    context: QueryContext, label: str, optional: tuple[str, ...], files: dict[str, str]
) -> Any:
    """Read a motion file; None without the option."""
    path = context.question.text(label)
    if path is None:
        return None
    read, name = read_with_notes(context, path, ("q",), optional, files)
    time = require_increasing_time(read, name, "add a column 'time' in s")
    return SimpleNamespace(time=time, q=read.q, qd=read.qd, tau=read.tau)


def answer_retime(context: QueryContext) -> Result:
    """Retime a path; report the used limits."""
    arm, question = context.arm, context.question
    context.emit_arm_notes()
    files: dict[str, str] = {}
    assert context.states.trajectory is not None, "--trajectory is set"
    read, _ = read_with_notes(context, context.states.trajectory, ("q",), (), files)
    points = cast(Floats, read.q)
    limits = {
        label.replace("-", "_"): parse_one_or_per_joint(FlagText(f"--{label}", text), arm)
        for label in ("max-velocity", "max-acceleration", "max-effort")
        if (text := question.text(label)) is not None
    }
    scale, dt = parsed_option(question, "limit-scale", number), _seconds(question, "dt")
    motion = retime(
        arm,
        points,
        **limits,
        limit_scale=1.0 if scale is None else scale,
        dt=dt,
    )
    kinds = [joint.kind for joint in arm.joints]
    arrays = tuple(
        Array(name, getattr(motion, name), (arm.joint_names,), unit_of(name, kinds), word)
        for name, word in COLUMN_WORDS.items()
    )
    used = _used_text(arm, dict(zip(_LIMITED[1:], motion.used, strict=True)))
    context.settings.notify("summary", f"duration {motion.duration:.6g} s; used limits: {used}")
    lines = {
        "path": f"cubic spline through {len(points)} points, from rest to rest",
        "algorithm": f"TOPP-RA, {motion.repeats} repetitions with tighter limits",
        "used limits": used,
    }
    if motion.stops:
        lines["stops"] = _stops_text(motion.stops)
        context.settings.notify("summary", f"stops at sharp corners: {lines['stops']}")
    if dt is not None and not isclose(step := float(motion.time[1]), dt, rel_tol=1e-9):
        text = f"rows are {step:.6g} s apart, so that the last row is at the end of the motion"
        context.note(f"--dt {dt:g}: {text}")
    return context.result(arrays, lines, files, motion.time)


def _stops_text(stops: Sequence[PathStop]) -> str:
    """Rows, times and turns of the first stops, with the number of all."""
    texts = [
        f"row {stop.row + 1} at {stop.time:.4g} s ("
        + ("reversal" if stop.turn > REVERSAL else f"{stop.turn:.0f}°")
        + ")"
        for stop in stops[:_SHOWN_STOPS]
    ]
    more = f" and {len(stops) - len(texts)} more" if len(stops) > len(texts) else ""
    return ", ".join(texts) + more


def _used_text(arm: Arm, used: Mapping[str, Floats], time: Floats | None = None) -> str:
    """Largest used fraction of every kind of limit, its joint, and its time if there are rows."""
    texts = []
    for word, share in used.items():
        row, joint = divmod(int(np.argmax(share)), arm.n)
        at = "" if time is None else f" at {time[row]:.3g} s"
        if (most := float(np.max(share))) > 0.0:
            texts.append(f"{word} {100.0 * most:.1f} % ({arm.joint_names[joint]}{at})")
    return ", ".join(texts) or "none"


def motion_arrays(motion: OptimalMotion) -> tuple[Array, ...]:
    """The motion, its gains and its cost-to-go as result arrays."""
    arm = motion.arm
    kinds = [joint.kind for joint in arm.joints]
    values = {name: getattr(motion, name) for name in COLUMN_WORDS}
    point = {"qd": motion.qd[0], "tau": motion.tau[0]}
    model = state_space(arm, motion.q[0], **point, actuated=motion.actuated)
    return (
        *(
            Array(name, each, (arm.joint_names,), unit_of(name, kinds), COLUMN_WORDS[name])
            for name, each in values.items()
        ),
        model_array(model, "K", motion.K),
        model_array(model, "P", motion.P),
    )


def summary_lines(motion: OptimalMotion, ranges: Mapping[str, Any]) -> dict[str, str]:
    """Goal, limits, cost and replay in one line each."""
    open_loop, closed = (_distance(error) for error in motion.replay_errors)
    parts = " + ".join(f"{name} {value:.4g}" for name, value in motion.cost_parts.items())
    ends = "converged" if motion.converged else motion.reason
    lines = {"goal": _distance(motion.goal_error)} if motion.goal_error else {}
    dropped = f", {motion.diverged} of {motion.starts} starts diverged" if motion.diverged else ""
    return {
        **lines,
        "limits": _used_text(motion.arm, used_limits(motion, ranges), motion.time),
        "cost": f"{motion.cost:.6g} = {parts}; {motion.iterations} iterations, {ends}",
        "method": f"{motion.method}, {len(motion.time) - 1} knots of {1000.0 * motion.dt:.4g} ms, "
        f"relative defect of q̈ {motion.defect:.1e}{dropped}",
        "replay": f"rk4 {100.0 * motion.dt:.3g} ms: without gains {open_loop}, with gains {closed}",
    }


def _replay_over(motion: OptimalMotion, ranges: Mapping[str, Any]) -> str:
    """Velocity and position limits that the motion with its gains exceeds; may be empty.

    The limits of the robot count, without --limit-scale.
    """
    duration, law = float(motion.time[-1]), motion.feedback()
    try:
        schedule = Schedule(duration, dt=motion.dt / REPLAY_STEPS, every=REPLAY_STEPS)
        task = SimulationTask(motion.arm, schedule, control=law)
        done = run_simulation(task, motion.q[0], motion.qd[0], 0.0)
    except RobolinError:
        # the final error of the replay is infinite
        return ""
    rows = replace(motion, q=done.q, qd=done.qd, tau=done.tau, time=done.time)
    used = used_limits(rows, {**ranges, "limit_scale": 1.0})
    over = {name: used[name] for name in ("velocity", "position") if used[name].max() > _OVER}
    return _used_text(motion.arm, over, done.time) if over else ""


def used_limits(motion: OptimalMotion, ranges: Mapping[str, Any]) -> dict[str, Floats]:
    """Used fraction of the effort, velocity and position limits, for every row and joint."""
    limits = scaled_ranges(motion.arm, **{"max_effort": None, "max_velocity": None, **ranges})
    bounded = np.isfinite(limits.q_upper) & np.isfinite(limits.q_lower)
    low, high = (np.where(bounded, end, 0.0) for end in (limits.q_lower, limits.q_upper))
    centre, half = 0.5 * (high + low), 0.5 * (high - low)
    most = np.where(motion.tau > 0.0, limits.tau_upper, -limits.tau_lower)
    bounded &= half > 0.0
    return {
        "effort": np.abs(motion.tau) / np.where(most > 0.0, most, np.inf),
        "velocity": np.abs(motion.qd) / limits.qd_upper,
        "position": np.where(bounded, np.abs(motion.q - centre), 0.0)
        / np.where(bounded, half, 1.0),
    }


def _distance(error: Mapping[str, float]) -> str:
    """Distances as text: '3 mm off', degrees for angles, or 'diverges'."""
    texts = []
    for unit, value in error.items():
        if not np.isfinite(value):
            return "diverges"
        own, word = (1000.0 * value, "mm") if unit == "m" else (np.degrees(value), "deg")
        texts.append(f"{float(f'{own:.2g}'):.7g} {word}")
    return f"{' and '.join(texts)} off"


_FORM, _EXAMPLE = "FRAME=X,Y,Z or FRAME=X,Y,Z,ROLL,PITCH,YAW", "tool0=0.4,0,0.5,0,90deg,0"


def answer_ik(context: QueryContext) -> Result:
    """Solve the inverse kinematics, and return positions and remaining errors."""
    arm, question = context.arm, context.question
    context.emit_arm_notes()
    goal = parse_pose_goal(FlagText("--goal", question.text("goal") or ""))
    start = context.states.typed.get("q")
    count, seed = question.count("starts"), question.count("seed")
    if goal.frame is None:
        default_frame(arm, "--goal FRAME=X,Y,Z")
    with running("inverse kinematics"):
        solution = ik(
            arm,
            goal,
            q=None if start is None else parse_per_joint(FlagText("--q", start), arm, True, True),
            starts=32 if count is None else count,
            seed=0 if seed is None else seed,
            limits=not question.flag("ignore-limits"),
        )
    kinds = [joint.kind for joint in arm.joints]
    errors = {"position_error": solution.position_error}
    if goal.rotation is not None:
        errors["orientation_error"] = solution.orientation_error
    arrays = (
        Array("q", solution.q, (arm.joint_names,), unit_of("q", kinds), COLUMN_WORDS["q"]),
        *(Array(name, np.array(error), (), unit_of(name, kinds)) for name, error in errors.items()),
    )
    limits = "ignored" if question.flag("ignore-limits") else "respected"
    lines = {
        "goal": f"pose of '{solution.frame}' in the axes of the root link",
        "position limits": limits,
        "starts": f"{solution.reached} of {32 if count is None else count} reach the goal",
    }
    return context.result(arrays, lines)


def parse_pose_goal(typed: FlagText) -> PoseGoal:
    """Parse FRAME=X,Y,Z[,ROLL,PITCH,YAW]; without a frame, the goal of the tip."""
    frame, pose = split_name(typed, _FORM, _EXAMPLE) if "=" in typed.text else ("", typed.text)
    parsed = [parse_number(typed, item) for item in pose.split(",")]
    if len(parsed) not in (3, 6):
        raise typed.wrong(f"must have the form {_FORM}", f"write for example {_EXAMPLE}")
    if any(degrees for _, degrees in parsed[:3]):
        raise typed.wrong("X, Y and Z are in m, so they cannot be in degrees")
    values = [value for value, _ in parsed]
    rotation = None
    if len(values) == 6:
        R = rotation_from_rpy(values[3], values[4], values[5])
        rotation = np.array(R).reshape(3, 3)
    return PoseGoal(frame.strip() or None, values[:3], rotation)


_LIMITED = ("position", "velocity", "acceleration", "effort")
# condition number of the regressor above which measurement noise spoils the parameters
_POOR_CONDITION = 100.0


def answer_excite(context: QueryContext) -> Result:
    """Search a motion; report what it determines and how much of the limits it uses."""
    context.emit_arm_notes()
    motion = excite(context.arm, **_arguments(context))
    arm, identifiable = context.arm, motion.identifiable
    kinds = [joint.kind for joint in arm.joints]
    arrays = tuple(
        Array(name, getattr(motion, name), (arm.joint_names,), unit_of(name, kinds), word)
        for name, word in COLUMN_WORDS.items()
    )
    determined = (
        f"the motion determines {identifiable.rank} of {motion.possible} identifiable parameters; "
        f"the condition number of the regressor is {identifiable.condition:.3g}"
    )
    used = _used_text(context.arm, dict(zip(_LIMITED, motion.used.T, strict=True)))
    context.settings.notify("summary", f"{determined}; used limits: {used}")
    if identifiable.rank < motion.possible:
        context.warn(
            "some identifiable parameters are not determined; use more --iterations or --harmonics"
        )
    elif identifiable.condition > _POOR_CONDITION:
        context.warn(
            f"the condition number {identifiable.condition:.3g} is too high (above "
            f"{_POOR_CONDITION:g}); "
            "use more --iterations, a longer --duration or larger limits"
        )
    lines = {
        "motion": f"Fourier series of {context.question.count('harmonics') or 5} harmonics, "
        "at rest at the start and the end",
        "algorithm": "D-optimal random search",
        "identifiable": f"{identifiable.rank} combinations of {len(identifiable.names)} "
        f"parameters; {motion.possible} for random motions",
        "condition": f"{identifiable.condition:.3g}",
        "used limits": used,
    }
    return context.result(arrays, lines, time=motion.time)


def _arguments(context: QueryContext) -> dict[str, Any]:
    """Options of the question as arguments of `excite`."""
    question = context.question
    arguments: dict[str, Any] = {name: question.count(name) for name in ("harmonics", "iterations")}
    arguments["seed"] = question.count("seed")
    arguments |= {name: _seconds(question, name) for name in ("duration", "period", "dt")}
    if (text := question.text("margin")) is not None:
        arguments["margin"] = number(FlagText("--margin", text))
    for name in ("max-velocity", "max-acceleration"):
        arguments[name.replace("-", "_")] = _per_joint(context, name)
    return {name: value for name, value in arguments.items() if value is not None}


def _seconds(question: Question, name: str) -> float | None:
    text = question.text(name)
    return None if text is None else parse_seconds(FlagText(f"--{name}", text))


def _per_joint(context: QueryContext, name: str) -> Floats | None:
    text = context.question.text(name)
    if text is None:
        return None
    if not any(mark in text for mark in ",="):
        # one value for all joints
        text = ",".join([text] * context.arm.n)
    return np.array(parse_per_joint(FlagText(f"--{name}", text), context.arm, angular=True))
