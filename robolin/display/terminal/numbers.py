"""Numbers as text of equal width; entries that are negligible in their table are `~0`.

An entry is negligible below 1e-11 of the largest one of its matrix or vector, and in a matrix also
below 1e-10 of the largest ones of both its row and its column.  Small joints keep their entries,
since their own row and column are small too.
Entries below 1e-10 of the largest one are also negligible as round-off if they are below the
round-off of the robot, the floor.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import repeat
from math import copysign, hypot, isfinite
from typing import Any

from robolin.core.notebook import ROUNDED_ZERO

OF_THE_TABLE = 1e-14
# angles in robot files are rounded, too: π/2 with eleven digits has a cosine of 1e-11
OF_THE_MATRIX = 1e-11
OF_ROW_AND_COLUMN = 1e-10
NEGLIGIBLE_NOTE = (
    f"{ROUNDED_ZERO}: round-off, or below {OF_THE_MATRIX:g} times the largest entry "
    f"(row, column: {OF_ROW_AND_COLUMN:g})"
)
# relative to the largest of some numbers
_ROUND_OFF = 1e-15
# smaller numbers in a table are written with an exponent
_SMALLEST_PLAIN = 1e-4


def matrix_texts(values: Any, precision: int, floor: float = 0.0) -> tuple[tuple[str, ...], ...]:
    """The entries of a matrix in one format, so that they can be compared.

    floor: round-off of the robot; tables whose entries are all smaller are round-off
    """
    texts = iter(texts_of(values.ravel().tolist(), precision, _noise(values, floor)))
    return tuple(tuple(next(texts).strip() for _ in row) for row in values.tolist())


def vector_texts(values: Any, precision: int, floor: float = 0.0) -> list[str]:
    """The entries of a vector in one format; `floor` as in `matrix_texts`."""
    return texts_of(values.tolist(), precision, _noise(values, floor))


def _noise(values: Any, floor: float) -> list[float]:
    """The size below which each entry is negligible, last axis fastest."""
    magnitudes = [hypot(value.real, value.imag) for value in values.ravel().tolist()]
    sizes = [size if isfinite(size) else 0.0 for size in magnitudes]
    largest = max(sizes, default=0.0)
    round_off = max(OF_THE_TABLE * largest, min(floor, OF_ROW_AND_COLUMN * largest))
    noise = floor if largest < floor else round_off
    noise = max(noise, OF_THE_MATRIX * largest)
    if values.ndim != 2 or min(values.shape) < 2:
        return [noise] * len(sizes)
    width = values.shape[1]
    rows = [max(sizes[i : i + width]) for i in range(0, len(sizes), width)]
    columns = [max(sizes[j::width]) for j in range(width)]
    return [max(noise, OF_ROW_AND_COLUMN * min(row, column)) for row in rows for column in columns]


def texts_of(
    values: Sequence[float | complex], precision: int, noise: Iterable[float] = ()
) -> list[str]:
    """Numbers of one kind in the same format; integers with all digits."""
    if any(isinstance(value, complex) for value in values):
        if not any(complex(value).imag for value in values):
            return aligned([complex(value).real for value in values], precision, noise)
        return _aligned_complex([complex(value) for value in values], precision, list(noise))
    if all(isinstance(value, int) for value in values):
        return [str(value) for value in values]
    real = [value for value in values if not isinstance(value, complex)]
    return aligned(real, precision, noise)


def aligned(values: Sequence[float], precision: int, noise: Iterable[float] = ()) -> list[str]:
    """Numbers as text of equal width with `precision` significant digits.

    Exact zeros are `0`; numbers below their entry of `noise`, by default round-off, are `~0`.
    """
    largest = max((abs(value) for value in values if isfinite(value)), default=0.0)
    bounds = list(noise) or repeat(_ROUND_OFF * largest)
    tiny_or_huge = largest and not 1e-3 <= largest < 10.0 ** max(precision, 6)
    write = _scientific if tiny_or_huge else _plain
    return _equally_wide(
        ("0" if value == 0.0 else ROUNDED_ZERO)
        if abs(value) < bound or value == 0.0
        else write(value, precision)
        for value, bound in zip(values, bounds, strict=False)
    )


def _aligned_complex(values: list[complex], precision: int, noise: list[float]) -> list[str]:
    """Complex numbers as text of equal width, with aligned real and imaginary parts."""
    real = aligned([value.real for value in values], precision, noise)
    imaginary = aligned([abs(value.imag) for value in values], precision, noise)
    signs = ["-" if copysign(1.0, value.imag) < 0.0 else "+" for value in values]
    parts = zip(real, signs, imaginary, strict=True)
    return _equally_wide(
        ROUNDED_ZERO if re.strip() == im.strip() == ROUNDED_ZERO else f"{re} {sign} {im.strip()}j"
        for re, sign, im in parts
    )


def _plain(value: float, precision: int) -> str:
    """A number with `precision` significant digits; an exponent only if it is very small."""
    if abs(value) < _SMALLEST_PLAIN or not isfinite(value):
        return _scientific(value, precision)
    # count digits after rounding: 9.9996 is 10.00
    power = int(f"{value:.{precision - 1}e}".partition("e")[2])
    return f"{value:.{max(precision - 1 - power, 0)}f}"


def _scientific(value: float, precision: int) -> str:
    return f"{value:.{precision - 1}e}"


def _equally_wide(texts: Iterable[str]) -> list[str]:
    texts = list(texts)
    width = max(map(len, texts), default=0)
    return [text.rjust(width) for text in texts]
