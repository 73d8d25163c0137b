"""Mass matrix from composite-body inertias (CRBA), O(n · depth)."""

from __future__ import annotations

from robolin.dynamics.algebra.chain import Chain, Sink
from robolin.dynamics.algebra.inertias import rigid_times
from robolin.dynamics.algebra.vectors import add, dot
from robolin.dynamics.links.link_poses import Links, forward_kinematics


def mass_matrix(chain: Chain) -> None:
    """𝓜 from q."""
    composite_bodies(chain, forward_kinematics(chain), chain.result("mass_matrix"))


def composite_bodies(chain: Chain, links: Links, mass: Sink) -> None:
    """Project the composite inertia outboard of each hinge on all hinges inboard.

    R(k)   = R(k-1) + M(k)
    x(k)   = R(k) H*(k)
    𝓜(j,k) = H(j) x(k)                     for j = k and every hinge inboard of k
    """
    R = chain.child_sums(10)

    for k in chain.tip_to_base():
        # freeze the hinges outboard of k: their links move as one rigid body
        composite = add(R[k], links.M[k])
        R.add_to_parent(k, composite)
        x = rigid_times(composite, links.H[k])

        # the force for a unit acceleration of k, projected on k and every hinge inboard
        mass.put((k, k), dot(links.H[k], x) + chain.armature(k))
        for j in chain.inboard_of(k):
            entry = dot(links.H[j], x)
            mass.put((j, k), entry)
            mass.put((k, j), entry)
