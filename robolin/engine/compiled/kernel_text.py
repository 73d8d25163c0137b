"""A whole kernel: rows in, the algorithm on lanes, rows out.

The kernel goes through a range of rows in blocks of `width`.  In each block it gathers the inputs
into lanes, runs the algorithm, and scatters the results; nothing outside the range is read or
written.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from robolin.dynamics.algebra.comparison import Shape
from robolin.dynamics.algebra.trigonometry import LARGEST_ANGLE
from robolin.engine.compiled import layout
from robolin.engine.compiled.lanes import Lane, Value
from robolin.engine.compiled.layout import Variant
from robolin.engine.compiled.llvm_text import RANGE, Assembly, entries, surroundings
from robolin.engine.compiled.trace import TracedChain

# what a row says whose inputs should be looked at before its results are believed
STATUS_SUSPECT = -1.0

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
    """A chain that is written down in LLVM's assembly."""

    asm: Assembly


def trace(
    algorithm: Callable[[Any], None],
    inputs: Sequence[str],
    gives: Mapping[str, Shape],
    variant: Variant,
    width: int,
) -> tuple[str, int, int]:
    """The kernel's assembly, its scratch vectors per link and its number of tables."""
    asm = Assembly(width)
    chain = KernelChain(asm, variant, inputs, gives)
    for row in asm.loop(Value("%first"), Value("%last"), width):
        _clear(chain)
        _gather(chain, row)
        algorithm(chain)
        _scatter(chain, row)
    for _ in asm.only_if(_streaming(chain)):
        # what went past the caches is there before anybody is told that it is
        asm.do("fence seq_cst")
    kernel = asm.whole_function("kernel", f"{ARGUMENTS}, {RANGE}")
    text = "\n".join((surroundings(width), kernel, entries(ARGUMENTS)))
    return text, chain.scratch_vectors, chain.table_count


def _gather(chain: KernelChain, row: Value) -> None:
    """Bring `width` rows of every input into lanes; rows beyond the last repeat it.

    On the way, rows are marked that have values which are not finite, or angles too large for a
    sine: x - x is zero for every finite number and NaN for the others.
    """
    asm = chain.asm
    last = asm.whole("sub", Value("%last"), 1)
    rows = [asm.whole("add", row, lane) for lane in range(asm.width)]
    inside = [asm.smaller(r, last) for r in rows]
    starts = {}
    for number, name in enumerate(chain.inputs):
        data = asm.load("ptr", asm.address(Value("%inputs"), 2 * number, "i64"))
        stride = asm.load("i64", asm.address(Value("%inputs"), 2 * number + 1, "i64"))
        starts[name] = [asm.address(data, asm.whole("mul", r, stride)) for r in inside]

    nothing = chain.cell((0.0,))
    for k in chain.tip_to_base():
        doubts = []
        for name in chain.inputs:
            value = _input(chain, name, k, starts[name])
            chain.arrays[name][k] = value
            doubts.append(value - value)
            if name == "q":
                doubts.append(value.if_less(LARGEST_ANGLE, value.size(), 1.0, 0.0))
        nothing.value = (nothing.value[0] + _sum(doubts),)
    _suspect(chain, nothing.lanes[0])


def _suspect(chain: KernelChain, nothing: Lane) -> None:
    """Where the sum of what should be nothing is not, complain unless it was done already."""
    said = chain.complaint.lanes[0]
    first = said.select(said.compare("oeq", said, 0.0), STATUS_SUSPECT, said)
    chain.complaint.value = (nothing.select(nothing.compare("oeq", nothing, 0.0), said, first),)


def _input(chain: KernelChain, name: str, k: Value, starts: Sequence[Value]) -> Lane:
    asm = chain.asm
    coordinate = chain.arm.whole(layout.COORDINATE, k)
    place = chain.arm.whole(layout.PLACE, coordinate)
    vector = Value("poison")
    for lane, start in enumerate(starts):
        number = asm.load("double", asm.address(start, place))
        vector = asm.emit(f"insertelement {asm.vector} {vector}, double {number}, i32 {lane}")
    return chain.apply_mimic(name, k, Lane(asm, vector))


def _clear(chain: KernelChain) -> None:
    """Start a block: no complaints, and nothing staged where results are added up."""
    chain.complaint.value = (0.0,)
    if chain.variant.mimics:
        asm = chain.asm
        for e in asm.loop(0, chain.staging.total, 1):
            asm.store_vector(asm.splat(-0.0), asm.vector_address(Value("%staging"), e))


def _scatter(chain: KernelChain, row: Value) -> None:
    """Write the staged results of this block's rows, and whom each row complained of."""
    asm = chain.asm
    nothing = chain.cell((0.0,))
    end = asm.whole("add", row, asm.width)
    whole_block = asm.emit(f"icmp sle i64 {end}, %last")
    for number, name in enumerate(chain.staging.gives):
        data = asm.load("ptr", asm.address(Value("%outputs"), number, "i64"))
        size = chain.staging.sizes[name]
        stage = asm.vector_address(Value("%staging"), chain.staging.offsets[name])
        starts = [
            asm.address(data, asm.whole("mul", asm.whole("add", row, lane), size))
            for lane in range(asm.width)
        ]
        # a whole block goes out in groups of `width` entries, the last one overlapping if it must
        enough = asm.emit(f"icmp sge i64 {size}, {asm.width}")
        grouped = asm.emit(f"and i1 {whole_block}, {enough}")
        done = asm.emit(f"select i1 {grouped}, i64 {size}, i64 0")
        last = asm.whole("sub", size, asm.width)
        streamed = asm.emit(f"select i1 {_streamed(chain, data, size)}, i64 {done}, i64 0")
        for begin, stop, past_caches in ((0, streamed, True), (streamed, done, False)):
            for group in asm.loop(begin, stop, asm.width):
                e = asm.smaller(group, last)
                total = _move_out(chain, stage, starts, e, past_caches)
                nothing.value = (nothing.value[0] + (total - total),)
        for e in asm.loop(done, size, 1):
            value = Lane(asm, asm.load_vector(asm.vector_address(stage, e)))
            nothing.value = (nothing.value[0] + (value - value),)
        _scatter_one_by_one(chain, row, stage, starts, done, size)
    _suspect(chain, nothing.lanes[0])
    _scatter_complaints(chain, row)


def _scatter_one_by_one(
    chain: KernelChain, row: Value, stage: Value, starts: Sequence[Value], done: Value, size: Value
) -> None:
    """Write the entries that make no whole group, of the rows that there are."""
    asm = chain.asm
    for lane in range(asm.width):
        present = asm.emit(f"icmp slt i64 {asm.whole('add', row, lane)}, %last")
        for _ in asm.only_if(present):
            for e in asm.loop(done, size, 1):
                vector = asm.vector_address(stage, e)
                number_here = asm.load("double", asm.address(vector, lane))
                tidy = asm.emit(f"fadd double {number_here}, 0.0")
                asm.do(f"store double {tidy}, ptr {asm.address(starts[lane], e)}, align 8")


def _streaming(chain: KernelChain) -> Value:
    """Whether the results are too many to stay in any cache; said behind their addresses."""
    asm = chain.asm
    said = asm.load("i64", asm.address(Value("%outputs"), len(chain.staging.gives), "i64"))
    return asm.emit(f"icmp ne i64 {said}, 0")


def _streamed(chain: KernelChain, data: Value, size: Value) -> Value:
    """Whether this result may go past the caches: only if all its vectors lie on boundaries."""
    asm = chain.asm
    place = asm.emit(f"ptrtoint ptr {data} to i64")
    off = asm.whole("and", place, 8 * asm.width - 1)
    rest = asm.whole("and", size, asm.width - 1)
    on_boundaries = asm.emit(f"icmp eq i64 {asm.whole('or', off, rest)}, 0")
    return asm.emit(f"and i1 {_streaming(chain)}, {on_boundaries}")


def _sum(values: list[Lane]) -> Lane:
    """Added up in pairs, so that no addition waits for all the others."""
    while len(values) > 1:
        odd = values[-1:] if len(values) % 2 else []
        values = [a + b for a, b in zip(values[::2], values[1::2], strict=False)] + odd
    return values[0]


def _move_out(
    chain: KernelChain, stage: Value, starts: Sequence[Value], e: Value, past_caches: bool
) -> Lane:
    """`width` entries of `width` rows at once; the sum of the entries in each row comes back."""
    asm, width = chain.asm, chain.asm.width
    entries = [asm.vector_address(stage, asm.whole("add", e, i)) for i in range(width)]
    # adding nothing turns -0.0 into 0.0: a result has one zero only
    lanes = [Lane(asm, asm.load_vector(entry)) + 0.0 for entry in entries]
    for start, vector in zip(starts, _transposed(asm, lanes), strict=True):
        place = asm.address(start, e)
        if past_caches:
            asm.stream_vector(vector, place)
        else:
            asm.store_vector(vector, place, aligned=False)
    return _sum(lanes)


def _transposed(asm: Assembly, lanes: Sequence[Lane]) -> list[Value]:
    """Entries by lanes turned into rows by entries."""
    width = asm.width
    vectors = [lane.value for lane in lanes]
    step = 1
    while step < width:
        for i in range(width):
            if not i & step:
                a, b = vectors[i], vectors[i + step]
                low = [x if not x & step else width + x - step for x in range(width)]
                high = [x + step if not x & step else width + x for x in range(width)]
                vectors[i], vectors[i + step] = asm.shuffle(a, b, low), asm.shuffle(a, b, high)
        step *= 2
    return vectors


def _scatter_complaints(chain: KernelChain, row: Value) -> None:
    asm = chain.asm
    said = chain.complaint.lanes[0]
    for lane in range(asm.width):
        here = asm.whole("add", row, lane)
        present = asm.emit(f"icmp slt i64 {here}, %last")
        for _ in asm.only_if(present):
            number = asm.emit(f"extractelement {asm.vector} {said.value}, i32 {lane}")
            place = asm.address(Value("%complaints"), here)
            asm.do(f"store double {number}, ptr {place}, align 8")
