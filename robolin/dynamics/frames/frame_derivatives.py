"""Derivatives of the motion of a frame by the state: ∂V/∂q, ∂a/∂q̇ and ∂a/∂q, O(n).

∂V/∂q̇ and ∂a/∂q̈ are the Jacobian itself.
"""

from __future__ import annotations

from robolin.dynamics.algebra.chain import Chain, LinkNumber
from robolin.dynamics.algebra.scalar import Vector
from robolin.dynamics.algebra.vectors import add, cross, motion_cross, sub
from robolin.dynamics.frames.frame_motion import (
    TipFrame,
    at_point,
    motion_at_tip,
    motion_without_gravity,
    tip_frame,
)
from robolin.dynamics.links.link_motion import Motion
from robolin.dynamics.links.link_poses import Links, forward_kinematics


def frame_derivatives(chain: Chain) -> None:
    """Derivatives of the spatial and of the classical motion of the frame at q, q̇, q̈.

    Spatial vectors are referred to the current position of the frame's point r, which is fixed:

        δV = [δV_ang; δV_lin + δV_ang x r]            and the same for δa

    Classical vectors follow the point, which moves by δr = H_lin + h x r with the joint:

        δv = δV_lin + δV_ang x r + w x δr
        δr̈ = δa_lin + δa_ang x r + ẇ x δr + δw x v + w x δv
    """
    links = forward_kinematics(chain, weighed=False)
    moving, tip = motion_without_gravity(chain, links), tip_frame(chain, links)
    V, a = motion_at_tip(moving, tip)

    for k in chain.path_of(tip.link):
        # at a fixed point
        J = at_point(links.H[k], tip.r)
        dV_dq, da_dqd, da_dq = changes = spatial_changes(chain, links, moving, tip, k)
        _out_column(chain, "dspatial_velocity_dq", k, dV_dq)
        _out_column(chain, "dspatial_acceleration_dqd", k, da_dqd)
        _out_column(chain, "dspatial_acceleration_dq", k, da_dq)

        # at the point that moves with the frame
        dtwist_dq, seen_dqd, seen_dq = classical_changes(J, V, a, changes)
        _out_column(chain, "dtwist_dq", k, dtwist_dq)
        _out_column(chain, "dclassical_acceleration_dqd", k, seen_dqd)
        _out_column(chain, "dclassical_acceleration_dq", k, seen_dq)


Changes = tuple[Vector, Vector, Vector]


def spatial_changes(
    chain: Chain, links: Links, moving: Motion, tip: TipFrame, k: LinkNumber
) -> Changes:
    """∂V/∂q, ∂a/∂q̇ and ∂a/∂q of joint k, referred to the current position of the frame's point."""
    dV_dq, da_dqd, da_dq = link_changes(chain, links, moving, tip, k)
    return at_point(dV_dq, tip.r), at_point(da_dqd, tip.r), at_point(da_dq, tip.r)


def classical_changes(J: Vector, V: Vector, a: Vector, changes: Changes) -> Changes:
    """The same for the point that moves with the frame, from its Jacobian column J, V and a."""
    dV_dq, da_dqd, da_dq = changes
    h, dr, w, v, turning = J[:3], J[3:], V[:3], V[3:], a[:3]
    dw, dv = dV_dq[:3], add(dV_dq[3:], cross(w, dr))
    spun = add(da_dqd[3:], add(cross(h, v), cross(w, dr)))
    carried = add(cross(turning, dr), add(cross(dw, v), cross(w, dv)))
    return dw + dv, da_dqd[:3] + spun, da_dq[:3] + add(da_dq[3:], carried)


def link_changes(
    chain: Chain, links: Links, moving: Motion, tip: TipFrame, k: LinkNumber
) -> Changes:
    """Derivatives of V and a of the frame's link by q and q̇ of joint k.

    A joint moves everything outboard of it; p is the link it is mounted on.

    ∂V/∂q = Ṗ* - V x H*      ∂a/∂q̇ = Ḣ* + Ṗ* - V x H*      ∂a/∂q = P̈* - V x Ṗ* - a x H*
    Ṗ* = V(p) x H*           P̈* = a(p) x H* + V(p) x Ṗ*
    """
    H, p = links.H[k], chain.groups.joint_parent(k)
    V, a = moving.V[tip.link], moving.alpha[tip.link]
    Pd = motion_cross(moving.V[p], H)
    Pdd = add(motion_cross(moving.alpha[p], H), motion_cross(moving.V[p], Pd))
    dV_dq = sub(Pd, motion_cross(V, H))
    da_dqd = add(moving.Hd[k], dV_dq)
    return dV_dq, da_dqd, sub(Pdd, add(motion_cross(V, Pd), motion_cross(a, H)))


def _out_column(chain: Chain, name: str, k: LinkNumber, X: Vector) -> None:
    for i in range(6):
        chain.out(name, (i, k), X[i])
