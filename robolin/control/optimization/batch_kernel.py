"""A kernel of the dynamics on preallocated rows: no checks, no allocation, a status per row."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np

from robolin.api.compiled_calls import native_kernel
from robolin.core.arm import Arm
from robolin.core.arrays import AnyArray, Floats

_INT64 = ctypes.c_int64


class BatchKernel:
    """A verb of an arm; `bind` fixes its arrays, and the bound function runs it."""

    def __init__(self, arm: Arm, verb: str) -> None:
        from robolin.engine.compiled.native import KERNEL_TYPE

        self.kernel = native_kernel(arm, verb)
        self.table = self.kernel.table()
        self.outputs = list(self.kernel.outputs)
        self._call = KERNEL_TYPE(self.kernel.address)

    def bind(self, inputs: Sequence[AnyArray], outputs: Sequence[AnyArray]) -> BoundKernel:
        """Bind input rows (rows, n) with any stride between rows, and contiguous outputs."""
        return BoundKernel(self, inputs, outputs)


class BoundKernel:
    """A kernel with fixed arrays; a call computes all rows and returns False if one failed."""

    def __init__(
        self, kernel: BatchKernel, inputs: Sequence[AnyArray], outputs: Sequence[AnyArray]
    ) -> None:
        table, rows = kernel.table, len(inputs[0])
        self.status: Floats = np.zeros(rows)
        pairs = [x for each in inputs for x in (each.ctypes.data, each.strides[0] // 8)]
        starts = (_INT64 * len(pairs))(*pairs)
        places = (_INT64 * (len(outputs) + 1))(*(each.ctypes.data for each in outputs), 0)
        self._arguments: tuple[Any, ...] = (
            *(table.doubles, table.integers, starts, places, self.status.ctypes.data),
            *(table.scratch, table.tables, table.staging),
            *(table.links, table.joints, 0, rows),
        )
        self._call = kernel._call
        self._keep = kernel, list(inputs), list(outputs)

    def __call__(self) -> bool:
        self._call(*self._arguments)
        return not self.status.any()
