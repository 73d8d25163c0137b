"""The recursions equal the operator expressions they are recursions of, on serial chains.

Tolerances as in test_laws_of_mechanics.py, but forward results are allowed 1e-13 + 1e-15 cond(𝓜):
their operator forms add terms of opposite sign that the recursions never form.
"""

from __future__ import annotations

import numpy as np

import robolin
from robolin.core.arm import Arm
from tests.dynamics.operators import Operators, tall, turned_forces, wide
from tests.dynamics.running import gap
from tests.dynamics.worked import Worked, worked
from tests.robots import every_arm, for_each_arm, without_mimic

EXACT = 2e-14

every_chain = for_each_arm([arm for arm in without_mimic(every_arm()) if arm.serial])


def divided(condition: float) -> float:
    return 1e-14 + 1e-15 * condition


def operators(arm: Arm) -> tuple[Worked, Operators]:
    """The arm's first state."""
    at = worked(arm)
    return at, Operators(arm, at.q[0], at.qd[0], at.qdd[0])


def in_papers_order(arm: Arm, matrix: np.ndarray) -> np.ndarray:
    order = list(arm.coordinates)
    return matrix[np.ix_(order, order)]


@every_chain
def test_inverse_model_is_its_operator_form(arm: Arm) -> None:
    """𝓜 = HφMφ*H*, A_D = 2 Hφ[M̂φ*H* + Mφ*Ḣ*], B_D = Hφ[S[H*]f + 2 M̂φ*Ḣ* + Mφ*Ḧ*]."""
    at, op = operators(arm)
    H, phi, M, hats = op.Hs.T, op.phi, wide(op.inertias), wide(op.hats)
    Hs, Hd, Hdd = op.Hs, tall(op.Hd), tall(op.Hdd)
    mass = H @ phi @ M @ phi.T @ Hs + np.diag(op.rotors)
    A = 2.0 * H @ phi @ (hats @ phi.T @ Hs + M @ phi.T @ Hd)
    B = H @ phi @ (turned_forces(op) + 2.0 * hats @ phi.T @ Hd + M @ phi.T @ Hdd)

    for name, true in (("mass_matrix", mass), ("dtau_dqd", A), ("dtau_dq", B)):
        computed = getattr(at.model, name)
        at_state = in_papers_order(arm, computed[0])
        assert gap(at_state, true, made_of=at.inertia, beside=computed) <= EXACT, name


@every_chain
def test_factors_are_their_operator_form(arm: Arm) -> None:
    """I + HφK and I - HψK with K = E_φ G; the second turns Hφ into Hψ."""
    at, op = operators(arm)
    _, D, G, _, _, _ = op.articulated
    K, H = op.E @ tall(G), op.Hs.T
    computed = robolin.mass_matrix_factor(arm, at.q[0])
    back = np.eye(op.n) - H @ op.psi @ K

    assert gap(computed.D[list(arm.coordinates)], D) <= EXACT
    factor = np.eye(op.n) + H @ op.phi @ K
    assert gap(in_papers_order(arm, computed.factor), factor) <= divided(at.condition)
    assert gap(in_papers_order(arm, computed.factor_inverse), back) <= divided(at.condition)
    assert gap(back @ H @ op.phi, H @ op.psi) <= divided(at.condition)


@every_chain
def test_mass_matrix_inverse_passes_through_the_articulated_bodies(arm: Arm) -> None:
    """𝓜⁻¹ HφMφ* = (I - HψK)* D⁻¹ HψP + K*ψ*."""
    at, op = operators(arm)
    P, D, G, _, _, _ = op.articulated
    K, H = op.E @ tall(G), op.Hs.T
    back = np.eye(op.n) - H @ op.psi @ K
    inverse = in_papers_order(arm, at.forward_conventional.dqdd_dtau[0])
    left = inverse @ H @ op.phi @ wide(op.inertias) @ op.phi.T
    right = back.T @ (H @ op.psi @ wide(P) / D[:, None]) + K.T @ op.psi.T

    assert gap(left, right) <= divided(at.condition)


@every_chain
def test_forward_model_is_its_operator_form(arm: Arm) -> None:
    """A_C = (I - HψK)*[D⁻¹HψY_A + 2 K̂*φ*H*] + 2 K*ψ*Ḣ*; B_C is the same with Y_B, Ḣ*, Ḧ*."""
    at, op = operators(arm)
    P, D, G, _, P_hat, G_hat = op.articulated
    H, Hs, Hd, Hdd = op.Hs.T, op.Hs, tall(op.Hd), tall(op.Hdd)
    K, K_hat = op.E @ tall(G), op.E @ tall(G_hat)
    YA = 2.0 * (wide(P_hat) @ Hs + wide(P) @ Hd)
    YB = 2.0 * wide(P_hat) @ Hd + wide(P) @ Hdd + turned_forces(op)
    back = np.eye(op.n) - H @ op.psi @ K
    A = back.T @ (H @ op.psi @ YA / D[:, None] + 2.0 * K_hat.T @ op.phi.T @ Hs)
    A += 2.0 * K.T @ op.psi.T @ Hd
    B = back.T @ (H @ op.psi @ YB / D[:, None] + 2.0 * K_hat.T @ op.phi.T @ Hd)
    B += K.T @ op.psi.T @ Hdd

    assert_forward_model(at, A, B)


@every_chain
def test_forward_model_is_its_triangular_decomposition(arm: Arm) -> None:
    """𝓜⁻¹ = L - K*ψ*U* - UψK, A_C = UψY_A + K*ψ*E_A + Qφ*H*, B_C = UψY_B + K*ψ*E_B + Qφ*Ḣ*."""
    at, op = operators(arm)
    P, D, G, _, P_hat, G_hat = op.articulated
    Hs, Hd, Hdd = op.Hs, tall(op.Hd), tall(op.Hdd)
    K, K_hat, lam, J = op.E @ tall(G), op.E @ tall(G_hat), wide(op.lam), wide(op.J)
    YA = 2.0 * (wide(P_hat) @ Hs + wide(P) @ Hd)
    YB = 2.0 * wide(P_hat) @ Hd + wide(P) @ Hdd + turned_forces(op)

    # one link inboard: the links between a link and the base
    inboard = np.array([*op.lam[1:], np.zeros((6, 6))])
    L = 1.0 / D + np.einsum("ki,kij,kj->k", G, inboard, G)
    U = (tall(L[:, None] * op.columns) - tall(np.einsum("kij,kj->ki", inboard, G))).T
    EA = 2.0 * Hd - lam @ YA + 2.0 * J @ Hs
    EB = Hdd - lam @ YB + 2.0 * J @ Hd
    Q = 2.0 * (K_hat.T - K.T @ J)

    A = U @ op.psi @ YA + K.T @ op.psi.T @ EA + Q @ op.phi.T @ Hs
    B = U @ op.psi @ YB + K.T @ op.psi.T @ EB + Q @ op.phi.T @ Hd
    inverse = np.diag(L) - K.T @ op.psi.T @ U.T - U @ op.psi @ K

    dqdd_dtau = in_papers_order(arm, at.forward_conventional.dqdd_dtau[0])
    assert gap(inverse, dqdd_dtau) <= divided(at.condition)
    assert_forward_model(at, A, B)


@every_chain
def test_operational_inertia_splits_into_diagonal_and_triangles(arm: Arm) -> None:
    """ψ*H*D⁻¹Hψ = Λ + ψ̃*Λ + Λψ̃ with ψ̃ = ψ - I."""
    _, op = operators(arm)
    D, lam = op.articulated[1], wide(op.lam)
    Hpsi = op.Hs.T @ op.psi
    strict = op.psi - np.eye(len(op.psi))

    assert gap(lam + strict.T @ lam + lam @ strict, Hpsi.T @ (Hpsi / D[:, None])) <= EXACT


def assert_forward_model(at: Worked, A: np.ndarray, B: np.ndarray) -> None:
    """A_C = -∂q̈/∂q̇ and B_C = -∂q̈/∂q; at speeds of about 1 their terms are about 1."""
    model = at.forward_conventional
    for computed, true in ((model.dqdd_dqd, A), (model.dqdd_dq, B)):
        at_state = in_papers_order(at.arm, -computed[0])
        assert gap(at_state, true, made_of=1.0, beside=computed) <= divided(at.condition)
