"""Formulas as the papers print them, where the print is wrong: each must fail clearly.

docs/dev/papers.md lists the misprints; the corrected forms are tested with the other equations.  A
formula counts as wrong from a relative error of 1e-3, a thousand million times the tolerance of the
right ones; the smallest error here is 0.01.
"""

from __future__ import annotations

import numpy as np
import pytest

import robolin
from tests.dynamics.loop_free import S, crm, tilde
from tests.operator_algebra.subjects import Subject, apart, chains, diagonal_blocks
from tests.operator_algebra.test_diagonalized import coriolis, ell, energy_gradient, m, unnormalized
from tests.operator_algebra.test_factorization import Biased
from tests.operator_algebra.test_linearization import (
    Decomposed,
    Y,
    forward_model,
    inverse_model,
    outward,
)

WRONG = 1e-3

arms = pytest.mark.parametrize("at", chains()[2:], ids=str)


# of the linearization


@arms
def test_misprint_L_algorithm_1(at: Subject) -> None:
    """With w~{½tr(J)I - J} as printed, M̂V is not ṀV."""
    op = at.op
    printed = []
    for M, V in zip(diagonal_blocks(op.M), op.V.reshape(-1, 6), strict=True):
        J, mp, mass = M[:3, :3], M[:3, 3:], M[5, 5]
        w, u = tilde(V[:3]), tilde(V[3:])
        first = np.array([mp[2, 1], mp[0, 2], mp[1, 0]])
        upper = w @ (0.5 * np.trace(J) * np.eye(3) - J) - mp @ u
        lower = -tilde(mass * V[3:] + w @ first)
        printed.append(np.block([[upper, np.zeros((3, 3))], [lower, np.zeros((3, 3))]]))
    assert apart(op.diagonal(printed) @ op.V, at.rate(lambda o: o.M) @ op.V) > WRONG


@arms
def test_misprint_L_eq_3_1(at: Subject) -> None:
    """With H~f, H~ = S*[H*], in place of S[H*]f, B_D of (3.1) is wrong."""
    op, (_, B) = at.op, inverse_model(at)
    f = op.f.reshape(-1, 6)
    printed = op.diagonal([S(at.column(k)).T @ f[k - 1] for k in at.links()])
    assert apart(B - op.H @ op.phi @ op.Hf + op.H @ op.phi @ printed, B) > WRONG


@arms
def test_misprint_L_eq_3_3(at: Subject) -> None:
    """With M̂ in place of 2M̂, δT of (3.3) is wrong."""
    op, dq, dqd = at.op, at.dq, at.dqd
    z = op.phi.T @ (2 * op.Hd.T @ dqd + op.Hdd.T @ dq)
    v = op.phi.T @ (op.H.T @ dqd + op.Hd.T @ dq)
    printed = op.H @ op.phi @ (op.M @ z + op.Mhat @ v + op.Hf @ dq)
    true = robolin.perturb_inverse(at.arm, at.q, at.qd, at.qdd, dq, dqd)
    assert apart(printed, true) > WRONG


@arms
def test_misprint_L_eq_4_12(at: Subject) -> None:
    """With Ĝ = P̂H*D⁻¹ as printed in (4.12), Lemma 4.7 is wrong."""
    op, (A, _), (YA, _) = at.op, forward_model(at), Y(at)
    Ghat = op.Phat @ op.H.T @ op.Dinv
    Khat = op.E_phi @ Ghat
    printed = op.factor_inverse.T @ (op.Dinv @ op.H @ op.psi @ YA + 2 * Khat.T @ op.phi.T @ op.H.T)
    assert apart(printed + 2 * op.K.T @ op.psi.T @ op.Hd.T, A) > WRONG


@arms
def test_misprint_L_eq_4_18(at: Subject) -> None:
    """With 2G*v in place of 2Ĝ*v in (4.18), that is K in place of K̂, A_C is wrong."""
    op, (A, _), (YA, _) = at.op, forward_model(at), Y(at)
    printed = op.factor_inverse.T @ (op.Dinv @ op.H @ op.psi @ YA + 2 * op.K.T @ op.phi.T @ op.H.T)
    assert apart(printed + 2 * op.K.T @ op.psi.T @ op.Hd.T, A) > WRONG


@arms
def test_misprint_L_eq_A_24(at: Subject) -> None:
    """With 2[K̂* - 2K*Ĵ] as printed in (A.24), A_C is wrong."""
    op, (A, _), (YA, _), d = at.op, forward_model(at), Y(at), Decomposed(at)
    printed = d.U @ op.psi @ YA + op.K.T @ op.psi.T @ d.EA
    printed += 2 * (op.Khat.T - 2 * op.K.T @ d.J) @ op.phi.T @ op.H.T
    assert apart(printed, A) > WRONG


@arms
def test_misprint_L_eq_A_6(at: Subject) -> None:
    """With diag(H~*(k)X(k)) as printed in (A.6), ∇θ[H*X] is wrong."""
    op = at.op
    X = at.dq[op.paper_order]
    printed = op.diagonal([S(at.column(k)) * X[k - 1] for k in at.links()])
    assert apart(at.gradients(lambda o: o.H.T @ at.dq), printed @ op.phi.T @ op.H.T) > WRONG


@arms
def test_misprint_L_eq_A_3(at: Subject) -> None:
    """With S(k) of the same link in place of S(k+1) the recursion (A.3) fails: S = X."""
    op, X = at.op, np.random.default_rng(0).normal(size=(at.op.n, 6, 6))
    own = op.diagonal(X)
    assert apart(op.psi.T @ own @ op.psi, op.psi.T @ own + own @ op.psi_tilde) > WRONG


@arms
def test_misprint_L_eq_3_7(at: Subject) -> None:
    """With k M(k) in place of Σ M(j), as (3.7) prints, 𝓜 is wrong."""
    op = at.op
    R = op.diagonal([k * M for k, M in enumerate(diagonal_blocks(op.M), start=1)])
    printed = op.H @ (op.phi @ R + R @ op.phi_tilde.T) @ op.H.T
    assert apart(printed, op.mass_matrix) > WRONG


# of the factorization


@arms
def test_misprint_F_section_1_B(at: Subject) -> None:
    """𝓜 is not (I + HΨG)D(I + HΨG)*."""
    op = at.op
    printed = op.I + op.H @ op.PSI @ op.G
    assert apart(printed @ op.D @ printed.T, op.mass_matrix) > WRONG


@arms
def test_misprint_F_eq_60_and_63(at: Subject) -> None:
    """With z(0) = f(0) besides ζ that contains Bf(0), θ̈ is wrong."""
    op, d = at.op, Biased(at)
    zeta = op.M @ op.phi.T @ d.a + d.load
    twice = zeta + d.B @ d.tip
    epsilon = d.T - op.H @ op.PSI @ (op.G @ d.T + op.tau_bar @ twice) - op.H @ twice
    assert apart(op.factor_inverse.T @ op.Dinv @ epsilon, d.qdd) > WRONG


@arms
def test_misprint_F_eq_67(at: Subject) -> None:
    """With ψ[(I - GH)Pa + b + Bf(0)] as (67) prints, ν and with it θ̈ are wrong."""
    op, d = at.op, Biased(at)
    Pa = op.P @ d.a
    nu = op.Dinv @ (
        op.factor_inverse @ d.T - op.H @ op.psi @ (op.tau_bar @ Pa + d.load) + op.H @ Pa
    )
    qdd = op.factor_inverse.T @ nu - op.G.T @ op.PSI.T @ op.tau_bar.T @ d.a - op.G.T @ d.a
    assert apart(qdd, d.qdd) > WRONG


@arms
def test_misprint_F_figure_3(at: Subject) -> None:
    """(I - HΨG)⁻¹(I - HΨG)T is T, not θ̈."""
    op = at.op
    back = op.I - op.H @ op.PSI @ op.G
    assert apart(back.inv @ back @ at.dtau, at.dtau) < 1e-9
    assert apart(back.inv @ back @ at.dtau, op.mass_matrix.inv @ at.dtau) > WRONG


# of the diagonalized dynamics


@arms
def test_misprint_D_eq_2_1(at: Subject) -> None:
    """𝓜θ̇ - ½θ̇*𝓜_θθ̇, without the dot, is not the Coriolis term."""
    printed = at.op.mass_matrix @ at.qd - 0.5 * energy_gradient(at)
    assert apart(printed, robolin.inverse(at.weightless.arm, at.q, at.qd)) > WRONG


@arms
def test_misprint_D_eq_3_2(at: Subject) -> None:
    """ℓṁν - ½θ̇*𝓜_θθ̇ is not the Coriolis term: ℓ applies to both."""
    op = at.op
    printed = ell(op) @ (at.rate(m) @ (m(op).T @ at.qd)) - 0.5 * energy_gradient(at)
    assert apart(printed, coriolis(at)) > WRONG


@arms
def test_misprint_D_lemma_3_1(at: Subject) -> None:
    """θ̇ = ℓν and ν = mθ̇ as printed are not those of ½ν*ν."""
    op = at.op
    printed = m(op) @ at.qd
    assert apart(printed @ printed, at.qd @ (op.mass_matrix @ at.qd)) > WRONG


@arms
def test_misprint_D_eq_4_4(at: Subject) -> None:
    """α = φ*{H*θ̈ - a} is not the rate of V."""
    op = at.op
    printed = op.phi.T @ (op.H.T @ at.qdd - op.Hd.T @ at.qd)
    assert apart(printed, at.rate(lambda o: o.V)) > WRONG


@arms
def test_misprint_D_eq_4_8(at: Subject) -> None:
    """With ψ(k+1,k) = -φ(k+1,k)τ̄(k), I - HψK is not the inverse factor."""
    op = at.op
    psi = np.linalg.inv((op.I + op.E_psi).dense())
    printed = np.eye(op.n) - op.H @ psi @ op.K.dense()
    assert apart(printed, np.linalg.inv(op.factor.dense())) > WRONG


@arms
def test_misprint_D_eq_4_9(at: Subject) -> None:
    """M is not I - E_φPE_φ*."""
    op = at.op
    assert apart(op.I - op.E_phi @ op.P @ op.E_phi.T, op.M) > WRONG


@arms
def test_misprint_D_table_1(at: Subject) -> None:
    """D^½[θ̇ - G*V⁺] is not ν."""
    op = at.op
    printed = op.D_half @ (at.qd - op.G.T @ op.E_phi.T @ op.V)
    assert apart(printed, m(op).T @ at.qd) > WRONG


@arms
def test_misprint_D_table_2(at: Subject) -> None:
    """With z⁺ = z + Gε, T is not mε: it is (D^½ + HφK)ε."""
    op = at.op
    printed = op.D_half + op.H @ op.phi @ op.K
    assert apart(printed, m(op)) > WRONG


@arms
def test_misprint_D_eq_5_3_and_5_4(at: Subject) -> None:
    """D^½ν is not θ̇ + δ, and T is not D^½ε - Hz."""
    op = at.op
    nu = m(op).T @ at.qd
    z = op.phi @ op.K @ op.D_half @ at.dq
    assert apart(op.D_half @ nu, at.qd + op.G.T @ op.E_phi.T @ op.V) > WRONG
    assert apart(m(op) @ at.dq, op.D_half @ at.dq - op.H @ z) > WRONG


def test_misprint_D_eq_5_5() -> None:
    """X x (Z x Y) = -Z x (X x Y) does not hold."""
    X, Y, Z = np.random.default_rng(0).normal(size=(3, 6))
    assert apart(crm(X) @ crm(Z) @ Y, -crm(Z) @ crm(X) @ Y) > WRONG


@arms
def test_misprint_D_eq_6_5(at: Subject) -> None:
    """With ψ(k,k-1)λ̇(k-1)ψ(k,k-1), λ̇ does not give Ḋ."""
    op = at.op
    through, X = diagonal_blocks(op.tau_bar), diagonal_blocks(op.Omega_delta @ op.P)
    rate = np.array([np.zeros((6, 6)), *(X + np.swapaxes(X, -1, -2))])
    for k in at.links()[:-1]:
        rate[k + 1] += through[k - 1] @ rate[k] @ through[k - 1]
    printed = op.H @ op.diagonal(rate[1:]) @ op.H.T
    assert apart(printed, at.rate(lambda o: o.D)) > WRONG


@arms
def test_misprint_D_eq_6_7(at: Subject) -> None:
    """With ½(I + τ) in place of ½(I + τ̄) in (6.7), ṁ is wrong."""
    op = at.op
    inside = op.Omega_delta @ op.phi_tilde @ op.P + 0.5 * (op.I + op.G @ op.H) @ op.lambda_dot
    assert apart(at.rate(m), op.H @ op.phi @ inside @ op.H.T @ op.D_half_inv) > WRONG


@arms
def test_misprint_D_eq_A_30(at: Subject) -> None:
    """With Ṗ in place of λ̇ in (A.30), ṁ is wrong."""
    op = at.op
    rate = op.diagonal(diagonal_blocks(at.rate(lambda o: o.P)))
    inside = op.Omega_delta @ op.phi_tilde @ op.P + 0.5 * (op.I + op.tau_bar) @ rate
    assert apart(at.rate(m), op.H @ op.phi @ inside @ op.H.T @ op.D_half_inv) > WRONG


@arms
def test_misprint_D_eq_7_2(at: Subject) -> None:
    """With -2[V~*M - X + X*]V in place of -[2V~*M + X - X*]V in (7.2), C(θ,ν) is wrong."""
    op = at.op
    X = op.Omega_delta @ op.P
    inside = op.E_psi @ op.lambda_dot - op.lambda_dot @ op.E_psi.T
    inside = inside - 2 * (op.V_tilde.T @ op.M - X + X.T)
    assert apart(0.5 * op.D_half_inv @ op.H @ op.psi @ inside @ op.V, coriolis(at)) > WRONG


@arms
def test_misprint_D_eq_7_6(at: Subject) -> None:
    """½ν*ν̇ is half the power, not all of it."""
    op = at.weightless.op
    nu, epsilon = m(op).T @ at.qd, ell(op) @ at.weightless.tau
    rate = nu @ (epsilon - coriolis(at.weightless))
    assert apart(0.5 * rate, at.weightless.tau @ at.qd) > WRONG


@arms
def test_misprint_D_eq_7_9(at: Subject) -> None:
    """κ = [I - HψK]*T is not D^½ε."""
    op = at.op
    assert apart(op.factor_inverse.T @ at.dtau, op.D_half @ ell(op) @ at.dtau) > WRONG


@arms
def test_misprint_D_lemma_7_3(at: Subject) -> None:
    """With P V in place of P⁺V⁺ and + V~*MV, the second form of C(θ,ξ) is wrong."""
    op = at.op
    xi = op.factor.T @ at.qd
    local = op.E_psi @ op.lambda_dot @ op.E_psi.T
    inside = local @ op.H.T @ xi - op.Omega_delta @ op.P @ op.V + op.V_tilde.T @ op.M @ op.V
    assert apart(op.H @ op.psi @ inside, unnormalized(at)) > WRONG


@arms
def test_misprint_D_eq_8_1(at: Subject) -> None:
    """D⁻¹Hψζ without T, as (8.1) prints, is not ξ̇."""
    still = at.weightless
    op = still.op
    xi = op.factor.T @ still.qd
    zeta = op.K @ still.tau + op.lambda_dot @ op.H.T @ xi
    zeta = zeta - (op.Omega_delta @ op.P + op.V_tilde.T @ op.M) @ op.V
    true = op.Dinv @ (still.tau - op.H @ op.psi @ zeta)
    assert apart(op.Dinv @ op.H @ op.psi @ zeta, true) > WRONG


@arms
def test_misprint_D_proof_of_lemma_A_3(at: Subject) -> None:
    """X*Y~* = Y*X~* does not hold; with a minus it does."""
    X, Y = np.random.default_rng(at.op.n).normal(size=(2, 6))
    assert apart(X @ crm(Y).T, Y @ crm(X).T) > WRONG
    assert apart(X @ crm(Y).T, -Y @ crm(X).T) <= 1e-14


@arms
def test_misprint_D_eq_4_2_and_A_11(at: Subject) -> None:
    """HφMφH* is not 𝓜, and φ - I is not -E_φφ."""
    op = at.op
    assert apart(op.H @ op.phi @ op.M @ op.phi @ op.H.T, op.mass_matrix) > WRONG
    assert apart(-op.E_phi @ op.phi, op.phi - op.I) > WRONG


# of the review


@arms
def test_misprint_O_eq_13(at: Subject) -> None:
    """With one τ_i for all children in (13), the filter's forces are wrong."""
    op, tau = at.op, at.dtau
    own = tau[op.paper_order]
    inboard = np.zeros(op.n)
    inboard[op.paper_order] = [*own[1:], 0.0]
    right = op.H @ op.psi @ op.K @ tau
    assert apart(op.H @ op.psi @ op.K @ inboard, right) > WRONG


def test_outward_recursions_start_at_the_base() -> None:
    """The helper that the decompositions rest on adds up from the base."""
    at = chains()[0]
    sums = outward(at, np.ones((2, 6, 6)), lambda k, S: S)
    assert sums[0].max() == 2.0
    assert sums[1].max() == 1.0
