"""𝓜⁻¹ times a vector by the innovations factors, O(n): (I - HψK)* D⁻¹ (I - HψK) x."""

from __future__ import annotations

from robolin.dynamics.algebra.chain import Chain, Scalars, Slots
from robolin.dynamics.algebra.vectors import ZERO6, add, dot, scale
from robolin.dynamics.links.link_poses import Links
from robolin.dynamics.mass_matrix.articulated_bodies import Articulated


def apply_inverse_mass(chain: Chain, links: Links, art: Articulated, push: Scalars) -> Scalars:
    """Accelerations caused by the torques `push` alone, from rest and without gravity."""
    return response(chain, links, art, push)[0]


def response(chain: Chain, links: Links, art: Articulated, push: Scalars) -> tuple[Scalars, Slots]:
    """The same, with λ, the accelerations of the links.

    tip to base   ε(k) = x(k) - H z⁺(k-1)          z⁺(k) = z⁺(k-1) + G ε
    base to tip   y(k) = ε/D - G* λ(k+1)            λ(k) = λ(k+1) + H* y
    """
    epsilon, y = chain.scalars(), chain.scalars()
    z_plus, lam = chain.child_sums(6), chain.slots(6)

    # innovations: (I - HψK) x
    for k in chain.tip_to_base():
        epsilon[k] = push[k] - dot(links.H[k], z_plus[k])
        z_plus.add_to_parent(k, add(z_plus[k], scale(art.G[k], epsilon[k])))

    # accelerations: (I - HψK)* D⁻¹ ε
    lam[chain.base] = ZERO6
    for k in chain.base_to_tip():
        up = chain.inboard(k)
        y[k] = art.Dinv[k] * epsilon[k] - dot(art.G[k], lam[up])
        lam[k] = add(lam[up], scale(links.H[k], y[k]))
    return y, lam
