"""Emit LLVM assembly: instructions, loops and constants."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator

from robolin.dynamics.algebra.trigonometry import DOUBLE, Precision
from robolin.engine.compiled.lanes import SCALAR, Instructions, Value

# number of the metadata node that marks non-temporal stores
ONCE = 0


class Assembly:
    """The text of one function that works on vectors of `width` numbers of one precision."""

    real: str
    width: int
    precision: Precision
    vector: str
    epoch: int

    n: Value = Value("%n")
    m: Value = Value("%m")
    doubles: Value = Value("%doubles")
    integers: Value = Value("%wholes")
    scratch: Value = Value("%scratch")
    tables: Value = Value("%tables")
    staging: Value = Value("%staging")

    def __init__(self, width: int, precision: Precision = DOUBLE) -> None:
        self.width, self.precision, self.real = width, precision, precision.real
        self.vector = f"<{width} x {self.real}>"
        self._entry: list[str] = []
        self._body: list[str] = []
        self._count = 0
        self._block = "entry.end"
        # changes when a loop begins or ends: values computed before may be invalid after
        self.epoch = 0

    # registers and lines

    def emit(self, operation: str) -> Value:
        """Append an instruction with a result."""
        name = self._name()
        self._body.append(f"  {name} = {operation}")
        return name

    def do(self, operation: str) -> None:
        """Append an instruction without a result."""
        self._body.append(f"  {operation}")

    def emit_at_entry(self, operation: str) -> Value:
        """Append an instruction to the entry block, which runs once."""
        name = self._name()
        self._entry.append(f"  {name} = {operation}")
        return name

    def _name(self) -> Value:
        self._count += 1
        return Value(f"%v{self._count}")

    # vectors

    def splat(self, number: float) -> Value:
        """A constant in every lane."""
        # LLVM writes constants of either precision with the bits of a double
        rounded = number if self.precision is DOUBLE else float32_value(number)
        bits = struct.unpack("<Q", struct.pack("<d", rounded))[0]
        lane = f"{self.real} 0x{bits:016X}"
        return Value("<" + ", ".join([lane] * self.width) + ">")

    def binary(self, operation: str, a: Value, b: Value) -> Value:
        return self.emit(f"{operation} {self.vector} {a}, {b}")

    def broadcast(self, number: Value) -> Value:
        """A number in every lane."""
        first = self.emit(f"insertelement {self.vector} poison, {self.real} {number}, i32 0")
        zeros = f"<{self.width} x i32> zeroinitializer"
        return self.emit(f"shufflevector {self.vector} {first}, {self.vector} poison, {zeros}")

    def negated(self, number: Value) -> Value:
        return self.emit(f"fneg {self.vector} {number}")

    def function(self, name: str, number: Value) -> Value:
        overload = f"v{self.width}f{8 * self.precision.size}"
        return self.emit(f"call {self.vector} @llvm.{name}.{overload}({self.vector} {number})")

    def sin_cos(self, number: Value) -> None:
        """None: LLVM has no instruction for sine and cosine."""

    def tanh(self, number: Value) -> None:
        """None: LLVM has no instruction for tanh."""

    def compare(self, relation: str, a: Value, b: Value) -> Value:
        return self.emit(f"fcmp {relation} {self.vector} {a}, {b}")

    def select(self, condition: Value, yes: Value, no: Value) -> Value:
        """Select for each lane separately."""
        mask = f"<{self.width} x i1> {condition}"
        return self.emit(f"select {mask}, {self.vector} {yes}, {self.vector} {no}")

    def select_uniform(self, condition: Value, yes: Value, no: Value) -> Value:
        """Select the same operand in all lanes."""
        return self.emit(f"select i1 {condition}, {self.vector} {yes}, {self.vector} {no}")

    def shuffle(self, a: Value, b: Value, lanes: list[int]) -> Value:
        """Select lanes of a (0 … width-1) and b (width …)."""
        mask = ", ".join(f"i32 {lane}" for lane in lanes)
        return self.emit(
            f"shufflevector {self.vector} {a}, {self.vector} {b}, <{len(lanes)} x i32> <{mask}>"
        )

    def load_vector(self, pointer: Value, aligned: bool = True) -> Value:
        return self.emit(f"load {self.vector}, ptr {pointer}, align {self._align(aligned)}")

    def store_vector(self, value: Value, pointer: Value, aligned: bool = True) -> None:
        self.do(f"store {self.vector} {value}, ptr {pointer}, align {self._align(aligned)}")

    def load_part(self, pointer: Value, count: int, lanes: int) -> Value:
        """`count` numbers in the first of `lanes` lanes; memory behind them is not read."""
        if count == lanes:
            return self.emit(
                f"load <{lanes} x {self.real}>, ptr {pointer}, align {self._align(False)}"
            )
        vector, mask = self._part(count, lanes)
        return self.emit(
            f"call {vector} @llvm.masked.load.v{lanes}f{8 * self.precision.size}.p0(ptr {pointer}, "
            f"i32 {self._align(False)}, {mask}, {vector} poison)"
        )

    def store_part(self, value: Value, pointer: Value, count: int, lanes: int) -> None:
        """Store the first `count` of `lanes` lanes."""
        vector, mask = self._part(count, lanes)
        if count == lanes:
            self.do(f"store {vector} {value}, ptr {pointer}, align {self._align(False)}")
            return
        self.do(
            f"call void @llvm.masked.store.v{lanes}f{8 * self.precision.size}.p0({vector} {value}, "
            f"ptr {pointer}, i32 {self._align(False)}, {mask})"
        )

    def _part(self, count: int, lanes: int) -> tuple[str, str]:
        """A vector type, and the mask of its first lanes."""
        bits = ", ".join(f"i1 {int(lane < count)}" for lane in range(lanes))
        return f"<{lanes} x {self.real}>", f"<{lanes} x i1> <{bits}>"

    def joined(self, parts: list[Value], lanes: int) -> Value:
        """Vectors of `lanes` lanes one after the other; their number is a power of two."""
        while len(parts) > 1:
            kind, order = (
                f"<{lanes} x {self.real}>",
                ", ".join(f"i32 {i}" for i in range(2 * lanes)),
            )
            parts = [
                self.emit(f"shufflevector {kind} {a}, {kind} {b}, <{2 * lanes} x i32> <{order}>")
                for a, b in zip(parts[::2], parts[1::2], strict=True)
            ]
            lanes *= 2
        return parts[0]

    def lanes_from(self, vector: Value, first: int, count: int) -> Value:
        """Lanes first … first + count - 1 of a vector."""
        if count == self.width:
            return vector
        order = ", ".join(f"i32 {lane}" for lane in range(first, first + count))
        kind = f"{self.vector} {vector}, {self.vector} poison"
        return self.emit(f"shufflevector {kind}, <{count} x i32> <{order}>")

    def stream_vector(self, value: Value, pointer: Value) -> None:
        """Non-temporal store, for memory that is not read again soon."""
        self.do(
            f"store {self.vector} {value}, ptr {pointer}, align {self._align(True)}, "
            f"!nontemporal !{ONCE}"
        )

    def _align(self, aligned: bool) -> int:
        return self.precision.size * (self.width if aligned else 1)

    # addresses

    def address(self, pointer: Value, index: Value | int, kind: str = SCALAR) -> Value:
        element = self.real if kind == SCALAR else kind
        return self.emit(f"getelementptr {element}, ptr {pointer}, i64 {index}")

    def vector_address(self, pointer: Value, index: Value | int) -> Value:
        return self.address(pointer, index, self.vector)

    def load(self, kind: str, pointer: Value) -> Value:
        if kind == SCALAR:
            return self.emit(f"load {self.real}, ptr {pointer}, align {self.precision.size}")
        return self.emit(f"load {kind}, ptr {pointer}, align 8")

    def store(self, value: Value, pointer: Value) -> None:
        """Store one number."""
        self.do(f"store {self.real} {value}, ptr {pointer}, align {self.precision.size}")

    def int_table_at_entry(self, offset: Value) -> Value:
        """Address of a table of integers."""
        return self.emit_at_entry(f"getelementptr i64, ptr {self.integers}, i64 {offset}")

    def vectors_at_entry(self, memory: Value, offset: Value) -> Value:
        """Address `offset` vectors after the start of memory."""
        return self.emit_at_entry(f"getelementptr {self.vector}, ptr {memory}, i64 {offset}")

    def variable(self) -> Value:
        return self.emit_at_entry(f"alloca {self.vector}, align {self._align(True)}")

    # integers

    def int_op(self, operation: str, a: Value | int, b: Value | int) -> Value:
        return self.emit(f"{operation} i64 {a}, {b}")

    def int_op_at_entry(self, operation: str, a: Value | int, b: Value | int) -> Value:
        return self.emit_at_entry(f"{operation} i64 {a}, {b}")

    def not_zero(self, number: Value) -> Value:
        return self.emit(f"icmp ne i64 {number}, 0")

    def real_of(self, number: Value) -> Value:
        """An integer as a real number in every lane."""
        return self.broadcast(self.emit(f"sitofp i64 {number} to {self.real}"))

    def smaller(self, a: Value | int, b: Value | int) -> Value:
        return self.emit(f"call i64 @llvm.smin.i64(i64 {a}, i64 {b})")

    def larger(self, a: Value | int, b: Value | int) -> Value:
        return self.emit(f"call i64 @llvm.smax.i64(i64 {a}, i64 {b})")

    # loops

    def loop(self, start: Value | int, stop: Value | int, step: int) -> Iterator[Value]:
        """Emit a loop over start, start + step, … up to stop, exclusive."""
        short = "slt" if step > 0 else "sgt"
        for k, advance in self._while(start, lambda k: f"icmp {short} i64 {k}, {stop}"):
            yield k
            advance(self.int_op("add", k, step))

    def walk(self, start: Value | int, stop: Value | int, table: Value) -> Iterator[Value]:
        """Emit a loop over start, table[start], … up to stop, exclusive."""
        for k, advance in self._while(start, lambda k: f"icmp ne i64 {k}, {stop}"):
            yield k
            advance(self.load("i64", self.address(table, k, "i64")))

    def _while(
        self, start: Value | int, more: Callable[[Value], str]
    ) -> Iterator[tuple[Value, Callable[[Value], None]]]:
        """Emit a loop that runs while `more(k)` is true; its body must set the next k."""
        self._count += 1
        head, body, after = (f"{part}{self._count}" for part in ("head", "body", "after"))
        before, k = self._block, self._name()
        self.do(f"br label %{head}")
        self._label(head)
        phi = len(self._body)
        self._body.append("")
        self.do(f"br i1 {self.emit(more(k))}, label %{body}, label %{after}")
        self._label(body)
        following: list[Value] = []
        yield k, following.append
        self._body[phi] = f"  {k} = phi i64 [{start}, %{before}], [{following[0]}, %{self._block}]"
        self.do(f"br label %{head}")
        self._label(after)

    def only_if(self, condition: Value) -> Iterator[None]:
        """Emit a conditional block."""
        self._count += 1
        then, after = f"then{self._count}", f"after{self._count}"
        self.do(f"br i1 {condition}, label %{then}, label %{after}")
        self._label(then)
        yield None
        self.do(f"br label %{after}")
        self._label(after)

    def _label(self, name: str) -> None:
        self._body.append(f"{name}:")
        self._block = name
        self.epoch += 1

    # the text

    def function_text(self, name: str, arguments: str) -> str:
        return "\n".join(
            [
                # inlining would not speed up calls for many rows
                f"define void @{name}({arguments}) noinline {{",
                "entry:",
                *self._entry,
                "  br label %entry.end",
                "entry.end:",
                *self._body,
                "  ret void",
                "}",
                "",
            ]
        )


# checked by mypy
_IS_INSTRUCTIONS: type[Instructions] = Assembly


def float32_value(number: float) -> float:
    """The nearest number of single precision."""
    value: float = struct.unpack("<f", struct.pack("<f", number))[0]
    return value


def surroundings(width: int, precision: Precision = DOUBLE) -> str:
    """Declarations and module flags for functions on vectors of `width` numbers."""
    vector, overload = f"<{width} x {precision.real}>", f"v{width}f{8 * precision.size}"
    parts = ""
    lanes = 2
    while lanes <= width:
        part, name = f"<{lanes} x {precision.real}>", f"v{lanes}f{8 * precision.size}.p0"
        parts += f"declare {part} @llvm.masked.load.{name}(ptr, i32, <{lanes} x i1>, {part})\n"
        parts += f"declare void @llvm.masked.store.{name}({part}, ptr, i32, <{lanes} x i1>)\n"
        lanes *= 2
    return f"""
{parts}declare {vector} @llvm.sqrt.{overload}({vector})
declare {vector} @llvm.fabs.{overload}({vector})
declare i64 @llvm.smin.i64(i64, i64)
declare i64 @llvm.smax.i64(i64, i64)
!{ONCE} = !{{i32 1}}
!llvm.module.flags = !{{!{ONCE + 1}}}
!{ONCE + 1} = !{{i32 1, !"override-stack-alignment", i32 {precision.size * width}}}
"""


# counters are a cache line apart to avoid false sharing between threads
COUNTER_STRIDE = 8

RANGE = "i64 %first, i64 %last"
SHARING = "i64 %piece, i64 %worker, i64 %workers, ptr noalias readonly %bounds, ptr %claimed"

# polls of the other threads' progress before sleeping: about 25 µs, less than a sleep and a
# wake-up would take
SPIN_LIMIT = 50_000

# notail: a tail call becomes a jump, which would skip the realignment of the stack
_CALL = """
  notail call void @kernel({known}, i64 %first, i64 %last)
  ret void
"""

_SHARE = f"""
entry:
  %all.place = getelementptr i64, ptr %bounds, i64 %workers
  %all = load i64, ptr %all.place, align 8
  %last.line = mul i64 %workers, {COUNTER_STRIDE}
  %finished = getelementptr i64, ptr %claimed, i64 %last.line
  %is.first = icmp eq i64 %worker, 0
  %most.polls = select i1 %is.first, i64 {SPIN_LIMIT}, i64 1
  br label %region
region:
  %turn = phi i64 [0, %entry], [%following, %done]
  %shifted = add i64 %worker, %turn
  %here = urem i64 %shifted, %workers
  %after = add i64 %here, 1
  %end.place = getelementptr i64, ptr %bounds, i64 %after
  %end = load i64, ptr %end.place, align 8
  %line = mul i64 %here, {COUNTER_STRIDE}
  %counter = getelementptr i64, ptr %claimed, i64 %line
  br label %claim
claim:
  %first = atomicrmw add ptr %counter, i64 %piece monotonic
  %left = icmp slt i64 %first, %end
  br i1 %left, label %work, label %done
work:
  %beyond = add i64 %first, %piece
  %last = call i64 @llvm.smin.i64(i64 %beyond, i64 %end)
  notail call void @kernel({{known}}, i64 %first, i64 %last)
  %count = sub i64 %last, %first
  %earlier = atomicrmw add ptr %finished, i64 %count release
  br label %claim
done:
  %following = add i64 %turn, 1
  %more = icmp slt i64 %following, %workers
  br i1 %more, label %region, label %look
look:
  %looks = phi i64 [1, %done], [%again, %wait]
  %so.far = load atomic i64, ptr %finished acquire, align 8
  %complete = icmp eq i64 %so.far, %all
  %gave.up = icmp sge i64 %looks, %most.polls
  %enough = or i1 %complete, %gave.up
  br i1 %enough, label %over, label %wait
wait:
  %again = add i64 %looks, 1
  br label %look
over:
  %answer = zext i1 %complete to i64
  ret i64 %answer
"""


def entries(kernel_arguments: str) -> str:
    """Entry functions `call` and `share` for a kernel with these arguments and a range of rows.

    `share` returns 1 if all rows are done, and 0 if another thread is still working.
    """
    # a call has types and values only, without the attributes of the definition
    words = [argument.split() for argument in kernel_arguments.split(", ")]
    known = ", ".join(f"{kind} {name}" for kind, *_, name in words)
    return "\n".join(
        f'define {answer} @{name}({kernel_arguments}, {more}) "stackrealign" {{{body}}}'
        for answer, name, more, body in (
            ("void", "call", RANGE, _CALL.format(known=known)),
            ("i64", "share", SHARING, _SHARE.format(known=known)),
        )
    )
