"""The kinds of numbers that results hold: real, complex, whole ones that stay exact, moments.

A moment is a whole number of seconds, milli-, micro- or nanoseconds since 1970, without a zone;
tables and documents write it as text, exact both ways.  That of a text in UTC, which ends in Z, is
left aside.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from robolin.core.arrays import Integers, Numbers

# as in 2026-05-01T12:30:00.125, with a space in place of the T, too, and with or without Z
_DATE, _CLOCK = r"[0-9]{4}-[0-9]{2}-[0-9]{2}", r"[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.([0-9]{1,9}))?"
_MOMENT = re.compile(rf"^\s*{_DATE}[T ]{_CLOCK}(Z|\+00:00)?\s*$")
_LIKE_A_DATE = re.compile(rf"^\s*{_DATE}")

# units of moments by how many decimals of a second they hold
DECIMALS = {"s": 0, "ms": 3, "us": 6, "ns": 9}
# nanoseconds since 1970 have 64 bits from and to these years
_YEARS = {"ns": (1678, 2261)}


@dataclass(frozen=True)
class NumberKind:
    """One kind of numbers and how it is stored.

    dtype: what files hold and digests are taken of, little-endian
    parts: what the names of its columns end in, one column for each
    """

    name: str
    dtype: str
    parts: tuple[str, ...] = ("",)

    @property
    def size(self) -> int:
        """How many bytes a number takes."""
        return np.dtype(self.dtype).itemsize


REAL = NumberKind("real", "<f8")
COMPLEX = NumberKind("complex", "<c16", ("/re", "/im"))
INTEGER = NumberKind("integer", "<i8")

# dates with times of day, counted in these units since 1970
DATETIMES = {unit: NumberKind(f"datetime64[{unit}]", f"<M8[{unit}]") for unit in DECIMALS}

NUMBER_KINDS = {kind.name: kind for kind in (REAL, COMPLEX, INTEGER, *DATETIMES.values())}


def kind_of(values: Numbers) -> NumberKind:
    """The kind of numbers an array holds; whatever is of no other kind is real."""
    if values.dtype.kind == "M":
        return DATETIMES[np.datetime_data(values.dtype)[0]]
    return {"c": COMPLEX, "i": INTEGER}.get(values.dtype.kind, REAL)


def stored_values(values: Numbers) -> Numbers:
    """The numbers in the type and the order in which files hold them; moments as they count."""
    kind = kind_of(values)
    numbers = np.ascontiguousarray(values, dtype=kind.dtype)
    return numbers.view("<i8") if values.dtype.kind == "M" else numbers


def decimals_of(text: str) -> int | None:
    """How many decimals the seconds of a moment have; None if the text is none."""
    found = _MOMENT.match(text)
    return None if found is None else len(found[1] or "")


def is_in_utc(text: str) -> bool:
    """Whether a moment says that it is in UTC."""
    found = _MOMENT.match(text)
    return found is not None and found[2] is not None


def datetime_hint(text: str) -> str:
    """What helps with a text that was taken for no moment; '' if it is nothing like one."""
    if not _LIKE_A_DATE.match(text):
        return ""
    return "dates are read as 2026-05-01T12:30:00.125, all of them with Z at the end or none"


def unit_for(decimals: int) -> str:
    """The coarsest unit that holds so many decimals."""
    return next(unit for unit, most in DECIMALS.items() if decimals <= most)


def parse_datetimes(texts: Sequence[str], unit: str) -> Integers | None:
    """The moments that these texts are, counted in the unit; None if one of them is none."""
    first, last = _YEARS.get(unit, (0, 9999))
    plain = [text.strip() for text in texts]
    for text in plain:
        decimals = decimals_of(text)
        if decimals is None or decimals > DECIMALS[unit] or not first <= int(text[:4]) <= last:
            return None
    plain = [text.removesuffix("Z").removesuffix("+00:00") for text in plain]
    try:
        return np.array(plain, dtype=f"M8[{unit}]").view(np.int64)
    except ValueError:
        # a thirteenth month, for example
        return None


def format_datetimes(values: Numbers) -> list[str]:
    """Moments as texts with all decimals of their unit."""
    return [str(text) for text in np.datetime_as_string(values.reshape(-1)).tolist()]


def unit_of_moments(values: Numbers) -> str | None:
    """The unit that moments are counted in; None if these are no moments that we know."""
    if values.dtype.kind != "M":
        return None
    unit, step = np.datetime_data(values.dtype)
    return unit if unit in DECIMALS and step == 1 else None
