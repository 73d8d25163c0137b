"""What is true of these operators because they are those of an arm.

Both tables are written with the operators themselves; the tests hold every line against matrices.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from robolin.errors import RobolinError
from robolin.operator_algebra.expression import (
    Expression,
    Identity,
    Product,
    Sum,
    Transposed,
    product,
    total,
)

Pair = tuple[Expression, Expression]


def rigid_inverses(op: Any) -> Iterator[Pair]:
    """Pairs of operators that are each other's inverse, whatever the links weigh."""
    yield op.I - op.E_phi, op.phi


def inverses(op: Any) -> Iterator[Pair]:
    """All such pairs; those of articulated bodies need inertia at every joint."""
    I = op.I  # noqa: E741, the papers' name
    yield from rigid_inverses(op)
    yield op.D, op.Dinv
    yield op.D_half, op.D_half_inv
    yield I - op.E_psi, op.psi
    yield op.factor, op.factor_inverse
    yield I + op.H @ op.phi_tilde @ op.G, I - op.H @ op.PSI @ op.G
    yield op.mass_matrix, op.mass_matrix_inverse


def shorter(op: Any) -> Iterator[Pair]:
    """Products, and the shorter formulas they are equal to; where two fit, the first is taken."""
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
    """The inverse as a formula; an error where no theorem gives one."""
    home = _home(expression)
    for pairs in (rigid_inverses, inverses):
        found = _inverse(expression, _table(pairs(home) if home else ()))
        if found is not None:
            return found
    raise RobolinError(
        f"no theorem gives the inverse of {expression!r}",
        hint="form the matrix with .dense() and invert that",
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
    """The formula with the star of every sum moved to its terms: one form for (A + B)*."""
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
            found = _inverse(operand, table)
            return found and found.T
        case Product(factors):
            parts = [_inverse(factor, table) for factor in reversed(factors)]
            return None if None in parts else product(part for part in parts if part)
        case Sum(((number, term),)):
            found = _inverse(term, table)
            return found and found / number
    return None


def simplified(expression: Expression) -> Expression:
    """The formula with every product in the table replaced, until none is left."""
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
    """The first rule that fits somewhere in the product, and then again."""
    factors = expression.factors
    for pattern, short in rules:
        for start in range(len(factors) - len(pattern) + 1):
            stop = start + len(pattern)
            if factors[start:stop] == pattern:
                return _simplified(product((*factors[:start], short, *factors[stop:])), rules)
    return expression
