"""Verbs as symbolic functions of CasADi, for optimal control with exact derivatives."""

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
    GIVEN_INPUT,
    MULTIPLICATION,
    NEGATIVE,
    ROOT_OF,
    SINE_OF,
    TANH_OF,
    GraphNumber,
    Operand,
)
from robolin.engine.unrolled_program import UnrolledProgram, UnrolledResult
from robolin.errors import RobolinError
from robolin.evaluation.methods import Method
from robolin.evaluation.prescribed_joints import JointsNamed


def casadi_function(
    arm: Arm,
    verb: str,
    *,
    method: Method = "auto",
    frame: str | None = None,
    point: Sequence[float] = ORIGIN,
    prescribe: JointsNamed | None = None,
) -> Any:
    """What a verb computes, as a `casadi.Function` over SX with named inputs and outputs.

    It is the algorithm itself with the arm's numbers in it, so CasADi differentiates, simplifies
    and generates code as it does with functions of its own.  Results of three and more axes are
    matrices with the first axis down and all others across, the last one quickest.  A state that
    has no answer, such as one in which a joint has no inertia, gives infinite results or NaN.

    Args:
        arm: the arm, from `robolin.load`; its options are part of the function
        verb: what to compute, such as "forward" or "linearize-forward"
        method: the algorithm, where a verb has several
        frame: the link that kinematic verbs are about; None for the tip, or the only end
        point: a place in that frame, three numbers in m
        prescribe: joints that move as told, such as "base", for "forward" and "linearize-forward":
            their accelerations are among `qdd_given`, and their torques among the `tau` answered

    Returns:
        a `casadi.Function`; inputs and outputs have the names of robolin's own

    Raises:
        RobolinError: CasADi is not installed, or the arm has no answer to the verb
        UsageError: no arm, no such verb, or a choice that does not exist

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
    with _as_written(ca):
        values = _evaluated(program, symbols, ca)
        results = [_matrix(result, values, ca) for result in program.results.values()]
    name = question.verb.replace("-", "_")
    return ca.Function(name, [*symbols.values()], results, [*symbols], [*program.results])


def _casadi() -> Any:
    try:
        import casadi
    except ImportError as error:
        message = "casadi_function needs CasADi, which is not installed"
        raise RobolinError(message, hint="pip install 'robolin[casadi]'") from error
    return casadi


@contextmanager
def _as_written(ca: Any) -> Iterator[None]:
    """Within, CasADi makes the expressions that it is told to make.

    It would put x / y for x (1 / y) and a for (a + b) - b: other roundings than robolin's own,
    and more divisions.  The graph has nothing left to fold.
    """
    before = ca.GlobalOptions.getSimplificationOnTheFly()
    ca.GlobalOptions.setSimplificationOnTheFly(False)
    try:
        yield
    finally:
        ca.GlobalOptions.setSimplificationOnTheFly(before)


class _Values:
    """Numbers of the graph as CasADi's expressions."""

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


def _evaluated(program: UnrolledProgram, symbols: Mapping[str, Any], ca: Any) -> _Values:
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
        if number.kind == GIVEN_INPUT:
            name, place = number.entry
            values.known[number.number] = symbols[name][place]
        elif number.kind == ADDITION:
            values.known[number.number] = values.sum_of(*number.operands)
        else:
            made = operations[number.kind](*map(values.of, number.operands))
            values.known[number.number] = made
    return values


def _matrix(result: UnrolledResult, values: _Values, ca: Any) -> Any:
    """One result; what is zero whatever the state is a structural zero."""
    down = result.shape[0] if result.shape else 1
    across = len(result.numbers) // down if down else 0
    matrix = ca.SX(down, across)
    for place, number in enumerate(result.numbers):
        if isinstance(number, GraphNumber) or number != 0.0:
            matrix[divmod(place, across)] = values.of(number)
    return matrix
