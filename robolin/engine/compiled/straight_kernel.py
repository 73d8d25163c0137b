"""Kernels of one arm as straight-line code: its numbers are constants, and loops are unrolled.

A general kernel reads the numbers of an arm from tables and passes values of links through memory.
Straight-line code needs neither, and leaves out products with 0 and 1: it takes about half the time
for one state, and two thirds for many.  Each arm needs its own, so it must pay for its compilation.
Results are bit-identical to those of the general kernel, unless an intermediate value overflows.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import Any

from robolin.core.records import dataclass
from robolin.dynamics.algebra.scalar import Scalar
from robolin.dynamics.algebra.trigonometry import DOUBLE, FLOAT, sin_cos_in, tanh_in
from robolin.engine.compiled.kernel_text import (
    ARGUMENTS,
    STATUS_SUSPECT,
    copy_past_caches,
    is_copied,
    is_streaming,
    pairwise_sum,
    transposed_lanes,
)
from robolin.engine.compiled.kernels import Kernel, KernelSpec, cached_kernel_of
from robolin.engine.compiled.lanes import Lane, Value
from robolin.engine.compiled.layout import ArmTables
from robolin.engine.compiled.llvm_text import (
    RANGE,
    Assembly,
    entries,
    float32_value,
    surroundings,
)
from robolin.engine.compiled.native import KernelTable
from robolin.engine.compiled.plan import LARGE_BATCH, STRAIGHT_FROM
from robolin.engine.operation_graph import (
    ADDITION,
    CHOICE,
    COSINE_OF,
    INPUT_NUMBER,
    MULTIPLICATION,
    NEGATIVE,
    ROOT_OF,
    SINE_OF,
    TANH_OF,
    GraphNumber,
    Operand,
    UnrolledChain,
    UnrolledProgram,
    unrolled_program,
)
from robolin.engine.parameters import Parameters
from robolin.errors import RobolinError

# links from which code and compile time grow too large
MOST_LINKS = 12
# total of blocks of rows from which a kernel is compiled
COMPILED_FROM = 200_000
# bytes of a register of AVX-512
WIDEST_REGISTER = 64
# angles of one state whose sines are computed together
PACKED_NUMBERS = 8


@dataclass(frozen=True, eq=False)
class StraightKernel:
    """A kernel of one arm that compiled code calls by address, like a `NativeKernel`."""

    kernel: Kernel
    address: int
    links: int
    joints: int

    def table(self) -> KernelTable:
        """New table; the kernel needs no memory unless its results are too large for the caches."""
        table = KernelTable(self.address, 0, 0, 0, 0, 0, self.links, self.joints)
        table._keep_alive = self.kernel
        return table


class StraightKernels:
    """The straight-line kernels of an arm that are loaded, and the work that others would do."""

    def __init__(self, arm: ArmTables) -> None:
        self._arm = arm
        self.loaded: dict[tuple[str, int], StraightKernel] = {}
        self._blocks: dict[tuple[str, int], int] = {}
        self._missing: set[tuple[str, int]] = set()

    def get(self, spec: KernelSpec, blocks: int) -> StraightKernel | None:
        """The kernel, loaded if it is in the cache, compiled if that pays; else None.

        blocks: number of blocks of rows that it will compute; small batches do not compile one,
            because the compilation would delay a control loop
        """
        key = spec.name, spec.width
        if key not in self.loaded and self._arm.n <= MOST_LINKS:
            count = self._blocks[key] = self._blocks.get(key, 0) + blocks
            # the general kernel has now taken as long as the compilation takes
            pays = count >= COMPILED_FROM
            useful = blocks >= LARGE_BATCH and count >= STRAIGHT_FROM
            if useful and (pays or key not in self._missing):
                kernel = straight_kernel(self._arm, spec, pays)
                if kernel is None:
                    self._missing.add(key)
                else:
                    self.loaded[key] = kernel
        return self.loaded.get(key)


def straight_kernel(arm: ArmTables, spec: KernelSpec, compile_it: bool) -> StraightKernel | None:
    """The kernel from the cache, or compiled; None if it is neither, or if there is none."""

    def text() -> str:
        return straight_text(arm.parameters, spec)

    numbers = arm.doubles.tobytes() + arm.integers.tobytes()
    try:
        kernel = cached_kernel_of(spec, numbers, text if compile_it else None)
    except (RobolinError, ArithmeticError):
        # a joint without inertia in all states, or a constant that is not finite in single
        # precision: the general kernel reports it
        return None
    if kernel is None:
        return None
    address = kernel.keep_alive.get_function_address("call")
    return StraightKernel(kernel, address, arm.n, arm.m)


def straight_text(parameters: Parameters, spec: KernelSpec) -> str:
    """LLVM assembly of the functions `call` and `share`, with the arguments of a kernel."""
    width, precision, gives = spec.width, spec.precision, dict(spec.gives)
    chain_type = UnrolledChain if precision is DOUBLE else _SinglePrecisionChain
    program = unrolled_program(
        parameters, spec.algorithm.run, spec.needs, gives, chain_type=chain_type
    )
    asm = Assembly(width, precision)
    for row in asm.loop(Value("%first"), Value("%last"), width):
        last = asm.int_op("sub", Value("%last"), 1)
        rows = [asm.smaller(asm.int_op("add", row, lane), last) for lane in range(width)]
        inputs = _inputs(asm, program, rows)
        numbers = _Numbers(asm, inputs, _angles(program))
        for each in program.needed():
            numbers.add(each)
        _store(asm, program, numbers, inputs, rows)
    for _ in asm.only_if(is_streaming(asm, len(program.results))):
        # non-temporal stores must be visible before completion is signalled
        asm.do("fence seq_cst")
    kernel = asm.function_text("kernel", f"{ARGUMENTS}, {RANGE}")
    return "\n".join((surroundings(width, precision), kernel, entries(ARGUMENTS)))


def _rounded(operation: Callable[[float, float], float], swapped: bool = False) -> Any:
    """The operation on two constants; NotImplemented for other operands."""

    def method(self: float, other: Any) -> Any:
        if not isinstance(other, (float, int)):
            return NotImplemented
        a, b = float(self), float32_value(other)
        return SinglePrecisionConstant(operation(b, a) if swapped else operation(a, b))

    return method


class SinglePrecisionConstant(float):
    """A constant of single precision, whose operations round their results to single precision.

    Double precision has more than twice the digits of single precision.  Rounding a result of
    + - * / √ in double precision therefore gives the correctly rounded result.
    """

    def __new__(cls, number: float) -> SinglePrecisionConstant:
        return super().__new__(cls, float32_value(number))

    __add__, __radd__ = _rounded(operator.add), _rounded(operator.add)
    __sub__, __rsub__ = _rounded(operator.sub), _rounded(operator.sub, swapped=True)
    __mul__, __rmul__ = _rounded(operator.mul), _rounded(operator.mul)
    __truediv__, __rtruediv__ = _rounded(operator.truediv), _rounded(operator.truediv, swapped=True)

    def __neg__(self) -> SinglePrecisionConstant:
        return SinglePrecisionConstant(-float(self))

    def sqrt(self) -> SinglePrecisionConstant:
        return SinglePrecisionConstant(math.sqrt(self) if self >= 0.0 else math.nan)

    def sin_cos(self) -> tuple[Scalar, Scalar]:
        return sin_cos_in(FLOAT)(self)

    def tanh(self) -> Scalar:
        return tanh_in(FLOAT, self)


class _SinglePrecisionChain(UnrolledChain):
    """A chain that records a computation in single precision, with its round-off thresholds."""

    constant = SinglePrecisionConstant

    def guard_inertia(self, k: int, value: Scalar, size: Callable[[], Scalar]) -> Scalar:
        return super().guard_inertia(k, value, lambda: size() * FLOAT.less_inertia)

    def guard_rank(self, name: str, value: Scalar, least: Scalar) -> Scalar:
        return super().guard_rank(name, value, least * FLOAT.less_rank)


class _PackedAssembly(Assembly):
    """Instructions on vectors of another width, in the function of other instructions."""

    def __init__(self, asm: Assembly, width: int) -> None:
        super().__init__(width)
        self._outer = asm
        self._body, self._entry = asm._body, asm._entry

    def _name(self) -> Value:
        return self._outer._name()


class _Numbers:
    """Lanes of the numbers of a graph."""

    def __init__(
        self,
        asm: Assembly,
        inputs: Mapping[tuple[str, int], Lane],
        angles: Sequence[GraphNumber],
    ) -> None:
        self.asm, self._inputs = asm, inputs
        self._lanes: dict[int, Any] = {}
        if asm.width == 1:
            own = [angle for angle in angles if angle.kind == INPUT_NUMBER]
            for first in range(0, len(own), PACKED_NUMBERS):
                self._add_packed(own[first : first + PACKED_NUMBERS])

    def _add_packed(self, angles: Sequence[GraphNumber]) -> None:
        """Sines and cosines of several angles of one state, in the lanes of one vector."""
        packed = _PackedAssembly(self.asm, PACKED_NUMBERS)
        vector = Value("zeroinitializer")
        for i, angle in enumerate(angles):
            self.add(angle)
            number = self.asm.emit(f"extractelement <1 x double> {self[angle].value}, i32 0")
            vector = packed.emit(
                f"insertelement {packed.vector} {vector}, double {number}, i32 {i}"
            )
        results: Any = Lane(packed, vector).sin_cos()
        for i, angle in enumerate(angles):
            for each, lanes in zip(angle.sin_cos(), results, strict=True):
                number = packed.emit(f"extractelement {packed.vector} {lanes.value}, i32 {i}")
                single = self.asm.emit(f"insertelement <1 x double> poison, double {number}, i32 0")
                self._lanes[each.number] = Lane(self.asm, single)

    def __getitem__(self, number: Operand) -> Any:
        if not isinstance(number, GraphNumber):
            return float(number)
        lane = self._lanes[number.unsigned.number]
        return -lane if number.kind is NEGATIVE else lane

    def add(self, number: GraphNumber) -> None:
        """Compute a number whose operands are known."""
        if number.number not in self._lanes:
            self._lanes[number.number] = self._value(number)

    def _value(self, number: GraphNumber) -> Any:
        kind, operands = number.kind, number.operands
        if kind == INPUT_NUMBER:
            return self._inputs[number.entry]
        if kind in (SINE_OF, COSINE_OF):
            (angle,) = operands
            assert isinstance(angle, GraphNumber), "a constant angle has a constant sine"
            sine, cosine = (each.number for each in angle.sin_cos())
            self._lanes[sine], self._lanes[cosine] = self[angle].sin_cos()
            return self._lanes[number.number]
        if kind == ROOT_OF:
            return self[operands[0]].sqrt()
        if kind == TANH_OF:
            return self[operands[0]].tanh()
        if kind == CHOICE:
            lane = Lane(self.asm, self.asm.splat(0.0))
            return lane.if_less(*(self[each] for each in operands))
        a, b = operands
        if kind == ADDITION:
            if isinstance(b, GraphNumber) and b.kind is NEGATIVE:
                return self[a] - self[b.unsigned]
            return self[a] + self[b]
        return self[a] * self[b] if kind == MULTIPLICATION else self[a] / self[b]


def _inputs(
    asm: Assembly, program: UnrolledProgram, rows: Sequence[Value]
) -> dict[tuple[str, int], Lane]:
    """Load the rows of every input into lanes."""
    lanes: dict[tuple[str, int], Lane] = {}
    for number, (name, numbers) in enumerate(program.inputs.items()):
        data = asm.load("ptr", asm.address(Value("%inputs"), 2 * number, "i64"))
        stride = asm.load("i64", asm.address(Value("%inputs"), 2 * number + 1, "i64"))
        starts = [asm.address(data, asm.int_op("mul", row, stride)) for row in rows]
        columns = _columns(asm, starts, len(numbers))
        lanes |= {(name, i): Lane(asm, column) for i, column in enumerate(columns)}
    return lanes


def _columns(asm: Assembly, starts: Sequence[Value], count: int) -> list[Value]:
    """Load the numbers of rows that begin at `starts`; a vector has one number of every row."""
    columns: list[Value] = []
    for first in range(0, count, asm.width):
        part = min(asm.width, count - first)
        side = _block_side(part)
        rows = [asm.load_part(asm.address(start, first), part, side) for start in starts]
        blocks = [Lane(asm, asm.joined(rows[i::side], side)) for i in range(side)]
        columns += transposed_lanes(asm, blocks)[:part]
    return columns


def _block_side(count: int) -> int:
    """Side of the square blocks in which `count` numbers of several rows are transposed."""
    return 1 << (count - 1).bit_length()


def _store(
    asm: Assembly,
    program: UnrolledProgram,
    numbers: _Numbers,
    inputs: Mapping[tuple[str, int], Lane],
    rows: Sequence[Value],
) -> None:
    """Store results and status; rows after the last repeat it, and are stored in its place."""
    zero = Lane(asm, asm.splat(0.0))
    doubts: list[Lane] = []
    for angle in _angles(program):
        doubts.append(zero.if_less(asm.precision.largest_angle, numbers[angle].size(), 1.0, 0.0))
    for guard in program.guards:
        value = numbers[guard.value]
        high = zero.if_less(numbers[guard.floor], value, 0.0, 1.0)
        doubts.append(zero.if_less(0.0, value, high, 1.0))
    sums = [pairwise_sum([*inputs.values()])]
    end = asm.int_op("add", rows[0], asm.width)
    full_block = asm.emit(f"icmp sle i64 {end}, %last")
    for number, result in enumerate(program.results.values()):
        data = asm.load("ptr", asm.address(Value("%outputs"), number, "i64"))
        size = prod(result.shape)
        block = asm.address(data, asm.int_op("mul", rows[0], size))
        copied = is_copied(asm, len(program.results), block, size, full_block)
        starts = [
            asm.emit(
                f"select i1 {copied}, ptr {asm.address(Value('%staging'), lane * size)}, "
                f"ptr {asm.address(data, asm.int_op('mul', row, size))}"
            )
            for lane, row in enumerate(rows)
        ]
        # adding 0.0 converts -0.0 to 0.0
        lanes = [zero + numbers[each] for each in result.numbers]
        sums += _store_rows(asm, lanes, starts)
        copy_past_caches(asm, copied, Value("%staging"), block, size)
    # NaN if an input or a result is not finite
    total = pairwise_sum(sums)
    doubt = pairwise_sum([*doubts, total - total])
    status = zero.select(zero.compare("oeq", doubt, 0.0), 0.0, STATUS_SUSPECT)
    for lane, row in enumerate(rows):
        value = asm.emit(f"extractelement {asm.vector} {status.value}, i32 {lane}")
        asm.store(value, asm.address(Value("%complaints"), row))


def _store_rows(asm: Assembly, lanes: Sequence[Lane], starts: Sequence[Value]) -> list[Lane]:
    """Store the numbers of the rows that begin at `starts`; return sums of all numbers.

    `_columns` is the inverse.  The sums are computed while the numbers are in registers.
    """
    sums = []
    for first in range(0, len(lanes), asm.width):
        part = lanes[first : first + asm.width]
        sums.append(pairwise_sum([*part]))
        if len(part) == 1 or (len(part) < asm.width and not _has_masks(asm)):
            _store_one_by_one(asm, part, [asm.address(start, first) for start in starts])
            continue
        side = _block_side(len(part))
        unused = [Lane(asm, Value("poison"))] * (side - len(part))
        for i, vector in enumerate(transposed_lanes(asm, [*part, *unused])):
            for row in range(i, asm.width, side):
                numbers = asm.lanes_from(vector, row - i, side)
                asm.store_part(numbers, asm.address(starts[row], first), len(part), side)
    return sums


def _has_masks(asm: Assembly) -> bool:
    """True for AVX-512; earlier processors store parts of a vector slowly."""
    return asm.width * asm.precision.size == WIDEST_REGISTER


def _store_one_by_one(asm: Assembly, lanes: Sequence[Lane], starts: Sequence[Value]) -> None:
    for e, each in enumerate(lanes):
        for lane, start in enumerate(starts):
            value = asm.emit(f"extractelement {asm.vector} {each.value}, i32 {lane}")
            asm.store(value, asm.address(start, e))


def _angles(program: UnrolledProgram) -> list[GraphNumber]:
    """Arguments of sines and cosines."""
    angles = {}
    for number in program.needed():
        if number.kind in (SINE_OF, COSINE_OF):
            (angle,) = number.operands
            assert isinstance(angle, GraphNumber), "a constant angle has a constant sine"
            angles[angle.number] = angle
    return list(angles.values())
