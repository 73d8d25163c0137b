"""Joint springs, and other conservative torques of a joint.

    spring(q) = k (q - rest)          potential energy ½ k (q - rest)²          slope k

A joint that mimics another has a spring of its own, which acts on the leader through the ratio.
Arms without springs need no extra operations.
"""

from __future__ import annotations

from robolin.dynamics.algebra.chain import Chain, LinkNumber, Scalars
from robolin.dynamics.algebra.scalar import Scalar
from robolin.dynamics.links.group_rotors import (
    carried_rotors,
    gyroscopic_change,
    gyroscopic_torque,
)
from robolin.dynamics.links.joint_friction import friction_loss
from robolin.dynamics.links.link_poses import Links


def conserving_torques(chain: Chain, links: Links, qd: Scalars) -> Scalars | None:
    """Torques of springs and of rotors of multi-DoF joints; None if the arm has neither."""
    rotors = carried_rotors(chain, links, qd)
    if rotors is None and not chain.springs:
        return None
    q, needed = chain.input("q"), chain.zeros()
    for k in chain.tip_to_base():
        if chain.springs:
            needed[k] = chain.stiffness(k) * (q[k] - chain.rest(k))
        if rotors is not None:
            needed[k] = needed[k] + gyroscopic_torque(chain, links, rotors, k)
    return needed


def conserving_changes(
    chain: Chain, links: Links, qd: Scalars, dq: Scalars, dqd: Scalars
) -> Scalars | None:
    """Perturbations of these torques by position and velocity; None without such torques."""
    rotors, change = (carried_rotors(chain, links, rates) for rates in (qd, dqd))
    if rotors is None and not chain.springs:
        return None
    needed = chain.zeros()
    for k in chain.tip_to_base():
        if chain.springs:
            needed[k] = chain.stiffness(k) * dq[k]
        if rotors is not None and change is not None:
            needed[k] = needed[k] + gyroscopic_change(chain, links, rotors, change, k)
    return needed


def resisting_torque(chain: Chain, needed: Scalars | None, k: LinkNumber, qd: Scalar) -> Scalar:
    """Torque of joint k against friction and the torques of `conserving_torques`."""
    loss = friction_loss(chain, k, qd)
    return loss if needed is None else loss + needed[k]


def with_stiffness(chain: Chain, j: LinkNumber, entry: Scalar, response: Scalar) -> Scalar:
    """Add the spring of joint j to an entry of ∂τ/∂q or -∂q̈/∂q.

    response: contribution of a unit torque at joint j to the entry
    """
    return entry + response * chain.stiffness(j) if chain.springs else entry
