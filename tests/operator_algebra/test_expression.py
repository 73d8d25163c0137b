"""Formulas behave as the matrices they stand for, and say so when they cannot."""

from __future__ import annotations

import numpy as np
import pytest

import robolin
from robolin.operator_algebra.expression import Expression
from tests.operator_algebra.subjects import (
    EXACT,
    Subject,
    any_arm,
    apart,
    chains,
    papers,
    trees,
)
from tests.robots import random_arm, with_follower


def samples(op) -> dict[str, Expression]:
    """Operators of every kind: single ones, products, sums, transposes, multiples."""
    return {
        "H": op.H,
        "M": op.M,
        "phi": op.phi,
        "phi.T": op.phi.T,
        "psi": op.psi,
        "E_psi.T": op.E_psi.T,
        "K": op.K,
        "PSI.T": op.PSI.T,
        "B": op.pick_off("link0") if op._arm and "link0" in op._arm.frames else op.B,
        "factor": op.factor,
        "factor.T": op.factor.T,
        "inverse": op.mass_matrix_inverse,
        "mixed": 2 * op.H @ op.phi @ (op.M @ op.phi.T - 0.5 * op.P) @ op.psi.T @ op.G,
        "Mhat.T": op.Mhat.T,
        "V_tilde.T": op.V_tilde.T,
        "Phat": op.Phat,
        "zero": op.phi - op.phi,
    }


@any_arm
def test_applying_is_multiplying(at: Subject) -> None:
    """A @ x is A.dense() @ x for vectors, for matrices and for rows on the left."""
    rng = np.random.default_rng(1)
    for name, A in samples(at.op).items():
        x, X = rng.normal(size=A.columns.size), rng.normal(size=(A.columns.size, 3))
        rows = rng.normal(size=(2, A.rows.size))
        full = A.dense()
        assert full.shape == (A.rows.size, A.columns.size), name
        assert apart(A @ x, full @ x) <= EXACT, name
        assert apart(A @ X, full @ X) <= EXACT, name
        assert apart(rows @ A, rows @ full) <= EXACT, name
        assert apart(rows[0] @ A, rows[0] @ full) <= EXACT, name


@any_arm
def test_transposes_are_transposes(at: Subject) -> None:
    """A.T.dense() is the transpose of A.dense(), and A.T.T is A."""
    for name, A in samples(at.op).items():
        assert apart(A.T, A.dense().T) <= EXACT, name
        assert A.T.T == A, name


@pytest.mark.parametrize("at", [chains()[1], trees()[1]], ids=str)
def test_products_and_sums_are_those_of_matrices(at: Subject) -> None:
    """Products, sums, differences and multiples of operators are those of their matrices."""
    op = at.op
    between_links = [op.M, op.phi, op.psi.T, op.tau_bar, op.PSI, op.V_tilde, op.phi.T @ op.P]
    for A in between_links:
        for C in between_links:
            a, c = A.dense(), C.dense()
            assert apart(A @ C, a @ c) <= EXACT
            assert apart(A + C, a + c) <= EXACT
            assert apart(3 * A - C / 2, 3 * a - c / 2) <= EXACT
            assert apart(-(A - 2 * C).T, -(a - 2 * c).T) <= EXACT


@papers
def test_operators_are_those_of_the_witness(at: Subject) -> None:
    """Every operator is the matrix that dense linear algebra finds by other lines."""
    from tests.dynamics.operators import tall, turned_forces, wide

    op, true = at.op, at.witness
    P, D, G, tau_bar, Phat, Ghat = true.articulated
    order = op.paper_order
    assert apart(op.H.dense()[order], true.Hs.T) <= EXACT
    assert apart(op.E_phi, true.E) == 0.0
    for computed, expected in (
        (op.M, wide(true.inertias)),
        (op.phi, true.phi),
        (op.psi, true.psi),
        (op.P, wide(P)),
        (op.tau_bar, wide(tau_bar)),
        (op.Phat, wide(Phat)),
        (op.Mhat, wide(true.hats)),
        (op.V, true.V.ravel()),
        (op.f, true.f.ravel()),
        (op.D.dense()[np.ix_(order, order)], np.diag(D)),
        (op.G.dense()[:, order], tall(G)),
        (op.Ghat.dense()[:, order], tall(Ghat)),
        (op.Hd.dense()[order], tall(true.Hd).T),
        (op.Hdd.dense()[order], tall(true.Hdd).T),
        (op.Hf.dense()[:, order], turned_forces(true)),
    ):
        assert apart(computed, expected) <= EXACT


def test_identities_vanish() -> None:
    """I X is X, I fits joints and links, and equal terms are counted."""
    op = chains()[1].op
    assert op.I @ op.phi @ op.I == op.phi
    assert op.I.T == op.I
    assert op.M.T is op.M
    assert op.phi + op.phi == 2 * op.phi
    assert op.phi + op.psi - op.phi == op.psi
    assert op.I + op.H @ op.phi @ op.K == op.factor
    assert op.H @ op.phi @ op.K + op.I == op.factor
    assert op.I - op.H @ op.psi @ op.K != op.factor
    assert repr(op.phi - op.phi) == "0"
    assert np.array_equal((3 * op.I) @ [1.0, 2.0], [3.0, 6.0])


def test_formulas_read_as_in_the_papers() -> None:
    """repr is the formula; a star is a transpose."""
    op = chains()[1].op
    assert repr(op.mass_matrix) == "H φ M φ* H*"
    assert str(op.factor) == "I + H φ K"
    assert repr(op.mass_matrix_inverse) == "(I - H ψ K)* D⁻¹ (I - H ψ K)"
    assert repr(-2 * op.H @ (op.phi - 0.5 * op.I).T) == "-2 H (φ - 0.5 I)*"
    assert repr(op.B.T @ op.phi.T @ op.H.T) == "B* φ* H*"


def test_public_order_outside_and_papers_order_inside() -> None:
    """H maps public joint order to the papers' link order, for any order of the names."""
    at = trees()[1]
    op = at.op
    assert sorted(op.paper_order) == list(range(op.n))
    assert [at.arm.joint_names[i] for i in op.paper_order] == [
        link.joint.name for link in at.arm.links_tip_to_base
    ]
    H = op.H.dense()
    for k in at.links():
        row = H[op.paper_order[k - 1]]
        assert np.array_equal(row[6 * k - 6 : 6 * k], at.column(k))
        assert not np.delete(row, np.s_[6 * k - 6 : 6 * k]).any()


def test_operators_of_two_states_mix() -> None:
    """Operators of one arm at two states can be added and multiplied."""
    at = chains()[1]
    other = robolin.operators(at.arm, at.q + 0.1)
    change = other.mass_matrix - at.op.mass_matrix
    assert apart(change, other.mass_matrix.dense() - at.op.mass_matrix.dense()) <= EXACT


@pytest.mark.parametrize("seed", range(8))
def test_a_random_formula_is_its_matrix(seed: int) -> None:
    """Sums and products drawn at random, nested three deep, on a chain and on a tree."""
    rng = np.random.default_rng(seed)
    at = (chains()[1], trees()[1])[seed % 2]
    op = at.op
    leaves = [op.phi, op.psi, op.E_phi, op.E_psi, op.M, op.P, op.tau_bar, op.PSI, op.G @ op.H]
    leaves += [leaf.T for leaf in leaves]
    pool = [(leaf, leaf.dense()) for leaf in leaves] + [(op.I, np.eye(6 * op.n))]
    for _ in range(3):
        drawn = []
        for _ in range(4):
            (A, a), (C, c) = (pool[i] for i in rng.integers(len(pool), size=2))
            number = float(rng.integers(-2, 3))
            drawn += [(A @ C, a @ c), (A + number * C, a + number * c)]
        pool = drawn
    for formula, true in pool:
        if formula.columns is not None:
            # some of these are zero, and made of numbers of about 1
            assert apart(formula, true, made_of=1.0) <= EXACT


class TestErrors:
    """Invalid expressions are RobolinErrors with the reason."""

    def test_products_that_do_not_fit(self) -> None:
        op = chains()[1].op
        with pytest.raises(robolin.RobolinError, match="cannot precede") as caught:
            op.H @ op.H
        assert (
            "check for a missing transpose, or operators of different robots" in caught.value.hint
        )

    def test_sums_that_do_not_fit(self) -> None:
        op = chains()[1].op
        with pytest.raises(
            robolin.RobolinError,
            match="to 5 links and cannot be added to an operator that maps 5 links to 5 joints",
        ):
            op.H + op.phi
        with pytest.raises(robolin.RobolinError, match="cannot be added to int"):
            op.phi + 1
        with pytest.raises(robolin.RobolinError, match="cannot be added to int") as caught:
            1 - op.phi
        assert (
            "use I for the identity, or `diagonal` to make an operator from numbers"
            in caught.value.hint
        )

    def test_numbers_are_not_operators(self) -> None:
        op = chains()[1].op
        with pytest.raises(robolin.RobolinError, match="not by Block") as caught:
            op.phi * op.M
        assert "@" in caught.value.hint
        for divisor, type_name in ((op.M, "Block"), (0, "0")):
            with pytest.raises(robolin.RobolinError, match=f"not by {type_name}") as caught:
                op.phi / divisor
            assert "use .inv for the inverse of an operator" in caught.value.hint

    def test_loops(self) -> None:
        with pytest.raises(
            robolin.RobolinError,
            match="operators supports kinematic trees only; this robot has closed loops: 'pin'",
        ):
            robolin.operators(robolin.load("four-bar"), np.zeros(3))

    def test_no_position(self) -> None:
        with pytest.raises(
            robolin.RobolinError, match="q: must be an array of real numbers, got None"
        ):
            robolin.operators(chains()[1].arm, None)

    def test_vectors_that_do_not_fit(self) -> None:
        op = chains()[1].op
        with pytest.raises(robolin.RobolinError, match=r"H applies to arrays with 30 rows"):
            op.H @ np.zeros(5)
        with pytest.raises(robolin.RobolinError, match="D requires numbers, got <U1"):
            op.D @ ["a", "b", "c", "d", "e"]

    def test_arms_that_do_not_fit(self) -> None:
        with pytest.raises(robolin.RobolinError, match="cannot precede"):
            chains()[1].op.H @ chains()[2].op.phi

    def test_mimic_joints(self) -> None:
        arm = with_follower(random_arm(4, 5))
        with pytest.raises(
            robolin.RobolinError,
            match="spatial operators require independent joints, but 'joint4' mimics 'joint0'",
        ):
            robolin.operators(arm, np.zeros(arm.n))

    def test_several_states(self) -> None:
        arm = chains()[1].arm
        with pytest.raises(
            robolin.UsageError, match=r"q has shape \(3, 5\), but operators are for one state"
        ):
            robolin.operators(arm, np.zeros((3, arm.n)))

    def test_velocities_that_are_missing(self) -> None:
        at = chains()[1]
        with pytest.raises(robolin.RobolinError, match=r"requires qd\n") as caught:
            _ = robolin.operators(at.arm, at.q).Hd
        assert "robolin.operators(arm, q, qd)" in caught.value.hint
        with pytest.raises(robolin.RobolinError, match=r"requires qdd\n"):
            _ = robolin.operators(at.arm, at.q, at.qd).Hdd

    def test_frames_that_are_missing(self) -> None:
        at = chains()[1]
        with pytest.raises(robolin.UsageError, match="frame 'nose' not found"):
            at.op.pick_off("nose")
        panda = chains()[3]
        with pytest.raises(
            robolin.RobolinError, match="the frame is on the base, which does not move"
        ):
            panda.op.pick_off("panda_link0")

    def test_blocks_that_do_not_fit(self) -> None:
        with pytest.raises(
            robolin.RobolinError,
            match=r"blocks of shape \(5, 4\) do not form a block-diagonal operator of 5 links",
        ):
            chains()[1].op.diagonal(np.zeros((5, 4)))
        with pytest.raises(robolin.RobolinError, match="diagonal requires numbers, got <U1"):
            chains()[1].op.diagonal(["a", "b", "c", "d", "e"])
        with pytest.raises(robolin.RobolinError, match="array of numbers"):
            chains()[1].op.diagonal([[1.0], [1.0, 2.0]])

    def test_joints_without_inertia(self) -> None:
        from dataclasses import replace

        from robolin.core.arm import Inertia

        arm = chains()[1].arm
        links = (replace(arm.links_tip_to_base[0], inertia=Inertia()), *arm.links_tip_to_base[1:])
        op = robolin.operators(replace(arm, links_tip_to_base=links), np.zeros(arm.n))
        assert np.isfinite(op.mass_matrix.dense()).all()
        assert op.phi.inv == op.I - op.E_phi
        with pytest.raises(
            robolin.RobolinError,
            match=r"joint 'joint4' moves no inertia \(D = 0\), so forward dynamics is undefined",
        ):
            _ = op.psi.dense()
