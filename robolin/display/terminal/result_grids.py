"""Arrays of a result as tables of text: joint names on both axes, units in titles."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import groupby, product
from typing import Any

from robolin.core.arrays import format_datetimes, np
from robolin.core.choices import is_swept
from robolin.core.natural_scales import (
    UNDECIDED_RATE,
    contract_gravity,
    natural_scales,
    rounding_share,
)
from robolin.core.quantity_table import QUANTITIES, entry_units, has_units_by_label, slides_in
from robolin.core.records import dataclass
from robolin.core.result import Array, Result
from robolin.display.terminal.grid import Grid
from robolin.display.terminal.numbers import matrix_texts, vector_texts
from robolin.display.terminal.screen import is_plain, state_blocks
from robolin.display.terminal.show import RowSummary

_MATRIX_ROWS = 2
# array with the frequency of each row
_FREQUENCY = "omega"
# more joints are lines of a table over time, and a matrix with more columns, and twice as many
# as rows, is shown transposed
_WIDE = 12
# letters of the axes after those of a matrix
_SLICED = "klmnop"


@dataclass(frozen=True)
class Formatting:
    """How the numbers of a result are written.

    floors: arrays of a result whose entries are all below it are round-off, by name and unit
    """

    result: Result
    precision: int
    rows: RowSummary
    floors: Callable[[str, str], float]

    def has_extremes(self, *arrays: Array) -> bool:
        """True if there are more rows than shown, and all arrays have a minimum and maximum."""
        known = all(self.rows.extremes(array.name) is not None for array in arrays)
        return self.rows.is_longer and known

    def matrix(self, array: Array, values: Any) -> tuple[tuple[str, ...], ...]:
        """Entries of an array, or of a slice of it."""
        return matrix_texts(values, self.precision, self.floors(array.name, array.unit))

    def vector(self, array: Array, values: Any) -> list[str]:
        """Entries of a vector."""
        return vector_texts(values, self.precision, self.floors(array.name, array.unit))


def round_off_floors(result: Result) -> Callable[[str, str], float]:
    """The size of round-off by name and unit of an array, from the scales of the robot."""
    scales = natural_scales(result.model, contract_gravity(result.contract))

    def floor(name: str, unit: str) -> float:
        return rounding_share(name) * scales.of_unit(unit)

    return floor


def grids_of(
    result: Result, precision: int, rows: RowSummary
) -> Iterator[tuple[list[Grid], list[Array]]]:
    """Tables of every array, or of vectors side by side; for many rows, some of them."""
    write = Formatting(result, precision, rows, round_off_floors(result))
    # the values of a sweep become its row names
    shown = result.arrays[1:] if is_swept(result.verb) else result.arrays
    for labels, group in groupby(shown, key=lambda array: array.labels):
        arrays, rank = list(group), len(labels)
        if rank == 1 and result.batch is None and has_units_by_label(arrays[0].name):
            yield from (([_with_units(array, write)], [array]) for array in arrays)
        elif rank == 0 or (rank == 1 and result.batch is None):
            yield [_side_by_side(arrays, labels, write)], arrays
        elif rank == 1:
            yield from (([_vector_rows(array, write)], [array]) for array in arrays)
        else:
            for array in arrays:
                yield list(_matrices(array, write)), [array]


def _side_by_side(
    arrays: Sequence[Array], labels: tuple[tuple[str, ...], ...], write: Formatting
) -> Grid:
    """Vectors over the same joints as columns of one table; scalars of one state as a line."""
    result = write.result
    batch = labels == () and result.batch is not None
    if not labels and not batch:
        return Grid("; ".join(_scalar(array, write) for array in arrays))
    ends = batch and write.has_extremes(*arrays)
    shown = [_some_rows(array, write, ends) if batch else array.values.ravel() for array in arrays]
    columns = [write.vector(*each) for each in zip(arrays, shown, strict=True)]
    names = shown_row_names(write, ends) if batch else labels[0] if labels else ("",)
    return Grid(
        title="",
        corner=row_corner(result) if batch else _corner(arrays[0], result),
        rows=tuple(names),
        columns=tuple(_titled(array) for array in arrays),
        cells=tuple(zip(*columns, strict=True)),
        note=write.rows.note(ends) if batch else "",
    )


def _scalar(array: Array, write: Formatting) -> str:
    unit = "" if array.unit in ("", "1") else f" [{array.unit}]"
    return f"{array.name}{unit}: {write.vector(array, array.values.ravel())[0].strip()}"


def _with_units(array: Array, write: Formatting) -> Grid:
    """A vector whose entries have different units, with a unit column."""
    units = entry_units(array.name, array.unit, array.labels, slides_in(write.result.model))
    return Grid(
        title="",
        corner=_corner(array, write.result),
        rows=array.labels[0],
        columns=(array.name, "unit"),
        cells=tuple(zip(write.vector(array, array.values), units, strict=True)),
    )


def _vector_rows(array: Array, write: Formatting) -> Grid:
    """A vector per row: one line per row, one column per joint; many joints as lines."""
    ends = write.has_extremes(array)
    names, joints = shown_row_names(write, ends), array.labels[0]
    cells = write.matrix(array, _some_rows(array, write, ends))
    if array.name == "damping" and "frequency" in write.result:
        cells = _without_poles_at_zero(cells, write.result["frequency"])
    transposed = len(joints) > _WIDE
    if transposed:
        names, joints, cells = joints, names, tuple(zip(*cells, strict=True))
    return Grid(
        title=_titled(array),
        corner=row_corner(write.result),
        rows=names,
        columns=joints,
        cells=cells,
        note=write.rows.note(ends),
        ends=2 if ends and not transposed else 0,
    )


def _without_poles_at_zero(
    cells: tuple[tuple[str, ...], ...], frequency: Any
) -> tuple[tuple[str, ...], ...]:
    """Damping ratios, blank for a pole at 0, which has none; minimum and maximum are kept."""
    shown = [
        tuple("" if still else text for text, still in zip(row, slow, strict=True))
        for row, slow in zip(cells, frequency < UNDECIDED_RATE, strict=False)
    ]
    return (*shown, *cells[len(shown) :])


def _some_rows(array: Array, write: Formatting, ends: bool) -> Any:
    """The first rows, and with `ends` also minimum and maximum of all."""
    values = array.values[: write.rows.shown]
    known = write.rows.extremes(array.name) if ends else None
    return values if known is None else np.concatenate([values, np.stack(known)])


def _matrices(array: Array, write: Formatting) -> Iterator[Grid]:
    result = write.result
    if array.batch is None:
        yield from _matrix(array, "", write)
        return
    for row in _matrix_rows(array.batch, write):
        heading = f", row {write.rows.index(row) + 1} of {write.rows.total}"
        if is_swept(result.verb) or result.time is not None:
            heading += f": {row_corner(result)} {shown_row_names(write)[row]}"
        elif _FREQUENCY in result:
            heading += f": omega [rad/s] {result[_FREQUENCY][row]:g}"
        yield from _matrix(replace(array, values=array.values[row]), heading, write)


def _matrix(array: Array, heading: str, write: Formatting) -> Iterator[Grid]:
    """A matrix of one state as tables, one per block over positions and velocities.

    heading: the row of a trajectory, after the title
    """
    title = f"{_titled(array)}{_derived(array)}{heading}"
    if _is_wide(array):
        yield _transposed(array, title, array.values, write)
        return
    blocks = state_blocks(array)
    if len(blocks) == 1:
        # the kind of the rows is next to their names
        yield from _slices(title, blocks[0], blocks[0].values, write, array.axis_kind(0))
        return
    grids = [
        grid
        for block in blocks
        if not is_plain(block)
        for grid in _slices(f"{_titled(block)}{heading}", block, block.values, write, "")
    ]
    plain = _plain_blocks([block for block in blocks if is_plain(block)])
    yield from (replace(grid, note=plain * (grid is grids[0])) for grid in grids)


def _is_wide(array: Array) -> bool:
    return array.rank == 2 and len(array.labels[1]) > max(_WIDE, 2 * len(array.labels[0]))


def _plain_blocks(blocks: Sequence[Array]) -> str:
    """Blocks without a table, such as 'A, position rows: position columns zero'."""
    texts = []
    for rows, group in groupby(blocks, key=lambda block: block.name.rpartition(", ")[0]):
        kinds = [
            f"{block.name.rpartition(', ')[2]} {'identity' if block.values.any() else 'zero'}"
            for block in group
        ]
        texts.append(f"{rows}: {', '.join(kinds)}")
    return "; ".join(texts)


def _matrix_rows(count: int, write: Formatting) -> Sequence[int]:
    """The rows of matrices to show: two, or those of a sweep."""
    if is_swept(write.result.verb):
        return range(min(count, write.rows.shown))
    return (0, count - 1) if write.rows.picked else range(min(count, _MATRIX_ROWS))


def _transposed(array: Array, title: str, values: Any, write: Formatting) -> Grid:
    """A wide matrix with its columns as rows, without those that are zero."""
    kept = [j for j in range(values.shape[1]) if values[:, j].any()]
    names = tuple(array.labels[1][j] for j in kept)
    cells = write.matrix(array, values[:, kept].T)
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
    title: str, array: Array, values: Any, write: Formatting, corner: str
) -> Iterator[Grid]:
    """A matrix as one table; slices along further axes as one table each."""
    rows, columns, *along = array.labels
    for index in product(*(range(len(names)) for names in along)):
        by = [f"{_SLICED[i]} = {along[i][at]}" for i, at in enumerate(index)]
        cells = write.matrix(array, values[(..., *index)])
        yield Grid(", ".join([title, *by]), corner, rows, columns, cells)


def _corner(array: Array, result: Result) -> str:
    """Heading of the row names in a table of vectors."""
    if array.rank == 0:
        return ""
    return array.axis_kind(0) or ("joint" if array.labels == (result.joints,) else "")


def _titled(array: Array) -> str:
    return f"{array.name} [{array.unit}]"


def shown_row_names(write: Formatting, ends: bool = False) -> tuple[str, ...]:
    """Times, values of a sweep or numbers of the rows, and with `ends` min and max."""
    names = _times(write.result, write.rows)
    return (*names, "min", "max") if ends else names


def _times(result: Result, rows: RowSummary) -> tuple[str, ...]:
    count = min(result.batch or 0, rows.shown)
    if is_swept(result.verb):
        return tuple(f"{value:.15g}" for value in result.arrays[0].values[:count].tolist())
    if result.time is None:
        return tuple(str(rows.index(row) + 1) for row in range(count))
    if result.time.dtype.kind == "M":
        return tuple(format_datetimes(result.time[:count]))
    times = result.time[:count].tolist()
    short = [str(t) if isinstance(t, int) else f"{t:.6g}" for t in times]
    if len({*short}) == len({*times}):
        return tuple(short)
    return tuple(str(t) if isinstance(t, int) else f"{t:.15g}" for t in times)


def row_corner(result: Result) -> str:
    """Heading of the row names: the time, the swept option or 'row'."""
    if is_swept(result.verb):
        return _titled(result.arrays[0])
    if result.time is None:
        return "row"
    return "time" if result.time.dtype.kind == "M" else "time [s]"
