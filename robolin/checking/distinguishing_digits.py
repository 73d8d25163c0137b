"""Two numbers side by side, with as many digits as it takes to see that they differ."""

from __future__ import annotations

from math import isfinite

_FEWEST, _MOST = 5, 17


def distinguishing_digits(old: float | complex, new: float | complex) -> tuple[str, str]:
    """Both numbers in the fewest digits, five at least, that tell one from the other."""
    if isinstance(old, int) and isinstance(new, int):
        return str(old), str(new)
    for digits in range(_FEWEST, _MOST + 1):
        texts = f"{old:.{digits}g}", f"{new:.{digits}g}"
        if texts[0] != texts[1]:
            # one digit more shows how far they are apart
            digits = min(digits + 1, _MOST) if digits > _FEWEST else digits
            return f"{old:.{digits}g}", f"{new:.{digits}g}"
    return f"{old:.{_FEWEST}g}", f"{new:.{_FEWEST}g}"


def percent(share: float) -> str:
    """A share of one as per cent, in two digits or to the unit."""
    if not isfinite(share):
        return "beyond measure"
    hundredths = 100.0 * share
    return f"{hundredths:{'.2g' if abs(hundredths) < 99.5 else '.0f'}} %"
