"""The numbers of a CSV text by polars, where nothing about it is unusual."""

from __future__ import annotations

from typing import Any

import numpy as np

from robolin.core.arrays import Floats, Integers
from robolin.core.results.number_kind import moments_of
from robolin.engine.csv_scanner import NOTHING_YET, scanned
from robolin.io.formats.csv_records import EXACT_INTEGERS
from robolin.io.polars_memory import memory_suffices_for_polars
from robolin.io.table_file import ReadRequest


def polars_numbers(
    data: bytes, width: int, request: ReadRequest, *, even: bool = False
) -> tuple[Floats, dict[int, Integers]] | None:
    """The numbers asked for, or None if anything is unusual enough to be looked at closely.

    even: whether it is known that all lines are rows of so many cells, in ASCII
    """
    # polars sees a row in a blank line at the end, but one of spaces is a row indeed
    body = data.rstrip(b"\r\n")
    if not body or not memory_suffices_for_polars():
        return None
    look = NOTHING_YET if even else scanned(body, width - 1)
    if not look.ascii or (look.returns and body.count(b"\r") != body.count(b"\r\n")):
        return None
    found = _parsed(body, width, request)
    if found is None:
        return None
    values, whole = found
    exact = [request.indices.index(i) for i in request.unrounded if i not in request.whole]
    if _rounds(values[:, exact]):
        return None
    finite = np.isfinite(values)
    complete = bool(finite.all())
    # polars looks only at columns that somebody reads: one cell too many shifts the others; where
    # all are read, it refuses such a row, and has no number for a cell too few
    seen = complete and len(set(request.indices)) == width > 1
    rectangular = look.even and look.commas == width - 1 and look.ends == len(values) - 1
    if not (even or seen or rectangular):
        return None
    if complete:
        return values, whole
    # a blank line in a single column looks like a gap
    return (np.where(finite, values, np.nan), whole) if request.gaps and width > 1 else None


def _parsed(
    body: bytes, width: int, request: ReadRequest
) -> tuple[Floats, dict[int, Integers]] | None:
    """What polars takes the cells for; None if it cannot read one, or one is not whole."""
    import polars

    read = [str(i) for i in request.indices]
    kinds: dict[str, Any] = dict.fromkeys(read, polars.Float64)
    kinds |= {str(i): polars.Int64 for i in request.whole}
    kinds |= {str(i): polars.String for i in request.moments}
    schema = {str(i): kinds.get(str(i), polars.String) for i in range(width)}
    try:
        lazy = polars.scan_csv(body, has_header=False, schema=schema, quote_char=None)
        frame = lazy.select(read).collect()
        if any(frame[str(i)].null_count() for i in request.whole):
            return None
        for i, unit in request.moments.items():
            found = moments_of(frame[str(i)].to_list(), unit)
            if found is None:
                return None
            frame = frame.with_columns(polars.Series(str(i), found))
        whole = {i: frame[str(i)].to_numpy() for i in request.whole}
        return frame.cast(polars.Float64).to_numpy(), whole
    except (polars.exceptions.PolarsError, polars.exceptions.PanicException):
        return None


def _rounds(values: Floats) -> bool:
    """Whether whole numbers among these may have been rounded."""
    with np.errstate(invalid="ignore"):
        return bool((np.abs(values) > EXACT_INTEGERS).any())
