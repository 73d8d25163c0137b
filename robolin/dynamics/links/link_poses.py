"""Where the links are: their poses, hinge maps and inertias in the inertial frame."""

from __future__ import annotations

from typing import NamedTuple

from robolin.algebra.chain import Chain, Slots
from robolin.algebra.inertias import rigid_inertia
from robolin.algebra.parts import counted_as
from robolin.algebra.scalar import Vector, sin_cos, where
from robolin.algebra.vectors import (
    IDENTITY,
    ZERO3,
    add,
    cross,
    rotate,
    rotate_rotation,
    scale,
)


class Links(NamedTuple):
    """Rotation R (9), position p (3), hinge map H* (6) and inertia M (10) of every link."""

    R: Slots
    p: Slots
    H: Slots
    M: Slots


@counted_as("kinematics")
def place_links(chain: Chain, weighed: bool = True) -> Links:
    """Place every link, from the base outward; joint frames have their axis along z.

    R(k)  = R(k+1) E(k) Rot(z, q)              p(k) = p(k+1) + R(k+1) t(k)           turning
    R(k)  = R(k+1) E(k)                        p(k) = p(k+1) + R(k+1) t(k) + h q     sliding
    H*(k) = [h; p x h]  turning,   [0; h]  sliding,   with h the third column of R(k)

    The axes of a joint with several freedoms are those of the body that it carries.
    Inertias are left out where nobody asks for them.
    """
    q = chain.given("q")
    R, p, H, M = chain.slots(9), chain.slots(3), chain.slots(6), chain.slots(10)
    R[chain.base], p[chain.base] = IDENTITY, ZERO3

    # sines and cosines wait for nobody, so a sweep of their own is the quickest way to them
    turn = chain.slots(2)
    for k in chain.tip_to_base():
        turn[k] = sin_cos(q[k])

    for k in chain.base_to_tip():
        up, turns = chain.inboard(k), chain.turns(k)
        E, t = chain.placement(k)

        # the joint on the link inboard
        still = rotate_rotation(R[up], E)
        hinge = add(p[up], rotate(R[up], t))
        x, y, h = still[0::3], still[1::3], still[2::3]

        # the link, turned about the joint's axis or slid along it
        s, c = turn[k]
        turned_x, turned_y = add(scale(x, c), scale(y, s)), add(scale(y, c), scale(x, -s))
        R[k] = where(turns, _columns(turned_x, turned_y, h), still)
        p[k] = where(chain.groups.rests(k), hinge, add(hinge, scale(h, q[k])))

        # how the joint moves everything outboard of it, and what link k weighs
        if not chain.groups:
            H[k] = where(turns, h + cross(hinge, h), ZERO3 + h)
        if weighed:
            M[k] = rigid_inertia(R[k], p[k], *chain.body(k))

    if chain.groups:
        body_axes(chain, R, p, H)
    return Links(R, p, H, M)


def body_axes(chain: Chain, R: Slots, p: Slots, H: Slots) -> None:
    """H*(k) = [h; p x h] turning, [0; h] sliding, with h = R d(k), R and p of the joint's body."""
    for k in chain.base_to_tip():
        body = chain.groups.outermost(k)
        h = rotate(R[body], chain.groups.direction(k))
        H[k] = where(chain.turns(k), h + cross(p[body], h), ZERO3 + h)


def _columns(x: Vector, y: Vector, z: Vector) -> Vector:
    return tuple(column[i] for i in range(3) for column in (x, y, z))
