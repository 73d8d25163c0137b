"""Conversion of a formula to a graph of operations at each link.

Traversing a formula from its last factor to its first gives a graph with four kinds of nodes:

    Input      x(k), the vector that the operator is applied to
    Local      A(k) times another node at the same link
    Total      a sum of nodes at the same link
    Neighbour  a node at the links next to k: its children, or its parent

A recursion is a Neighbour whose source depends on it.  Common subexpressions are computed once.
Terms that end in the same block are collected, G a - G b = G (a - b), so that the nodes of ψ become
the papers' filter z⁺ = z + G ε, and those of ψ* their smoother λ = λ⁺ + H* θ̈.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from robolin.operator_algebra.expression import (
    Expression,
    Identity,
    Product,
    Sum,
    Transposed,
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
        self.input = self._add(Input(width))
        self.output = self.follow(expression, self.input)

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
