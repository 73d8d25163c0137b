"""Lines inside the proofs of [L] and [F] that have no number, and two that are printed wrong."""

from __future__ import annotations

import numpy as np
import pytest

from tests.dynamics.loop_free import Q
from tests.operator_algebra.subjects import (
    EXACT,
    STEP,
    Subject,
    any_arm,
    apart,
    blocks,
    branched,
    chains,
    diagonal_blocks,
    divided,
    papers,
)
from tests.operator_algebra.test_linearization import (
    Decomposed,
    Y,
    accelerations,
    composite,
    forward_model,
    inverse_model,
)
from tests.operator_algebra.test_linearization_proofs import any_blocks, any_vectors, inward

WRONG = 1e-3

arms = pytest.mark.parametrize("at", chains()[2:], ids=str)


def by_rates(at: Subject, of) -> np.ndarray:
    """The columns ∂/∂θ̇ of a vector, in public order."""
    steps = [at.at(at.q, at.qd + 1j * STEP * unit) for unit in np.eye(at.op.n)]
    return np.array([of(o).imag / STEP for o in steps]).T


# of the linearization


@any_arm
def test_L_proof_of_lemma_A_1(at: Subject) -> None:
    """X = S - E_ψSE_φ*, and ψXφ* = ψSφ* - (ψ - I)Sφ~*."""
    op, X, through = at.op, any_blocks(at), diagonal_blocks(at.op.tau_bar)
    own = op.diagonal(X)
    total = op.diagonal(inward(at, X, lambda k, S: through[k - 1] @ S), "S")
    assert apart(total - op.E_psi @ total @ op.E_phi.T, own) <= divided(at)
    right = op.psi @ total @ op.phi.T - (op.psi - op.I) @ total @ op.phi_tilde.T
    assert apart(op.psi @ own @ op.phi.T, right) <= divided(at)


@any_arm
def test_L_proof_of_lemma_A_2(at: Subject) -> None:
    """H and M depend on θ alone: ∇θ[H*X] = ∇θ̇[Ḣ*X] and ∇θ[MX] = ∇θ̇[ṀX], Ṁ = Ω~M + MΩ~*."""
    X, x = any_vectors(at).ravel(), at.dq
    assert apart(at.gradients(lambda o: o.H.T @ x), by_rates(at, lambda o: o.Hd.T @ x)) <= EXACT

    def turning(o) -> np.ndarray:
        return -(o.V_tilde.T @ (o.M @ X)) - o.M @ (o.V_tilde @ X)

    assert apart(at.gradients(lambda o: o.M @ X), by_rates(at, turning)) <= EXACT


@any_arm
def test_L_proof_of_lemma_3_1(at: Subject) -> None:
    """∇θ ġ = d(∇θ g)/dt for g = MV, which is -Q[x]φ*H* + 2M̂φ*Ḣ* + Mφ*Ḧ* with x = ġ."""
    op, qdd = at.op, at.qdd

    def momentum_rate(o) -> np.ndarray:
        return o.M @ (o.phi.T @ (o.H.T @ qdd + o.Hd.T @ at.qd)) + o.Mhat @ o.V

    def gradient(o):
        """∇θ[MV] by A.9."""
        turned = o.diagonal(Q((o.M @ o.V).reshape(-1, 6)))
        return o.M @ o.phi.T @ o.Hd.T - turned @ o.phi.T @ o.H.T

    x = op.diagonal(Q(momentum_rate(op).reshape(-1, 6)))
    right = 2 * op.Mhat @ op.phi.T @ op.Hd.T + op.M @ op.phi.T @ at.weightless.op.Hdd.T
    true = at.gradients(momentum_rate)
    assert apart(at.rate(gradient), true) <= EXACT
    assert apart(right - x @ op.phi.T @ op.H.T, true) <= EXACT


@any_arm
def test_L_between_A_11_and_A_13(at: Subject) -> None:
    """A_D and B_D before they are gathered, and φQ[x]φ* = φQ[f] + Q[f]φ~*, by which they are."""
    op, (A, B) = at.op, inverse_model(at)
    momentum = op.diagonal(Q((op.M @ op.V).reshape(-1, 6)))
    over, rate = op.phi.T @ op.H.T, op.phi.T @ op.Hd.T
    parts = op.M @ rate + op.diagonal(diagonal_blocks(at.rate(lambda o: o.M))) @ over
    assert apart(op.H @ op.phi @ (parts - momentum @ over + op.M @ rate), A) <= EXACT

    x = op.diagonal(Q((op.M @ accelerations(at) + op.Mhat @ op.V).reshape(-1, 6)))
    f = op.diagonal(Q(op.f.reshape(-1, 6)))
    assert apart(op.phi @ x @ op.phi.T, op.phi @ f + f @ op.phi_tilde.T) <= EXACT
    inside = 2 * op.Mhat @ rate + op.M @ op.phi.T @ op.Hdd.T - x @ over
    assert apart(op.H @ f @ over + op.H @ op.phi @ inside, B) <= EXACT


@branched
def test_L_proof_of_lemma_4_2(at: Subject) -> None:
    """φMφ* = P + φ~P + Pφ~* + φKDK*φ*, and 𝓜 = D + HφKD + DK*φ*H* + HφKDK*φ*H*."""
    op, gain = at.op, at.op.phi @ at.op.K
    right = op.P + op.phi_tilde @ op.P + op.P @ op.phi_tilde.T + gain @ op.D @ gain.T
    assert apart(op.phi @ op.M @ op.phi.T, right) <= divided(at)
    across = op.H @ gain
    parts = op.D + across @ op.D + op.D @ across.T + across @ op.D @ across.T
    assert apart(parts, op.mass_matrix) <= divided(at)


@papers
def test_L_proof_of_lemma_4_9(at: Subject) -> None:
    """B_C follows in a similar manner: its six lines, as those of A_C, are equal."""
    op, (_, B), (_, YB), d = at.op, forward_model(at), Y(at), Decomposed(at)
    back, over, rate = op.factor_inverse.T, op.phi_tilde.T @ op.Hd.T, op.phi.T @ op.Hd.T
    gain, first = op.K.T @ op.psi.T, back @ op.Dinv @ op.H @ op.psi
    tail = gain @ op.Hdd.T
    lines = (
        first @ (op.Hf + 2 * op.Mhat @ rate + op.P @ op.Hdd.T) + tail,
        first @ (op.Hf + 2 * op.Phat @ op.Hd.T + op.P @ op.Hdd.T)
        + 2 * back @ op.Dinv @ op.H @ op.Phat @ over
        + tail,
        first @ YB + 2 * back @ op.Ghat.T @ over + tail,
        d.U @ op.psi @ YB
        + gain @ (op.Hdd.T - d.lam @ YB)
        + 2 * op.Khat.T @ rate
        - 2 * gain @ (op.Ghat @ op.H).T @ over,
        d.U @ op.psi @ YB
        + gain @ (op.Hdd.T - d.lam @ YB + 2 * d.J @ op.Hd.T)
        + 2 * (op.Khat.T - op.K.T @ d.J) @ rate,
        d.U @ op.psi @ YB + gain @ d.EB + d.Q.T @ rate,
    )
    for line in lines:
        assert apart(line, B) <= divided(at)


@arms
def test_misprint_L_eq_A_21(at: Subject) -> None:
    """With K*ψ*[ψ⁻* - KH]*φ* as printed in the middle of (A.21), K*ψ* does not follow."""
    op = at.op
    back = np.linalg.inv(op.psi.dense())
    printed = op.K.T @ op.psi.T @ (back - (op.K @ op.H).T.dense()) @ op.phi.T.dense()
    assert apart(printed, op.K.T @ op.psi.T) > WRONG


# of the factorization


@any_arm
def test_F_section_6_B(at: Subject) -> None:
    """Ψ(I - GH) = ψ - I."""
    op = at.op
    assert apart(op.PSI @ (op.I - op.G @ op.H), op.psi - op.I) <= divided(at)
    assert apart(op.psi_tilde, op.psi - op.I) <= divided(at)


@papers
def test_F_proof_of_identity_2_products(at: Subject) -> None:
    """ΦPH*D⁻¹HPΦ* = q + Φq + qΦ*, and nothing is outboard of the last link: q(1) = 0."""
    op, over = at.op, at.op.phi_tilde
    given_way = op.P @ op.H.T @ op.Dinv @ op.H @ op.P
    own = diagonal_blocks(given_way)
    outboard = composite(at, own) - own
    q = op.diagonal(outboard, "q")
    assert apart(over @ given_way @ over.T, q + over @ q + q @ over.T) <= divided(at)
    assert not outboard[0].any()


def passed(at: Subject, late: int) -> np.ndarray:
    """Σ ψ(k,i+1)φ(i+1,i)G(i)H(i)φ(i,m), i = m + late … k-1, for k > m of a chain in one frame."""
    n, psi, hinges = at.op.n, blocks(at.op.psi), diagonal_blocks(at.op.G @ at.op.H)
    sums = np.zeros((n, n, 6, 6))
    for k in at.links():
        for m in range(1, k):
            for i in range(m + late, k):
                sums[k - 1, m - 1] += psi[k - 1, i] @ hinges[i - 1]
    return sums


@papers
def test_F_proof_of_identity_4(at: Subject) -> None:
    """φ(k,m) - ψ(k,m) = Σ ψ(k,i+1)φ(i+1,i)G(i)H(i)φ(i,m) from i = m; Φ - Ψ from i = m + 1."""
    op = at.op
    assert apart(blocks(op.phi - op.psi), passed(at, late=0)) <= divided(at)
    late = passed(at, late=1)
    assert apart(blocks(op.phi_tilde - op.PSI), late) <= divided(at)
    assert apart(blocks(op.PSI @ op.G @ op.H @ op.phi_tilde), late) <= divided(at)


@arms
def test_misprint_F_proof_of_identity_4(at: Subject) -> None:
    """With a sum from i = m, as printed, the blocks of ΨGHΦ are wrong."""
    product = at.op.PSI @ at.op.G @ at.op.H @ at.op.phi_tilde
    assert apart(passed(at, late=0), blocks(product)) > WRONG
