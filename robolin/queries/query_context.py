"""A question put to an arm that is there, its answer, and what whoever asks wants to hear of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import PurePath
from typing import Any, Protocol

from robolin.core.arm import Arm
from robolin.core.array_checks import require_arm
from robolin.core.results.result import Array, Result, ResultStream
from robolin.errors import RobolinError, UsageError, raise_all
from robolin.io.paths import base_name
from robolin.io.table_file import FileIndex, TableFile
from robolin.io.trajectories.column_rules import ReadOptions, read_options_from
from robolin.queries.option_specs import Verb
from robolin.queries.question import Question
from robolin.queries.request import Request, provenance_options, require_sense
from robolin.queries.states import States
from robolin.queries.values import Values
from robolin.queries.verbs import VERBS

# kind, 'note', 'warning' or 'summary', and text; a summary stands in the result's contract too
MessageCallback = Callable[[str, str], None]
# the state that a part of the answer belongs to, and the part
ResultCallback = Callable[[Values, Result], None]


class Progress(Protocol):
    """Somebody who likes to know how far it has come."""

    def begin(self, size: int | None) -> None:
        """There is so much of a file to read, in bytes or rows, if that is known."""

    def add(self, rows: int, reached: int) -> None:
        """So many more rows are answered, and the file is done up to `reached`."""


def silent(kind: str, text: str) -> None:
    """Nobody listens."""


@dataclass(frozen=True)
class Settings:
    """How to answer; nothing here changes a bit of the result but `former`.

    jobs:       threads, one per processor by default
    chunk_rows: rows of a trajectory to compute at once
    verbose:    tell how well conditioned the mass matrix is, too
    known:      what has been found out about the trajectory before
    live:       whether rows of a pipe are answered as they arrive
    table:      the rows of the trajectory, where they are in memory already
    former:     whether to use the algorithms of `FORMER_ALGORITHMS`
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
    """Refuse numbers of threads, rows and the like that are none."""
    for name, count in counts.items():
        if count is not None and (not isinstance(count, int) or count < 1):
            raise UsageError(f"{name} is {count!r}", hint="1, 2, … or None")


DEFAULT_SETTINGS = Settings()


@dataclass(frozen=True, eq=False)
class QueryContext:
    """A question about states of an arm on its way to an answer.

    opened: closes the files that the answer is still read from
    at_end: what there is to say once the last part of the answer has been taken
    """

    arm: Arm
    question: Question
    states: States
    settings: Settings
    opened: ExitStack = field(default_factory=ExitStack)
    at_end: list[Callable[[], None]] = field(default_factory=list)

    @property
    def verb(self) -> Verb:
        return VERBS[self.question.verb]

    @property
    def options(self) -> dict[str, Any]:
        """What the result records: enough to ask again."""
        return provenance_options(self.arm.loaded_with, self.question, self.states)

    @property
    def files(self) -> dict[str, str]:
        """The files that were given, by option."""
        loaded = self.arm.loaded_with or {}
        arm = {"arm": loaded["arm"]} if "arm" in loaded else {}
        return {**arm, **self.states.files, **self.question.files}

    @property
    def rules(self) -> ReadOptions:
        """How files of the question are meant, wherever that was said."""
        of_states = self.states.trajectory is not None
        return read_options_from(
            self.arm, self.states.recording if of_states else self.question.asks
        )

    def note(self, *texts: str) -> None:
        """Say something that is worth knowing."""
        for text in texts:
            self.settings.notify("note", text)

    def emit_arm_notes(self) -> None:
        """Say what is worth knowing of the arm, as its contract has it."""
        self.note(*notes_of_arm(self.arm))

    def warn(self, *texts: str) -> None:
        """Say something that is likely to be a mistake."""
        for text in texts:
            self.settings.notify("warning", text)

    def doubt(self, *texts: str) -> None:
        """Say what is likely to be a mistake; under --strict it is an error."""
        if (self.arm.loaded_with or {}).get("strict"):
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
        """The answer; the arm's own contract and file are added to what is given."""
        return Result(
            verb=self.question.verb,
            arrays=arrays,
            joints=self.arm.joint_names,
            contract={**self.arm.contract, **contract},
            options=self.options,
            inputs={**arm_inputs(self.arm), **(inputs or {})},
            time=time,
            model=self.arm.figures,
            files=self.files,
        )


@contextmanager
def run_request(
    inquiry: Request, settings: Settings, arm: Arm | None = None
) -> Iterator[Result | ResultStream]:
    """The answer to an inquiry, whose arm may be loaded already."""
    if inquiry.swept is not None:
        from robolin.queries.sweep import run_sweep

        yield run_sweep(inquiry, settings)
        return
    arm = arm or inquiry.source.arm()
    with run_query(arm, inquiry.question, inquiry.states, settings) as answer:
        yield answer


@contextmanager
def run_query(
    arm: Arm, question: Question, states: States, settings: Settings
) -> Iterator[Result | ResultStream]:
    """The answer while the files it is read from are open; what is left to say is said after."""
    require_arm(arm)
    require_sense(question, states, arm.source)
    asking = QueryContext(arm, question, states, settings)
    module, _, function = asking.verb.answers.partition(":")
    with asking.opened:
        yield getattr(import_module(module), function)(asking)
    for say in asking.at_end:
        say()


def arm_inputs(arm: Arm) -> dict[str, str]:
    """The file the arm comes from, by its base name, and its digest."""
    if not arm.source:
        return {}
    source = "stdin" if arm.source == "-" else PurePath(arm.source).name
    return {source: arm.digest}


def display_name(path: str) -> str:
    """What messages and results call a file."""
    return "stdin" if path == "-" else base_name(path)


def notes_of_arm(arm: Arm) -> list[str]:
    """What is worth knowing of an arm, as its contract has it."""
    return [f"{arm.name}: {note}" for note in arm.contract.get("notes", ())]
