"""A kernel called on memory that ends at a protected page.

Run as a program: every array of a call ends at the first byte of a page that may be neither read
nor written, so that a kernel that goes one number too far ends the process. The bytes before each
array, and those after the scratch memory, are checked to be unchanged.
"""

from __future__ import annotations

import ctypes
import mmap
import sys
from math import prod

import numpy as np

from robolin.core.arm import Arm
from robolin.dynamics.algebra.trigonometry import FLOAT, Precision
from robolin.dynamics.catalogue import ALGORITHMS
from robolin.engine.compiled.kernels import kernel_for
from robolin.engine.compiled.llvm_text import COUNTER_STRIDE
from robolin.engine.compiled.plan import NUMBER_TYPES, arm_tables, kernel_spec
from robolin.engine.compiled.straight_kernel import straight_kernel
from robolin.engine.parameters import parameters_of as parameters
from robolin.engine.run import run_on
from robolin.evaluation.float32 import float32_cache, run_on_float32
from tests.robots import random_arm, with_follower

PAGE = mmap.PAGESIZE
NO_ACCESS = 0
MARK = 1.25e-30
ALGORITHMS_TRIED = ("inverse", "mass-matrix", "linearize-forward-conventional")
# complete blocks of every width, one row fewer and one row more
ROW_COUNTS = (1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17)
_protect = ctypes.CDLL(None, use_errno=True).mprotect
_protect.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)


class Guarded:
    """`count` numbers that end at a protected page, with marks before them."""

    def __init__(self, count: int, number: type = np.float64) -> None:
        size = np.dtype(number).itemsize
        pages = -(-size * count // PAGE) + 1
        self._memory = mmap.mmap(-1, (pages + 1) * PAGE)
        start = ctypes.addressof(ctypes.c_char.from_buffer(self._memory))
        everything = np.frombuffer(self._memory, dtype=number, count=pages * PAGE // size)
        everything[:] = MARK
        self._before = everything[: len(everything) - count]
        self.values = everything[len(everything) - count :]
        self.address = start + pages * PAGE - size * count
        if _protect(start + pages * PAGE, PAGE, NO_ACCESS):
            raise OSError(ctypes.get_errno(), "mprotect")

    @property
    def intact(self) -> bool:
        return bool((self._before == self._before.dtype.type(MARK)).all())


def call(arm: Arm, name: str, width: int, rows: int, past_caches: bool) -> None:
    """Run one kernel between guards and compare its results with NumPy's."""
    numbers, algorithm = arm_tables(parameters(arm)), ALGORITHMS[name]
    recipe = kernel_spec(name, algorithm, numbers, width)
    kernel = kernel_for(recipe)
    n, m = numbers.n, numbers.m
    rng = np.random.default_rng(rows)
    states = {each: rng.uniform(-1.5, 1.5, (rows, m)) for each in algorithm.needs}

    inputs = [Guarded(rows * m) for _ in states]
    for guard, values in zip(inputs, states.values(), strict=True):
        guard.values[:] = values.ravel()
    lengths = [prod(numbers.parameters.sizes(shape)) for shape in algorithm.gives.values()]
    outputs = [Guarded(rows * length) for length in lengths]
    status = Guarded(rows)
    # scratch memory begins at a vector boundary: sizes are multiples of a vector
    scratch = Guarded(kernel.scratch_vectors * (n + 2) * width)
    tables = Guarded(kernel.tables * (m + 1) ** 2 * width)
    # with a block of rows that is copied past the caches
    staging = Guarded((sum(lengths) + max(lengths)) * width)
    for memory in (scratch, tables, staging):
        memory.values[:] = 0.0

    at_in = np.array([(guard.address, m) for guard in inputs], np.int64)
    at_out = np.array([guard.address for guard in outputs] + [past_caches], np.int64)
    known = (
        numbers.doubles.ctypes.data,
        numbers.integers.ctypes.data,
        at_in.ctypes.data,
        at_out.ctypes.data,
        status.address,
        scratch.address,
        tables.address,
        staging.address,
        n,
        m,
    )
    # a few rows in the middle leave the others unchanged; then all, by pieces of three
    first, last = rows // 3, rows - rows // 4
    kernel.call(*known, first, last)
    for guard, length in zip((*outputs, status), (*lengths, 1), strict=True):
        table = guard.values.reshape(rows, length)
        assert (np.delete(table, range(first, last), axis=0) == MARK).all()
        assert not (table[first:last] == MARK).any()
    for guard in (*outputs, status):
        guard.values[:] = MARK
    bounds, claimed = np.array([0, rows], np.int64), np.zeros(COUNTER_STRIDE + 1, np.int64)
    assert kernel.share(*known, 3, 0, 1, bounds.ctypes.data, claimed.ctypes.data)
    # all rows are claimed by now; all are finished too, unless a thread is still working
    for done in (rows, rows - 1):
        claimed[-1] = done
        last_word = kernel.share(*known, 3, 0, 1, bounds.ctypes.data, claimed.ctypes.data)
        assert last_word == (done == rows)
    for guard in (*inputs, *outputs, status, scratch, tables, staging):
        assert guard.intact
    for guard, values in zip(inputs, states.values(), strict=True):
        assert guard.values.tobytes() == values.tobytes()
    expected = run_on(parameters(arm), algorithm.run, algorithm.gives, states)[0]
    for guard, values in zip(outputs, expected.values(), strict=True):
        assert guard.values.tobytes() == values.tobytes()
    assert not status.values.any()


def call_straight(arm: Arm, name: str, width: int, precision: Precision, rows: int) -> None:
    """Run the straight-line kernel between guards and compare its results with NumPy's."""
    number, algorithm = NUMBER_TYPES[precision.real], ALGORITHMS[name]
    single = precision is FLOAT
    known = float32_cache(arm).parameters if single else parameters(arm)
    tables = arm_tables(known)
    spec = kernel_spec(name, algorithm, tables, width, precision=precision)
    kernel = straight_kernel(tables, spec, True)
    assert kernel is not None
    rng, m = np.random.default_rng(rows), tables.m
    states = {each: rng.uniform(-1.5, 1.5, (rows, m)).astype(number) for each in algorithm.needs}
    inputs = [Guarded(rows * m, number) for _ in states]
    for guard, values in zip(inputs, states.values(), strict=True):
        guard.values[:] = values.ravel()
    lengths = [prod(known.sizes(shape)) for shape in algorithm.gives.values()]
    outputs, status = [Guarded(rows * each, number) for each in lengths], Guarded(rows, number)
    at_in = np.array([(guard.address, m) for guard in inputs], np.int64)
    at_out = np.array([*(guard.address for guard in outputs), 0], np.int64)
    memory = (0, 0, at_in.ctypes.data, at_out.ctypes.data, status.address, 0, 0, 0)
    # some rows in the middle leave the others unchanged
    first, last = rows // 3, rows - rows // 4
    kernel.kernel.call(*memory, tables.n, m, first, last)
    for guard, length in zip((*outputs, status), (*lengths, 1), strict=True):
        table = guard.values.reshape(rows, length)
        assert (np.delete(table, range(first, last), axis=0) == number(MARK)).all()
    kernel.kernel.call(*memory, tables.n, m, 0, rows)
    for guard in (*inputs, *outputs, status):
        assert guard.intact
    run = run_on_float32 if single else run_on
    expected = run(known, algorithm.run, algorithm.gives, states)[0]
    for guard, values in zip(outputs, expected.values(), strict=True):
        assert guard.values.tobytes() == values.tobytes()
    assert not status.values.any()


def straight(width: int, precision: Precision) -> None:
    """Rows whose numbers fill a vector and rows that leave parts of it, of both precisions."""
    arms = (random_arm(54, 1), random_arm(51, 3, prismatic=False), random_arm(55, 9))
    for arm in arms:
        for name in ("inverse", "mass-matrix"):
            for rows in (*ROW_COUNTS, 33):
                call_straight(arm, name, width, precision, rows)
    print("intact")


def main(widths: list[int]) -> None:
    arms = (
        random_arm(51, 3, prismatic=False),
        random_arm(52, 5, tree=True),
        with_follower(random_arm(53, 4, tree=True)),
    )
    for i, arm in enumerate(arms):
        for j, name in enumerate(ALGORITHMS_TRIED):
            # every arm and every algorithm meets every width
            width = widths[(i + j) % len(widths)]
            for turn, rows in enumerate(ROW_COUNTS):
                call(arm, name, width, rows, past_caches=turn % 2 == 0)
    print("intact")


if __name__ == "__main__":
    main([int(width) for width in sys.argv[1:]])
