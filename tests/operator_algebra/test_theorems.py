"""Inverses and shorter formulas: every line of both tables holds, and each is found."""

from __future__ import annotations

import numpy as np
import pytest

import robolin
from robolin.operator_algebra.theorems import inverses, shorter
from tests.operator_algebra.subjects import Subject, any_arm, apart, chains, divided
from tests.robots import random_states


@any_arm
def test_inverses_are_inverses(at: Subject) -> None:
    """Both products of every pair in the table are the identity."""
    for one, other in inverses(at.op):
        unit = np.eye(one.dense().shape[0])
        assert apart(one.dense() @ other.dense(), unit) <= divided(at)
        assert apart(other.dense() @ one.dense(), unit) <= divided(at)


@any_arm
def test_inverses_are_found(at: Subject) -> None:
    """.inv gives the formula of the table, for transposes and for products of such operators."""
    op = at.op
    for one, other in inverses(op):
        assert one.inv == other
        assert apart(other.inv, one) <= divided(at)
        assert apart(one.T.inv, other.T) == 0.0
    m = op.factor @ op.D_half
    assert m.inv == op.D_half_inv @ op.factor_inverse
    assert (2 * op.phi).inv == 0.5 * (op.I - op.E_phi)
    assert (op.I - op.E_phi.T).inv == op.phi.T
    assert op.I.inv == op.I


def test_the_inverse_of_the_mass_matrix_is_a_formula() -> None:
    """𝓜.inv is the innovations factorization of 𝓜⁻¹."""
    op = chains()[1].op
    assert repr(op.mass_matrix.inv) == "(I - H ψ K)* D⁻¹ (I - H ψ K)"
    written = op.H @ op.phi @ op.M @ op.phi.T @ op.H.T
    assert written.inv == op.mass_matrix_inverse
    assert repr((op.I + op.H @ op.phi @ op.K).inv) == "I - H ψ K"


def test_no_inverse_is_made_up() -> None:
    """Inverses without a theorem are rejected."""
    op = chains()[1].op
    for formula in (op.phi + op.psi, op.H @ op.phi @ op.H.T, op.H, op.M):
        with pytest.raises(robolin.RobolinError, match=r"the inverse of .+ has no known formula"):
            _ = formula.inv


@any_arm
def test_shorter_formulas_are_equal(at: Subject) -> None:
    """Every product in the table equals the formula that takes its place."""
    for long, short in shorter(at.op):
        expected = np.eye(long.dense().shape[0]) if short == at.op.I else short
        assert apart(long, expected) <= divided(at)


def test_formulas_are_shortened() -> None:
    """Theorems are applied inside of larger formulas, also transposed."""
    op = chains()[1].op
    back, forth = op.factor_inverse, op.factor
    assert (back @ forth).simplified() == op.I
    assert (back @ op.H @ op.phi @ op.M).simplified() == op.H @ op.psi @ op.M
    assert (op.M @ op.phi.T @ op.H.T @ back.T).simplified() == op.M @ op.psi.T @ op.H.T
    assert (forth @ op.D @ forth.T).simplified() == op.mass_matrix
    assert (op.mass_matrix.inv @ op.mass_matrix).simplified() == op.I
    assert (2 * op.E_phi @ op.phi + op.M).simplified() == 2 * op.phi_tilde + op.M
    assert op.M.simplified() == op.M
    assert (op.phi - op.phi).simplified() == op.phi - op.phi


def test_a_shorter_formula_takes_fewer_steps() -> None:
    """(I - HψK)Hφ costs more than Hψ, which it equals."""
    op = chains()[1].op
    long = op.factor_inverse @ op.H @ op.phi
    assert sum(long.simplified().operations().values()) < sum(long.operations().values())


@pytest.mark.parametrize("name", ["ur5", "panda"])
def test_floating_arms_have_the_same_factors(name: str) -> None:
    """A floating base is six more links, and [F] section VIII holds: factors, inverse, torques."""
    arm = robolin.load(name, floating_base=True, damping=False)
    states = random_states(arm, 1)
    q, qd, qdd = states.q[0], states.qd[0], states.qdd[0]
    op = robolin.operators(arm, q, qd, qdd)
    mass = robolin.mass_matrix(arm, q)
    tolerance = 1e-12 + 1e-15 * np.linalg.cond(mass)

    assert arm.n == 6 + robolin.load(name).n
    assert apart(op.mass_matrix, mass) <= 1e-12
    assert apart(op.factor @ op.D @ op.factor.T, mass) <= 1e-12
    assert apart(op.mass_matrix.inv, np.linalg.inv(mass)) <= tolerance
    assert apart(op.H @ op.f, robolin.inverse(arm, q, qd, qdd)) <= 1e-12
