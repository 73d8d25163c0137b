"""Running kernels: memory for them, rows shared out among threads, complaints brought back."""

from __future__ import annotations

import ctypes
import os
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import prod
from threading import Lock
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

from robolin.core.arrays import AnyArray
from robolin.core.threads import cores
from robolin.engine.compiled.kernels import KernelSpec, host_width, kernel_for, optimizing
from robolin.engine.compiled.layout import Variant, float_table, int_table, variant_of
from robolin.engine.compiled.llvm_text import COUNTER_STRIDE
from robolin.engine.compiled.thread_pool import run_in_threads
from robolin.engine.parameters import Parameters, first_of_subtrees

# about what a row takes: a nanosecond for every number of its results, and so many for every joint,
# with so many doubles to a register; a thread takes as long to wake up as so many nanoseconds of it
# take by the one that is awake
NANOSECONDS_PER_JOINT, USUAL_WIDTH, NANOSECONDS_WORTH_A_THREAD = 14, 8, 85_000

# what a thread claims at once, in numbers of results: large pieces are quicker to fill, small ones
# let all threads end together, so that each claims so many of them at the least
SMALLEST_PIECE, LARGEST_PIECE, PIECES_PER_THREAD = 1024, 16384, 32

# numbers of results that no cache holds until somebody looks at them: 64 MB
TOO_MANY_TO_CACHE = 1 << 23

# numbers in a cache line
LINE = 8

_byte_in = ctypes.c_char.from_buffer


@dataclass(frozen=True)
class ArmTables:
    """One arm in the form kernels read it; made once per arm."""

    parameters: Parameters
    n: int
    m: int
    variant: Variant
    doubles: AnyArray
    wholes: AnyArray


@dataclass(frozen=True)
class KernelCall:
    """What a kernel is called with for one state, but for the state and where its results go.

    shapes:  of every result, by name
    places:  where the kernel is, the arm's doubles and wholes, and memory of this call's own
    keep_alive: what all of that lies in
    """

    inputs: int
    links: int
    joints: int
    shapes: Mapping[str, tuple[int, ...]]
    places: tuple[int, int, int, int, int, int]
    keep_alive: Any


class ResultBuffer(NamedTuple):
    """Memory for the results of many rows: where each of them starts in a block, in numbers."""

    block: AnyArray
    address: int
    starts: list[int]
    sizes: list[int]


def arm_tables(parameters: Parameters) -> ArmTables:
    parents = [0, *(row.parent for row in parameters.links)]
    return ArmTables(
        parameters,
        parameters.n,
        len(parameters.order),
        variant_of(parameters),
        float_table(parameters),
        int_table(parameters, first_of_subtrees(parents)),
    )


def recipe_for(
    name: str,
    algorithm: Any,
    arm: ArmTables,
    width: int | None = None,
    optimized: bool | None = None,
) -> KernelSpec:
    """What a kernel is made from; what is not said is as wide, and as quick, as it is here."""
    gives = tuple(algorithm.gives.items())
    wide = width or host_width()
    quick = optimizing() if optimized is None else optimized
    return KernelSpec(name, algorithm, algorithm.needs, gives, arm.variant, wide, quick)


class Plan:
    """A kernel for one arm, with everything worked out that does not depend on the state."""

    def __init__(self, arm: ArmTables, recipe: KernelSpec) -> None:
        self._arm, self._kernel = arm, kernel_for(recipe)
        self._needs = len(recipe.needs)
        self._shapes = {name: arm.parameters.sizes(shape) for name, shape in recipe.gives}
        self._row_sizes = [prod(shape) for shape in self._shapes.values()]
        self._starts = [0, *accumulate(self._row_sizes)]
        m, width = arm.m, recipe.width
        self._row_work = (self._starts[-1] + NANOSECONDS_PER_JOINT * m) * USUAL_WIDTH // width
        self._parts = [
            (name, slice(start, stop), shape)
            for (name, shape), start, stop in zip(
                self._shapes.items(), self._starts, self._starts[1:], strict=False
            )
        ]
        self._memory_sizes = (
            self._kernel.scratch_vectors * (arm.n + 2) * width,
            self._kernel.tables * (m + 1) ** 2 * width,
            sum(self._row_sizes) * width,
        )
        self._fixed = (_address(arm.doubles), _address(arm.wholes))
        self._inputs = ctypes.c_int64 * (2 * len(recipe.needs))
        # addresses, and whether to write past the caches
        self._outputs = ctypes.c_int64 * (len(recipe.gives) + 1)
        self._local = threading.local()
        self._pool = BufferPool()

    def one(self, values: Sequence[AnyArray | float]) -> tuple[dict[str, AnyArray], AnyArray]:
        """Results of one state: floats for all joints, or arrays (m,), in the algorithm's order."""
        state = self._one_state()
        for row, value in zip(state.block, values, strict=True):
            row[...] = value
        results = np.empty(self._starts[-1] + 1)
        address = _address(results)
        for i, start in enumerate(self._starts[:-1]):
            state.outputs[i] = address + 8 * start
        arm, places = self._arm, (state.inputs, state.outputs, address + 8 * self._starts[-1])
        self._kernel.call(*self._fixed, *places, *self._memory(), arm.n, arm.m, 0, 1)
        arrays = {name: results[part].reshape(shape) for name, part, shape in self._parts}
        return arrays, results[-1:]

    def into(self, inputs: Sequence[AnyArray], outputs: Sequence[AnyArray]) -> float:
        """Results of one state into arrays given for them, and the joint it complains of, or 0.

        All are contiguous float64; inputs of shape (m,).
        """
        starts = (x for each in inputs for x in (_address(each), 0))
        places = (_address(each) for each in outputs)
        complaint = np.empty(1)
        known = *self._fixed, self._inputs(*starts), self._outputs(*places), _address(complaint)
        self._kernel.call(*known, *self._memory(), self._arm.n, self._arm.m, 0, 1)
        return float(complaint[0])

    def single_call(self) -> KernelCall:
        """Everything that a function needs to call the kernel by itself."""
        memory, own = self._new_memory()
        address = ctypes.cast(self._kernel.call, ctypes.c_void_p).value or 0
        keep_alive = self._arm, self._kernel, memory
        sizes = self._needs, self._arm.n, self._arm.m
        return KernelCall(*sizes, self._shapes, (address, *self._fixed, *own), keep_alive)

    def _one_state(self) -> Any:
        """Where a thread puts the inputs of one state, laid out once."""
        found = getattr(self._local, "one_state", None)
        if found is None:
            block = np.empty((self._needs, self._arm.m))
            rows = (x for row in block for x in (_address(row), 0))
            found = SimpleNamespace(
                block=block, inputs=self._inputs(*rows), outputs=self._outputs()
            )
            self._local.one_state = found
        return found

    def many(
        self,
        inputs: Sequence[AnyArray],
        batch: tuple[int, ...],
        jobs: int | None = None,
        chunk: int | None = None,
        meanwhile: Callable[[], object] = lambda: None,
    ) -> tuple[dict[str, AnyArray], AnyArray]:
        """Results for every row, and for each row the joint it complains of, or 0.

        Inputs are contiguous float64 of shape batch + (m,), or (m,) for the same in every row.
        What `meanwhile` does takes next to no time: it is done while other threads wake up.
        """
        rows, kernel = prod(batch), self._kernel
        buffer = self._buffer_for(rows)
        known = self._known(inputs, buffer)
        workers = jobs or cores()
        if not chunk:
            workers = min(workers, rows * self._row_work // NANOSECONDS_WORTH_A_THREAD)
            if workers <= 1:
                meanwhile()
                kernel.call(*known, *self._memory(), self._arm.n, self._arm.m, 0, rows)
                return self._results_in(buffer, batch)
        piece = chunk or self._piece(rows, workers)
        bounds = [min(self._whole_blocks(rows * w // workers), rows) for w in range(workers)]
        regions = (ctypes.c_int64 * (workers + 1))(*bounds, rows)
        # rows claimed in every region, and rows done in all of them
        counters = [0] * (COUNTER_STRIDE * workers + 1)
        counters[:-1:COUNTER_STRIDE] = bounds
        claimed = (ctypes.c_int64 * len(counters))(*counters)

        def work(worker: int) -> bool:
            sizes = (self._arm.n, self._arm.m, piece, worker, workers)
            return bool(kernel.share(*known, *self._memory(), *sizes, regions, claimed))

        def at_first() -> tuple[dict[str, AnyArray], AnyArray]:
            meanwhile()
            return self._results_in(buffer, batch)

        results: tuple[dict[str, AnyArray], AnyArray] = run_in_threads(
            work, workers, keep_alive=(inputs, buffer), meanwhile=at_first
        )
        return results

    def _piece(self, rows: int, workers: int) -> int:
        """How many rows a thread claims at once."""
        share = rows * self._starts[-1] // (workers * PIECES_PER_THREAD)
        numbers = min(max(share, SMALLEST_PIECE), LARGEST_PIECE)
        return self._whole_blocks(-(-numbers // self._starts[-1]))

    def _whole_blocks(self, rows: int) -> int:
        """So many rows, and as many more as make the last block whole."""
        width = self._kernel.width
        return -(-rows // width) * width

    def _buffer_for(self, rows: int) -> ResultBuffer:
        """A buffer for all results and the rows' complaints, each on a cache line."""
        sizes = [*(rows * size for size in self._row_sizes), rows]
        wanted = [_whole_lines(size) for size in sizes]
        block = self._pool.take(sum(wanted) + LINE)
        address = _address(block)
        starts = [*accumulate(wanted, initial=-(address // 8) % LINE)]
        return ResultBuffer(block, address, starts[:-1], sizes)

    def _results_in(
        self, buffer: ResultBuffer, batch: tuple[int, ...]
    ) -> tuple[dict[str, AnyArray], AnyArray]:
        """The results there by name, and the complaints."""
        *parts, complaints = (
            buffer.block[start : start + size]
            for start, size in zip(buffer.starts, buffer.sizes, strict=True)
        )
        shapes = zip(self._shapes.items(), parts, strict=True)
        return {name: part.reshape(batch + shape) for (name, shape), part in shapes}, complaints

    def _known(self, inputs: Sequence[AnyArray], buffer: ResultBuffer) -> tuple[Any, ...]:
        """What a kernel is told whichever rows and whoever it is called for."""
        m = self._arm.m
        at_in = (x for each in inputs for x in (_address(each), m if each.ndim > 1 else 0))
        *places, complaints = (buffer.address + 8 * start for start in buffer.starts)
        past_caches = sum(buffer.sizes[:-1]) > TOO_MANY_TO_CACHE
        return *self._fixed, self._inputs(*at_in), self._outputs(*places, past_caches), complaints

    def _memory(self) -> tuple[int, int, int]:
        """Scratch, tables and staging for this thread, each on a boundary of 64 bytes."""
        found: tuple[int, int, int] | None = getattr(self._local, "places", None)
        if found is None:
            self._local.memory, found = self._new_memory()
            self._local.places = found
        return found

    def _new_memory(self) -> tuple[AnyArray, tuple[int, int, int]]:
        """Memory that nobody else uses, and where its three parts begin."""
        padded = [_whole_lines(size) for size in self._memory_sizes]
        memory = np.zeros(sum(padded) + LINE)
        start = -(-_address(memory) // 64) * 64
        return memory, (start, start + 8 * padded[0], start + 8 * (padded[0] + padded[1]))


def _whole_lines(numbers: int) -> int:
    """So many numbers, and as many more as make the last cache line whole."""
    return -(-numbers // LINE) * LINE


def _address(array: AnyArray) -> int:
    try:
        # three times as quick as NumPy's own answer, but only for memory that may be written to
        return ctypes.addressof(_byte_in(array))
    except (TypeError, ValueError):
        address: int = array.ctypes.data
        return address


# how many buffers are kept, and how many numbers in all of them together: 256 MB
MOST_BUFFERS, MOST_POOLED_NUMBERS = 4, 1 << 25

# a small result must not keep a large buffer from going: it may be this much larger
MAX_OVERSIZE_RATIO = 4


def _references_when_free() -> int:
    """How many there are to a buffer that nobody has: they differ between Pythons."""
    buffers = [np.empty(1)]
    for buffer in buffers:
        return sys.getrefcount(buffer)
    raise AssertionError


FREE_REFCOUNT = _references_when_free()

# where threads run without a common lock, references are not all counted in one place
REFERENCES_COUNTED = getattr(sys, "_is_gil_enabled", lambda: True)()


# one for all pools: nobody has it for longer than it takes to look through a list
_lock = Lock()

if hasattr(os, "register_at_fork"):
    # a process forked off while another thread has it would wait for that thread for ever
    os.register_at_fork(
        before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_lock.release
    )


class BufferPool:
    """The buffers last handed out, the latest last."""

    def __init__(self) -> None:
        self._buffers: list[AnyArray] = []

    def take(self, size: int) -> AnyArray:
        """At least `size` doubles that nobody else looks at."""
        if not REFERENCES_COUNTED:
            return np.empty(size)
        with _lock:
            for buffer in self._buffers:
                if (
                    size <= buffer.size <= MAX_OVERSIZE_RATIO * size
                    and sys.getrefcount(buffer) <= FREE_REFCOUNT
                ):
                    return buffer
            buffer = np.empty(size)
            self._keep(buffer)
            return buffer

    def _keep(self, buffer: AnyArray) -> None:
        """Remember the buffer, and forget the oldest ones that are too many or too large."""
        buffers = [*self._buffers, buffer]
        while (
            len(buffers) > MOST_BUFFERS or sum(each.size for each in buffers) > MOST_POOLED_NUMBERS
        ):
            buffers.pop(0)
            if not buffers:
                break
        self._buffers = buffers
