"""Numbers as people read them: decimal points under each other, no digits that say nothing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import copysign, isfinite

from robolin.core.notebook import ROUNDED_ZERO, is_rounding

# below this a number in a table of others is written with its power of ten
_SMALLEST_PLAIN = 1e-4


def aligned(values: Sequence[float], precision: int) -> list[str]:
    """The numbers as texts of one width, each with `precision` digits, so that points align.

    Exact zeros are a bare 0, and what is only rounding beside the largest is `~0`.
    """
    largest = max((abs(value) for value in values if isfinite(value)), default=0.0)
    if largest and not 1e-3 <= largest < 10.0 ** max(precision, 6):
        return _equally_wide(_scientific(value, largest, precision) for value in values)
    texts = [_plain(value, largest, precision) for value in values]
    behind = max((len(text) - text.index(".") for text in texts if _has_point(text)), default=0)
    return _equally_wide(_point_aligned(text, behind) for text in texts)


def aligned_complex(values: Sequence[complex], precision: int) -> list[str]:
    """Complex numbers as texts of one width, real parts under each other and imaginary ones too."""
    real = aligned([value.real for value in values], precision)
    imaginary = aligned([abs(value.imag) for value in values], precision)
    signs = ["-" if copysign(1.0, value.imag) < 0.0 else "+" for value in values]
    parts = zip(real, signs, imaginary, strict=True)
    return _equally_wide(f"{re} {sign} {im.strip()}j" for re, sign, im in parts)


def _plain(value: float, largest: float, precision: int) -> str:
    """A number with so many significant digits; a power of ten only where it is very small."""
    if value == 0.0:
        return "0"
    if is_rounding(value, largest):
        return ROUNDED_ZERO
    if abs(value) < _SMALLEST_PLAIN or not isfinite(value):
        return f"{value:.{precision - 1}e}"
    # the digits are counted after rounding: 9.9996 is 10.00
    power = int(f"{value:.{precision - 1}e}".partition("e")[2])
    return f"{value:.{max(precision - 1 - power, 0)}f}"


def _has_point(text: str) -> bool:
    return "." in text and "e" not in text


def _point_aligned(text: str, behind: int) -> str:
    """The text with blanks where others have digits behind the point."""
    if "e" in text:
        return text
    return text + " " * (behind - (len(text) - text.index(".") if "." in text else 0))


def _scientific(value: float, largest: float, precision: int) -> str:
    if value == 0.0 or is_rounding(value, largest):
        text = ROUNDED_ZERO if value else "0"
        # under the digit before the point
        return text + " " * (len(f"{1.0:.{precision - 1}e}") - 1)
    return f"{value:.{precision - 1}e}"


def _equally_wide(texts: Iterable[str]) -> list[str]:
    texts = list(texts)
    width = max(map(len, texts), default=0)
    return [text.rjust(width) for text in texts]
