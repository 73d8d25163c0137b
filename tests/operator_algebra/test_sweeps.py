"""Formulas run as sweeps: few of them, each O(n), on any numbers, and as they are explained."""

from __future__ import annotations

from functools import cache
from itertools import pairwise

import mpmath
import numpy as np
import pytest

import robolin
from robolin.engine.direct import DirectChain
from robolin.engine.direct_storage import generic_chain
from robolin.engine.parameters import parameters_of
from robolin.engine.run import CountingChain, cost_of
from robolin.operator_algebra.robot import Operators
from tests.operator_algebra.reading import carried_out
from tests.operator_algebra.subjects import apart, chains, geared, trees

SIZES = (10, 20, 40, 80)

FORMULAS = {
    "the mass matrix": lambda op: op.mass_matrix,
    "its inverse": lambda op: op.mass_matrix_inverse,
    "the innovations factor": lambda op: op.factor,
    "its inverse factor": lambda op: op.factor_inverse,
    "the inverse, by Ψ and G": lambda op: (
        (op.I - op.H @ op.PSI @ op.G).T @ op.Dinv @ (op.I - op.H @ op.PSI @ op.G)
    ),
    "the Jacobian": lambda op: op.B.T @ op.phi.T @ op.H.T,
    "its transpose": lambda op: op.H @ op.phi @ op.B,
    "operational inertia, inverse": lambda op: (
        op.B.T @ op.psi.T @ op.H.T @ op.Dinv @ op.H @ op.psi @ op.B
    ),
    "φ": lambda op: op.phi,
    "ψ*": lambda op: op.psi.T,
    "A_D": lambda op: 2 * op.H @ op.phi @ (op.Mhat @ op.phi.T @ op.H.T + op.M @ op.phi.T @ op.Hd.T),
    "A_C": lambda op: (
        2
        * op.factor_inverse.T
        @ op.Dinv
        @ op.H
        @ op.psi
        @ (op.Mhat @ op.phi.T @ op.H.T + op.P @ op.Hd.T)
        + 2 * op.K.T @ op.psi.T @ op.Hd.T
    ),
}
formulas = pytest.mark.parametrize("of", FORMULAS.values(), ids=FORMULAS)


@cache
def counted(joints: int) -> Operators:
    """The operators of a chain of n joints whose numbers only count."""
    parameters = generic_chain(joints)
    return Operators(parameters, CountingChain(parameters, ("q", "qd")))


@formulas
def test_the_cost_is_a_line_in_n(of) -> None:
    """Operations at n = 10, 20, 40 and 80 lie on one line exactly, for applying a formula."""
    costs = [of(counted(n)).operations() for n in SIZES]
    for kind in costs[0]:
        slopes = {
            (b[kind] - a[kind]) / (n - m)
            for (a, m), (b, n) in pairwise(zip(costs, SIZES, strict=True))
        }
        assert len(slopes) == 1, kind
        assert slopes.pop() > 0.0


@pytest.mark.parametrize("name", ["the mass matrix", "its inverse", "A_D"])
def test_the_cost_from_joint_angles_is_a_line_in_n(name: str) -> None:
    """So do they from q and q̇ on, placing the links and the articulated bodies included."""
    costs = []
    for n in SIZES:
        formula = FORMULAS[name](counted(n))
        assert formula.columns
        ones = np.ones(formula.columns.size)
        costs.append(sum(cost_of((formula @ ones).tolist()).total.values()))
    slopes = {(b - a) / (n - m) for (a, m), (b, n) in pairwise(zip(costs, SIZES, strict=True))}
    assert len(slopes) == 1


def test_the_cost_is_that_of_the_papers_filters() -> None:
    """Per joint: 𝓜 as Newton–Euler 36 products, 𝓜⁻¹ as filter and smoother 25."""
    first, second = (counted(n) for n in (10, 11))
    costs = [
        [of(op).operations()["multiplication"] for op in (first, second)]
        for of in (FORMULAS["the mass matrix"], FORMULAS["its inverse"])
    ]
    assert [b - a for a, b in costs] == [36, 25]


def test_repeated_terms_are_multiplied_once() -> None:
    """Adding a part of a formula to it takes additions only, for sums and for blocks."""
    op = counted(10)
    phi, psi, M = op.phi, op.psi, op.M
    for formula, part in (
        (psi @ (phi + M), phi + M),
        (phi @ M @ phi + psi @ M @ psi, M @ phi + M @ psi),
    ):
        extended, alone = ((formula + part).operations(), formula.operations())
        assert extended["multiplication"] == alone["multiplication"]


DIRECTIONS = {
    "the mass matrix": ["base to tip", "tip to base"],
    "its inverse": ["tip to base", "base to tip"],
    "the innovations factor": ["tip to base"],
    "its inverse factor": ["tip to base"],
    "the inverse, by Ψ and G": ["tip to base", "base to tip"],
    "the Jacobian": ["base to tip"],
    "its transpose": ["tip to base"],
    "operational inertia, inverse": ["tip to base", "base to tip"],
    "φ": ["tip to base"],
    "ψ*": ["base to tip"],
    "A_D": ["base to tip", "tip to base"],
    "A_C": ["base to tip", "tip to base", "base to tip"],
}


@pytest.mark.parametrize("name", FORMULAS)
def test_recursions_in_one_direction_share_a_sweep(name: str) -> None:
    """Every formula takes as few sweeps as its changes of direction allow."""
    for at in (chains()[1], trees()[1]):
        directions = [sweep.direction for sweep in FORMULAS[name](at.op).sweeps()]
        assert directions == DIRECTIONS[name]


def test_blocks_need_no_sweep() -> None:
    """A block diagonal formula looks at one link at a time."""
    op = chains()[1].op
    (sweep,) = (op.H @ op.P @ op.H.T).sweeps()
    assert sweep.direction == "link by link"


def test_the_inverse_runs_as_the_forward_dynamics() -> None:
    """𝓜⁻¹ is the papers' filter z⁺ = z + Gε and smoother λ = λ⁺ + H*θ̈, step by step."""
    op = chains()[1].op
    assert (
        op.mass_matrix_inverse.explain()
        == """\
y = (I - H ψ K)* D⁻¹ (I - H ψ K) x
    H projects forces onto the joint axes
    ψ = (I - E_ψ)⁻¹
    K = E_φ G
    E_ψ = E_φ τ̄
    E_φ shifts a value from a link to its parent link
    G = P H* D⁻¹
    τ̄ = I - G H
sweep 1, tip to base, k = 1, 2, …, n
    z1(k) = z2(k-1)
    e1(k) = x(k) - H(k) z1(k)
    z2(k) = z1(k) + G(k) e1(k)
    e2(k) = D⁻¹(k) e1(k)
sweep 2, base to tip, k = n, …, 2, 1
    v1(k) = v2(k+1)
    y(k) = e2(k) - G*(k) v1(k)
    v2(k) = v1(k) + H*(k) y(k)"""
    )


def test_trees_are_explained_as_trees() -> None:
    """On a tree what is carried inward is a sum over the links that sit on a link."""
    text = trees()[1].op.mass_matrix.explain()
    assert "v1(k) = H*(k) x(k) + v1(p), p the parent of k" in text
    assert "z1(k) = v2(k) + Σ z1(c) over the child links c of k" in text


@pytest.mark.parametrize("name", FORMULAS)
def test_what_is_explained_is_what_runs(name: str) -> None:
    """The lines of an explanation, carried out as they read, give the operator's result."""
    for at in (chains()[1], geared()[0]):
        formula = FORMULAS[name](at.op)
        if "frame" not in (formula.rows.kind, formula.columns.kind):
            x = np.random.default_rng(2).normal(size=formula.columns.size)
            assert apart(carried_out(formula, x, at.op), formula @ x) <= 1e-12


def test_any_numbers_will_do() -> None:
    """50 digits in, 50 digits out; complex numbers, and whole numbers, too."""
    at = chains()[1]
    parameters = parameters_of(at.arm)
    with mpmath.workdps(50):
        q = [mpmath.mpf(x) for x in at.q]
        op = Operators(parameters, DirectChain(parameters, {"q": q}, mpmath.mpf))
        x = np.array([mpmath.mpf(v) for v in at.dq])
        there = op.mass_matrix_inverse @ (op.mass_matrix @ x)
        assert max(abs(a - b) for a, b in zip(there, x, strict=True)) < mpmath.mpf(10) ** -46
        exact = np.array(op.mass_matrix @ x, dtype=float)
    assert apart(at.op.mass_matrix @ at.dq, exact) <= 1e-15
    assert (at.op.mass_matrix @ (1j * at.dq)).dtype == complex
    assert apart(at.op.mass_matrix @ (1j * at.dq), 1j * (at.op.mass_matrix @ at.dq)) == 0.0
    ones = at.op.mass_matrix @ [1, 1, 1, 1, 1]
    assert apart(ones, at.op.mass_matrix.dense().sum(axis=1)) <= 1e-14


def test_no_matrix_is_formed() -> None:
    """400 links are applied in a moment, where a matrix of φ would have 5.8 million numbers."""
    parameters = generic_chain(400)
    chain = DirectChain(parameters, {"q": [0.1] * 400})
    op = Operators(parameters, chain)
    x = np.random.default_rng(0).normal(size=400)
    there = op.mass_matrix_inverse @ (op.mass_matrix @ x)
    # the condition number of this mass matrix is 1.4e7
    assert apart(there, x) <= 1e-9


def test_the_public_name_is_a_function() -> None:
    """robolin.operators is the function also after its room has been imported."""
    assert callable(robolin.operators)
    assert robolin.operators.__module__ == "robolin.operator_algebra.robot"
