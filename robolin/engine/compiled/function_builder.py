"""Builder of LLVM functions on arrays: addresses, loops, elementwise steps, interpolation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from llvmlite import ir

INT64: Any = ir.IntType(64)
FLOAT64: Any = ir.DoubleType()
POINTER: Any = FLOAT64.as_pointer()
# numbers that elementwise steps compute together
LANES = 4
# length up to which they compute one number at a time
SHORT = 64
_VECTOR = ir.VectorType(FLOAT64, LANES)


class FunctionBuilder:
    """Instructions of one function at a time, in the module `module`.

    Arrays are pointers to doubles, and offsets are counted in doubles.
    """

    stage_function: Any
    add_function: Any
    advance_function: Any
    copy_function: Any
    blend_function: Any

    def __init__(self, name: str) -> None:
        self.module: Any = ir.Module(name)
        self.b: Any = None
        self.stage_function = self._elementwise("stage", 3, _stage)
        self.add_function = self._elementwise("add", 2, _add)
        self.advance_function = self._elementwise("advance", 3, _advance)
        self.copy_function = self._elementwise("copy", 2, _copy)
        self.blend_function = self._elementwise("blend", 3, _blend)

    def begin(self, name: str, result: Any, arguments: Sequence[Any]) -> Any:
        """Begin a function; return its arguments."""
        function = ir.Function(self.module, ir.FunctionType(result, arguments), name)
        self.b = ir.IRBuilder(function.append_basic_block("entry"))
        return function.args

    def at(self, pointer: Any, *offsets: Any) -> Any:
        return self.b.gep(pointer, [self.add_up(*offsets)])

    def get(self, pointer: Any, *offsets: Any) -> Any:
        if isinstance(pointer, _Vectors):
            return self.b.load(pointer.at(*offsets), align=8)
        return self.b.load(self.at(pointer, *offsets))

    def put(self, value: Any, pointer: Any, *offsets: Any) -> None:
        if isinstance(pointer, _Vectors):
            self.b.store(value, pointer.at(*offsets), align=8)
        else:
            self.b.store(value, self.at(pointer, *offsets))

    def add_up(self, *terms: Any) -> Any:
        total = terms[0]
        for term in terms[1:]:
            total = self.b.add(total, term)
        return total

    def times(self, factor: int, value: Any) -> Any:
        return self.b.mul(int_constant(factor), value)

    def variable(self, value: Any) -> Any:
        with self.b.goto_entry_block():
            variable = self.b.alloca(INT64 if value.type == INT64 else FLOAT64)
        self.b.store(value, variable)
        return variable

    def copy(self, target: Any, source: Any, size: Any) -> None:
        self.b.call(self.copy_function, [target, source, real_constant(0.0), size])

    def clipped(self, value: Any, least: Any, most: Any) -> Any:
        """NumPy's clip: the larger of value and least, then the smaller; NaN stays."""
        b = self.b
        raised = b.select(b.fcmp_unordered(">", value, least), value, least)
        return b.select(b.fcmp_unordered("<", raised, most), raised, most)

    @contextmanager
    def loop(self, stop: Any, start: Any = None, step: Any = None) -> Iterator[Any]:
        """A loop over start … stop, exclusive; `stop` may be a function that loads it."""
        b = self.b
        head, body, after = (b.append_basic_block(name) for name in ("head", "body", "after"))
        before = b.block
        b.branch(head)
        b.position_at_end(head)
        i = b.phi(INT64)
        i.add_incoming(int_constant(0) if start is None else start, before)
        limit = stop() if callable(stop) else stop
        b.cbranch(b.icmp_signed("<", i, limit), body, after)
        b.position_at_end(body)
        yield i
        following = b.add(i, int_constant(1) if step is None else step)
        i.add_incoming(following, b.block)
        b.branch(head)
        b.position_at_end(after)

    def _elementwise(self, name: str, pointers: int, body: Any) -> Any:
        """An internal function on arrays that do not overlap: arrays, a factor and a length."""
        kind = ir.FunctionType(ir.VoidType(), [POINTER] * pointers + [FLOAT64, INT64])
        function = ir.Function(self.module, kind, name)
        function.linkage = "internal"
        function.attributes.add("alwaysinline")
        for argument in function.args[:pointers]:
            argument.add_attribute("noalias")
        *arrays, factor, length = function.args
        b = self.b = ir.IRBuilder(function.append_basic_block("entry"))
        factors = ir.Constant(_VECTOR, ir.Undefined)
        for lane in range(LANES):
            factors = b.insert_element(factors, factor, ir.Constant(ir.IntType(32), lane))
        # a vector that was just written number by number is read only after a delay
        is_short = b.icmp_signed("<", length, int_constant(SHORT))
        in_lanes = b.select(is_short, int_constant(0), b.and_(length, int_constant(-LANES)))
        with self.loop(in_lanes, step=int_constant(LANES)) as i:
            body(self, [_Vectors(self, each) for each in arrays], factors, i)
        with self.loop(length, in_lanes) as i:
            body(self, arrays, factor, i)
        b.ret_void()
        return function

    def interpolate(
        self, cursor: Any, time: Any, rows: Any, t: Any, jobs: Sequence[tuple[Any, Any, Any]]
    ) -> None:
        """Interpolate rows at time t; outside the range, take the nearest row.

        Args:
            cursor: variable with the row of the last call
            time, rows: times (rows,) and their number
            t: the time
            jobs: values (rows, size), target (size,) and size of each array
        """
        b = self.b
        self._search(cursor, time, rows, t)
        after = b.load(cursor)
        before = b.sub(after, int_constant(1))
        is_first = b.icmp_signed("==", after, int_constant(0))
        outside = b.or_(is_first, b.icmp_signed("==", after, rows))
        with b.if_else(outside) as (held, between):
            with held:
                row = b.select(is_first, int_constant(0), before)
                for values, target, size in jobs:
                    source = self.at(values, b.mul(row, size))
                    b.call(self.copy_function, [target, source, real_constant(0.0), size])
            with between:
                start, stop = self.get(time, before), self.get(time, after)
                share = b.fdiv(b.fsub(t, start), b.fsub(stop, start))
                for values, target, size in jobs:
                    low, high = (self.at(values, b.mul(row, size)) for row in (before, after))
                    b.call(self.blend_function, [target, low, high, share, size])

    def _search(self, cursor: Any, time: Any, rows: Any, t: Any) -> None:
        """Move the cursor to the number of times up to t; it is near after the previous step."""
        b = self.b
        for forwards in (True, False):
            head, body, after = (b.append_basic_block(name) for name in ("seek", "move", "found"))
            b.branch(head)
            b.position_at_end(head)
            now = b.load(cursor)
            limit = (
                b.icmp_signed("<", now, rows)
                if forwards
                else b.icmp_signed(">", now, int_constant(0))
            )
            inside = b.append_basic_block("inside")
            b.cbranch(limit, inside, after)
            b.position_at_end(inside)
            neighbour = now if forwards else b.sub(now, int_constant(1))
            relation = "<=" if forwards else ">"
            b.cbranch(b.fcmp_ordered(relation, self.get(time, neighbour), t), body, after)
            b.position_at_end(body)
            b.store(b.add(now, int_constant(1 if forwards else -1)), cursor)
            b.branch(head)
            b.position_at_end(after)


class _Vectors:
    """An array that is read and written in vectors of `LANES` numbers."""

    def __init__(self, code: FunctionBuilder, pointer: Any) -> None:
        self._code, self._pointer = code, pointer

    def at(self, *offsets: Any) -> Any:
        start = self._code.at(self._pointer, *offsets)
        return self._code.b.bitcast(start, _VECTOR.as_pointer())


def int_constant(value: int) -> Any:
    return ir.Constant(INT64, value)


def real_constant(value: float) -> Any:
    return ir.Constant(FLOAT64, value)


def _stage(code: FunctionBuilder, arrays: Any, factor: Any, i: Any) -> None:
    out, y, k = arrays
    code.put(code.b.fadd(code.b.fmul(code.get(k, i), factor), code.get(y, i)), out, i)


def _add(code: FunctionBuilder, arrays: Any, factor: Any, i: Any) -> None:
    total, k = arrays
    code.put(code.b.fadd(code.get(total, i), code.b.fmul(code.get(k, i), factor)), total, i)


def _advance(code: FunctionBuilder, arrays: Any, factor: Any, i: Any) -> None:
    y, before, change = arrays
    now = code.get(y, i)
    code.put(now, before, i)
    code.put(code.b.fadd(now, code.b.fmul(code.get(change, i), factor)), y, i)


def _copy(code: FunctionBuilder, arrays: Any, factor: Any, i: Any) -> None:
    target, source = arrays
    code.put(code.get(source, i), target, i)


def _blend(code: FunctionBuilder, arrays: Any, factor: Any, i: Any) -> None:
    target, low, high = arrays
    one = 1.0 if factor.type == FLOAT64 else [1.0] * LANES
    rest = code.b.fsub(ir.Constant(factor.type, one), factor)
    left = code.b.fmul(rest, code.get(low, i))
    code.put(code.b.fadd(left, code.b.fmul(factor, code.get(high, i))), target, i)
