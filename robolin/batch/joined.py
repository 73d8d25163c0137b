"""Results for many recordings, or merged parts, as one table; column `source` counts from 0."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from robolin.batch.compute import MessageDeduplicator
from robolin.batch.parts_folder import DAMAGED, FOREIGN, MISSING, PartState, part_states, plan_in
from robolin.batch.survey import (
    THE_TIME,
    NamedRecording,
    columns_of_all,
    mixed_columns,
    with_fractions,
)
from robolin.core.arm import Arm
from robolin.core.arrays import Numbers
from robolin.core.records import dataclass
from robolin.core.result import Array, Footer, Result, ResultStream
from robolin.core.text import pluralize, quote_list
from robolin.errors import RobolinError, UsageError
from robolin.io.format_table import base_name
from robolin.io.locations import FileLocation, local_copy
from robolin.io.stored import open_stored
from robolin.queries.request import Request, Settings, run_request
from robolin.queries.states import rules_of_file, with_trajectory

SOURCE, SOURCES, UNANSWERED = "source", "sources", "unanswered rows"


@dataclass(frozen=True)
class AnswerPiece:
    """Some rows of the result: index of their recording, and a function that opens them."""

    source: int
    opened: Callable[[], AbstractContextManager[ResultStream]]


def joined_pieces(
    pieces: Sequence[AnswerPiece],
    names: Sequence[str],
    options: Mapping[str, Any],
    mixed: Collection[str] = (),
) -> ResultStream:
    """Concatenate all pieces in order.

    names:   names of the recordings
    options: options of the request
    mixed:   columns that hold integers in some recordings, and floats in the result
    """
    joining = _Joining(pieces, names, {**options, "trajectory": list(names)}, mixed)
    return ResultStream(joining.parts(), joining.ending)


def answered_recordings(
    inquiry: Request, arm: Arm, named: Sequence[NamedRecording], settings: Settings
) -> ResultStream:
    """Compute each recording in order and concatenate the results."""
    if inquiry.question.needs_all_rows:
        label = f"--{inquiry.question.needs_all_rows}"
        hint = "write one result per recording with -o FOLDER/"
        raise UsageError("requires one recording", where=label, hint=hint)
    notes = MessageDeduplicator(settings.notify, arm)
    heard = replace(settings, notify=lambda kind, text: notes.all([(kind, text)]))
    pieces = [
        AnswerPiece(i, partial(_answered, inquiry, arm, each.path, heard))
        for i, each in enumerate(named)
    ]
    mixed = mixed_columns(columns_of_all(named, arm, rules_of_file(inquiry.states, arm)))
    stream = joined_pieces(pieces, [each.name for each in named], inquiry.options, mixed)

    def parts() -> Iterator[Result]:
        yield from stream.parts
        notes.rest()

    return replace(stream, parts=parts())


@contextmanager
def _answered(inquiry: Request, arm: Arm, path: str, settings: Settings) -> Iterator[ResultStream]:
    states = with_trajectory(inquiry.states, path, inquiry.states.rows)
    with run_request(replace(inquiry, states=states), settings, arm) as answer:
        if isinstance(answer, Result):
            hint = "write one result per recording with -o FOLDER/"
            message = f"{inquiry.question.verb} returns one result per recording, not one per row"
            raise UsageError(message, where="--trajectory", hint=hint)
        yield answer


def _kind(time: Numbers | None) -> str:
    return "" if time is None else str(time.dtype)


def _columns(part: Result) -> list[tuple[Any, ...]]:
    return [(array.name, array.labels, array.values.dtype) for array in part.arrays]


class _Joining:
    """Concatenates pieces into one result."""

    def __init__(
        self,
        pieces: Sequence[AnswerPiece],
        names: Sequence[str],
        options: Mapping[str, Any],
        mixed: Collection[str],
    ) -> None:
        self._pieces, self._names, self._options = pieces, names, options
        self._mixed = mixed
        self._rows = dict.fromkeys(names, 0)
        self._lines: dict[str, dict[str, Any]] = {name: {} for name in names}
        self._inputs: dict[str, str] = {}
        self._model: Mapping[str, Any] | None = None
        self._unanswered = 0
        self._like: Result | None = None

    def parts(self) -> Iterator[Result]:
        for piece in self._pieces:
            name, rows = self._names[piece.source], 0
            with piece.opened() as stream:
                for part in with_fractions(stream.parts, self._mixed, name):
                    self._require_same_columns(part, name)
                    rows += part.batch or 0
                    yield self._with_source(part, piece.source)
                self._note(name, rows, stream.ending(rows))

    def _with_source(self, part: Result, source: int) -> Result:
        values = np.full(part.batch or 0, source, np.int64)
        counts = Array(SOURCE, values, (), "1")
        return replace(part, arrays=(counts, *part.arrays), options=self._options, files={})

    def _require_same_columns(self, part: Result, name: str) -> None:
        """Reject a recording whose result has other columns than the first one."""
        first = self._like = self._like or part
        hint = "write one result per recording with -o FOLDER/"
        if (first.time is None) != (part.time is None):
            lacks = name if part.time is None else self._names[0]
            message = f"'{lacks}' has no time column, but other recordings have a time column"
        elif (kind := _kind(part.time)) != (other := _kind(first.time)):
            message = f"the time has type {kind}, but type {other} in '{self._names[0]}'"
            hint = f"use the same type of time in all recordings, for example 0.0 and 0.5; {hint}"
        elif _columns(first) != _columns(part):
            message = f"the result must have the same columns as the result of '{self._names[0]}'"
        else:
            return
        raise RobolinError(message, where=name, hint=hint)

    def _note(self, name: str, rows: int, ending: Footer) -> None:
        """Store the contract of a piece; numbers of rows are summed."""
        self._rows[name] += rows
        before = f"{pluralize(rows, 'row')} of {base_name(name)}: "
        for key, value in ending.contract.items():
            if key == UNANSWERED:
                self._unanswered += int(str(value).partition(",")[0])
            elif isinstance(value, str):
                self._lines[name][key] = value.removeprefix(before)
            else:
                self._lines[name][key] = value
        for file, digest in ending.inputs.items():
            self._inputs[name if file == base_name(name) else file] = digest
        self._model = ending.model

    def ending(self, _: int) -> Footer:
        """Contract entries of all pieces; entries that differ are listed by recording."""
        keys = dict.fromkeys(key for lines in self._lines.values() for key in lines)
        contract: dict[str, Any] = {}
        for key in keys:
            values = {name: lines[key] for name, lines in self._lines.items() if key in lines}
            first = next(iter(values.values()))
            same = len(values) == len(self._names) and all(
                each == first for each in values.values()
            )
            contract[key] = first if same else values
        contract[SOURCES] = dict(self._rows)
        if self._unanswered:
            contract[UNANSWERED] = f"{self._unanswered}, all NaN"
        return Footer(contract, self._inputs, self._model)


def merged_parts(folder: FileLocation) -> ResultStream:
    """All parts of a folder as one result; missing or corrupt parts are rejected."""
    plan = plan_in(folder)
    states = part_states(folder, plan)
    _require_done(folder, states)
    pieces = [AnswerPiece(part.source, partial(_stored, folder / part.name)) for part in plan.parts]
    names, options = [each.name for each in plan.sources], plan.request["options"]
    return joined_pieces(pieces, names, options, _mixed(states))


@contextmanager
def _stored(path: FileLocation) -> Iterator[ResultStream]:
    with local_copy(path) as here, open_stored(here) as stored:
        if stored.meta["rows"] is None:
            hint = "keep the separate files"
            raise RobolinError(
                "results of single states cannot be merged", where=str(path), hint=hint
            )
        yield stored.result_stream()


def _mixed(states: Sequence[PartState]) -> set[str]:
    """Columns that hold integers in some parts and floats in others."""
    integers = [each.integers for each in states]
    some = frozenset.union(*integers) - frozenset.intersection(*integers)
    return {THE_TIME if name == "time" else name for name in some}


def _require_done(folder: FileLocation, states: Sequence[PartState]) -> None:
    """Reject missing parts and name the first few."""
    problems = []
    for state in (MISSING, DAMAGED, FOREIGN):
        unfit = [each for each in states if each.state == state]
        if unfit:
            names = quote_list([each.name for each in unfit])
            why = f" ({unfit[0].why})" if unfit[0].why else ""
            are = "is" if len(unfit) == 1 else "are"
            problems.append(f"{pluralize(len(unfit), 'part')} {are} {state}: {names}{why}")
    if problems:
        hint = "run the command that computes the parts again with --resume"
        raise RobolinError("; ".join(problems), where=str(folder), hint=hint)
