"""Derivatives of the loop-closure constraints by the state, for their linearization, O(n²)."""

from __future__ import annotations

from robolin.dynamics.algebra.chain import Chain, Closure, LinkNumber
from robolin.dynamics.algebra.scalar import Vector, where
from robolin.dynamics.algebra.vectors import ZERO3, cross
from robolin.dynamics.frames.frame_derivatives import classical_changes, spatial_changes
from robolin.dynamics.frames.frame_motion import (
    TipFrame,
    at_point,
    motion_at_tip,
    motion_without_gravity,
)
from robolin.dynamics.links.link_poses import Links, forward_kinematics
from robolin.dynamics.loops.closures import Ends, added_to_rows, closure_ends, in_rows, row_count

RESULTS = ("dclosure_velocity_dq", "dclosure_acceleration_dqd", "dclosure_acceleration_dq")


def linearize_closures(chain: Chain) -> None:
    """∂(L q̇)/∂q, ∂(L q̈ + L̇ q̇)/∂q̇ and ∂/∂q, and ∂L/∂q, from q, q̇ and q̈.

    The first three are differences between the two frames of a closure, at their moving points; the
    last, contracted with λ, is ∂(L* λ)/∂q for forces of constant direction.
    """
    links = forward_kinematics(chain, weighed=False)
    ends = closure_ends(chain, links)
    _motion_changes(chain, links, ends)

    # entries are zero for unrelated joints, and both frames may depend on one joint
    for row in range(row_count(chain)):
        for j in chain.tip_to_base():
            for c in chain.tip_to_base():
                chain.out("dclosure_jacobian_dq", (row, j, c), 0.0)
    for closure, first, second in ends:
        _jacobian_changes(chain, links, closure, first, 1.0)
        _jacobian_changes(chain, links, closure, second, -1.0)


def _motion_changes(chain: Chain, links: Links, ends: list[Ends]) -> None:
    """Derivatives of velocity and acceleration, summed in a slot per joint."""
    moving, count = motion_without_gravity(chain, links), row_count(chain)
    totals = [chain.slots(count) for _ in RESULTS]
    for k in chain.tip_to_base():
        for total in totals:
            total[k] = (0.0,) * count
    for closure, first, second in ends:
        for frame, sign in ((first, 1.0), (second, -1.0)):
            V, a = motion_at_tip(moving, frame)
            for k in chain.path_of(frame.link):
                J = at_point(links.H[k], frame.r)
                changes = spatial_changes(chain, links, moving, frame, k)
                seen = classical_changes(J, V, a, changes)
                for total, X in zip(totals, seen, strict=True):
                    total[k] = added_to_rows(total[k], closure, _signed(X, sign))
    for name, total in zip(RESULTS, totals, strict=True):
        for k in chain.tip_to_base():
            for row, entry in enumerate(total[k]):
                chain.out(name, (row, k), entry)


def _jacobian_changes(
    chain: Chain, links: Links, closure: Closure, frame: TipFrame, sign: float
) -> None:
    """∂J(j)/∂q(c) of one frame, [h; dr] its column of joint j, for c inboard of j or j itself.

    A joint c rotates everything outboard of it, including the columns of joints there:

        ∂dr(j)/∂q(c) = ∂dr(c)/∂q(j) = h(c) x dr(j)        ∂h(j)/∂q(c) = h(c) x h(j)

    All axes of a multi-DoF joint rotate with its body, so for c of the same joint also

        ∂dr(c)/∂q(j) = h(j) x dr(c)                       ∂h(c)/∂q(j) = h(j) x h(c)
    """
    for j in chain.path_of(frame.link):
        J = at_point(links.H[j], frame.r)
        for c in chain.inboard_of(j):
            h = links.H[c][:3]
            turned = cross(h, J[3:])
            _out_change(chain, closure, (j, c), cross(h, J[:3]) + turned, sign)
            back = ZERO3 + turned
            if chain.groups:
                own = at_point(links.H[c], frame.r)
                along = cross(J[:3], own[:3]) + cross(J[:3], own[3:])
                back = where(chain.groups.in_different_joints(j, c), back, along)
            _out_change(chain, closure, (c, j), back, sign)
        h = J[:3]
        _out_change(chain, closure, (j, j), ZERO3 + cross(h, J[3:]), sign)


def _out_change(
    chain: Chain, closure: Closure, pair: tuple[LinkNumber, LinkNumber], X: Vector, sign: float
) -> None:
    out = chain.result("dclosure_jacobian_dq")
    for i, entry in enumerate(in_rows(closure, _signed(X, sign))):
        out.add((closure.row + i, *pair), entry)


def _signed(X: Vector, sign: float) -> Vector:
    return X if sign > 0.0 else tuple(-x for x in X)
