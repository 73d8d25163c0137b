"""C functions with loops, which read the arm's numbers from tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod

from robolin.codegen.c_function import NOT_THERE, TOO_FAR, CFunction
from robolin.codegen.c_statements import STORED_ZERO, CInstructions, literal
from robolin.codegen.functions import ChosenQuestion, Precision
from robolin.dynamics.algebra.scalar import Scalar
from robolin.engine.compiled import layout
from robolin.engine.compiled.lanes import Lane, Value
from robolin.engine.compiled.trace import TracedChain
from robolin.engine.parameters import Parameters, first_of_subtrees


@dataclass(frozen=True)
class ArmData:
    """Numbers of an arm, and the names of the two tables that contain them."""

    parameters: Parameters
    doubles: str
    integers: str

    def text(self, precision: Precision) -> Iterator[str]:
        """C source of both tables."""
        parents = [0, *(row.parent for row in self.parameters.links)]
        integers = layout.int_table(self.parameters, first_of_subtrees(parents)).tolist()
        doubles = layout.float_table(self.parameters).tolist()
        reals = [literal(number, precision) for number in doubles]
        yield from _table(f"{precision.real} {self.doubles}", reals)
        yield from _table(f"int {self.integers}", list(map(str, integers)))


class LoopChain(TracedChain):
    """Traced chain that distinguishes a singular result from a joint without inertia."""

    asm: CInstructions

    def positive(self, k: Value, value: Scalar, size: Callable[[], Scalar]) -> Scalar:
        times = self.asm.precision.less_inertia
        return super().positive(k, value, size if times == 1.0 else lambda: size() * times)

    def regular(self, name: str, value: Scalar, least: Scalar) -> Scalar:
        times = self.asm.precision.less_rank
        floor = least if times == 1.0 else least * times
        return self._above(Value(str(NOT_THERE)), value, floor)


def loop_function(
    question: ChosenQuestion, data: ArmData, precision: Precision, called: str
) -> CFunction:
    """Translate the algorithm, with its loops, for this arm."""
    parameters, algorithm = data.parameters, question.algorithm
    n, m = parameters.n, len(parameters.order)
    asm = CInstructions(precision, called, n, m, data.doubles, data.integers)
    chain = LoopChain(asm, layout.variant_of(parameters), algorithm.needs, algorithm.gives)
    _clear(chain)
    _gather(chain, question.arguments)
    algorithm.run(chain)
    _hand_out(chain)
    gives = {name: parameters.sizes(shape) for name, shape in algorithm.gives.items()}
    memory = {
        "scratch": chain.scratch_vectors * (n + 2),
        "tables": chain.table_count * (m + 1) ** 2,
        "staging": sum(max(1, prod(shape)) for shape in gives.values()),
    }
    arrays = [f"{precision.real} {name}[{size}];" for name, size in memory.items() if size]
    return CFunction(
        question.verb,
        algorithm.title,
        tuple(question.arguments.values()),
        gives,
        (
            *_fixed(question, precision),
            *arrays,
            *asm.entry,
            *_beginning(precision),
            "",
            *asm.statements(),
            "return status;",
        ),
        sum(memory.values()) + asm.variables,
        frozenset(asm.functions),
    )


def _fixed(question: ChosenQuestion, precision: Precision) -> Iterator[str]:
    """Inputs that are the same in every state."""
    for name, values in question.fixed.items():
        numbers = ", ".join(literal(value, precision) for value in values.tolist())
        yield f"static const {precision.real} {name}[] = {{{numbers}}};"


def _beginning(precision: Precision) -> Iterator[str]:
    real, zero = precision.real, literal(0.0, precision)
    yield f"const {real} zero = {zero}, none = zero / zero;"
    # a zero that the compiler does not know: otherwise it would call memset to clear memory
    yield f"const {real} {STORED_ZERO} = q[0] - q[0];"
    yield "int status, far = 0;"
    yield f"{real} clean;"
    yield f"(void)none, (void){STORED_ZERO};"


def _clear(chain: LoopChain) -> None:
    """Reset the status and fill the results with -0.0, which changes no sum."""
    chain.status.value = (0.0,)
    asm = chain.asm
    for e in asm.loop(0, chain.staging.total, 1):
        asm.store_vector(asm.splat(-0.0), asm.vector_address(asm.staging, e))


def _gather(chain: LoopChain, arguments: Mapping[str, str]) -> None:
    """Copy the arguments by link; set the status if an angle is too large for an exact sine."""
    asm = chain.asm
    most = literal(asm.precision.largest_angle, asm.precision)
    for k in chain.tip_to_base():
        index = chain.arm.int_entry(layout.PLACE, chain.arm.int_entry(layout.COORDINATE, k))
        for name in chain.inputs:
            called = Value(arguments.get(name, name))
            lane = Lane(asm, asm.load("double", asm.address(called, index)))
            value = chain.apply_mimic(name, k, lane)
            chain.arrays[name][k] = value
            if name == "q":
                angle = value.value
                asm.do(f"far |= !((-{most} <= {angle}) & ({angle} <= {most}));")


def _hand_out(chain: LoopChain) -> None:
    """Write the status and every result; adding 0 turns -0.0 into 0.0."""
    asm, arm = chain.asm, chain.arm
    asm.do(f"status = (int){chain.status.lanes[0].value};")
    link = Value("(status > 0 ? status : 1)")
    coordinate = asm.load("i64", asm.address(arm.table(layout.COORDINATE), link, "i64"))
    joint = asm.load("i64", asm.address(arm.table(layout.PLACE), coordinate, "i64"))
    asm.do(f"status = status > 0 ? {joint} + 1 : status;")
    asm.do(f"status = far ? {TOO_FAR} : status;")
    zero, real = literal(0.0, asm.precision), asm.precision.real
    asm.do(f"clean = {zero} / ({real})(status == 0);")
    for name in chain.staging.gives:
        size = chain.staging.sizes[name]
        start = asm.vector_address(asm.staging, chain.staging.offsets[name])
        for e in asm.loop(0, size, 1):
            asm.do(f"{name}[{e}] = *{asm.vector_address(start, e)} + clean;")


def _table(declared: str, numbers: Sequence[str]) -> Iterator[str]:
    yield f"static const {declared}[] = {{"
    for start in range(0, len(numbers), 10):
        yield f"    {', '.join(numbers[start : start + 10])},"
    yield "};"
