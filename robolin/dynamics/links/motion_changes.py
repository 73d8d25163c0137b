"""Change of motion, hinge rates and adjoint velocities along one direction, seen from each link.

The prefix Δ is the change of a vector that an observer on link k sees while the motion changes by
δq, δq̇ and δq̈.  Inertias and hinge maps do not change for this observer.  A vector X of the link
inboard changes by -T x X in addition, with T = H* δq the motion of the hinge.  For a multi-DoF
joint, T is the motion of the whole joint, and the observer is on its body.
"""

from __future__ import annotations

from typing import NamedTuple

from robolin.dynamics.algebra.chain import Chain, LinkNumber, Scalars, Slots
from robolin.dynamics.algebra.inertias import gyroscopic_times, rigid_times
from robolin.dynamics.algebra.scalar import Vector
from robolin.dynamics.algebra.vectors import (
    ZERO6,
    add,
    angular,
    force_cross,
    motion_cross,
    scale,
    sub,
    twice,
)
from robolin.dynamics.links.link_motion import Motion, NominalTerms
from robolin.dynamics.links.link_poses import Links
from robolin.dynamics.links.loads import apply_nonfollower_correction, excess_turns


class Direction(NamedTuple):
    """δq, δq̇ and δq̈."""

    dq: Scalars
    dqd: Scalars
    dqdd: Scalars


class Changes(NamedTuple):
    """Δ of velocity, acceleration and W (6 each); T (6), by link, and the motion s (6) of a link.

    T is the motion of the joint on its innermost link, and zero on its other links.
    """

    V: Slots
    alpha: Slots
    W: Slots
    T: Slots
    s: Slots


def perturbed_motion(
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


def perturbed_forces(
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


class HingeChanges:
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
