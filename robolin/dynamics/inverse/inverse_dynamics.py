"""Inverse dynamics: torques from a motion (recursive Newton–Euler, RNEA, O(n))."""

from __future__ import annotations

from collections.abc import Callable

from robolin.dynamics.algebra.chain import Chain, Column, LinkNumber, Scalars, Sink
from robolin.dynamics.algebra.inertias import newton_euler, rigid_times
from robolin.dynamics.algebra.scalar import Vector
from robolin.dynamics.algebra.vectors import add, dot, force_cross
from robolin.dynamics.links.joint_torques import conserving_torques, friction_loss, resisting_torque
from robolin.dynamics.links.link_motion import motion
from robolin.dynamics.links.link_poses import Links, forward_kinematics
from robolin.dynamics.links.loads import external_forces, plus_external


def inverse_dynamics(chain: Chain) -> None:
    """τ from q, q̇ and q̈; body forces are computed in body axes, without forming M(k)."""
    links, qd, qdd = forward_kinematics(chain, weighed=False), chain.input("qd"), chain.input("qdd")
    moving = motion(chain, links, qd, qdd)

    def inertial(k: LinkNumber) -> Vector:
        return newton_euler(links.R[k], links.p[k], chain.body(k), moving.V[k], moving.alpha[k])

    _sum_up(chain, links, inertial, qd, qdd, chain.result("tau"))


def torques(chain: Chain, links: Links, qd: Scalars, qdd: Scalars, tau: Sink) -> None:
    """The same with known inertias M(k)."""
    moving = motion(chain, links, qd, qdd)

    def inertial(k: LinkNumber) -> Vector:
        M, V = links.M[k], moving.V[k]
        return add(rigid_times(M, moving.alpha[k]), force_cross(V, rigid_times(M, V)))

    _sum_up(chain, links, inertial, qd, qdd, tau)


def gravity_effort(chain: Chain, links: Links) -> Column:
    """Static torque that balances gravity and loads."""
    tau, still = chain.column(), chain.zeros()
    torques(chain, links, still, still, tau)
    return tau


def net_effort(chain: Chain, links: Links) -> Scalars:
    """Net torque that accelerates the arm: τ minus gravity, loads and friction."""
    qd, tau, standing = chain.input("qd"), chain.input("tau"), gravity_effort(chain, links)
    effort = chain.scalars()
    for k in chain.tip_to_base():
        effort[k] = tau[k] - standing[k] - friction_loss(chain, k, qd[k])
    return effort


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
    f = chain.child_sums(6)

    for k in chain.tip_to_base():
        # force for link k itself and everything outboard of it
        transmitted = add(f[k], plus_external(f0, k, inertial(k)))
        f.add_to_parent(k, transmitted)

        # the motor supplies only the component along the hinge
        along = dot(links.H[k], transmitted)
        rotor = along + chain.armature(k) * qdd[k]
        tau.put((k,), rotor + resisting_torque(chain, needed, k, qd[k]))
