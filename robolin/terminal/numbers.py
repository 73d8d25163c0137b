"""Numbers as people read them: decimal points under each other, no digits that say nothing."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from math import copysign, isfinite


def aligned(values: Sequence[float], precision: int) -> list[str]:
    """The numbers as texts of one width, so that decimal points align.

    The largest gets `precision` significant digits and all share its last decimal.  Exact zeros
    are a bare 0; what would only look like zero is written with its power of ten.
    """
    largest = max((abs(value) for value in values if isfinite(value)), default=0.0)
    if largest and not 1e-3 <= largest < 10.0 ** max(precision, 6):
        return _equally_wide(_scientific(value, precision) for value in values)
    power = math.floor(math.log10(largest)) if largest else 0
    decimals = max(precision - 1 - power, 0)
    return _equally_wide(_fixed(value, decimals) for value in values)


def aligned_complex(values: Sequence[complex], precision: int) -> list[str]:
    """Complex numbers as texts of one width, real parts under each other and imaginary ones too."""
    real = aligned([value.real for value in values], precision)
    imaginary = aligned([abs(value.imag) for value in values], precision)
    signs = ["-" if copysign(1.0, value.imag) < 0.0 else "+" for value in values]
    parts = zip(real, signs, imaginary, strict=True)
    return _equally_wide(f"{re} {sign} {im.strip()}j" for re, sign, im in parts)


def _fixed(value: float, decimals: int) -> str:
    if value == 0.0:
        return "0" + " " * (decimals + 1 if decimals else 0)
    if abs(value) < 0.5 * 10.0**-decimals:
        return f"{value:.0e}"
    return f"{value:.{decimals}f}"


def _scientific(value: float, precision: int) -> str:
    if value == 0.0:
        # under the digit before the point
        return "0" + " " * (len(f"{1.0:.{precision - 1}e}") - 1)
    return f"{value:.{precision - 1}e}"


def _equally_wide(texts: Iterable[str]) -> list[str]:
    texts = list(texts)
    width = max(map(len, texts), default=0)
    return [text.rjust(width) for text in texts]
