"""Rodriguez and Kreutz-Delgado on factors of the mass matrix [F]: identities and algorithms.

They write Φ for φ - I and refer each link to its own point; here all links are referred to one
inertial frame, and the first test shows that this is a change of reference and nothing more.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

import robolin
from robolin.core.arm import Wrench
from tests.dynamics.loop_free import tilde
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
    papers,
)
from tests.operator_algebra.test_linearization import composite, weight


def from_point(l: np.ndarray) -> np.ndarray:
    """φ = [[I, l~], [0, I]] (3)."""
    return np.block([[np.eye(3), tilde(l)], [np.zeros((3, 3)), np.eye(3)]])


def points(at: Subject) -> np.ndarray:
    """Where the links' own reference points are."""
    return np.array([at.op._links.p[k] for k in at.links()])


@branched
def test_F_eq_3_to_5_and_17(at: Subject) -> None:
    """φ(i,k)φ(k,j) = φ(i,j), φ⁻¹(i,j) = φ(j,i); φ of (17) is φ seen from the links' points."""
    op, p = at.op, points(at)
    own = {(i, j): from_point(p[j - 1] - p[i - 1]) for i in at.links() for j in at.links()}
    for i in at.links():
        assert np.array_equal(own[i, i], np.eye(6))
        for j in at.links():
            assert apart(np.linalg.inv(own[i, j]), own[j, i]) <= EXACT
            for k in at.links():
                assert apart(own[i, k] @ own[k, j], own[i, j]) <= EXACT

    moved = op.diagonal([from_point(p[k - 1]) for k in at.links()], "T")
    back = op.diagonal([from_point(-p[k - 1]) for k in at.links()], "T⁻¹")
    local = blocks(back @ op.phi @ moved)
    for k in at.links():
        for j in at.links():
            assert apart(local[k - 1, j - 1], own[k, j] * at.outboard(j, k)) <= EXACT


@any_arm
def test_F_eq_20(at: Subject) -> None:
    """J = B*φ*H*, and V(0) = B*φ*H*θ̇ is how the frame moves."""
    op = at.op
    for name in list(at.arm.frames)[-3:]:
        if at.arm.frames[name].link > op.n:
            continue
        B = op.pick_off(name)
        J = B.T @ op.phi.T @ op.H.T
        assert apart(J @ at.qd, B.T @ op.V) <= EXACT
        assert apart(J.dense()[3:], origin_gradient(at, name)) <= EXACT

    tipped = replace(at.arm, tip=at.arm.frames[list(at.arm.frames)[-1]])
    J = robolin.operators(tipped, at.q).B.T @ op.phi.T @ op.H.T
    assert apart(J, robolin.jacobian(tipped, at.q).jacobian) <= EXACT


def origin_gradient(at: Subject, frame: str) -> np.ndarray:
    """∂(origin of a frame)/∂θ by complex steps."""

    def origin(o):
        return np.array(next(r for r in o.pick_off(frame).values if r))

    return at.gradients(origin)


@any_arm
def test_F_eq_21(at: Subject) -> None:
    """V(k) = Σ φ*(i,k)H*(i)θ̇(i) over the joints that move link k, V = φ*H*θ̇."""
    op, rates = at.op, at.qd[at.op.paper_order]
    sums = [
        sum(at.column(i) * rates[i - 1] for i in at.links() if at.outboard(k, i))
        for k in at.links()
    ]
    assert apart(op.V, np.concatenate(sums)) <= EXACT
    assert apart(op.phi.T @ op.H.T @ at.qd, np.concatenate(sums)) <= EXACT


@any_arm
def test_F_eq_22(at: Subject) -> None:
    """𝓜 = HφMφ*H*, rotors apart."""
    op = at.op
    rigid = op.H @ op.phi @ op.M @ op.phi.T @ op.H.T
    mass = robolin.mass_matrix(at.arm, at.q)
    assert apart(rigid, mass - op.rotors.dense()) <= EXACT
    assert apart(op.mass_matrix, mass) <= EXACT


class Biased:
    """a, b, a tip force and joint torques, with everything that (23) is made of.

    `arm` is without weight, and its surroundings push back at the tip; `qdd` is how it accelerates
    by elimination in its mass matrix, which knows nothing of operators.
    """

    def __init__(self, at: Subject) -> None:
        op, frame = at.op, list(at.arm.frames)[-1]
        self.op, self.B = op, op.pick_off(frame)
        rng = np.random.default_rng(op.n)
        self.T, self.tip = rng.normal(size=op.n), rng.normal(size=6)
        self.a = op.Hd.T @ at.qd
        self.b = op.Mhat @ op.V
        self.load = self.b + self.B @ self.tip
        torque, force = (tuple(-half) for half in np.split(self.tip, 2))
        pushed = (Wrench(frame, "dead", force, torque),)
        self.arm = replace(at.arm, gravity=(0.0, 0.0, 0.0), wrenches=pushed)
        self.qdd = robolin.forward(self.arm, at.q, at.qd, self.T, method="conventional")

    @property
    def bias(self) -> np.ndarray:
        """Hφ[Mφ*a + b + Bf(0)] (27)."""
        op = self.op
        return op.H @ op.phi @ (op.M @ op.phi.T @ self.a + self.load)


@any_arm
def test_F_eq_23(at: Subject) -> None:
    """T = 𝓜θ̈ + C + J*f(0) with C = Hφ(Mφ*a + b) and J* = HφB; weight as base acceleration."""
    op = at.op
    C = op.H @ op.phi @ (op.M @ (op.phi.T @ op.Hd.T @ at.qd + weight(at)) + op.Mhat @ op.V)
    assert apart(op.mass_matrix @ at.qdd + C, at.tau) <= EXACT

    B = op.pick_off(list(at.arm.frames)[-1])
    assert apart(op.H @ op.phi @ B, (B.T @ op.phi.T @ op.H.T).T) == 0.0


@any_arm
def test_F_eq_24_and_25(at: Subject) -> None:
    """f = φ[Mα + b + Bf(0)], T = Hf, α = φ*H*θ̈ + φ*a."""
    op, d = at.op, Biased(at)
    alpha = op.phi.T @ (op.H.T @ d.qdd + d.a)
    f = op.phi @ (op.M @ alpha + d.load)
    assert apart(op.H @ f + op.rotors @ d.qdd, d.T) <= divided(at)
    assert apart(robolin.operators(d.arm, at.q, at.qd, d.qdd).f, f) <= EXACT


@any_arm
def test_F_eq_26_and_27(at: Subject) -> None:
    """𝓜θ̈ = T' = T - Hφ[Mφ*a + b + Bf(0)] = T - C - J*f(0)."""
    op, d = at.op, Biased(at)
    C = op.H @ op.phi @ (op.M @ op.phi.T @ d.a + d.b)
    J = d.B.T @ op.phi.T @ op.H.T
    assert apart(d.bias, C + J.T @ d.tip) <= EXACT
    assert apart(d.bias, robolin.inverse(d.arm, at.q, at.qd)) <= EXACT

    qdd = robolin.forward(d.arm, at.q, at.qd, d.T, method="bias-free")
    assert apart(op.mass_matrix @ qdd, d.T - d.bias) <= divided(at)


@any_arm
def test_F_identity_1(at: Subject) -> None:
    """φMφ* = r + Φr + rΦ* with r(k) = Σ φ(k,i)M(i)φ*(k,i) (28, 29)."""
    op = at.op
    r = op.diagonal(composite(at, diagonal_blocks(op.M)), "r")
    right = r + op.phi_tilde @ r + r @ op.phi_tilde.T
    assert apart(op.phi @ op.M @ op.phi.T, right) <= EXACT


@branched
def test_F_eq_35_to_37(at: Subject) -> None:
    """P(k) = ψ(k,k-1)P(k-1)ψ*(k,k-1) + M(k), D = HPH* and G = PH*D⁻¹."""
    op = at.op
    assert apart(op.P, op.E_psi @ op.P @ op.E_psi.T + op.M) <= divided(at)
    assert apart(op.D, op.H @ op.P @ op.H.T) <= EXACT
    assert apart(op.G, op.P @ op.H.T @ op.Dinv) <= EXACT


@any_arm
def test_F_eq_39(at: Subject) -> None:
    """ψ(k,k-1) = φ(k,k-1)[I - G(k-1)H(k-1)]."""
    op = at.op
    assert apart(op.E_psi, op.E_phi @ (op.I - op.G @ op.H)) == 0.0


@any_arm
def test_F_eq_41(at: Subject) -> None:
    """Ψ(k,j) = ψ(k,j+1)φ(j+1,j): nothing on the diagonal, identities next to it."""
    op = at.op
    PSI, psi = blocks(op.PSI), blocks(op.psi)
    for j in at.links():
        for k in at.links():
            p = at.parent(j)
            true = psi[k - 1, p - 1] if p <= op.n else np.zeros((6, 6))
            assert apart(PSI[k - 1, j - 1], true) == 0.0
    assert apart(op.PSI, op.psi @ op.E_phi) == 0.0


@any_arm
def test_F_identity_2(at: Subject) -> None:
    """φMφ* = P + ΦP + PΦ* + ΦPH*D⁻¹HPΦ* (42)."""
    op, P, over = at.op, at.op.P, at.op.phi_tilde
    right = P + over @ P + P @ over.T + over @ P @ op.H.T @ op.Dinv @ op.H @ P @ over.T
    assert apart(op.phi @ op.M @ op.phi.T, right) <= divided(at)


@any_arm
def test_F_identity_3(at: Subject) -> None:
    """𝓜 = (I + HΦG) D (I + HΦG)* (43)."""
    op = at.op
    factor = op.I + op.H @ op.phi_tilde @ op.G
    assert apart(factor @ op.D @ factor.T, robolin.mass_matrix(at.arm, at.q)) <= EXACT
    assert apart(factor, op.factor) <= EXACT


@any_arm
def test_F_identity_4(at: Subject) -> None:
    """(I - ΨGH)Φ = Ψ (44)."""
    op = at.op
    assert apart((op.I - op.PSI @ op.G @ op.H) @ op.phi_tilde, op.PSI) <= divided(at)


@any_arm
def test_F_identity_5(at: Subject) -> None:
    """(I + HΦG)⁻¹ = I - HΨG (45)."""
    op = at.op
    factor, back = op.I + op.H @ op.phi_tilde @ op.G, op.I - op.H @ op.PSI @ op.G
    assert apart(factor @ back, np.eye(op.n)) <= divided(at)
    assert apart(np.linalg.inv(factor.dense()), back) <= divided(at)
    assert apart(op.factor_inverse, back) <= divided(at)

    computed = robolin.mass_matrix_factor(at.arm, at.q)
    assert apart(computed.factor, factor) <= EXACT
    assert apart(computed.factor_inverse, back) <= divided(at)


@any_arm
def test_F_identity_6(at: Subject) -> None:
    """𝓜⁻¹ = (I - HΨG)* D⁻¹ (I - HΨG) (46)."""
    op = at.op
    back = op.I - op.H @ op.PSI @ op.G
    assert apart(np.linalg.inv(op.mass_matrix.dense()), back.T @ op.Dinv @ back) <= divided(at)
    assert apart(op.mass_matrix_inverse, back.T @ op.Dinv @ back) <= divided(at)


@any_arm
def test_F_algorithm_1(at: Subject) -> None:
    """θ̈ = (I - HΨG)*D⁻¹(I - HΨG)T' with T' = T - Hφ[Mφ*a + b + Bf(0)] (47, 48)."""
    op, d = at.op, Biased(at)
    back = op.I - op.H @ op.PSI @ op.G
    assert apart(back.T @ op.Dinv @ back @ (d.T - d.bias), d.qdd) <= divided(at)


@branched
def test_F_algorithm_2(at: Subject) -> None:
    """α = (I - GH)*Ψ*H*ν + H*ν + φ*a, and α(0) = B*α (55 to 57)."""
    op, d = at.op, Biased(at)
    nu = op.Dinv @ (op.I - op.H @ op.PSI @ op.G) @ (d.T - d.bias)
    alpha = (op.I - op.G @ op.H).T @ op.PSI.T @ op.H.T @ nu + op.H.T @ nu + op.phi.T @ d.a
    true = op.phi.T @ (op.H.T @ d.qdd + d.a)

    assert apart(alpha, true) <= divided(at)
    assert apart(d.B.T @ alpha, d.B.T @ true) <= divided(at)
    tip = replace(d.arm, tip=d.arm.frames[list(d.arm.frames)[-1]])
    seen = run_on(tip, "tip-acceleration", {"q": at.q, "qd": at.qd, "qdd": d.qdd})
    assert apart(d.B.T @ alpha, seen["tip_acceleration"]) <= divided(at)


@any_arm
def test_F_algorithm_3(at: Subject) -> None:
    """ε = T - HΨ[GT + (I - GH)ζ] - Hζ and θ̈ = (I - HΨG)*D⁻¹ε, ζ = Mφ*a + b + Bf(0) (60 to 62)."""
    op, d = at.op, Biased(at)
    zeta = op.M @ op.phi.T @ d.a + d.load
    epsilon = d.T - op.H @ op.PSI @ (op.G @ d.T + op.tau_bar @ zeta) - op.H @ zeta
    qdd = (op.I - op.H @ op.PSI @ op.G).T @ op.Dinv @ epsilon
    assert apart(qdd, d.qdd) <= divided(at)


@any_arm
def test_F_algorithm_4(at: Subject) -> None:
    """ν = D⁻¹(I - HΨG)T - D⁻¹Hψ[Pa + b + Bf(0)] + D⁻¹HPa, θ̈ = (I - HΨG)*ν - G*Ψ*τ̄*a - G*a."""
    op, d = at.op, Biased(at)
    back = op.I - op.H @ op.PSI @ op.G
    Pa = op.P @ d.a
    nu = op.Dinv @ (back @ d.T - op.H @ op.psi @ (Pa + d.load) + op.H @ Pa)
    qdd = back.T @ nu - op.G.T @ op.PSI.T @ op.tau_bar.T @ d.a - op.G.T @ d.a
    assert apart(qdd, d.qdd) <= divided(at)


@any_arm
def test_F_algorithm_4_second_form(at: Subject) -> None:
    """ν = D⁻¹[(I - HΨG)T - H{Ψ(I - GH)Pa + ψ(b + Bf(0))}] is the same."""
    op, d = at.op, Biased(at)
    Pa, back = op.P @ d.a, op.I - op.H @ op.PSI @ op.G
    one = back @ d.T - op.H @ op.psi @ (Pa + d.load) + op.H @ Pa
    other = back @ d.T - op.H @ (op.PSI @ op.tau_bar @ Pa + op.psi @ d.load)
    assert apart(one, other) <= divided(at)


@papers
def test_F_section_10_square_root(at: Subject) -> None:
    """𝓜 = 𝒫𝒫* with 𝒫 = HφM^½."""
    op = at.op
    roots = []
    for M in diagonal_blocks(op.M):
        values, vectors = np.linalg.eigh(M)
        roots.append(vectors * np.sqrt(values) @ vectors.T)
    factor = op.H @ op.phi @ op.diagonal(roots, "M^½")
    assert apart(factor @ factor.T, op.mass_matrix) <= divided(at)
