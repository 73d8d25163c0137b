"""A traced algorithm written down in C: a loop of the source is a loop of the program."""

from __future__ import annotations

import re
from collections.abc import Iterator

from robolin.codegen.c_statements import SIN_COS, literal
from robolin.codegen.own_functions import Precision
from robolin.engine.compiled.instructions import Instructions, Value

_REAL = {"fadd": "+", "fsub": "-", "fmul": "*", "fdiv": "/"}
_WHOLE = {"add": "+", "sub": "-", "mul": "*"}
_RELATION = {"olt": "<", "oeq": "=="}
_DECLARED, _NAME = re.compile(r" *const \w+ (v\d+) = "), re.compile(r"\bv\d+\b")
# what a zero is called that is to be stored
STORED_ZERO = "nothing"

_FIRST_WORDS = "scratch tables staging"


class CInstructions:
    """The body of one function, in one state.

    functions: the functions of our own that it calls
    variables: how many numbers it has a name for
    """

    epoch = 0
    scratch, tables, staging = (Value(word) for word in _FIRST_WORDS.split())

    def __init__(
        self, precision: Precision, called: str, n: int, m: int, doubles: str, wholes: str
    ) -> None:
        self.precision, self.functions, self.variables = precision, set[str](), 0
        self.n, self.m = Value(str(n)), Value(str(m))
        self.doubles, self.wholes = Value(doubles), Value(wholes)
        self.entry: list[str] = []
        self.body: list[str] = []
        self._called, self._depth = called, 0

    def statements(self) -> list[str]:
        """The body without what nobody needs."""
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

    select_by_fact = select

    # whole numbers: what is known now is worked out now

    def whole(self, operation: str, a: Value | int, b: Value | int) -> Value:
        known = _known(operation, str(a), str(b))
        return known or self._int(f"{a} {_WHOLE[operation]} {b}")

    def whole_at_entry(self, operation: str, a: Value | int, b: Value | int) -> Value:
        known = _known(operation, str(a), str(b))
        assert known is not None, "sizes are known when a program is written"
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

    def address(self, pointer: Value, index: Value | int, kind: str = "double") -> Value:
        return _further(pointer, index)

    def load(self, kind: str, pointer: Value) -> Value:
        return self._real(f"*{pointer}") if kind == "double" else self._int(f"*{pointer}")

    def wholes_at_entry(self, offset: Value) -> Value:
        return _further(self.wholes, offset)

    def vectors_at_entry(self, memory: Value, offset: Value) -> Value:
        return _further(memory, offset)

    def vector_address(self, pointer: Value, index: Value | int) -> Value:
        return _further(pointer, index)

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


# the type checker sees to it
_IS_INSTRUCTIONS: type[Instructions] = CInstructions


def _known(operation: str, a: str, b: str) -> Value | None:
    """The number itself, where both are numbers already."""
    if not (a.lstrip("-").isdigit() and b.lstrip("-").isdigit()):
        return None
    x, y = int(a), int(b)
    return Value(str({"add": x + y, "sub": x - y, "mul": x * y}[operation]))


def _further(pointer: Value, index: Value | int) -> Value:
    """A place so many numbers further; always in brackets, with all that is known added up."""
    place = pointer[1:-1] if pointer.startswith("(") else str(pointer)
    first, plus, last = place.rpartition(" + ")
    if plus and (total := _known("add", last, str(index))) is not None:
        return Value(f"({first} + {total})")
    return Value(f"({place} + {index})")
