"""The appendix of Jain and Rodriguez on linearized dynamics [L], A.1 to A.24, line by line.

Gradients on the left are complex steps of the operators themselves, so nothing about derivatives
is taken from the papers.
"""

from __future__ import annotations

import numpy as np

import robolin
from tests.dynamics.loop_free import Q, S
from tests.dynamics.running import complex_step
from tests.operator_algebra.subjects import (
    EXACT,
    STEP,
    Subject,
    any_arm,
    apart,
    branched,
    diagonal_blocks,
    divided,
    papers,
)
from tests.operator_algebra.test_linearization import (
    Decomposed,
    Lambda,
    Y,
    composite,
    forward_model,
    inverse_model,
    outward,
)


def any_blocks(at: Subject) -> np.ndarray:
    return np.random.default_rng(at.op.n).normal(size=(at.op.n, 6, 6))


def any_vectors(at: Subject) -> np.ndarray:
    return np.random.default_rng(at.op.n).normal(size=(at.op.n, 6))


def inward(at: Subject, own: np.ndarray, turn) -> np.ndarray:
    """S(k) = Σ turn(c, S(c)) over the child links c of k, + own(k), from the tips to the base."""
    sums = np.array([np.zeros((6, 6)), *own])
    for k in at.links():
        if at.parent(k) <= at.op.n:
            sums[at.parent(k)] += turn(k, sums[k])
    return sums[1:]


@any_arm
def test_L_eq_A_1(at: Subject) -> None:
    """φXφ* = φS + Sφ~* with S(k) = S(k-1) + X(k)."""
    op, X = at.op, any_blocks(at)
    total = op.diagonal(composite(at, X), "S")
    left = op.phi @ op.diagonal(X) @ op.phi.T
    assert apart(left, op.phi @ total + total @ op.phi_tilde.T) <= EXACT


@any_arm
def test_L_eq_A_2(at: Subject) -> None:
    """ψXφ* = ψS + Sφ~* with S(k) = ψ(k,k-1)S(k-1) + X(k)."""
    op, X, through = at.op, any_blocks(at), diagonal_blocks(at.op.tau_bar)
    total = op.diagonal(inward(at, X, lambda k, S: through[k - 1] @ S), "S")
    left = op.psi @ op.diagonal(X) @ op.phi.T
    assert apart(left, op.psi @ total + total @ op.phi_tilde.T) <= divided(at)


@papers
def test_L_eq_A_3(at: Subject) -> None:
    """ψ*Xψ = ψ*S + Sψ~ with S(k) = ψ*(k+1,k)S(k+1)ψ(k+1,k) + X(k), on a chain."""
    op, X, through = at.op, any_blocks(at), diagonal_blocks(at.op.tau_bar)
    total = op.diagonal(outward(at, X, lambda k, S: through[k - 1].T @ S @ through[k - 1]), "S")
    left = op.psi.T @ op.diagonal(X) @ op.psi
    assert apart(left, op.psi.T @ total + total @ op.psi_tilde) <= divided(at)


@any_arm
def test_L_eq_A_4(at: Subject) -> None:
    """φ*Xφ~* = Sφ* - φ*S with S(k) = S(k+1) + X(k)."""
    op, X = at.op, any_blocks(at)
    total = op.diagonal(outward(at, X, lambda k, S: S), "S")
    left = op.phi.T @ op.diagonal(X) @ op.phi_tilde.T
    assert apart(left, total @ op.phi.T - op.phi.T @ total) <= EXACT


@any_arm
def test_L_eq_A_5(at: Subject) -> None:
    """ψ*Xφ~* = Sφ* - ψ*S with S(k) = ψ*(k+1,k)S(k+1) + X(k)."""
    op, X, through = at.op, any_blocks(at), diagonal_blocks(at.op.tau_bar)
    total = op.diagonal(outward(at, X, lambda k, S: through[k - 1].T @ S), "S")
    left = op.psi.T @ op.diagonal(X) @ op.phi_tilde.T
    assert apart(left, total @ op.phi.T - op.psi.T @ total) <= divided(at)


@any_arm
def test_L_eq_A_6(at: Subject) -> None:
    """∇θ[H*X] = diag(H~(k)X(k))φ*H* for one number X(k) per joint, with H~ = S*[H*]."""
    op = at.op
    X = at.dq[op.paper_order]
    tilde = op.diagonal([S(at.column(k)).T * X[k - 1] for k in at.links()])
    assert apart(at.gradients(lambda o: o.H.T @ at.dq), tilde @ op.phi.T @ op.H.T) <= EXACT


@any_arm
def test_L_eq_A_7(at: Subject) -> None:
    """∇θ[HX] = H diag(Q[X(k)])φ*H* = H diag(Q[X(k)])φ~*H*."""
    op, X = at.op, any_vectors(at)
    turned = op.diagonal(Q(X))
    gradient = at.gradients(lambda o: o.H @ X.ravel())
    assert apart(gradient, op.H @ turned @ op.phi.T @ op.H.T) <= EXACT
    assert apart(gradient, op.H @ turned @ op.phi_tilde.T @ op.H.T) <= EXACT


@any_arm
def test_L_eq_A_8(at: Subject) -> None:
    """∇θ[MX] = -(diag Q[M(k)X(k)] + M diag S*[X(k)])φ*H*."""
    op, X = at.op, any_vectors(at)
    momentum = op.diagonal(Q((op.M @ X.ravel()).reshape(-1, 6)))
    crossed = op.diagonal(np.swapaxes(S(X), -1, -2))
    gradient = at.gradients(lambda o: o.M @ X.ravel())
    assert apart(gradient, -(momentum + op.M @ crossed) @ op.phi.T @ op.H.T) <= EXACT


@any_arm
def test_L_eq_A_9(at: Subject) -> None:
    """∇θ[MV] = -diag(Q[M(k)V(k)])φ*H* + Mφ*Ḣ*."""
    op = at.op
    momentum = op.diagonal(Q((op.M @ op.V).reshape(-1, 6)))
    right = -momentum @ op.phi.T @ op.H.T + op.M @ op.phi.T @ op.Hd.T
    assert apart(at.gradients(lambda o: o.M @ o.V), right) <= EXACT


@any_arm
def test_L_eq_A_10(at: Subject) -> None:
    """∇θ[MV] = ∇θ[MX] at X = V, + M∇θ[V], and ∇θ[V] = Ω~*φ*H* + φ*Ḣ*."""
    op = at.op
    Omega = -op.V_tilde.T
    velocity = Omega.T @ op.phi.T @ op.H.T + op.phi.T @ op.Hd.T
    held = at.gradients(lambda o: o.M @ op.V)

    assert apart(at.gradients(lambda o: o.V), velocity) <= EXACT
    assert apart(at.gradients(lambda o: o.M @ o.V), held + (op.M @ velocity).dense()) <= EXACT


@any_arm
def test_L_eq_A_11(at: Subject) -> None:
    """∇θ̈ T = Hφ∇θ̇[Mφ*H*θ̇] = 𝓜."""
    op, motion = at.op, {"q": at.q, "qd": at.qd, "qdd": at.qdd}
    torques = complex_step(at.arm, "inverse", motion, "qdd")["tau"]
    steps = [at.at(at.q, at.qd + 1j * STEP * unit) for unit in np.eye(op.n)]
    momenta = np.array([(o.M @ o.V).imag / STEP for o in steps]).T

    assert apart(op.mass_matrix, torques) <= EXACT
    assert apart(op.H @ op.phi @ momenta + op.rotors.dense(), torques) <= EXACT


@any_arm
def test_L_eq_A_12(at: Subject) -> None:
    """A_D = Hφ d[Mφ*H*]/dt + Hφ∇θ[Mφ*H*θ̇]."""
    op, (A, _) = at.op, inverse_model(at)
    moved = at.rate(lambda o: o.M @ o.phi.T @ o.H.T)
    assert apart(op.H @ op.phi @ (moved + at.gradients(lambda o: o.M @ o.V)), A) <= EXACT


@any_arm
def test_L_eq_A_13(at: Subject) -> None:
    """B_D = Hφ[-diag(Q[f(k)])H* + 2M̂φ*Ḣ* + Mφ*Ḧ*], and -Q[f]H* = S[H*]f."""
    op, (_, B) = at.op, inverse_model(at)
    turned = -op.diagonal(Q(op.f.reshape(-1, 6))) @ op.H.T
    inside = turned + 2 * op.Mhat @ op.phi.T @ op.Hd.T + op.M @ op.phi.T @ op.Hdd.T

    assert apart(turned, op.Hf) <= EXACT
    assert apart(op.H @ op.phi @ inside, B) <= EXACT
    model = robolin.linearize_inverse(at.arm, at.q, at.qd, at.qdd)
    assert apart(op.H @ op.phi @ inside, model.dtau_dq) <= EXACT


@branched
def test_L_eq_A_14(at: Subject) -> None:
    """M = P - E_ψPE_ψ* = P - E_ψPE_φ* = P - E_φPE_φ* + KDK*."""
    op = at.op
    forms = (
        op.P - op.E_psi @ op.P @ op.E_psi.T,
        op.P - op.E_psi @ op.P @ op.E_phi.T,
        op.P - op.E_phi @ op.P @ op.E_phi.T + op.K @ op.D @ op.K.T,
    )
    for form in forms:
        assert apart(form, op.M) <= divided(at)


@any_arm
def test_L_eq_A_15(at: Subject) -> None:
    """[I + HφK]⁻¹ = I - Hφ[I + KHφ]⁻¹K."""
    op = at.op
    inside = np.linalg.inv((op.I + op.K @ op.H @ op.phi).dense())
    right = np.eye(op.n) - op.H @ op.phi @ inside @ op.K
    assert apart(np.linalg.inv(op.factor.dense()), right) <= divided(at)


@any_arm
def test_L_eq_A_16(at: Subject) -> None:
    """ψ⁻¹ = I - E_ψ = (I - E_φ) + E_φGH = φ⁻¹ + KH, and ψ⁻¹φ = I + KHφ."""
    op = at.op
    assert apart(op.I - op.E_psi, op.phi.inv + op.K @ op.H) <= EXACT
    assert apart(op.psi.inv @ op.phi, op.I + op.K @ op.H @ op.phi) <= EXACT


@any_arm
def test_L_eq_A_17(at: Subject) -> None:
    """[I - HψK]Hφ = Hψ[ψ⁻¹ - KH]φ = Hψ."""
    op = at.op
    middle = op.H @ op.psi @ (op.psi.inv - op.K @ op.H) @ op.phi
    assert apart(op.factor_inverse @ op.H @ op.phi, middle) <= divided(at)
    assert apart(middle, op.H @ op.psi) <= divided(at)


@any_arm
def test_L_eq_A_18(at: Subject) -> None:
    """𝓜⁻¹HφMφ* = [I - HψK]*D⁻¹HψMφ*."""
    op = at.op
    left = np.linalg.inv(op.mass_matrix.dense()) @ op.H @ op.phi @ op.M @ op.phi.T.dense()
    right = op.factor_inverse.T @ op.Dinv @ op.H @ op.psi @ op.M @ op.phi.T
    assert apart(left, right) <= divided(at)


@any_arm
def test_L_eq_A_19(at: Subject) -> None:
    """ψMφ* = ψP + Pφ~*."""
    op = at.op
    assert apart(op.psi @ op.M @ op.phi.T, op.psi @ op.P + op.P @ op.phi_tilde.T) <= divided(at)


@any_arm
def test_L_eq_A_20(at: Subject) -> None:
    """𝓜⁻¹HφMφ* = [I - HψK]*D⁻¹H[ψP + Pφ~*]."""
    op = at.op
    left = op.mass_matrix.inv @ op.H @ op.phi @ op.M @ op.phi.T
    right = op.factor_inverse.T @ op.Dinv @ op.H @ (op.psi @ op.P + op.P @ op.phi_tilde.T)
    assert apart(left, right) <= divided(at)


@any_arm
def test_L_eq_A_21(at: Subject) -> None:
    """[I - HψK]*D⁻¹HPφ~* = [I - HψK]*K*φ* = K*ψ*[ψ⁻¹ - KH]*φ* = K*ψ*."""
    op = at.op
    left = op.factor_inverse.T @ op.Dinv @ op.H @ op.P @ op.phi_tilde.T
    assert apart(left, op.factor_inverse.T @ op.K.T @ op.phi.T) <= divided(at)
    middle = op.K.T @ op.psi.T @ (op.psi.inv - op.K @ op.H).T @ op.phi.T
    assert apart(left, middle) <= divided(at)
    assert apart(left, op.K.T @ op.psi.T) <= divided(at)


@any_arm
def test_L_proof_of_lemma_4_7(at: Subject) -> None:
    """ψM̂φ* = ψP̂ + P̂φ~*, and HψM̂φ* = HψP̂ + DK̂*φ*."""
    op = at.op
    product = op.psi @ op.Mhat @ op.phi.T
    assert apart(product, op.psi @ op.Phat + op.Phat @ op.phi_tilde.T) <= divided(at)
    right = op.H @ op.psi @ op.Phat + op.D @ op.Khat.T @ op.phi.T
    assert apart(op.H @ product, right) <= divided(at)


@papers
def test_L_eq_A_22(at: Subject) -> None:
    """𝓜⁻¹ = [D⁻¹ + G*Λ⁺G] + K*ψ*[τ̄*Λ⁺G - H*D⁻¹] + [G*Λ⁺τ̄ - D⁻¹H]ψK."""
    op, d = at.op, Decomposed(at)
    across = op.G.T @ d.lam_plus @ op.tau_bar - op.Dinv @ op.H
    right = op.Dinv + op.G.T @ d.lam_plus @ op.G
    right = right + op.K.T @ op.psi.T @ across.T + across @ op.psi @ op.K
    assert apart(op.mass_matrix.inv, right) <= divided(at)


@papers
def test_L_eq_A_23(at: Subject) -> None:
    """[I - HψK]*D⁻¹Hψ = D⁻¹Hψ - K*ψ*Λ - K*Λψ~ = Uψ - K*ψ*Λ."""
    op, d = at.op, Decomposed(at)
    lam = op.diagonal(Lambda(at), "Λ")
    left = op.factor_inverse.T @ op.Dinv @ op.H @ op.psi
    middle = op.Dinv @ op.H @ op.psi - op.K.T @ op.psi.T @ lam - op.K.T @ lam @ op.psi_tilde
    assert apart(left, middle) <= divided(at)
    assert apart(left, d.U @ op.psi - op.K.T @ op.psi.T @ lam) <= divided(at)


@papers
def test_L_eq_A_24(at: Subject) -> None:
    """The six lines from Lemma 4.6 to A_C = UψY_A + K*ψ*E_A + Q*φ*H* are equal."""
    op, (A, _), (YA, _), d = at.op, forward_model(at), Y(at), Decomposed(at)
    back, over = op.factor_inverse.T, op.phi_tilde.T
    tail = 2 * op.K.T @ op.psi.T @ op.Hd.T
    first = back @ op.Dinv @ op.H @ op.psi
    lines = (
        2 * first @ (op.Mhat @ op.phi.T @ op.H.T + op.P @ op.Hd.T) + tail,
        2 * first @ (op.Phat @ op.H.T + op.P @ op.Hd.T)
        + 2 * back @ op.Dinv @ op.H @ op.Phat @ over @ op.H.T
        + tail,
        first @ YA + 2 * back @ op.Ghat.T @ over @ op.H.T + tail,
        d.U @ op.psi @ YA
        + op.K.T @ op.psi.T @ (2 * op.Hd.T - d.lam @ YA)
        + 2 * op.Khat.T @ op.phi.T @ op.H.T
        - 2 * op.K.T @ op.psi.T @ (op.Ghat @ op.H).T @ over @ op.H.T,
        d.U @ op.psi @ YA
        + op.K.T @ op.psi.T @ (2 * op.Hd.T - d.lam @ YA + 2 * d.J @ op.H.T)
        + 2 * (op.Khat.T - op.K.T @ d.J) @ op.phi.T @ op.H.T,
        d.U @ op.psi @ YA + op.K.T @ op.psi.T @ d.EA + d.Q.T @ op.phi.T @ op.H.T,
    )
    for line in lines:
        assert apart(line, A) <= divided(at)


def test_splitting_in_two_triangles_needs_a_chain() -> None:
    """On a tree ψ*Xψ has blocks between branches, and A.3, 4.8 and 4.9 do not hold."""
    from tests.operator_algebra.subjects import trees

    at = trees()[1]
    op, lam = at.op, at.op.diagonal(Lambda(at), "Λ")
    inner = op.psi.T @ op.H.T @ op.Dinv @ op.H @ op.psi
    assert apart(inner, lam + op.psi_tilde.T @ lam + lam @ op.psi_tilde) > 1e-3
