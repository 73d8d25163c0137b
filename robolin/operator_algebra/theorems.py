"""Operator identities that follow from the mechanics of an arm.

Both tables are written with the operators themselves; the tests check every line with matrices.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from robolin.errors import RobolinError
from robolin.operator_algebra.expression import (
    Expression,
    Identity,
    Layout,
    Product,
    Sum,
    Transposed,
    product,
    total,
)
from robolin.operator_algebra.primitives import Block, NamedFormula, Primitive, Recursion, Shift
from robolin.operator_algebra.sweeps import (
    ANY_ORDER,
    TIP_TO_BASE,
    FormulaNode,
    Input,
    Local,
    Neighbour,
    Sweep,
    SweepPlan,
    Total,
)

Pair = tuple[Expression, Expression]


def rigid_inverses(op: Any) -> Iterator[Pair]:
    """Pairs of mutually inverse operators, valid for all link inertias."""
    yield op.I - op.E_phi, op.phi


def inverses(op: Any) -> Iterator[Pair]:
    """All such pairs; those of articulated bodies require inertia at every joint."""
    I = op.I  # noqa: E741, the papers' name
    yield from rigid_inverses(op)
    yield op.D, op.Dinv
    yield op.D_half, op.D_half_inv
    yield I - op.E_psi, op.psi
    yield op.factor, op.factor_inverse
    yield I + op.H @ op.phi_tilde @ op.G, I - op.H @ op.PSI @ op.G
    yield op.mass_matrix, op.mass_matrix_inverse


def shorter(op: Any) -> Iterator[Pair]:
    """Products and equivalent shorter formulas; the first match is used."""
    H, phi, psi, K, I = op.H, op.phi, op.psi, op.K, op.I  # noqa: E741
    back, forth = op.factor_inverse, op.factor
    for one, other in inverses(op):
        yield one @ other, I
        yield other @ one, I
    yield back @ H @ phi, H @ psi
    yield forth @ H @ psi, H @ phi
    yield phi @ K @ back, psi @ K
    yield psi @ K @ forth, phi @ K
    yield op.E_phi @ phi, op.phi_tilde
    yield phi @ op.E_phi, op.phi_tilde
    yield op.E_psi @ psi, op.psi_tilde
    yield psi @ op.E_psi, op.psi_tilde
    yield psi @ op.E_phi, op.PSI
    yield forth @ op.D @ forth.T, op.mass_matrix


def inverse_expression(expression: Expression) -> Expression:
    """The inverse as a formula; an error if no theorem provides one."""
    home = _home(expression)
    for pairs in (rigid_inverses, inverses):
        inverse = _inverse(expression, _table(pairs(home) if home else ()))
        if inverse is not None:
            return inverse
    raise RobolinError(
        f"the inverse of {expression!r} has no known formula",
        hint="form the matrix with .dense() and invert it",
    )


def _table(pairs: Iterable[Pair]) -> dict[Expression, Expression]:
    """Every known inverse, transposes included."""
    table: dict[Expression, Expression] = {}
    for one, other in pairs:
        for left, right in ((one, other), (other, one)):
            table[_settled(left)] = right
            table[_settled(left.T)] = right.T
    return table


def _settled(expression: Expression) -> Expression:
    """Normal form: the star of every sum is moved to its terms, as in (A + B)* = A* + B*."""
    match expression:
        case Transposed(Sum(terms)):
            return total((c, _settled(term.T)) for c, term in terms)
        case Sum(terms) if terms:
            return total((c, _settled(term)) for c, term in terms)
        case Product(factors):
            return product(_settled(factor) for factor in factors)
    return expression


def _home(expression: Expression) -> Any:
    homes = (getattr(part, "home", None) for part in expression.parts())
    return next((home for home in homes if home is not None), None)


def _inverse(expression: Expression, table: dict[Expression, Expression]) -> Expression | None:
    if isinstance(expression, Identity):
        return expression
    if _settled(expression) in table:
        return table[_settled(expression)]
    match expression:
        case Transposed(operand):
            inverse = _inverse(operand, table)
            return inverse and inverse.T
        case Product(factors):
            parts = [_inverse(factor, table) for factor in reversed(factors)]
            return None if None in parts else product(part for part in parts if part)
        case Sum(((number, term),)):
            inverse = _inverse(term, table)
            return inverse and inverse / number
    return None


def simplified(expression: Expression) -> Expression:
    """Replace every product in the table, until none is left."""
    home = _home(expression)
    if home is None:
        return expression
    rules = list[tuple[tuple[Expression, ...], Expression]]()
    for long, short in shorter(home):
        for left, right in ((long, short), (long.T, short.T)):
            rules.append((left.factors if isinstance(left, Product) else (left,), right))
    return _simplified(expression, rules)


Rules = list[tuple[tuple[Expression, ...], Expression]]


def _simplified(expression: Expression, rules: Rules) -> Expression:
    match expression:
        case Sum(terms):
            parts = tuple((c, _simplified(term, rules)) for c, term in terms)
            return total(parts) if parts else expression
        case Transposed(operand):
            return _simplified(operand, rules).T
        case Product(factors):
            inner = product(_simplified(factor, rules) for factor in factors)
            return _replaced(inner, rules) if isinstance(inner, Product) else inner
    return expression


def _replaced(expression: Product, rules: Rules) -> Expression:
    """Apply the first rule that matches a part of the product, and repeat."""
    factors = expression.factors
    for pattern, short in rules:
        for start in range(len(factors) - len(pattern) + 1):
            stop = start + len(pattern)
            if factors[start:stop] == pattern:
                return _simplified(product((*factors[:start], short, *factors[stop:])), rules)
    return expression


LOOPS = {TIP_TO_BASE: "k = 1, 2, …, n", ANY_ORDER: "for every k"}


def formula(expression: Expression) -> str:
    """The formula as text: a star is a transpose, and factors are adjacent."""
    match expression:
        case Identity():
            return "I"
        case Primitive(symbol=symbol):
            return symbol
        case Transposed(operand):
            return f"{_closed(operand)}*"
        case Product(factors):
            return " ".join(_closed(factor) for factor in factors)
        case Sum(terms):
            return signed_sum((c, _term(c, term)) for c, term in terms)
    raise AssertionError(f"no formula for {type(expression).__name__}")


def _closed(factor: Expression) -> str:
    return f"({formula(factor)})" if isinstance(factor, Sum) else formula(factor)


def _term(c: Any, term: Expression) -> str:
    return formula(term) if abs(c) == 1 else f"{_size(c)} {_closed(term)}"


def _size(c: Any) -> str:
    return f"{abs(c):g}" if isinstance(c, (int, float)) else f"{c}"


def signed_sum(terms: Any) -> str:
    """Join texts with their signs."""
    text = ""
    for c, part in terms:
        minus = isinstance(c, (int, float)) and c < 0
        text += (" - " if minus else " + ") if text else ("-" if minus else "")
        text += part
    return text or "0"


def explained(expression: Expression) -> str:
    """Text with the formula, the meaning of its symbols, and its sweeps."""
    lines = [f"y = {_closed(expression)} x"]
    lines += [f"    {line}" for line in dict.fromkeys(_meanings(expression))]
    if expression.columns is None:
        return "\n".join(lines)
    text = ExplainedSweeps(expression.plan, expression.columns.layout)
    for number, sweep in enumerate(expression.plan.sweeps, start=1):
        loop = LOOPS.get(sweep.direction, "k = n, …, 2, 1")
        label = "" if sweep.direction == ANY_ORDER else f"sweep {number}, "
        lines += [f"{label}{sweep.direction}, {loop}"]
        lines += [f"    {line}" for line in text.steps(sweep)]
    return "\n".join(lines)


def _meanings(expression: Expression) -> Iterator[str]:
    """The operators of the formula, then those in their definitions, level by level."""
    level = list(dict.fromkeys(expression.parts()))
    while level:
        below: list[Expression] = []
        for part in level:
            match part:
                case NamedFormula():
                    yield f"{part.symbol} = {formula(part.definition)}"
                    below += part.definition.parts()
                case Recursion():
                    yield f"{part.symbol} = (I - {formula(part.step)})⁻¹"
                    below += part.step.parts()
                case Shift():
                    yield f"{part.symbol} shifts a value from a link to its parent link"
                case Block() if part.meaning:
                    yield f"{part.symbol} {part.meaning}"
        level = list(dict.fromkeys(below))


class ExplainedSweeps:
    """The steps of a plan as lines; nodes with a single immediate use are written inline."""

    def __init__(self, plan: SweepPlan, layout: Layout) -> None:
        self._serial, self._output = layout.serial, plan.graph.output
        self._home = {node: i for i, sweep in enumerate(plan.sweeps) for node in sweep.nodes}
        self._readers: dict[FormulaNode, list[FormulaNode]] = {node: [] for node in self._home}
        for node in self._home:
            for source in node.sources():
                self._readers[source].append(node)
        self._names = self._named(plan)

    def steps(self, sweep: Sweep) -> Iterator[str]:
        for node in sweep.nodes:
            if node in self._names and not isinstance(node, Input):
                yield f"{self._names[node]}(k) = {self._written(node)}"
        if isinstance(self._output, Input):
            yield "y(k) = x(k)"

    def _named(self, plan: SweepPlan) -> dict[FormulaNode, str]:
        """Names: y for the result, z for inward and v for outward nodes, e for joint numbers."""
        names: dict[FormulaNode, str] = {plan.graph.input: "x"}
        counts: dict[str, int] = {}
        for sweep in plan.sweeps:
            for node in sweep.nodes:
                if node is self._output:
                    names.setdefault(node, "y")
                elif self._needs_name(node) and node not in names:
                    inward = sweep.direction == TIP_TO_BASE
                    letter = "e" if node.width == 1 else "z" if inward else "v"
                    counts[letter] = counts.get(letter, 0) + 1
                    names[node] = f"{letter}{counts[letter]}"
        return names

    def _needs_name(self, node: FormulaNode) -> bool:
        """Return True if a node is used more than once, by other links, or in a later sweep."""
        readers = self._readers[node]
        return len(readers) > 1 or any(
            isinstance(reader, Neighbour) or self._home[reader] != self._home[node]
            for reader in readers
        )

    def _seen(self, node: FormulaNode) -> str:
        return f"{self._names[node]}(k)" if node in self._names else self._written(node)

    def _written(self, node: FormulaNode) -> str:
        match node:
            case Local(block=block, starred=starred, source=source):
                star = "*" if starred else ""
                return f"{block.symbol}{star}(k) {self._factor(source)}"
            case Total(terms=terms):
                return signed_sum((c, self._term(c, part)) for c, part in terms)
            case Neighbour(inward=inward, source=FormulaNode() as source):
                return self._from_next(self._names[source], inward)
        return "x(k)"

    def _term(self, c: Any, node: FormulaNode) -> str:
        return self._seen(node) if abs(c) == 1 else f"{_size(c)} {self._factor(node)}"

    def _factor(self, node: FormulaNode) -> str:
        text = self._seen(node)
        return f"({text})" if isinstance(node, Total) and node not in self._names else text

    def _from_next(self, name: str, inward: bool) -> str:
        if self._serial:
            return f"{name}(k-1)" if inward else f"{name}(k+1)"
        return (
            f"Σ {name}(c) over the child links c of k"
            if inward
            else f"{name}(p), p the parent of k"
        )
