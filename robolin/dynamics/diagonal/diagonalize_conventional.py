"""Diagonalized dynamics by elimination in the mass matrix, also where joints follow others, O(n³).

𝓜 = L D L*        ξ = L* q̇        κ = L⁻¹ (τ - weight - loads - friction)        m = L D^½
"""

from __future__ import annotations

from robolin.algebra.chain import Chain, Column, Scalars, Table
from robolin.algebra.scalar import sqrt
from robolin.dynamics.diagonal.diagonal_tables import standing_effort
from robolin.dynamics.forward.conventional import factored_mass_matrix
from robolin.dynamics.links.joint_friction import friction_loss
from robolin.dynamics.links.link_poses import Links, place_links
from robolin.dynamics.mass_matrix.coriolis_matrix import coriolis_entries
from robolin.dynamics.mass_matrix.elimination import gathered
from robolin.dynamics.mass_matrix.triangular import congruent, solved, times_transposed


def diagonalize_conventional(chain: Chain) -> None:
    """ν, ε, C(q, ν), the factor m and D from q, q̇ and τ."""
    _diagonalize(chain, ("nu", "epsilon", "m"), normalized=True)


def diagonalize_unnormalized_conventional(chain: Chain) -> None:
    """ξ, κ, C(q, ξ), the factor L and D from q, q̇ and τ."""
    _diagonalize(chain, ("xi", "kappa", "factor"), normalized=False)


def _diagonalize(chain: Chain, names: tuple[str, str, str], *, normalized: bool) -> None:
    links = place_links(chain)
    L = factored_mass_matrix(chain, links).L
    root = _roots(chain, L) if normalized else None

    # velocities and forces, and the half of the Coriolis forces that the factor's own rate is
    xi = times_transposed(chain, L, _of_leaders(chain, chain.given("qd")))
    kappa = solved(chain, L, _free(chain, links))
    coriolis = _coriolis(chain, links, L, xi, normalized=normalized)

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
    _back(chain, chain.given("nu"), chain.given("epsilon"), normalized=True)


def undiagonalize_unnormalized_conventional(chain: Chain) -> None:
    """q̇ and τ from q, ξ and κ."""
    _back(chain, chain.given("xi"), chain.given("kappa"), normalized=False)


def _back(chain: Chain, nu: Scalars, epsilon: Scalars, *, normalized: bool) -> None:
    """q̇ = L⁻* ξ,   τ = L κ + weight + loads + friction."""
    links = place_links(chain)
    L = factored_mass_matrix(chain, links).L
    xi, kappa = _of_leaders(chain, nu), _of_leaders(chain, epsilon)
    if normalized:
        root = _roots(chain, L)
        for j in chain.coordinates():
            xi[j], kappa[j] = xi[j] / root[j], kappa[j] * root[j]

    # L⁻* ξ, from the base outward
    qd, velocity = chain.column(), chain.result("qd")
    for j in chain.coordinates(step=-1):
        rate = chain.cell((xi[j],))
        for r in chain.coordinates(after=j):
            rate.value = (rate.value[0] - L[r, j] * qd[r],)
        qd[j] = rate.value[0]
        velocity[j] = qd[j]

    # L κ, and what keeps the arm up and moving
    standing, lost = standing_effort(chain, links), _losses(chain, qd.on_links())
    tau = chain.result("tau")
    for r in chain.coordinates():
        effort = chain.cell((kappa[r],))
        for j in chain.coordinates(before=r):
            effort.value = (effort.value[0] + L[r, j] * kappa[j],)
        tau[r] = effort.value[0] + standing[r] + lost[r]


def _coriolis(chain: Chain, links: Links, L: Table, xi: Column, *, normalized: bool) -> Column:
    """C(q, ξ) = L⁻¹ c - D L̇* q̇, from 𝓜̇ = C + C* and c = C q̇ with the Coriolis matrix C.

    W = L⁻¹ 𝓜̇ L⁻*  is  Y D + Ḋ + D Y*  with Y = L⁻¹ L̇:   D L̇* q̇ = Σ W(r,j) ξ(r) over r > j
    With roots, half of Ḋ(j) ξ(j) comes in as well.
    """
    C, W, c = chain.table(), chain.table(), chain.column()
    coriolis_entries(chain, links, C)
    qd = _of_leaders(chain, chain.given("qd"))
    for r in chain.coordinates():
        torque = chain.cell((0.0,))
        for s in chain.coordinates():
            torque.value = (torque.value[0] + C[r, s] * qd[s],)
            W[r, s] = C[r, s] + C[s, r]
        c[r] = torque.value[0]
    congruent(chain, L, W)

    found, half = solved(chain, L, c), 0.5 if normalized else 0.0
    for j in chain.coordinates():
        felt = chain.cell((found[j] - W[j, j] * half * xi[j],))
        for r in chain.coordinates(after=j):
            felt.value = (felt.value[0] - W[r, j] * xi[r],)
        found[j] = felt.value[0]
    return found


def _roots(chain: Chain, L: Table) -> Column:
    """D^½, D being what elimination leaves on the diagonal."""
    root = chain.column()
    for j in chain.coordinates():
        root[j] = sqrt(L[j, j])
    return root


def _free(chain: Chain, links: Links) -> Column:
    """The torque that is left for motion: τ less weight, loads and friction."""
    tau, standing = gathered(chain, chain.given("tau")), standing_effort(chain, links)
    lost = _losses(chain, chain.given("qd"))
    for j in chain.coordinates():
        tau[j] = tau[j] - standing[j] - lost[j]
    return tau


def _losses(chain: Chain, qd: Scalars) -> Column:
    """What friction takes of the torques."""
    lost = chain.column()
    for k in chain.tip_to_base():
        lost.put((k,), friction_loss(chain, k, qd[k]))
    return lost


def _of_leaders(chain: Chain, values: Scalars) -> Column:
    """The values of the joints that follow none, by coordinate."""
    column = chain.column()
    for j in chain.coordinates():
        column[j] = values[chain.leader(j)]
    return column
