"""An operation graph as C: one operation to a statement, so that no compiler joins two of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from heapq import heappop, heappush
from math import isfinite

import numpy as np

from robolin.codegen.own_functions import DOUBLE, Precision
from robolin.engine.operation_graph import (
    ADDITION,
    CHOICE,
    COSINE_OF,
    GIVEN_INPUT,
    MULTIPLICATION,
    NEGATIVE,
    ROOT_OF,
    SINE_OF,
    TANH_OF,
    GraphNumber,
    Operand,
)
from robolin.errors import RobolinError

_CALLS = {ROOT_OF: "square_root", TANH_OF: "hyperbolic_tangent"}
SIN_COS = "sine_and_cosine"


def literal(number: float, precision: Precision) -> str:
    """A constant, rounded once, in as few digits as bring it back exactly."""
    assert isfinite(number), "a program has finite constants"
    if precision is DOUBLE:
        return repr(float(number))
    with np.errstate(over="ignore"):
        rounded = np.float32(number)
    if not isfinite(rounded):
        raise RobolinError(f"{number:g} is too large for a float", hint="--real double holds it")
    return f"{rounded!s}f"


class Statements:
    """Statements that compute numbers in variables, which are used again when they are free.

    functions: the functions of our own that the statements call
    variables: how many variables there are
    pairs:     how many variables there are for sines and cosines
    """

    def __init__(self, precision: Precision, called: str, last_uses: Mapping[int, int]) -> None:
        self.precision, self.functions = precision, set[str]()
        self.variables = self.pairs = 0
        self._called, self._last_uses = called, last_uses
        self._names: dict[int, str] = {}
        self._free: list[int] = []
        self._busy: dict[int, int] = {}

    def name(self, number: Operand) -> str:
        """A number as an operand."""
        if not isinstance(number, GraphNumber):
            return literal(number, self.precision)
        known = self._names[number.unsigned.number]
        return f"-{known}" if number.kind == NEGATIVE else known

    def known_as(self, number: GraphNumber, name: str) -> None:
        """A number that is there already, under this name."""
        self._names[number.number] = name

    def write(self, number: GraphNumber, step: int) -> Iterator[str]:
        """The statement of a number whose operands are there."""
        if number.kind == GIVEN_INPUT:
            name, place = number.place
            self.known_as(number, f"{name}[{place}]")
        elif number.kind in (SINE_OF, COSINE_OF):
            yield from self._sine_and_cosine(number)
        else:
            made = self._made(number)
            self.release(number.operands, step)
            yield f"{self._variable(number)} = {made};"

    def release(self, numbers: tuple[Operand, ...], step: int) -> None:
        """Variables of numbers that nobody asks for after this step are free again."""
        for each in numbers:
            if isinstance(each, GraphNumber):
                number = each.unsigned.number
                if number in self._busy and self._last_uses[number] <= step:
                    heappush(self._free, self._busy.pop(number))

    def _variable(self, number: GraphNumber) -> str:
        if not self._free:
            heappush(self._free, self.variables)
            self.variables += 1
        place = heappop(self._free)
        self._busy[number.number] = place
        name = f"t{place}"
        self._names[number.number] = name
        return name

    def _made(self, number: GraphNumber) -> str:
        if number.kind == CHOICE:
            a, b, yes, no = map(self.name, number.operands)
            return f"{a} < {b} ? {yes} : {no}"
        if number.kind in _CALLS:
            self.functions.add(_CALLS[number.kind])
            return f"{self._called}{_CALLS[number.kind]}({self.name(number.operands[0])})"
        a, b = map(self.name, number.operands)
        if number.kind == ADDITION:
            return f"{a} - {b[1:]}" if b.startswith("-") else f"{a} + {b}"
        return f"{a} {'*' if number.kind == MULTIPLICATION else '/'} {b}"

    def _sine_and_cosine(self, number: GraphNumber) -> Iterator[str]:
        """Both at once, when the first of them is asked for."""
        if number.number in self._names:
            return
        self.functions.add(SIN_COS)
        (angle,) = number.operands
        assert isinstance(angle, GraphNumber), "a constant angle has a constant sine"
        names = f"s{self.pairs}", f"c{self.pairs}"
        self.pairs += 1
        for each, name in zip(angle.sin_cos(), names, strict=True):
            self.known_as(each, name)
        yield f"{self._called}{SIN_COS}({self.name(angle)}, &{names[0]}, &{names[1]});"

    def declarations(self) -> Iterator[str]:
        """What has to stand before the statements."""
        names = [f"t{i}" for i in range(self.variables)]
        names += [name for i in range(self.pairs) for name in (f"s{i}", f"c{i}")]
        for start in range(0, len(names), 16):
            yield f"{self.precision.real} {', '.join(names[start : start + 16])};"
