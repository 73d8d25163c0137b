"""Forward dynamics in three sweeps: bias forces of the links, not torques of the joints, O(n)."""

from __future__ import annotations

from robolin.algebra.chain import Chain, Slots
from robolin.algebra.inertias import rigid_times
from robolin.algebra.vectors import ZERO6, add, dot, force_cross, scale
from robolin.dynamics.links.joint_friction import friction_loss
from robolin.dynamics.links.link_motion import motion
from robolin.dynamics.links.link_poses import Links, place_links
from robolin.dynamics.links.loads import outside_forces, with_outside
from robolin.dynamics.mass_matrix.articulated_bodies import articulated_bodies


def forward_three_sweeps(chain: Chain) -> None:
    """C: q̈ from q, q̇ and τ.

    base to tip   ζ(k) = M a + S[V] M V + f0                  with a as it is for q̈ = 0
    tip to base   y(k) = z(k) + ζ(k)                          ε = τ - H y
                  z(k+1) = τ̄ y + G τ = y + G ε
    base to tip   q̈(k) = ε/D - G* λ(k+1)                      λ(k) = λ(k+1) + H* q̈
    """
    links = place_links(chain)
    art = articulated_bodies(chain, links)
    qd, tau, zeta = chain.given("qd"), chain.given("tau"), bias_forces(chain, links)
    epsilon, z, lam = chain.scalars(), chain.sums(6), chain.slots(6)

    # innovations: the torque left over once everything outboard has taken its share
    for k in chain.tip_to_base():
        y = add(z[k], zeta[k])
        epsilon[k] = tau[k] - friction_loss(chain, k, qd[k]) - dot(links.H[k], y)
        z.hand_inboard(k, add(y, scale(art.G[k], epsilon[k])))

    # accelerations, each hinge relieved of what the link inboard already does
    lam[chain.base] = ZERO6
    for k in chain.base_to_tip():
        up = chain.inboard(k)
        qdd = art.Dinv[k] * epsilon[k] - dot(art.G[k], lam[up])
        lam[k] = add(lam[up], scale(links.H[k], qdd))
        chain.out("qdd", (k,), qdd)


def bias_forces(chain: Chain, links: Links) -> Slots:
    """The force each link needs to move on while no joint accelerates."""
    zeta = chain.slots(6)
    moving = motion(chain, links, chain.given("qd"), chain.zeros())
    f0 = outside_forces(chain, links)
    for k in chain.base_to_tip():
        M, V = links.M[k], moving.V[k]
        inertial = add(rigid_times(M, moving.alpha[k]), force_cross(V, rigid_times(M, V)))
        zeta[k] = with_outside(f0, k, inertial)
    return zeta
