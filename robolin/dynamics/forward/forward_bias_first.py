"""Forward dynamics with the bias terms first, O(n).

Four sweeps subtract all bias torques and solve 𝓜 q̈ = τ'.  Three sweeps use the bias forces of the
links instead.  A computes the accelerations of the joints, B also those of the links.
"""

from __future__ import annotations

from robolin.dynamics.algebra.chain import Chain, Column, Slots
from robolin.dynamics.algebra.inertias import rigid_times
from robolin.dynamics.algebra.vectors import ZERO6, add, dot, force_cross, scale, sub
from robolin.dynamics.frames.frame_motion import at_point, out_spatial, tip_frame
from robolin.dynamics.inverse.inverse_dynamics import torques
from robolin.dynamics.links.joint_torques import conserving_torques, resisting_torque
from robolin.dynamics.links.link_motion import Motion, base_acceleration, motion, velocities
from robolin.dynamics.links.link_poses import Links, forward_kinematics
from robolin.dynamics.links.loads import external_forces, plus_external
from robolin.dynamics.mass_matrix.articulated_bodies import articulated_bodies, response


def forward_bias_free(chain: Chain) -> None:
    """A: q̈ from q, q̇ and τ."""
    bias_free(chain, forward_kinematics(chain))


def forward_bias_free_links(chain: Chain) -> None:
    """B: q̈, and the spatial acceleration of every link at its own origin.

    base to tip   ζ(k) = ζ(k+1) + c(k)          a(k) = λ(k) + ζ(k)        with c = Ḣ* q̇

    The base is fixed, so these accelerations are relative to it; gravity is in λ.
    """
    links, qd = forward_kinematics(chain), chain.input("qd")
    lam = bias_free(chain, links)

    # link accelerations for q̈ = 0
    Hd, zeta = velocities(chain, links, qd).Hd, chain.slots(6)
    zeta[chain.base] = ZERO6
    for k in chain.base_to_tip():
        zeta[k] = add(zeta[chain.inboard(k)], scale(Hd[k], qd[k]))
        a = at_point(add(lam[k], zeta[k]), links.p[k])
        for i in range(6):
            chain.out("link_acceleration", (k, i), a[i])


def bias_free(chain: Chain, links: Links) -> Slots:
    """Write q̈ and return λ, the link accelerations caused by q̈.

    τ' = τ - τ(q, q̇, q̈ = 0)                                two sweeps of Newton–Euler
    tip to base   z(k) = τ̄ z(k-1) + G τ'(k-1)                ε = τ' - H z
    base to tip   q̈(k) = ε/D - G* λ(k+1)                      λ(k) = λ(k+1) + H* q̈
    """
    # subtract the bias torques
    tau, free = chain.input("tau"), chain.scalars()
    bias = _bias_torques(chain, links)
    for k in chain.tip_to_base():
        free[k] = tau[k] - bias[k]

    # the remaining torque accelerates the arm as if it were at rest
    qdd, lam = response(chain, links, articulated_bodies(chain, links), free)
    for k in chain.tip_to_base():
        chain.out("qdd", (k,), qdd[k])
    return lam


def _bias_torques(chain: Chain, links: Links) -> Column:
    """Torques for q̈ = 0: Coriolis forces, gravity, loads and friction."""
    bias = chain.column()
    torques(chain, links, chain.input("qd"), chain.zeros(), bias)
    return bias


def forward_three_sweeps(chain: Chain) -> None:
    """C: q̈ from q, q̇ and τ."""
    links = forward_kinematics(chain)
    three_sweeps(chain, links, motion(chain, links, chain.input("qd"), chain.zeros()))


def forward_three_sweeps_links(chain: Chain) -> None:
    """C: q̈, and the spatial accelerations of every link at its own origin and of the tip at its.

    base to tip   a(k) = λ(k) + ζ(k)                          with ζ = a for q̈ = 0

    The base is fixed, so these accelerations are relative to it; gravity is in ζ.
    """
    links = forward_kinematics(chain)
    moving = motion(chain, links, chain.input("qd"), chain.zeros())
    lam, weight = three_sweeps(chain, links, moving), base_acceleration(chain)

    # link accelerations for q̈ = 0, without the base acceleration that represents gravity
    for k in chain.base_to_tip():
        a = at_point(add(lam[k], sub(moving.alpha[k], weight)), links.p[k])
        for i in range(6):
            chain.out("link_acceleration", (k, i), a[i])
    tip = tip_frame(chain, links)
    seen = sub(add(lam[tip.link], moving.alpha[tip.link]), weight)
    out_spatial(chain, "tip_acceleration", at_point(seen, tip.r))


def three_sweeps(chain: Chain, links: Links, moving: Motion) -> Slots:
    """Write q̈ and return λ, the link accelerations caused by q̈.

    base to tip   ζ(k) = M a + S[V] M V + f0                  with a for q̈ = 0
    tip to base   y(k) = z(k) + ζ(k)                          ε = τ - H y
                  z(k+1) = τ̄ y + G τ = y + G ε
    base to tip   q̈(k) = ε/D - G* λ(k+1)                      λ(k) = λ(k+1) + H* q̈
    """
    art = articulated_bodies(chain, links)
    qd, tau, zeta = chain.input("qd"), chain.input("tau"), bias_forces(chain, links, moving)
    epsilon, z, lam = chain.scalars(), chain.child_sums(6), chain.slots(6)
    needed = conserving_torques(chain, links, qd)

    # innovations: the torque minus the contribution of everything outboard
    for k in chain.tip_to_base():
        y = add(z[k], zeta[k])
        left = tau[k] - resisting_torque(chain, needed, k, qd[k])
        epsilon[k] = left - dot(links.H[k], y)
        z.add_to_parent(k, add(y, scale(art.G[k], epsilon[k])))

    # accelerations, minus the contribution of the link inboard
    lam[chain.base] = ZERO6
    for k in chain.base_to_tip():
        up = chain.inboard(k)
        qdd = art.Dinv[k] * epsilon[k] - dot(art.G[k], lam[up])
        lam[k] = add(lam[up], scale(links.H[k], qdd))
        chain.out("qdd", (k,), qdd)
    return lam


def bias_forces(chain: Chain, links: Links, moving: Motion) -> Slots:
    """Bias force of each link: the force for q̈ = 0."""
    zeta = chain.slots(6)
    f0 = external_forces(chain, links)
    for k in chain.base_to_tip():
        M, V = links.M[k], moving.V[k]
        inertial = add(rigid_times(M, moving.alpha[k]), force_cross(V, rigid_times(M, V)))
        zeta[k] = plus_external(f0, k, inertial)
    return zeta
