"""Type aliases of arrays, and arrays that cannot be changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
# of float64, complex128 or int64
Numbers = npt.NDArray[Any]
Complexes = npt.NDArray[np.complex128]
# indices into other arrays
Indices = npt.NDArray[np.intp]
Mask = npt.NDArray[np.bool_]
Texts = npt.NDArray[np.str_]
# an array or a scalar of any number type, exact and dual numbers included
AnyArray = Any
# arrays by name
Arrays = dict[str, np.ndarray]

# a value per joint: numbers in joint order, or by joint name
JointValues = npt.ArrayLike | Mapping[str, npt.ArrayLike] | Sequence[Mapping[str, npt.ArrayLike]]


def read_only(values: Sequence[float]) -> Floats:
    """The numbers as an array that cannot be changed."""
    array = np.array(values, dtype=np.float64)
    array.flags.writeable = False
    return array
