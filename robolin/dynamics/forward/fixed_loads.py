"""Contribution of dead and world loads to ∂q̈/∂q."""

from __future__ import annotations

from robolin.dynamics.algebra.chain import Chain
from robolin.dynamics.algebra.vectors import dot
from robolin.dynamics.links.link_poses import Links
from robolin.dynamics.links.loads import nonfollower_correction
from robolin.dynamics.mass_matrix.articulated_bodies import Articulated, apply_inverse_mass


def correct_for_fixed_loads(chain: Chain, links: Links, art: Articulated) -> None:
    """∂q̈/∂q(·,c) += 𝓜⁻¹ [H(a) nonfollower_correction(H*(c))]; a, c from the load to the base."""
    dqdd_dq = chain.result("dqdd_dq")
    for load in chain.loads:
        if load.model == "follower":
            continue
        for c in chain.path_of(load.link):
            # load correction for a motion of hinge c, on every hinge inboard of the load
            excess = nonfollower_correction(load, links, links.H[c])
            push = chain.zeros()
            for a in chain.path_of(load.link):
                push[a] = dot(links.H[a], excess)

            # accelerates the arm the other way
            relief = apply_inverse_mass(chain, links, art, push)
            for k in chain.tip_to_base():
                dqdd_dq.add((k, c), relief[k])
