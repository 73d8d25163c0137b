"""Diagonalized dynamics by factorization of the mass matrix, also with mimic joints, O(n³).

𝓜 = L D L*        ξ = L* q̇        κ = L⁻¹ (τ - gravity - loads - friction)        m = L D^½

All terms are columns by independent coordinate.
"""

from __future__ import annotations

from robolin.dynamics.algebra.chain import Chain, Column, Scalars, Table
from robolin.dynamics.algebra.scalar import sqrt
from robolin.dynamics.forward.conventional import factored_mass_matrix
from robolin.dynamics.inverse.inverse_dynamics import gravity_effort
from robolin.dynamics.links.joint_torques import friction_loss
from robolin.dynamics.links.link_poses import Links, forward_kinematics
from robolin.dynamics.mass_matrix.elimination import to_coordinates
from robolin.dynamics.mass_matrix.mass_matrix import coriolis_entries
from robolin.dynamics.mass_matrix.triangular import (
    congruent,
    of_leaders,
    solved,
    solved_transposed,
    times,
    times_transposed,
)


def diagonalize_conventional(chain: Chain) -> None:
    """ν, ε, C(q, ν), the factor m and D from q, q̇ and τ."""
    _diagonalize(chain, ("nu", "epsilon", "m"), normalized=True)


def diagonalize_unnormalized_conventional(chain: Chain) -> None:
    """ξ, κ, C(q, ξ), the factor L and D from q, q̇ and τ."""
    _diagonalize(chain, ("xi", "kappa", "factor"), normalized=False)


def _diagonalize(chain: Chain, names: tuple[str, str, str], *, normalized: bool) -> None:
    links, qd = forward_kinematics(chain), chain.input("qd")
    L = factored_mass_matrix(chain, links).L
    root = roots(chain, L) if normalized else None

    # velocities and forces, and the Coriolis forces with the rate of the factor
    xi = times_transposed(chain, L, of_leaders(chain, qd))
    kappa = solved(chain, L, free_torque(chain, links, qd))
    coriolis = coriolis_forces(chain, links, L, xi, qd, normalized=normalized)

    # results, normalized or not
    velocity, force, factor = (chain.result(name) for name in names)
    felt, D = chain.result("coriolis"), chain.result("D")
    for j in chain.coordinates():
        scale = 1.0 if root is None else root[j]
        D[j], factor[j, j] = L[j, j], scale
        velocity[j], force[j], felt[j] = xi[j] * scale, kappa[j] / scale, coriolis[j] / scale
        for r in chain.coordinates(after=j):
            factor[r, j] = L[r, j] * scale


def undiagonalize_conventional(chain: Chain) -> None:
    """q̇ and τ from q, ν and ε."""
    _back(chain, chain.input("nu"), chain.input("epsilon"), normalized=True)


def undiagonalize_unnormalized_conventional(chain: Chain) -> None:
    """q̇ and τ from q, ξ and κ."""
    _back(chain, chain.input("xi"), chain.input("kappa"), normalized=False)


def _back(chain: Chain, nu: Scalars, epsilon: Scalars, *, normalized: bool) -> None:
    """q̇ = L⁻* ξ,   τ = L κ + gravity + loads + friction."""
    links = forward_kinematics(chain)
    L = factored_mass_matrix(chain, links).L
    xi, kappa = of_leaders(chain, nu), of_leaders(chain, epsilon)
    if normalized:
        root = roots(chain, L)
        for j in chain.coordinates():
            xi[j], kappa[j] = xi[j] / root[j], kappa[j] * root[j]

    # velocities, and forces plus gravity, loads and friction
    qd, effort = solved_transposed(chain, L, xi), times(chain, L, kappa)
    standing, lost = gravity_effort(chain, links), losses(chain, qd.on_links())
    velocity, tau = chain.result("qd"), chain.result("tau")
    for j in chain.coordinates():
        velocity[j] = qd[j]
        tau[j] = effort[j] + standing[j] + lost[j]


def roots(chain: Chain, L: Table) -> Column:
    """D^½, where D holds the pivots of the elimination."""
    root = chain.column()
    for j in chain.coordinates():
        root[j] = sqrt(L[j, j])
    return root


def free_torque(chain: Chain, links: Links, qd: Scalars) -> Column:
    """Net torque that accelerates the arm: τ minus gravity, loads and friction."""
    tau, standing = to_coordinates(chain, chain.input("tau")), gravity_effort(chain, links)
    lost = losses(chain, qd)
    for j in chain.coordinates():
        tau[j] = tau[j] - standing[j] - lost[j]
    return tau


def losses(chain: Chain, qd: Scalars) -> Column:
    """Friction torques of the joints."""
    lost = chain.column()
    for k in chain.tip_to_base():
        lost.put((k,), friction_loss(chain, k, qd[k]))
    return lost


def coriolis_forces(
    chain: Chain, links: Links, L: Table, xi: Column, qd: Scalars, *, normalized: bool
) -> Column:
    """C(q, ξ) = L⁻¹ c - D L̇* q̇, from 𝓜̇ = C + C* and c = C q̇ with the Coriolis matrix C.

    W = L⁻¹ 𝓜̇ L⁻*  is  Y D + Ḋ + D Y*  with Y = L⁻¹ L̇:   D L̇* q̇ = Σ W(r,j) ξ(r) over r > j
    The normalized form also contains half of Ḋ(j) ξ(j).
    """
    # c = C q̇ and 𝓜̇ = C + C*, row by row
    C, W, c = chain.table(), chain.table(), chain.column()
    coriolis_entries(chain, links, qd, C)
    rate = of_leaders(chain, qd)
    for r in chain.coordinates():
        torque = chain.accumulator((0.0,))
        for s in chain.coordinates():
            torque.value = (torque.value[0] + C[r, s] * rate[s],)
            W[r, s] = C[r, s] + C[s, r]
        c[r] = torque.value[0]

    # 𝓜̇ transformed to the new coordinates
    congruent(chain, L, W)

    # L⁻¹ c - D L̇* q̇, and minus half of Ḋ ξ in the normalized form
    forces, half = solved(chain, L, c), 0.5 if normalized else 0.0
    for j in chain.coordinates():
        felt = chain.accumulator((forces[j] - W[j, j] * half * xi[j],))
        for r in chain.coordinates(after=j):
            felt.value = (felt.value[0] - W[r, j] * xi[r],)
        forces[j] = felt.value[0]
    return forces
