"""Queries on tables in memory: polars, pandas and Arrow."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from robolin.core.arm import Arm
from robolin.core.arrays import Numbers, datetime_unit
from robolin.core.choices import OnBadRow
from robolin.core.result import Result
from robolin.core.summary import table_columns
from robolin.errors import RobolinError, UsageError
from robolin.io.table_file import (
    ReadRequest,
    TableBlock,
    TableFile,
    require_finite_cells,
    row_location,
)
from robolin.queries.answer import emit_warning
from robolin.queries.question import Question
from robolin.queries.request import MessageCallback, Settings, request_about, run_request, silent
from robolin.queries.states import States

# name of the table in messages
_NAME = "the table"

NamedColumns = dict[str, Numbers]


def compute(
    arm: Arm,
    question: Question | str,
    frame: Any,
    *,
    on_bad_row: OnBadRow | None = None,
    columns: Sequence[str] | Mapping[str, str] | str | None = None,
    time: str | None = None,
    degrees: bool = False,
    jobs: int | None = None,
    notify: MessageCallback = emit_warning,
) -> Any:
    """Run a command for every row of a table; return a table of the same type.

    Columns are named as in trajectory files.  Rows of the result have the order of the table, and a
    pandas result has the same index; the result for an empty table is empty.  If another library
    splits the table and calls this function for each piece, the results are bit-identical.

    Args:
        arm: the robot, from `robolin.load`
        question: a `Question`, or a command name for a question without options
        frame: a Polars or pandas DataFrame, or an Arrow Table or RecordBatch
        on_bad_row: for rows without a result: 'error' raises an error, 'nan' writes NaN
        columns: column names, such as 'position=/states/{joint}/position'
        time: name of the time column, if it is not 'time'
        degrees: True if angles are in degrees
        jobs: number of threads (default: one per processor); results are bit-identical
        notify: called with 'note', 'warning' or 'summary' and a text

    Returns:
        a table of the same type: time, if present, and one column per number of the result

    Raises:
        UsageError: a command, table and arm that cannot be combined
        RobolinError: a state without a result

    Example:
        >>> import polars, robolin
        >>> frame = polars.DataFrame(
        ...     {"shoulder/position": [0.0, 0.3], "elbow/position": [0.0, -0.7]}
        ... )
        >>> found = robolin.tables.compute(
        ...     robolin.load("two-link"), "inverse", frame, notify=lambda *_: None
        ... )
        >>> found.columns, found["elbow/effort"].round(4).to_list()
        (['shoulder/effort', 'elbow/effort'], [4.905, 4.5178])
    """
    query = Question(question) if isinstance(question, str) else question
    if query.needs_all_rows:
        hint = f"--{query.needs_all_rows} computes one result from all rows"
        raise UsageError("does not return one result per row", where=query.verb, hint=hint)
    names, read, make = _kind(frame)
    states = States(
        trajectory=_NAME, on_bad_row=on_bad_row, columns=columns, time=time, degrees=degrees
    )
    rows = len(read(names[0])) if names else 0
    table = _table(names, read, rows) if rows else _table(names, _one_row(read), 1)
    settings = Settings(jobs, notify=notify if rows else silent, table=table)
    parts: list[list[NamedColumns]] = []
    with run_request(request_about(arm, query, states), settings, arm) as answer:
        if isinstance(answer, Result):
            raise UsageError("returns no rows", where=query.verb, hint="use robolin.answer")
        parts = [_by_name(part) for part in answer.parts]
    return make(_concatenate(parts, rows))


def _by_name(part: Result) -> list[NamedColumns]:
    return [
        {name: group.values[:, i] for i, name in enumerate(group.names)}
        for group in table_columns(part)
    ]


def _concatenate(parts: list[list[NamedColumns]], rows: int) -> NamedColumns:
    """Concatenate the parts of every column; cut to `rows`, which may be 0."""
    flat = [{name: x for group in part for name, x in group.items()} for part in parts]
    return {name: np.concatenate([part[name] for part in flat])[:rows] for name in flat[0]}


def _one_row(read: Callable[[str], Numbers]) -> Callable[[str], Numbers]:
    """Read zeros instead of an empty table, to determine the columns of its result."""

    def zeros(name: str) -> Numbers:
        kind = read(name).dtype
        return np.zeros(1, kind if kind.kind in "iufM" else np.float64)

    return zeros


def _table(names: Sequence[str], read: Callable[[str], Numbers], rows: int) -> TableFile:
    """Wrap a table in memory as a `TableFile`."""

    def blocks(request: ReadRequest) -> Iterator[TableBlock]:
        chosen = [names[i] for i in request.indices]
        values = np.column_stack([_numbers(name, read(name)) for name in chosen])
        integers = {i: _integers(read(names[i])) for i in request.integers}
        if request.allow_nan:
            values = np.where(np.isfinite(values), values, np.nan)
        for first in range(0, rows, request.rows):
            some = slice(first, first + request.rows)
            held = {i: each[some] for i, each in integers.items()}
            block = TableBlock(values[some], row_location(_NAME, first), min(some.stop, rows), held)
            if not request.allow_nan:
                require_finite_cells(block, names, request, _NAME, rows)
            yield block

    return TableFile(
        names,
        blocks,
        size=rows,
        most_rows=lambda: rows,
        digest=lambda: "",
        is_integer=lambda i: read(names[i]).dtype.kind in "iu",
        datetime_unit=lambda i: datetime_unit(read(names[i])),
    )


def _numbers(name: str, values: Numbers) -> Numbers:
    if values.dtype.kind == "M":
        return values.view(np.int64).astype(np.float64)
    try:
        return values.astype(np.float64)
    except (TypeError, ValueError):
        message = f"column '{name}' must contain numbers, got {values.dtype}"
        raise RobolinError(message, where=_NAME) from None


def _integers(values: Numbers) -> Any:
    return values.view(np.int64) if values.dtype.kind == "M" else values.astype(np.int64)


TableKind = tuple[list[str], Callable[[str], Numbers], Callable[[NamedColumns], Any]]


def _kind(frame: Any) -> TableKind:
    """Return the column names of a table, a function to read one, and one to create a table."""
    library = type(frame).__module__.partition(".")[0]
    known = {"polars": _of_polars, "pandas": _of_pandas, "pyarrow": _of_arrow}
    # a lazy frame has no columns before it is collected
    if library not in known or hasattr(frame, "collect") or not hasattr(frame, "columns"):
        hint = "pass a polars or pandas DataFrame, or an Arrow Table or RecordBatch"
        raise UsageError(f"must be a table, got {type(frame).__name__}", hint=hint)
    names, read, make = known[library](frame)
    if len(set(names)) < len(names):
        raise UsageError("two columns have the same name", where=_NAME)
    return names, read, make


def _of_polars(frame: Any) -> TableKind:
    import polars

    return list(frame.columns), lambda name: frame[name].to_numpy(), polars.DataFrame


def _of_pandas(frame: Any) -> TableKind:
    import pandas

    names = [str(name) for name in frame.columns]
    positions = {name: i for i, name in enumerate(names)}

    def make(columns: NamedColumns) -> Any:
        return pandas.DataFrame(columns, index=frame.index)

    return names, lambda name: np.asarray(frame.iloc[:, positions[name]].to_numpy()), make


def _of_arrow(frame: Any) -> TableKind:
    import pyarrow

    def read(name: str) -> Numbers:
        column = frame.column(name)
        chunked = isinstance(column, pyarrow.ChunkedArray)
        values: Numbers = column.to_numpy() if chunked else column.to_numpy(zero_copy_only=False)
        return values

    batch = isinstance(frame, pyarrow.RecordBatch)
    make = pyarrow.RecordBatch.from_pydict if batch else pyarrow.table
    return list(frame.schema.names), read, make
