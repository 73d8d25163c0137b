"""The appendices of Jain and Rodriguez on diagonalized dynamics [D]: A.4 to A.31 and B.1 to B.10.

The paper refers every link to its own point, where φ and H rotate with the joints. In the one
inertial frame used here φ is constant and the operators 𝓗^i on forces are S[H*(i)], on motions
their negative transposes; 𝓗^i is on every link that joint i moves, 𝓗_s^i on those except link i,
and 𝓗_δ^i on link i alone. Sensitivities on the left are complex steps.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from robolin.dynamics.algebra.vectors import motion_cross
from tests.dynamics.loop_free import S, crm
from tests.operator_algebra.subjects import (
    EXACT,
    Subject,
    any_arm,
    apart,
    blocks,
    branched,
    diagonal_blocks,
    divided,
    papers,
)
from tests.operator_algebra.test_diagonalized import energy_gradient, inertia, m, turn_of


def turns(at: Subject, i: int):
    """𝓗^i, 𝓗_s^i and 𝓗_δ^i on forces."""
    return turn_of(at, i, "from"), turn_of(at, i, "beyond"), turn_of(at, i)


@any_arm
def test_D_eq_A_1_to_A_3(at: Subject) -> None:
    """𝓗^i = 𝓗_s^i + 𝓗_δ^i; with θ̇ they add up to Ω~, Ω~_s and Ω~_δ."""
    op, rates = at.op, at.qd[at.op.paper_order]
    sums = [0.0, 0.0, 0.0]
    for i in at.links():
        full, beyond, own = (operator.dense() for operator in turns(at, i))
        assert apart(full, beyond + own) == 0.0
        for index, part in enumerate((full, beyond, own)):
            sums[index] = sums[index] + part * rates[i - 1]

    inboard = (op.E_phi.T @ op.V).reshape(-1, 6)
    assert apart(sums[0], -op.V_tilde.T) <= EXACT
    assert apart(sums[1], op.diagonal(S(inboard))) <= EXACT
    assert apart(sums[2], op.Omega_delta) <= EXACT


@any_arm
def test_D_eq_A_4_and_A_7(at: Subject) -> None:
    """H*(k)_θi = H*(i) x H*(k) on the links that joint i carries: H*_θi = -𝓗_s^i* H*."""
    op = at.op
    for i in at.links():
        full, beyond, _ = turns(at, i)
        left = at.gradient(lambda o: o.H.T, i)
        assert apart(left, -beyond.T @ op.H.T, made_of=1.0) <= EXACT
        assert apart(left, -full.T @ op.H.T, made_of=1.0) <= EXACT


@papers
def test_D_eq_A_5_and_A_8(at: Subject) -> None:
    """(E_φ)_θi = 𝓗^i E_φ - E_φ 𝓗_s^i, which is zero where all links have one reference point."""
    op = at.op
    for i in at.links():
        full, beyond, _ = turns(at, i)
        assert not (full @ op.E_phi - op.E_phi @ beyond).dense().any()


@any_arm
def test_D_eq_A_6_and_A_10(at: Subject) -> None:
    """M_θi = 𝓗^i M + M 𝓗^i*."""
    op = at.op
    for i in at.links():
        full, _, _ = turns(at, i)
        left = at.gradient(lambda o: o.M, i)
        assert apart(left, full @ op.M + op.M @ full.T, made_of=inertia(at)) <= EXACT


@papers
def test_D_eq_A_9(at: Subject) -> None:
    """φ_θi = φ(E_φ)_θiφ = φ𝓗_δ^iφ - φ𝓗^i + 𝓗_s^iφ, zero as A.8 is."""
    op = at.op
    for i in at.links():
        full, beyond, own = turns(at, i)
        right = op.phi @ own @ op.phi - op.phi @ full + beyond @ op.phi
        assert np.abs(right.dense()).max() <= EXACT


@any_arm
def test_D_eq_A_11(at: Subject) -> None:
    """E_φφ = φE_φ = φ - I = φ~."""
    op = at.op
    assert apart(op.E_phi @ op.phi, op.phi - op.I) == 0.0
    assert apart(op.phi @ op.E_phi, op.phi - op.I) == 0.0
    assert apart(op.phi_tilde, op.phi - op.I) == 0.0


@papers
def test_D_lemma_A_1(at: Subject) -> None:
    """[φMφ*]_θi = [φ𝓗_δ^i + 𝓗_s^i]φMφ* + φMφ*[𝓗_δ^i*φ* + 𝓗_s^i*] (A.12)."""
    op = at.op
    product = op.phi @ op.M @ op.phi.T
    for i in at.links():
        _, beyond, own = turns(at, i)
        half = (op.phi @ own + beyond) @ product
        left = at.gradient(lambda o: o.phi @ o.M @ o.phi.T, i)
        assert apart(left, half + half.T) <= EXACT


@any_arm
def test_D_lemma_A_2(at: Subject) -> None:
    """𝓜_θi = Hφ[𝓗_δ^iφM + Mφ*𝓗_δ^i*]φ*H* (A.13)."""
    op = at.op
    for i in at.links():
        own = turn_of(at, i)
        half = op.H @ op.phi @ own @ op.phi @ op.M @ op.phi.T @ op.H.T
        left = at.gradient(lambda o: o.mass_matrix, i)
        assert apart(left, half + half.T, made_of=inertia(at)) <= EXACT


@branched
def test_D_lemma_A_3(at: Subject) -> None:
    """col{θ̇*𝓜_θθ̇} = 2HV~*φMV = 2Hφ[Ω~_δφ + V~*]MV = 2Hφ[Ω~_δ(I + φKH)P + V~*M]V (A.14)."""
    op, V, turn = at.op, at.op.V, at.op.Omega_delta
    true, back = energy_gradient(at), op.V_tilde.T
    lines = (
        2 * op.H @ back @ op.phi @ op.M @ V,
        2 * op.H @ op.phi @ (turn @ op.phi + back) @ op.M @ V,
        2 * op.H @ op.phi @ (turn @ (op.I + op.phi @ op.K @ op.H) @ op.P + back @ op.M) @ V,
    )
    for line in lines:
        assert apart(line, true, made_of=inertia(at)) <= divided(at)


@any_arm
def test_D_eq_A_15(at: Subject) -> None:
    """col{θ̇*𝓜_θiθ̇} = 2 col{V*𝓗_δ^iφMV}, and V*(k)S[H*(k)] = -H(k)S[V(k)] = H(k)V~*(k)."""
    op = at.op
    gradient = np.zeros(op.n)
    for i in at.links():
        gradient[op.paper_order[i - 1]] = 2.0 * op.V @ (turn_of(at, i) @ op.phi @ op.M @ op.V)
    assert apart(gradient, energy_gradient(at), made_of=inertia(at)) <= EXACT

    for k in at.links():
        V, h = op.V[6 * k - 6 : 6 * k], at.column(k)
        assert np.abs(V @ S(h) - h @ crm(V).T).max() <= EXACT * np.abs(V).max()
    assert apart(-(op.H @ op.diagonal(S(op.V.reshape(-1, 6)))), op.H @ op.V_tilde.T) <= EXACT


@cache
def lambdas(at: Subject, i: int):
    """λ_i(k): S[H*(i)]P(i) and its transpose at i, carried inward through free hinges (A.16)."""
    op, psi = at.op, blocks(at.op.psi)
    X = S(at.column(i)) @ diagonal_blocks(op.P)[i - 1]
    own = X + X.T
    return op.diagonal([psi[k - 1, i - 1] @ own @ psi[k - 1, i - 1].T for k in at.links()], "λ_i")


@any_arm
def test_D_eq_A_16_and_A_17(at: Subject) -> None:
    """λ_i - E_ψλ_iE_ψ* = 𝓗_δ^iP + P𝓗_δ^i*."""
    op = at.op
    for i in at.links():
        lam, X = lambdas(at, i), turn_of(at, i) @ op.P
        left = lam - op.E_psi @ lam @ op.E_psi.T
        assert apart(left, X + X.T, made_of=inertia(at)) <= divided(at)


@any_arm
def test_D_lemma_A_4(at: Subject) -> None:
    """P_θi = λ_i + 𝓗_s^iP + P𝓗_s^i*, D_θi = Hλ_iH*, (D⁻¹)_θi, G_θi = τ̄λ_iH*D⁻¹ + 𝓗_s^iG."""
    op = at.op
    for i in at.links():
        lam, (_, beyond, _) = lambdas(at, i), turns(at, i)
        D = op.H @ lam @ op.H.T
        pairs = (
            (lambda o: o.P, lam + beyond @ op.P + op.P @ beyond.T),
            (lambda o: o.D, D),
            (lambda o: o.Dinv, -op.Dinv @ D @ op.Dinv),
            (lambda o: o.G, op.tau_bar @ lam @ op.H.T @ op.Dinv + beyond @ op.G),
        )
        for of, right in pairs:
            size = float(np.abs(of(op).dense()).max())
            assert apart(at.gradient(of, i), right, made_of=size) <= divided(at)


@any_arm
def test_D_eq_A_22_and_A_23(at: Subject) -> None:
    """P(k)_θi is λ_i(k) for links inboard of i and itself, S[H*(i)]P(k) + … on those it carries."""
    op = at.op
    P = diagonal_blocks(op.P)
    for i in at.links():
        rate, lam = diagonal_blocks(at.gradient(lambda o: o.P, i)), diagonal_blocks(lambdas(at, i))
        for k in at.links():
            X = S(at.column(i)) @ P[k - 1]
            true = X + X.T if at.outboard(k, i) else lam[k - 1]
            assert apart(rate[k - 1], true, made_of=inertia(at)) <= divided(at)


@papers
def test_D_eq_A_25(at: Subject) -> None:
    """τ̄_θi and (E_ψ)_θi = 𝓗^iE_ψ - E_ψλ_iH*D⁻¹H - E_ψ𝓗_s^i."""
    op = at.op
    for i in at.links():
        lam, (full, beyond, _) = lambdas(at, i), turns(at, i)
        bent = lam @ op.H.T @ op.Dinv @ op.H
        bar = -op.tau_bar @ bent + beyond @ op.tau_bar - op.tau_bar @ beyond
        shift = full @ op.E_psi - op.E_psi @ bent - op.E_psi @ beyond
        assert apart(at.gradient(lambda o: o.tau_bar, i), bar, made_of=1.0) <= divided(at)
        assert apart(at.gradient(lambda o: o.E_psi, i), shift, made_of=1.0) <= divided(at)


@any_arm
def test_D_eq_A_26(at: Subject) -> None:
    """λ̇ = Σ λ_i θ̇(i)."""
    rates = at.qd[at.op.paper_order]
    total = sum(lambdas(at, i).dense() * rates[i - 1] for i in at.links())
    assert apart(at.op.lambda_dot, total) <= divided(at)


@any_arm
def test_D_lemma_A_5(at: Subject) -> None:
    """λ̇ - E_ψλ̇E_ψ* = Ω~_δP + PΩ~_δ* (A.27), and link by link (A.28)."""
    op = at.op
    X = op.Omega_delta @ op.P
    assert apart(op.lambda_dot - op.E_psi @ op.lambda_dot @ op.E_psi.T, X + X.T) <= divided(at)

    through, own = diagonal_blocks(op.tau_bar), diagonal_blocks(X + X.T)
    rate = np.array([np.zeros((6, 6)), *own])
    for k in at.links():
        if at.parent(k) <= op.n:
            rate[at.parent(k)] += through[k - 1] @ rate[k] @ through[k - 1].T
    assert apart(diagonal_blocks(op.lambda_dot), rate[1:]) <= divided(at)


@branched
def test_D_lemma_A_6(at: Subject) -> None:
    """m_θi = Hφ[𝓗_δ^iφ~P + ½(I + τ̄)λ_i]H*D^-½ (A.29), and with θ̇ ṁ (A.30).

    Its two parts: (I + HφK)_θi = Hφ[𝓗_δ^iφ~P + τ̄λ_i]H*D⁻¹ and (D^½)_θi = ½Hλ_iH*D^-½.
    """
    op = at.op
    for i in at.links():
        turned, own = turn_of(at, i) @ op.phi_tilde @ op.P, lambdas(at, i)
        inside = turned + 0.5 * (op.I + op.tau_bar) @ own
        right = op.H @ op.phi @ inside @ op.H.T @ op.D_half_inv
        assert apart(at.gradient(m, i), right, made_of=inertia(at)) <= divided(at)
        right = op.H @ op.phi @ (turned + op.tau_bar @ own) @ op.H.T @ op.Dinv
        assert apart(at.gradient(lambda o: o.factor, i), right, made_of=1.0) <= divided(at)
        right = 0.5 * op.H @ own @ op.H.T @ op.D_half_inv
        root = at.gradient(lambda o: o.D_half, i)
        assert apart(root, right, made_of=inertia(at) ** 0.5) <= divided(at)


@branched
def test_D_eq_A_31(at: Subject) -> None:
    """I + HφK = I + Hφ~G = I - HG + HφG = HφG, since HG = I."""
    op = at.op
    assert apart(op.H @ op.G, np.eye(op.n)) <= EXACT
    assert apart(op.factor, op.I + op.H @ op.phi_tilde @ op.G) <= EXACT
    assert apart(op.factor, op.I - op.H @ op.G + op.H @ op.phi @ op.G) <= EXACT
    assert apart(op.factor, op.H @ op.phi @ op.G) <= EXACT


# appendix B


@any_arm
def test_D_lemma_B_1(at: Subject) -> None:
    """[I-HψK]Hφ = Hψ (B.1) and φK[I-HψK] = ψK (B.2)."""
    op = at.op
    assert apart(op.factor_inverse @ op.H @ op.phi, op.H @ op.psi) <= divided(at)
    assert apart(op.phi @ op.K @ op.factor_inverse, op.psi @ op.K) <= divided(at)


@branched
def test_D_lemma_B_1_of_hinges(at: Subject) -> None:
    """φMφ*H* = [I + φKH]Pφ*H* (B.3) and Hφτ̄ = HφE_ψ (B.4)."""
    op = at.op
    right = (op.I + op.phi @ op.K @ op.H) @ op.P @ op.phi.T @ op.H.T
    assert apart(op.phi @ op.M @ op.phi.T @ op.H.T, right) <= divided(at)
    assert apart(op.H @ op.phi @ op.tau_bar, op.H @ op.phi @ op.E_psi) <= divided(at)


@any_arm
def test_D_eq_B_5(at: Subject) -> None:
    """ψ⁻¹ - φ⁻¹ = E_φ - E_ψ = E_φGH = KH, and φ - ψ = ψKHφ."""
    op = at.op
    difference = (op.I - op.E_psi) - (op.I - op.E_phi)
    assert apart(difference, op.K @ op.H) <= EXACT
    assert apart(op.phi - op.psi, op.psi @ op.K @ op.H @ op.phi) <= divided(at)


@branched
def test_D_eq_B_6(at: Subject) -> None:
    """τ̄PH* = Pτ̄*H* and τ̄*H* = 0."""
    op = at.op
    size = np.abs(op.P.dense()).max()
    assert apart(op.tau_bar @ op.P @ op.H.T, op.P @ op.tau_bar.T @ op.H.T, made_of=size) <= EXACT
    assert np.abs((op.tau_bar.T @ op.H.T).dense()).max() <= EXACT * np.abs(op.H.dense()).max()


@any_arm
def test_D_lemma_B_2(at: Subject) -> None:
    """H[V~*φ - φV~*] = HφΩ~_δφ (B.7)."""
    op, back = at.op, at.op.V_tilde.T
    left = op.H @ (back @ op.phi - op.phi @ back)
    assert apart(left, op.H @ op.phi @ op.Omega_delta @ op.phi) <= EXACT


def test_D_eq_B_8() -> None:
    """[φ*(l)X]~ = φ*(l) X~ φ^-*(l)."""
    from tests.operator_algebra.test_factorization import from_point

    rng = np.random.default_rng(0)
    shift, X = from_point(rng.normal(size=3)), rng.normal(size=6)
    assert apart(crm(shift.T @ X), shift.T @ crm(X) @ np.linalg.inv(shift).T) <= EXACT
    Y = rng.normal(size=6)
    product = motion_cross(tuple(shift.T @ X), tuple(shift.T @ Y))
    assert apart(product, shift.T @ np.array(motion_cross(tuple(X), tuple(Y)))) <= EXACT


@any_arm
def test_D_eq_B_9_and_B_10(at: Subject) -> None:
    """E_φ*V~ = V~⁺E_φ* = V~E_φ* - [H*θ̇]~E_φ*."""
    op = at.op
    plus = op.diagonal(crm((op.E_phi.T @ op.V).reshape(-1, 6)), "V~⁺")
    relative = -op.Omega_delta.T
    assert apart(op.E_phi.T @ op.V_tilde, plus @ op.E_phi.T) <= EXACT
    assert apart(op.E_phi.T @ op.V_tilde, (op.V_tilde - relative) @ op.E_phi.T) <= EXACT


@any_arm
def test_D_proof_of_lemma_B_2(at: Subject) -> None:
    """H Ω~_δ = 0, and φ⁻¹V~* = V~*φ⁻¹ + E_φΩ~_δ."""
    op, back = at.op, at.op.V_tilde.T
    size = np.abs(op.H.dense()).max() * np.abs(op.Omega_delta.dense()).max()
    assert np.abs((op.H @ op.Omega_delta).dense()).max() <= EXACT * size
    right = back @ op.phi.inv + op.E_phi @ op.Omega_delta
    assert apart(op.phi.inv @ back, right) <= EXACT
