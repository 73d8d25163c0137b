"""Merge parts into the result that the request gives without parts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial

from robolin.batch.column_compatibility import THE_TIME
from robolin.batch.joined import AnswerPiece, joined_pieces
from robolin.batch.parts_folder import DAMAGED, FOREIGN, MISSING, PartState, part_states, plan_in
from robolin.core.results.result import ResultStream
from robolin.core.text import pluralize, quote_list
from robolin.errors import RobolinError
from robolin.io.locations import FileLocation, local_copy
from robolin.io.stored import open_stored


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
            hint = "keep the files as they are"
            raise RobolinError("it has no rows to put together", where=str(path), hint=hint)
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
        hint = "run the command that makes the parts again, with --resume"
        raise RobolinError("; ".join(problems), where=str(folder), hint=hint)
