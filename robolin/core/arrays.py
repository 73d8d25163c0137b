"""The kinds of arrays that go between rooms."""

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
# where something stands in others
Places = npt.NDArray[np.intp]
Mask = npt.NDArray[np.bool_]
Texts = npt.NDArray[np.str_]
# of whatever numbers a computation runs on, exact and dual ones among them, or a single one of them
AnyArray = Any
# by their names
Arrays = dict[str, np.ndarray]

# what stands for a value per joint: numbers in the order of the joints, or by their names
JointValues = npt.ArrayLike | Mapping[str, npt.ArrayLike] | Sequence[Mapping[str, npt.ArrayLike]]
