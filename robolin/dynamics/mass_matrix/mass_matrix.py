"""Mass matrix from composite-body inertias (CRBA), its derivative and the Coriolis matrix.

    𝓜        O(n · depth)
    ∂𝓜/∂q    entry by entry, O(n³)
    C        consistent with ∂𝓜/∂q: 𝓜̇ - 2 C is skew-symmetric, O(n · depth)

With single-DoF joints, C is ½ A_D without damping.  With multi-DoF joints, Ḣ* is the rate of the
axis fixed in its body, and A_D is a different matrix.  𝓜̇ - 2 C is still skew-symmetric, since Ḣ* is
the rate of the hinge maps in 𝓜.
"""

from __future__ import annotations

from robolin.dynamics.algebra.chain import Chain, Column, LinkNumber, Scalars, Sink, Table
from robolin.dynamics.algebra.inertias import (
    gyroscopic,
    gyroscopic_times,
    gyroscopic_transpose_times,
    rigid_times,
)
from robolin.dynamics.algebra.scalar import Scalar, Vector, where
from robolin.dynamics.algebra.vectors import ZERO6, add, angular, dot, motion_cross
from robolin.dynamics.links.group_rotors import add_rotor_coriolis
from robolin.dynamics.links.link_motion import velocities
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


def coriolis_matrix(chain: Chain) -> None:
    """C from q and q̇."""
    qd, C = chain.input("qd"), chain.result("coriolis_matrix")
    coriolis_entries(chain, forward_kinematics(chain), qd, C)


def coriolis_entries(chain: Chain, links: Links, qd: Scalars, C: Sink) -> None:
    """As A_D in Algorithm 2 without its factor 2, from q and q̇ alone.

    X = R H*       X̂ = R̂* H*       X_C = R Ḣ* + R̂ H*
    C(j,k) = H(j) X_C              C(k,j) = X* Ḣ*(j) + X̂* H*(j)
    """
    moving = velocities(chain, links, qd)
    R, Rhat = chain.child_sums(10), chain.child_sums(12)
    for k in chain.tip_to_base():
        # everything outboard of hinge k as one body, and its gyroscopic matrix
        H = links.H[k]
        composite = add(R[k], links.M[k])
        gyro = add(Rhat[k], gyroscopic(links.M[k], moving.V[k]))
        R.add_to_parent(k, composite)
        Rhat.add_to_parent(k, gyro)

        # forces that unit motions of hinge k need
        X, Xhat = rigid_times(composite, H), gyroscopic_transpose_times(gyro, H)
        XC = add(rigid_times(composite, moving.Hd[k]), gyroscopic_times(gyro, angular(H)))
        C.put((k, k), dot(H, XC))

        # effect of hinge k on hinges inboard, and of them on hinge k
        for j in chain.inboard_of(k):
            C.put((j, k), dot(links.H[j], XC))
            back = dot(X, moving.Hd[j]) + dot(Xhat, angular(links.H[j]))
            C.put((k, j), back)
    add_rotor_coriolis(chain, links, qd, C)


def mass_of_free(chain: Chain, links: Links, free: Column) -> Table:
    """𝓜 without the rows and columns of driven joints; `free` is 1 for free joints, else 0.

    Their diagonal entries are arbitrary: 1 is added, since prescribed motion needs no inertia.
    """
    mass = chain.table()
    composite_bodies(chain, links, mass)
    for r in chain.coordinates():
        mass[r, r] = mass[r, r] + (1.0 - free[r])
        for c in chain.coordinates(before=r):
            mass[r, c] = free[r] * free[c] * mass[r, c]
    return mass
