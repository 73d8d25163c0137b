"""Inverse dynamics: the torques that a motion needs (recursive Newton–Euler, O(n))."""

from __future__ import annotations

from robolin.algebra.chain import Chain, Put, Scalars
from robolin.algebra.inertias import rigid_times
from robolin.algebra.vectors import add, dot, force_cross
from robolin.dynamics.joint_friction import friction_loss
from robolin.dynamics.kinematics import Links, place_links
from robolin.dynamics.loads import outside_forces, with_outside
from robolin.dynamics.motion import motion


def inverse_dynamics(chain: Chain) -> None:
    """τ from q, q̇ and q̈."""
    links = place_links(chain)
    torques(chain, links, chain.given("qd"), chain.given("qdd"), chain.out)


def torques(chain: Chain, links: Links, qd: Scalars, qdd: Scalars, put: Put) -> None:
    """Newton–Euler: forces are summed from the tip to the base.

    f(k) = f(k-1) + M(k) a(k) + S[V(k)] M(k) V(k) + f0(k)
    τ(k) = H(k) f(k) + armature q̈(k) + friction
    """
    moving = motion(chain, links, qd, qdd)
    f0 = outside_forces(chain, links)
    f = chain.sums(6)

    for k in chain.tip_to_base():
        M, V = links.M[k], moving.V[k]

        # what link k itself needs, and everything it carries
        inertial = add(rigid_times(M, moving.alpha[k]), force_cross(V, rigid_times(M, V)))
        transmitted = add(f[k], with_outside(f0, k, inertial))
        f.hand_inboard(k, transmitted)

        # only the part along the hinge is the motor's
        along = dot(links.H[k], transmitted)
        put("tau", (k,), along + chain.armature(k) * qdd[k] + friction_loss(chain, k, qd[k]))
