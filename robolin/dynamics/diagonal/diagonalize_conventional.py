"""Diagonalized dynamics by elimination in the mass matrix, also with mimic joints, O(n³).

𝓜 = L D L*        ξ = L* q̇        κ = L⁻¹ (τ - weight - loads - friction)        m = L D^½
"""

from __future__ import annotations

from robolin.dynamics.algebra.chain import Chain, Scalars
from robolin.dynamics.diagonal.diagonal_tables import gravity_effort
from robolin.dynamics.diagonal.elimination_terms import (
    coriolis_forces,
    free_torque,
    losses,
    roots,
)
from robolin.dynamics.forward.conventional import factored_mass_matrix
from robolin.dynamics.links.link_poses import forward_kinematics
from robolin.dynamics.mass_matrix.triangular import (
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
    """q̇ = L⁻* ξ,   τ = L κ + weight + loads + friction."""
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
