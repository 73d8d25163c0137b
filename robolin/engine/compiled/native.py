"""Kernels by address, for compiled code: ctypes, LLVM functions written with llvmlite, and C.

A `KernelTable` has everything that a caller passes to a kernel besides the state: in C,

    struct kernel {
        void (*call)(const double *, const int64_t *, const struct input *, const int64_t *,
                     double *, double *, double *, double *, int64_t, int64_t, int64_t, int64_t);
        const double *doubles; const int64_t *integers;
        double *scratch, *tables, *staging;
        int64_t links, joints;
    };
    struct input { const double *first; int64_t stride; };

    k->call(k->doubles, k->integers, inputs, outputs, status,
            k->scratch, k->tables, k->staging, k->links, k->joints, first_row, last_row);
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import TYPE_CHECKING, Any

from robolin.core.records import dataclass
from robolin.engine.compiled.kernels import cached_engine, default_triple, optimizing
from robolin.errors import UsageError

if TYPE_CHECKING:
    from robolin.core.arrays import AnyArray
    from robolin.engine.compiled.plan import Plan

_POINTER, _INT64 = ctypes.c_void_p, ctypes.c_int64

# arguments of a kernel: eight addresses, links, joints, first row, and the row after the last
KERNEL_TYPE = ctypes.CFUNCTYPE(None, *[_POINTER] * 8, *[_INT64] * 4)

# alignment of the memory of a kernel, in bytes
ALIGNMENT = 64


class KernelTable(ctypes.Structure):
    """Arguments of a kernel that do not depend on the state, with memory for one thread."""

    _fields_ = (
        *(
            (name, _POINTER)
            for name in ("call", "doubles", "integers", "scratch", "tables", "staging")
        ),
        ("links", _INT64),
        ("joints", _INT64),
    )

    @property
    def address(self) -> int:
        """Address of this table; valid as long as the object exists."""
        return ctypes.addressof(self)


@dataclass(frozen=True, eq=False)
class NativeKernel:
    """A kernel of one arm that compiled code calls by address; see docs/dev/engine.md.

    Fields:
        name: name of the algorithm
        inputs: names of the inputs, in order; a row of each has one number per joint
        outputs: shape of a row of each result, in order
        width: number of rows that the kernel computes at the same time
        address: address of the function; valid as long as this object or a table exists
    """

    name: str
    inputs: tuple[str, ...]
    outputs: Mapping[str, tuple[int, ...]]
    width: int
    address: int
    plan: Plan

    @classmethod
    def of(cls, plan: Plan, name: str, inputs: Sequence[str]) -> NativeKernel:
        """The kernel of a plan."""
        call = plan.kernel_call()
        return cls(name, tuple(inputs), call.shapes, plan.width, call.addresses[0], plan)

    @property
    def memory(self) -> tuple[int, int, int]:
        """Bytes of scratch, tables and staging that a thread needs, each aligned to 64 bytes."""
        scratch, tables, staging = (8 * size for size in self.plan.memory_sizes)
        return scratch, tables, staging

    @property
    def row_sizes(self) -> tuple[int, ...]:
        """Numbers in a row of each result."""
        return tuple(prod(shape) for shape in self.outputs.values())

    def table(self) -> KernelTable:
        """New table with its own memory; use one per thread."""
        call = self.plan.kernel_call()
        table = KernelTable(*call.addresses, call.links, call.joints)
        table._keep_alive = call.keep_alive
        return table

    def __call__(self, table: KernelTable, *inputs: AnyArray) -> tuple[list[AnyArray], AnyArray]:
        """Results and status of the rows of these arrays; the reference for other callers.

        Inputs are contiguous float64 of shape (rows, n), or (n,) for the same values in all rows.
        """
        import numpy as np

        rows = max((len(each) for each in inputs if each.ndim > 1), default=1)
        results = [np.empty((rows, *shape)) for shape in self.outputs.values()]
        status = np.empty(rows)
        pairs = [x for each in inputs for x in (each.ctypes.data, each.shape[-1] * (each.ndim > 1))]
        at_in = (_INT64 * len(pairs))(*pairs)
        at_out = (_INT64 * (len(results) + 1))(*(each.ctypes.data for each in results), 0)
        KERNEL_TYPE(self.address)(
            *(table.doubles, table.integers, at_in, at_out, status.ctypes.data),
            *(table.scratch, table.tables, table.staging),
            *(table.links, table.joints, 0, rows),
        )
        return results, status


class NativeModule:
    """Machine code of the functions of an LLVM module, loaded as long as this object exists."""

    def __init__(self, text: str, vectorize: bool) -> None:
        self._engine = cached_engine(text, vectorize, optimizing())

    def address(self, name: str) -> int:
        """Address of a function."""
        address: int = self._engine.get_function_address(name)
        if not address:
            raise UsageError(f"the module defines no function '{name}'")
        return address

    def function(self, name: str, result: Any, *arguments: Any) -> Any:
        """A function as a ctypes function, which releases the interpreter lock while it runs.

        result, arguments: ctypes types; None for no result
        """
        function = ctypes.CFUNCTYPE(result, *arguments)(self.address(name))
        function.keep_alive = self  # type: ignore[attr-defined]
        return function


# instructions that would round once where the source rounds twice, or in another order
_INEXACT = re.compile(
    r"\b(?:f(?:add|sub|mul|div|rem|neg|cmp)|call|phi|select)\s+(?:[a-z]+\s+)*"
    r"(?:fast|reassoc|contract|arcp|afn)\b"
    r"|@\"?llvm\.(?:experimental\.constrained\.)?fm(?:a|uladd)\b"
)

_modules: dict[tuple[str, bool], NativeModule] = {}


def compile_module(module: Any, *, vectorize: bool = True) -> NativeModule:
    """Compile an `llvmlite.ir.Module`, or its text, for this machine; cached like kernels.

    Fast-math flags and fused multiply-add are rejected, so results have the same bits on all
    machines.  `vectorize` lets LLVM vectorize and unroll loops, which never reorders a sum.
    """
    text = str(module)
    if inexact := _INEXACT.search(text):
        raise UsageError(
            f"'{inexact.group()}' would change the rounding of a result",
            hint="use separate instructions without fast-math flags",
        )
    key = (text, vectorize)
    if key not in _modules:
        triple = f'target triple = "{default_triple()}"'
        _modules[key] = NativeModule(re.sub(r"(?m)^target triple = .*$", triple, text), vectorize)
    return _modules[key]


def compile_loops(
    name: str,
    build: Callable[[Any], None],
    *,
    numbers: int,
    arrays: int,
    returns_number: bool = False,
) -> Any:
    """Compile one function of integers and addresses of arrays, as a ctypes function.

    Args:
        name: name of the function
        build: adds the function to an `llvmlite.ir.Module`
        numbers, arrays: numbers of arguments
        returns_number: an integer is the result
    """
    from llvmlite import ir

    module = ir.Module(name)
    build(module)
    result = _INT64 if returns_number else None
    arguments = (*(_INT64,) * numbers, *(_POINTER,) * arrays)
    return compile_module(module, vectorize=False).function(name, result, *arguments)


def call_kernel(
    builder: Any,
    table: Any,
    inputs: Sequence[tuple[Any, Any]],
    outputs: Sequence[Any],
    status: Any,
    first: Any,
    last: Any,
) -> None:
    """Append a call of a kernel to an LLVM function that llvmlite builds.

    Args:
        builder: an `llvmlite.ir.IRBuilder`
        table: pointer to a `KernelTable`
        inputs: for each input, a pointer to its first row and the numbers between rows (i64);
            0 repeats one row
        outputs: for each result, a pointer to its first row; rows follow without gaps
        status: pointer to a double per row, which is 0 for a valid result
        first, last: range of rows (i64), without the last
    """
    from llvmlite import ir

    int64, byte = ir.IntType(64), ir.IntType(8).as_pointer()
    # allocated in the entry block: memory in a loop would grow the stack
    with builder.goto_entry_block():
        at_in = builder.alloca(int64, 2 * len(inputs))
        at_out = builder.alloca(int64, len(outputs) + 1)

    def store(memory: Any, index: int, value: Any) -> None:
        builder.store(value, builder.gep(memory, [ir.Constant(int64, index)]))

    for i, (pointer, stride) in enumerate(inputs):
        store(at_in, 2 * i, builder.ptrtoint(pointer, int64))
        store(at_in, 2 * i + 1, stride)
    for i, pointer in enumerate(outputs):
        store(at_out, i, builder.ptrtoint(pointer, int64))
    store(at_out, len(outputs), ir.Constant(int64, 0))

    fields = builder.bitcast(table, int64.as_pointer())
    values = [
        builder.load(builder.gep(fields, [ir.Constant(int64, i)]))
        for i in range(len(KernelTable._fields_))
    ]
    kernel = ir.FunctionType(ir.VoidType(), [byte] * 8 + [int64] * 4).as_pointer()
    function = builder.inttoptr(values[0], kernel)
    doubles, integers, *memory = (builder.inttoptr(value, byte) for value in values[1:6])
    own = [builder.bitcast(each, byte) for each in (at_in, at_out, status)]
    builder.call(function, [doubles, integers, *own, *memory, *values[6:], first, last])
