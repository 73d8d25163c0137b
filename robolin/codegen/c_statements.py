"""Operation graph to C: one operation per statement, so that compilers contract none."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from heapq import heappop, heappush
from math import isfinite

import numpy as np

from robolin.dynamics.algebra.trigonometry import DOUBLE, Precision
from robolin.engine.compiled.lanes import SCALAR, Instructions, Value
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
)
from robolin.errors import RobolinError

_CALLS = {ROOT_OF: "square_root", TANH_OF: "hyperbolic_tangent"}
SIN_COS = "sine_and_cosine"


def literal(number: float, precision: Precision) -> str:
    """C literal of a constant, rounded once, with the fewest digits that reproduce it exactly."""
    assert isfinite(number), "all constants of a program are finite"
    if precision is DOUBLE:
        return repr(float(number))
    with np.errstate(over="ignore"):
        rounded = np.float32(number)
    if not isfinite(rounded):
        raise RobolinError(
            f"{number:g} is too large for single precision", hint="use --real double"
        )
    return f"{rounded!s}f"


class Statements:
    """Statements that compute values in variables, with reuse of free variables.

    functions: helper functions that the statements call
    variables: number of variables
    pairs:     number of variables for sines and cosines
    """

    precision: Precision
    functions: set[str]
    variables: int
    pairs: int

    def __init__(self, precision: Precision, called: str, last_uses: Mapping[int, int]) -> None:
        self.precision, self.functions = precision, set[str]()
        self.variables = self.pairs = 0
        self._called, self._last_uses = called, last_uses
        self._names: dict[int, str] = {}
        self._free: list[int] = []
        self._busy: dict[int, int] = {}

    def name(self, number: Operand) -> str:
        """A value as an operand."""
        if not isinstance(number, GraphNumber):
            return literal(number, self.precision)
        known = self._names[number.unsigned.number]
        return f"-{known}" if number.kind == NEGATIVE else known

    def known_as(self, number: GraphNumber, name: str) -> None:
        """Register a value that is already available under this name."""
        self._names[number.number] = name

    def write(self, number: GraphNumber, step: int) -> Iterator[str]:
        """Statement that computes a value from available operands."""
        if number.kind == INPUT_NUMBER:
            name, index = number.entry
            self.known_as(number, f"{name}[{index}]")
        elif number.kind in (SINE_OF, COSINE_OF):
            yield from self._sine_and_cosine(number)
        else:
            made = self._expression(number)
            self.release(number.operands, step)
            yield f"{self._variable(number)} = {made};"

    def release(self, numbers: tuple[Operand, ...], step: int) -> None:
        """Free the variables of values that no later step uses."""
        for each in numbers:
            if isinstance(each, GraphNumber):
                number = each.unsigned.number
                if number in self._busy and self._last_uses[number] <= step:
                    heappush(self._free, self._busy.pop(number))

    def _variable(self, number: GraphNumber) -> str:
        if not self._free:
            heappush(self._free, self.variables)
            self.variables += 1
        index = heappop(self._free)
        self._busy[number.number] = index
        name = f"t{index}"
        self._names[number.number] = name
        return name

    def _expression(self, number: GraphNumber) -> str:
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
        """Compute both together when the first of them is needed."""
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
        """Declarations that precede the statements."""
        names = [f"t{i}" for i in range(self.variables)]
        names += [name for i in range(self.pairs) for name in (f"s{i}", f"c{i}")]
        for start in range(0, len(names), 16):
            yield f"{self.precision.real} {', '.join(names[start : start + 16])};"


_REAL = {"fadd": "+", "fsub": "-", "fmul": "*", "fdiv": "/"}
_WHOLE = {"add": "+", "sub": "-", "mul": "*"}
_RELATION = {"olt": "<", "oeq": "=="}
_DECLARED, _NAME = re.compile(r" *const \w+ (v\d+) = "), re.compile(r"\bv\d+\b")
# name of the zero that is written to memory
STORED_ZERO = "nothing"

_FIRST_WORDS = "scratch tables staging"


class CInstructions:
    """The body of one function, for one state.

    functions: helper functions that it calls
    variables: number of named values
    """

    precision: Precision
    functions: set[str]
    variables: int
    n: Value
    m: Value
    doubles: Value
    integers: Value

    epoch: int = 0
    scratch: Value
    tables: Value
    staging: Value
    scratch, tables, staging = (Value(word) for word in _FIRST_WORDS.split())

    def __init__(
        self, precision: Precision, called: str, n: int, m: int, doubles: str, integers: str
    ) -> None:
        self.precision, self.functions, self.variables = precision, set[str](), 0
        self.n, self.m = Value(str(n)), Value(str(m))
        self.doubles, self.integers = Value(doubles), Value(integers)
        self.entry: list[str] = []
        self.body: list[str] = []
        self._called, self._depth = called, 0

    def statements(self) -> list[str]:
        """The body without unused statements."""
        kept: list[str] = []
        needed: set[str] = set()
        for line in reversed(self.body):
            made = _DECLARED.match(line)
            if made is None or made[1] in needed:
                kept.append(line)
                needed.update(_NAME.findall(line))
        return kept[::-1]

    # statements

    def do(self, statement: str) -> None:
        self.body.append("    " * self._depth + statement)

    def _name(self) -> Value:
        self.variables += 1
        return Value(f"v{self.variables}")

    def _real(self, made: str) -> Value:
        name = self._name()
        self.do(f"const {self.precision.real} {name} = {made};")
        return name

    def _int(self, made: str) -> Value:
        name = self._name()
        self.do(f"const int {name} = {made};")
        return name

    # real numbers

    def splat(self, number: float) -> Value:
        if number != number:
            return Value("none")
        text = literal(number, self.precision)
        return Value(f"({text})" if text.startswith("-") else text)

    def broadcast(self, number: Value) -> Value:
        return number

    def binary(self, operation: str, a: Value, b: Value) -> Value:
        return self._real(f"{a} {_REAL[operation]} {b}")

    def negated(self, number: Value) -> Value:
        return self._real(f"-{number}")

    def function(self, name: str, number: Value) -> Value:
        if name == "fabs":
            return self._real(f"{number} < 0 ? -{number} : {number}")
        self.functions.add("square_root")
        return self._real(f"{self._called}square_root({number})")

    def sin_cos(self, number: Value) -> tuple[Value, Value]:
        self.functions.add(SIN_COS)
        sine, cosine = self._name(), self._name()
        self.do(f"{self.precision.real} {sine}, {cosine};")
        self.do(f"{self._called}{SIN_COS}({number}, &{sine}, &{cosine});")
        return sine, cosine

    def tanh(self, number: Value) -> Value:
        self.functions.add("hyperbolic_tangent")
        return self._real(f"{self._called}hyperbolic_tangent({number})")

    def compare(self, relation: str, a: Value, b: Value) -> Value:
        return self._int(f"{a} {_RELATION[relation]} {b}")

    def select(self, condition: Value, yes: Value, no: Value) -> Value:
        return self._real(f"{condition} ? {yes} : {no}")

    select_uniform = select

    # integers: fold what is already a constant

    def int_op(self, operation: str, a: Value | int, b: Value | int) -> Value:
        known = folded_integer(operation, str(a), str(b))
        return known or self._int(f"{a} {_WHOLE[operation]} {b}")

    def int_op_at_entry(self, operation: str, a: Value | int, b: Value | int) -> Value:
        known = folded_integer(operation, str(a), str(b))
        assert known is not None, "the size of an array is a constant"
        return known

    def smaller(self, a: Value | int, b: Value | int) -> Value:
        return self._int(f"{a} < {b} ? {a} : {b}")

    def larger(self, a: Value | int, b: Value | int) -> Value:
        return self._int(f"{a} < {b} ? {b} : {a}")

    def not_zero(self, number: Value) -> Value:
        return self._int(f"{number} != 0")

    def real_of(self, number: Value) -> Value:
        return self._real(f"({self.precision.real}){number}")

    # memory

    def address(self, pointer: Value, index: Value | int, kind: str = SCALAR) -> Value:
        return _offset_pointer(pointer, index)

    def load(self, kind: str, pointer: Value) -> Value:
        return self._real(f"*{pointer}") if kind == SCALAR else self._int(f"*{pointer}")

    def int_table_at_entry(self, offset: Value) -> Value:
        return _offset_pointer(self.integers, offset)

    def vectors_at_entry(self, memory: Value, offset: Value) -> Value:
        return _offset_pointer(memory, offset)

    def vector_address(self, pointer: Value, index: Value | int) -> Value:
        return _offset_pointer(pointer, index)

    def load_vector(self, pointer: Value) -> Value:
        return self._real(f"*{pointer}")

    def store_vector(self, value: Value, pointer: Value) -> None:
        stored = STORED_ZERO if value == self.splat(0.0) else value
        self.do(f"*{pointer} = {stored};")

    def variable(self) -> Value:
        name = self._name()
        self.entry.append(f"{self.precision.real} {name};")
        return Value(f"&{name}")

    # loops

    def loop(self, start: Value | int, stop: Value | int, step: int) -> Iterator[Value]:
        short = "<" if step > 0 else ">"
        return self._for(str(start), f"{short} {stop}", f"+= {step}")

    def walk(self, start: Value | int, stop: Value | int, table: Value) -> Iterator[Value]:
        return self._for(str(start), f"!= {stop}", f"= *({table[1:-1]} + {{k}})")

    def _for(self, start: str, more: str, following: str) -> Iterator[Value]:
        k = self._name()
        self.do(f"for (int {k} = {start}; {k} {more}; {k} {following.format(k=k)}) {{")
        self._depth += 1
        self.epoch += 1
        yield k
        self._depth -= 1
        self.epoch += 1
        self.do("}")


# checked by the type checker
_IS_INSTRUCTIONS: type[Instructions] = CInstructions


def folded_integer(operation: str, a: str, b: str) -> Value | None:
    """Fold an operation on two integer constants; None if one is not a constant."""
    if not (a.lstrip("-").isdigit() and b.lstrip("-").isdigit()):
        return None
    x, y = int(a), int(b)
    return Value(str({"add": x + y, "sub": x - y, "mul": x * y}[operation]))


def _offset_pointer(pointer: Value, index: Value | int) -> Value:
    """Pointer plus offset, always in parentheses, with constant offsets added up."""
    base = pointer[1:-1] if pointer.startswith("(") else str(pointer)
    first, plus, last = base.rpartition(" + ")
    if plus and (total := folded_integer("add", last, str(index))) is not None:
        return Value(f"({first} + {total})")
    return Value(f"({base} + {index})")
