"""Compiled code on preallocated arrays: the functions of `backward_pass`, and kernels of the arm.

The functions have the bits of `backward_pass`:

    backward(N, dt, damping, x, tau, M, Jq, Jv, cost, work, P, P_stride, KT) -> decrease, or NaN
    step(N, dt, KT, work, dx, da)
    cost(N, x, tau, cost, work) -> cost

x (N + 1, 2n) has q and v, tau (N + 1, n) the torques; `cost` the six arrays of `StageCost` one
after the other.  P (2n, 2n + 1) with rows and columns padded per group; KT has K transposed, and
k in its last row.  Rows are read by whole vectors: every array needs `SLACK` doubles after its end.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from functools import cache
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from robolin.api.compiled_calls import native_kernel
from robolin.control.optimization.backward_pass import Gains, NotPositive, StageCost
from robolin.core.arm import Arm
from robolin.core.arrays import AnyArray, Floats
from robolin.core.records import dataclass

if TYPE_CHECKING:
    from robolin.engine.compiled.native import KernelTable, NativeKernel

SLACK = 8
_POINTER, _INT64, _DOUBLE = ctypes.c_void_p, ctypes.c_int64, ctypes.c_double


@dataclass(frozen=True)
class PassLayout:
    """Strides and sizes of the padded matrices for n joints, in doubles."""

    n: int

    @property
    def np(self) -> int:
        return -(-self.n // 4) * 4

    @property
    def columns(self) -> int:
        """Row length of W: (δa, δq, δv) and the gradient."""
        return 3 * self.np + 4

    @property
    def P_columns(self) -> int:
        return 2 * self.np + 4

    @property
    def P_size(self) -> int:
        return 2 * self.np * self.P_columns

    @property
    def K_size(self) -> int:
        """Size of K transposed and k of one knot."""
        return (2 * self.np + 1) * self.np

    @property
    def parts(self) -> dict[str, int]:
        """Offsets of the parts of the work memory, and 'end'."""
        sizes = {
            "J": self.n * self.columns,
            "scaled": self.n * self.columns,
            "W": 3 * self.np * self.columns,
            "Z": self.np * self.columns,
            "X": self.np * self.P_columns,
            "inverse": self.np,
            "saved": self.np,
        }
        offsets, end = {}, 0
        for name, size in sizes.items():
            offsets[name], end = end, end + size
        return {**offsets, "end": end}


def aligned_zeros(*shape: int) -> Floats:
    """A zero array aligned to a cache line, with slack after its end."""
    size = prod(shape)
    memory = np.zeros(size + SLACK + 8)
    first = (-(memory.ctypes.data // 8)) % 8
    return memory[first : first + size].reshape(shape)


class CompiledPass:
    """The three functions for n joints and N knots, with their memory."""

    work: Floats
    dx: Floats
    da: Floats
    n: int
    dt: float
    layout: PassLayout

    def __init__(self, n: int, N: int, dt: float) -> None:
        self.n, self.N, self.dt, self.layout = n, N, dt, PassLayout(n)
        self._backward, self._step, self._cost = functions(n)
        layout = self.layout
        self.work = aligned_zeros(layout.parts["end"])
        self.P = aligned_zeros(N + 1, 2 * layout.np, layout.P_columns)
        self.KT = aligned_zeros(N, 2 * layout.np + 1, layout.np)
        self.dx, self.da = aligned_zeros(N + 1, 2 * n), aligned_zeros(N, n)
        rows = np.arange(n)
        self._states = np.concatenate([rows, layout.np + rows])
        # array -> its address, which takes a microsecond to find
        self._addresses: dict[int, tuple[AnyArray, int]] = {}

    def _at(self, array: AnyArray) -> int:
        """Address of an array that lives as long as the passes."""
        known = self._addresses.get(id(array))
        if known is None:
            known = self._addresses[id(array)] = array, array.ctypes.data
        return known[1]

    def clear_terminal(self) -> None:
        """Set the cost-to-go of the last knot to its stage terms alone."""
        self.P[self.N].fill(0.0)

    def set_terminal(self, hessian: Floats, gradient: Floats) -> None:
        """Set the cost-to-go of the last knot, besides its stage terms."""
        at = self._states
        last = self.P[self.N]
        last[np.ix_(at, at)] = hessian
        last[at, 2 * self.layout.np] = gradient

    def backward(
        self,
        x: Floats,
        tau: Floats,
        jacobians: tuple[Floats, Floats, Floats],
        cost: Floats,
        damping: float,
    ) -> float:
        """Run the pass; return the decrease.  `set_terminal` comes first."""
        M, Jq, Jv = jacobians
        decrease: float = self._backward(
            *(self.N, self.dt, damping, self._at(x), self._at(tau)),
            *(self._at(M), self._at(Jq), self._at(Jv), self._at(cost)),
            *(self._at(self.work), self._at(self.P), self.layout.P_size, self._at(self.KT)),
        )
        if decrease != decrease:
            raise NotPositive
        return decrease

    def step(self) -> tuple[Floats, Floats]:
        """Full step of the states (N + 1, 2n) and of the accelerations (N, n)."""
        self._step(
            *(self.N, self.dt, self._at(self.KT), self._at(self.work)),
            *(self._at(self.dx), self._at(self.da)),
        )
        return self.dx, self.da

    def cost(self, x: Floats, tau: Floats, cost: Floats) -> float:
        """Cost of all knots."""
        total: float = self._cost(
            self.N, self._at(x), self._at(tau), self._at(cost), self._at(self.work)
        )
        return total

    def gains(self, decrease: float) -> Gains:
        """Copies of the gains and the cost-to-go without padding."""
        at, n = self._states, self.n
        K = np.ascontiguousarray(np.swapaxes(self.KT[:, at, :n], 1, 2))
        P = self.P[:, at][:, :, at].copy()
        p = self.P[:, at, 2 * self.layout.np].copy()
        return Gains(self.KT[:, -1, :n].copy(), K, P, p, decrease)


def stacked_cost(cost: StageCost) -> Floats:
    """The arrays of a cost one after the other: (6, knots, 3, n)."""
    block = aligned_zeros(6, *cost.weight.shape)
    for part, values in zip(block, cost, strict=True):
        part[...] = values
    return block


@cache
def functions(n: int) -> tuple[Any, Any, Any]:
    """Compiled functions for n joints, as ctypes functions."""
    from robolin.control.optimization.pass_code import pass_module
    from robolin.engine.compiled.native import compile_module

    module = compile_module(pass_module(n))
    pointers = (_POINTER,) * 8
    return (
        module.function("backward", _DOUBLE, _INT64, _DOUBLE, _DOUBLE, *pointers, _INT64, _POINTER),
        module.function("step", None, _INT64, _DOUBLE, *(_POINTER,) * 4),
        module.function("cost", _DOUBLE, _INT64, *(_POINTER,) * 4),
    )


class BatchKernel:
    """A verb of an arm; `bind` fixes its arrays, and the bound function runs it without checks."""

    outputs: list[str]

    def __init__(self, arm: Arm, verb: str) -> None:
        from robolin.engine.compiled.native import KERNEL_TYPE

        self.kernel: NativeKernel = native_kernel(arm, verb)
        self.table: KernelTable = self.kernel.table()
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
