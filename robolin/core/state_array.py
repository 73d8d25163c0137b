"""Array of one state without NumPy, whose import takes longer than the rest of a short command."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import inf, isnan, nan, prod
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import numpy as np


class _Double(NamedTuple):
    """Number type of a `StateArray`, with names of `numpy.dtype`."""

    kind: str = "f"
    itemsize: int = 8


_DOUBLE = _Double()


class StateArray:
    """Floats in the shape of an array, for one state on the command line.

    It has the methods of NumPy's arrays that computing and printing one state needs.  All others,
    and the functions of NumPy, convert it to a NumPy array.
    """

    __slots__ = ("_flat", "shape")

    dtype = _DOUBLE

    def __init__(self, flat: Iterable[float], shape: tuple[int, ...] | None = None) -> None:
        self._flat = [*flat]
        self.shape = (len(self._flat),) if shape is None else shape

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return len(self._flat)

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, index: Any) -> Any:
        if self.ndim == 1 and isinstance(index, int):
            return self._flat[index]
        if isinstance(index, slice) and index.indices(len(self)) == (0, len(self), 1):
            return self
        if isinstance(index, tuple) and len(index) == 1 and index[0] is ...:
            return self
        return self.to_numpy()[index]

    def tolist(self) -> list[Any]:
        rows: list[Any] = self._flat
        for length in self.shape[:0:-1]:
            rows = [rows[i : i + length] for i in range(0, len(rows), length)]
        return rows

    def reshape(self, *shape: int) -> StateArray:
        rest = prod(length for length in shape if length >= 0)
        shape = tuple(self.size // rest if length < 0 else length for length in shape)
        return StateArray(self._flat, shape)

    def ravel(self) -> StateArray:
        return StateArray(self._flat)

    def astype(self, dtype: str, copy: bool = True) -> Any:
        return self if dtype in ("<f8", "float64") else self.to_numpy().astype(dtype, copy=copy)

    @property
    def real(self) -> StateArray:
        return self

    def __abs__(self) -> StateArray:
        return StateArray(map(abs, self._flat), self.shape)

    def min(self) -> float:
        """The smallest number; NaN if any number is NaN, as in NumPy."""
        return nan if any(map(isnan, self._flat)) else min(self._flat)

    def max(self, initial: float = -inf) -> float:
        """The largest number; NaN if any number is NaN, as in NumPy."""
        return nan if any(map(isnan, self._flat)) else max([initial, *self._flat])

    def any(self) -> bool:
        return any(self._flat)

    def to_numpy(self) -> np.ndarray:
        import numpy as np

        return np.array(self._flat).reshape(self.shape)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        array = self.to_numpy()
        return array if dtype is None else array.astype(dtype)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self.to_numpy(), name)


def state_array(entries: Mapping[tuple[int, ...], Any], shape: tuple[int, ...]) -> Any:
    """Array of entries by index; the others are 0."""
    flat = [0.0] * prod(shape)
    for index, value in entries.items():
        at = 0
        for i, length in zip(index, shape, strict=True):
            at = at * length + i
        # adding 0.0 converts -0.0 to 0.0
        flat[at] = value + 0.0
    return StateArray(flat, shape)
