"""Multi-DoF joints: one virtual link per axis, all axes fixed in the body that the joint carries.

    Ḣ*(k) = V(body) x H*(k)                     rate of the axis fixed in its body
    Ṗ*(k) = V(p) x H*(k)                        rate if it were fixed in the link p inboard
    P̈*(k) = a(p) x H*(k) + V(p) x Ṗ*(k)

For a single DoF Ṗ* = Ḣ* and P̈* = Ḧ*, because the rotation about an axis does not change it.  For
several, the linearizations contain Ḣ* + Ṗ* in place of 2 Ḣ*, and Ṗ* and P̈* elsewhere.

When axis c of a joint moves, the force on the body rotates with it.  This changes the torque at
hinges inboard by S[H*(c)] f, but not at the other axes of the same joint, which also rotate.  The
recursions include these axes too; the functions here subtract the excess.
"""

from typing import NamedTuple

from robolin.dynamics.algebra.chain import Chain, LinkNumber, Scalars, Sink, Slots
from robolin.dynamics.algebra.scalar import Scalar
from robolin.dynamics.algebra.vectors import ZERO6, add, dot, force_cross, motion_cross, scale
from robolin.dynamics.links.link_poses import Links
from robolin.dynamics.mass_matrix.articulated_bodies import Articulated, apply_inverse_mass


def body_rates(chain: Chain, links: Links, V: Slots) -> Slots:
    """Ḣ* of every link."""
    Hd = chain.slots(6)
    for k in chain.base_to_tip():
        Hd[k] = motion_cross(V[chain.groups.joint_body(k)], links.H[k])
    return Hd


# annotations are evaluated: a named tuple compiles texts, 1.3 million instructions each
class Rates(NamedTuple):
    """½ (Ḣ* + Ṗ*), Ṗ* and P̈* (6 each) of every link."""

    mean: Slots
    Pd: Slots
    Pdd: Slots


def carried_rates(chain: Chain, links: Links, V: Slots, Hd: Slots, alpha: Slots) -> Rates:
    """Rates that the linearizations use in place of Ḣ* and Ḧ*."""
    mean, Pd, Pdd = chain.slots(6), chain.slots(6), chain.slots(6)
    for k in chain.base_to_tip():
        p, H = chain.groups.joint_parent(k), links.H[k]
        Pd[k] = motion_cross(V[p], H)
        mean[k] = scale(add(Hd[k], Pd[k]), 0.5)
        Pdd[k] = add(motion_cross(alpha[p], H), motion_cross(V[p], Pd[k]))
    return Rates(mean, Pd, Pdd)


def same_joint_terms(chain: Chain, links: Links, f: Slots, dq: Scalars) -> Scalars | None:
    """H(k) S[Σ H*(c) δq(c)] f, axes c of the same joint outboard of k; None without groups."""
    if not chain.groups:
        return None
    own = chain.scalars()
    for k in chain.tip_to_base():
        # rotation of the body by the other axes, and its spurious torque at hinge k
        twist = chain.accumulator(ZERO6)
        for c in chain.groups.same_joint_outboard(k):
            twist.value = add(twist.value, scale(links.H[c], dq[c]))
        own[k] = dot(links.H[k], force_cross(twist.value, f[k]))
    return own


def without_same_joint(own: Scalars | None, k: LinkNumber, torque: Scalar) -> Scalar:
    """The perturbed torque at k minus the spurious terms of its own joint."""
    return torque if own is None else torque - own[k]


def subtract_same_joint(chain: Chain, links: Links, f: Slots, BD: Sink) -> None:
    """B_D(k,c) -= H(k) S[H*(c)] f, for axes c of the same joint outboard of k."""
    if chain.groups:
        for k in chain.groups.with_partners():
            for c in chain.groups.same_joint_outboard(k):
                BD.add((k, c), -dot(links.H[k], force_cross(links.H[c], f[k])))


def correct_for_groups(chain: Chain, links: Links, art: Articulated, f: Slots) -> None:
    """∂q̈/∂q(·,c) += 𝓜⁻¹(·,k) H(k) S[H*(c)] f, for axes c of the same joint outboard of k."""
    if not chain.groups:
        return
    dqdd_dq = chain.result("dqdd_dq")
    for k in chain.groups.with_partners():
        # response of the arm to a unit torque at hinge k
        push = chain.zeros()
        push[k] = 1.0
        column = apply_inverse_mass(chain, links, art, push)

        # times the spurious torque of each axis of the same joint
        for c in chain.groups.same_joint_outboard(k):
            own = dot(links.H[k], force_cross(links.H[c], f[k]))
            for j in chain.branch_of(c):
                dqdd_dq.add((j, c), column[j] * own)
