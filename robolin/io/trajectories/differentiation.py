"""The option `differentiate` as plain data: central differences or local polynomials."""

from __future__ import annotations

from math import inf
from typing import NamedTuple

from robolin.core.choices import DIFFERENTIATIONS
from robolin.core.text_parsing import FlagText

CENTRAL, SAVGOL = DIFFERENTIATIONS
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
    if not 0.0 < width < inf:
        raise typed.wrong(f"the width must be positive, got {numbers[0]} s")
    if not LOWEST_ORDER <= order <= HIGHEST_ORDER:
        message = f"the order must be from {LOWEST_ORDER} to {HIGHEST_ORDER}, got {order}"
        raise typed.wrong(message)
    return DerivativeMethod(method, width, order)
