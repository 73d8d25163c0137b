"""Everything that is asked, as plain data: which arm, which question, about which states.

It is read from options by name, as flags give them and as stored results record them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from importlib import import_module
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from robolin.core.results.result import base_verb
from robolin.core.text import did_you_mean
from robolin.errors import UsageError
from robolin.queries.option_specs import MODEL_OPTIONS, ROW_OPTIONS, Verb
from robolin.queries.question import Question, coerce_option
from robolin.queries.states import States
from robolin.queries.verbs import VERBS, answering_verb

if TYPE_CHECKING:
    from robolin.core.arm import Arm
    from robolin.description.building.option_texts import ModelOptions
    from robolin.description.model import Description, Reading
    from robolin.queries.sweep import SweptOption

ARM_OPTION = "arm"


@dataclass(frozen=True)
class ArmSource:
    """Where an arm comes from: a path, '-' or a bundled name, and model flags as text."""

    path: str
    texts: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def options(self) -> ModelOptions:
        from robolin.description.building.option_texts import ModelOptions

        if not self.texts:
            return ModelOptions()
        from robolin.description.building.option_texts import options_from_texts

        return options_from_texts(self.texts)

    def reading(self) -> Reading:
        from robolin.description.load import read

        return read(self.path, self.options)

    def arm(self, reading: Reading | None = None) -> Arm:
        """The arm, built from the reading if there is one already."""
        from robolin.description.load import arm_of

        reading = reading or self.reading()
        arm = arm_of(reading, self.options, self.path, {ARM_OPTION: self.path, **self.texts})
        if "lock" in self.texts and reading.description is not None:
            _require_slides_in_metres(reading.description, self.texts)
        return arm


def _require_slides_in_metres(description: Description, texts: Mapping[str, Any]) -> None:
    """Refuse a joint that slides and was locked in degrees."""
    from robolin.description.building.option_texts import locked_in_degrees

    in_degrees = locked_in_degrees(texts)
    for joint in description.joints:
        if joint.name in in_degrees and joint.kind == "prismatic":
            message = f"joint '{joint.name}' slides: its position is in m, not in deg"
            raise UsageError(message, where="--lock")


@dataclass(frozen=True)
class Request:
    """A question about states of an arm: enough to be answered, now and later.

    swept: the option of the arm that has several values, if the question is asked for each
    """

    source: ArmSource
    question: Question
    states: States
    swept: SweptOption | None = None

    @property
    def sources(self) -> list[ArmSource]:
        """The arm, once for each value of the option that is swept."""
        if self.swept is None:
            return [self.source]
        return [replace(self.source, texts=texts) for texts in self.swept.variants]

    @property
    def files(self) -> dict[str, str]:
        """The files it names, by option; an arm may be a bundled name or '-' instead."""
        return {ARM_OPTION: self.source.path, **self.states.files, **self.question.files}

    @property
    def options(self) -> dict[str, Any]:
        """What its result records."""
        return provenance_options(
            {ARM_OPTION: self.source.path, **self.source.texts}, self.question, self.states
        )


def provenance_options(
    loaded_with: Mapping[str, Any] | None, question: Question, states: States
) -> dict[str, Any]:
    """Enough to ask again: files by their last name, everything else as it was given."""
    arm = dict(loaded_with or {})
    if ARM_OPTION in arm:
        arm[ARM_OPTION] = PurePath(arm[ARM_OPTION]).name
    return {**arm, **question.options, **states.options}


def arm_source(path: str, options: Mapping[str, Any], verb: Verb) -> ArmSource:
    """The arm that these of the options make; wrong ones are refused at once."""
    source = ArmSource(path, model_texts(options, verb))
    assert source.options, "options that make no sense are refused here"
    return source


def model_texts(options: Mapping[str, Any], verb: Verb) -> dict[str, Any]:
    """The options that make the arm, in the order they are recorded, as plain values."""
    texts = {label: options[label] for label in MODEL_OPTIONS if label in options}
    plain = {
        label: coerce_option(verb, label, MODEL_OPTIONS[label], value)
        for label, value in texts.items()
    }
    return {label: value for label, value in plain.items() if value is not None}


def request_from_options(verb: str, path: str, options: Mapping[str, Any]) -> Request:
    """The inquiry that options make: what flags say, by their names without dashes."""
    found = answering_verb(verb)
    if found is None:
        raise UsageError(f"{verb} gives no result that could be stored", where=f"robolin {verb}")
    for label in options:
        if label not in found.options:
            hint = did_you_mean(label, list(found.options))
            raise UsageError(f"there is no --{label}", where=f"robolin {verb}", hint=hint)
    source = ArmSource(path, model_texts(options, found))
    by_state = {
        label.replace("-", "_"): value
        for label, value in options.items()
        if label in found.states or label in found.states_from or label in found.state_file
    }
    for label, ask in found.states_from.items():
        if ask.needed and label not in by_state:
            where = f"robolin {verb}"
            hint = f"`{where} --help` tells more"
            raise UsageError(f"missing option '--{label}'", where=where, hint=hint)
    asks = {label: value for label, value in options.items() if label in found.asks}
    question = Question(verb if verb in VERBS else base_verb(verb), **asks)
    return checked_request(source, question, States(**by_state), verb)


def checked_request(source: ArmSource, question: Question, states: States, verb: str) -> Request:
    """The inquiry, for each value of what is swept if the verb says so; refused if senseless."""
    swept = None
    if verb != question.verb:
        from robolin.queries.sweep import require_one_swept

        swept = require_one_swept(source.texts, states)
    inquiry = Request(source, question, states, swept)
    for each in inquiry.sources:
        assert each.options, "options that make no sense are refused here"
    require_sense(question, states, source.path)
    return inquiry


def require_sense(question: Question, states: States, arm: str) -> None:
    """Refuse what contradicts itself, wherever the arm comes from and whatever it is."""
    verb = VERBS[question.verb]
    require_only(states, verb.states)
    given = {
        "trajectory": states.trajectory,
        "on-bad-row": states.on_bad_row,
        "samples": states.samples,
        "seed": states.seed,
        **states.recording,
        **{name: getattr(states, name) for name in ROW_OPTIONS},
    }
    for label, value in given.items():
        if value is not None and label not in verb.states_from:
            raise UsageError("has no effect here", where=f"--{label}", hint="give one state")
    module = import_module(verb.answers.partition(":")[0])
    check = getattr(module, "require_sense", None)
    if check is not None:
        check(question, states, arm)


def require_only(states: States, names: Sequence[str]) -> None:
    """Refuse quantities that an answer does not depend on, which these are all of."""
    flags = ", ".join(f"--{name}" for name in names)
    hint = f"the answer depends on {flags} alone" if names else "leave it out"
    for name in states.values:
        if name not in names:
            raise UsageError("has no effect here", where=f"--{name}", hint=hint)
