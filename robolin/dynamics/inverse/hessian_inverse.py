"""Change of the gradient of λ*τ along one direction: a Hessian-vector product, O(n).

The prefix Δ is the change of a vector that an observer on link k sees while the motion changes by
δq, δq̇ and δq̈.  Inertias and hinge maps do not change for this observer.  A vector X of the link
inboard changes by -T x X in addition, with T = H* δq the motion of the hinge.  For a multi-DoF
joint, T is the motion of the whole joint, and the observer is on its body.
"""

from __future__ import annotations

from typing import NamedTuple

from robolin.dynamics.algebra.chain import Chain, LinkNumber, Scalars, Slots
from robolin.dynamics.algebra.inertias import (
    gyroscopic,
    gyroscopic_times,
    gyroscopic_transpose_times,
    rigid_times,
)
from robolin.dynamics.algebra.scalar import Vector
from robolin.dynamics.algebra.vectors import (
    ZERO6,
    add,
    angular,
    cross,
    dot,
    force_cross,
    motion_cross,
    scale,
    sub,
    twice,
)
from robolin.dynamics.inverse.gradient_inverse import Adjoint, MotionGradient, adjoint_sweeps
from robolin.dynamics.links.group_rotors import add_weighted_rotor_slopes
from robolin.dynamics.links.joint_torques import friction_curvature
from robolin.dynamics.links.link_motion import Motion, motion
from robolin.dynamics.links.link_poses import Links, forward_kinematics
from robolin.dynamics.links.loads import (
    apply_nonfollower_correction,
    excess_turns,
    nonfollower_curvature,
)
from robolin.dynamics.links.nominal_terms import NominalTerms, nominal_terms


class Direction(NamedTuple):
    """δq, δq̇ and δq̈."""

    dq: Scalars
    dqd: Scalars
    dqdd: Scalars


def hessian_inverse(chain: Chain) -> None:
    """Change of 𝓜 λ, A_D* λ and B_D* λ for δq, δq̇ and δq̈, with constant weights."""
    links = forward_kinematics(chain)
    into = MotionGradient(*map(chain.result, ("dgradient_qdd", "dgradient_qd", "dgradient_q")))
    along = Direction(*map(chain.input, ("dq", "dqd", "dqdd")))
    gradient_change(chain, links, chain.input("tau_weights"), along, into)


class Changes(NamedTuple):
    """Δ of velocity, acceleration and W (6 each); T (6), by link, and the motion s (6) of a link.

    T is the motion of the joint on its innermost link, and zero on its other links.
    """

    V: Slots
    alpha: Slots
    W: Slots
    T: Slots
    s: Slots


def gradient_change(
    chain: Chain, links: Links, weights: Scalars, along: Direction, into: MotionGradient
) -> None:
    """Differentiate `torque_gradient` line by line.

    tip to base   Δy(k) = M ΔW + Σ [Δy + S[T] y](k-1)     Δu(k) = 2 ΔM̂* W + 2 M̂* ΔW + Σ […](k-1)
    """
    qd, qdd = chain.input("qd"), chain.input("qdd")
    one, moving = nominal_terms(chain, links, qdd), motion(chain, links, qd, qdd)
    adjoint = adjoint_sweeps(chain, links, one, weights)
    delta = _perturbed_motion(chain, links, one, moving, adjoint.W, along)
    df = _perturbed_forces(chain, links, one, moving, delta, along.dq)

    rows = _Rows(chain, links, one, moving, delta)
    sums_y, sums_u = chain.child_sums(6), chain.child_sums(3)
    for k in chain.tip_to_base():
        H, M, (W, y, u) = links.H[k], links.M[k], (each[k] for each in adjoint)

        # momenta of the weights, seen from link k
        turned = gyroscopic_transpose_times(gyroscopic(M, delta.V[k]), W)
        dy = add(sums_y[k], rigid_times(M, delta.W[k]))
        du = add(turned, gyroscopic_transpose_times(one.Mhat[k], delta.W[k]))
        du = add(sums_u[k], twice(du))
        T = delta.T[k]
        sums_y.add_to_parent(k, add(dy, force_cross(T, y)))
        sums_u.add_to_parent(k, add(du, cross(angular(T), u)))

        # products of two factors: change one, then the other
        dHd, dPd, dHdd, dW_parent, W_parent = rows(k, adjoint.W)
        into.qdd.put((k,), dot(H, dy))

        by_qd = dot(twice(dHd), y) + dot(twice(one.Hd[k]), dy) + dot(angular(H), du)
        bend = friction_curvature(chain, k, qd[k])
        if bend is not None:
            by_qd = by_qd + bend * along.dqd[k] * weights[k]
        into.qd.put((k,), by_qd)

        by_q = dot(dHdd, y) + dot(one.Hdd[k], dy)
        by_q = by_q + (dot(angular(dPd), u) + dot(angular(one.Pd[k]), du))
        turning = dot(dW_parent, force_cross(H, one.f[k])) + dot(W_parent, force_cross(H, df[k]))
        into.q.put((k,), by_q + turning)

    _subtract_loads_that_do_not_turn(chain, links, adjoint, delta, into)
    add_weighted_rotor_slopes(chain, links, weights, along.dqd, into.qd)


def _perturbed_motion(
    chain: Chain, links: Links, one: NominalTerms, moving: Motion, W: Slots, along: Direction
) -> Changes:
    """The sweep of Algorithm 1, and the same for W.

    ΔV(k) = ΔV(k+1) + H* δq̇ + Ṗ* δq             z(k) = z(k+1) + H* δq̈ + 2 Ḣ* δq̇ + Ḧ* δq
    ΔW(k) = ΔW(k+1) + W(p) x H* δq              Δa(k) = z - V x ΔV
    """
    dV, z, dalpha, dW, T, s = (chain.slots(6) for _ in range(6))
    for each in (dV, z, dalpha, dW, s):
        each[chain.base] = ZERO6
    for k in chain.base_to_tip():
        up, H, dq, dqd = chain.inboard(k), links.H[k], along.dq[k], along.dqd[k]
        parent = _parent(chain, k)
        driven = add(scale(H, along.dqdd[k]), scale(one.Hd[k], dqd + dqd))
        z[k] = add(z[up], add(driven, scale(one.Hdd[k], dq)))
        dV[k] = add(dV[up], add(scale(H, dqd), scale(one.Pd[k], dq)))
        dalpha[k] = sub(z[k], motion_cross(moving.V[k], dV[k]))
        dW[k] = add(dW[up], scale(motion_cross(W[parent], H), dq))
        T[k] = scale(H, dq)
        s[k] = add(s[up], T[k])
    if chain.groups:
        _joint_motions(chain, s, T)
    return Changes(dV, dalpha, dW, T, s)


def _parent(chain: Chain, k: LinkNumber) -> LinkNumber:
    return chain.groups.joint_parent(k) if chain.groups else chain.inboard(k)


def _joint_motions(chain: Chain, s: Slots, T: Slots) -> None:
    """T(k) = s(body of k) - s(body of the link inboard): zero within a joint."""
    of_body = chain.slots(6)
    of_body[chain.base] = ZERO6
    for k in chain.base_to_tip():
        of_body[k] = s[chain.groups.joint_body(k)]
        T[k] = sub(of_body[k], of_body[chain.inboard(k)])


def _perturbed_forces(
    chain: Chain, links: Links, one: NominalTerms, moving: Motion, delta: Changes, dq: Scalars
) -> Slots:
    """Δf(k) = M z + 2 M̂ ΔV + Σ [Δf + S[T] f](k-1), with M z = M (Δa + V x ΔV)."""
    df, sums, excess = chain.slots(6), chain.child_sums(6), excess_turns(chain, links, dq)
    for k in chain.tip_to_base():
        z = add(delta.alpha[k], motion_cross(moving.V[k], delta.V[k]))
        gyro = gyroscopic_times(one.Mhat[k], twice(angular(delta.V[k])))
        own = add(rigid_times(links.M[k], z), gyro)
        df[k] = apply_nonfollower_correction(excess, k, add(sums[k], own))
        sums.add_to_parent(k, add(df[k], force_cross(delta.T[k], one.f[k])))
    return df


class _Rows:
    """Changes of the hinge rates, and of W on the link that carries the joint."""

    def __init__(
        self, chain: Chain, links: Links, one: NominalTerms, moving: Motion, delta: Changes
    ) -> None:
        self._chain, self._links, self._one = chain, links, one
        self._moving, self._delta = moving, delta

    def __call__(self, k: LinkNumber, W: Slots) -> tuple[Vector, Vector, Vector, Vector, Vector]:
        """ΔḢ*, ΔṖ*, ΔḦ*, ΔW(p) and W(p)."""
        chain, one, delta, moving = self._chain, self._one, self._delta, self._moving
        H, p = self._links.H[k], _parent(chain, k)
        T = self._joint_motion(k, p)
        dW = sub(delta.W[p], motion_cross(T, W[p]))
        if not chain.groups:
            V, dV = moving.V[k], delta.V[k]
            dHd = motion_cross(dV, H)
            dHdd = add(motion_cross(delta.alpha[k], H), motion_cross(dV, one.Hd[k]))
            return dHd, dHd, add(dHdd, motion_cross(V, dHd)), dW, W[p]

        # axes of a multi-DoF joint: the link p that carries it, seen from its body
        V, dV = moving.V[p], sub(delta.V[p], motion_cross(T, moving.V[p]))
        dalpha = sub(delta.alpha[p], motion_cross(T, moving.alpha[p]))
        dPd = motion_cross(dV, H)
        dHd = scale(add(dPd, motion_cross(delta.V[chain.groups.joint_body(k)], H)), 0.5)
        dPdd = add(add(motion_cross(dalpha, H), motion_cross(dV, one.Pd[k])), motion_cross(V, dPd))
        return dHd, dPd, dPdd, dW, W[p]

    def _joint_motion(self, k: LinkNumber, p: LinkNumber) -> Vector:
        if not self._chain.groups:
            return self._delta.T[k]
        s, body = self._delta.s, self._chain.groups.joint_body(k)
        return sub(s[body], s[p])


def _subtract_loads_that_do_not_turn(
    chain: Chain, links: Links, adjoint: Adjoint, delta: Changes, into: MotionGradient
) -> None:
    """Change of W(link)* nonfollower_correction(H*(c)), seen from the world."""
    for load in chain.loads:
        if load.model == "follower":
            continue
        W, s = adjoint.W[load.link], delta.s[load.link]
        dW = add(delta.W[load.link], motion_cross(s, W))
        for c in chain.path_of(load.link):
            H = links.H[c]
            body = chain.groups.joint_body(c) if chain.groups else c
            dH = motion_cross(delta.s[body], H)
            excess, change = nonfollower_curvature(load, links, s, H, dH)
            into.q.add((c,), -(dot(dW, excess) + dot(W, change)))
