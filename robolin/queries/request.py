"""A request as plain data, created from options by name, and its context while it runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import field, replace
from functools import cached_property
from importlib import import_module
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any, Protocol

from robolin.core.choices import base_verb
from robolin.core.former_names import FORMER_OPTIONS
from robolin.core.records import dataclass
from robolin.core.text import did_you_mean
from robolin.errors import RobolinError, UsageError, raise_all
from robolin.io.format_table import base_name
from robolin.queries.option_specs import (
    MODEL_OPTIONS,
    REQUIRES,
    SRDF_OPTION,
    STATES_OPTION,
    Verb,
    check_conflicts,
    conflict,
)
from robolin.queries.question import Question, answering_verb, coerce_option, missing_option
from robolin.queries.states import NAN, States, notes_of_arm, state_options
from robolin.queries.verbs import VERBS

if TYPE_CHECKING:
    from robolin.core.arm import Arm
    from robolin.core.arrays import Floats
    from robolin.core.result import Array, Result, ResultStream
    from robolin.description.building.keywords import ModelOptions
    from robolin.description.model import Description, Reading
    from robolin.io.table_file import FileIndex, TableFile
    from robolin.io.trajectories.read_options import ReadOptions
    from robolin.queries.sweep import SweptOption

ARM_OPTION = "arm"


@dataclass(frozen=True)
class ArmSource:
    """Source of an arm: a path, '-' or a bundled name, and model options as text.

    path: '' for an arm that was built in memory
    """

    path: str
    texts: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def options(self) -> ModelOptions:
        from robolin.description.building.keywords import ModelOptions

        if not self.texts:
            return ModelOptions()
        from robolin.description.building.keywords import options_from_texts

        return options_from_texts(self.texts)

    @property
    def files(self) -> dict[str, str]:
        """Files that model options name, by option."""
        return {SRDF_OPTION: self.texts[SRDF_OPTION]} if SRDF_OPTION in self.texts else {}

    def reading(self) -> Reading:
        from robolin.description.load import read

        return read(self.path, self.options)

    def arm(self, reading: Reading | None = None) -> Arm:
        """Build the arm; `reading` avoids reading the file again."""
        from robolin.description.load import arm_of

        reading = reading or self.reading()
        arm = arm_of(reading, self.options, self.path, {ARM_OPTION: self.path, **self.texts})
        if "lock" in self.texts and reading.description is not None:
            _require_prismatic_in_metres(reading.description, self.texts)
        return arm


def _require_prismatic_in_metres(description: Description, texts: Mapping[str, Any]) -> None:
    """Reject a prismatic joint locked at a position in degrees."""
    from robolin.description.building.keywords import locked_in_degrees

    in_degrees = locked_in_degrees(texts)
    for joint in description.joints:
        if joint.name in in_degrees and joint.kind == "prismatic":
            message = f"prismatic joint '{joint.name}' must have a position in m, got deg"
            raise UsageError(message, where="--lock")


@dataclass(frozen=True)
class Request:
    """A question about states of an arm: all that determines the result, as plain data.

    swept: the model option with several values, for a sweep
    """

    source: ArmSource
    question: Question
    states: States
    swept: SweptOption | None = None

    @property
    def sources(self) -> list[ArmSource]:
        """The arm source, once for each value of the swept option."""
        if self.swept is None:
            return [self.source]
        return [replace(self.source, texts=texts) for texts in self.swept.variants]

    @property
    def files(self) -> dict[str, str]:
        """Input files by option; the arm may also be a bundled name or '-'."""
        arm = {ARM_OPTION: self.source.path} if self.source.path else {}
        return {**arm, **self.source.files, **self.states.files, **self.question.files}

    @property
    def options(self) -> dict[str, Any]:
        """Options that the result records, enough to repeat it: files by their base name."""
        arm = {ARM_OPTION: PurePath(self.source.path).name} if self.source.path else {}
        model = {**self.source.texts, **{k: base_name(v) for k, v in self.source.files.items()}}
        return {**arm, **model, **self.question.recorded_options, **self.states.options}


def request_about(arm: Arm, question: Question | str, states: States | None = None) -> Request:
    """Create a request about a loaded arm; a command name is a question without options."""
    from robolin.core.arrays import require_arm

    query = Question(question) if isinstance(question, str) else question
    given_states = States() if states is None else states
    for what, value, kind in (("question", query, Question), ("states", given_states, States)):
        if not isinstance(value, kind):
            hint = "use `robolin.answer(arm, Question(…), States(…))`"
            raise UsageError(f"must be a {kind.__name__}, got {value!r}", where=what, hint=hint)
    require_arm(arm)
    return Request(source_of(arm), query, given_states)


def source_of(arm: Arm) -> ArmSource:
    """Source of a loaded arm; its path is '' if the arm cannot be loaded again."""
    texts = dict(arm.loaded_with or {})
    return ArmSource(texts.pop(ARM_OPTION, ""), texts)


def arm_source(path: str, options: Mapping[str, Any], verb: Verb) -> ArmSource:
    """Create the arm source of these options; reject invalid ones immediately."""
    source = ArmSource(path, model_texts(options, verb))
    assert source.options, "invalid options are rejected here"
    return source


def model_texts(options: Mapping[str, Any], verb: Verb) -> dict[str, Any]:
    """Return the model options as plain values, in the order of the records."""
    texts = {label: options[label] for label in MODEL_OPTIONS if label in options}
    plain = {
        label: coerce_option(verb, label, MODEL_OPTIONS[label], value)
        for label, value in texts.items()
    }
    return {label: value for label, value in plain.items() if value is not None}


def request_from_options(verb: str, path: str, options: Mapping[str, Any]) -> Request:
    """Create a request from options by flag name without dashes."""
    command = answering_verb(verb)
    if command is None:
        raise UsageError("the command does not return a result", where=f"robolin {verb}")
    options = {FORMER_OPTIONS.get(label, label): value for label, value in options.items()}
    for label in options:
        if label not in command.options:
            hint = did_you_mean(label, list(command.options))
            raise UsageError(f"no such option '--{label}'", where=f"robolin {verb}", hint=hint)
    source = ArmSource(path, model_texts(options, command))
    by_state = {
        label.replace("-", "_"): value
        for label, value in options.items()
        if label in command.states or label in command.states_from or label in command.state_file
    }
    selected = {label: value for label, value in options.items() if label in command.own_options}
    question = Question(verb if verb in VERBS else base_verb(verb), **selected)
    return checked_request(source, question, States(**by_state), verb)


def checked_request(source: ArmSource, question: Question, states: States, verb: str) -> Request:
    """Create a request, a sweep if `verb` names one; reject invalid combinations."""
    swept = None
    if verb != question.verb:
        from robolin.queries.sweep import require_one_swept

        swept = require_one_swept(source.texts, states)
    request = Request(source, question, states, swept)
    for each in request.sources:
        assert each.options, "invalid options are rejected here"
    validate_options(request)
    return request


def validate_options(request: Request) -> None:
    """Reject options that contradict each other or have no effect, independent of the arm."""
    question, states = request.question, request.states
    verb, present = VERBS[question.verb], state_options(states)
    require_only(states, verb.states)
    for label in present:
        if label not in (*verb.states, *verb.states_from, STATES_OPTION):
            hint = "set one state with --q, --qd, …"
            raise UsageError("has no effect on this command", where=f"--{label}", hint=hint)
    if states.arrays and "trajectory" not in verb.states_from:
        message = f"{verb.name} requires one state, got arrays of states"
        raise UsageError(message, hint="pass one number per joint")
    for label, spec in verb.states_from.items():
        if spec.required and label not in present:
            raise missing_option(verb, label)
    options = {**present, **question.options}
    check_conflicts({**verb.states_from, **verb.own_options}, options)
    for labels, hint in verb.one_of.items():
        if options.keys().isdisjoint(labels.split()):
            raise conflict(f"robolin {verb.name}", REQUIRES, labels.split(), hint)
    _require_one_stdin(request.files)
    module = import_module(verb.answers.partition(":")[0])
    check = getattr(module, "validate_values", None)
    if check is not None:
        check(question)


def require_only(states: States, names: Sequence[str]) -> None:
    """Reject state quantities outside `names`: the result does not depend on them."""
    flags = ", ".join(f"--{name}" for name in names)
    hint = f"use {flags} only" if names else "remove this option"
    for name in states.values:
        if name not in names:
            if name == "qdd" and "tau" in names:
                hint = "use `robolin inverse`, which computes torques from --qdd"
            raise UsageError("has no effect on this command", where=f"--{name}", hint=hint)


def _require_one_stdin(files: Mapping[str, str]) -> None:
    names = {ARM_OPTION: "ARM"}
    piped = [names.get(name, f"--{name}") for name in files if files[name] == "-"]
    if len(piped) > 1:
        message = f"standard input is already used for {piped[0]}"
        raise UsageError(message, where=f"{piped[1]} -")


# kind ('note', 'warning' or 'summary') and text; the contract also contains summaries
MessageCallback = Callable[[str, str], None]
# state of a part of the result, and the part
ResultCallback = Callable[["Mapping[str, Floats]", "Result"], None]


class Progress(Protocol):
    """Callback for progress reports."""

    def begin(self, size: int | None) -> None:
        """Start: `size` is the amount to read, in bytes or rows, if known."""

    def add(self, rows: int, reached: int) -> None:
        """Report `rows` more evaluated rows; the file is processed up to `reached`."""

    def reach(self, reached: int) -> None:
        """Report that the file was read up to `reached`, before any row has a result."""


def silent(kind: str, text: str) -> None:
    """Ignore the message."""


@dataclass(frozen=True)
class Settings:
    """Evaluation settings; only `former` and `arrays` may change the result.

    jobs:       number of threads (default: one per processor)
    chunk_rows: rows of a trajectory per chunk
    verbose:    also report the condition number of the mass matrix
    known:      index of the trajectory file from an earlier read
    live:       evaluate rows of a pipe as they arrive
    table:      rows of the trajectory that are already in memory
    former:     use the algorithms of `FORMER_ALGORITHMS`
    arrays:     names of the arrays that are needed; some of them are not computed by default
    printed:    the result is only printed, so one state needs no NumPy
    """

    jobs: int | None = None
    chunk_rows: int | None = None
    verbose: bool = False
    notify: MessageCallback = silent
    watch: ResultCallback | None = None
    progress: Progress | None = None
    known: FileIndex | None = None
    live: bool = False
    table: TableFile | None = None
    former: bool = False
    arrays: tuple[str, ...] = ()
    printed: bool = False

    def __post_init__(self) -> None:
        require_counts(jobs=self.jobs, chunk_rows=self.chunk_rows)


def require_counts(**counts: object) -> None:
    """Reject counts that are not positive integers or None."""
    for name, count in counts.items():
        if count is not None and (not isinstance(count, int) or count < 1):
            raise UsageError(f"{name} is {count!r}", hint="give 1, 2, … or None")


DEFAULT_SETTINGS = Settings()


@dataclass(frozen=True, eq=False)
class QueryContext:
    """A request while it is evaluated on its arm.

    open_files: files that the result is read from
    at_end: callbacks to run after the last part of the result
    """

    arm: Arm
    request: Request
    settings: Settings
    open_files: ExitStack = field(default_factory=ExitStack)
    at_end: list[Callable[[], None]] = field(default_factory=list)

    @property
    def question(self) -> Question:
        return self.request.question

    @property
    def states(self) -> States:
        return self.request.states

    @property
    def verb(self) -> Verb:
        return VERBS[self.question.verb]

    @property
    def strict(self) -> bool:
        """True if warnings about the model and its states are errors."""
        return bool(self.request.source.texts.get("strict"))

    @property
    def skips_bad_rows(self) -> bool:
        """True if rows without a result become NaN."""
        return self.states.on_bad_row == NAN

    @property
    def rules(self) -> ReadOptions:
        """Rules for reading the trajectory, from the states or from the question."""
        from robolin.queries.states import read_options_from

        of_states = self.states.trajectory is not None
        return read_options_from(
            self.arm, self.states.recording if of_states else self.question.options
        )

    def note(self, *texts: str) -> None:
        """Emit notes."""
        for text in texts:
            self.settings.notify("note", text)

    def emit_arm_notes(self) -> None:
        """Emit the notes in the arm's contract."""
        self.note(*notes_of_arm(self.arm))

    def warn(self, *texts: str) -> None:
        """Emit warnings."""
        for text in texts:
            self.settings.notify("warning", text)

    def warn_or_raise(self, *texts: str) -> None:
        """Emit warnings; under --strict raise them as errors."""
        if self.strict:
            hint = "correct the input, or remove --strict"
            raise_all([RobolinError(text, hint=hint) for text in texts])
        self.warn(*texts)

    def result(
        self,
        arrays: tuple[Array, ...],
        contract: dict[str, Any],
        inputs: dict[str, str] | None = None,
        time: Any = None,
    ) -> Result:
        """Build the result; adds the contract and the file of the arm."""
        from robolin.core.result import Result
        from robolin.queries.states import pose_contract

        return Result(
            verb=self.question.verb,
            arrays=arrays,
            joints=self.arm.joint_names,
            contract={**self.arm.contract, **contract, **pose_contract(self, arrays)},
            options=self.request.options,
            inputs={**arm_inputs(self.arm), **(inputs or {})},
            time=time,
            model=self.arm.model_dict,
            files=self.request.files,
        )


@contextmanager
def run_request(
    request: Request, settings: Settings, arm: Arm | None = None
) -> Iterator[Result | ResultStream]:
    """Evaluate a request while its input files are open; then run the final callbacks.

    arm: the arm of the request, if it is loaded already
    """
    if request.swept is not None:
        from robolin.queries.sweep import run_sweep

        yield run_sweep(request, settings)
        return
    arm = arm or request.source.arm()
    validate_options(request)
    context = QueryContext(arm, request, settings)
    module, _, function = context.verb.answers.partition(":")
    with context.open_files:
        yield getattr(import_module(module), function)(context)
    for callback in context.at_end:
        callback()


def arm_inputs(arm: Arm) -> dict[str, str]:
    """Base names and hashes of the arm's file and of the SRDF file that an option names."""
    if not arm.source:
        return {}
    source = "stdin" if arm.source == "-" else PurePath(arm.source).name
    srdf = (arm.loaded_with or {}).get(SRDF_OPTION)
    if srdf is None:
        return {source: arm.digest}
    # OpenSSL takes 4 MB, which would be too much where memory just suffices for NumPy
    from hashlib import sha256

    from robolin.description.robot_source import robot_file_bytes

    return {source: arm.digest, base_name(srdf): sha256(robot_file_bytes(Path(srdf))).hexdigest()}


def display_name(path: str) -> str:
    """Name of a file in messages and results."""
    return "stdin" if path == "-" else base_name(path)
