"""The answer of `sensitivity`: the motion and its changes read, and the model integrated."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from robolin.analysis.cost_gradient import cost_gradient
from robolin.analysis.link_geometry import TURN_PARAMETERS
from robolin.analysis.link_parameters import joint_slides
from robolin.analysis.nominal_motion import checked_times, torque_history
from robolin.analysis.sensitivity import sensitivity, sensitivity_matrices
from robolin.core.arm import Arm, Vector3
from robolin.core.number_parsing import FlagText, parse_named_numbers
from robolin.core.quantity_table import COLUMN_WORDS
from robolin.core.results.result import Array, Result
from robolin.core.threads import threads_for
from robolin.core.units import unit_of, units_along
from robolin.description.building.option_texts import payload_of
from robolin.errors import RobolinError, UsageError
from robolin.evaluation.evaluate import evaluate
from robolin.io.trajectories.read import read_trajectory
from robolin.io.trajectories.trajectory import Trajectory
from robolin.queries.named_arrays import operating_point_arrays
from robolin.queries.query_context import QueryContext, display_name
from robolin.queries.question import Question
from robolin.queries.state_monitor import StateMonitor
from robolin.queries.state_parsing import rules_of_file
from robolin.queries.states import States
from robolin.queries.values import POINT, Values, complete_operating_point, perturbations

CHANGE_OPTIONS = ("perturb", "perturb-torque", "parameter", "payload-change")
ALL_CHANGES_GIVEN = {
    "matrices": "matrices hold the effect of every change",
    "cost-slopes": "the gradient holds the effect of every change on the cost",
}

# of n x n numbers, that are made in every row on the way to what changes
_MATRICES = 10


def answer_sensitivity(posed: QueryContext) -> Result:
    """Integrate along the motion and tell what changes."""
    posed.emit_arm_notes()
    arm, path = posed.arm, posed.states.trajectory
    assert path is not None, "there is a motion to go along"
    others = (posed.question.text(name) for name in ("perturb-torque", "cost-slopes"))
    if arm.source == "-" and "-" in (path, *others):
        raise UsageError("the arm is read from standard input already", where="--trajectory -")
    motion = _motion(posed, path)
    _tell_doubts(posed, motion, display_name(path))
    inputs = {display_name(path): motion.digest}
    nominal = {name: getattr(motion, name) for name in ("q", "qd", "tau", "qdd")}
    nominal["time"] = motion.seconds
    torques = posed.question.text("torques") or "continuous"
    along: dict[str, Any] = {**nominal, "torques": torques, "jobs": _threads(posed, motion)}
    if posed.question.asked("matrices"):
        arrays = _matrices(arm, along, posed.question.asked("geometry"))
    elif slopes := posed.question.text("cost-slopes"):
        arrays = _gradient(posed, along, slopes, inputs)
    else:
        arrays = _changed(posed, motion, along, inputs)
    lines = _contract_lines(posed, motion, torques)
    return posed.result((*arrays, *_along(posed, motion)), lines, inputs, motion.time)


def require_sense(question: Question, states: States, arm: str) -> None:
    """Refuse changes that contradict each other, or none at all."""
    if states.trajectory is None:
        where = "robolin sensitivity"
        hint = f"`{where} --help` tells more"
        raise UsageError("missing option '--trajectory'", where=where, hint=hint)
    _payloads(question)
    _parameters(question.texts("parameter"))
    changed = [name for name in CHANGE_OPTIONS if name in question.asks]
    everything = [name for name in ALL_CHANGES_GIVEN if name in question.asks]
    if everything and changed:
        hint = ALL_CHANGES_GIVEN[everything[0]]
        raise UsageError("goes without any change", where=f"--{everything[0]}", hint=hint)
    if len(everything) > 1:
        hint = "ask for one of them, then for the other"
        raise UsageError("cannot go together with --matrices", where="--cost-slopes", hint=hint)
    if not changed and not everything:
        hint = "--perturb, --perturb-torque, --parameter, --payload-change; or all: --matrices"
        raise UsageError("nothing is changed", where="robolin sensitivity", hint=hint)
    if question.asked("geometry") and not question.asked("matrices"):
        hint = "--parameter JOINT/origin_x=CHANGE changes a figure of the geometry"
        raise UsageError("goes with --matrices", where="--geometry", hint=hint)
    for name in ("perturb-torque", "cost-slopes"):
        if question.text(name) == "-" and states.trajectory == "-":
            raise UsageError("standard input is the motion already", where=f"--{name} -")


def _motion(posed: QueryContext, path: str) -> Trajectory:
    """The nominal motion, with everything that it must have."""
    arm, rules = posed.arm, rules_of_file(posed.states, posed.arm)
    motion = read_trajectory(path, arm.joint_names, ("q", "qd"), ("tau", "qdd"), rules)
    file = display_name(path)
    posed.note(*(f"{file}: {note}" for note in motion.notes))
    if motion.seconds is None:
        raise RobolinError("there is no column 'time'", where=file, hint="in seconds, rising")
    checked_times(motion.seconds, where=file)
    if motion.tau is None and motion.qdd is None:
        hint = "columns JOINT/effort, or JOINT/acceleration"
        raise RobolinError("there are neither efforts nor accelerations", where=file, hint=hint)
    return motion


def _tell_doubts(posed: QueryContext, motion: Trajectory, file: str) -> None:
    assert motion.q is not None, "positions are needed"
    doubtful = StateMonitor(posed, divides=True)
    doubtful.look(motion.q, lambda row: f"{file}, row {row + 1}")
    doubtful.tell(file)


def _changed(
    posed: QueryContext, motion: Trajectory, along: dict[str, Any], inputs: dict[str, str]
) -> tuple[Array, ...]:
    """dq and dqd in every row."""
    arm, question = posed.arm, posed.question
    small: dict[str, Any] = dict(perturbations(arm, question.texts("perturb"), posed.verb.perturb))
    path = question.text("perturb-torque")
    if path is not None:
        rules = posed.rules.about(("tau",))
        more = read_trajectory(path, arm.joint_names, ("tau",), rules=rules)
        file = display_name(path)
        inputs[file] = more.digest
        since = more.seconds_since(motion.time)
        history = torque_history(along["time"], since, more.tau, where=file)
        small["dtau"] = history + small["dtau"]
    small |= {
        "parameters": _parameters(question.texts("parameter")),
        "payload": _payloads(question),
    }
    found = sensitivity(arm, **along, **small)
    kinds = [joint.kind for joint in arm.joints]
    return tuple(
        Array(name, getattr(found, name), (arm.joint_names,), unit_of(name, kinds))
        for name in ("dq", "dqd")
    )


def _threads(posed: QueryContext, motion: Trajectory) -> int | None:
    """As many as asked for, or as the linear models along the motion are worth."""
    return posed.settings.jobs or threads_for(motion.rows * _MATRICES * posed.arm.n**2)


def _along(posed: QueryContext, motion: Trajectory) -> Iterator[Array]:
    """The motion itself, since what is told of it holds near it alone."""

    def run(algorithm: str, values: Values) -> Values:
        return evaluate(posed.arm, algorithm, values, jobs=_threads(posed, motion))

    given = {name: getattr(motion, name) for name in POINT}
    if given["tau"] is not None:
        # the torques determine the accelerations
        given["qdd"] = None
    values = {name: value for name, value in given.items() if value is not None}
    return operating_point_arrays(posed.arm, complete_operating_point(values, run), (motion.rows,))


def _gradient(
    posed: QueryContext, along: dict[str, Any], path: str, inputs: dict[str, str]
) -> tuple[Array, ...]:
    """The gradient of a cost whose slopes by positions and velocities a file has row by row."""
    arm, file = posed.arm, display_name(path)
    slopes = read_trajectory(path, arm.joint_names, (), ("q", "qd"))
    inputs[file] = slopes.digest
    given = {f"dcost_d{name}": getattr(slopes, name) for name in ("q", "qd")}
    given = {name: value for name, value in given.items() if value is not None}
    if not given:
        hint = "columns JOINT/position or JOINT/velocity: what the cost changes by per unit of each"
        raise RobolinError("there are no slopes", where=file, hint=hint)
    if slopes.rows != len(along["time"]):
        message = f"{slopes.rows} rows of slopes, but the motion has {len(along['time'])}"
        raise RobolinError(message, where=file, hint="one row for each of the motion")
    found = cost_gradient(arm, **along, **given)
    kinds = [joint.kind for joint in arm.joints]
    by_joint = [
        Array(name, values, (arm.joint_names,), unit_of(name, kinds))
        for name, values in (
            ("dcost_dq", found.q),
            ("dcost_dqd", found.qd),
            ("dcost_dtau", found.tau),
        )
    ]
    told = units_along("dcost_dparameters", (found.names,), joint_slides(arm))
    unit = unit_of("dcost_dparameters", kinds, told)
    return (*by_joint, Array("dcost_dparameters", found.parameter, (found.names,), unit))


def _matrices(arm: Arm, along: dict[str, Any], geometry: bool) -> tuple[Array, ...]:
    """Every sensitivity in every row."""
    found = sensitivity_matrices(arm, **along, geometry=geometry)
    words = (COLUMN_WORDS["q"], COLUMN_WORDS["qd"])
    states = tuple(f"{joint}/{word}" for word in words for joint in arm.joint_names)
    parse_named_numbers = {
        "dx_dx0": (found.transition, (states, states)),
        "dx_dtau": (found.torque, (states, arm.joint_names)),
        "dx_dparameters": (found.parameter, (states, found.names)),
    }
    kinds, slides = [joint.kind for joint in arm.joints], joint_slides(arm)
    return tuple(
        Array(name, values, labels, unit_of(name, kinds, units_along(name, labels, slides)))
        for name, (values, labels) in parse_named_numbers.items()
    )


def _contract_lines(posed: QueryContext, motion: Trajectory, torques: str) -> dict[str, str]:
    words = ("state and torques", "torque history", "parameters", "payload")
    asked = [
        word
        for name, word in zip(CHANGE_OPTIONS, words, strict=True)
        if name in posed.question.asks
    ]
    source = "efforts" if motion.tau is not None else "accelerations"
    return {
        "motion": f"{motion.rows} rows of {display_name(posed.states.trajectory or '')}, "
        f"{source} given, torques {torques}",
        **motion.lines,
        "changed": ", ".join(asked) or _everything(posed.question),
        "algorithm": "linearized model along the motion, Runge-Kutta of order 4 from row to row",
    }


def _everything(question: Question) -> str:
    if question.asked("matrices"):
        return "all, as matrices"
    return f"all, by the gradient of the cost whose slopes are in {question.text('cost-slopes')}"


def _payloads(question: Question) -> tuple[tuple[str, float, Vector3], ...]:
    """Link, mass and place of each point mass."""
    texts = question.texts("payload-change")
    found = [payload_of(FlagText("--payload-change", text)) for text in texts]
    return tuple((each.frame, each.mass, each.position) for each in found)


def _parameters(texts: Sequence[str]) -> dict[str, float]:
    entries: dict[str, float] = {}
    for text in texts:
        typed = FlagText("--parameter", text)
        for name, (value, degrees) in parse_named_numbers(typed, "NAME=CHANGE").items():
            if degrees and name.rpartition("/")[2] not in TURN_PARAMETERS:
                raise typed.wrong(f"'{name}' is not an angle", "leave out 'deg'")
            if name in entries:
                raise typed.wrong(f"'{name}' is there twice", "keep one of them")
            entries[name] = value
    return entries
