"""A kernel of an arm as a built-in function: the table it reads, and how the function is made."""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Callable
from functools import cache, partial
from math import prod
from typing import Any

import numpy as np

from robolin.core.arrays import AnyArray
from robolin.engine.calls import call_text as array_text
from robolin.engine.calls.call_text import (
    MOST_AXES,
    MOST_INPUTS,
    MOST_RESULTS,
    TABLE_OFFSET,
    call_text,
)
from robolin.engine.compiled.kernels import cached_function
from robolin.engine.compiled.plan import KernelCall

_POINTER, _WHOLE, _OBJECT = ctypes.c_void_p, ctypes.c_int64, ctypes.py_object
_API = ("vectorcall", "keep", "drop", "tuple_new", "tuple_size", "tuple_item", "tuple_put")
_KERNEL = ("kernel", "doubles", "wholes", "scratch", "tables", "staging")

# how a built-in function takes its arguments: as they lie, with the names of keywords apart
_FAST_WITH_KEYWORDS = 0x82


class _Definition(ctypes.Structure):
    """How CPython is told of a function."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", _POINTER),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


class CallTable(ctypes.Structure):
    """What the function in `call_text` reads, and the object that it belongs to."""

    _fields_ = (
        *((name, _OBJECT) for name in ("plain", "array_type", "none", "out_name", "empty")),
        ("result_type", _OBJECT),
        ("name_them", _OBJECT),
        *((name, _POINTER) for name in (*_API, *_KERNEL, "fixed")),
        *((name, _WHOLE) for name in ("inputs", "results", "links", "joints")),
        ("sizes", _WHOLE * MOST_RESULTS),
        ("ranks", _WHOLE * MOST_RESULTS),
        ("lengths", _WHOLE * (MOST_RESULTS * MOST_AXES)),
        ("shapes", _OBJECT * MOST_RESULTS),
    )

    def __init__(
        self,
        kernel: KernelCall,
        plain: Callable[..., Any],
        doc: str,
        result_type: type | None = None,
        fixed: AnyArray | None = None,
    ) -> None:
        """Lay the table out for a kernel.

        plain:       is called with the same arguments wherever the function has doubts
        doc:         what `help` says of the function
        result_type: the named tuple that several results are handed out as; None for a tuple
        fixed:       the last input, if it is the same in every state and not handed over
        """
        super().__init__()
        self.plain, self.array_type, self.none = plain, np.ndarray, None
        self.out_name, self.empty = sys.intern("out"), np.empty
        self.result_type = result_type or tuple
        for name in _API:
            setattr(self, name, addresses()[name])
        for name, place in zip(_KERNEL, kernel.places, strict=True):
            setattr(self, name, place)
        self.fixed = None if fixed is None else fixed.ctypes.data
        self.inputs, self.results = kernel.inputs - (fixed is not None), len(kernel.shapes)
        self.links, self.joints = kernel.links, kernel.joints
        for i, shape in enumerate(kernel.shapes.values()):
            self.sizes[i], self.ranks[i], self.shapes[i] = prod(shape), len(shape), shape
            self.lengths[i * MOST_AXES : i * MOST_AXES + len(shape)] = shape
        if result_type is not None:
            # without a function of Python's in between
            self.name_them = partial(tuple.__new__, result_type)
        address, engine = _entry()
        # one for all functions of this table: they read it for as long as they live
        self._definition = _Definition(b"call", address, _FAST_WITH_KEYWORDS, doc.encode())
        self._keep_alive = kernel, engine, fixed

    @property
    def call(self) -> Callable[..., Any]:
        """The built-in function, which keeps this table alive and everything in it."""
        new = ctypes.PYFUNCTYPE(_OBJECT, _POINTER, _OBJECT, _POINTER)(addresses()["new_function"])
        made: Callable[..., Any] = new(ctypes.addressof(self._definition), self, None)
        return made


def fits(kernel: KernelCall) -> bool:
    """Whether there can be a built-in function for this kernel, here."""
    shapes = kernel.shapes.values()
    return (
        not fallback_reason()
        and kernel.inputs <= MOST_INPUTS
        and len(shapes) <= MOST_RESULTS
        and all(len(shape) <= MOST_AXES and prod(shape) for shape in shapes)
        and kernel.joints > 0
    )


@cache
def _entry() -> tuple[int, Any]:
    places = {name: getattr(CallTable, name).offset for name, *_ in CallTable._fields_}
    return cached_function(call_text(places), "entry")


# minor versions of CPython 3 on which the tests of this folder passed
SUPPORTED_MINORS = (11, 12, 13)

# set to anything, it makes every call take the plain path
PLAIN = "ROBOLIN_PLAIN_CALLS"

# what the functions call, by the name they have here and in CPython
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
    """Why calls take the plain path here; '' if they need not."""
    if os.environ.get(PLAIN):
        return f"{PLAIN} is set"
    if sys.implementation.name != "cpython":
        return f"the interpreter is {sys.implementation.name}"
    if sys.version_info.major != 3 or sys.version_info.minor not in SUPPORTED_MINORS:
        return f"Python {sys.version_info.major}.{sys.version_info.minor} was not tested"
    if not getattr(sys, "_is_gil_enabled", lambda: True)():
        return "threads run without a common lock"
    if ctypes.sizeof(ctypes.c_void_p) != 8 or sys.byteorder != "little":
        return "pointers are not 64 bits long, or begin with the highest"
    if not all(hasattr(ctypes.pythonapi, name) for name in FUNCTIONS.values()):
        return "the interpreter hides functions that are needed"
    if not (_arrays_are_as_expected() and _structures_are_as_expected()):
        return f"arrays of NumPy {np.__version__} are laid out in another way"
    return ""


@cache
def addresses() -> dict[str, int]:
    """Where the interpreter's own functions are."""
    found = {name: getattr(ctypes.pythonapi, known) for name, known in FUNCTIONS.items()}
    return {name: address_of(function) for name, function in found.items()}


def address_of(function: object) -> int:
    """Where a function that ctypes knows begins."""
    return ctypes.cast(function, ctypes.c_void_p).value or 0  # type: ignore[arg-type]


def _arrays_are_as_expected() -> bool:
    """Whether everything that is asked of an array is found where it is looked for."""
    kind = np.dtype(float)
    for array in (np.zeros(3), np.zeros((2, 5)), np.zeros((4, 6))[:, ::2], np.zeros(5)[1:]):
        array.flags.writeable = array.ndim == 1
        found = (
            _pointer(id(array) + array_text.TYPE),
            _pointer(id(array) + array_text.DATA),
            _whole(id(array) + array_text.RANK),
            *((ctypes.c_int64 * array.ndim).from_address(_pointer(id(array) + array_text.LENGTHS))),
            _pointer(id(array) + array_text.ITEM_KIND),
            _whole(id(array) + array_text.FLAGS) & array_text.WRITABLE,
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
        if found != expected:
            return False
    order = ctypes.c_char.from_address(id(kind) + array_text.BYTE_ORDER).value
    number = _whole(id(kind) + array_text.ITEM_NUMBER)
    return (order, number) == (b"=", kind.num) and ord(order) == array_text.NATIVE


def _structures_are_as_expected() -> bool:
    """Whether an object with C data says where they are as it is expected to."""

    class Probe(ctypes.Structure):
        _fields_ = (("number", ctypes.c_int64),)

    probe = Probe(7)
    return _pointer(id(probe) + TABLE_OFFSET) == ctypes.addressof(probe)


def _pointer(place: int) -> int:
    return ctypes.c_void_p.from_address(place).value or 0


def _whole(place: int) -> int:
    return ctypes.c_int32.from_address(place).value
