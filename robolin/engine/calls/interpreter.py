"""Whether this interpreter can be handed functions that LLVM made, and what they call in it.

A function made by hand relies on where CPython and NumPy keep what.  Neither changed in years, and
both are looked at here before anything relies on them; where something is not as expected, and on
interpreters that nobody tested, calls take the plain path, which relies on nothing.
"""

from __future__ import annotations

import ctypes
import os
import sys
from functools import cache

import numpy as np

from robolin.engine.calls import array_text
from robolin.engine.calls.call_text import TABLE_OFFSET

# minor versions of CPython 3 on which the tests of this folder passed
TESTED = (11, 12, 13)

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
def why_plain() -> str:
    """Why calls take the plain path here; '' if they need not."""
    if os.environ.get(PLAIN):
        return f"{PLAIN} is set"
    if sys.implementation.name != "cpython":
        return f"the interpreter is {sys.implementation.name}"
    if sys.version_info.major != 3 or sys.version_info.minor not in TESTED:
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
