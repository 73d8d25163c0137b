"""Unrolled C functions without loops, and the helper functions that they call."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from robolin.codegen.c_statements import SIN_COS, Statements, literal
from robolin.codegen.functions import Precision, root_in, sin_cos_in, tanh_in
from robolin.dynamics.algebra.scalar import Scalar
from robolin.engine.operation_graph import SINE_OF, GraphNumber, Operand, OperationGraph, ancestors
from robolin.engine.unrolled_program import Guard, UnrolledProgram

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
class _Step:
    """One step: compute a value, set the status, or store an entry of a result."""

    uses: tuple[Operand, ...]
    compute: GraphNumber | None = None
    store: str = ""


def straight_function(
    verb: str, algorithm: str, program: UnrolledProgram, precision: Precision, called: str
) -> CFunction:
    """Translate a program to straight-line C; `called` prefixes the names of helper functions."""
    steps = list(_steps(program))
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


def _steps(program: UnrolledProgram) -> Iterator[_Step]:
    """Values in order; results are stored as soon as the status is known."""
    angles = _angles(program)
    watched = [x for guard in program.guards for x in (guard.value, guard.floor)] + angles
    last = max((x.unsigned.number for x in watched if isinstance(x, GraphNumber)), default=-1)
    due: dict[int, list[_Step]] = {}
    for name, result in program.results.items():
        for i, number in enumerate(result.numbers):
            known = number.unsigned.number if isinstance(number, GraphNumber) else -1
            due.setdefault(max(known, last), []).append(_Step((number,), store=f"{name}[{i}]"))
    status = _Step(tuple(watched))
    if last < 0:
        yield status
        yield from due.pop(-1, [])
    for number in program.needed():
        yield _Step(number.operands, compute=number)
        if number.number == last:
            yield status
        yield from due.pop(number.number, [])
    assert not due, "every number of a result was computed"


def _angles(program: UnrolledProgram) -> list[Operand]:
    """Arguments of sines."""
    return [number.operands[0] for number in program.needed() if number.kind == SINE_OF]


def _store_expression(step: _Step, statements: Statements) -> str:
    """Add 0 to turn -0.0 into 0.0, or NaN for results that do not exist."""
    (number,) = step.uses
    return f"{step.store} = {statements.name(number)} + clean;"


def _status(program: UnrolledProgram, statements: Statements) -> Iterator[str]:
    """Status: first joint without inertia, or another error; branch-free arithmetic."""
    name = statements.name
    for guard in reversed(program.guards):
        value, code = name(guard.value), NOT_THERE if guard.result else guard.joint + 1
        fine = f"(0 < {value}) & ({_floor(guard, statements)} < {value})"
        yield f"status += !({fine}) * ({code} - status);"
    most = literal(statements.precision.largest_angle, statements.precision)
    for angle in _angles(program):
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
