"""Evaluate one question for several values of a model option, as one result."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from robolin.core.arm import Arm
from robolin.core.choices import SWEEP
from robolin.core.quantity_table import FIGURES, joint_units
from robolin.core.records import dataclass
from robolin.core.result import Array, Result, require_finite
from robolin.core.text_parsing import SWEPT_FORMS, parse_swept, text_of
from robolin.errors import RobolinError, UsageError, raise_all
from robolin.queries.answer import concat_parts, emit_warning
from robolin.queries.option_specs import MODEL_OPTIONS, Verb
from robolin.queries.question import Question
from robolin.queries.request import (
    ArmSource,
    MessageCallback,
    Request,
    Settings,
    checked_request,
    model_texts,
    request_about,
    run_request,
    source_of,
)
from robolin.queries.states import States
from robolin.queries.verbs import VERBS

# an option with several values, or its text on the command line
SweptPayload = tuple[str, ArrayLike] | tuple[str, ArrayLike, ArrayLike] | str
SweptByJoint = Mapping[str, ArrayLike] | str

# example of each option in Python
_EXAMPLES = {
    "payload": "('tool0', [0, 1, 2])",
    "armature": "{'elbow': [0, 0.1]}",
    "lock": "{'elbow': [0, 0.5]}",
    "friction-velocity": "[0.01, 0.1]",
}


def sweep(
    arm: Arm,
    question: Question | str,
    states: States | None = None,
    *,
    payload: SweptPayload | None = None,
    armature: SweptByJoint | None = None,
    lock: SweptByJoint | None = None,
    friction_velocity: ArrayLike | None = None,
    jobs: int | None = None,
    notify: MessageCallback = emit_warning,
) -> Result:
    """Run one command for several values of a model option, as `robolin sweep` does.

    Exactly one of the four options is required: a list of values, or text as on the command line.
    The option is added to the options that loaded the arm.

    Args:
        arm: the robot, from `robolin.load` with a file or a bundled name
        question: a `Question`, or a command name for a question without options
        states: a `States` with one state; all quantities are 0 by default
        payload: (link, masses) or (link, masses, position), in kg and m: (values,) and (3,)
        armature: {joint: inertias} (values,), in kg·m² or kg
        lock: {joint: positions} (values,), in rad or m
        friction_velocity: (values,), in rad/s or m/s
        jobs: number of threads (default: one per processor); results are bit-identical
        notify: called with 'note', 'warning' or 'summary' and a text

    Returns:
        a `Result`: first the array of values, shape (values,), then arrays with one row per
        value, bit-identical to separate evaluations

    Raises:
        UsageError: no option with several values, more than one, or states with several rows
        RobolinError: a value without a result, or an arm that was not loaded from a file

    Example:
        >>> arm = robolin.load("two-link")
        >>> swept = robolin.sweep(arm, "inverse", payload=("tip", [0, 1, 2]))
        >>> swept["payload"], swept["tau"].round(1)
        (array([0., 1., 2.]), array([[19.6,  4.9],
               [39.2, 14.7],
               [58.9, 24.5]]))
    """
    if not callable(notify):
        raise UsageError(f"notify: must be a function, got {notify!r}")
    request = request_about(arm, question, states)
    query = request.question
    values = dict(zip(SWEPT, (payload, armature, lock, friction_velocity), strict=True))
    source = ArmSource(*_loaded_with(arm, VERBS[query.verb], values))
    request = checked_request(source, query, request.states, f"{SWEEP} {query.verb}")
    return run_sweep(request, Settings(jobs, notify=notify), arm.digest)


def run_sweep(request: Request, settings: Settings, digest: str | None = None) -> Result:
    """Evaluate every value of the swept option; return one result row per value.

    digest: hash of the arm's file when it was loaded, if it was
    """
    assert request.swept is not None, "the request is a sweep"
    # read once: standard input cannot be read again, and a file may change
    reading = request.sources[0].reading()
    results: list[Result] = []
    notes: list[list[tuple[str, str]]] = []
    for i, source in enumerate(request.sources):
        notes.append([])
        try:
            arm = source.arm(reading)
            if digest not in (None, arm.digest):
                hint = "load the robot again"
                raise RobolinError(
                    "the file was changed after the robot was loaded", where=arm.source, hint=hint
                )
            variant = replace(request, source=source, swept=None)
            results.append(_evaluate_one(variant, settings, arm, notes[i]))
            _require_same_labels(results[0], results[i])
        except RobolinError as error:
            raise_all([with_swept_value(request.swept, i, part) for part in error.parts])
    _forward_messages(request.swept, notes, settings.notify)
    stacked = _stack(request.swept, results)
    verb = f"{SWEEP} {request.question.verb}"
    return replace(stacked, verb=verb, options=request.options, files=request.files)


def _evaluate_one(
    request: Request, settings: Settings, arm: Arm, notes: list[tuple[str, str]]
) -> Result:
    """Evaluate one of the values; append its messages to `notes`."""
    collecting = replace(settings, notify=lambda kind, text: notes.append((kind, text)))
    with run_request(request, collecting, arm) as output:
        result = output if isinstance(output, Result) else concat_parts(output)
    require_finite(result)
    return result


def _require_same_labels(first: Result, answer: Result) -> None:
    if answer.batch is not None:
        hint = "set one state with --q, --qd, …"
        raise UsageError("a sweep requires one state, got several rows", hint=hint)
    if [a.labels for a in answer.arrays] != [a.labels for a in first.arrays]:
        raise UsageError("the results for the swept values have different shapes")


def with_swept_value(option: SweptOption, i: int, error: RobolinError) -> RobolinError:
    """Add the swept value to an error, except for the first value."""
    if i == 0:
        return error
    message = f"--{option.label} {option.texts[i]}: {error.message}"
    return type(error)(message, where=error.where, hint=error.hint)


def _forward_messages(
    option: SweptOption, notes: list[list[tuple[str, str]]], notify: MessageCallback
) -> None:
    """Forward messages: common ones once, the others with their value."""
    for i, messages in enumerate(notes):
        for kind, text in messages:
            if not all((kind, text) in each for each in notes):
                notify(kind, f"--{option.label} {option.texts[i]}: {text}")
            elif i == 0:
                notify(kind, text)


def _stack(option: SweptOption, results: Sequence[Result]) -> Result:
    """Stack the results as rows of one result, after the array of swept values."""
    first = results[0]
    arrays = tuple(
        replace(array, values=np.stack([answer.arrays[i].values for answer in results]))
        for i, array in enumerate(first.arrays)
    )
    name, values = option.label.replace("-", "_"), np.asarray(option.values, np.float64)
    axis = Array(name, values, (), option.unit(first.model))
    description = (
        f"{first.verb} for {len(results)} values of --{option.label} {option.about}".rstrip()
    )
    contract = {**_common([answer.contract for answer in results]), SWEEP: description}
    return replace(first, arrays=(axis, *arrays), contract=contract)


def _common(contracts: Sequence[Mapping[str, object]]) -> dict[str, object]:
    """Contract entries that are equal in all results."""
    first = contracts[0]
    return {key: first[key] for key in first if all(c.get(key) == first[key] for c in contracts)}


def _loaded_with(arm: Arm, verb: Verb, values: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """Path of the arm, and its model options with the swept ones added."""
    source = source_of(arm)
    path, loaded = source.path, dict(source.texts)
    if path in ("", "-"):
        hint = "load the robot from a file, or by the name of a bundled robot"
        raise RobolinError(
            "the robot was not loaded from a file and cannot be loaded again", hint=hint
        )
    for label, value in values.items():
        if value is None:
            continue
        if label in loaded and not MODEL_OPTIONS[label].multiple:
            raise UsageError("the robot was already loaded with this option", where=label)
        texts = _texts(label, value)
        if not texts:
            raise UsageError(f"must have at least one value, got {value!r}", where=label)
        loaded[label] = (
            (*loaded.get(label, ()), *texts) if MODEL_OPTIONS[label].multiple else texts[0]
        )
    return path, model_texts(loaded, verb)


def _texts(label: str, value: Any) -> list[str]:
    """Format an option with several values as on the command line."""
    if isinstance(value, str):
        return [value]
    try:
        if label == "payload":
            link, masses, *position = value
            at = f"@{text_of(*position)}" if position else ""
            return [f"{link}:{text_of(masses)}{at}"]
        if isinstance(value, Mapping):
            return [text_of({name: each}) for name, each in value.items()]
        return [text_of(value)]
    except (TypeError, ValueError) as error:
        hint = f"use, for example, {label.replace('-', '_')}={_EXAMPLES[label]}"
        raise UsageError(
            f"must have several values, got {value!r}", where=label, hint=hint
        ) from error


SWEPT = tuple(SWEPT_FORMS)
_UNITS = {
    "payload": FIGURES["mass"],
    "armature": FIGURES["armature"],
    "lock": joint_units("position"),
    "friction-velocity": joint_units("velocity"),
}


@dataclass(frozen=True)
class SweptOption:
    """The model option with several values.

    about:    the link or joint it belongs to
    texts:    the option with each of its values
    values:   the values as numbers
    variants: all model options, once for each value
    """

    label: str
    about: str
    texts: tuple[str, ...]
    values: tuple[float, ...]
    variants: tuple[Mapping[str, Any], ...]

    def unit(self, model: Mapping[str, Any] | None) -> str:
        """Unit of the values, for the arm with these parameters."""
        joint = (model or {}).get("joints", {}).get(self.about, {})
        return _UNITS[self.label][joint.get("type") == "prismatic"]


def require_one_swept(texts: Mapping[str, Any], states: States) -> SweptOption:
    """Return the only model option with several values; raise unless there is exactly one."""
    swept = list(_swept(texts))
    if len(swept) != 1:
        options = ", ".join(f"--{name}" for name in SWEPT)
        if swept:
            what = "more than one option has several values"
            hint = f"set several values for only one of the options {options}"
        else:
            what = "no option has several values"
            hint = f"set several values for one of the options {options}, for example "
            hint += "--payload LINK:0,1,2,3"
        raise UsageError(what, where="robolin sweep", hint=hint)
    if states.trajectory is not None or states.samples is not None:
        hint = "set one state with --q, --qd, …"
        raise UsageError("a sweep requires one state, got several rows", hint=hint)
    return swept[0]


def _swept(texts: Mapping[str, Any]) -> Iterator[SweptOption]:
    for label in SWEPT:
        former = texts.get(label, ())
        listed: Sequence[str] = (former,) if isinstance(former, str) else former
        for i, text in enumerate(listed):
            if (parsed := parse_swept(label, text)) is None:
                continue
            about, each, values = parsed
            variants = tuple(
                {**texts, label: one if isinstance(former, str) else _replaced(listed, i, one)}
                for one in each
            )
            yield SweptOption(label, about, each, values, variants)


def _replaced(texts: Sequence[str], index: int, text: str) -> tuple[str, ...]:
    return (*texts[:index], text, *texts[index + 1 :])
