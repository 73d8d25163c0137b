"""∂𝓜/∂q, entry by entry, from composite bodies, O(n³)."""

from __future__ import annotations

from robolin.dynamics.algebra.chain import Chain, LinkNumber
from robolin.dynamics.algebra.inertias import rigid_times
from robolin.dynamics.algebra.scalar import Scalar, Vector, where
from robolin.dynamics.algebra.vectors import ZERO6, add, dot, motion_cross
from robolin.dynamics.links.link_poses import Links, forward_kinematics


def mass_matrix_derivative(chain: Chain) -> None:
    """∂𝓜(j,k)/∂q(i) with 𝓜(j,k) = H(j) R(k) H*(k), for j inboard of k or k itself.

    i outboard of k, or k:        -[H*(i) x H*(j)] · R(i) H*(k) - [H*(i) x H*(k)] · R(i) H*(j)
    i between j and k:            -[H*(i) x H*(j)] · R(k) H*(k)
    any other i:                  0, since H(j), R(k) and H(k) then move as one body

    A multi-DoF joint moves along the twist of its body, in which all of its axes are fixed:
    H*(i) x H*(j) = 0 for two axes of one joint.
    """
    links = forward_kinematics(chain)
    R, handed = chain.slots(10), chain.child_sums(10)
    for k in chain.tip_to_base():
        R[k] = add(handed[k], links.M[k])
        handed.add_to_parent(k, R[k])

    H = links.H
    for k in chain.tip_to_base():
        # the diagonal entry depends only on hinges that move a part of the composite body
        for i in chain.subtree_of(k):
            seen = dot(_turned(chain, links, i, k), rigid_times(R[i], H[k]))
            chain.out("dmass_matrix_dq", (k, k, i), -(seen + seen))

        x = rigid_times(R[k], H[k])
        for j in chain.inboard_of(k):
            for i in chain.subtree_of(k):
                seen_from_j = dot(_turned(chain, links, i, j), rigid_times(R[i], H[k]))
                seen_from_k = dot(_turned(chain, links, i, k), rigid_times(R[i], H[j]))
                _out_both(chain, j, k, i, -(seen_from_j + seen_from_k))

            # hinges that move all of it against hinge j
            for i in chain.between(k, j):
                _out_both(chain, j, k, i, -dot(_turned(chain, links, i, j), x))


def _turned(chain: Chain, links: Links, i: LinkNumber, j: LinkNumber) -> Vector:
    """H*(i) x H*(j), 0 where both are axes of one joint."""
    turned = motion_cross(links.H[i], links.H[j])
    return where(chain.groups.in_different_joints(i, j), turned, ZERO6) if chain.groups else turned


def _out_both(chain: Chain, j: LinkNumber, k: LinkNumber, i: LinkNumber, value: Scalar) -> None:
    chain.out("dmass_matrix_dq", (j, k, i), value)
    chain.out("dmass_matrix_dq", (k, j, i), value)
