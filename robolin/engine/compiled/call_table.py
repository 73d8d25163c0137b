"""Functions of one state that call the kernel of an arm.

`CallTable` creates a built-in function, which takes a microsecond; `PortableCall` runs on any
interpreter and takes a few microseconds.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Callable, Sequence
from functools import cache, partial
from importlib import import_module
from math import prod
from typing import Any, NamedTuple

import numpy as np

from robolin.core.arrays import AnyArray
from robolin.engine.compiled import call_text as array_text
from robolin.engine.compiled.call_text import (
    MOST_AXES,
    MOST_INPUTS,
    MOST_RESULTS,
    TABLE_OFFSET,
    call_text,
)
from robolin.engine.compiled.kernels import cached_function, warn_once
from robolin.engine.compiled.plan import KernelCall

_POINTER, _INT64, _OBJECT = ctypes.c_void_p, ctypes.c_int64, ctypes.py_object
_API = ("vectorcall", "keep", "drop", "tuple_new", "tuple_size", "tuple_item", "tuple_put")
_KERNEL = ("kernel", "doubles", "wholes", "scratch", "tables", "staging")

# METH_FASTCALL | METH_KEYWORDS
_FAST_WITH_KEYWORDS = 0x82


class _Definition(ctypes.Structure):
    """PyMethodDef of CPython."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", _POINTER),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


class CallTable(ctypes.Structure):
    """Data of the function in `call_text`, and the `self` object of that function."""

    inputs: int
    results: int
    created: int
    links: int
    joints: int
    fixed: int | None
    array_type: Any
    none: Any
    new_array: int
    result_type: Any
    name_them: Any
    plain: Callable[..., Any]

    _fields_ = (
        *((name, _OBJECT) for name in ("plain", "array_type", "none", "out_name")),
        *((name, _OBJECT) for name in ("result_type", "tuple_type", "name_them")),
        *((name, _POINTER) for name in (*_API, "new_array", *_KERNEL, "fixed")),
        *((name, _INT64) for name in ("inputs", "results", "created", "links", "joints")),
        ("input_rank", _INT64),
        ("input_lengths", _INT64 * 2),
        ("sizes", _INT64 * MOST_RESULTS),
        ("ranks", _INT64 * MOST_RESULTS),
        ("lengths", _INT64 * (MOST_RESULTS * MOST_AXES)),
    )

    def __init__(
        self,
        kernel: KernelCall,
        plain: Callable[..., Any],
        doc: str,
        result_type: type | None = None,
        fixed: AnyArray | None = None,
        batch: tuple[int, ...] = (),
        copies: int = 0,
    ) -> None:
        """Fill the table for a kernel.

        plain:       Python function, called with the same arguments for all other cases
        doc:         docstring of the function
        result_type: named tuple of several results; None for a tuple
        fixed:       the last input if it is constant in all states and not an argument
        batch:       first axes of all arrays: () for a state, (1,) for a batch of one state
        copies:      number of inputs whose copies follow the results, in the same tuple
        """
        super().__init__()
        self.plain, self.array_type, self.none = plain, np.ndarray, None
        self.out_name, self.new_array = sys.intern("out"), new_array_address()
        self.result_type: type[Any] = result_type or tuple
        self.tuple_type: type[tuple[Any, ...]] = tuple
        for name in _API:
            setattr(self, name, addresses()[name])
        for name, address in zip(_KERNEL, kernel.addresses, strict=True):
            setattr(self, name, address)
        self.fixed = None if fixed is None else fixed.ctypes.data
        self.inputs, self.results = kernel.inputs - (fixed is not None), len(kernel.shapes)
        self.links, self.joints = kernel.links, kernel.joints
        self.input_rank: int = len(batch) + 1
        self.input_lengths[: self.input_rank] = (*batch, kernel.joints)
        rows = [*kernel.shapes.values(), *[(kernel.joints,)] * copies]
        self.created = len(rows)
        for i, row in enumerate(rows):
            shape = (*batch, *row)
            self.sizes[i], self.ranks[i] = prod(shape), len(shape)
            self.lengths[i * MOST_AXES : i * MOST_AXES + len(shape)] = shape
        if result_type is not None:
            # avoids a call of a Python function
            self.name_them = partial(tuple.__new__, result_type)
        address, engine = _entry()
        # shared by all functions of this table, which read it during their lifetime
        self._definition = _Definition(b"call", address, _FAST_WITH_KEYWORDS, doc.encode())
        self._keep_alive = kernel, engine, fixed

    @property
    def call(self) -> Callable[..., Any]:
        """A built-in function that keeps this table alive."""
        new = ctypes.PYFUNCTYPE(_OBJECT, _POINTER, _OBJECT, _POINTER)(addresses()["new_function"])
        function: Callable[..., Any] = new(ctypes.addressof(self._definition), self, None)
        return function


class _StateBuffers(NamedTuple):
    """Memory of one state, and a function without arguments that runs the kernel on it."""

    inputs: list[AnyArray]
    results: list[AnyArray]
    status: ctypes.c_double
    run: Callable[[], None]


class PortableCall:
    """Results of one state on any interpreter: an array, or a tuple of arrays.

    The call returns None for other arguments, and for states with a nonzero kernel status.
    Each call takes free buffers from a list, so threads and signal handlers share none.
    """

    def __init__(
        self,
        new_kernel: Callable[[], KernelCall],
        fixed: AnyArray | None = None,
        copies: int = 0,
    ) -> None:
        """Create the call.

        new_kernel: creates kernel arguments with their own memory
        fixed:      the last input if it is constant in all states and not an argument
        copies:     number of inputs whose copies follow the results of a call
        """
        self._new_kernel, self._fixed, self._copies = new_kernel, fixed, copies
        first = _state_buffers(new_kernel(), fixed)
        self._free = [first]
        self._shape = first.inputs[0].shape
        self._count = len(first.inputs) - (fixed is not None)
        self._result_shapes = [array.shape for array in first.results]

    def __call__(self, *arrays: Any) -> Any:
        if len(arrays) != self._count:
            return None
        shape = self._shape
        for array in arrays:
            if type(array) is not _ARRAY or array.dtype is not _FLOAT64 or array.shape != shape:
                return None
        return self._results(arrays, None)

    def checked(self, arrays: Sequence[Any], outputs: Sequence[Any] | None) -> Any:
        """Compute one state into new arrays, or into outputs, which must own their memory.

        All arrays must be contiguous, aligned and writable.
        """
        if len(arrays) != self._count:
            return None
        shape, owned = self._shape, True
        for array in arrays:
            if type(array) is not _ARRAY or array.dtype is not _FLOAT64 or array.shape != shape:
                return None
            flags = array.flags
            if not flags.carray:
                return None
            owned = owned and flags.owndata
        if outputs is None or (owned and self._are_apart(arrays, outputs)):
            return self._results(arrays, outputs)
        return None

    def into(self, inputs: Sequence[AnyArray], outputs: Sequence[AnyArray]) -> float:
        """Compute one state into the output arrays; return its status, 0 if it has a result."""
        buffers = self._buffers()
        # a fixed input is in the last row and stays there
        for row, array in zip(buffers.inputs, inputs, strict=False):
            row[...] = array
        buffers.run()
        for output, result in zip(outputs, buffers.results, strict=True):
            output[...] = result
        status = buffers.status.value
        self._free.append(buffers)
        return status

    def _are_apart(self, inputs: Sequence[AnyArray], outputs: Sequence[Any]) -> bool:
        """True if outputs fit and are apart from inputs, provided that inputs own their memory."""
        shapes = self._result_shapes
        if len(outputs) != len(shapes):
            return False
        for array, shape in zip(outputs, shapes, strict=True):
            if type(array) is not _ARRAY or array.dtype is not _FLOAT64 or array.shape != shape:
                return False
            flags = array.flags
            if not (flags.carray and flags.owndata):
                return False
        return len({*map(id, inputs), *map(id, outputs)}) == len(inputs) + len(outputs)

    def _results(self, arrays: Sequence[AnyArray], outputs: Sequence[AnyArray] | None) -> Any:
        inputs, results, status, run = buffers = self._buffers()
        for row, array in zip(inputs, arrays, strict=False):
            row[...] = array
        run()
        if status.value:
            self._free.append(buffers)
            return None
        if outputs is None:
            outputs = tuple([array.copy() for array in (*results, *inputs[: self._copies])])
        else:
            for output, result in zip(outputs, results, strict=True):
                output[...] = result
        self._free.append(buffers)
        return outputs[0] if len(outputs) == 1 else outputs

    def _buffers(self) -> _StateBuffers:
        try:
            return self._free.pop()
        except IndexError:
            return _state_buffers(self._new_kernel(), self._fixed)


_ARRAY, _FLOAT64 = np.ndarray, np.dtype(np.float64)


def _state_buffers(kernel: KernelCall, fixed: AnyArray | None) -> _StateBuffers:
    inputs = [np.empty(kernel.joints) for _ in range(kernel.inputs)]
    if fixed is not None:
        inputs[-1][...] = fixed
    results, status = [np.empty(shape) for shape in kernel.shapes.values()], ctypes.c_double()
    rows = [x for array in inputs for x in (array.ctypes.data, 0)]
    # the last number: no non-temporal stores
    places = [*(array.ctypes.data for array in results), 0]
    starts, targets = (_INT64 * len(rows))(*rows), (_INT64 * len(places))(*places)
    address, doubles, integers, *memory = kernel.addresses
    state = (ctypes.addressof(starts), ctypes.addressof(targets), ctypes.addressof(status))
    numbers = (address, doubles, integers, *state, *memory, kernel.links, kernel.joints, 0, 1)
    table = (_INT64 * len(numbers))(*numbers)
    entry, engine = _portable_entry()
    # keeps the GIL: the kernel takes less time than another thread needs to wake up; a typed
    # argument without `argtypes` takes half the time of a conversion
    function = ctypes.PYFUNCTYPE(None)(entry)
    function.keep_alive = kernel, starts, targets, table, engine  # type: ignore[attr-defined]
    run = partial(function, _POINTER(ctypes.addressof(table)))
    return _StateBuffers(inputs, results, status, run)


def is_supported(kernel: KernelCall, copies: int = 0) -> bool:
    """True if a built-in function for this kernel is possible; warn once if none is."""
    shapes, reason = kernel.shapes.values(), fallback_reason()
    if reason and not os.environ.get(PLAIN):
        warn_once(
            f"Python calls with one state take several microseconds instead of 1 µs, because "
            f"{reason}; the results are the same"
        )
    return (
        not reason
        and kernel.inputs <= MOST_INPUTS
        and len(shapes) + copies <= MOST_RESULTS
        and all(len(shape) < MOST_AXES and prod(shape) for shape in shapes)
        and kernel.joints > 0
    )


@cache
def _portable_entry() -> tuple[int, Any]:
    """A function that calls a kernel with numbers from a table: ctypes converts one, not twelve."""
    lines = ["define void @portable(ptr %table) {"]
    for i in range(13):
        kind = "ptr" if i < 9 else "i64"
        lines.append(f"  %place.{i} = getelementptr i64, ptr %table, i64 {i}")
        lines.append(f"  %x{i} = load {kind}, ptr %place.{i}, align 8")
    arguments = ", ".join(f"{'ptr' if i < 9 else 'i64'} %x{i}" for i in range(1, 13))
    lines += [f"  call void %x0({arguments})", "  ret void", "}"]
    return cached_function("\n".join(lines) + "\n", "portable")


@cache
def _entry() -> tuple[int, Any]:
    offsets = {name: getattr(CallTable, name).offset for name, *_ in CallTable._fields_}
    return cached_function(call_text(offsets), "entry")


# minor versions of CPython 3 that are tested
SUPPORTED_MINORS = (11, 12, 13, 14, 15)

# environment variable: any value makes every call use the Python path
PLAIN = "ROBOLIN_PLAIN_CALLS"

# functions of CPython that the assembly calls, by their name in the table
FUNCTIONS = {
    "vectorcall": "PyObject_Vectorcall",
    "keep": "Py_IncRef",
    "drop": "Py_DecRef",
    "tuple_new": "PyTuple_New",
    "tuple_size": "PyTuple_Size",
    "tuple_item": "PyTuple_GetItem",
    "tuple_put": "PyTuple_SetItem",
    "new_function": "PyCFunction_NewEx",
}


@cache
def fallback_reason() -> str:
    """Reason for which all calls use the Python path on this platform; '' if none."""
    if os.environ.get(PLAIN):
        return f"{PLAIN} is set"
    if sys.implementation.name != "cpython":
        return f"the interpreter is {sys.implementation.name}"
    if sys.version_info.major != 3 or sys.version_info.minor not in SUPPORTED_MINORS:
        return f"Python {sys.version_info.major}.{sys.version_info.minor} was not tested"
    if not getattr(sys, "_is_gil_enabled", lambda: True)():
        return "Python has no global interpreter lock"
    if ctypes.sizeof(ctypes.c_void_p) != 8 or sys.byteorder != "little":
        return "pointers are not 64-bit, or bytes are not little-endian"
    if not all(hasattr(ctypes.pythonapi, name) for name in FUNCTIONS.values()):
        return "the interpreter does not export the required functions"
    if not (_arrays_are_as_expected() and _structures_are_as_expected()):
        return f"arrays of NumPy {np.__version__} have a different memory layout"
    return ""


@cache
def addresses() -> dict[str, int]:
    """Addresses of the interpreter's functions."""
    functions = {name: getattr(ctypes.pythonapi, c_name) for name, c_name in FUNCTIONS.items()}
    return {name: address_of(function) for name, function in functions.items()}


def address_of(function: object) -> int:
    """Address of a ctypes function."""
    return ctypes.cast(function, ctypes.c_void_p).value or 0  # type: ignore[arg-type]


# indices of NumPy's C functions, the same in all versions of these binary interfaces
_INTERFACE_VERSION, _NEW_ARRAY = 0, 93
_TESTED_INTERFACES = (0x1000009, 0x2000000)


@cache
def new_array_address() -> int:
    """Address of NumPy's C function PyArray_New; 0 if this version was not tested."""
    try:
        array_api = import_module("numpy._core._multiarray_umath")._ARRAY_API
    except ImportError:
        return 0
    kind = ctypes.PYFUNCTYPE(ctypes.POINTER(_POINTER), _OBJECT, ctypes.c_char_p)
    functions = kind(("PyCapsule_GetPointer", ctypes.pythonapi))(array_api, None)
    version = ctypes.PYFUNCTYPE(ctypes.c_uint)(functions[_INTERFACE_VERSION])()
    return functions[_NEW_ARRAY] if version in _TESTED_INTERFACES else 0


def new_array(shape: tuple[int, ...]) -> AnyArray:
    """A new array from NumPy's C function, as `call_text` creates it."""
    kinds = (_OBJECT, ctypes.c_int, _POINTER, ctypes.c_int, *(_POINTER,) * 2)
    new = ctypes.PYFUNCTYPE(_OBJECT, *kinds, *(ctypes.c_int,) * 2, _POINTER)(new_array_address())
    lengths, double = (_INT64 * len(shape))(*shape), array_text.DOUBLE_TYPE
    made: AnyArray = new(
        np.ndarray, len(shape), ctypes.addressof(lengths), double, None, None, 0, 0, None
    )
    return made


def _arrays_are_as_expected() -> bool:
    """True if NumPy arrays have the memory layout that `call_text` assumes."""
    kind = np.dtype(float)
    if not new_array_address():
        return False
    arrays = (np.zeros(3), np.zeros((4, 6))[:, ::2], np.zeros(5)[1:], new_array((2, 5)))
    for array in arrays:
        array.flags.writeable = array.ndim == 1
        actual = (
            _pointer(id(array) + array_text.TYPE),
            _pointer(id(array) + array_text.DATA),
            _int32(id(array) + array_text.RANK),
            *((ctypes.c_int64 * array.ndim).from_address(_pointer(id(array) + array_text.LENGTHS))),
            _pointer(id(array) + array_text.ITEM_KIND),
            _int32(id(array) + array_text.FLAGS) & array_text.WRITABLE,
        )
        flags = array.flags.num & array_text.WRITABLE
        expected = (
            id(np.ndarray),
            array.ctypes.data,
            array.ndim,
            *array.shape,
            id(array.dtype),
            flags,
        )
        if actual != expected:
            return False
    order = ctypes.c_char.from_address(id(kind) + array_text.BYTE_ORDER).value
    number = _int32(id(kind) + array_text.ITEM_NUMBER)
    return (order, number) == (b"=", kind.num) and ord(order) == array_text.NATIVE


def _structures_are_as_expected() -> bool:
    """True if ctypes structures have the memory layout that `call_text` assumes."""

    class Probe(ctypes.Structure):
        _fields_ = (("number", ctypes.c_int64),)

    probe = Probe(7)
    return _pointer(id(probe) + TABLE_OFFSET) == ctypes.addressof(probe)


def _pointer(address: int) -> int:
    return ctypes.c_void_p.from_address(address).value or 0


def _int32(address: int) -> int:
    return ctypes.c_int32.from_address(address).value
