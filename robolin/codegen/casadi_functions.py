"""Symbolic CasADi functions, for optimal control with exact derivatives."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from robolin.codegen.functions import chosen_questions
from robolin.core.arm import ORIGIN, Arm
from robolin.engine.operation_graph import (
    ADDITION,
    CHOICE,
    COSINE_OF,
    DIVISION,
    INPUT_NUMBER,
    MULTIPLICATION,
    NEGATIVE,
    ROOT_OF,
    SINE_OF,
    TANH_OF,
    GraphNumber,
    Operand,
    UnrolledProgram,
    UnrolledResult,
)
from robolin.errors import RobolinError
from robolin.evaluation.constant_inputs import JointsNamed
from robolin.evaluation.methods import Method


def casadi_function(
    arm: Arm,
    verb: str,
    *,
    method: Method = "auto",
    frame: str | None = None,
    point: Sequence[float] = ORIGIN,
    prescribe: JointsNamed | None = None,
) -> Any:
    """Build a `casadi.Function` of SX symbols for a computation, with named inputs and outputs.

    The function contains the algorithm with the arm's numbers, so CasADi differentiates, simplifies
    and generates code as usual.  Results with three or more axes become matrices: the first axis
    gives the row, and all others the column, the last one fastest.  For a state without a
    result, for example if a joint moves no inertia, the function returns infinity or NaN.

    Args:
        arm: the arm, from `robolin.load`; its options are part of the function
        verb: what to compute, such as "forward" or "linearize-forward"
        method: the algorithm, if there are several
        frame: name of the link for kinematic computations; None for the tip, or the only end
        point: coordinates of a point in that frame (3,) in m
        prescribe: joints with prescribed acceleration, such as "base", for "forward" and
            "linearize-forward": `qdd_given` contains their accelerations, and `tau` their torques

    Returns:
        a `casadi.Function`; inputs and outputs have robolin's names

    Raises:
        RobolinError: CasADi is not installed, or the arm does not support the verb
        UsageError: `arm` is not an `Arm`, an unknown verb, or an invalid option

    Example:
        >>> arm = robolin.load("two-link")
        >>> forward = robolin.casadi_function(arm, "forward")
        >>> forward.name_in(), forward.name_out()
        (['q', 'qd', 'tau'], ['qdd'])
        >>> forward([0.3, -0.7], [0.5, -1.2], [1.0, 0.0])
        DM([-9.08219, 6.19002])
    """
    (question,) = chosen_questions(arm, [verb], method, frame, point, prescribe)
    ca, program = _casadi(), question.unrolled(question.parameters)
    symbols = {name: ca.SX.sym(name, arm.n) for name in program.inputs}
    with _without_simplification(ca):
        values = _evaluate(program, symbols, ca)
        results = [_matrix(result, values, ca) for result in program.results.values()]
    name = question.verb.replace("-", "_")
    return ca.Function(name, [*symbols.values()], results, [*symbols], [*program.results])


def _casadi() -> Any:
    try:
        import casadi
    except ImportError as error:
        message = "casadi_function needs CasADi, which is not installed"
        raise RobolinError(message, hint="pip install casadi") from error
    return casadi


@contextmanager
def _without_simplification(ca: Any) -> Iterator[None]:
    """Disable CasADi's simplifications inside the context.

    CasADi would replace x (1 / y) by x / y and (a + b) - b by a: other rounding than robolin's, and
    more divisions.  The graph is already folded.
    """
    before = ca.GlobalOptions.getSimplificationOnTheFly()
    ca.GlobalOptions.setSimplificationOnTheFly(False)
    try:
        yield
    finally:
        ca.GlobalOptions.setSimplificationOnTheFly(before)


class _Values:
    """Graph numbers as CasADi expressions."""

    def __init__(self) -> None:
        self.known: dict[int, Any] = {}

    def of(self, number: Operand) -> Any:
        if not isinstance(number, GraphNumber):
            return number
        value = self.known[number.unsigned.number]
        return -value if number.kind == NEGATIVE else value

    def sum_of(self, first: Operand, second: Operand) -> Any:
        if isinstance(second, GraphNumber) and second.kind == NEGATIVE:
            return self.of(first) - self.of(second.unsigned)
        return self.of(first) + self.of(second)


def _evaluate(program: UnrolledProgram, symbols: Mapping[str, Any], ca: Any) -> _Values:
    operations: Mapping[str, Callable[..., Any]] = {
        MULTIPLICATION: lambda a, b: a * b,
        DIVISION: lambda a, b: a / b,
        CHOICE: lambda a, b, yes, no: ca.if_else(a < b, yes, no),
        ROOT_OF: ca.sqrt,
        SINE_OF: ca.sin,
        COSINE_OF: ca.cos,
        TANH_OF: ca.tanh,
    }
    values = _Values()
    for number in program.needed():
        if number.kind == INPUT_NUMBER:
            name, index = number.entry
            values.known[number.number] = symbols[name][index]
        elif number.kind == ADDITION:
            values.known[number.number] = values.sum_of(*number.operands)
        else:
            made = operations[number.kind](*map(values.of, number.operands))
            values.known[number.number] = made
    return values


def _matrix(result: UnrolledResult, values: _Values, ca: Any) -> Any:
    """One result; entries that are always zero become structural zeros."""
    down = result.shape[0] if result.shape else 1
    across = len(result.numbers) // down if down else 0
    matrix = ca.SX(down, across)
    for index, number in enumerate(result.numbers):
        if isinstance(number, GraphNumber) or number != 0.0:
            matrix[divmod(index, across)] = values.of(number)
    return matrix
