"""WebAssembly code of one function: operations on named values, encoded with few local variables.

A value is a text: `f7` and `i7` are variables, `0x1.8p+1` is a real and `12` an integer constant.
`region+8` and `region+8+i7` are addresses in bytes; the addresses of regions are assigned last.
"""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from heapq import heappop, heappush
from itertools import pairwise
from typing import NamedTuple

from robolin.codegen.c_statements import folded_integer
from robolin.dynamics.algebra.trigonometry import DOUBLE
from robolin.engine.compiled.lanes import SCALAR, Instructions, Value

F64, I32 = b"\x7c", b"\x7f"
_GET, _SET = b"\x20", b"\x21"
F64_OPS = {"fadd": b"\xa0", "fsub": b"\xa1", "fmul": b"\xa2", "fdiv": b"\xa3"}
I32_OPS = {"add": b"\x6a", "sub": b"\x6b", "mul": b"\x6c"}
LESS, NOT_ABOVE, EQUAL = b"\x63", b"\x65", b"\x61"
NEGATED, ABSOLUTE, ROOT = b"\x9a", b"\x99", b"\x9f"
SELECT, TRUNCATED, CONVERTED = b"\x1b", b"\xaa", b"\xb7"
IS_ZERO, I32_EQUAL, I32_UNEQUAL = b"\x45", b"\x46", b"\x47"
I32_AND, I32_OR, I32_SHIFT = b"\x71", b"\x72", b"\x74"
BELOW, ABOVE, UP_TO, FROM = b"\x48", b"\x4a", b"\x4c", b"\x4e"
_LOAD = {"f": b"\x2b\x03", "i": b"\x28\x02"}
_STORE = b"\x39\x03"

# functions at the beginning of every module
SIN_COS_INDEX, TANH_INDEX = 0, 1


def unsigned(number: int) -> bytes:
    """LEB128 encoding of a number that is not negative."""
    parts = []
    while number > 127:
        parts.append(number & 127 | 128)
        number >>= 7
    return bytes((*parts, number))


def signed(number: int) -> bytes:
    """LEB128 encoding of an integer."""
    parts = []
    while not -64 <= number < 64:
        parts.append(number & 127 | 128)
        number >>= 7
    return bytes((*parts, number & 127))


def leb_vector(items: Sequence[bytes]) -> bytes:
    return unsigned(len(items)) + b"".join(items)


class _Operation(NamedTuple):
    """One instruction: it takes the values that it uses from the stack.

    memory: region and offset in bytes, of a load or store
    nests:  1 at the beginning of a loop, -1 at its end
    """

    code: bytes
    uses: tuple[str, ...]
    makes: tuple[str, ...] = ()
    memory: tuple[str, int] | None = None
    nests: int = 0


class WasmCode:
    """Operations of one function, in order.

    parameters: number of its real arguments, which are the variables f0, f1, …
    """

    def __init__(self, parameters: int = 0) -> None:
        self.parameters = self._values = parameters
        self._operations: list[_Operation] = []

    def value(self, kind: str) -> Value:
        """A new variable: f for a real number, i for an integer."""
        self._values += 1
        return Value(f"{kind}{self._values - 1}")

    def emit(self, kind: str, code: bytes, *uses: str) -> Value:
        """Compute a new value of this kind."""
        made = self.value(kind)
        self._operations.append(_Operation(code, uses, (made,)))
        return made

    def assign(self, variable: str, value: str) -> None:
        self._operations.append(_Operation(b"", (value,), (variable,)))

    def call(self, index: int, argument: str, count: int) -> list[Value]:
        made = [self.value("f") for _ in range(count)]
        self._operations.append(_Operation(b"\x10" + unsigned(index), (argument,), tuple(made)))
        return made

    def load(self, kind: str, pointer: str) -> Value:
        region, offset, index = _parts(pointer)
        made = self.value(kind)
        operation = _Operation(_LOAD[kind], (index,), (made,), (region, offset))
        self._operations.append(operation)
        return made

    def store(self, value: str, pointer: str) -> None:
        region, offset, index = _parts(pointer)
        self._operations.append(_Operation(_STORE, (index, value), (), (region, offset)))

    def begin_loop(self, leave: bytes, counter: str, stop: str) -> None:
        """Begin a loop that ends when the comparison is true."""
        self._operations.append(_Operation(b"\x02\x40\x03\x40", (), nests=1))
        self._operations.append(_Operation(leave + b"\x0d\x01", (counter, stop)))

    def end_loop(self) -> None:
        self._operations.append(_Operation(b"\x0c\x00\x0b\x0b", (), nests=-1))

    def finish(self, *results: str) -> None:
        """Leave the results on the stack at the end of the function."""
        self._operations.append(_Operation(b"", results))

    def encoded(self, regions: Mapping[str, int]) -> bytes:
        """Body of the function with its local variables."""
        operations = _without_unused(self._operations)
        on_stack = _on_stack(operations)
        places = _places(operations, on_stack, self.parameters)
        integers = [slot for name, slot in places.items() if name[0] == "i"]
        reals = [slot for name, slot in places.items() if name[0] == "f"]
        counts = max(integers, default=-1) + 1, max(reals, default=-1) + 1 - self.parameters
        starts = {"i": self.parameters, "f": counts[0]}
        body, pending = bytearray(), b""
        for operation in operations:
            parts = []
            for use in operation.uses:
                parts.append(pending if use in on_stack else _operand(use, places, starts, self))
            pending = b"".join(parts) + operation.code
            if operation.memory is not None:
                region, offset = operation.memory
                pending += unsigned(regions[region] + offset)
            if operation.makes and operation.makes[0] in on_stack:
                continue
            for made in reversed(operation.makes):
                pending += _SET + unsigned(_local(made, places, starts, self))
            body += pending
        kinds = [unsigned(n) + kind for n, kind in zip(counts, (I32, F64), strict=True) if n]
        code = leb_vector(kinds) + bytes(body) + b"\x0b"
        return unsigned(len(code)) + code


def _parts(pointer: str) -> tuple[str, int, str]:
    region, offset, *index = pointer.split("+")
    return region, int(offset), index[0] if index else "0"


def _is_variable(value: str) -> bool:
    return value[0] in "fi"


def _local(name: str, places: Mapping[str, int], starts: Mapping[str, int], code: WasmCode) -> int:
    slot = places[name]
    is_parameter = name[0] == "f" and slot < code.parameters
    return slot if is_parameter else slot + starts[name[0]]


def _operand(
    value: str, places: Mapping[str, int], starts: Mapping[str, int], code: WasmCode
) -> bytes:
    if _is_variable(value):
        return _GET + unsigned(_local(value, places, starts, code))
    if "p" in value:
        return b"\x44" + struct.pack("<d", float.fromhex(value))
    if value == "nan":
        return b"\x44" + struct.pack("<d", float("nan"))
    return b"\x41" + signed(int(value))


def _without_unused(operations: list[_Operation]) -> list[_Operation]:
    """Operations whose values are used, directly or by others."""
    while True:
        used = {use for operation in operations for use in operation.uses}
        kept = [each for each in operations if not each.makes or used.intersection(each.makes)]
        if len(kept) == len(operations):
            return kept
        operations = kept


def _on_stack(operations: Sequence[_Operation]) -> set[str]:
    """Values that only the next operation uses: they stay on the stack."""
    uses = Counter(use for operation in operations for use in operation.uses)
    makes = Counter(made for operation in operations for made in operation.makes)
    only_next = set()
    for this, following in pairwise(operations):
        if len(this.makes) == 1 and uses[this.makes[0]] == makes[this.makes[0]] == 1:
            only_next.update(set(this.makes).intersection(following.uses))
    return only_next


def _places(
    operations: Sequence[_Operation], on_stack: set[str], parameters: int
) -> dict[str, int]:
    """Number of the local variable of each value; values that are not needed together share it."""
    first, last = _lifetimes(operations)
    ends: dict[int, list[str]] = {}
    for name, end in last.items():
        ends.setdefault(end, []).append(name)
    places = {f"f{i}": i for i in range(parameters)}
    free: dict[str, list[int]] = {"i": [], "f": []}
    counts = {"i": 0, "f": parameters}
    for i, operation in enumerate(operations):
        # a result may take the place of an operand, which is read before
        for name in ends.get(i, ()):
            if name in places and first.get(name, -1) < i and name not in operation.makes:
                heappush(free[name[0]], places[name])
        for name in operation.makes:
            if name not in on_stack and name not in places:
                kind = name[0]
                if not free[kind]:
                    heappush(free[kind], counts[kind])
                    counts[kind] += 1
                places[name] = heappop(free[kind])
    return places


def _lifetimes(operations: Sequence[_Operation]) -> tuple[dict[str, int], dict[str, int]]:
    """First and last operation of each variable; one that a loop does not create outlives it."""
    ends, begun = {}, []
    for i, operation in enumerate(operations):
        if operation.nests > 0:
            begun.append(i)
        elif operation.nests < 0:
            ends[begun.pop()] = i
    first: dict[str, int] = {}
    last: dict[str, int] = {}
    inside: list[int] = []
    for i, operation in enumerate(operations):
        if operation.nests > 0:
            inside.append(i)
        elif operation.nests < 0:
            inside.pop()
        for name in operation.makes:
            first.setdefault(name, i)
        for name in (*operation.uses, *operation.makes):
            if _is_variable(name):
                begin = first.get(name, -1)
                outer = next((loop for loop in inside if begin < loop), None)
                end = i if outer is None else ends[outer]
                last[name] = max(last.get(name, -1), end)
    return first, last


class WasmInstructions:
    """Instructions of an algorithm with loops over the links, for one state."""

    code: WasmCode
    n: Value
    m: Value
    doubles: Value
    integers: Value

    epoch: int = 0
    precision = DOUBLE
    scratch: Value
    tables: Value
    staging: Value
    scratch, tables, staging = (Value(f"{name}+0") for name in ("scratch", "tables", "staging"))

    def __init__(self, n: int, m: int, doubles: str, integers: str) -> None:
        self.code = WasmCode()
        self.n, self.m = Value(str(n)), Value(str(m))
        self.doubles, self.integers = Value(f"{doubles}+0"), Value(f"{integers}+0")

    # real numbers

    def splat(self, number: float) -> Value:
        return Value("nan" if number != number else float(number).hex())

    def broadcast(self, number: Value) -> Value:
        return number

    def binary(self, operation: str, a: Value, b: Value) -> Value:
        return self.code.emit("f", F64_OPS[operation], a, b)

    def negated(self, number: Value) -> Value:
        return self.code.emit("f", NEGATED, number)

    def function(self, name: str, number: Value) -> Value:
        return self.code.emit("f", ABSOLUTE if name == "fabs" else ROOT, number)

    def sin_cos(self, number: Value) -> tuple[Value, Value]:
        sine, cosine = self.code.call(SIN_COS_INDEX, number, 2)
        return sine, cosine

    def tanh(self, number: Value) -> Value:
        return self.code.call(TANH_INDEX, number, 1)[0]

    def compare(self, relation: str, a: Value, b: Value) -> Value:
        return self.code.emit("i", LESS if relation == "olt" else EQUAL, a, b)

    def select(self, condition: Value, yes: Value, no: Value) -> Value:
        return self.code.emit("f", SELECT, yes, no, condition)

    select_uniform = select

    # integers: fold what is already a constant

    def int_op(self, operation: str, a: Value | int, b: Value | int) -> Value:
        known = folded_integer(operation, str(a), str(b))
        return known or self.code.emit("i", I32_OPS[operation], str(a), str(b))

    def int_op_at_entry(self, operation: str, a: Value | int, b: Value | int) -> Value:
        known = folded_integer(operation, str(a), str(b))
        assert known is not None, "the size of an array is a constant"
        return known

    def smaller(self, a: Value | int, b: Value | int) -> Value:
        return self._choose(str(a), str(b), BELOW)

    def larger(self, a: Value | int, b: Value | int) -> Value:
        return self._choose(str(a), str(b), ABOVE)

    def _choose(self, a: str, b: str, relation: bytes) -> Value:
        return self.code.emit("i", SELECT, a, b, self.code.emit("i", relation, a, b))

    def not_zero(self, number: Value) -> Value:
        return self.code.emit("i", I32_UNEQUAL, number, "0")

    def real_of(self, number: Value) -> Value:
        return self.code.emit("f", CONVERTED, number)

    # memory

    def address(self, pointer: Value, index: Value | int, kind: str = SCALAR) -> Value:
        region, offset, known = _parts(pointer)
        size, text = 4 if kind == "i64" else 8, str(index)
        if not _is_variable(text):
            end = "" if known == "0" else f"+{known}"
            return Value(f"{region}+{offset + size * int(text)}{end}")
        scaled = self.code.emit("i", I32_SHIFT, text, "2" if size == 4 else "3")
        moved = scaled if known == "0" else self.code.emit("i", I32_OPS["add"], known, scaled)
        return Value(f"{region}+{offset}+{moved}")

    def load(self, kind: str, pointer: Value) -> Value:
        return self.code.load("f" if kind == SCALAR else "i", pointer)

    def int_table_at_entry(self, offset: Value) -> Value:
        return self.address(self.integers, offset, "i64")

    def vectors_at_entry(self, memory: Value, offset: Value) -> Value:
        return self.address(memory, offset)

    def vector_address(self, pointer: Value, index: Value | int) -> Value:
        return self.address(pointer, index)

    def load_vector(self, pointer: Value) -> Value:
        if _is_variable(pointer) and "+" not in pointer:
            return self.code.emit("f", b"", pointer)
        return self.code.load("f", pointer)

    def store_vector(self, value: Value, pointer: Value) -> None:
        if _is_variable(pointer) and "+" not in pointer:
            self.code.assign(pointer, value)
        else:
            self.code.store(value, pointer)

    def variable(self) -> Value:
        return self.code.value("f")

    # loops

    def loop(self, start: Value | int, stop: Value | int, step: int) -> Iterator[Value]:
        counter = self._counter(start)
        self.code.begin_loop(FROM if step > 0 else UP_TO, counter, str(stop))
        yield from self._body(counter)
        self.code.assign(counter, self.code.emit("i", I32_OPS["add"], counter, str(step)))
        self.code.end_loop()

    def walk(self, start: Value | int, stop: Value | int, table: Value) -> Iterator[Value]:
        counter = self._counter(start)
        self.code.begin_loop(I32_EQUAL, counter, str(stop))
        yield from self._body(counter)
        self.code.assign(counter, self.load("i64", self.address(table, counter, "i64")))
        self.code.end_loop()

    def _counter(self, start: Value | int) -> Value:
        counter = self.code.value("i")
        self.code.assign(counter, str(start))
        return counter

    def _body(self, counter: Value) -> Iterator[Value]:
        self.epoch += 1
        yield counter
        self.epoch += 1


# checked by the type checker
_IS_INSTRUCTIONS: type[Instructions] = WasmInstructions
