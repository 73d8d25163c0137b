"""LLVM text of a complete kernel: gather rows into lanes, run the algorithm, scatter results.

The kernel processes a range of rows in blocks of `width`.  It reads and writes nothing outside
the range.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from robolin.dynamics.algebra.trigonometry import DOUBLE, Precision
from robolin.dynamics.algorithm import Shape
from robolin.engine.compiled import layout
from robolin.engine.compiled.lanes import SCALAR, Lane, Value
from robolin.engine.compiled.layout import Variant
from robolin.engine.compiled.llvm_text import RANGE, Assembly, entries, surroundings
from robolin.engine.compiled.trace import TracedChain

# status of a row whose inputs or results may be invalid and need checking
STATUS_SUSPECT = -1.0

# entries that kernels of few lanes check and store together in an incomplete block, such as that
# of one state: a loop over single entries would add a tenth to its time
FEW_LANES, GROUPED_ENTRIES = 2, 4

ARGUMENTS = ", ".join(
    f"{kind} %{name}"
    for kind, name in (
        ("ptr noalias readonly", "doubles"),
        ("ptr noalias readonly", "wholes"),
        ("ptr noalias readonly", "inputs"),
        ("ptr noalias readonly", "outputs"),
        ("ptr noalias", "complaints"),
        ("ptr noalias", "scratch"),
        ("ptr noalias", "tables"),
        ("ptr noalias", "staging"),
        ("i64", "n"),
        ("i64", "m"),
    )
)


class KernelChain(TracedChain):
    """A chain traced into LLVM assembly."""

    asm: Assembly


def trace(
    algorithm: Callable[[Any], None],
    inputs: Sequence[str],
    gives: Mapping[str, Shape],
    variant: Variant,
    width: int,
    precision: Precision = DOUBLE,
) -> tuple[str, int, int]:
    """Assembly of the kernel, its scratch vectors per link, and its number of tables."""
    asm = Assembly(width, precision)
    chain = KernelChain(asm, variant, inputs, gives)
    for row in asm.loop(Value("%first"), Value("%last"), width):
        _clear(chain)
        _gather(chain, row)
        algorithm(chain)
        _scatter(chain, row)
    for _ in asm.only_if(is_streaming(asm, len(chain.staging.gives))):
        # non-temporal stores must be visible before completion is signalled
        asm.do("fence seq_cst")
    kernel = asm.function_text("kernel", f"{ARGUMENTS}, {RANGE}")
    text = "\n".join((surroundings(width, precision), kernel, entries(ARGUMENTS)))
    return text, chain.scratch_vectors, chain.table_count


def _gather(chain: KernelChain, row: Value) -> None:
    """Load `width` rows of every input into lanes; rows after the last repeat it.

    Rows with non-finite values or angles too large for a sine are marked as suspect: x - x is
    zero for every finite number and NaN for others.
    """
    asm = chain.asm
    last = asm.int_op("sub", Value("%last"), 1)
    rows = [asm.int_op("add", row, lane) for lane in range(asm.width)]
    inside = [asm.smaller(r, last) for r in rows]
    starts = {}
    for number, name in enumerate(chain.inputs):
        data = asm.load("ptr", asm.address(Value("%inputs"), 2 * number, "i64"))
        stride = asm.load("i64", asm.address(Value("%inputs"), 2 * number + 1, "i64"))
        starts[name] = [asm.address(data, asm.int_op("mul", r, stride)) for r in inside]

    nothing = chain.accumulator((0.0,))
    for k in chain.tip_to_base():
        doubts = []
        for name in chain.inputs:
            value = _input(chain, name, k, starts[name])
            chain.arrays[name][k] = value
            doubts.append(value - value)
            if name == "q":
                doubts.append(value.if_less(asm.precision.largest_angle, value.size(), 1.0, 0.0))
        nothing.value = (nothing.value[0] + pairwise_sum(doubts),)
    _suspect(chain, nothing.lanes[0])


def _suspect(chain: KernelChain, nothing: Lane) -> None:
    """Mark rows as suspect where `nothing` is not zero, unless they have a status already."""
    status = chain.status.lanes[0]
    first = status.select(status.compare("oeq", status, 0.0), STATUS_SUSPECT, status)
    chain.status.value = (nothing.select(nothing.compare("oeq", nothing, 0.0), status, first),)


def _input(chain: KernelChain, name: str, k: Value, starts: Sequence[Value]) -> Lane:
    asm = chain.asm
    coordinate = chain.arm.int_entry(layout.COORDINATE, k)
    index = chain.arm.int_entry(layout.PLACE, coordinate)
    vector = Value("poison")
    for lane, start in enumerate(starts):
        number = asm.load(SCALAR, asm.address(start, index))
        vector = asm.emit(f"insertelement {asm.vector} {vector}, {asm.real} {number}, i32 {lane}")
    return chain.apply_mimic(name, k, Lane(asm, vector))


def _clear(chain: KernelChain) -> None:
    """Start a block: clear the status, and the staging memory if results are accumulated."""
    chain.status.value = (0.0,)
    if chain.variant.mimics:
        asm = chain.asm
        for e in asm.loop(0, chain.staging.total, 1):
            asm.store_vector(asm.splat(-0.0), asm.vector_address(Value("%staging"), e))


def _scatter(chain: KernelChain, row: Value) -> None:
    """Write the staged results and the status of the rows of this block."""
    asm = chain.asm
    nothing = chain.accumulator((0.0,))
    end = asm.int_op("add", row, asm.width)
    full_block = asm.emit(f"icmp sle i64 {end}, %last")
    for number, name in enumerate(chain.staging.gives):
        data = asm.load("ptr", asm.address(Value("%outputs"), number, "i64"))
        size = chain.staging.sizes[name]
        stage = asm.vector_address(Value("%staging"), chain.staging.offsets[name])
        block = asm.address(data, asm.int_op("mul", row, size))
        copied = is_copied(asm, len(chain.staging.gives), block, size, full_block)
        behind = asm.vector_address(Value("%staging"), chain.staging.total)
        target = asm.emit(f"select i1 {copied}, ptr {behind}, ptr {block}")
        starts = [asm.address(target, asm.int_op("mul", size, lane)) for lane in range(asm.width)]
        # a full block is written in groups of `width` entries; the last group may overlap
        enough = asm.emit(f"icmp sge i64 {size}, {asm.width}")
        grouped = asm.emit(f"and i1 {full_block}, {enough}")
        done = asm.emit(f"select i1 {grouped}, i64 {size}, i64 0")
        last = asm.int_op("sub", size, asm.width)
        streamed = asm.emit(f"select i1 {_streamed(chain, data, size)}, i64 {done}, i64 0")
        for begin, stop, past_caches in ((0, streamed, True), (streamed, done, False)):
            for group in asm.loop(begin, stop, asm.width):
                e = asm.smaller(group, last)
                total = _move_out(chain, stage, starts, e, past_caches)
                nothing.value = (nothing.value[0] + (total - total),)
        for few in _entry_groups(asm, done, size):
            addresses = [asm.vector_address(stage, entry) for entry in few]
            total = pairwise_sum([Lane(asm, asm.load_vector(address)) for address in addresses])
            nothing.value = (nothing.value[0] + (total - total),)
        _scatter_one_by_one(chain, row, stage, starts, done, size)
        copy_past_caches(asm, copied, target, block, size)
    _suspect(chain, nothing.lanes[0])
    _scatter_status(chain, row)


def _scatter_one_by_one(
    chain: KernelChain, row: Value, stage: Value, starts: Sequence[Value], done: Value, size: Value
) -> None:
    """Write the entries outside full groups, for rows inside the range."""
    asm = chain.asm
    for lane in range(asm.width):
        present = asm.emit(f"icmp slt i64 {asm.int_op('add', row, lane)}, %last")
        for _ in asm.only_if(present):
            for few in _entry_groups(asm, done, size):
                for e in few:
                    vector = asm.vector_address(stage, e)
                    number_here = asm.load(SCALAR, asm.address(vector, lane))
                    tidy = asm.emit(f"fadd {asm.real} {number_here}, 0.0")
                    asm.store(tidy, asm.address(starts[lane], e))


def _entry_groups(asm: Assembly, first: Value, end: Value) -> Iterator[list[Value]]:
    """Loops over the entries, in groups and then one by one."""
    middle = first
    if asm.width <= FEW_LANES:
        grouped = asm.int_op("and", asm.int_op("sub", end, first), -GROUPED_ENTRIES)
        middle = asm.int_op("add", first, grouped)
        for e in asm.loop(first, middle, GROUPED_ENTRIES):
            yield [e, *(asm.int_op("add", e, i) for i in range(1, GROUPED_ENTRIES))]
    for e in asm.loop(middle, end, 1):
        yield [e]


def is_streaming(asm: Assembly, results: int) -> Value:
    """Flag after the output addresses: the results are too large for the caches."""
    flag = asm.load("i64", asm.address(Value("%outputs"), results, "i64"))
    return asm.emit(f"icmp ne i64 {flag}, 0")


def _streamed(chain: KernelChain, data: Value, size: Value) -> Value:
    """Condition for non-temporal stores of a result: all its vectors are aligned."""
    asm = chain.asm
    address = asm.emit(f"ptrtoint ptr {data} to i64")
    off = asm.int_op("and", address, asm.precision.size * asm.width - 1)
    rest = asm.int_op("and", size, asm.width - 1)
    on_boundaries = asm.emit(f"icmp eq i64 {asm.int_op('or', off, rest)}, 0")
    streaming = is_streaming(asm, len(chain.staging.gives))
    return asm.emit(f"and i1 {streaming}, {on_boundaries}")


def is_copied(
    asm: Assembly, results: int, block: Value, size: Value | int, full_block: Value
) -> Value:
    """Condition for rows that are written to the cache first, then copied past it.

    The rows of a block fill whole cache lines, but one row does not.  Without the copy, every line
    would be read from memory before it is written.
    """
    address = asm.emit(f"ptrtoint ptr {block} to i64")
    off = asm.int_op("and", address, asm.precision.size * asm.width - 1)
    aligned = asm.emit(f"icmp eq i64 {off}, 0")
    uneven = asm.emit(f"icmp ne i64 {asm.int_op('and', Value(str(size)), asm.width - 1)}, 0")
    fits = asm.emit(f"and i1 {aligned}, {full_block}")
    useful = asm.emit(f"and i1 {is_streaming(asm, results)}, {uneven}")
    return asm.emit(f"and i1 {fits}, {useful}")


def copy_past_caches(
    asm: Assembly, copied: Value, source: Value, block: Value, size: Value | int
) -> None:
    """Copy a block of rows with non-temporal stores."""
    for _ in asm.only_if(copied):
        for e in asm.loop(0, size, 1):
            vector = asm.load_vector(asm.vector_address(source, e))
            asm.stream_vector(vector, asm.vector_address(block, e))


def pairwise_sum(values: list[Lane]) -> Lane:
    """Pairwise sum, which shortens the dependency chain."""
    while len(values) > 1:
        odd = values[-1:] if len(values) % 2 else []
        values = [a + b for a, b in zip(values[::2], values[1::2], strict=False)] + odd
    return values[0]


def _move_out(
    chain: KernelChain, stage: Value, starts: Sequence[Value], e: Value, past_caches: bool
) -> Lane:
    """Write `width` entries of `width` rows; return the sum of the entries in each row."""
    asm, width = chain.asm, chain.asm.width
    entries = [asm.vector_address(stage, asm.int_op("add", e, i)) for i in range(width)]
    # adding 0.0 converts -0.0 to 0.0
    lanes = [Lane(asm, asm.load_vector(entry)) + 0.0 for entry in entries]
    for start, vector in zip(starts, transposed_lanes(asm, lanes), strict=True):
        address = asm.address(start, e)
        if past_caches:
            asm.stream_vector(vector, address)
        else:
            asm.store_vector(vector, address, aligned=False)
    return pairwise_sum(lanes)


def transposed_lanes(asm: Assembly, lanes: Sequence[Lane]) -> list[Value]:
    """Transpose vectors of one entry each into vectors of one row each.

    Fewer vectors than lanes, a power of two, are transposed in square blocks of lanes: the first
    vector then has the first row of every block.
    """
    width = asm.width
    vectors = [lane.value for lane in lanes]
    step = 1
    while step < len(vectors):
        for i in range(len(vectors)):
            if not i & step:
                a, b = vectors[i], vectors[i + step]
                low = [x if not x & step else width + x - step for x in range(width)]
                high = [x + step if not x & step else width + x for x in range(width)]
                vectors[i], vectors[i + step] = asm.shuffle(a, b, low), asm.shuffle(a, b, high)
        step *= 2
    return vectors


def _scatter_status(chain: KernelChain, row: Value) -> None:
    asm = chain.asm
    status = chain.status.lanes[0]
    for lane in range(asm.width):
        here = asm.int_op("add", row, lane)
        present = asm.emit(f"icmp slt i64 {here}, %last")
        for _ in asm.only_if(present):
            number = asm.emit(f"extractelement {asm.vector} {status.value}, i32 {lane}")
            address = asm.address(Value("%complaints"), here)
            asm.store(number, address)
