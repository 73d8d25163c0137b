"""The kinds of arrays that go between rooms."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
# of float64, complex128 or int64
Numbers = npt.NDArray[Any]
Mask = npt.NDArray[np.bool_]
