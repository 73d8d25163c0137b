"""Run kernels: allocate memory, distribute rows over threads, return results and status."""

from __future__ import annotations

import ctypes
import os
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate
from math import prod
from threading import Lock
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from robolin.core.arrays import AnyArray
from robolin.core.records import dataclass
from robolin.core.threads import cores, run_in_threads
from robolin.dynamics.algebra.trigonometry import DOUBLE, Precision
from robolin.engine.compiled.kernels import Kernel, KernelSpec, host_width, kernel_for, optimizing
from robolin.engine.compiled.layout import ArmTables, Variant
from robolin.engine.compiled.llvm_text import COUNTER_STRIDE
from robolin.engine.parameters import Parameters, first_of_subtrees, float_table, int_table

if TYPE_CHECKING:
    from robolin.engine.compiled.straight_kernel import StraightKernels

# cost model of a row: 1 ns per number of its results and 14 ns per joint, with 8 doubles per
# register; waking a thread pays off from this many nanoseconds of work per thread
NANOSECONDS_PER_JOINT, USUAL_WIDTH, MIN_NANOSECONDS_PER_THREAD = 14, 8, 85_000

# size of the pieces that threads claim, in numbers of results: large pieces have less overhead,
# small ones let all threads end together; each thread claims at least this many pieces
SMALLEST_PIECE, LARGEST_PIECE, PIECES_PER_THREAD = 1024, 16384, 32

# results of more bytes than this do not stay in the caches: use non-temporal stores
NONTEMPORAL_MIN = 1 << 23

# blocks of rows, in batches of at least `LARGE_BATCH`, from which straight-line code of this arm is
# used, if it is in the cache
STRAIGHT_FROM, LARGE_BATCH = 2_000, 250

# bytes of a cache line
LINE = 64

# precision of a kernel -> type of its arrays
NUMBER_TYPES: dict[str, type[np.floating[Any]]] = {"double": np.float64, "float": np.float32}

_byte_in = ctypes.c_char.from_buffer


@dataclass(frozen=True)
class KernelCall:
    """Kernel arguments for one state, except the state and the addresses of its results.

    shapes:    shape of every result, by name
    addresses: the kernel, the arm's doubles and integers, scratch, tables and staging memory
    keep_alive: owners of that memory
    """

    inputs: int
    links: int
    joints: int
    shapes: Mapping[str, tuple[int, ...]]
    addresses: tuple[int, int, int, int, int, int]
    keep_alive: Any


class ResultBuffer(NamedTuple):
    """Memory for the results of many rows; `starts` are offsets in the block, in numbers."""

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


def variant_of(parameters: Parameters) -> Variant:
    return Variant(
        serial=parameters.serial,
        all_turn=all(row.is_revolute for row in parameters.links),
        mimics=parameters.mimics,
        smooth_friction=parameters.friction_velocity is not None,
        load_models=tuple(load.model for load in parameters.loads),
        grouped=parameters.grouped,
        roams=parameters.roaming is not None,
        travels=parameters.travelling,
        rigid_closures=tuple(closure.rigid for closure in parameters.closures),
        seat=parameters.seat,
        springs=parameters.springs,
        group_rotors=parameters.group_rotors,
        group_translations=bool(parameters.group_translations),
        one_sided_friction=parameters.one_sided_friction,
        own_friction_velocities=parameters.own_friction_velocities,
    )


def kernel_spec(
    name: str,
    algorithm: Any,
    arm: ArmTables,
    width: int | None = None,
    optimized: bool | None = None,
    precision: Precision = DOUBLE,
) -> KernelSpec:
    """Kernel specification; width and optimization default to those of this machine."""
    gives = tuple(algorithm.gives.items())
    wide = width or host_width() * DOUBLE.size // precision.size
    quick = optimizing() if optimized is None else optimized
    return KernelSpec(name, algorithm, algorithm.needs, gives, arm.variant, wide, quick, precision)


class Plan:
    """A kernel for one arm, with all values precomputed that do not depend on the state."""

    memory_sizes: tuple[int, int, int]

    def __init__(self, arm: ArmTables, spec: KernelSpec) -> None:
        self._arm, self._spec, self._kernel = arm, spec, kernel_for(spec)
        self._straight: StraightKernels | None = None
        self._blocks = 0
        self._number = np.dtype(NUMBER_TYPES[spec.precision.real])
        self._bytes = self._number.itemsize
        self._needs = len(spec.needs)
        self._shapes = {name: arm.parameters.sizes(shape) for name, shape in spec.gives}
        self._row_sizes = [prod(shape) for shape in self._shapes.values()]
        self._starts = [0, *accumulate(self._row_sizes)]
        m, width = arm.m, spec.width
        self.row_work = (self._starts[-1] + NANOSECONDS_PER_JOINT * m) * USUAL_WIDTH // width
        self._parts = [
            (name, slice(start, stop), shape)
            for (name, shape), start, stop in zip(
                self._shapes.items(), self._starts, self._starts[1:], strict=False
            )
        ]
        self.width = width
        # numbers of scratch, tables and staging, with a block of rows of the largest result
        self.memory_sizes = (
            self._kernel.scratch_vectors * (arm.n + 2) * width,
            self._kernel.tables * (m + 1) ** 2 * width,
            (sum(self._row_sizes) + max(self._row_sizes, default=0)) * width,
        )
        self._parameters = arm.doubles.astype(self._number, copy=False)
        self._fixed = (_address(self._parameters), _address(arm.integers))
        self._inputs = ctypes.c_int64 * (2 * len(spec.needs))
        # addresses, and whether to use non-temporal stores
        self._outputs = ctypes.c_int64 * (len(spec.gives) + 1)
        self._local = threading.local()
        self._pool = BufferPool(self._number)
        # rows of the last batch, and the layout of its buffer
        self._layout: tuple[int, list[int], list[int], int] = (-1, [], [], 0)

    def call_single(
        self, values: Sequence[AnyArray | float]
    ) -> tuple[dict[str, AnyArray], AnyArray]:
        """Results and status of one state; values are floats for all joints, or arrays (m,)."""
        state = self._one_state()
        for row, value in zip(state.block, values, strict=True):
            row[...] = value
        results = np.empty(self._starts[-1] + 1, self._number)
        address, size = _address(results), self._bytes
        for i, start in enumerate(self._starts[:-1]):
            state.outputs[i] = address + size * start
        arm, addresses = self._arm, (state.inputs, state.outputs, address + size * self._starts[-1])
        self._kernel.call(*self._fixed, *addresses, *self._memory(), arm.n, arm.m, 0, 1)
        arrays = {name: results[part].reshape(shape) for name, part, shape in self._parts}
        return arrays, results[-1:]

    def kernel_call(self) -> KernelCall:
        """Arguments with which a native function calls the kernel directly."""
        memory, own = self._new_memory()
        address = ctypes.cast(self._kernel.call, ctypes.c_void_p).value or 0
        keep_alive = self._arm, self._parameters, self._kernel, memory
        sizes = self._needs, self._arm.n, self._arm.m
        return KernelCall(*sizes, self._shapes, (address, *self._fixed, *own), keep_alive)

    @property
    def constants(self) -> tuple[AnyArray, AnyArray]:
        """The floats and integers of the arm, in the order that `layout` defines."""
        return self._parameters, self._arm.integers

    @property
    def sizes(self) -> tuple[int, int]:
        """Numbers of links and of independent joints."""
        return self._arm.n, self._arm.m

    @property
    def code(self) -> Kernel:
        """The machine code, loaded as long as this object."""
        return self._kernel

    def _one_state(self) -> Any:
        """Input and output buffers of this thread for one state."""
        buffers = getattr(self._local, "one_state", None)
        if buffers is None:
            block = np.empty((self._needs, self._arm.m), self._number)
            rows = (x for row in block for x in (_address(row), 0))
            buffers = SimpleNamespace(
                block=block, inputs=self._inputs(*rows), outputs=self._outputs()
            )
            self._local.one_state = buffers
        return buffers

    def call_batch(
        self,
        inputs: Sequence[AnyArray],
        batch: tuple[int, ...],
        jobs: int | None = None,
        chunk: int | None = None,
        overlap: Callable[[], object] = lambda: None,
    ) -> tuple[dict[str, AnyArray], AnyArray]:
        """Results of all rows, and the status of each row: a joint number, or 0.

        Inputs are contiguous, of the kernel's precision and shape batch + (m,), or (m,) for all
        rows.
        `overlap` is a short function that runs while other threads wake up.
        """
        straight = self._straight_kernel(prod(batch))
        if straight is not None:
            rows = self._run(straight, inputs, batch, jobs, chunk, overlap)
            if not rows[1].any():
                return rows
        return self._run(self._kernel, inputs, batch, jobs, chunk, overlap)

    def _straight_kernel(self, rows: int) -> Kernel | None:
        """Straight-line code for this arm if it is worth its compilation.

        It does not report which joint has no inertia, so rows without a result are computed again.
        """
        blocks, numbers = rows // self.width, rows * self._starts[-1]
        past_caches = self._bytes * numbers > NONTEMPORAL_MIN
        if past_caches and any(size % self.width == 0 for size in self._row_sizes):
            # the general kernel stores these results without reading their cache lines
            return None
        if self._straight is None:
            self._blocks += blocks if blocks >= LARGE_BATCH else 0
            if self._blocks < STRAIGHT_FROM:
                return None
            from robolin.engine.compiled.straight_kernel import StraightKernels

            # the blocks of all batches until now
            self._straight, blocks = StraightKernels(self._arm), self._blocks
        straight = self._straight.get(self._spec, blocks)
        return None if straight is None else straight.kernel

    def _run(
        self,
        kernel: Kernel,
        inputs: Sequence[AnyArray],
        batch: tuple[int, ...],
        jobs: int | None,
        chunk: int | None,
        overlap: Callable[[], object],
    ) -> tuple[dict[str, AnyArray], AnyArray]:
        rows = prod(batch)
        buffer = self._buffer_for(rows)
        known = self._known(inputs, buffer)
        workers = jobs or cores()
        if not chunk:
            workers = min(workers, rows * self.row_work // MIN_NANOSECONDS_PER_THREAD)
            if workers <= 1:
                overlap()
                kernel.call(*known, *self._memory(), self._arm.n, self._arm.m, 0, rows)
                return self._results_in(buffer, batch)
        piece = chunk or self._piece(rows, workers)
        bounds = [min(self._round_up_to_blocks(rows * w // workers), rows) for w in range(workers)]
        regions = (ctypes.c_int64 * (workers + 1))(*bounds, rows)
        # rows claimed in each region, and rows done in all of them
        counters = [0] * (COUNTER_STRIDE * workers + 1)
        counters[:-1:COUNTER_STRIDE] = bounds
        claimed = (ctypes.c_int64 * len(counters))(*counters)

        def work(worker: int) -> bool:
            sizes = (self._arm.n, self._arm.m, piece, worker, workers)
            return bool(kernel.share(*known, *self._memory(), *sizes, regions, claimed))

        def at_first() -> tuple[dict[str, AnyArray], AnyArray]:
            overlap()
            return self._results_in(buffer, batch)

        results: tuple[dict[str, AnyArray], AnyArray] = run_in_threads(
            work, workers, keep_alive=(inputs, buffer), overlap=at_first
        )
        return results

    def _piece(self, rows: int, workers: int) -> int:
        """Number of rows in a piece that a thread claims."""
        share = rows * self._starts[-1] // (workers * PIECES_PER_THREAD)
        numbers = min(max(share, SMALLEST_PIECE), LARGEST_PIECE)
        return self._round_up_to_blocks(-(-numbers // self._starts[-1]))

    def _round_up_to_blocks(self, rows: int) -> int:
        """Number of rows rounded up to full blocks."""
        width = self._kernel.width
        return -(-rows // width) * width

    def _buffer_for(self, rows: int) -> ResultBuffer:
        """A buffer for all results and the status, each aligned to a cache line."""
        count, sizes, starts, total = self._layout
        if count != rows:
            sizes = [*(rows * size for size in self._row_sizes), rows]
            *starts, total = accumulate(self._in_full_lines(sizes), initial=0)
            self._layout = rows, sizes, starts, total
        line = LINE // self._bytes
        block = self._pool.take(total + line)
        address = _address(block)
        first = -(address // self._bytes) % line
        return ResultBuffer(block, address, [first + start for start in starts], sizes)

    def _results_in(
        self, buffer: ResultBuffer, batch: tuple[int, ...]
    ) -> tuple[dict[str, AnyArray], AnyArray]:
        """Results by name and the status, as views of the buffer."""
        *parts, status = (
            buffer.block[start : start + size]
            for start, size in zip(buffer.starts, buffer.sizes, strict=True)
        )
        shapes = zip(self._shapes.items(), parts, strict=True)
        return {name: part.reshape(batch + shape) for (name, shape), part in shapes}, status

    def _known(self, inputs: Sequence[AnyArray], buffer: ResultBuffer) -> tuple[Any, ...]:
        """Kernel arguments that are the same for all threads and row ranges."""
        m = self._arm.m
        at_in = (x for each in inputs for x in (_address(each), m if each.ndim > 1 else 0))
        *addresses, status = (buffer.address + self._bytes * start for start in buffer.starts)
        past_caches = self._bytes * sum(buffer.sizes[:-1]) > NONTEMPORAL_MIN
        return *self._fixed, self._inputs(*at_in), self._outputs(*addresses, past_caches), status

    def _memory(self) -> tuple[int, int, int]:
        """Addresses of scratch, tables and staging of this thread, aligned to 64 bytes."""
        addresses: tuple[int, int, int] | None = getattr(self._local, "addresses", None)
        if addresses is None:
            self._local.memory, addresses = self._new_memory()
            self._local.addresses = addresses
        return addresses

    def _new_memory(self) -> tuple[AnyArray, tuple[int, int, int]]:
        """New memory, and the addresses of its three parts."""
        padded, size = self._in_full_lines(self.memory_sizes), self._bytes
        memory = np.zeros(sum(padded) + LINE // size, self._number)
        start = -(-_address(memory) // LINE) * LINE
        return memory, (start, start + size * padded[0], start + size * (padded[0] + padded[1]))

    def _in_full_lines(self, sizes: Sequence[int]) -> list[int]:
        """Numbers of values rounded up to full cache lines."""
        line = LINE // self._bytes
        return [-(-size // line) * line for size in sizes]


def _address(array: AnyArray) -> int:
    try:
        # three times as fast as array.ctypes, but only for writable memory
        return ctypes.addressof(_byte_in(array))
    except (TypeError, ValueError):
        address: int = array.ctypes.data
        return address


# limits of the pool: number of buffers, and bytes of all of them
MAX_BUFFERS, MAX_POOLED_BYTES = 4, 1 << 28

# numbers from which memory is pooled: a new allocation would cost more than a copy
POOLED_FROM = 1 << 14

# a reused buffer may be larger than needed by this ratio: small results must not pin large buffers
MAX_OVERSIZE_RATIO = 4


def _references_when_free() -> int:
    """Reference count of an unused buffer in a list; it depends on the Python version."""
    buffers = [np.empty(1)]
    for buffer in buffers:
        return sys.getrefcount(buffer)
    raise AssertionError


FREE_REFCOUNT = _references_when_free()

# without the GIL, sys.getrefcount is not the total
REFERENCES_COUNTED = getattr(sys, "_is_gil_enabled", lambda: True)()


# one lock for all pools: it is held only while searching a short list
_lock = Lock()

if hasattr(os, "register_at_fork"):
    # a child forked while another thread holds it would wait forever
    os.register_at_fork(
        before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_lock.release
    )


class BufferPool:
    """Pool of result buffers; a buffer is reused once no result references it."""

    def __init__(self, number: Any = np.float64, most_bytes: int | None = None) -> None:
        self._number, self._most_bytes = number, most_bytes or MAX_POOLED_BYTES
        self._buffers: list[AnyArray] = []

    def take(self, size: int) -> AnyArray:
        """Return an unused buffer of at least `size` numbers."""
        if not REFERENCES_COUNTED:
            return np.empty(size, self._number)
        with _lock:
            for buffer in self._buffers:
                if (
                    size <= buffer.size <= MAX_OVERSIZE_RATIO * size
                    and sys.getrefcount(buffer) <= FREE_REFCOUNT
                ):
                    return buffer
            buffer = np.empty(size, self._number)
            self._keep(buffer)
            return buffer

    def _keep(self, buffer: AnyArray) -> None:
        """Add a buffer, and drop the oldest ones beyond the limits."""
        buffers = [*self._buffers, buffer]
        while len(buffers) > MAX_BUFFERS or sum(each.nbytes for each in buffers) > self._most_bytes:
            buffers.pop(0)
            if not buffers:
                break
        self._buffers = buffers
