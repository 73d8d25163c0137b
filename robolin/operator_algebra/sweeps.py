"""Evaluation of a formula: a graph of operations at each link, in sweeps of O(n) operations.

Traversing a formula from its last factor to its first gives a graph with four kinds of nodes:

    Input      x(k), the vector that the operator is applied to
    Local      A(k) times another node at the same link
    Total      a sum of nodes at the same link
    Neighbour  a node at the links next to k: its children, or its parent

A recursion is a Neighbour whose source depends on it.  Common subexpressions are computed once.
Terms that end in the same block are collected, G a - G b = G (a - b), so that the nodes of ψ become
the papers' filter z⁺ = z + G ε, and those of ψ* their smoother λ = λ⁺ + H* θ̈.

Inward nodes are computed from the tips to the base, outward nodes from the base to the tips, and
all others together with their sources.  Each node is in the earliest sweep of its direction in
which all of its sources are known, so recursions in the same direction share one sweep.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from robolin.core.arrays import AnyArray
from robolin.core.records import dataclass
from robolin.dynamics.algebra.scalar import Scalar, Vector
from robolin.dynamics.algebra.vectors import add, scale, sub
from robolin.engine.run import cost_of, unknown_number
from robolin.errors import RobolinError
from robolin.operator_algebra.expression import (
    Expression,
    Identity,
    Layout,
    Product,
    Space,
    Sum,
    Transposed,
    array_for,
    numbers_of,
    put_together,
    vectors_by_link,
)
from robolin.operator_algebra.primitives import Block, NamedFormula, Recursion, Shift

Terms = list[tuple[Any, "FormulaNode"]]


@dataclass(eq=False)
class FormulaNode:
    """A quantity with a value at every link; `uses` counts the nodes computed from it."""

    width: int
    number: int = field(default=0, kw_only=True)
    uses: int = field(default=0, kw_only=True)

    def sources(self) -> Iterable[FormulaNode]:
        return ()

    def prerequisites(self) -> Iterable[FormulaNode]:
        """Nodes that must be complete, or computed at the same link, before this node."""
        return self.sources()


@dataclass(eq=False)
class Input(FormulaNode):
    """The vector that the operator is applied to."""


@dataclass(eq=False)
class Local(FormulaNode):
    """A(k) or A*(k) times a node."""

    block: Block
    starred: bool
    source: FormulaNode

    def sources(self) -> Iterable[FormulaNode]:
        return (self.source,)


@dataclass(eq=False)
class Total(FormulaNode):
    """The sum of nodes, each times a number."""

    terms: tuple[tuple[Any, FormulaNode], ...]

    def sources(self) -> Iterable[FormulaNode]:
        return (node for _, node in self.terms)


@dataclass(eq=False)
class Neighbour(FormulaNode):
    """The value of a node at the children of k (inward), or at its parent (outward)."""

    inward: bool
    source: FormulaNode | None = None
    after: tuple[FormulaNode, ...] = ()

    def sources(self) -> Iterable[FormulaNode]:
        return () if self.source is None else (self.source,)

    def prerequisites(self) -> Iterable[FormulaNode]:
        return self.after


class FormulaGraph:
    """The nodes of a formula, created in the order of traversal."""

    def __init__(self, expression: Expression, width: int) -> None:
        self._known: dict[Any, FormulaNode] = {}
        self._count = 0
        self.input: Any = self._add(Input(width))
        self.output: FormulaNode = self.follow(expression, self.input)

    def needed(self) -> list[FormulaNode]:
        """The nodes that the result depends on, in the order they can be computed at a link."""
        reached, waiting = {self.output}, [self.output]
        while waiting:
            for source in waiting.pop().sources():
                if source not in reached:
                    reached.add(source)
                    waiting.append(source)
        return sorted(reached, key=lambda node: node.number)

    def follow(self, operator: Expression, x: FormulaNode) -> FormulaNode:
        """The node for the operator applied to x."""
        match operator:
            case Identity():
                return x
            case Product(factors):
                for factor in reversed(factors):
                    x = self.follow(factor, x)
                return x
            case Sum(terms):
                width = x.width if operator.rows is None else operator.rows.width
                return self.total([(c, self.follow(term, x)) for c, term in terms], width)
            case NamedFormula():
                return self.follow(operator.definition, x)
            case Block():
                return self.local(operator, False, x)
            case Shift():
                return self.carry(True, x)
            case Recursion():
                return self.filtered(operator, x)
            case Transposed(operand):
                return self.follow_star(operand, x)
        raise AssertionError(f"no rule for {operator!r}")

    def follow_star(self, operand: Expression, x: FormulaNode) -> FormulaNode:
        """The node for the transpose of an operator or a sum, applied to x."""
        match operand:
            case Sum(terms):
                width = x.width if operand.columns is None else operand.columns.width
                return self.total([(c, self.follow(term.T, x)) for c, term in terms], width)
            case NamedFormula():
                return self.follow(operand.definition.T, x)
            case Block():
                return self.local(operand, True, x)
            case Shift():
                return self.carry(False, x)
            case Recursion():
                return self.smoothed(operand, x)
        return self.follow(operand.T, x)

    # the kinds of nodes

    def local(self, block: Block, starred: bool, x: FormulaNode) -> FormulaNode:
        key = (block, starred, x)
        if key not in self._known:
            space = block.columns if starred else block.rows
            self._known[key] = self._add(Local(space.width, block, starred, x))
        return self._known[key]

    def carry(self, inward: bool, x: FormulaNode) -> FormulaNode:
        key = (inward, x)
        if key not in self._known:
            self._known[key] = self._add(Neighbour(x.width, inward, x, (x,)))
        return self._known[key]

    def total(self, terms: Terms, width: int) -> FormulaNode:
        """A sum in which equal terms, and terms that end in the same block, are combined."""
        counted: dict[FormulaNode, Any] = {}
        for c, node in self._opened(terms):
            counted[node] = counted.get(node, 0) + c
        kept = [(c, node) for node, c in self._collected(counted) if c != 0]
        if len(kept) == 1 and kept[0][0] == 1:
            return kept[0][1]
        key = frozenset(kept)
        if key not in self._known:
            self._known[key] = self._add(Total(width, tuple(kept)))
        return self._known[key]

    def filtered(self, recursion: Recursion, x: FormulaNode) -> FormulaNode:
        """(I - E_φ A)⁻¹ x from tip to base; a shift E_φ a in x is merged into the recursion.

        For x = E_φ a + rest: z = rest + E_φ (a + A z).
        """
        key = (recursion, True, x)
        if key not in self._known:
            inside, rest = self._split(x)
            carried = self._add(Neighbour(x.width, True, None, (x,)))
            z = self.total([*rest, (1, carried)], x.width)
            handed = self.total([*inside, (1, self.follow(recursion.transition, z))], x.width)
            self._close(carried, handed)
            self._known[key] = z
        return self._known[key]

    def smoothed(self, recursion: Recursion, x: FormulaNode) -> FormulaNode:
        """(I - A* E_φ*)⁻¹ x from base to tip: z = x + A* E_φ* z."""
        key = (recursion, False, x)
        if key not in self._known:
            carried = self._add(Neighbour(x.width, False, None, (x,)))
            passed = self.follow(recursion.transition.T, carried)
            z = self.total([(1, x), (1, passed)], x.width)
            self._close(carried, z)
            self._known[key] = z
        return self._known[key]

    # reduction of the number of nodes

    def _add(self, node: FormulaNode) -> Any:
        self._count += 1
        node.number = self._count
        for source in node.sources():
            source.uses += 1
        return node

    def _close(self, carried: Neighbour, source: FormulaNode) -> None:
        carried.source = source
        source.uses += 1
        self._known.setdefault((carried.inward, source), carried)

    def _opened(self, terms: Terms) -> Iterator[tuple[Any, FormulaNode]]:
        """The terms, with each sum that has no other use replaced by its terms."""
        for c, node in terms:
            if isinstance(node, Total) and not node.uses:
                self._release(node)
                yield from ((c * inner, part) for inner, part in node.terms)
            else:
                yield c, node

    def _collected(self, counted: dict[FormulaNode, Any]) -> Iterator[tuple[FormulaNode, Any]]:
        """G a - G b as G (a - b), if G a and G b have no other use."""
        same: dict[Any, list[Local]] = {}
        for node in counted:
            if isinstance(node, Local) and not node.uses:
                same.setdefault((node.block, node.starred), []).append(node)
        merged = {node for nodes in same.values() if len(nodes) > 1 for node in nodes}
        yield from ((node, c) for node, c in counted.items() if node not in merged)
        for (block, starred), nodes in same.items():
            if len(nodes) > 1:
                for node in nodes:
                    self._release(node)
                inner = [(counted[node], node.source) for node in nodes]
                yield self.local(block, starred, self.total(inner, nodes[0].source.width)), 1

    def _split(self, x: FormulaNode) -> tuple[Terms, Terms]:
        """Split x into the terms shifted inward from the children, and the other terms."""
        inside, rest = list[tuple[Any, FormulaNode]](), list[tuple[Any, FormulaNode]]()
        for c, node in self._opened([(1, x)]):
            if isinstance(node, Neighbour) and node.inward and node.source and not node.uses:
                self._release(node)
                inside.append((c, node.source))
            else:
                rest.append((c, node))
        return inside, rest

    def _release(self, node: FormulaNode) -> None:
        """Decrement the use counts of the sources of a replaced node."""
        for source in node.sources():
            source.uses -= 1


BlockNumbers = Callable[[Block, int], Vector]


@dataclass(frozen=True, repr=False)
class Sweep:
    """One pass over all links, and the nodes that it computes at each."""

    direction: str
    nodes: tuple[FormulaNode, ...]

    def __repr__(self) -> str:
        return f"<{self.direction}: {len(self.nodes)} steps at each link>"

    def links(self, n: int) -> Iterable[int]:
        return range(n, 0, -1) if self.direction == BASE_TO_TIP else range(1, n + 1)


TIP_TO_BASE, BASE_TO_TIP, ANY_ORDER = "tip to base", "base to tip", "link by link"


@dataclass(frozen=True)
class SweepPlan:
    """The sweeps of a formula in the order they run."""

    graph: FormulaGraph
    sweeps: tuple[Sweep, ...]


def planned_sweeps(expression: Expression) -> SweepPlan:
    """The plan with the fewest sweeps; the first sweep may have either direction."""
    columns = expression.columns
    graph = FormulaGraph(expression, 1 if columns is None else columns.width)
    nodes = graph.needed()
    inward_first, outward_first = (_levels(nodes, first) for first in (True, False))
    inward = max(inward_first.values()) <= max(outward_first.values())
    levels = inward_first if inward else outward_first
    if not max(levels.values()):
        return SweepPlan(graph, (Sweep(ANY_ORDER, tuple(nodes)),))
    sweeps = []
    for level in range(1, max(levels.values()) + 1):
        name = TIP_TO_BASE if inward == (level % 2 == 1) else BASE_TO_TIP
        # nodes without a direction are computed in the first sweep
        here = (node for node in nodes if max(levels[node], 1) == level)
        sweeps.append(Sweep(name, tuple(here)))
    return SweepPlan(graph, tuple(sweeps))


def _levels(nodes: list[FormulaNode], inward_first: bool) -> dict[FormulaNode, int]:
    """The number of the sweep that computes each node; 0 if any sweep is possible."""
    levels: dict[FormulaNode, int] = {}

    def level(node: FormulaNode) -> int:
        if node not in levels:
            earliest = max((level(source) for source in node.prerequisites()), default=0)
            if isinstance(node, Neighbour):
                # odd and even sweeps have opposite directions
                odd = node.inward == inward_first
                earliest = max(earliest, 1)
                earliest += (earliest % 2 == 1) != odd
            levels[node] = earliest
        return levels[node]

    return {node: level(node) for node in nodes}


def applied(expression: Expression, vector: ArrayLike) -> AnyArray:
    """The operator applied to a vector, or to every column of a matrix."""
    rows, columns = expression.rows, expression.columns
    if columns is None:
        return _applied_anywhere(expression, numbers_of(repr(expression), vector))
    assert rows is not None
    array = array_for(columns, repr(expression), vector)
    outputs = run_sweeps(
        expression.plan, columns.layout, vectors_by_link(columns, array), _own_numbers
    )
    return put_together(rows, outputs, array)


def _applied_anywhere(expression: Expression, array: AnyArray) -> AnyArray:
    """Apply a multiple of the identity, which accepts vectors of any length."""
    single = Layout((0, 2), (0,)).joints
    (output,) = run_sweeps(expression.plan, single.layout, [(array,), (array,)], _own_numbers)[1]
    return np.zeros(array.shape) + output


def dense(expression: Expression) -> AnyArray:
    """The matrix of the operator, which is applied to all unit vectors in one pass."""
    if expression.columns is None:
        raise RobolinError(
            f"the size of {expression!r} is not defined",
            hint="multiply the operator by another operator",
        )
    return applied(expression, np.eye(expression.columns.size))


def operations(expression: Expression) -> dict[str, int]:
    """Count the operations of one application with counting scalars."""
    rows, columns = expression.rows, expression.columns
    if rows is None or columns is None:
        return {}
    numbers = np.array([unknown_number() for _ in range(columns.size)])
    counts = run_sweeps(
        expression.plan, columns.layout, vectors_by_link(columns, numbers), _counters
    )
    cost: Counter[str] = cost_of(x for k in _seen(rows) for x in counts[k]).total
    return dict(sorted(cost.items()))


def _seen(rows: Space) -> Iterable[int]:
    return (rows.link,) if rows.kind == "frame" else range(1, rows.layout.n + 1)


def _own_numbers(block: Block, k: int) -> Vector:
    return block.values[k]


def _counters(block: Block, k: int) -> Vector:
    return tuple(unknown_number() for _ in block.values[k])


def run_sweeps(
    plan: SweepPlan, layout: Layout, x: list[Vector], numbers: BlockNumbers
) -> list[Vector]:
    """The value of the result at links 0, 1, … n."""
    values: dict[FormulaNode, list[Vector]] = {plan.graph.input: x}
    for sweep in plan.sweeps:
        nodes = [node for node in sweep.nodes if not isinstance(node, Input)]
        values.update({node: [()] * (layout.n + 1) for node in nodes})
        for k in sweep.links(layout.n):
            for node in nodes:
                values[node][k] = _value(node, k, layout, values, numbers)
    return values[plan.graph.output]


def _value(
    node: FormulaNode,
    k: int,
    layout: Layout,
    values: dict[FormulaNode, list[Vector]],
    numbers: BlockNumbers,
) -> Vector:
    match node:
        case Local(block=block, starred=starred, source=source):
            times = block.kind.star_times if starred else block.kind.times
            return times(numbers(block, k), values[source][k])
        case Total(terms=terms):
            return _sum(((c, values[part][k]) for c, part in terms), node.width)
        case Neighbour(inward=inward, source=FormulaNode() as source):
            near = layout.children[k] if inward else (layout.parents[k],)
            parts = ((1, values[source][j]) for j in near if j <= layout.n)
            return _sum(parts, node.width)
    raise AssertionError(f"the value of {node} is not computed separately")


def _sum(terms: Iterable[tuple[Scalar, Vector]], width: int) -> Vector:
    """Sum the terms in order; a factor of 1 or -1 needs no multiplication."""
    total: Any = None
    for c, vector in terms:
        if total is None:
            total = vector if c == 1 else scale(vector, c) if c != -1 else tuple(-x for x in vector)
        elif c == -1:
            total = sub(total, vector)
        else:
            total = add(total, vector if c == 1 else scale(vector, c))
    return (0.0,) * width if total is None else total
