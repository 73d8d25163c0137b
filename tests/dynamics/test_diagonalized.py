"""Diagonalized dynamics: ν̇ + C(q, ν) = ε and D ξ̇ + C(q, ξ) = κ, against their definitions.

Time derivatives are complex steps along the motion that the torques cause, so no formula of the
recursions enters.  Tolerances as in test_laws_of_mechanics.py: C and the rates divide by D,
hence the condition number.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

import robolin
from robolin.core.arm import Arm
from robolin.dynamics.algebra.chain import Chain
from robolin.dynamics.algebra.inertias import articulated_times
from robolin.dynamics.algebra.vectors import dot
from robolin.dynamics.diagonal.diagonal_tables import articulated_rates
from robolin.dynamics.links.link_poses import forward_kinematics
from robolin.dynamics.mass_matrix.articulated_bodies import articulated_bodies
from robolin.engine.direct import DirectChain
from robolin.engine.parameters import parameters_of
from tests.dynamics.running import gap
from tests.dynamics.worked import Worked, worked
from tests.robots import (
    every_arm,
    for_each_arm,
    random_arm,
    random_states,
    with_wrench,
    without_mimic,
)

EXACT = 2e-14

every_independent = for_each_arm(without_mimic(every_arm()))


def divided(condition: float) -> float:
    return 1e-14 + 1e-15 * condition


@every_independent
def test_factor_m_squares_to_the_mass_matrix(arm: Arm) -> None:
    """𝓜 = m m*, ν = m* q̇ and m = (I + HφK) D^½."""
    at = worked(arm)
    m = at.diagonal.m
    factor = at.unnormalized.factor * np.sqrt(at.unnormalized.D)[..., None, :]

    assert gap(m @ _T(m), at.M) <= EXACT
    assert gap(m, factor) <= EXACT
    assert gap(_times(_T(m), at.qd), at.diagonal.nu) <= EXACT
    assert gap(_times(_T(at.unnormalized.factor), at.qd), at.unnormalized.xi) <= EXACT


@every_independent
def test_tables_1_and_2_turn_back(arm: Arm) -> None:
    """q̇, τ → ν, ε → q̇, τ and the same through ξ, κ."""
    at = worked(arm)
    qd, tau = robolin.undiagonalize(arm, at.q, at.diagonal.nu, at.diagonal.epsilon)
    other = at.unnormalized
    plain_qd, plain_tau = robolin.undiagonalize_unnormalized(arm, at.q, other.xi, other.kappa)

    assert gap(qd, at.qd) <= EXACT
    assert gap(tau, at.tau) <= EXACT
    assert gap(plain_qd, at.qd) <= EXACT
    assert gap(plain_tau, at.tau) <= EXACT


@every_independent
def test_energy_is_a_plain_sum_of_squares(arm: Arm) -> None:
    """ν · ν = q̇* 𝓜 q̇, and ε · ν = (τ - gravity torque) · q̇ is the power that changes it."""
    at = worked(arm)
    nu, epsilon = at.diagonal.nu, at.diagonal.epsilon
    energy = np.einsum("bi,bij,bj->b", at.qd, at.M, at.qd)
    free = (at.tau - robolin.inverse(arm, at.q)) * at.qd

    assert gap((nu * nu).sum(-1), energy) <= EXACT
    power = (epsilon * nu).sum(-1)
    terms = float(np.abs(free).sum(-1).max())
    assert np.abs(power - free.sum(-1)).max() / terms <= divided(at.condition)


@every_independent
def test_coriolis_forces_do_no_work(arm: Arm) -> None:
    """ν · C(q, ν) = 0."""
    at = worked(arm)
    nu, C = at.diagonal.nu, at.diagonal.coriolis
    terms = np.abs(nu * C).sum(-1) + (nu * nu).sum(-1)

    assert gap((nu * C).sum(-1), 0.0, made_of=float(terms.max())) <= EXACT


@every_independent
def test_diagonalized_equations_of_motion(arm: Arm) -> None:
    """ν̇ + C(q, ν) = ε with ν̇ by complex step along the motion: Algorithm 7.1."""
    at = worked(arm)
    nu_dot = at.diagonal_rates["nu"]

    assert gap(nu_dot + at.diagonal.coriolis, at.diagonal.epsilon) <= divided(at.condition)


@every_independent
def test_unnormalized_equations_of_motion(arm: Arm) -> None:
    """D ξ̇ + C(q, ξ) = κ with ξ̇ by complex step along the motion: recursion 7.10."""
    at = worked(arm)
    plain = at.unnormalized
    xi_dot = at.unnormalized_rates["xi"]

    assert gap(plain.D * xi_dot + plain.coriolis, plain.kappa) <= divided(at.condition)


@every_independent
def test_coriolis_of_nu_is_its_definition(arm: Arm) -> None:
    """C(q, ν) = m⁻¹ (ṁ ν - ½ q̇* 𝓜_q q̇), ṁ by complex step."""
    at = worked(arm)
    m_dot = at.diagonal_rates["m"]
    half = 0.5 * np.einsum("bijk,bi,bj->bk", at.dM, at.qd, at.qd)
    force = _times(m_dot, at.diagonal.nu) - half
    definition = np.linalg.solve(at.diagonal.m, force[..., None])[..., 0]

    terms = float(np.abs(at.diagonal.nu).max())
    assert gap(at.diagonal.coriolis, definition, made_of=terms) <= divided(at.condition)


@every_independent
def test_both_coriolis_forces_belong_together(arm: Arm) -> None:
    """C(q, ν) = D^-½ (C(q, ξ) - ½ Ḋ ξ), Ḋ by complex step."""
    at = worked(arm)
    plain, D_dot = at.unnormalized, at.diagonal_rates["D"]
    expected = (plain.coriolis - 0.5 * D_dot * plain.xi) / np.sqrt(plain.D)

    terms = float(np.abs(at.diagonal.nu).max())
    assert gap(at.diagonal.coriolis, expected, made_of=terms) <= divided(at.condition)


@every_independent
def test_algorithm_6_1_gives_the_rate_of_d(arm: Arm) -> None:
    """Ḋ = H λ̇ H*."""
    at = worked(arm)
    inputs = {"q": list(at.q.T), "qd": list(at.qd.T)}
    chain = DirectChain(parameters_of(arm), inputs)
    _rates_of_d(chain)
    rates = chain.results["Ddot"]
    computed = np.stack([rates[(i,)] for i in range(arm.n)], axis=-1)

    terms = float(at.diagonal.D.max())
    assert gap(computed, at.diagonal_rates["D"], made_of=terms) <= divided(at.condition)


def _rates_of_d(chain: Chain) -> None:
    links = forward_kinematics(chain)
    rate = articulated_rates(chain, links, articulated_bodies(chain, links), chain.input("qd"))
    for k in chain.tip_to_base():
        H = links.H[k]
        # a different value for every state, even if the rate is the same for all
        chain.out("Ddot", (k,), dot(H, articulated_times(rate[k], H)) + 0.0 * chain.input("qd")[k])


# motion in time, at a step at which RK4 errs by about 1e-9

TIME_STEP = 0.005
RK4_ERROR = 1e-8


def rk4(slope: Callable[[np.ndarray], np.ndarray], x: np.ndarray, steps: int) -> np.ndarray:
    for _ in range(steps):
        a = slope(x)
        b = slope(x + 0.5 * TIME_STEP * a)
        c = slope(x + 0.5 * TIME_STEP * b)
        d = slope(x + TIME_STEP * c)
        x = x + TIME_STEP / 6.0 * (a + 2.0 * b + 2.0 * c + d)
    return x


@pytest.mark.slow
@pytest.mark.parametrize("brake", [0.0, 0.7])
def test_kinetic_energy_is_constant_or_decays_with_damping(brake: float) -> None:
    """With ε = -c ν the kinetic energy is exp(-2 c t) of what it was; with ε = 0 it stays.

    The equation conserves exactly; what is left is RK4's own error.
    """
    arm = replace(random_arm(4, 3), gravity=(0.0, 0.0, 0.0))
    states = random_states(arm, 2)
    nu = robolin.diagonalize(arm, states.q, states.qd).nu

    def slope(x: np.ndarray) -> np.ndarray:
        q, nu = np.split(x, 2, axis=-1)
        qd, _ = robolin.undiagonalize(arm, q, nu)
        C = robolin.diagonalize(arm, q, qd).coriolis
        return np.concatenate([qd, -C - brake * nu], axis=-1)

    after = rk4(slope, np.concatenate([states.q, nu], axis=-1), 10)[:, arm.n :]
    ratio = (after**2).sum(-1) / (nu**2).sum(-1)
    np.testing.assert_allclose(ratio, np.exp(-2.0 * brake * 10 * TIME_STEP), rtol=RK4_ERROR)


@pytest.mark.slow
def test_diagonalized_and_ordinary_motion_agree() -> None:
    """Integrating (q, ξ) and integrating (q, q̇) under the same torques agree to RK4's error."""
    arm = random_arm(7, 3, tree=True, armature=True)
    states = random_states(arm, 2)
    tau = robolin.inverse(arm, states.q, states.qd, states.qdd)

    def ordinary(x: np.ndarray) -> np.ndarray:
        q, qd = np.split(x, 2, axis=-1)
        return np.concatenate([qd, robolin.forward(arm, q, qd, tau)], axis=-1)

    def diagonal(x: np.ndarray) -> np.ndarray:
        q, xi = np.split(x, 2, axis=-1)
        qd, _ = robolin.undiagonalize_unnormalized(arm, q, xi)
        at = robolin.diagonalize_unnormalized(arm, q, qd, tau)
        return np.concatenate([qd, (at.kappa - at.coriolis) / at.D], axis=-1)

    xi = robolin.diagonalize_unnormalized(arm, states.q, states.qd).xi
    one = rk4(ordinary, np.concatenate([states.q, states.qd], axis=-1), 10)
    two = rk4(diagonal, np.concatenate([states.q, xi], axis=-1), 10)
    np.testing.assert_allclose(two[:, : arm.n], one[:, : arm.n], atol=RK4_ERROR)


def _times(matrices: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    return np.einsum("bij,bj->bi", matrices, vectors)


def _T(matrices: np.ndarray) -> np.ndarray:
    return np.swapaxes(matrices, -1, -2)


@pytest.mark.parametrize("model", ["follower", "dead", "world"])
@pytest.mark.parametrize("tree", [False, True])
def test_losses_and_loads_move_to_the_side_of_the_torque(model: str, tree: bool) -> None:
    """ε = m⁻¹ (τ - holding torque - losses), each of them computed without diagonalization."""
    arm = random_arm(7, 6, tree, damping=True, friction_velocity=0.3)
    arm = with_wrench(arm, model)
    at = Worked(arm)
    frictionless = replace(arm, damping=False, friction_velocity=None)
    losses = robolin.inverse(arm, at.q, at.qd) - robolin.inverse(frictionless, at.q, at.qd)
    free = at.tau - robolin.inverse(arm, at.q) - losses

    assert np.abs(losses).max() > 0.1
    assert gap(_times(at.diagonal.m, at.diagonal.epsilon), free) <= divided(at.condition)
    factor = at.unnormalized.factor
    assert gap(_times(factor, at.unnormalized.kappa), free) <= divided(at.condition)
    nu_dot = at.diagonal_rates["nu"]
    assert gap(nu_dot + at.diagonal.coriolis, at.diagonal.epsilon) <= divided(at.condition)
