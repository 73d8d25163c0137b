"""Terms of diagonalized dynamics by elimination, per independent coordinate."""

from __future__ import annotations

from robolin.dynamics.algebra.chain import Chain, Column, Scalars, Table
from robolin.dynamics.algebra.scalar import sqrt
from robolin.dynamics.diagonal.diagonal_tables import gravity_effort
from robolin.dynamics.links.joint_torques import friction_loss
from robolin.dynamics.links.link_poses import Links
from robolin.dynamics.mass_matrix.coriolis_matrix import coriolis_entries
from robolin.dynamics.mass_matrix.elimination import to_coordinates
from robolin.dynamics.mass_matrix.triangular import congruent, of_leaders, solved


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
