"""External wrenches, and their derivatives when the arm moves.

f0 is the wrench that a link exerts on its surroundings, about the inertial frame.  With N and F
its moment and force in world axes and r the point they act at,

    f0 = [N + r x F; F]

    follower   N and F rotate with the link
    dead       N and F keep their direction, r moves with the link
    world      f0 itself is constant

The recursions rotate every force of a link with it.  Dead and world loads do not rotate;
`nonfollower_correction` computes the excess for a small twist X = [h; …] of the link.
"""

from __future__ import annotations

from robolin.dynamics.algebra.chain import Chain, LinkNumber, Load, Scalars, Sink, Slots
from robolin.dynamics.algebra.scalar import Scalar, Vector
from robolin.dynamics.algebra.vectors import (
    ZERO6,
    add,
    cross,
    dot,
    force_cross,
    motion_cross,
    rotate,
    scale,
    sub,
)
from robolin.dynamics.links.link_poses import Links


def external_forces(chain: Chain, links: Links) -> Slots | None:
    """f0 of every link, zero without a load; None if the arm has no loads."""
    if not chain.loads:
        return None
    f0 = chain.slots(6)
    for k in chain.tip_to_base():
        f0[k] = ZERO6

    # a link may have several loads
    for load in chain.loads:
        f0[load.link] = add(f0[load.link], _wrench(load, links))
    return f0


def plus_external(f0: Slots | None, k: LinkNumber, force: Vector) -> Vector:
    """The force on link k plus its external loads."""
    return force if f0 is None else add(force, f0[k])


def excess_turns(chain: Chain, links: Links, dq: Scalars) -> Slots | None:
    """Excess rotation of each link's loads in the recursions under δq; None if there is none."""
    if all(load.model == "follower" for load in chain.loads):
        return None

    # twist of every link
    excess, shift = chain.slots(6), chain.slots(6)
    shift[chain.base] = ZERO6
    for k in chain.base_to_tip():
        shift[k] = add(shift[chain.inboard(k)], scale(links.H[k], dq[k]))
        excess[k] = ZERO6

    # and its correction of the loads
    for load in chain.loads:
        if load.model != "follower":
            change = nonfollower_correction(load, links, shift[load.link])
            excess[load.link] = add(excess[load.link], change)
    return excess


def apply_nonfollower_correction(excess: Slots | None, k: LinkNumber, force: Vector) -> Vector:
    """The perturbed force on link k minus the excess rotation of its loads."""
    return force if excess is None else sub(force, excess[k])


def nonfollower_correction(load: Load, links: Links, X: Vector) -> Vector:
    """Change of a follower load under the twist X, minus the change of this load."""
    if load.model == "world":
        return force_cross(X, _wrench(load, links))
    N, F, r = _at_point(load, links)
    h = X[:3]
    rotated = cross(h, F)
    return add(cross(h, N), cross(r, rotated)) + rotated


def nonfollower_curvature(
    load: Load, links: Links, s: Vector, X: Vector, dX: Vector
) -> tuple[Vector, Vector]:
    """`nonfollower_correction` for X, and its change when X changes by dX and the link moves by s.

    Moment and force of the load keep their direction, and its point moves with the link.
    """
    excess = nonfollower_correction(load, links, X)
    change = nonfollower_correction(load, links, dX)
    if load.model == "world":
        return excess, change
    _, F, r = _at_point(load, links)
    dr = add(s[3:], cross(s[:3], r))
    return excess, add(change[:3], cross(dr, cross(X[:3], F))) + change[3:]


def subtract_weighted_corrections(chain: Chain, links: Links, W: Slots, into: Sink) -> None:
    """Loads fixed in the world do not rotate with the hinges inboard of them."""
    for load in chain.loads:
        if load.model != "follower":
            for c in chain.path_of(load.link):
                excess: Scalar = dot(W[load.link], nonfollower_correction(load, links, links.H[c]))
                into.add((c,), -excess)


def subtract_corrections_changed(
    chain: Chain, links: Links, W: Slots, dW: Slots, s: Slots, into: Sink
) -> None:
    """Change of W(link)* nonfollower_correction(H*(c)), seen from the world.

    dW: change of W seen from the link
    s:  motion of the link
    """
    for load in chain.loads:
        if load.model == "follower":
            continue
        own, moved = W[load.link], s[load.link]
        change_of_own = add(dW[load.link], motion_cross(moved, own))
        for c in chain.path_of(load.link):
            H = links.H[c]
            body = chain.groups.joint_body(c) if chain.groups else c
            dH = motion_cross(s[body], H)
            excess, change = nonfollower_curvature(load, links, moved, H, dH)
            into.add((c,), -(dot(change_of_own, excess) + dot(own, change)))


def _wrench(load: Load, links: Links) -> Vector:
    N, F, r = _at_point(load, links)
    return add(N, cross(r, F)) + F


def _at_point(load: Load, links: Links) -> tuple[Vector, Vector, Vector]:
    """Moment, force, and the point they act at, in world axes from the inertial frame."""
    if load.model == "world":
        away = links.away
        return load.moment, load.force, load.point if away is None else sub(load.point, away)
    R, p = links.R[load.link], links.p[load.link]
    r = add(p, rotate(R, load.point))
    if load.model == "dead":
        return load.moment, load.force, r
    return (
        rotate(R, rotate(load.axes, load.moment)),
        rotate(R, rotate(load.axes, load.force)),
        r,
    )
