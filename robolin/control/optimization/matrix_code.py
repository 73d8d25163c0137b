"""LLVM code for small dense matrices of a fixed size, with four columns per vector.

Every entry is a sum in the order of its index, and lanes are independent: results have the bits
of the same loops in NumPy or C on every machine.  Rows are padded to whole vectors.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from llvmlite import ir

SIMD = 4
# rows and vectors of a tile, whose sums stay in registers
TILE_ROWS, TILE_VECTORS = 4, 3

REAL_TYPE: Any = ir.DoubleType()
WHOLE: Any = ir.IntType(64)
REAL_POINTER: Any = REAL_TYPE.as_pointer()
VECTOR_TYPE: Any = ir.VectorType(REAL_TYPE, SIMD)
_LANE = ir.IntType(32)

Offset = Any
# A, its stride, B, its stride, the number of k, and whether to subtract the products
Term = tuple[Any, int, Any, int, int, bool]


def integer(value: int) -> Any:
    """An integer constant."""
    return ir.Constant(WHOLE, value)


def float_constant(value: float) -> Any:
    """A floating-point constant."""
    return ir.Constant(REAL_TYPE, value)


def padded(n: int) -> int:
    """A length rounded up to whole vectors."""
    return -(-n // SIMD) * SIMD


def arguments(numbers: Sequence[str], arrays: Sequence[str]) -> list[tuple[str, Any]]:
    """Arguments of a function: whole numbers, then arrays of doubles."""
    return [(name, WHOLE) for name in numbers] + [(name, REAL_POINTER) for name in arrays]


class Code:
    """Builds one function of an LLVM module."""

    def __init__(self, module: Any, name: str, arguments: Sequence[tuple[str, Any]], result: Any):
        kind = ir.FunctionType(result, [each for _, each in arguments])
        function = ir.Function(module, kind, name)
        for argument, (label, each) in zip(function.args, arguments, strict=True):
            argument.name = label
            if each is REAL_POINTER:
                argument.add_attribute("noalias")
        self.b: Any = ir.IRBuilder(function.append_basic_block("entry"))
        self.arguments: dict[str, Any] = dict(
            zip((label for label, _ in arguments), function.args, strict=True)
        )

    # memory

    def at(self, pointer: Any, *offsets: Offset) -> Any:
        """Pointer moved by a sum of numbers of doubles."""
        for offset in offsets:
            step = integer(offset) if isinstance(offset, int) else offset
            pointer = self.b.gep(pointer, [step])
        return pointer

    def load(self, pointer: Any) -> Any:
        return self.b.load(pointer, align=8)

    def store(self, value: Any, pointer: Any) -> None:
        self.b.store(value, pointer, align=8)

    def load_vector(self, pointer: Any) -> Any:
        return self.b.load(self.b.bitcast(pointer, VECTOR_TYPE.as_pointer()), align=8)

    def store_vector(self, value: Any, pointer: Any) -> None:
        self.b.store(value, self.b.bitcast(pointer, VECTOR_TYPE.as_pointer()), align=8)

    def spread(self, scalar: Any) -> Any:
        """The vector with a scalar in all lanes."""
        one = self.b.insert_element(
            ir.Constant(VECTOR_TYPE, ir.Undefined), scalar, ir.Constant(_LANE, 0)
        )
        zeros = ir.Constant(ir.VectorType(_LANE, SIMD), [0] * SIMD)
        return self.b.shuffle_vector(one, ir.Constant(VECTOR_TYPE, ir.Undefined), zeros)

    def lane(self, vector: Any, i: int) -> Any:
        return self.b.extract_element(vector, ir.Constant(_LANE, i))

    def pick(self, a: Any, b: Any, lanes: Sequence[int]) -> Any:
        """Lanes of two vectors: 0 to 3 of a, 4 to 7 of b."""
        return self.b.shuffle_vector(a, b, ir.Constant(ir.VectorType(_LANE, SIMD), list(lanes)))

    # numbers

    def smaller(self, a: Any, b: Any) -> Any:
        """The smaller number; a if they are equal."""
        return self.b.select(self.b.fcmp_ordered("<", b, a), b, a)

    def larger(self, a: Any, b: Any) -> Any:
        """The larger number; a if they are equal."""
        return self.b.select(self.b.fcmp_ordered(">", b, a), b, a)

    def absolute(self, a: Any) -> Any:
        return self.b.select(self.b.fcmp_ordered("<", a, float_constant(0.0)), self.b.fneg(a), a)

    # control

    @contextmanager
    def loop(
        self, start: Offset, stop: Offset, carried: list[Any], down: bool = False
    ) -> Iterator[tuple[Any, list[Any]]]:
        """Loop over start ≤ i < stop, or from stop - 1 down; the body updates `carried` in place.

        Yields the index and the values at the start of the body; after the loop, `carried` has the
        final values.
        """
        b = self.b
        first, last = (integer(x) if isinstance(x, int) else x for x in (start, stop))
        before = b.block
        head, body, end = (b.append_basic_block(name) for name in ("head", "body", "end"))
        b.branch(head)
        b.position_at_end(head)
        count = b.phi(WHOLE)
        count.add_incoming(first, before)
        phis = [b.phi(value.type) for value in carried]
        for phi, value in zip(phis, carried, strict=True):
            phi.add_incoming(value, before)
        b.cbranch(b.icmp_signed("<", count, last), body, end)
        b.position_at_end(body)
        index = b.sub(b.add(first, b.sub(last, integer(1))), count) if down else count
        values = list(phis)
        yield index, values
        after = b.add(count, integer(1))
        for phi, value in zip(phis, values, strict=True):
            phi.add_incoming(value, b.block)
        count.add_incoming(after, b.block)
        b.branch(head)
        b.position_at_end(end)
        carried[:] = phis

    # matrices

    def multiply(
        self,
        source: tuple[Any, int],
        terms: Sequence[Term],
        rows: tuple[int, int],
        columns: int,
        target: tuple[Any, int],
        unrolled: bool,
    ) -> None:
        """target = source ± Σ_k A[k, r] B[k, c] for a range of rows and c from r's block on.

        source, target: pointers to row 0, and strides
        columns: end of the columns
        unrolled: one piece of code per tile, for the upper triangle only; otherwise one tile in
            loops over all columns, which compiles faster for large matrices
        """
        first, last = rows
        if unrolled:
            for row in range(first, last, TILE_ROWS):
                for group in tiles(row, columns):
                    self._tile(source, terms, row, 0, group, target)
            return
        vectors = columns // SIMD
        full, rest = divmod(vectors, TILE_VECTORS)
        wide = SIMD * TILE_VECTORS
        with self.loop(first // TILE_ROWS, last // TILE_ROWS, []) as (block, _):
            row = self.b.mul(block, integer(TILE_ROWS))
            with self.loop(0, full, []) as (group, _):
                shift = self.b.mul(group, integer(wide))
                self._tile(source, terms, row, shift, range(0, wide, SIMD), target)
            if rest:
                self._tile(
                    source,
                    terms,
                    row,
                    full * wide,
                    range(0, rest * SIMD, SIMD),
                    target,
                )

    def _tile(
        self,
        source: tuple[Any, int],
        terms: Sequence[Term],
        row: Offset,
        shift: Offset,
        columns: Sequence[int],
        target: tuple[Any, int],
    ) -> None:
        """Four rows from `row` and the vectors at shift + columns."""

        def address(matrix: tuple[Any, int], r: int, c: int) -> Any:
            pointer, stride = matrix
            start = self.b.mul(row, integer(stride)) if not isinstance(row, int) else row * stride
            return self.at(pointer, start, shift, r * stride + c)

        sums = [self.load_vector(address(source, r, c)) for r in range(TILE_ROWS) for c in columns]
        for A, A_stride, B, B_stride, count, minus in terms:
            with self.loop(0, count, sums) as (k, values):
                A_row = self.at(A, self.b.mul(k, integer(A_stride)), row)
                B_row = self.at(B, self.b.mul(k, integer(B_stride)), shift)
                right = [self.load_vector(self.at(B_row, c)) for c in columns]
                add = self.b.fsub if minus else self.b.fadd
                for r in range(TILE_ROWS):
                    left = self.spread(self.load(self.at(A_row, r)))
                    for j, vector in enumerate(right):
                        at = r * len(columns) + j
                        values[at] = add(values[at], self.b.fmul(left, vector))
        for r in range(TILE_ROWS):
            for j, c in enumerate(columns):
                self.store_vector(sums[r * len(columns) + j], address(target, r, c))

    def transposed(self, rows: Sequence[Any]) -> list[Any]:
        """Transpose of a block of four vectors."""
        a, b, c, d = rows
        ab_low, ab_high = self.pick(a, b, (0, 4, 1, 5)), self.pick(a, b, (2, 6, 3, 7))
        cd_low, cd_high = self.pick(c, d, (0, 4, 1, 5)), self.pick(c, d, (2, 6, 3, 7))
        return [
            self.pick(ab_low, cd_low, (0, 1, 4, 5)),
            self.pick(ab_low, cd_low, (2, 3, 6, 7)),
            self.pick(ab_high, cd_high, (0, 1, 4, 5)),
            self.pick(ab_high, cd_high, (2, 3, 6, 7)),
        ]

    def mirror(self, P: Any, stride: int, size: int) -> None:
        """Copy the upper triangle of a matrix (size, size) to the lower one, by blocks."""
        blocks = size // SIMD
        for i in range(blocks):
            for j in range(i, blocks):
                rows = [self.at(P, (SIMD * i + r) * stride + SIMD * j) for r in range(SIMD)]
                block = [self.load_vector(row) for row in rows]
                turned = self.transposed(block)
                if i == j:
                    for r in range(SIMD):
                        lanes = [c + SIMD if c >= r else c for c in range(SIMD)]
                        self.store_vector(self.pick(turned[r], block[r], lanes), rows[r])
                else:
                    for r in range(SIMD):
                        into = self.at(P, (SIMD * j + r) * stride + SIMD * i)
                        self.store_vector(turned[r], into)


def tiles(first: int, last: int) -> Iterator[list[int]]:
    """Offsets of the vectors from `first` to `last`, in groups of a tile."""
    vectors = list(range(first, last, SIMD))
    for i in range(0, len(vectors), TILE_VECTORS):
        yield vectors[i : i + TILE_VECTORS]
