"""Forward dynamics: accelerations from torques (articulated-body algorithm, ABA, O(n)).

A variant takes the link velocities V from the previous step of a simulation.  This saves a sweep,
but causes an error that grows with the change of velocity between the steps.
"""

from __future__ import annotations

from robolin.dynamics.algebra.chain import Chain, Scalars, Slots
from robolin.dynamics.algebra.inertias import articulated_times, rigid_times
from robolin.dynamics.algebra.vectors import ZERO6, add, dot, force_cross, motion_cross, scale
from robolin.dynamics.links.joint_torques import conserving_torques, resisting_torque
from robolin.dynamics.links.link_motion import base_acceleration, velocities
from robolin.dynamics.links.link_poses import Links, forward_kinematics
from robolin.dynamics.links.loads import external_forces, plus_external
from robolin.dynamics.mass_matrix.articulated_bodies import Articulated, articulated_bodies


def forward_dynamics(chain: Chain) -> None:
    """q̈ from q, q̇ and τ."""
    nominal(chain)


def nominal(chain: Chain) -> tuple[Links, Articulated, Scalars]:
    """The same, with the links and articulated bodies that a linearization reuses."""
    links = forward_kinematics(chain)
    art = articulated_bodies(chain, links)
    qdd = hinge_accelerations(chain, links, art)
    for k in chain.tip_to_base():
        chain.out("qdd", (k,), qdd[k])
    return links, art, qdd


def hinge_accelerations(chain: Chain, links: Links, art: Articulated) -> Scalars:
    """Two sweeps with the velocity terms included.

    tip to base   z(k) = z⁺(k-1) + S[V] M V + f0       ε = τ - H z
                  z⁺(k) = z + P c + G (ε - H P c)      with c = Ḣ* q̇
    base to tip   q̈(k) = ε/D - G* (λ(k+1) + c)         λ(k) = λ(k+1) + H* q̈ + c
    """
    qd, tau = chain.input("qd"), chain.input("tau")
    moving = velocities(chain, links, qd)
    f0, needed = external_forces(chain, links), conserving_torques(chain, links, qd)
    epsilon, qdd, c = chain.scalars(), chain.scalars(), chain.slots(6)

    # innovations: the torque minus the contribution of everything outboard
    z_plus = chain.child_sums(6)
    for k in chain.tip_to_base():
        V, H, M = moving.V[k], links.H[k], links.M[k]
        c[k] = scale(moving.Hd[k], qd[k])
        gyro = force_cross(V, rigid_times(M, V))
        z = add(z_plus[k], plus_external(f0, k, gyro))
        epsilon[k] = tau[k] - resisting_torque(chain, needed, k, qd[k]) - dot(H, z)
        share = scale(art.G[k], epsilon[k] - dot(art.PH[k], c[k]))
        z_plus.add_to_parent(k, add(add(z, articulated_times(art.P[k], c[k])), share))

    # accelerations, minus the contribution of the link inboard
    lam = chain.slots(6)
    lam[chain.base] = base_acceleration(chain)
    for k in chain.base_to_tip():
        carried = add(lam[chain.inboard(k)], c[k])
        qdd[k] = art.Dinv[k] * epsilon[k] - dot(art.G[k], carried)
        lam[k] = add(carried, scale(links.H[k], qdd[k]))
    return qdd


def forward_delayed(chain: Chain) -> None:
    """q̈ from q, q̇, τ, and δq̇: the change of q̇ since V was computed.

    This function computes the old V, which a simulation would store.
    """
    links, qd, change = forward_kinematics(chain), chain.input("qd"), chain.input("dqd")
    before = chain.scalars()
    for k in chain.tip_to_base():
        before[k] = qd[k] - change[k]
    old = velocities(chain, links, before).V
    two_sweeps(chain, links, articulated_bodies(chain, links), old)


def two_sweeps(chain: Chain, links: Links, art: Articulated, old: Slots) -> Slots:
    """Write q̈ with the bias forces of the old velocities; return V for the next step.

    tip to base   z(k) = z⁺(k-1) + S[V] M V + f0        ε = τ - H z       V of the last step
                  z⁺(k) = z + P c + G (ε - H P c)       with c = V x H* q̇
    base to tip   V(k) = V(k+1) + H* q̇                  for the next step
                  q̈(k) = ε/D - G* (λ(k+1) + c)          λ(k) = λ(k+1) + H* q̈ + c
    """
    qd, tau, f0 = chain.input("qd"), chain.input("tau"), external_forces(chain, links)
    epsilon, c, z_plus = chain.scalars(), chain.slots(6), chain.child_sums(6)
    needed = conserving_torques(chain, links, qd)

    # innovations: the torque minus the contribution of everything outboard
    for k in chain.tip_to_base():
        H, body = links.H[k], chain.groups.joint_body(k) if chain.groups else k
        c[k] = scale(motion_cross(old[body], H), qd[k])
        gyro = force_cross(old[k], rigid_times(links.M[k], old[k]))
        z = add(z_plus[k], plus_external(f0, k, gyro))
        epsilon[k] = tau[k] - resisting_torque(chain, needed, k, qd[k]) - dot(H, z)
        share = scale(art.G[k], epsilon[k] - dot(art.PH[k], c[k]))
        z_plus.add_to_parent(k, add(add(z, articulated_times(art.P[k], c[k])), share))

    # velocities and accelerations in one sweep
    V, lam = chain.slots(6), chain.slots(6)
    V[chain.base], lam[chain.base] = ZERO6, base_acceleration(chain)
    for k in chain.base_to_tip():
        up = chain.inboard(k)
        V[k] = add(V[up], scale(links.H[k], qd[k]))
        carried = add(lam[up], c[k])
        qdd = art.Dinv[k] * epsilon[k] - dot(art.G[k], carried)
        lam[k] = add(carried, scale(links.H[k], qdd))
        chain.out("qdd", (k,), qdd)
    return V
