"""The kinds of numbers that results hold: real, complex, whole ones that stay exact, moments."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from robolin.arrays import Numbers


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


_UNITS = ("s", "ms", "us", "ns")

REAL = NumberKind("real", "<f8")
COMPLEX = NumberKind("complex", "<c16", ("/re", "/im"))
INTEGER = NumberKind("integer", "<i8")

# dates with times of day, counted in these units since 1970
MOMENTS = {unit: NumberKind(f"datetime64[{unit}]", f"<M8[{unit}]") for unit in _UNITS}

NUMBER_KINDS = {kind.name: kind for kind in (REAL, COMPLEX, INTEGER, *MOMENTS.values())}


def kind_of(values: Numbers) -> NumberKind:
    """The kind of numbers an array holds; whatever is of no other kind is real."""
    if values.dtype.kind == "M":
        return MOMENTS[np.datetime_data(values.dtype)[0]]
    return {"c": COMPLEX, "i": INTEGER}.get(values.dtype.kind, REAL)


def stored_values(values: Numbers) -> Numbers:
    """The numbers in the type and the order in which files hold them; moments as they count."""
    kind = kind_of(values)
    numbers = np.ascontiguousarray(values, dtype=kind.dtype)
    return numbers.view("<i8") if values.dtype.kind == "M" else numbers
