"""Schedule of graph nodes in sweeps, and evaluation: O(n) operations, no matrix formed.

Inward nodes are computed from the tips to the base, outward nodes from the base to the tips, and
all others together with their sources.  Each node is in the earliest sweep of its direction in
which all of its sources are known, so recursions in the same direction share one sweep.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from robolin.core.arrays import AnyArray
from robolin.dynamics.algebra.scalar import Scalar, Vector
from robolin.dynamics.algebra.vectors import add, scale, sub
from robolin.engine.run import cost_of, unknown_number
from robolin.errors import RobolinError
from robolin.operator_algebra.expression import Expression
from robolin.operator_algebra.graph import FormulaGraph, FormulaNode, Input, Local, Neighbour, Total
from robolin.operator_algebra.primitives import Block
from robolin.operator_algebra.spaces import (
    Layout,
    Space,
    array_for,
    numbers_of,
    put_together,
    vectors_by_link,
)

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
            f"{expression!r} has no size of its own", hint="multiply it by another operator"
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
    raise AssertionError(f"{node} has no value of its own")


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
