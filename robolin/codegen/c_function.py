"""C functions: unrolled, or with loops that read the arm's numbers from tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import prod
from typing import Any

from robolin.codegen.c_statements import SIN_COS, STORED_ZERO, CInstructions, Statements, literal
from robolin.codegen.functions import ChosenQuestion, root_in
from robolin.core.records import dataclass
from robolin.dynamics.algebra.scalar import Scalar
from robolin.dynamics.algebra.trigonometry import Precision, sin_cos_in, tanh_in
from robolin.engine.compiled import layout
from robolin.engine.compiled.lanes import SCALAR, Lane, Value
from robolin.engine.compiled.plan import variant_of
from robolin.engine.compiled.trace import TracedChain
from robolin.engine.operation_graph import (
    SINE_OF,
    GraphNumber,
    Guard,
    Operand,
    OperationGraph,
    UnrolledProgram,
    ancestors,
)
from robolin.engine.parameters import Parameters, first_of_subtrees, float_table, int_table

# status codes besides 0 and the number of a joint
TOO_FAR, NOT_THERE = -1, -2

# factor between live values and the stack that compilers use for them
SPREAD = 3

Shapes = Mapping[str, tuple[int, ...]]


@dataclass(frozen=True)
class CFunction:
    """A C function: arguments, results and body.

    verb:      name of the computation
    algorithm: name of the algorithm
    needs:     names of its arguments, each one number per joint
    gives:     shapes of its results
    numbers:   largest number of values on its stack
    calls:     the helper functions that it calls
    """

    verb: str
    algorithm: str
    needs: tuple[str, ...]
    gives: Shapes
    body: tuple[str, ...]
    numbers: int
    calls: frozenset[str]


@dataclass(frozen=True)
class Step:
    """One step: compute a value, set the status, or store an entry of a result.

    store: name of the result, and index of its entry
    """

    uses: tuple[Operand, ...]
    compute: GraphNumber | None = None
    store: tuple[str, int] | None = None


def straight_function(
    verb: str, algorithm: str, program: UnrolledProgram, precision: Precision, called: str
) -> CFunction:
    """Translate a program to straight-line C; `called` prefixes the names of helper functions."""
    steps = list(program_steps(program))
    last_uses: dict[int, int] = {}
    for i, step in enumerate(steps):
        for each in step.uses:
            if isinstance(each, GraphNumber):
                last_uses[each.unsigned.number] = i
    statements = Statements(precision, called, last_uses)
    lines: list[str] = []
    for i, step in enumerate(steps):
        if step.compute is not None:
            lines += statements.write(step.compute, i)
            continue
        if step.store:
            lines.append(_store_expression(step, statements))
        else:
            lines += _status(program, statements)
        statements.release(step.uses, i)
    used = {number.entry[0] for number in program.needed() if number.kind == "input"}
    unused = [f"(void){name};" for name in program.inputs if name not in used]
    body = (*statements.declarations(), "int status = 0;", f"{precision.real} clean;", "")
    return CFunction(
        verb,
        algorithm,
        tuple(program.inputs),
        {name: result.shape for name, result in program.results.items()},
        (*body, *unused, *lines, "return status;"),
        SPREAD * (statements.variables + 2 * statements.pairs),
        frozenset(statements.functions),
    )


def program_steps(program: UnrolledProgram) -> Iterator[Step]:
    """Values in order; results are stored as soon as the status is known."""
    angles = program_angles(program)
    watched = [x for guard in program.guards for x in (guard.value, guard.floor)] + angles
    last = max((x.unsigned.number for x in watched if isinstance(x, GraphNumber)), default=-1)
    due: dict[int, list[Step]] = {}
    for name, result in program.results.items():
        for i, number in enumerate(result.numbers):
            known = number.unsigned.number if isinstance(number, GraphNumber) else -1
            due.setdefault(max(known, last), []).append(Step((number,), store=(name, i)))
    status = Step(tuple(watched))
    if last < 0:
        yield status
        yield from due.pop(-1, [])
    for number in program.needed():
        yield Step(number.operands, compute=number)
        if number.number == last:
            yield status
        yield from due.pop(number.number, [])
    assert not due, "every number of a result was computed"


def program_angles(program: UnrolledProgram) -> list[Operand]:
    """Arguments of sines."""
    return [number.operands[0] for number in program.needed() if number.kind == SINE_OF]


def _store_expression(step: Step, statements: Statements) -> str:
    """Add 0 to turn -0.0 into 0.0, or NaN for results that do not exist."""
    assert step.store is not None
    (number,), (name, index) = step.uses, step.store
    return f"{name}[{index}] = {statements.name(number)} + clean;"


def _status(program: UnrolledProgram, statements: Statements) -> Iterator[str]:
    """Status: first joint without inertia, or another error; branch-free arithmetic."""
    name = statements.name
    for guard in reversed(program.guards):
        value, code = name(guard.value), NOT_THERE if guard.result else guard.joint + 1
        fine = f"(0 < {value}) & ({_floor(guard, statements)} < {value})"
        yield f"status += !({fine}) * ({code} - status);"
    most = literal(statements.precision.largest_angle, statements.precision)
    for angle in program_angles(program):
        known = name(angle)
        yield f"status += !((-{most} <= {known}) & ({known} <= {most})) * ({TOO_FAR} - status);"
    zero, real = literal(0.0, statements.precision), statements.precision.real
    yield f"clean = {zero} / ({real})(status == 0);"


def _floor(guard: Guard, statements: Statements) -> str:
    """Smallest admissible value of a guarded number, in this precision."""
    precision, floor = statements.precision, statements.name(guard.floor)
    times = precision.less_rank if guard.result else precision.less_inertia
    return floor if times == 1.0 else f"{literal(times, precision)} * {floor}"


_HEADS: Mapping[str, str] = {
    SIN_COS: "void {name}({real} x, {real} *sine, {real} *cosine)",
    "square_root": "{real} {name}({real} x)",
    "hyperbolic_tangent": "{real} {name}({real} x)",
}


def _own_function_values(which: str, precision: Precision, x: Scalar) -> tuple[Any, ...]:
    if which == SIN_COS:
        return sin_cos_in(precision)(x)
    return ((root_in if which == "square_root" else tanh_in)(precision, x),)


def own_function(which: str, precision: Precision, called: str) -> Iterator[str]:
    """C source of a helper function."""
    x = OperationGraph().input("x")
    results = _own_function_values(which, precision, x)
    numbers = [each for each in ancestors(results) if each is not x]
    last_uses = {each.number: len(numbers) for each in ancestors(results)}
    statements = Statements(precision, called, last_uses)
    statements.known_as(x, "x")
    lines = [line for i, each in enumerate(numbers) for line in statements.write(each, i)]
    names = [statements.name(each) for each in results]
    yield "static " + _HEADS[which].format(name=called + which, real=precision.real)
    yield "{"
    yield from (f"    {line}" for line in (*statements.declarations(), "", *lines))
    if which == SIN_COS:
        yield f"    *sine = {names[0]};"
        yield f"    *cosine = {names[1]};"
    else:
        yield f"    return {names[0]};"
    yield "}"


@dataclass(frozen=True)
class ArmData:
    """Numbers of an arm, and the names of the two tables that contain them."""

    parameters: Parameters
    doubles: str
    integers: str

    def text(self, precision: Precision) -> Iterator[str]:
        """C source of both tables."""
        parents = [0, *(row.parent for row in self.parameters.links)]
        integers = int_table(self.parameters, first_of_subtrees(parents)).tolist()
        doubles = float_table(self.parameters).tolist()
        reals = [literal(number, precision) for number in doubles]
        yield from _table(f"{precision.real} {self.doubles}", reals)
        yield from _table(f"int {self.integers}", list(map(str, integers)))


class LoopChain(TracedChain):
    """Traced chain that distinguishes a singular result from a joint without inertia."""

    asm: CInstructions

    def guard_rank(self, name: str, value: Scalar, least: Scalar) -> Scalar:
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
    chain = LoopChain(asm, variant_of(parameters), algorithm.needs, algorithm.gives)
    clear_results(chain)
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


def clear_results(chain: LoopChain) -> None:
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
            lane = Lane(asm, asm.load(SCALAR, asm.address(called, index)))
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
