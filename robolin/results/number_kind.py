"""The kinds of numbers that results hold: real, complex, and whole ones that stay exact."""

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


REAL = NumberKind("real", "<f8")
COMPLEX = NumberKind("complex", "<c16", ("/re", "/im"))
INTEGER = NumberKind("integer", "<i8")

KINDS = {kind.name: kind for kind in (REAL, COMPLEX, INTEGER)}


def kind_of(values: Numbers) -> NumberKind:
    """The kind of numbers an array holds; whatever is neither complex nor integer is real."""
    return {"c": COMPLEX, "i": INTEGER}.get(values.dtype.kind, REAL)


def stored_values(values: Numbers) -> Numbers:
    """The numbers in the type and the order in which files hold them."""
    return np.ascontiguousarray(values, dtype=kind_of(values).dtype)
