"""External wrenches: what they are now, and how they change when the arm moves.

f0 is the wrench that a link exerts on its surroundings, about the inertial frame.  With N and F
its moment and force in world axes and r the point they act at,

    f0 = [N + r x F; F]

    follower   N and F turn with the link
    dead       N and F keep their direction, r moves with the link
    world      f0 itself stays as it is

The recursions let every force of a link turn with it.  Dead and world loads are steady: for them
this is too much, and when the link moves by a small twist X = [h; …] `nonfollower_correction`
says by how much.
"""

from __future__ import annotations

from robolin.dynamics.algebra.chain import Chain, LinkNumber, Load, Scalars, Slots
from robolin.dynamics.algebra.scalar import Vector
from robolin.dynamics.algebra.vectors import ZERO6, add, cross, force_cross, rotate, scale, sub
from robolin.dynamics.links.link_poses import Links


def external_forces(chain: Chain, links: Links) -> Slots | None:
    """f0 of every link, zero where nothing pulls; None if nothing pulls anywhere."""
    if not chain.loads:
        return None
    f0 = chain.slots(6)
    for k in chain.tip_to_base():
        f0[k] = ZERO6

    # several may pull at one link
    for load in chain.loads:
        f0[load.link] = add(f0[load.link], _wrench(load, links))
    return f0


def plus_external(f0: Slots | None, k: LinkNumber, force: Vector) -> Vector:
    """The force on link k with its share of the loads."""
    return force if f0 is None else add(force, f0[k])


def excess_turns(chain: Chain, links: Links, dq: Scalars) -> Slots | None:
    """Per link, by how much the recursions over-turn its loads under δq; None if by nothing."""
    if all(load.model == "follower" for load in chain.loads):
        return None

    # how far every link moves
    excess, shift = chain.slots(6), chain.slots(6)
    shift[chain.base] = ZERO6
    for k in chain.base_to_tip():
        shift[k] = add(shift[chain.inboard(k)], scale(links.H[k], dq[k]))
        excess[k] = ZERO6

    # and what that turned too much
    for load in chain.loads:
        if load.model != "follower":
            change = nonfollower_correction(load, links, shift[load.link])
            excess[load.link] = add(excess[load.link], change)
    return excess


def apply_nonfollower_correction(excess: Slots | None, k: LinkNumber, force: Vector) -> Vector:
    """The change of force on link k, with what its loads turned too much taken back."""
    return force if excess is None else sub(force, excess[k])


def nonfollower_correction(load: Load, links: Links, X: Vector) -> Vector:
    """What a follower would change by under the twist X, less what this load changes by."""
    if load.model == "world":
        return force_cross(X, _wrench(load, links))
    moment, force, r = _at_point(load, links)
    h = X[:3]
    turned = cross(h, force)
    return add(cross(h, moment), cross(r, turned)) + turned


def _wrench(load: Load, links: Links) -> Vector:
    moment, force, r = _at_point(load, links)
    return add(moment, cross(r, force)) + force


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
