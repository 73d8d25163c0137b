"""Inverse dynamics: the torques that a motion needs (recursive Newton–Euler, O(n))."""

from __future__ import annotations

from collections.abc import Callable

from robolin.dynamics.algebra.chain import Chain, LinkNumber, Scalars, Sink
from robolin.dynamics.algebra.inertias import newton_euler, rigid_times
from robolin.dynamics.algebra.scalar import Vector
from robolin.dynamics.algebra.vectors import add, dot, force_cross
from robolin.dynamics.links.joint_springs import conserving_torques, resisting_torque
from robolin.dynamics.links.link_motion import motion
from robolin.dynamics.links.link_poses import Links, forward_kinematics
from robolin.dynamics.links.loads import external_forces, plus_external


def inverse_dynamics(chain: Chain) -> None:
    """τ from q, q̇ and q̈; each body is looked at in its own axes, which needs no M(k)."""
    links, qd, qdd = forward_kinematics(chain, weighed=False), chain.given("qd"), chain.given("qdd")
    moving = motion(chain, links, qd, qdd)

    def inertial(k: LinkNumber) -> Vector:
        return newton_euler(links.R[k], links.p[k], chain.body(k), moving.V[k], moving.alpha[k])

    _sum_up(chain, links, inertial, qd, qdd, chain.result("tau"))


def torques(chain: Chain, links: Links, qd: Scalars, qdd: Scalars, tau: Sink) -> None:
    """The same where the inertias M(k) are there already."""
    moving = motion(chain, links, qd, qdd)

    def inertial(k: LinkNumber) -> Vector:
        M, V = links.M[k], moving.V[k]
        return add(rigid_times(M, moving.alpha[k]), force_cross(V, rigid_times(M, V)))

    _sum_up(chain, links, inertial, qd, qdd, tau)


def _sum_up(
    chain: Chain,
    links: Links,
    inertial: Callable[[LinkNumber], Vector],
    qd: Scalars,
    qdd: Scalars,
    tau: Sink,
) -> None:
    """Newton–Euler: forces are summed from the tip to the base.

    f(k) = f(k-1) + M(k) a(k) + S[V(k)] M(k) V(k) + f0(k)
    τ(k) = H(k) f(k) + armature q̈(k) + friction + spring
    """
    f0, needed = external_forces(chain, links), conserving_torques(chain, links, qd)
    f = chain.sums(6)

    for k in chain.tip_to_base():
        # what link k itself needs, and everything it carries
        transmitted = add(f[k], plus_external(f0, k, inertial(k)))
        f.add_to_parent(k, transmitted)

        # only the part along the hinge is the motor's
        along = dot(links.H[k], transmitted)
        rotor = along + chain.armature(k) * qdd[k]
        tau.put((k,), rotor + resisting_torque(chain, needed, k, qd[k]))
