"""Gradient of weighted torques λ*τ by position, velocity and acceleration, O(n).

The transpose of Algorithm 1: its sweeps run in the opposite order, and no matrix is formed.
"""

from __future__ import annotations

from typing import NamedTuple

from robolin.dynamics.algebra.chain import Chain, Scalars, Sink, Slots
from robolin.dynamics.algebra.inertias import gyroscopic_transpose_times, rigid_times
from robolin.dynamics.algebra.scalar import Scalar
from robolin.dynamics.algebra.vectors import ZERO6, add, angular, dot, force_cross, scale, twice
from robolin.dynamics.links.group_rotors import add_weighted_rotor_slopes
from robolin.dynamics.links.joint_torques import friction_slope, with_stiffness
from robolin.dynamics.links.link_motion import NominalTerms, nominal_terms
from robolin.dynamics.links.link_poses import Links, forward_kinematics
from robolin.dynamics.links.loads import nonfollower_correction


def gradient_inverse(chain: Chain) -> None:
    """𝓜 λ, A_D* λ and B_D* λ at q, q̇, q̈."""
    links = forward_kinematics(chain)
    one = nominal_terms(chain, links, chain.input("qdd"))
    into = MotionGradient(*map(chain.result, ("gradient_qdd", "gradient_qd", "gradient_q")))
    torque_gradient(chain, links, one, chain.input("tau_weights"), into)


class MotionGradient(NamedTuple):
    """Outputs for the gradient by q̈, q̇ and q."""

    qdd: Sink
    qd: Sink
    q: Sink


class Adjoint(NamedTuple):
    """W (6), y (6) and u (3) of every link; see `adjoint_sweeps`."""

    W: Slots
    y: Slots
    u: Slots


def adjoint_sweeps(chain: Chain, links: Links, one: NominalTerms, weights: Scalars) -> Adjoint:
    """The link velocities W that the weights cause as joint velocities, and their momenta.

    base to tip   W(k) = W(k+1) + H* λ
    tip to base   y(k) = y(k-1) + M W                    u(k) = u(k-1) + 2 M̂* W
    """
    W, y, u = chain.slots(6), chain.slots(6), chain.slots(3)
    W[chain.base] = ZERO6
    for k in chain.base_to_tip():
        W[k] = add(W[chain.inboard(k)], scale(links.H[k], weights[k]))

    sums_y, sums_u = chain.child_sums(6), chain.child_sums(3)
    for k in chain.tip_to_base():
        y[k] = add(sums_y[k], rigid_times(links.M[k], W[k]))
        u[k] = add(sums_u[k], twice(gyroscopic_transpose_times(one.Mhat[k], W[k])))
        sums_y.add_to_parent(k, y[k])
        sums_u.add_to_parent(k, u[k])
    return Adjoint(W, y, u)


def torque_gradient(
    chain: Chain, links: Links, one: NominalTerms, weights: Scalars, into: MotionGradient
) -> Adjoint:
    """Project on every hinge; p is the link that carries the joint of k.

    ∂/∂q̈(k) = H y         ∂/∂q̇(k) = 2 Ḣ y + H u         ∂/∂q(k) = Ḧ y + Ḣ u + W(p)* S[H*] f
    """
    qd, adjoint = chain.input("qd"), adjoint_sweeps(chain, links, one, weights)
    W, y, u = adjoint
    for k in chain.tip_to_base():
        H, weight = links.H[k], weights[k]
        into.qdd.put((k,), dot(H, y[k]) + chain.armature(k) * weight)
        carried = dot(twice(one.Hd[k]), y[k]) + dot(angular(H), u[k])
        into.qd.put((k,), carried + friction_slope(chain, k, qd[k]) * weight)

        # the transmitted force rotates with hinge k, which affects the weights inboard
        parent = chain.groups.joint_parent(k) if chain.groups else chain.inboard(k)
        turned = dot(W[parent], force_cross(H, one.f[k]))
        moved = dot(one.Hdd[k], y[k]) + dot(angular(one.Pd[k]), u[k])
        into.q.put((k,), with_stiffness(chain, k, moved + turned, weight))

    _subtract_loads_that_do_not_turn(chain, links, W, into.q)
    add_weighted_rotor_slopes(chain, links, weights, qd, into.qd)
    return adjoint


def _subtract_loads_that_do_not_turn(chain: Chain, links: Links, W: Slots, into: Sink) -> None:
    """Loads fixed in the world do not rotate with the hinges inboard of them."""
    for load in chain.loads:
        if load.model != "follower":
            for c in chain.path_of(load.link):
                excess: Scalar = dot(W[load.link], nonfollower_correction(load, links, links.H[c]))
                into.add((c,), -excess)
