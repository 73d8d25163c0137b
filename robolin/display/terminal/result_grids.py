"""Arrays of a result as tables of text: joint names on both axes, units in titles."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import groupby, product
from math import copysign, isfinite
from typing import Any

from robolin.core.choices import is_swept
from robolin.core.notebook import ROUNDED_ZERO, is_rounding
from robolin.core.quantity_table import QUANTITIES, entry_units, has_units_by_label, slides_in
from robolin.core.results.result import Array, Result
from robolin.core.results.table_columns import format_datetimes
from robolin.display.terminal.grid import Grid
from robolin.display.terminal.screen import is_plain, state_blocks
from robolin.display.terminal.show import SHOWN

_MATRIX_ROWS = 2
# a matrix with this many times more columns than rows is shown transposed
_WIDE = 4
# letters of the axes after those of a matrix
_SLICED = "klmnop"


def grids_of(
    result: Result, precision: int, total: int
) -> Iterator[tuple[list[Grid], list[Array]]]:
    """Tables of every array, or of vectors side by side; for many rows, the first ones."""
    # the values of a sweep become its row names
    shown = result.arrays[1:] if is_swept(result.verb) else result.arrays
    for labels, group in groupby(shown, key=lambda array: array.labels):
        arrays, rank = list(group), len(labels)
        if rank == 1 and result.batch is None and has_units_by_label(arrays[0].name):
            yield from (([_with_units(array, result, precision)], [array]) for array in arrays)
        elif rank == 0 or (rank == 1 and result.batch is None):
            grid = _side_by_side(arrays, labels, result, precision)
            yield [replace(grid, note=_more_rows(total)) if rank == 0 else grid], arrays
        elif rank == 1:
            note = _more_rows(total)
            yield from (
                ([replace(_vector_rows(array, result, precision), note=note)], [array])
                for array in arrays
            )
        else:
            for array in arrays:
                yield list(_matrices(array, result, precision, total)), [array]


def _side_by_side(
    arrays: Sequence[Array], labels: tuple[tuple[str, ...], ...], result: Result, precision: int
) -> Grid:
    """Vectors over the same joints as columns of one table; scalars as a single row."""
    batch = labels == () and result.batch is not None
    shown = [array.values.ravel()[: SHOWN if batch else None] for array in arrays]
    columns = [_texts(values.tolist(), precision) for values in shown]
    row_names = _row_names(result) if batch else labels[0] if labels else ("",)
    return Grid(
        title="",
        corner=_row_corner(result) if batch else _corner(arrays[0], result),
        rows=tuple(row_names),
        columns=tuple(_titled(array) for array in arrays),
        cells=tuple(zip(*columns, strict=True)),
    )


def _with_units(array: Array, result: Result, precision: int) -> Grid:
    """A vector whose entries have different units, with a unit column."""
    units = entry_units(array.name, array.unit, array.labels, slides_in(result.model))
    return Grid(
        title="",
        corner=_corner(array, result),
        rows=array.labels[0],
        columns=(array.name, "unit"),
        cells=tuple(zip(_texts(array.values.tolist(), precision), units, strict=True)),
    )


def _vector_rows(array: Array, result: Result, precision: int) -> Grid:
    """A vector per row: one line per row, one column per joint."""
    return Grid(
        title=_titled(array),
        corner=_row_corner(result),
        rows=_row_names(result),
        columns=array.labels[0],
        cells=_matrix_cells(array.values[:SHOWN].tolist(), precision),
    )


def _matrices(array: Array, result: Result, precision: int, total: int) -> Iterator[Grid]:
    # next to the row names
    kind = array.axis_kind(0)
    title = f"{_titled(array)}{_derived(array)}"
    if array.batch is None:
        blocks = state_blocks(array, slides_in(result.model))
        if array.rank == 2 and len(array.labels[1]) > _WIDE * len(array.labels[0]):
            yield _transposed(array, title, precision)
            return
        if len(blocks) == 1:
            yield from _slices(title, blocks[0].values, blocks[0].labels, precision, kind)
            return
        grids = [
            grid
            for block in blocks
            if not is_plain(block)
            for grid in _slices(_titled(block), block.values, block.labels, precision, "")
        ]
        plain = [
            f"{block.name}: {'identity' if block.values.any() else 'zero'}"
            for block in blocks
            if is_plain(block)
        ]
        yield from (replace(grid, note="; ".join(plain) * (grid is grids[0])) for grid in grids)
        return
    shown = min(array.batch, SHOWN if is_swept(result.verb) else _MATRIX_ROWS)
    for row in range(shown):
        heading = f"{title}, row {row + 1} of {total}"
        if is_swept(result.verb):
            heading += f": {_row_corner(result)} {_row_names(result)[row]}"
        yield from _slices(heading, array.values[row], array.labels, precision, kind)


def _transposed(array: Array, title: str, precision: int) -> Grid:
    """A wide matrix with its columns as rows, without those that are zero."""
    kept = [j for j in range(array.values.shape[1]) if array.values[:, j].any()]
    names = tuple(array.labels[1][j] for j in kept)
    cells = _matrix_cells(array.values[:, kept].T.tolist(), precision)
    zero = len(array.labels[1]) - len(kept)
    note = f"{zero} of {len(array.labels[1])} rows are zero and omitted" if zero else ""
    return Grid(f"{title}, transposed", "", names, array.labels[0], cells, note)


def _derived(array: Array) -> str:
    """Symbol of each slice of an array with more than two axes, if there is one."""
    known = QUANTITIES.get(array.name)
    if array.rank <= 2 or known is None:
        return ""
    symbol = known.symbol.replace("(i,j)", "")
    for letter in _SLICED:
        symbol = symbol.replace(f"({letter})", f"_{letter}")
    return f", {symbol}"


def _slices(
    title: str, values: Any, labels: tuple[tuple[str, ...], ...], precision: int, corner: str
) -> Iterator[Grid]:
    """A matrix as one table; slices along further axes as one table each."""
    rows, columns, *along = labels
    for index in product(*(range(len(names)) for names in along)):
        by = [f"{_SLICED[i]} = {along[i][at]}" for i, at in enumerate(index)]
        cells = _matrix_cells(values[(..., *index)].tolist(), precision)
        yield Grid(", ".join([title, *by]), corner, rows, columns, cells)


def _matrix_cells(rows: list[list[float]], precision: int) -> tuple[tuple[str, ...], ...]:
    """All entries in the same format, so that they can be compared."""
    texts = iter(_texts([value for row in rows for value in row], precision))
    return tuple(tuple(next(texts).strip() for _ in row) for row in rows)


def _texts(values: Sequence[float | complex], precision: int) -> list[str]:
    """Numbers of one kind in the same format; integers with all digits."""
    if any(isinstance(value, complex) for value in values):
        return aligned_complex([complex(value) for value in values], precision)
    if all(isinstance(value, int) for value in values):
        return [str(value) for value in values]
    return aligned([value for value in values if not isinstance(value, complex)], precision)


def _corner(array: Array, result: Result) -> str:
    """Heading of the row names in a table of vectors."""
    if array.rank == 0:
        return ""
    return array.axis_kind(0) or ("joint" if array.labels == (result.joints,) else "")


def _titled(array: Array) -> str:
    return f"{array.name} [{array.unit}]"


def _row_names(result: Result) -> tuple[str, ...]:
    count = min(result.batch or 0, SHOWN)
    if is_swept(result.verb):
        return tuple(f"{value:.15g}" for value in result.arrays[0].values[:count].tolist())
    if result.time is None:
        return tuple(str(row + 1) for row in range(count))
    if result.time.dtype.kind == "M":
        return tuple(format_datetimes(result.time[:count]))
    times = result.time[:count].tolist()
    return tuple(str(t) if isinstance(t, int) else f"{t:.15g}" for t in times)


def _row_corner(result: Result) -> str:
    if is_swept(result.verb):
        return _titled(result.arrays[0])
    if result.time is None:
        return "row"
    return "time" if result.time.dtype.kind == "M" else "time [s]"


def _more_rows(total: int) -> str:
    more = total - SHOWN
    if more <= 0:
        return ""
    return f"… {more} more {'row' if more == 1 else 'rows'}; -o FILE keeps them all"


# smaller numbers in a table are written with an exponent
_SMALLEST_PLAIN = 1e-4


def aligned(values: Sequence[float], precision: int) -> list[str]:
    """Numbers as text of equal width with `precision` significant digits.

    Exact zeros are `0`; round-off relative to the largest is `~0`.
    """
    largest = max((abs(value) for value in values if isfinite(value)), default=0.0)
    if largest and not 1e-3 <= largest < 10.0 ** max(precision, 6):
        return _equally_wide(_scientific(value, largest, precision) for value in values)
    return _equally_wide(_plain(value, largest, precision) for value in values)


def aligned_complex(values: Sequence[complex], precision: int) -> list[str]:
    """Complex numbers as text of equal width, with aligned real and imaginary parts."""
    real = aligned([value.real for value in values], precision)
    imaginary = aligned([abs(value.imag) for value in values], precision)
    signs = ["-" if copysign(1.0, value.imag) < 0.0 else "+" for value in values]
    parts = zip(real, signs, imaginary, strict=True)
    return _equally_wide(f"{re} {sign} {im.strip()}j" for re, sign, im in parts)


def _plain(value: float, largest: float, precision: int) -> str:
    """A number with `precision` significant digits; an exponent only if it is very small."""
    if value == 0.0:
        return "0"
    if is_rounding(value, largest):
        return ROUNDED_ZERO
    if abs(value) < _SMALLEST_PLAIN or not isfinite(value):
        return f"{value:.{precision - 1}e}"
    # count digits after rounding: 9.9996 is 10.00
    power = int(f"{value:.{precision - 1}e}".partition("e")[2])
    return f"{value:.{max(precision - 1 - power, 0)}f}"


def _scientific(value: float, largest: float, precision: int) -> str:
    if value == 0.0 or is_rounding(value, largest):
        return ROUNDED_ZERO if value else "0"
    return f"{value:.{precision - 1}e}"


def _equally_wide(texts: Iterable[str]) -> list[str]:
    texts = list(texts)
    width = max(map(len, texts), default=0)
    return [text.rjust(width) for text in texts]
