"""Jain and Rodriguez on linearized dynamics [L]: every equation that is one between operators.

Where the print is wrong the corrected form stands here and the printed one in `test_misprints.py`.
The frame is inertial, gravity is a base acceleration, and prismatic joints are included; equations
that also hold on trees are tested on trees, and with rotors if they hold with rotors.
"""

from __future__ import annotations

import numpy as np

import robolin
from robolin.dynamics.algebra.vectors import force_cross, motion_cross
from robolin.dynamics.forward.linearization_terms import articulated_gyroscopics
from robolin.dynamics.frames.frame_motion import at_point
from robolin.dynamics.links.link_motion import motion
from robolin.engine.direct import DirectChain
from tests.dynamics.loop_free import Q, S
from tests.dynamics.running import run_on
from tests.operator_algebra.subjects import (
    EXACT,
    Subject,
    any_arm,
    apart,
    blocks,
    branched,
    diagonal_blocks,
    divided,
    matrix,
    papers,
)


def turned(at: Subject) -> np.ndarray:
    """S[V(k)] of every link."""
    return S(at.op.V.reshape(-1, 6))


def products(at: Subject, vector: np.ndarray) -> np.ndarray:
    """Q[X(k)] of a stacked vector."""
    return Q(vector.reshape(-1, 6))


def weight(at: Subject) -> np.ndarray:
    """The base acceleration equivalent to gravity, for every link."""
    return np.tile(np.concatenate([np.zeros(3), -np.array(at.arm.gravity)]), at.op.n)


def accelerations(at: Subject) -> np.ndarray:
    op = at.op
    return op.phi.T @ (op.H.T @ at.qdd + op.Hd.T @ at.qd) + weight(at)


def each(stacked: np.ndarray) -> np.ndarray:
    """A stacked vector link by link."""
    return stacked.reshape(-1, 6)


# section 2: equations of motion


@any_arm
def test_L_eq_1_6(at: Subject) -> None:
    """Q[X]Y = -S[Y]X, S*[X]X = 0 and S*[X]Y = -S*[Y]X."""
    X, Y = np.random.default_rng(0).normal(size=(2, at.op.n, 6))
    SX, SY, QX = (at.op.diagonal(blocks) for blocks in (S(X), S(Y), Q(X)))

    assert apart(QX @ Y.ravel(), -SY @ X.ravel()) <= EXACT
    assert np.abs(SX.T @ X.ravel()).max() <= EXACT
    assert apart(SX.T @ Y.ravel(), -SY.T @ X.ravel()) <= EXACT
    assert (
        apart([force_cross(y, x) for y, x in zip(Y, X, strict=True)], -each(QX @ Y.ravel()))
        <= EXACT
    )
    assert (
        apart([motion_cross(x, y) for x, y in zip(X, Y, strict=True)], each(SY.T @ X.ravel()))
        <= EXACT
    )


@any_arm
def test_L_eq_2_6(at: Subject) -> None:
    """Ṁ = Ω~ M + M Ω~* with Ω~ = S[V]."""
    op = at.op
    Omega = op.diagonal(turned(at), "Ω~")

    assert apart(at.rate(lambda o: o.M), Omega @ op.M + op.M @ Omega.T) <= EXACT
    assert apart(Omega, -op.V_tilde.T) <= EXACT


@any_arm
def test_L_eq_2_7(at: Subject) -> None:
    """Ṁ V = M̂ V."""
    assert apart(at.rate(lambda o: o.M) @ at.op.V, at.op.Mhat @ at.op.V) <= EXACT


@any_arm
def test_L_eq_2_8(at: Subject) -> None:
    """M̂ = ½ (Ṁ - Q[M V])."""
    op = at.op
    momentum = op.diagonal(products(at, op.M @ op.V))
    assert apart(op.Mhat, (at.rate(lambda o: o.M) - momentum.dense()) / 2.0) <= EXACT


@any_arm
def test_L_eq_2_11(at: Subject) -> None:
    """V(k) = V(k+1) + H*(k) θ̇(k), that is (I - E_φ*) V = H* θ̇."""
    op = at.op
    assert apart((op.I - op.E_phi.T) @ op.V, op.H.T @ at.qd) <= EXACT


@any_arm
def test_L_eq_2_12(at: Subject) -> None:
    """α(k) = α(k+1) + H* θ̈ + Ḣ* θ̇, the rate of V apart from gravity."""
    op = at.op
    alpha = op.phi.T @ (op.H.T @ at.qdd + op.Hd.T @ at.qd)
    assert apart(at.rate(lambda o: o.V), alpha) <= EXACT

    chain = DirectChain(at.parameters, {"q": list(at.q)})
    qd, qdd = (dict(zip(at.links(), x[op.paper_order], strict=True)) for x in (at.qd, at.qdd))
    moving = motion(chain, op._links, qd, qdd)
    assert apart([moving.alpha[k] for k in at.links()], each(alpha + weight(at))) <= EXACT

    # at the links' own origins, as users see them
    seen = robolin.link_accelerations(at.arm, at.q, at.qd, at.qdd).link_acceleration
    own = [at_point(tuple(a), op._links.p[k]) for k, a in zip(at.links(), each(alpha), strict=True)]
    assert apart(seen[::-1], own) <= EXACT


@any_arm
def test_L_eq_2_13(at: Subject) -> None:
    """Ḣ* = -Ω~* H* = H~ V with H~ = S*[H*]."""
    op = at.op
    tilde = op.diagonal([S(at.column(k)).T for k in at.links()], "H~")
    columns = np.array([op.Hd.values[k] for k in at.links()])

    assert apart(at.rate(lambda o: o.H.T), op.Hd.T) <= EXACT
    assert apart(op.V_tilde @ op.H.T, op.Hd.T) <= EXACT
    assert apart(tilde @ op.V, columns.ravel()) <= EXACT


@any_arm
def test_L_eq_2_9_and_2_15(at: Subject) -> None:
    """f(k) = f(k-1) + M α + M̂ V and T = H f, rotors apart."""
    op = at.op
    f = op.phi @ (op.M @ accelerations(at) + op.Mhat @ op.V)

    assert apart(op.f, f) <= EXACT
    assert apart(op.H @ f + op.rotors @ at.qdd, at.tau) <= EXACT


@any_arm
def test_L_eq_2_17(at: Subject) -> None:
    """E_φ has identities where a link sits on another, φ wherever a link carries another."""
    shift, phi = blocks(at.op.E_phi), blocks(at.op.phi)
    for k in at.links():
        for j in at.links():
            assert np.array_equal(shift[k - 1, j - 1], np.eye(6) * (at.parent(j) == k))
            assert np.array_equal(phi[k - 1, j - 1], np.eye(6) * at.outboard(j, k))


@any_arm
def test_L_eq_2_18(at: Subject) -> None:
    """φ = (I - E_φ)⁻¹ and E_φ φ = φ E_φ = φ - I = φ~."""
    op = at.op
    assert apart((op.I - op.E_phi) @ op.phi, np.eye(6 * op.n)) == 0.0
    assert apart(op.phi @ (op.I - op.E_phi), np.eye(6 * op.n)) == 0.0
    assert apart(op.E_phi @ op.phi, op.phi - op.I) == 0.0
    assert apart(op.phi @ op.E_phi, op.phi - op.I) == 0.0
    assert apart(op.phi_tilde, op.phi - op.I) == 0.0


@any_arm
def test_L_eq_2_19(at: Subject) -> None:
    """V = φ*H*θ̇, x = d(MV)/dt = Mα + M̂V and T = Hφ d(MV)/dt, without weight."""
    at = at.weightless
    op = at.op
    momentum_rate = at.rate(lambda o: o.M @ o.V)

    assert apart(op.V, op.phi.T @ op.H.T @ at.qd) <= EXACT
    assert apart(momentum_rate, op.M @ accelerations(at) + op.Mhat @ op.V) <= EXACT
    assert apart(op.phi @ momentum_rate, op.f) <= EXACT
    assert apart(op.H @ op.phi @ momentum_rate + op.rotors @ at.qdd, at.tau) <= EXACT


@any_arm
def test_L_eq_2_20(at: Subject) -> None:
    """𝓜 = HφMφ*H* and C = Hφ [M̂V + Mφ*Ḣ*θ̇]."""
    op, still = at.op, at.weightless
    coriolis = op.H @ op.phi @ (op.Mhat @ op.V + op.M @ op.phi.T @ op.Hd.T @ at.qd)

    mass = op.H @ op.phi @ op.M @ op.phi.T @ op.H.T + op.rotors
    assert apart(mass, robolin.mass_matrix(at.arm, at.q)) <= EXACT
    assert apart(mass, op.mass_matrix) <= EXACT
    assert apart(coriolis, robolin.inverse(still.arm, at.q, at.qd)) <= EXACT


# section 3: the linearized inverse model


@any_arm
def test_L_lemma_3_1(at: Subject) -> None:
    """∇θ̈ T = 𝓜, A_D = 2Hφ[M̂φ*H* + Mφ*Ḣ*], B_D = Hφ[S[H*]f + 2M̂φ*Ḣ* + Mφ*Ḧ*]."""
    op, model = at.op, robolin.linearize_inverse(at.arm, at.q, at.qd, at.qdd)
    A, B = inverse_model(at)

    assert apart(op.mass_matrix, model.mass_matrix) <= EXACT
    assert apart(A, model.dtau_dqd) <= EXACT
    assert apart(B, model.dtau_dq) <= EXACT


def inverse_model(at: Subject):
    """A_D and B_D as formulas."""
    op = at.op
    A = 2 * op.H @ op.phi @ (op.Mhat @ op.phi.T @ op.H.T + op.M @ op.phi.T @ op.Hd.T)
    B = op.H @ op.phi @ (op.Hf + 2 * op.Mhat @ op.phi.T @ op.Hd.T + op.M @ op.phi.T @ op.Hdd.T)
    return A, B


@any_arm
def test_L_eq_3_3(at: Subject) -> None:
    """δT = Hφ(Mφ*{H*δθ̈ + 2Ḣ*δθ̇ + Ḧ*δθ} + 2M̂φ*{H*δθ̇ + Ḣ*δθ} + S[H*]f δθ)."""
    op, dq, dqd, dqdd = at.op, at.dq, at.dqd, at.dtau
    z = op.phi.T @ (op.H.T @ dqdd + 2 * op.Hd.T @ dqd + op.Hdd.T @ dq)
    v = op.phi.T @ (op.H.T @ dqd + op.Hd.T @ dq)
    dtau = op.H @ op.phi @ (op.M @ z + 2 * op.Mhat @ v + op.Hf @ dq) + op.rotors @ dqdd

    true = robolin.perturb_inverse(at.arm, at.q, at.qd, at.qdd, dq, dqd, dqdd)
    assert apart(dtau, true) <= EXACT


def composite(at: Subject, own: np.ndarray) -> np.ndarray:
    """R(k) = Σ own(j) over k and all it carries."""
    return np.array([sum(own[j - 1] for j in at.links() if at.outboard(j, k)) for k in at.links()])


@any_arm
def test_L_lemma_3_2(at: Subject) -> None:
    """𝓜 = H[φR + Rφ~*]H* and the same for A_D, B_D, with R and R̂ of composite bodies (3.7)."""
    op, H, phi, over = at.op, at.op.H, at.op.phi, at.op.phi_tilde.T
    R = op.diagonal(composite(at, diagonal_blocks(op.M)), "R")
    Rhat = op.diagonal(composite(at, diagonal_blocks(op.Mhat)), "R̂")
    model = robolin.linearize_inverse(at.arm, at.q, at.qd, at.qdd)

    split_mass = H @ (phi @ R + R @ over) @ H.T + op.rotors
    split_A = 2 * H @ phi @ (R @ op.Hd.T + Rhat @ H.T)
    split_A += 2 * H @ (R @ over @ op.Hd.T + Rhat @ over @ H.T)
    split_B = H @ phi @ (op.Hf + 2 * Rhat @ op.Hd.T + R @ op.Hdd.T)
    split_B += H @ (2 * Rhat @ over @ op.Hd.T + R @ over @ op.Hdd.T)

    assert apart(split_mass, model.mass_matrix) <= EXACT
    assert apart(split_A, model.dtau_dqd) <= EXACT
    assert apart(split_B, model.dtau_dq) <= EXACT


# section 4: factors, inverses, the linearized forward model


@any_arm
def test_L_lemma_4_1(at: Subject) -> None:
    """∇T θ̈ = 𝓜⁻¹, A_C = -∇θ̇ θ̈ = 𝓜⁻¹A_D and B_C = -∇θ θ̈ = 𝓜⁻¹B_D."""
    op = at.op
    A, B = inverse_model(at)
    model = robolin.linearize_forward(at.arm, at.q, at.qd, at.tau, method="conventional")
    back = op.mass_matrix.inv

    assert apart(back, model.dqdd_dtau) <= divided(at)
    assert apart(back @ A, -model.dqdd_dqd) <= divided(at)
    assert apart(back @ B, -model.dqdd_dq) <= divided(at)


@branched
def test_L_eq_4_3(at: Subject) -> None:
    """P = E_ψPE_φ* + M, D = HPH*, G = PH*D⁻¹, τ̄ = I - GH, E_ψ = E_φτ̄, K = E_φG."""
    op = at.op
    assert apart(op.P, op.E_psi @ op.P @ op.E_phi.T + op.M) <= EXACT
    assert apart(op.D, op.H @ op.P @ op.H.T) <= EXACT
    assert apart(op.G, op.P @ op.H.T @ op.Dinv) <= EXACT
    assert apart(op.tau_bar, op.I - op.G @ op.H) == 0.0
    assert apart(op.E_psi, op.E_phi @ op.tau_bar) == 0.0
    assert apart(op.K, op.E_phi @ op.G) == 0.0


@any_arm
def test_L_eq_4_4(at: Subject) -> None:
    """ψ = (I - E_ψ)⁻¹."""
    op = at.op
    assert apart((op.I - op.E_psi) @ op.psi, np.eye(6 * op.n)) <= divided(at)
    assert apart(op.psi @ (op.I - op.E_psi), np.eye(6 * op.n)) <= divided(at)


@any_arm
def test_L_eq_4_5(at: Subject) -> None:
    """ψ(k,j) = τ̄(k-1) … τ̄(j) along the way from j to k, and 0 where k does not carry j."""
    psi, through = blocks(at.op.psi), diagonal_blocks(at.op.tau_bar)
    for j in at.links():
        product, k = np.eye(6), j
        for other in at.links():
            if not at.outboard(j, other):
                assert not psi[other - 1, j - 1].any()
        while k <= at.op.n:
            assert apart(psi[k - 1, j - 1], product) <= divided(at)
            product, k = through[k - 1] @ product, at.parent(k)


@any_arm
def test_L_lemma_4_2(at: Subject) -> None:
    """𝓜 = [I + HφK] D [I + HφK]*."""
    op = at.op
    factor = op.I + op.H @ op.phi @ op.K
    assert apart(factor @ op.D @ factor.T, robolin.mass_matrix(at.arm, at.q)) <= EXACT
    assert apart(factor, op.factor) == 0.0


@any_arm
def test_L_lemma_4_3(at: Subject) -> None:
    """[I + HφK]⁻¹ = I - HψK."""
    op = at.op
    factor, back = op.I + op.H @ op.phi @ op.K, op.I - op.H @ op.psi @ op.K
    assert apart(factor @ back, np.eye(op.n)) <= divided(at)
    assert apart(back @ factor, np.eye(op.n)) <= divided(at)
    assert apart(back, op.factor_inverse) == 0.0


@any_arm
def test_L_lemma_4_4(at: Subject) -> None:
    """𝓜⁻¹ = [I - HψK]* D⁻¹ [I - HψK]."""
    op = at.op
    back = op.I - op.H @ op.psi @ op.K
    inverse = back.T @ op.Dinv @ back
    assert apart(inverse @ op.mass_matrix, np.eye(op.n), made_of=1.0) <= divided(at)
    assert apart(inverse, np.linalg.inv(op.mass_matrix.dense())) <= divided(at)
    assert apart(inverse, op.mass_matrix_inverse) == 0.0


@any_arm
def test_L_lemma_4_5(at: Subject) -> None:
    """[I - HψK]Hφ = Hψ, and 𝓜⁻¹HφMφ* = [I - HψK]*D⁻¹HψP + K*ψ*."""
    op = at.op
    back = op.I - op.H @ op.psi @ op.K
    assert apart(back @ op.H @ op.phi, op.H @ op.psi) <= divided(at)

    passed = op.mass_matrix.inv @ op.H @ op.phi @ op.M @ op.phi.T
    through = back.T @ op.Dinv @ op.H @ op.psi @ op.P + op.K.T @ op.psi.T
    assert apart(passed, through) <= divided(at)


@any_arm
def test_L_eq_4_10(at: Subject) -> None:
    """θ̈ = [I - HψK]*D⁻¹[T - Hψ{KT + M̂V + PḢ*θ̇}] - K*ψ*Ḣ*θ̇, without weight."""
    op, still = at.op, at.weightless.arm
    back, tau = op.I - op.H @ op.psi @ op.K, at.dtau
    inside = op.K @ tau + op.Mhat @ op.V + op.P @ op.Hd.T @ at.qd
    qdd = back.T @ op.Dinv @ (tau - op.H @ op.psi @ inside) - op.K.T @ op.psi.T @ op.Hd.T @ at.qd

    assert apart(qdd, robolin.forward(still, at.q, at.qd, tau)) <= divided(at)


def forward_model(at: Subject) -> tuple[np.ndarray, np.ndarray]:
    """A_C and B_C by Algorithm 6."""
    model = robolin.linearize_forward(at.arm, at.q, at.qd, at.tau, method="operator")
    return -model.dqdd_dqd, -model.dqdd_dq


@any_arm
def test_L_lemma_4_6(at: Subject) -> None:
    """A_C = 2[I-HψK]*D⁻¹Hψ[M̂φ*H* + PḢ*] + 2K*ψ*Ḣ*, and the same form for B_C."""
    op, (A, B) = at.op, forward_model(at)
    over = op.factor_inverse.T @ op.Dinv @ op.H @ op.psi
    found_A = 2 * over @ (op.Mhat @ op.phi.T @ op.H.T + op.P @ op.Hd.T)
    found_A += 2 * op.K.T @ op.psi.T @ op.Hd.T
    found_B = over @ (op.Hf + 2 * op.Mhat @ op.phi.T @ op.Hd.T + op.P @ op.Hdd.T)
    found_B += op.K.T @ op.psi.T @ op.Hdd.T

    assert apart(found_A, A) <= divided(at)
    assert apart(found_B, B) <= divided(at)

    change = robolin.perturb_forward(
        at.arm, at.q, at.qd, at.tau, at.dq, at.dqd, 0.0, method="operator"
    )
    assert apart(-(found_A @ at.dqd + found_B @ at.dq), change) <= divided(at)


@any_arm
def test_L_eq_4_12(at: Subject) -> None:
    """P̂ = E_ψP̂E_φ* + M̂, Ĝ = P̂*H*D⁻¹ and K̂ = E_φĜ."""
    op = at.op
    assert apart(op.Phat, op.E_psi @ op.Phat @ op.E_phi.T + op.Mhat) <= EXACT
    assert apart(op.Ghat, op.Phat.T @ op.H.T @ op.Dinv) <= EXACT
    assert apart(op.Khat, op.E_phi @ op.Ghat) == 0.0

    gyros = articulated_gyroscopics(op._chain, op._links, op._one, op._articulated)
    assert apart([gyros.Ghat[k] for k in at.links()], _top_halves(at)) <= EXACT


def _top_halves(at: Subject) -> np.ndarray:
    """Ĝ(k) without its lower half, which is zero."""
    return np.array([at.op.Ghat.values[k][:3] for k in at.links()])


def Y(at: Subject):
    """Y_A = 2[P̂H* + PḢ*] and Y_B = 2P̂Ḣ* + PḦ* + S[H*]f (4.14)."""
    op = at.op
    YA = 2 * (op.Phat @ op.H.T + op.P @ op.Hd.T)
    YB = 2 * op.Phat @ op.Hd.T + op.P @ op.Hdd.T + op.Hf
    return YA, YB


@any_arm
def test_L_lemma_4_7(at: Subject) -> None:
    """A_C = [I-HψK]*[D⁻¹HψY_A + 2K̂*φ*H*] + 2K*ψ*Ḣ*; B_C is the same with Y_B, Ḣ*, Ḧ*."""
    op, (A, B), (YA, YB) = at.op, forward_model(at), Y(at)
    back = op.factor_inverse.T
    found_A = back @ (op.Dinv @ op.H @ op.psi @ YA + 2 * op.Khat.T @ op.phi.T @ op.H.T)
    found_A += 2 * op.K.T @ op.psi.T @ op.Hd.T
    found_B = back @ (op.Dinv @ op.H @ op.psi @ YB + 2 * op.Khat.T @ op.phi.T @ op.Hd.T)
    found_B += op.K.T @ op.psi.T @ op.Hdd.T

    assert apart(found_A, A) <= divided(at)
    assert apart(found_B, B) <= divided(at)


@any_arm
def test_L_eq_4_15(at: Subject) -> None:
    """δθ̈ by one formula in δT, δθ̇ and δθ, applied as it stands."""
    op, (YA, YB) = at.op, Y(at)
    dq, dqd, dtau = at.dq, at.dqd, at.dtau
    e = op.Dinv @ (dtau - op.H @ op.psi @ (op.K @ dtau + YA @ dqd + YB @ dq))
    e -= 2 * op.Khat.T @ op.phi.T @ (op.H.T @ dqd + op.Hd.T @ dq)
    dqdd = op.factor_inverse.T @ e
    dqdd -= op.K.T @ op.psi.T @ (2 * op.Hd.T @ dqd + op.Hdd.T @ dq)

    inputs = {"q": at.q, "qd": at.qd, "qdd": at.qdd, "dq": dq, "dqd": dqd, "dtau": dtau}
    assert apart(dqdd, run_on(at.arm, "perturb-forward-articulated", inputs)["dqdd"]) <= divided(at)
    true = robolin.perturb_forward(at.arm, at.q, at.qd, at.tau, dq, dqd, dtau)
    assert apart(dqdd, true) <= divided(at)


def outward(at: Subject, own: np.ndarray, turn) -> np.ndarray:
    """S(k) = turn(k, S(k+1)) + own(k), from the base to the tips."""
    sums = np.zeros((at.op.n + 2, 6, 6))
    for k in reversed(at.links()):
        sums[k] = turn(k, sums[at.parent(k)]) + own[k - 1]
    return sums[1:-1]


def Lambda(at: Subject) -> np.ndarray:
    """Λ(k) = ψ*(k+1,k)Λ(k+1)ψ(k+1,k) + H*D⁻¹H (4.19)."""
    through = diagonal_blocks(at.op.tau_bar)
    own = diagonal_blocks(at.op.H.T @ at.op.Dinv @ at.op.H)
    return outward(at, own, lambda k, S: through[k - 1].T @ S @ through[k - 1])


@papers
def test_L_lemma_4_8(at: Subject) -> None:
    """ψ*H*D⁻¹Hψ = Λ + ψ~*Λ + Λψ~."""
    op = at.op
    lam = op.diagonal(Lambda(at), "Λ")
    inner = op.psi.T @ op.H.T @ op.Dinv @ op.H @ op.psi
    assert apart(inner, lam + op.psi_tilde.T @ lam + lam @ op.psi_tilde) <= divided(at)

    inputs = {"q": at.q, "qd": at.qd, "tau": at.tau}
    operational_inertia_inverse = run_on(at.arm, "operational-space-inverse", inputs)[
        "operational_inertia_inverse"
    ]
    assert apart(op.B.T @ inner @ op.B, operational_inertia_inverse) <= divided(at)


class Decomposed:
    """L, U, Ĵ, E_A, E_B and Q of (4.22)."""

    def __init__(self, at: Subject) -> None:
        op, (YA, YB) = at.op, Y(at)
        self.lam = op.diagonal(Lambda(at), "Λ")
        self.lam_plus = op.diagonal(diagonal_blocks(op.E_phi.T @ self.lam @ op.E_phi), "Λ⁺")
        through = diagonal_blocks(op.tau_bar)
        tau_hat = diagonal_blocks(op.Ghat @ op.H)
        J = outward(at, np.swapaxes(tau_hat, -1, -2), lambda k, S: through[k - 1].T @ S)
        self.J = op.diagonal(J, "Ĵ")
        self.L = op.Dinv + op.G.T @ self.lam_plus @ op.G
        self.U = self.L @ op.H - op.G.T @ self.lam_plus
        self.EA = 2 * op.Hd.T - self.lam @ YA + 2 * self.J @ op.H.T
        self.EB = op.Hdd.T - self.lam @ YB + 2 * self.J @ op.Hd.T
        self.Q = 2 * (op.Khat - self.J.T @ op.K)


@papers
def test_L_lemma_4_9(at: Subject) -> None:
    """𝓜⁻¹ = L - K*ψ*U* - UψK, A_C = UψY_A + K*ψ*E_A + Q*φ*H*, B_C the same with Ḣ*."""
    op, (A, B), (YA, YB), d = at.op, forward_model(at), Y(at), Decomposed(at)

    inverse = d.L - op.K.T @ op.psi.T @ d.U.T - d.U @ op.psi @ op.K
    found_A = d.U @ op.psi @ YA + op.K.T @ op.psi.T @ d.EA + d.Q.T @ op.phi.T @ op.H.T
    found_B = d.U @ op.psi @ YB + op.K.T @ op.psi.T @ d.EB + d.Q.T @ op.phi.T @ op.Hd.T

    assert apart(inverse, op.mass_matrix.inv) <= divided(at)
    assert apart(found_A, A) <= divided(at)
    assert apart(found_B, B) <= divided(at)


@papers
def test_L_eq_4_22(at: Subject) -> None:
    """U = D⁻¹H - G*Λ⁺τ̄ = LH - G*Λ⁺."""
    op, d = at.op, Decomposed(at)
    assert apart(op.Dinv @ op.H - op.G.T @ d.lam_plus @ op.tau_bar, d.U) <= divided(at)


@papers
def test_L_eq_4_23(at: Subject) -> None:
    """𝓜⁻¹(k,j) = -U(k)ψ(k,j+1)G(j) for k > j, and L(k) on the diagonal."""
    op, d = at.op, Decomposed(at)
    order = op.paper_order
    model = robolin.linearize_forward(at.arm, at.q, at.qd, at.tau, method="operator")
    inverse = model.dqdd_dtau[np.ix_(order, order)]
    U, psi = d.U.dense()[order], blocks(op.psi)
    for k in at.links():
        assert apart(inverse[k - 1, k - 1], d.L.dense()[order[k - 1], order[k - 1]]) <= divided(at)
        for j in range(1, k):
            row = U[k - 1, 6 * k - 6 : 6 * k]
            entry = -row @ psi[k - 1, j] @ np.array(op.G.values[j])
            assert abs(inverse[k - 1, j - 1] - entry) <= divided(at) * np.abs(inverse).max()


@papers
def test_L_eq_4_24_and_4_25(at: Subject) -> None:
    """A_C(k,j) = Uψ(k,j)Y_A for k ≥ j, else G*(k)ψ*(j,k+1)E_A(j) + Q*(k+1,k)H*(j); also B_C."""
    op, (YA, YB), d = at.op, Y(at), Decomposed(at)
    order = op.paper_order
    psi, U = blocks(op.psi), d.U.dense()[order]
    Q = d.Q.dense()[:, order]
    for model, y, e, h in zip(
        forward_model(at), (YA, YB), (d.EA, d.EB), (op.H.T, op.Hd.T), strict=True
    ):
        true = model[np.ix_(order, order)]
        y, e, h = (matrix(column)[:, order] for column in (y, e, h))
        for k in at.links():
            for j in at.links():
                own = slice(6 * j - 6, 6 * j)
                if k >= j:
                    entry = U[k - 1, 6 * k - 6 : 6 * k] @ psi[k - 1, j - 1] @ y[own, j - 1]
                else:
                    W = np.array(op.G.values[k]) @ psi[j - 1, k].T
                    entry = W @ e[own, j - 1] + Q[6 * k : 6 * k + 6, k - 1] @ h[own, j - 1]
                size = float(np.abs(true).max())
                assert apart(entry, true[k - 1, j - 1], made_of=size) <= divided(at)
