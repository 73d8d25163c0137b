"""Parts put together: the same result as if the question had been asked without them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

from robolin.errors import RobolinError
from robolin.files.places import FilePlace, local_copy
from robolin.files.stored import open_stored
from robolin.files.table_file import raise_first
from robolin.parts.joined import Piece, joined_pieces
from robolin.parts.parts_folder import DONE, PartState, part_states, plan_in
from robolin.results.result import ResultStream


def merged_parts(folder: FilePlace) -> ResultStream:
    """All parts of a folder as one result; one that is not there or not sound is refused."""
    plan = plan_in(folder)
    states = part_states(folder, plan)
    raise_first((_unfit(folder, each) for each in states if each.state != DONE), str(folder))
    pieces = [Piece(part.source, partial(_stored, folder / part.name)) for part in plan.parts]
    return joined_pieces(pieces, [each.name for each in plan.sources], plan.asked["options"])


@contextmanager
def _stored(path: FilePlace) -> Iterator[ResultStream]:
    with local_copy(path) as here, open_stored(here) as stored:
        if stored.meta["rows"] is None:
            hint = "keep the files as they are"
            raise RobolinError("it has no rows to put together", where=str(path), hint=hint)
        yield stored.result_stream()


def _unfit(folder: FilePlace, state: PartState) -> RobolinError:
    why = f": {state.why}" if state.why else ""
    hint = "run the command that makes the parts again, with --resume"
    where = str(folder / state.name)
    return RobolinError(f"the part is {state.state}{why}", where=where, hint=hint)
