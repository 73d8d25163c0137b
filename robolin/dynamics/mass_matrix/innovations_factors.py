"""The innovations factors of the mass matrix: 𝓜 = (I + HφK) D (I + HφK)*, and the inverse one."""

from __future__ import annotations

from robolin.dynamics.algebra.chain import Chain
from robolin.dynamics.algebra.vectors import add, dot, scale
from robolin.dynamics.links.link_poses import forward_kinematics
from robolin.dynamics.mass_matrix.apply_inverse_mass import apply_inverse_mass
from robolin.dynamics.mass_matrix.articulated_bodies import articulated_bodies


def innovations_factors(chain: Chain) -> None:
    """I + HφK, D and (I + HφK)⁻¹ = I - HψK, O(n · depth).

    [HφK](k,j) =  H(k) G(j)                      for k inboard of j
    [HψK](k,j) =  H(k) x,   x = G(j) at first,   x = τ̄(k) x after every hinge k passed
    """
    links = forward_kinematics(chain)
    art = articulated_bodies(chain, links)
    for j in chain.tip_to_base():
        # the diagonal
        chain.out("D", (j,), art.D[j])
        chain.out("factor", (j, j), 1.0)
        chain.out("factor_inverse", (j, j), 1.0)

        # effect of hinge j on hinges inboard: locked in the factor, free in its inverse
        x = chain.accumulator(art.G[j])
        for k in chain.inboard_of(j):
            chain.out("factor", (k, j), dot(links.H[k], art.G[j]))
            entry = -dot(links.H[k], x.value)
            chain.out("factor_inverse", (k, j), entry)
            x.value = add(x.value, scale(art.G[k], entry))


def inverse_by_factors(chain: Chain) -> None:
    """𝓜⁻¹ = (I - HψK)* D⁻¹ (I - HψK), a unit torque at one hinge at a time, O(n²)."""
    links = forward_kinematics(chain)
    art = articulated_bodies(chain, links)
    for c in chain.tip_to_base():
        # a unit torque
        push = chain.zeros()
        push[c] = 1.0
        column = apply_inverse_mass(chain, links, art, push)
        for k in chain.tip_to_base():
            chain.out("mass_matrix_inverse", (k, c), column[k])
