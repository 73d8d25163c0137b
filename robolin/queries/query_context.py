"""A request while it runs: its arm, its settings and callbacks, and the files it reads."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import PurePath
from typing import Any, Protocol

from robolin.core.arm import Arm
from robolin.core.arrays import Floats
from robolin.core.results.result import Array, Result, ResultStream
from robolin.errors import RobolinError, UsageError, raise_all
from robolin.io.paths import base_name
from robolin.io.table_file import FileIndex, TableFile
from robolin.io.trajectories.column_rules import ReadOptions, read_options_from
from robolin.queries.option_specs import Verb
from robolin.queries.question import Question
from robolin.queries.request import Request, validate_options
from robolin.queries.states import NAN, States
from robolin.queries.verbs import VERBS

# kind ('note', 'warning' or 'summary') and text; the contract also contains summaries
MessageCallback = Callable[[str, str], None]
# state of a part of the result, and the part
ResultCallback = Callable[[Mapping[str, Floats], Result], None]


class Progress(Protocol):
    """Callback for progress reports."""

    def begin(self, size: int | None) -> None:
        """Start: `size` is the amount to read, in bytes or rows, if known."""

    def add(self, rows: int, reached: int) -> None:
        """Report `rows` more evaluated rows; the file is processed up to `reached`."""


def silent(kind: str, text: str) -> None:
    """Ignore the message."""


@dataclass(frozen=True)
class Settings:
    """Evaluation settings; only `former` may change the result.

    jobs:       number of threads (default: one per processor)
    chunk_rows: rows of a trajectory per chunk
    verbose:    also report the condition number of the mass matrix
    known:      index of the trajectory file from an earlier read
    live:       evaluate rows of a pipe as they arrive
    table:      rows of the trajectory that are already in memory
    former:     use the algorithms of `FORMER_ALGORITHMS`
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

    def __post_init__(self) -> None:
        require_counts(jobs=self.jobs, chunk_rows=self.chunk_rows)


def require_counts(**counts: object) -> None:
    """Reject counts that are not positive integers or None."""
    for name, count in counts.items():
        if count is not None and (not isinstance(count, int) or count < 1):
            raise UsageError(f"{name} is {count!r}", hint="1, 2, … or None")


DEFAULT_SETTINGS = Settings()


@dataclass(frozen=True, eq=False)
class QueryContext:
    """A request while it is evaluated on its arm.

    opened: open files that the result is read from
    at_end: callbacks to run after the last part of the result
    """

    arm: Arm
    request: Request
    settings: Settings
    opened: ExitStack = field(default_factory=ExitStack)
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
        of_states = self.states.trajectory is not None
        return read_options_from(
            self.arm, self.states.recording if of_states else self.question.asks
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
            hint = "correct it, or leave out --strict"
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
        return Result(
            verb=self.question.verb,
            arrays=arrays,
            joints=self.arm.joint_names,
            contract={**self.arm.contract, **contract},
            options=self.request.options,
            inputs={**arm_inputs(self.arm), **(inputs or {})},
            time=time,
            model=self.arm.figures,
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
    validate_options(request.question, request.states, arm.source)
    context = QueryContext(arm, request, settings)
    module, _, function = context.verb.answers.partition(":")
    with context.opened:
        yield getattr(import_module(module), function)(context)
    for callback in context.at_end:
        callback()


def arm_inputs(arm: Arm) -> dict[str, str]:
    """Base name of the arm's file and its hash."""
    if not arm.source:
        return {}
    source = "stdin" if arm.source == "-" else PurePath(arm.source).name
    return {source: arm.digest}


def display_name(path: str) -> str:
    """Name of a file in messages and results."""
    return "stdin" if path == "-" else base_name(path)


def notes_of_arm(arm: Arm) -> list[str]:
    """Notes of the arm's contract, prefixed by its name."""
    return [f"{arm.name}: {note}" for note in arm.contract.get("notes", ())]
