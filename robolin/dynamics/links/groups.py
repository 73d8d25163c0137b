"""Joints with several freedoms: one link for each, all axes fixed in the body outermost.

    Ḣ*(k) = V(body) x H*(k)                     the axis as its body carries it along
    Ṗ*(k) = V(p) x H*(k)                        as the link p that the joint sits on would
    P̈*(k) = a(p) x H*(k) + V(p) x Ṗ*(k)

With one freedom Ṗ* = Ḣ* and P̈* = Ḧ*, because an axis does not turn about itself.  With several,
the linearizations meet Ḣ* + Ṗ* where they would meet 2 Ḣ*, and else Ṗ* and P̈*.

When a freedom c moves, the force that reaches the body turns with it.  Hinges inboard feel that,
S[H*(c)] f, but the other freedoms of the same joint turn as well and feel nothing of it.  The
recursions run through them nevertheless, and what they add there is taken back here.
"""

from __future__ import annotations

from typing import NamedTuple

from robolin.dynamics.algebra.chain import Chain, LinkNumber, Scalars, Sink, Slots
from robolin.dynamics.algebra.scalar import Scalar
from robolin.dynamics.algebra.vectors import ZERO6, add, dot, force_cross, motion_cross, scale
from robolin.dynamics.links.link_poses import Links
from robolin.dynamics.mass_matrix.apply_inverse_mass import apply_inverse_mass
from robolin.dynamics.mass_matrix.articulated_bodies import Articulated


def body_rates(chain: Chain, links: Links, V: Slots) -> Slots:
    """Ḣ* of every link."""
    Hd = chain.slots(6)
    for k in chain.base_to_tip():
        Hd[k] = motion_cross(V[chain.groups.outermost(k)], links.H[k])
    return Hd


class Rates(NamedTuple):
    """½ (Ḣ* + Ṗ*), Ṗ* and P̈* (6 each) of every link."""

    mean: Slots
    Pd: Slots
    Pdd: Slots


def carried_rates(chain: Chain, links: Links, V: Slots, Hd: Slots, alpha: Slots) -> Rates:
    """What the linearizations need in place of Ḣ* and Ḧ*."""
    mean, Pd, Pdd = chain.slots(6), chain.slots(6), chain.slots(6)
    for k in chain.base_to_tip():
        p, H = chain.groups.carrier(k), links.H[k]
        Pd[k] = motion_cross(V[p], H)
        mean[k] = scale(add(Hd[k], Pd[k]), 0.5)
        Pdd[k] = add(motion_cross(alpha[p], H), motion_cross(V[p], Pd[k]))
    return Rates(mean, Pd, Pdd)


def same_joint_terms(chain: Chain, links: Links, f: Slots, dq: Scalars) -> Scalars | None:
    """H(k) S[Σ H*(c) δq(c)] f for the partners c outboard of k; None if no joint has any."""
    if not chain.groups:
        return None
    own = chain.scalars()
    for k in chain.tip_to_base():
        # all that the partners turn the body by, and what that would do to hinge k
        twist = chain.cell(ZERO6)
        for c in chain.groups.same_joint_outboard(k):
            twist.value = add(twist.value, scale(links.H[c], dq[c]))
        own[k] = dot(links.H[k], force_cross(twist.value, f[k]))
    return own


def without_same_joint(own: Scalars | None, k: LinkNumber, torque: Scalar) -> Scalar:
    """The change of torque at k, less what only its own joint's turning made of it."""
    return torque if own is None else torque - own[k]


def subtract_same_joint(chain: Chain, links: Links, f: Slots, BD: Sink) -> None:
    """B_D(k,c) -= H(k) S[H*(c)] f, for the partners c outboard of k."""
    if chain.groups:
        for k in chain.groups.with_partners():
            for c in chain.groups.same_joint_outboard(k):
                BD.add((k, c), -dot(links.H[k], force_cross(links.H[c], f[k])))


def correct_for_groups(chain: Chain, links: Links, art: Articulated, f: Slots) -> None:
    """∂q̈/∂q(·,c) += 𝓜⁻¹(·,k) H(k) S[H*(c)] f, for the partners c outboard of k."""
    if not chain.groups:
        return
    dqdd_dq = chain.result("dqdd_dq")
    for k in chain.groups.with_partners():
        # how the arm responds to hinge k
        push = chain.zeros()
        push[k] = 1.0
        column = apply_inverse_mass(chain, links, art, push)

        # to which every partner did too much
        for c in chain.groups.same_joint_outboard(k):
            own = dot(links.H[k], force_cross(links.H[c], f[k]))
            for j in chain.tip_to_base():
                dqdd_dq.add((j, c), column[j] * own)
