"""Solution and multiplication with the unit lower triangular factor L of 𝓜 = L D L*.

Operands are columns by independent coordinate; `of_leaders` converts values of joints.
"""

from __future__ import annotations

from robolin.dynamics.algebra.chain import Chain, Column, Scalars, Table


def of_leaders(chain: Chain, values: Scalars) -> Column:
    """The values of the independent (not mimic) joints, by coordinate."""
    column = chain.column()
    for j in chain.coordinates():
        column[j] = values[chain.leader(j)]
    return column


def times_transposed(chain: Chain, L: Table, x: Column) -> Column:
    """L* x."""
    product = chain.column()
    for j in chain.coordinates():
        entry = chain.accumulator((x[j],))
        for r in chain.coordinates(after=j):
            entry.value = (entry.value[0] + L[r, j] * x[r],)
        product[j] = entry.value[0]
    return product


def times(chain: Chain, L: Table, x: Column) -> Column:
    """L x."""
    product = chain.column()
    for r in chain.coordinates():
        entry = chain.accumulator((x[r],))
        for j in chain.coordinates(before=r):
            entry.value = (entry.value[0] + L[r, j] * x[j],)
        product[r] = entry.value[0]
    return product


def solved(chain: Chain, L: Table, x: Column) -> Column:
    """L⁻¹ x."""
    solution = chain.column()
    # forward substitution from the first coordinate
    for r in chain.coordinates():
        entry = chain.accumulator((x[r],))
        for j in chain.coordinates(before=r):
            entry.value = (entry.value[0] - L[r, j] * solution[j],)
        solution[r] = entry.value[0]
    return solution


def solved_transposed(chain: Chain, L: Table, x: Column) -> Column:
    """L⁻* x, from the base outward."""
    solution = chain.column()
    # back substitution from the last coordinate
    for j in chain.coordinates(step=-1):
        entry = chain.accumulator((x[j],))
        for r in chain.coordinates(after=j):
            entry.value = (entry.value[0] - L[r, j] * solution[r],)
        solution[j] = entry.value[0]
    return solution


def congruent(chain: Chain, L: Table, W: Table) -> None:
    """Overwrite W with L⁻¹ W L⁻*: rows first, then columns."""
    # W ← L⁻¹ W
    for r in chain.coordinates():
        for j in chain.coordinates(before=r):
            for s in chain.coordinates():
                W[r, s] = W[r, s] - L[r, j] * W[j, s]

    # W ← W L⁻*
    for r in chain.coordinates():
        for j in chain.coordinates(before=r):
            for s in chain.coordinates():
                W[s, r] = W[s, r] - L[r, j] * W[s, j]
