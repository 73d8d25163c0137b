"""Jain and Rodriguez on diagonalized dynamics [D]: sections 2 to 8.

In one inertial frame, where links are not referred to their own points, the paper's Ω~_δ on the
left of a force is S[H*θ̇], and on the right of an inertia its negative transpose; prismatic joints
are then included.  Rates and gradients on the left are complex steps.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np

import robolin
from tests.dynamics.loop_free import S, crm
from tests.dynamics.running import complex_step_along, run_on
from tests.operator_algebra.subjects import (
    EXACT,
    Subject,
    any_arm,
    apart,
    branched,
    divided,
    matrix,
)
from tests.robots import random_arm


def m(op):
    """The factor (I + HφK)D^½ (5.1)."""
    return op.factor @ op.D_half


def ell(op):
    """Its inverse D^-½(I - HψK)."""
    return op.D_half_inv @ op.factor_inverse


@cache
def energy_gradient(at: Subject) -> np.ndarray:
    """col{θ̇* 𝓜_θi θ̇}."""
    gradient = np.zeros(at.op.n)
    for k in at.links():
        sensitivity = at.gradient(lambda o: o.mass_matrix, k)
        gradient[at.op.paper_order[k - 1]] = at.qd @ sensitivity @ at.qd
    return gradient


@cache
def coriolis(at: Subject) -> np.ndarray:
    """C(θ, ν) = ℓ(ṁν - ½ col{θ̇*𝓜_θθ̇}) by its definition (3.2)."""
    op = at.op
    nu = m(op).T @ at.qd
    return ell(op) @ (at.rate(m) @ nu - 0.5 * energy_gradient(at))


def inertia(at: Subject) -> float:
    """The size of what Coriolis terms are made of at speeds of about 1."""
    return float(np.abs(at.op.mass_matrix.dense()).max())


# sections 2 to 4


@any_arm
def test_D_eq_2_1(at: Subject) -> None:
    """𝓜θ̈ + C = T with C = 𝓜̇θ̇ - ½ θ̇*𝓜_θθ̇."""
    still = at.weightless
    C = at.rate(lambda o: o.mass_matrix) @ at.qd - 0.5 * energy_gradient(at)
    assert apart(C, robolin.inverse(still.arm, at.q, at.qd), made_of=inertia(at)) <= EXACT


@any_arm
def test_D_eq_2_3(at: Subject) -> None:
    """𝓜 = m m*, and ½ θ̇*𝓜θ̇ = ½ ν*ν with ν = m*θ̇."""
    op = at.op
    nu = m(op).T @ at.qd
    assert apart(m(op) @ m(op).T, op.mass_matrix) <= EXACT
    assert apart(nu @ nu, at.qd @ (op.mass_matrix @ at.qd)) <= EXACT
    energy = run_on(at.arm, "energy", {"q": at.q, "qd": at.qd})["kinetic_energy"]
    assert apart(0.5 * nu @ nu, energy) <= EXACT


def test_D_lemma_2_1() -> None:
    """Where m is the gradient of coordinates, as for an arm that only slides, C(θ, ν) = 0."""
    arm = random_arm(3, 4)
    sliding = Subject(_all_prismatic(arm))
    assert np.abs(coriolis(sliding)).max() <= EXACT
    coriolis_forces = robolin.diagonalize(sliding.arm, sliding.q, sliding.qd).coriolis
    assert np.abs(coriolis_forces).max() <= EXACT
    assert np.abs(sliding.rate(m)).max() <= EXACT
    turning = Subject(random_arm(3, 4, prismatic=False))
    assert np.abs(coriolis(turning)).max() > 1e-2


def _all_prismatic(arm):
    links = tuple(
        replace(link, joint=replace(link.joint, kind="prismatic")) for link in arm.links_tip_to_base
    )
    return replace(arm, links_tip_to_base=links)


@any_arm
def test_D_lemma_3_1(at: Subject) -> None:
    """ν̇ + C(θ, ν) = ε with ν = m*θ̇, θ̇ = ℓ*ν and ε = ℓT, without weight."""
    at = at.weightless
    op = at.op
    nu_rate = at.rate(lambda o: m(o).T.dense() @ np.array(_rates(o)))
    nu = m(op).T @ at.qd

    assert apart(ell(op).T @ nu, at.qd) <= divided(at)
    assert apart(nu_rate + coriolis(at), ell(op) @ at.tau) <= divided(at)


def _rates(op) -> list:
    """θ̇ of operators at a state of any numbers."""
    qd = op._chain.input("qd")
    rates = [0.0] * op.n
    for k in range(1, op.n + 1):
        rates[op.paper_order[k - 1]] = qd[k]
    return rates


@any_arm
def test_D_identity_4_1(at: Subject) -> None:
    """(a) 𝓜 = HφMφ*H*, (b) = [I+HφK]D[I+HφK]*, (c) the inverse factor, (d) 𝓜⁻¹."""
    op, mass = at.op, robolin.mass_matrix(at.arm, at.q)
    factor, back = op.I + op.H @ op.phi @ op.K, op.I - op.H @ op.psi @ op.K

    assert apart(op.H @ op.phi @ op.M @ op.phi.T @ op.H.T + op.rotors, mass) <= EXACT
    assert apart(factor @ op.D @ factor.T, mass) <= EXACT
    assert apart(np.linalg.inv(factor.dense()), back) <= divided(at)
    assert apart(back.T @ op.Dinv @ back, np.linalg.inv(mass)) <= divided(at)

    assert apart(op.mass_matrix, mass) <= EXACT
    assert apart(op.factor, robolin.mass_matrix_factor(at.arm, at.q).factor) <= EXACT
    assert apart(op.factor_inverse, back) == 0.0
    assert apart(op.mass_matrix_inverse, np.linalg.inv(mass)) <= divided(at)


@any_arm
def test_D_eq_4_4_and_4_5(at: Subject) -> None:
    """V = φ*H*θ̇, α = φ*{H*θ̈ + a}, f = φ{Mα + b}, T = Hf = 𝓜θ̈ + C."""
    at = at.weightless
    op = at.op
    a, b = op.Hd.T @ at.qd, -op.V_tilde.T @ op.M @ op.V
    alpha = op.phi.T @ (op.H.T @ at.qdd + a)
    C = op.H @ op.phi @ (op.M @ op.phi.T @ a + b)

    assert apart(op.V, op.phi.T @ op.H.T @ at.qd) <= EXACT
    assert apart(op.phi @ (op.M @ alpha + b), op.f) <= EXACT
    assert apart(op.H @ op.phi @ (op.M @ alpha + b) + op.rotors @ at.qdd, at.tau) <= EXACT
    assert apart(op.mass_matrix @ at.qdd + C, at.tau) <= EXACT


@any_arm
def test_D_eq_4_6(at: Subject) -> None:
    """φ = (I - E_φ)⁻¹."""
    op = at.op
    assert apart(np.linalg.inv((op.I - op.E_phi).dense()), op.phi) <= EXACT


@branched
def test_D_eq_4_9(at: Subject) -> None:
    """M = P - E_ψPE_ψ* = P - E_ψPE_φ*."""
    op = at.op
    assert apart(op.P - op.E_psi @ op.P @ op.E_psi.T, op.M) <= divided(at)
    assert apart(op.P - op.E_psi @ op.P @ op.E_phi.T, op.M) <= divided(at)


@any_arm
def test_D_eq_4_9_with_rotors(at: Subject) -> None:
    """The second form holds with rotors too; the first one then has G A G* besides."""
    op = at.op
    lost = op.E_phi @ op.G @ op.rotors @ op.G.T @ op.E_phi.T
    assert apart(op.P - op.E_psi @ op.P @ op.E_phi.T, op.M) <= divided(at)
    assert apart(op.P - op.E_psi @ op.P @ op.E_psi.T - lost, op.M) <= divided(at)


@branched
def test_D_eq_4_10(at: Subject) -> None:
    """D = HPH*, G = PH*D⁻¹, K = E_φG, τ̄ = I - GH, E_ψ = E_φτ̄, ψ = (I - E_ψ)⁻¹."""
    op = at.op
    assert apart(op.H @ op.P @ op.H.T, op.D) <= EXACT
    assert apart(op.P @ op.H.T @ op.Dinv, op.G) <= EXACT
    assert apart(op.E_phi @ op.G, op.K) == 0.0
    assert apart(
        np.linalg.inv((op.I - op.E_phi @ (op.I - op.G @ op.H)).dense()), op.psi
    ) <= divided(at)


# section 5


@any_arm
def test_D_assumption_3_1(at: Subject) -> None:
    """m of `diagonalize` has an inverse and a rate: ṁm* + mṁ* = 𝓜̇, and det² m = det 𝓜."""
    along = {"q": at.qd, "qd": at.qdd}
    state = {"q": at.q, "qd": at.qd, "tau": at.tau}
    factor = robolin.diagonalize(at.arm, at.q, at.qd).m
    rate = complex_step_along(at.arm, "diagonalize", state, along)["m"]
    mass_rate = np.einsum("ijk,k", robolin.mass_matrix_derivative(at.arm, at.q), at.qd)
    mass = robolin.mass_matrix(at.arm, at.q)

    assert apart(m(at.op), factor) <= EXACT
    assert apart(rate @ factor.T + factor @ rate.T, mass_rate) <= divided(at)
    assert apart(np.linalg.det(factor) ** 2, np.linalg.det(mass)) <= divided(at)


@any_arm
def test_D_eq_5_1_and_5_2(at: Subject) -> None:
    """ℓ = m⁻¹, 𝓜 = m m* and 𝓜⁻¹ = ℓ*ℓ."""
    op = at.op
    assert apart(m(op) @ ell(op), np.eye(op.n)) <= divided(at)
    assert apart(ell(op).T @ ell(op), np.linalg.inv(op.mass_matrix.dense())) <= divided(at)


@any_arm
def test_D_table_1(at: Subject) -> None:
    """ν = m*θ̇ and θ̇ = ℓ*ν, each one sweep from base to tip."""
    op = at.op
    nu = m(op).T @ at.qd
    assert apart(nu, robolin.diagonalize(at.arm, at.q, at.qd).nu) <= EXACT
    assert apart(ell(op).T @ nu, at.qd) <= divided(at)
    for formula in (m(op).T, ell(op).T):
        assert [sweep.direction for sweep in formula.sweeps()] == ["base to tip"]


@any_arm
def test_D_table_2(at: Subject) -> None:
    """ε = ℓT and T = mε, each one sweep from tip to base."""
    op, still = at.op, at.weightless.arm
    epsilon = ell(op) @ at.dtau
    assert apart(epsilon, robolin.diagonalize(still, at.q, at.qd, at.dtau).epsilon) <= divided(at)
    assert apart(m(op) @ epsilon, at.dtau) <= divided(at)
    for formula in (m(op), ell(op)):
        assert [sweep.direction for sweep in formula.sweeps()] == ["tip to base"]


@any_arm
def test_D_eq_5_3(at: Subject) -> None:
    """D^-½ν = θ̇ + δ with δ = G*V⁺, V⁺ the velocity of the link inboard.

    -δ(k) is how hinge k would turn if it and all outboard of it were free: of all motions with
    the same hinges inboard, that has the least kinetic energy.
    """
    op, order = at.op, at.op.paper_order
    mass, rates = robolin.mass_matrix(at.arm, at.q)[np.ix_(order, order)], at.qd[order]
    delta = np.zeros(op.n)
    for k in at.links():
        free = [j - 1 for j in at.links() if at.outboard(j, k)]
        held = [j - 1 for j in at.links() if j - 1 not in free]
        pull = mass[np.ix_(free, held)] @ rates[held]
        delta[order[k - 1]] = np.linalg.solve(mass[np.ix_(free, free)], pull)[free.index(k - 1)]

    assert apart(op.G.T @ op.E_phi.T @ op.V, delta, made_of=1.0) <= divided(at)
    unnormalized = robolin.diagonalize_unnormalized(at.arm, at.q, at.qd)
    assert apart(unnormalized.xi, at.qd + delta) <= divided(at)
    nu = robolin.diagonalize(at.arm, at.q, at.qd).nu
    assert apart(nu / np.sqrt(unnormalized.D), at.qd + delta) <= divided(at)


@any_arm
def test_D_eq_5_4(at: Subject) -> None:
    """T = D^½ε + Hz with z = φKD^½ε, which is Cholesky's factor of 𝓜, tip first, times ε."""
    op, epsilon, order = at.op, at.dq, at.op.paper_order
    factor = np.linalg.cholesky(robolin.mass_matrix(at.arm, at.q)[np.ix_(order, order)])
    true = np.zeros(op.n)
    true[order] = factor @ epsilon[order]

    z = op.phi @ op.K @ op.D_half @ epsilon
    assert apart(op.D_half @ epsilon + op.H @ z, true) <= divided(at)
    inputs = {"q": at.q, "nu": np.zeros(op.n), "epsilon": epsilon}
    tau = run_on(at.weightless.arm, "undiagonalize", inputs)["tau"]
    assert apart(tau, true) <= divided(at)


@any_arm
def test_D_eq_5_5_and_5_6(at: Subject) -> None:
    """X x Y = -Y x X and the Jacobi identity, link by link."""
    X, Y, Z = np.random.default_rng(0).normal(size=(3, at.op.n, 6))
    x, y, z = (at.op.diagonal(crm(W)) for W in (X, Y, Z))
    assert apart(x @ Y.ravel(), -y @ X.ravel()) <= EXACT
    cyclic = x @ y @ Z.ravel() + y @ z @ X.ravel() + z @ x @ Y.ravel()
    assert np.abs(cyclic).max() <= EXACT * np.abs(x @ y @ Z.ravel()).max()
    assert apart(at.op.V_tilde, at.op.diagonal(crm(at.op.V.reshape(-1, 6)))) == 0.0


# section 6


@any_arm
def test_D_eq_6_3(at: Subject) -> None:
    """Ω_δ(k) = Ω(k) - Ω(k+1) = H*(k)θ̇(k)."""
    op = at.op
    relative = (op.I - op.E_phi.T) @ op.V
    assert apart(op.Omega_delta, op.diagonal(S(relative.reshape(-1, 6)))) <= EXACT


@any_arm
def test_D_eq_6_4(at: Subject) -> None:
    """λ̇ = E_ψλ̇E_ψ* + X + X* with X = Ω~_δP (Algorithm 6.1)."""
    op = at.op
    X = op.Omega_delta @ op.P
    local = op.E_psi @ op.lambda_dot @ op.E_psi.T
    assert apart(op.lambda_dot, local + X + X.T) <= divided(at)


@any_arm
def test_D_eq_6_6(at: Subject) -> None:
    """Ṗ = λ̇ + S[V⁺]P + PS*[V⁺] with the velocity V⁺ of the link inboard."""
    op = at.op
    plus = op.diagonal(S((op.E_phi.T @ op.V).reshape(-1, 6)), "S[V⁺]")
    assert apart(at.rate(lambda o: o.P), op.lambda_dot + plus @ op.P + op.P @ plus.T) <= divided(at)


@any_arm
def test_D_table_3(at: Subject) -> None:
    """Ḋ = Hλ̇H*, Ġ = τ̄λ̇H*D⁻¹ + S[V⁺]G, and the rates of H, M and τ̄ that follow."""
    op = at.op
    plus = op.diagonal(S((op.E_phi.T @ op.V).reshape(-1, 6)), "S[V⁺]")
    over = op.tau_bar @ op.lambda_dot @ op.H.T @ op.Dinv
    turn = -op.V_tilde.T

    assert apart(at.rate(lambda o: o.H), -op.H @ turn) <= EXACT
    assert apart(at.rate(lambda o: o.M), turn @ op.M + op.M @ turn.T) <= EXACT
    assert apart(at.rate(lambda o: o.D), op.H @ op.lambda_dot @ op.H.T) <= divided(at)
    assert apart(at.rate(lambda o: o.G), over + plus @ op.G) <= divided(at)
    bar = -over @ op.H + plus @ op.tau_bar - op.tau_bar @ plus
    assert apart(at.rate(lambda o: o.tau_bar), bar) <= divided(at)


@branched
def test_D_identity_6_1(at: Subject) -> None:
    """ṁ = Hφ[Ω~_δφ~P + ½(I + τ̄)λ̇]H*D^-½ (6.7)."""
    op = at.op
    inside = op.Omega_delta @ op.phi_tilde @ op.P + 0.5 * (op.I + op.tau_bar) @ op.lambda_dot
    right = op.H @ op.phi @ inside @ op.H.T @ op.D_half_inv
    assert apart(at.rate(m), right, made_of=inertia(at)) <= divided(at)


@branched
def test_D_identity_6_2(at: Subject) -> None:
    """ṁν = Hφ[Ω~_δφKHP + ½(X + X* + E_ψλ̇ - λ̇E_ψ*)]V, X = Ω~_δP (6.8)."""
    op = at.op
    X = op.Omega_delta @ op.P
    half = X + X.T + op.E_psi @ op.lambda_dot - op.lambda_dot @ op.E_psi.T
    inside = op.Omega_delta @ op.phi @ op.K @ op.H @ op.P + 0.5 * half
    left = at.rate(m) @ (m(op).T @ at.qd)
    assert apart(left, op.H @ op.phi @ inside @ op.V, made_of=inertia(at)) <= divided(at)


@branched
def test_D_eq_6_9(at: Subject) -> None:
    """The lines from (6.7) to (6.8) are equal."""
    op = at.op
    nu, turn = m(op).T @ at.qd, op.Omega_delta
    mean = 0.5 * (op.I + op.tau_bar) @ op.lambda_dot
    tau = op.G @ op.H
    lines = (
        op.H @ op.phi @ (turn @ op.phi_tilde @ op.P + mean) @ op.H.T @ op.D_half_inv @ nu,
        op.H @ op.phi @ (turn @ op.phi_tilde @ op.P + mean) @ op.H.T @ op.G.T @ op.V,
        op.H @ op.phi @ (turn @ op.phi @ op.K @ op.H @ op.P + mean @ tau.T) @ op.V,
        op.H
        @ op.phi
        @ (
            turn @ op.phi @ op.K @ op.H @ op.P
            + 0.5 * (op.I + op.E_psi) @ op.lambda_dot @ (op.I - op.E_psi.T)
        )
        @ op.V,
    )
    true = at.rate(m) @ nu
    for line in lines:
        assert apart(line, true, made_of=inertia(at)) <= divided(at)


def turn_of(at: Subject, i: int, where: str = "at"):
    """𝓗 on forces: S[H*(i)] on link i, on all links that joint i moves, or on those without i."""
    moved = {
        "at": lambda k: k == i,
        "from": lambda k: at.outboard(k, i),
        "beyond": lambda k: at.outboard(k, i) and k != i,
    }[where]
    one = S(at.column(i))
    return at.op.diagonal([one * moved(k) for k in at.links()], f"S_{i}")


@any_arm
def test_D_identity_6_3(at: Subject) -> None:
    """𝓜_θi = Hφ[S_iφM + Mφ*S_i*]φ*H* with S_i = S[H*(i)] at link i (6.12)."""
    op = at.op
    for i in at.links():
        Si = turn_of(at, i)
        inside = Si @ op.phi @ op.M + op.M @ op.phi.T @ Si.T
        right = op.H @ op.phi @ inside @ op.phi.T @ op.H.T
        left = at.gradient(lambda o: o.mass_matrix, i)
        assert apart(left, right, made_of=inertia(at)) <= EXACT


@branched
def test_D_identity_6_4(at: Subject) -> None:
    """col{θ̇*𝓜_θθ̇} = 2Hφ[Ω~_δ(I + φKH)P + V~*M]V (6.13)."""
    op = at.op
    inside = op.Omega_delta @ (op.I + op.phi @ op.K @ op.H) @ op.P + op.V_tilde.T @ op.M
    right = 2 * op.H @ op.phi @ inside @ op.V
    assert apart(energy_gradient(at), right, made_of=inertia(at)) <= divided(at)


# section 7


def middle(at: Subject):
    """E_ψλ̇ - λ̇E_ψ* - X + X*, skew, and X = Ω~_δP."""
    op = at.op
    X = op.Omega_delta @ op.P
    return op.E_psi @ op.lambda_dot - op.lambda_dot @ op.E_psi.T - X + X.T


@any_arm
def test_D_identity_7_1(at: Subject) -> None:
    """C(θ,ν) = ½D^-½Hψ[E_ψλ̇ - λ̇E_ψ* - X + X* - 2V~*M]ψ*H*D^-½ν, and ψ*H*D^-½ν = V."""
    op = at.op
    nu = m(op).T @ at.qd
    velocity = op.psi.T @ op.H.T @ op.D_half_inv
    front = 0.5 * op.D_half_inv @ op.H @ op.psi @ (middle(at) - 2 * op.V_tilde.T @ op.M)

    assert apart(velocity @ nu, op.V) <= divided(at)
    assert apart(front @ velocity @ nu, coriolis(at), made_of=inertia(at)) <= divided(at)
    assert apart(front @ op.V, coriolis(at), made_of=inertia(at)) <= divided(at)
    coriolis_forces = robolin.diagonalize(at.arm, at.q, at.qd).coriolis
    assert apart(front @ op.V, coriolis_forces, made_of=inertia(at)) <= divided(at)


@any_arm
def test_D_lemma_7_1(at: Subject) -> None:
    """ν*C(θ, ν) = 0, and (7.4), (7.5): the operator in the middle is skew, V*V~*MV = 0."""
    op = at.op
    nu, C = m(op).T @ at.qd, coriolis(at)
    assert abs(nu @ C) <= divided(at) * np.linalg.norm(nu) * np.linalg.norm(C)
    skew = matrix(middle(at))
    assert apart(skew, -skew.T) <= EXACT
    assert np.abs(op.V @ op.V_tilde.T).max() <= EXACT * np.abs(op.V).max() ** 2


@any_arm
def test_D_lemma_7_2(at: Subject) -> None:
    """d/dt ½ν*ν = ν*ν̇ = ν*ε, without weight."""
    at = at.weightless
    op = at.op
    nu = m(op).T @ at.qd
    energy_rate = at.rate(lambda o: 0.5 * np.array(_rates(o)) @ (o.mass_matrix @ _rates(o)))
    power = nu @ (ell(op) @ at.tau)
    size = float(np.abs(at.tau * at.qd).sum())
    assert apart(energy_rate, power, made_of=size) <= divided(at)
    fed = run_on(at.arm, "power", {"q": at.q, "qd": at.qd, "tau": at.tau})["power"]
    assert apart(energy_rate, fed, made_of=size) <= divided(at)


@any_arm
def test_D_eq_7_7_and_7_8(at: Subject) -> None:
    """ξ = D^-½ν = [I + HφK]*θ̇, and the kinetic energy is ½ξ*Dξ."""
    op = at.op
    xi = op.factor.T @ at.qd
    assert apart(op.D_half_inv @ m(op).T @ at.qd, xi) <= EXACT
    assert apart(robolin.diagonalize_unnormalized(at.arm, at.q, at.qd).xi, xi) <= EXACT
    assert apart(xi @ (op.D @ xi), at.qd @ (op.mass_matrix @ at.qd)) <= EXACT


def unnormalized(at: Subject) -> np.ndarray:
    """Hψ[λ̇H*ξ - (Ω~_δP + V~*M)V]."""
    op = at.op
    xi = op.factor.T @ at.qd
    inside = op.lambda_dot @ op.H.T @ xi
    inside = inside - (op.Omega_delta @ op.P + op.V_tilde.T @ op.M) @ op.V
    return op.H @ op.psi @ inside


@any_arm
def test_D_lemma_7_3(at: Subject) -> None:
    """Dξ̇ + C(θ,ξ) = κ, κ = [I - HψK]T, without weight; C(θ,ξ) = D^½[C(θ,ν) - D^½ d(D^-½)/dt ν]."""
    at = at.weightless
    op = at.op
    nu = m(op).T @ at.qd
    xi_rate = at.rate(lambda o: o.factor.T @ np.array(_rates(o)))
    C = unnormalized(at)
    root_rate = at.rate(lambda o: o.D_half_inv)
    by_definition = op.D_half @ (coriolis(at) - op.D_half @ (root_rate @ nu))

    assert apart(op.D @ xi_rate + C, op.factor_inverse @ at.tau) <= divided(at)
    assert apart(by_definition, C, made_of=inertia(at)) <= divided(at)


@branched
def test_D_lemma_7_3_second_form(at: Subject) -> None:
    """C(θ,ξ) = Hψ[P˚H*ξ - Ω~_δP⁺V⁺ - V~*MV] with P˚ = E_ψλ̇E_ψ* and P⁺ = τ̄P."""
    op = at.op
    xi = op.factor.T @ at.qd
    local = op.E_psi @ op.lambda_dot @ op.E_psi.T
    inside = local @ op.H.T @ xi - op.V_tilde.T @ op.M @ op.V
    inside -= op.Omega_delta @ op.tau_bar @ op.P @ op.E_phi.T @ op.V
    assert apart(op.H @ op.psi @ inside, unnormalized(at), made_of=inertia(at)) <= divided(at)


# section 8


@any_arm
def test_D_eq_8_1_and_8_2(at: Subject) -> None:
    """ξ̇ = D⁻¹[T - Hψζ], ζ = KT + λ̇H*ξ - (Ω~_δP + V~*M)V, without weight."""
    at = at.weightless
    op = at.op
    xi = op.factor.T @ at.qd
    zeta = op.K @ at.tau + op.lambda_dot @ op.H.T @ xi
    zeta = zeta - (op.Omega_delta @ op.P + op.V_tilde.T @ op.M) @ op.V
    xi_rate = at.rate(lambda o: o.factor.T @ np.array(_rates(o)))
    assert apart(op.Dinv @ (at.tau - op.H @ op.psi @ zeta), xi_rate) <= divided(at)

    inputs = {"q": at.q, "xi": xi, "tau": at.tau}
    xid = run_on(at.arm, "forward-diagonalized-unnormalized", inputs)["xid"]
    assert apart(xid, xi_rate) <= divided(at)


@any_arm
def test_D_eq_8_5(at: Subject) -> None:
    """Ẏ = B*φ*H*θ̇ for the place of a frame."""
    op, frame = at.op, list(at.arm.frames)[-1]
    B = op.pick_off(frame)
    rate = at.rate(lambda o: np.array(next(r for r in o.pick_off(frame).values if r)))
    assert apart((B.T @ op.phi.T @ op.H.T @ at.qd)[3:], rate) <= EXACT
    J = robolin.jacobian(at.arm, at.q, frame=frame).jacobian
    assert apart(B.T @ op.phi.T @ op.H.T, J) <= EXACT


@any_arm
def test_D_control_8_2_force(at: Subject) -> None:
    """ℓJ* = D^-½HψB: the effect of an error at the tip on the working moments (8.6)."""
    op = at.op
    B = op.pick_off(list(at.arm.frames)[-1])
    J = B.T @ op.phi.T @ op.H.T
    assert apart(ell(op) @ J.T, op.D_half_inv @ op.H @ op.psi @ B) <= divided(at)
