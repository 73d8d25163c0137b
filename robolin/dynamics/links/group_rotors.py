"""Armature of the translations of multi-DoF joints.

The kinetic energy ½ Σ a(k) q̇(k)² of the translations is that of a mass which moves with the body
relative to the link p that carries the joint.  Velocities q̇ are in the axes of the body, which
rotate, so that a q̈ is not the total force.  With X = V(body) - V(p) and the unit force
F(k) = [r x h; h] along translation k at the body's origin r,

    L    = Σ a(k) q̇(k) F(k)                       momentum relative to p
    b(j) = H(j) S[X] L = (H*(j) x X)* L           for every axis j of the joint

which is a ω x v if all translations have the same armature a.  Rotations have no such term if
their armatures are equal, as in a ball joint.
"""

from __future__ import annotations

from typing import NamedTuple

from robolin.dynamics.algebra.chain import Chain, LinkNumber, Scalars, Sink, Slots
from robolin.dynamics.algebra.scalar import Scalar, Vector, where
from robolin.dynamics.algebra.vectors import ZERO6, add, cross, dot, motion_cross, scale
from robolin.dynamics.links.link_poses import Links
from robolin.dynamics.mass_matrix.articulated_bodies import Articulated, apply_inverse_mass


class CarriedRotors(NamedTuple):
    """Relative twist X (6) and rotor momentum L (6), by the body of each joint."""

    X: Slots
    L: Slots


def carried_rotors(chain: Chain, links: Links, qd: Scalars) -> CarriedRotors | None:
    """X and L for the velocities qd; None if no such translation has armature."""
    if not chain.group_rotors:
        return None
    rotors = CarriedRotors(relative_twists(chain, links, qd), chain.slots(6))
    for k in chain.tip_to_base():
        rotors.L[k] = ZERO6
    for k in chain.tip_to_base():
        body = chain.groups.joint_body(k)
        momentum = scale(unit_force(chain, links, k), chain.armature(k) * qd[k])
        rotors.L[body] = add(rotors.L[body], momentum)
    return rotors


def relative_twists(chain: Chain, links: Links, qd: Scalars) -> Slots:
    """X(body) = Σ H*(k) q̇(k) over the axes of its joint."""
    X = chain.slots(6)
    for k in chain.tip_to_base():
        X[k] = ZERO6
    for k in chain.tip_to_base():
        body = chain.groups.joint_body(k)
        X[body] = add(X[body], scale(links.H[k], qd[k]))
    return X


def unit_force(chain: Chain, links: Links, k: LinkNumber) -> Vector:
    """F(k): H(j) F(k) is 1 for j = k and 0 for the other axes; zero if k is a rotation."""
    h = links.H[k][3:]
    return where(chain.is_revolute(k), ZERO6, cross(links.p[chain.groups.joint_body(k)], h) + h)


def gyroscopic_torque(chain: Chain, links: Links, rotors: CarriedRotors, k: LinkNumber) -> Scalar:
    """b(k)."""
    body = chain.groups.joint_body(k)
    return dot(motion_cross(links.H[k], rotors.X[body]), rotors.L[body])


def gyroscopic_change(
    chain: Chain, links: Links, at: CarriedRotors, change: CarriedRotors, k: LinkNumber
) -> Scalar:
    """δb(k) for perturbed velocities; `change` holds X and L of the perturbation alone."""
    body, H = chain.groups.joint_body(k), links.H[k]
    turned = dot(motion_cross(H, change.X[body]), at.L[body])
    return turned + dot(motion_cross(H, at.X[body]), change.L[body])


def gyroscopic_slope(
    chain: Chain, links: Links, rotors: CarriedRotors, k: LinkNumber, c: LinkNumber
) -> Scalar:
    """∂b(k)/∂q̇(c) for axes k and c of one joint."""
    body, H = chain.groups.joint_body(k), links.H[k]
    turned = dot(motion_cross(H, links.H[c]), rotors.L[body])
    carried = dot(motion_cross(H, rotors.X[body]), unit_force(chain, links, c))
    return turned + chain.armature(c) * carried


def add_rotor_slopes(chain: Chain, links: Links, AD: Sink) -> None:
    """A_D(k,c) += ∂b(k)/∂q̇(c)."""
    rotors = carried_rotors(chain, links, chain.input("qd"))
    if rotors is not None:
        for k in chain.groups.with_partners():
            for c in chain.groups.same_joint_outboard(k):
                AD.add((k, c), gyroscopic_slope(chain, links, rotors, k, c))
                AD.add((c, k), gyroscopic_slope(chain, links, rotors, c, k))


def add_weighted_rotor_slopes(
    chain: Chain, links: Links, weights: Scalars, qd: Scalars, into: Sink
) -> None:
    """into(c) += Σ λ(k) ∂b(k)/∂q̇(c) = (Y x H*(c))* L + a(c) (Y x X)* F(c), with Y = Σ H*(k) λ(k).

    It is linear in the velocities, so its change for δq̇ is its value there.
    """
    rotors = carried_rotors(chain, links, qd)
    if rotors is not None:
        Y = relative_twists(chain, links, weights)
        for c in chain.tip_to_base():
            body = chain.groups.joint_body(c)
            turned = dot(motion_cross(Y[body], links.H[c]), rotors.L[body])
            carried = dot(motion_cross(Y[body], rotors.X[body]), unit_force(chain, links, c))
            into.add((c,), turned + chain.armature(c) * carried)


def add_rotor_coriolis(chain: Chain, links: Links, qd: Scalars, C: Sink) -> None:
    """C(k,c) += (H*(k) x H*(c))* L, which is skew, as armature is constant, and C q̇ = b."""
    rotors = carried_rotors(chain, links, qd)
    if rotors is not None:
        for k in chain.groups.with_partners():
            L = rotors.L[chain.groups.joint_body(k)]
            for c in chain.groups.same_joint_outboard(k):
                entry = dot(motion_cross(links.H[k], links.H[c]), L)
                C.add((k, c), entry)
                C.add((c, k), -entry)


def correct_for_rotors(chain: Chain, links: Links, art: Articulated) -> None:
    """∂q̈/∂q̇(·,c) -= 𝓜⁻¹ [∂b(k)/∂q̇(c)] over the axes k of the joint of c."""
    rotors = carried_rotors(chain, links, chain.input("qd"))
    if rotors is None:
        return
    dqdd_dqd = chain.result("dqdd_dqd")
    for c in chain.tip_to_base():
        # torque at the axes of the joint for a unit velocity of its axis c
        push = chain.scalars()
        for k in chain.tip_to_base():
            slope = gyroscopic_slope(chain, links, rotors, k, c)
            push[k] = where(chain.groups.in_different_joints(k, c), (0.0,), (slope,))[0]

        # accelerates the arm the other way
        response = apply_inverse_mass(chain, links, art, push)
        for j in chain.branch_of(c):
            dqdd_dqd.add((j, c), -response[j])
