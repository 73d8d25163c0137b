"""Gradient of weighted torques λ*τ by position, velocity and acceleration, and its change, O(n).

The transpose of Algorithm 1: its sweeps run in the opposite order, and no matrix is formed.
Δ is the change that an observer on the link sees, as in dynamics/links/motion_changes.py.
"""

from __future__ import annotations

from typing import NamedTuple

from robolin.dynamics.algebra.chain import Chain, Scalars, Sink, Slots
from robolin.dynamics.algebra.inertias import gyroscopic, gyroscopic_transpose_times, rigid_times
from robolin.dynamics.algebra.vectors import (
    ZERO6,
    add,
    angular,
    cross,
    dot,
    force_cross,
    scale,
)
from robolin.dynamics.links.group_rotors import add_weighted_rotor_slopes
from robolin.dynamics.links.joint_torques import friction_curvature, friction_slope, with_stiffness
from robolin.dynamics.links.link_motion import Motion, NominalTerms, motion, nominal_terms
from robolin.dynamics.links.link_poses import Links, forward_kinematics
from robolin.dynamics.links.loads import (
    subtract_corrections_changed,
    subtract_weighted_corrections,
)
from robolin.dynamics.links.motion_changes import (
    Direction,
    HingeChanges,
    perturbed_forces,
    perturbed_motion,
)


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
    tip to base   y(k) = y(k-1) + M W                    u(k) = u(k-1) + M̂* W
    """
    W, y, u = chain.slots(6), chain.slots(6), chain.slots(3)
    W[chain.base] = ZERO6
    for k in chain.base_to_tip():
        W[k] = add(W[chain.inboard(k)], scale(links.H[k], weights[k]))

    sums_y, sums_u = chain.child_sums(6), chain.child_sums(3)
    for k in chain.tip_to_base():
        y[k] = add(sums_y[k], rigid_times(links.M[k], W[k]))
        u[k] = add(sums_u[k], gyroscopic_transpose_times(one.Mhat[k], W[k]))
        sums_y.add_to_parent(k, y[k])
        sums_u.add_to_parent(k, u[k])
    return Adjoint(W, y, u)


def torque_gradient(
    chain: Chain, links: Links, one: NominalTerms, weights: Scalars, into: MotionGradient
) -> Adjoint:
    """Project on every hinge; p is the link that carries the joint of k.

    ∂/∂q̈(k) = H y     ∂/∂q̇(k) = 2 (Ḣ y + H u)     ∂/∂q(k) = Ḧ y + 2 Ḣ u + W(p)* S[H*] f
    """
    qd, adjoint = chain.input("qd"), adjoint_sweeps(chain, links, one, weights)
    W, y, u = adjoint
    for k in chain.tip_to_base():
        H, weight = links.H[k], weights[k]
        into.qdd.put((k,), dot(H, y[k]) + chain.armature(k) * weight)
        carried = dot(one.Hd[k], y[k]) + dot(angular(H), u[k])
        into.qd.put((k,), 2.0 * carried + friction_slope(chain, k, qd[k]) * weight)

        # the transmitted force rotates with hinge k, which affects the weights inboard
        parent = chain.groups.joint_parent(k) if chain.groups else chain.inboard(k)
        turned = dot(W[parent], force_cross(H, one.f[k]))
        moved = dot(one.Hdd[k], y[k]) + 2.0 * dot(angular(one.Pd[k]), u[k])
        into.q.put((k,), with_stiffness(chain, k, moved + turned, weight))

    subtract_weighted_corrections(chain, links, W, into.q)
    add_weighted_rotor_slopes(chain, links, weights, qd, into.qd)
    return adjoint


def hessian_inverse(chain: Chain) -> None:
    """Change of 𝓜 λ, A_D* λ and B_D* λ for δq, δq̇ and δq̈, with constant weights."""
    links = forward_kinematics(chain)
    into = MotionGradient(*map(chain.result, ("dgradient_qdd", "dgradient_qd", "dgradient_q")))
    along, qdd = Direction(*map(chain.input, ("dq", "dqd", "dqdd"))), chain.input("qdd")
    moving = motion(chain, links, chain.input("qd"), qdd)
    one = nominal_terms(chain, links, qdd, moving)
    gradient_change(chain, links, one, moving, chain.input("tau_weights"), along, into)


def gradient_change(
    chain: Chain,
    links: Links,
    one: NominalTerms,
    moving: Motion,
    weights: Scalars,
    along: Direction,
    into: MotionGradient,
) -> None:
    """Differentiate `torque_gradient` line by line.

    tip to base   Δy(k) = M ΔW + Σ [Δy + S[T] y](k-1)     Δu(k) = ΔM̂* W + M̂* ΔW + Σ […](k-1)
    """
    qd = chain.input("qd")
    adjoint = adjoint_sweeps(chain, links, one, weights)
    delta = perturbed_motion(chain, links, one, moving, adjoint.W, along)
    df = perturbed_forces(chain, links, one, moving, delta, along.dq)

    changes = HingeChanges(chain, links, one, moving, delta)
    sums_y, sums_u = chain.child_sums(6), chain.child_sums(3)
    for k in chain.tip_to_base():
        H, M, (W, y, u) = links.H[k], links.M[k], (each[k] for each in adjoint)

        # momenta of the weights, seen from link k
        turned = gyroscopic_transpose_times(gyroscopic(M, delta.V[k]), W)
        dy = add(sums_y[k], rigid_times(M, delta.W[k]))
        du = add(turned, gyroscopic_transpose_times(one.Mhat[k], delta.W[k]))
        du = add(sums_u[k], du)
        T = delta.T[k]
        sums_y.add_to_parent(k, add(dy, force_cross(T, y)))
        sums_u.add_to_parent(k, add(du, cross(angular(T), u)))

        # products of two factors: change one, then the other
        dHd, dPd, dHdd, dW_parent, W_parent = changes(k, adjoint.W)
        into.qdd.put((k,), dot(H, dy))

        by_qd = 2.0 * (dot(dHd, y) + dot(one.Hd[k], dy) + dot(angular(H), du))
        bend = friction_curvature(chain, k, qd[k])
        if bend is not None:
            by_qd = by_qd + bend * along.dqd[k] * weights[k]
        into.qd.put((k,), by_qd)

        by_q = dot(dHdd, y) + dot(one.Hdd[k], dy)
        by_q = by_q + 2.0 * (dot(angular(dPd), u) + dot(angular(one.Pd[k]), du))
        turning = dot(dW_parent, force_cross(H, one.f[k])) + dot(W_parent, force_cross(H, df[k]))
        into.q.put((k,), by_q + turning)

    subtract_corrections_changed(chain, links, adjoint.W, delta.W, delta.s, into.q)
    add_weighted_rotor_slopes(chain, links, weights, along.dqd, into.qd)
