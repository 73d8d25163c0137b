"""Options about the rows of a recording as plain data: `--rows`, `--stride`, `--differentiate`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

from robolin.core.choices import DIFFERENTIATIONS
from robolin.core.text_parsing import FlagText
from robolin.errors import RobolinError

if TYPE_CHECKING:
    from robolin.io.table_file import TableBlock


@dataclass(frozen=True)
class RowSlice:
    """The rows first, first + stride, … below stop, counted from 0; stop None is the end."""

    first: int = 0
    stop: int | None = None
    stride: int = 1

    def of(self, before: int, rows: int) -> slice:
        """The selected rows among `rows` rows that follow `before` others."""
        stop = rows if self.stop is None else min(rows, self.stop - before)
        start = max(self.first - before, (self.first - before) % self.stride)
        return slice(start, max(start, stop), self.stride)

    def count(self, rows: int) -> int:
        """The number of selected rows in a file with this many rows."""
        return len(range(*self.of(0, rows).indices(rows)))

    def part(self, first: int, rows: int) -> RowSlice:
        """The slice of `rows` selected rows after the first `first` of them."""
        begin = self.first + first * self.stride
        end = begin + rows * self.stride
        stop = end if self.stop is None else min(end, self.stop)
        return RowSlice(begin, stop, self.stride)


ALL_ROWS = RowSlice()


def chosen_rows(choice: RowSlice, block: TableBlock, row: int) -> TableBlock:
    """The selected rows of a block that begins at this row."""
    chosen, location = choice.of(row, len(block.values)), block.location
    return replace(
        block,
        values=block.values[chosen],
        integers={i: values[chosen] for i, values in block.integers.items()},
        location=lambda some: location(chosen.start + chosen.step * some),
    )


def no_row(choice: RowSlice, file: str) -> RobolinError:
    """The error for a recording without any of the selected rows."""
    if choice == ALL_ROWS:
        return RobolinError("no row after the header", where=file)
    hint = "choose other rows with --rows and --stride; the first row is 0"
    return RobolinError("none of the selected rows exists", where=file, hint=hint)


CENTRAL, SAVGOL = DIFFERENTIATIONS
# in s; beyond these, widths in ticks would not be exact
NARROWEST, WIDEST = 1e-9, 1e6
LOWEST_ORDER, DEFAULT_ORDER, HIGHEST_ORDER = 2, 3, 5
_FORM = f"{CENTRAL}, {SAVGOL} or {SAVGOL}:SECONDS[:ORDER], for example {SAVGOL}:0.1"


class DerivativeMethod(NamedTuple):
    """How velocities and accelerations are computed.

    width: of the windows in s, None for the default; of local polynomials only
    order: of the polynomials
    """

    method: str
    width: float | None = None
    order: int = DEFAULT_ORDER


def parse_differentiation(text: str) -> DerivativeMethod:
    """Parse central, savgol, savgol:SECONDS or savgol:SECONDS:ORDER."""
    typed = FlagText("--differentiate", text)
    method, *numbers = text.split(":")
    if method not in DIFFERENTIATIONS or len(numbers) > (2 if method == SAVGOL else 0):
        raise typed.wrong(f"must be {_FORM}")
    if not numbers:
        return DerivativeMethod(method)
    try:
        width = float(numbers[0])
        order = int(numbers[1]) if len(numbers) == 2 else DEFAULT_ORDER
    except ValueError:
        raise typed.wrong(f"must be {_FORM}") from None
    if not NARROWEST <= width <= WIDEST:
        message = f"the width must be from {NARROWEST:g} to {WIDEST:g} s, got {width:g} s"
        raise typed.wrong(message, f"for example {SAVGOL}:0.1")
    if not LOWEST_ORDER <= order <= HIGHEST_ORDER:
        message = f"the order must be from {LOWEST_ORDER} to {HIGHEST_ORDER}, got {order}"
        raise typed.wrong(message)
    return DerivativeMethod(method, width, order)
