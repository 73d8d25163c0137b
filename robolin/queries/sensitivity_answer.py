"""The `sensitivity` query: integrate the linearized model along a trajectory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from robolin.analysis.cost_gradient import cost_gradient
from robolin.analysis.link_parameters import TURN_PARAMETERS, joint_slides
from robolin.analysis.nominal_motion import checked_times, nominal_motion, torque_history
from robolin.analysis.sensitivity import (
    SensitivityMatrices,
    sensitivity,
    sensitivity_blocks,
    split_columns,
)
from robolin.core.arm import Arm, Vector3
from robolin.core.quantity_table import COLUMN_WORDS, unit_of, units_along
from robolin.core.result import Array, Footer, Result, ResultStream
from robolin.core.text_parsing import FlagText, parse_named_numbers, parse_payload
from robolin.core.threads import threads_for
from robolin.errors import RobolinError
from robolin.evaluation.evaluate import EngineChoice, evaluate
from robolin.io.trajectories.read import read_trajectory
from robolin.io.trajectories.trajectory import Trajectory
from robolin.queries.question import Question
from robolin.queries.request import QueryContext, display_name
from robolin.queries.state_monitor import StateMonitor
from robolin.queries.states import rules_of_file
from robolin.queries.values import (
    POINT,
    Values,
    complete_operating_point,
    operating_point_arrays,
    perturbations,
)

# n x n matrices computed per row
_MATRICES = 10


def answer_sensitivity(context: QueryContext) -> Result | ResultStream:
    """Compute the sensitivity of a trajectory to perturbations."""
    context.emit_arm_notes()
    path = context.states.trajectory
    assert path is not None, "--trajectory is set"
    motion = _motion(context, path)
    _report_state_warnings(context, motion, display_name(path))
    inputs = {display_name(path): motion.digest}
    nominal = {name: getattr(motion, name) for name in ("q", "qd", "tau", "qdd")}
    nominal["time"] = motion.seconds
    torques = context.question.text("torques") or "continuous"
    along: dict[str, Any] = {**nominal, "torques": torques, "jobs": _threads(context, motion)}
    lines = _contract_lines(context, motion, torques)
    if context.question.flag("matrices"):
        empty = context.result((), lines, inputs)
        ending = Footer(empty.contract, empty.inputs, empty.model)
        parts = _parts(context, empty, motion, along)
        return ResultStream(parts, lambda _: ending, lambda: motion.rows)
    if slopes := context.question.text("cost-gradient"):
        arrays = _gradient(context, along, slopes, inputs)
    else:
        arrays = _changed(context, motion, along, inputs)
    return context.result((*arrays, *_along(context, motion)), lines, inputs, motion.time)


def validate_values(question: Question) -> None:
    """Parse the values, so that errors come before the arm is loaded."""
    _payloads(question)
    _parameters(question.texts("parameter"))


def _motion(context: QueryContext, path: str) -> Trajectory:
    """Read the nominal trajectory; require time, and efforts or accelerations."""
    arm, rules = context.arm, rules_of_file(context.states, context.arm)
    motion = read_trajectory(path, arm.joint_names, ("q", "qd"), ("tau", "qdd"), rules)
    file = display_name(path)
    context.note(*(f"{file}: {note}" for note in motion.notes))
    if motion.seconds is None:
        raise RobolinError("column 'time' is missing", where=file, hint="add increasing times in s")
    checked_times(motion.seconds, where=file)
    if motion.tau is None and motion.qdd is None:
        hint = "add columns JOINT/effort or JOINT/acceleration"
        raise RobolinError("effort or acceleration columns are missing", where=file, hint=hint)
    return motion


def _report_state_warnings(context: QueryContext, motion: Trajectory, file: str) -> None:
    assert motion.q is not None, "q is required"
    monitor = StateMonitor(context, divides=True)
    monitor.update(motion.q, lambda row: f"{file}, row {row + 1}")
    monitor.report(file)


def _changed(
    context: QueryContext, motion: Trajectory, along: dict[str, Any], inputs: dict[str, str]
) -> tuple[Array, ...]:
    """Return dq and dqd in every row."""
    arm, question = context.arm, context.question
    changes: dict[str, Any] = dict(
        perturbations(arm, question.texts("perturb"), context.verb.perturb)
    )
    path = question.text("perturb-torque")
    if path is not None:
        rules = context.rules.about(("tau",))
        torques = read_trajectory(path, arm.joint_names, ("tau",), rules=rules)
        file = display_name(path)
        inputs[file] = torques.digest
        since = torques.seconds_since(motion.time)
        history = torque_history(along["time"], since, torques.tau, where=file)
        changes["dtau"] = history + changes["dtau"]
    changes |= {
        "parameters": _parameters(question.texts("parameter")),
        "payload": _payloads(question),
    }
    response = sensitivity(arm, **along, **changes)
    kinds = [joint.kind for joint in arm.joints]
    return tuple(
        Array(name, getattr(response, name), (arm.joint_names,), unit_of(name, kinds))
        for name in ("dq", "dqd")
    )


def _threads(context: QueryContext, motion: Trajectory) -> int | None:
    """Number of threads: as set, or as many as the workload justifies."""
    return context.settings.jobs or threads_for(motion.rows * _MATRICES * context.arm.n**2)


def _along(context: QueryContext, motion: Trajectory, rows: slice = slice(None)) -> Iterator[Array]:
    """Return the nominal trajectory, since the linearization holds only near it."""

    def run(algorithm: str, values: Values) -> Values:
        return evaluate(context.arm, algorithm, values, jobs=_threads(context, motion))

    arrays = {name: getattr(motion, name) for name in POINT}
    arrays = {name: value if value is None else value[rows] for name, value in arrays.items()}
    if arrays["tau"] is not None:
        # the torques determine the accelerations
        arrays["qdd"] = None
    values = {name: value for name, value in arrays.items() if value is not None}
    return operating_point_arrays(
        context.arm, complete_operating_point(values, run), (len(values["q"]),)
    )


def _gradient(
    context: QueryContext, along: dict[str, Any], path: str, inputs: dict[str, str]
) -> tuple[Array, ...]:
    """Return the gradient of a cost; a file contains its derivatives by q and qd row by row."""
    arm, file = context.arm, display_name(path)
    slopes = read_trajectory(path, arm.joint_names, (), ("q", "qd"))
    inputs[file] = slopes.digest
    gradients = {f"dcost_d{name}": getattr(slopes, name) for name in ("q", "qd")}
    gradients = {name: value for name, value in gradients.items() if value is not None}
    if not gradients:
        hint = (
            "add columns JOINT/position or JOINT/velocity with the partial derivatives of the cost"
        )
        raise RobolinError("the cost gradient is missing", where=file, hint=hint)
    if slopes.rows != len(along["time"]):
        message = (
            f"must have {len(along['time'])} rows, as many as the trajectory, got {slopes.rows}"
        )
        raise RobolinError(message, where=file, hint="write one row for each row of the trajectory")
    gradient = cost_gradient(arm, **along, **gradients)
    kinds = [joint.kind for joint in arm.joints]
    by_joint = [
        Array(name, values, (arm.joint_names,), unit_of(name, kinds))
        for name, values in (
            ("dcost_dq", gradient.q),
            ("dcost_dqd", gradient.qd),
            ("dcost_dtau", gradient.tau),
        )
    ]
    units = units_along("dcost_dparameters", (gradient.names,), joint_slides(arm))
    unit = unit_of("dcost_dparameters", kinds, units)
    return (*by_joint, Array("dcost_dparameters", gradient.parameter, (gradient.names,), unit))


def _parts(
    context: QueryContext, empty: Result, motion: Trajectory, along: dict[str, Any]
) -> Iterator[Result]:
    """Yield the sensitivity matrices of consecutive rows."""
    arm, geometry, first = context.arm, context.question.flag("geometry"), 0
    options: EngineChoice = {"jobs": along["jobs"]}
    along = {name: value for name, value in along.items() if name != "jobs"}
    nominal = nominal_motion(arm, **along, options=options)
    for block in sensitivity_blocks(arm, nominal, geometry, options):
        rows = slice(first, first + len(block))
        first = rows.stop
        matrices = split_columns(arm, nominal.time[rows], block, geometry)
        time = None if motion.time is None else motion.time[rows]
        arrays = (*_matrices(arm, matrices), *_along(context, motion, rows))
        yield replace(empty, arrays=arrays, time=time)


def _matrices(arm: Arm, sensitivities: SensitivityMatrices) -> tuple[Array, ...]:
    """Return all sensitivity matrices in every row."""
    words = (COLUMN_WORDS["q"], COLUMN_WORDS["qd"])
    states = tuple(f"{joint}/{word}" for word in words for joint in arm.joint_names)
    matrices = {
        "dx_dx0": (sensitivities.transition, (states, states)),
        "dx_dtau": (sensitivities.torque, (states, arm.joint_names)),
        "dx_dparameters": (sensitivities.parameter, (states, sensitivities.names)),
    }
    kinds, slides = [joint.kind for joint in arm.joints], joint_slides(arm)
    return tuple(
        Array(name, values, labels, unit_of(name, kinds, units_along(name, labels, slides)))
        for name, (values, labels) in matrices.items()
    )


def _contract_lines(context: QueryContext, motion: Trajectory, torques: str) -> dict[str, str]:
    words = {
        "perturb": "state and torques",
        "perturb-torque": "torque history",
        "parameter": "parameters",
        "payload-change": "payload",
    }
    perturbed = [word for name, word in words.items() if name in context.question.options]
    source = "efforts" if motion.tau is not None else "accelerations"
    return {
        "motion": f"{motion.rows} rows of {display_name(context.states.trajectory or '')}, "
        f"{source} given, torques {torques}",
        **motion.lines,
        "changed": ", ".join(perturbed) or _everything(context.question),
        "algorithm": "linearized model along the motion, Runge-Kutta of order 4 from row to row",
    }


def _everything(question: Question) -> str:
    if question.flag("matrices"):
        return "all, as matrices"
    return f"all, by the cost gradient in {question.text('cost-gradient')}"


def _payloads(question: Question) -> tuple[tuple[str, float, Vector3], ...]:
    """Link, mass and position of each point mass."""
    texts = question.texts("payload-change")
    return tuple(parse_payload(FlagText("--payload-change", text)) for text in texts)


def _parameters(texts: Sequence[str]) -> dict[str, float]:
    def is_angle(name: str) -> bool:
        return name.rpartition("/")[2] in TURN_PARAMETERS

    entries = parse_named_numbers("--parameter", texts, "NAME=CHANGE", is_angle)
    return {name: value for name, (value, _) in entries.items()}
