"""Gradient of weighted accelerations λ*q̈ by position, velocity and torque, and its change, O(n).

    μ = 𝓜⁻¹ λ        ∂/∂τ = μ        ∂/∂q̇ = -A_D* μ        ∂/∂q = -B_D* μ

One solve with 𝓜 turns weights of accelerations into weights of torques.
"""

from __future__ import annotations

from collections.abc import Callable

from robolin.dynamics.algebra.chain import Chain, Column, Scalars
from robolin.dynamics.forward.conventional import factored_mass_matrix
from robolin.dynamics.forward.forward_dynamics import hinge_accelerations
from robolin.dynamics.inverse.gradient_inverse import (
    MotionGradient,
    gradient_change,
    torque_gradient,
)
from robolin.dynamics.inverse.linearize_inverse import perturbed_torques
from robolin.dynamics.links.link_motion import NominalTerms, motion, nominal_terms
from robolin.dynamics.links.link_poses import Links, forward_kinematics
from robolin.dynamics.links.motion_changes import Direction
from robolin.dynamics.mass_matrix.articulated_bodies import (
    Articulated,
    apply_inverse_mass,
    articulated_bodies,
)
from robolin.dynamics.mass_matrix.elimination import solve_difference, to_coordinates

# 𝓜⁻¹ times a column
Solve = Callable[[Column], Column]


def gradient_forward(chain: Chain) -> None:
    """The gradient at q, q̇ and the q̈ that the torques cause."""
    links = forward_kinematics(chain)
    solve = _by_articulated_bodies(chain, links, articulated_bodies(chain, links))
    _gradient(chain, links, solve, chain.input("qdd"))


def gradient_forward_of_torques(chain: Chain) -> None:
    """The same at q, q̇ and τ: the articulated bodies give q̈ too."""
    links = forward_kinematics(chain)
    art = articulated_bodies(chain, links)
    qdd = hinge_accelerations(chain, links, art)
    _gradient(chain, links, _by_articulated_bodies(chain, links, art), qdd)


def gradient_forward_conventional(chain: Chain) -> None:
    """The same with 𝓜 formed and factored, O(n³), also for mimic joints."""
    links = forward_kinematics(chain)
    _gradient(chain, links, _by_elimination(chain, links), chain.input("qdd"))


def hessian_forward(chain: Chain) -> None:
    """Change of the gradient for δq, δq̇ and δτ, with constant weights."""
    links = forward_kinematics(chain)
    solve = _by_articulated_bodies(chain, links, articulated_bodies(chain, links))
    _gradient_change(chain, links, solve, chain.input("qdd"))


def hessian_forward_of_torques(chain: Chain) -> None:
    """The same at q, q̇ and τ: the articulated bodies give q̈ too."""
    links = forward_kinematics(chain)
    art = articulated_bodies(chain, links)
    qdd = hinge_accelerations(chain, links, art)
    _gradient_change(chain, links, _by_articulated_bodies(chain, links, art), qdd)


def hessian_forward_conventional(chain: Chain) -> None:
    """The same with 𝓜 formed and factored, O(n³), also for mimic joints."""
    links = forward_kinematics(chain)
    _gradient_change(chain, links, _by_elimination(chain, links), chain.input("qdd"))


def _by_articulated_bodies(chain: Chain, links: Links, art: Articulated) -> Solve:
    def solve(x: Column) -> Column:
        return to_coordinates(chain, apply_inverse_mass(chain, links, art, x.on_links()))

    return solve


def _by_elimination(chain: Chain, links: Links) -> Solve:
    factors = factored_mass_matrix(chain, links)

    def solve(x: Column) -> Column:
        return solve_difference(chain, factors, x, _zeros(chain))

    return solve


def _zeros(chain: Chain) -> Column:
    column = chain.column()
    for j in chain.coordinates():
        column[j] = 0.0
    return column


def _gradient(chain: Chain, links: Links, solve: Solve, qdd: Scalars) -> None:
    mu = solve(to_coordinates(chain, chain.input("qdd_weights")))
    _, by_qd, by_q = _torque_gradient(chain, links, nominal_terms(chain, links, qdd), mu)
    out_tau, out_qd, out_q = map(chain.result, ("gradient_tau", "gradient_qd", "gradient_q"))
    for j in chain.coordinates():
        out_tau[j], out_qd[j], out_q[j] = mu[j], -by_qd[j], -by_q[j]


def _torque_gradient(
    chain: Chain, links: Links, one: NominalTerms, mu: Column
) -> tuple[Column, Column, Column]:
    """𝓜 μ, A_D* μ and B_D* μ."""
    into = _columns(chain)
    torque_gradient(chain, links, one, mu.on_links(), MotionGradient(*into))
    return into


def _columns(chain: Chain) -> tuple[Column, Column, Column]:
    return chain.column(), chain.column(), chain.column()


def _gradient_change(chain: Chain, links: Links, solve: Solve, qdd: Scalars) -> None:
    """δμ = -𝓜⁻¹ δ𝓜 μ, and the change of A_D* μ and B_D* μ with the state and with μ.

    The motion changes by δq̈ = 𝓜⁻¹ (δτ - A_D δq̇ - B_D δq), as in Algorithm 3.
    """
    moving = motion(chain, links, chain.input("qd"), qdd)
    one = nominal_terms(chain, links, qdd, moving)
    mu = solve(to_coordinates(chain, chain.input("qdd_weights")))
    applied, needed = to_coordinates(chain, chain.input("dtau")), chain.column()
    perturbed_torques(chain, links, chain.zeros(), needed, one)
    for j in chain.coordinates():
        applied[j] = applied[j] - needed[j]
    dqdd = solve(applied).on_links()

    # with constant μ
    d_qdd, d_qd, d_q = _columns(chain)
    along = Direction(chain.input("dq"), chain.input("dqd"), dqdd)
    into = MotionGradient(d_qdd, d_qd, d_q)
    gradient_change(chain, links, one, moving, mu.on_links(), along, into)

    # with a constant state
    for j in chain.coordinates():
        d_qdd[j] = -d_qdd[j]
    dmu = solve(d_qdd)
    _, by_qd, by_q = _torque_gradient(chain, links, one, dmu)
    out_tau, out_qd, out_q = map(chain.result, ("dgradient_tau", "dgradient_qd", "dgradient_q"))
    for j in chain.coordinates():
        out_tau[j], out_qd[j], out_q[j] = dmu[j], -(d_qd[j] + by_qd[j]), -(d_q[j] + by_q[j])
