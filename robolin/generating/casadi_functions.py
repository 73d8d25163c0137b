"""Verbs as symbolic functions of CasADi, for optimal control with exact derivatives."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from robolin.arm import ORIGIN, Arm
from robolin.engine.recorded_numbers import (
    ADDITION,
    CHOICE,
    COSINE,
    DIVISION,
    INPUT,
    MULTIPLICATION,
    NEGATIVE,
    ROOT,
    SINE,
    TANH,
    Operand,
    Recorded,
)
from robolin.engine.recorded_program import RecordedProgram, RecordedResult, record
from robolin.errors import RobolinError
from robolin.evaluation.methods import Method
from robolin.generating.questions import chosen, require_frame_of_use


def casadi_function(
    arm: Arm,
    verb: str,
    *,
    method: Method = "auto",
    frame: str | None = None,
    point: Sequence[float] = ORIGIN,
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
    question = chosen(arm, verb, method, frame, point)
    require_frame_of_use([verb], frame, point)
    ca, algorithm = _casadi(), question.algorithm
    program = record(
        question.parameters, algorithm.run, algorithm.needs, algorithm.gives, arm.source
    )
    symbols = {name: ca.SX.sym(name, arm.n) for name in program.inputs}
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


class _Values:
    """Recorded numbers as CasADi's expressions."""

    def __init__(self) -> None:
        self.known: dict[int, Any] = {}

    def of(self, number: Operand) -> Any:
        if not isinstance(number, Recorded):
            return number
        value = self.known[number.unsigned.number]
        return -value if number.kind == NEGATIVE else value


def _evaluated(program: RecordedProgram, symbols: Mapping[str, Any], ca: Any) -> _Values:
    operations: Mapping[str, Callable[..., Any]] = {
        ADDITION: lambda a, b: a + b,
        MULTIPLICATION: lambda a, b: a * b,
        DIVISION: lambda a, b: a / b,
        CHOICE: lambda a, b, yes, no: ca.if_else(a < b, yes, no),
        ROOT: ca.sqrt,
        SINE: ca.sin,
        COSINE: ca.cos,
        TANH: ca.tanh,
    }
    values = _Values()
    for number in program.needed():
        if number.kind == INPUT:
            name, place = number.place
            values.known[number.number] = symbols[name][place]
        else:
            made = operations[number.kind](*map(values.of, number.operands))
            values.known[number.number] = made
    return values


def _matrix(result: RecordedResult, values: _Values, ca: Any) -> Any:
    """One result; what is zero whatever the state is a structural zero."""
    down = result.shape[0] if result.shape else 1
    across = len(result.numbers) // down if down else 0
    matrix = ca.SX(down, across)
    for place, number in enumerate(result.numbers):
        if isinstance(number, Recorded) or number != 0.0:
            matrix[divmod(place, across)] = values.of(number)
    return matrix
