"""Number types of results: real, complex, integer, and time stamps (datetime64).

A time stamp is an integer number of seconds, milli-, micro- or nanoseconds since 1970, without a
time zone.  Tables and documents store it as text, without loss.  A final Z (UTC) is ignored.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from robolin.core.arrays import Integers, Numbers

# 2026-05-01T12:30:00.125, also with a space instead of the T, and with or without Z
_DATE, _CLOCK = r"[0-9]{4}-[0-9]{2}-[0-9]{2}", r"[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.([0-9]{1,9}))?"
_DATETIME = re.compile(rf"^\s*{_DATE}[T ]{_CLOCK}(Z|\+00:00)?\s*$")
_LIKE_A_DATE = re.compile(rf"^\s*{_DATE}")

# units of time stamps -> decimals of a second
DECIMALS = {"s": 0, "ms": 3, "us": 6, "ns": 9}
# first and last full year that 64-bit nanoseconds since 1970 represent
_YEARS = {"ns": (1678, 2261)}


@dataclass(frozen=True)
class NumberKind:
    """A number type and its storage.

    dtype: little-endian type in files and digests
    parts: suffixes of its column names, one column for each
    """

    name: str
    dtype: str
    parts: tuple[str, ...] = ("",)

    @property
    def size(self) -> int:
        """Bytes per number."""
        return np.dtype(self.dtype).itemsize


REAL = NumberKind("real", "<f8")
COMPLEX = NumberKind("complex", "<c16", ("/re", "/im"))
INTEGER = NumberKind("integer", "<i8")

# time stamps in these units since 1970
DATETIMES = {unit: NumberKind(f"datetime64[{unit}]", f"<M8[{unit}]") for unit in DECIMALS}

NUMBER_KINDS = {kind.name: kind for kind in (REAL, COMPLEX, INTEGER, *DATETIMES.values())}


def kind_of(values: Numbers) -> NumberKind:
    """Number type of an array; real by default."""
    if values.dtype.kind == "M":
        return DATETIMES[np.datetime_data(values.dtype)[0]]
    return {"c": COMPLEX, "i": INTEGER}.get(values.dtype.kind, REAL)


def stored_values(values: Numbers) -> Numbers:
    """Values in the type and the order of files; time stamps as integers."""
    kind = kind_of(values)
    numbers = np.ascontiguousarray(values, dtype=kind.dtype)
    return numbers.view("<i8") if values.dtype.kind == "M" else numbers


def decimals_of(text: str) -> int | None:
    """Number of decimals in the seconds of a time stamp; None for other text."""
    match = _DATETIME.match(text)
    return None if match is None else len(match[1] or "")


def is_in_utc(text: str) -> bool:
    """True for a time stamp marked as UTC."""
    match = _DATETIME.match(text)
    return match is not None and match[2] is not None


def datetime_hint(text: str) -> str:
    """Hint for a text that is not a valid time stamp; '' if it does not start with a date."""
    if not _LIKE_A_DATE.match(text):
        return ""
    return "dates are read as 2026-05-01T12:30:00.125, all of them with Z at the end or none"


def unit_for(decimals: int) -> str:
    """The coarsest unit that represents this number of decimals."""
    return next(unit for unit, most in DECIMALS.items() if decimals <= most)


def parse_datetimes(texts: Sequence[str], unit: str) -> Integers | None:
    """Parse time stamps to integers in the unit; None if a text is not one."""
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
        # for example month 13
        return None


def format_datetimes(values: Numbers) -> list[str]:
    """Format time stamps with all decimals of their unit."""
    return [str(text) for text in np.datetime_as_string(values.reshape(-1)).tolist()]


def datetime_unit(values: Numbers) -> str | None:
    """Unit of an array of time stamps; None for other arrays and unsupported units."""
    if values.dtype.kind != "M":
        return None
    unit, step = np.datetime_data(values.dtype)
    return unit if unit in DECIMALS and step == 1 else None
