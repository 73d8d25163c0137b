"""Solution with the dense mass matrix: 𝓜 = L D L*, eliminated from the tip to the base.

In this order, L is the papers' factor I + HφK and D their D: no square roots, and a pivot that is
not positive identifies its joint.  All loops run over independent coordinates, so arms with mimic
joints are supported.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

from robolin.dynamics.algebra.chain import Chain, Column, LinkNumber, Scalars, Sink, Slots, Table
from robolin.dynamics.algebra.scalar import Scalar
from robolin.dynamics.algebra.vectors import add, scale, sub
from robolin.dynamics.links.link_poses import Links
from robolin.dynamics.mass_matrix.articulated_bodies import pivot_scale

# columns per block of right-hand sides: enough to use all vector units
AT_ONCE = 4


class EliminationFactors(NamedTuple):
    """L below its unit diagonal, and 1/D."""

    L: Table
    Dinv: Scalars


def eliminate(chain: Chain, links: Links, mass: Table) -> EliminationFactors:
    """Factor the mass matrix in place.

    D(j)   = 𝓜(j,j)        L(r,j) = 𝓜(r,j) / D(j)
    𝓜(r,s) = 𝓜(r,s) - L(r,j) 𝓜(s,j)           for all r ≥ s > j
    """
    sizes = _sizes(chain, links)

    def positive(j: LinkNumber, D: Scalar) -> Scalar:
        return chain.guard_inertia(chain.leader(j), D, partial(sizes.__getitem__, j))

    return eliminate_with(chain, mass, positive)


def eliminate_with(
    chain: Chain, A: Table, checked: Callable[[LinkNumber, Scalar], Scalar]
) -> EliminationFactors:
    """The same; `checked` receives every D(j) before the division."""
    Dinv, pivot = chain.scalars(), chain.scalars()

    for j in chain.coordinates():
        # the pivot, and the column below it before the division
        Dinv[j] = 1.0 / checked(j, A[j, j])
        for r in chain.coordinates(after=j):
            pivot[r] = A[r, j]

        # update everything below and to the right
        for r in chain.coordinates(after=j):
            factor = pivot[r] * Dinv[j]
            A[r, j] = factor
            for s in chain.coordinates(after=j, through=r):
                A[r, s] = A[r, s] - factor * pivot[s]
    return EliminationFactors(A, Dinv)


def _sizes(chain: Chain, links: Links) -> Column:
    """Magnitude of the diagonal of 𝓜 without cancellation, the scale of its rounding error."""
    sizes, R = chain.column(), chain.child_sums(10)
    for k in chain.tip_to_base():
        frozen = add(R[k], links.M[k])
        R.add_to_parent(k, frozen)
        sizes.put((k,), pivot_scale(frozen, links.H[k]))
    return sizes


def solve(chain: Chain, factors: EliminationFactors, x: Slots) -> None:
    """Overwrite x with 𝓜⁻¹ x; each x(j) is a row with one entry per right-hand side."""
    L, Dinv = factors
    # x = L⁻¹ x
    for r in chain.coordinates():
        row = chain.accumulator(x[r])
        for j in chain.coordinates(before=r):
            row.value = sub(row.value, scale(x[j], L[r, j]))
        x[r] = row.value
    # x = L⁻* D⁻¹ x
    for j in chain.coordinates(step=-1):
        row = chain.accumulator(scale(x[j], Dinv[j]))
        for r in chain.coordinates(after=j):
            row.value = sub(row.value, scale(x[r], L[r, j]))
        x[j] = row.value


def solve_difference(chain: Chain, factors: EliminationFactors, a: Column, b: Column) -> Column:
    """𝓜⁻¹ (a - b)."""
    x, solved = chain.slots(1), chain.column()
    for j in chain.coordinates():
        x[j] = (a[j] - b[j],)
    solve(chain, factors, x)
    for j in chain.coordinates():
        solved[j] = x[j][0]
    return solved


def solve_matrices(
    chain: Chain, factors: EliminationFactors, inverse: Sink, pairs: Sequence[tuple[Table, Sink]]
) -> None:
    """Write 𝓜⁻¹, and -𝓜⁻¹ A for every pair of a matrix A and its output."""
    width = 1 + len(pairs)
    x = chain.slots(AT_ONCE * width)
    for columns in chain.coordinates_by(AT_ONCE):
        # a block of columns of I and of every A as adjacent right-hand sides
        for r in chain.coordinates():
            x[r] = tuple(entry for c in columns for entry in (0.0, *(A[r, c] for A, _ in pairs)))
        for i, c in enumerate(columns):
            x[c] = (*x[c][: width * i], 1.0, *x[c][width * i + 1 :])
        solve(chain, factors, x)

        for r in chain.coordinates():
            for i, c in enumerate(columns):
                for column, (_, out) in enumerate(pairs, start=width * i + 1):
                    out[r, c] = -x[r][column]
        # 𝓜⁻¹ is symmetric, and stays so to the last bit
        for i, c in enumerate(columns):
            inverse[c, c] = x[c][width * i]
            for r in chain.coordinates(after=c):
                inverse[r, c] = inverse[c, r] = x[r][width * i]


def invert(chain: Chain, factors: EliminationFactors, inverse: Sink) -> None:
    """Write 𝓜⁻¹; only one half is computed, the other follows by symmetry."""
    for c in chain.coordinates():
        x = _inverse_column(chain, factors, c)
        inverse[c, c] = x[c]
        for r in chain.coordinates(after=c):
            inverse[r, c] = inverse[c, r] = x[r]


def _inverse_column(chain: Chain, factors: EliminationFactors, c: LinkNumber) -> Scalars:
    """Column c of 𝓜⁻¹ on and below the diagonal; the rest follows by symmetry."""
    L, Dinv = factors
    x = chain.scalars()
    x[c] = 1.0
    for r in chain.coordinates(after=c):
        x[r] = 0.0
    # x = L⁻¹ x, all zero above row c
    for j in chain.coordinates(start=c):
        for r in chain.coordinates(after=j):
            x[r] = x[r] - L[r, j] * x[j]
    # x = L⁻* D⁻¹ x, no further than row c
    for j in chain.coordinates(start=c, step=-1):
        entry = chain.accumulator((x[j] * Dinv[j],))
        for r in chain.coordinates(after=j):
            entry.value = (entry.value[0] - L[r, j] * x[r],)
        x[j] = entry.value[0]
    return x


def to_coordinates(chain: Chain, values: Scalars) -> Column:
    """Sum the values of all links' joints into independent coordinates."""
    column = chain.column()
    for k in chain.tip_to_base():
        column.put((k,), values[k])
    return column
