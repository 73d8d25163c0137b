"""Forward kinematics: poses, hinge maps and inertias of the links in the inertial frame."""

from typing import NamedTuple

from robolin.dynamics.algebra.chain import Chain, LinkNumber, Slots, counted_phase
from robolin.dynamics.algebra.inertias import rigid_inertia
from robolin.dynamics.algebra.scalar import Vector, sin_cos, where
from robolin.dynamics.algebra.trigonometry import if_less
from robolin.dynamics.algebra.vectors import (
    IDENTITY,
    ZERO3,
    add,
    cross,
    rotate,
    rotate_rotation,
    scale,
    sub,
)


# annotations are evaluated: a named tuple compiles texts, 1.3 million instructions each
class Links(NamedTuple):
    """Rotation R (9), position p (3), hinge map H* (6) and inertia M (10) of every link.

    away: shift of the inertial frame that moves along with links; None if it is fixed
    """

    R: Slots
    p: Slots
    H: Slots
    M: Slots
    away: Vector | None = None


@counted_phase("kinematics")
def forward_kinematics(chain: Chain, weighed: bool = True) -> Links:
    """Poses of all links, from the base outward; joint frames have their axis along z.

    R(k)  = R(k+1) E(k) Rot(z, q)              p(k) = p(k+1) + R(k+1) t(k)           revolute
    R(k)  = R(k+1) E(k)                        p(k) = p(k+1) + R(k+1) t(k) + h q     prismatic
    H*(k) = [h; p x h]  revolute,   [0; h]  prismatic,   with h the third column of R(k)

    The axes of a multi-DoF joint are those of the body that it carries.
    Inertias are computed only if `weighed` is true.
    """
    q = chain.input("q")
    R, p, H, M = chain.slots(9), chain.slots(3), chain.slots(6), chain.slots(10)
    R[chain.base], p[chain.base] = IDENTITY, ZERO3

    # sines and cosines depend on no other link, so a separate sweep is the fastest
    turn = chain.slots(2)
    for k in chain.tip_to_base():
        turn[k] = sin_cos(q[k])

    # if the inertial frame moves along with links, the base is shifted the other way
    away = frame_shift(chain, turn)
    if away is not None:
        p[chain.base] = sub(ZERO3, away)

    for k in chain.base_to_tip():
        up, turns = chain.inboard(k), chain.is_revolute(k)
        E, t = chain.placement(k)

        # the joint on the link inboard
        still = rotate_rotation(R[up], E)
        hinge = add(p[up], rotate(R[up], t))
        h = still[2::3]

        # the link, rotated about the joint's axis or translated along it
        R[k] = where(turns, _turned(still, turn[k]), still)
        p[k] = where(chain.groups.origin_fixed(k), hinge, add(hinge, scale(h, q[k])))

        # hinge map of the joint, and inertia of link k
        if not chain.groups:
            H[k] = where(turns, h + cross(hinge, h), ZERO3 + h)
        if weighed:
            M[k] = rigid_inertia(R[k], p[k], *chain.body(k))

    if chain.groups:
        body_axes(chain, R, p, H)
    return Links(R, p, H, M, away)


def frame_shift(chain: Chain, turn: Slots) -> Vector | None:
    """Shift of the inertial frame; None if it is fixed.

    Rounding errors grow with the square of the distance between links and that frame.  Results do
    not depend on it, so it moves along with the links; `turn` is the sine and cosine of every q.
    """
    if chain.seat is not None:
        return seat_position(chain, turn, chain.seat)
    far = chain.far_threshold
    return None if far is None else prismatic_shift(chain, turn, far)


def seat_position(chain: Chain, turn: Slots, seat: LinkNumber) -> Vector:
    """Position of a link, by the recursion for p(k) in `forward_kinematics`."""
    q, R, p = chain.input("q"), chain.slots(9), chain.slots(3)
    R[chain.base], p[chain.base] = IDENTITY, ZERO3
    for k in chain.base_to_tip():
        up = chain.inboard(k)
        E, t = chain.placement(k)
        still = rotate_rotation(R[up], E)
        hinge = add(p[up], rotate(R[up], t))
        R[k] = where(chain.is_revolute(k), _turned(still, turn[k]), still)
        p[k] = where(chain.groups.origin_fixed(k), hinge, add(hinge, scale(still[2::3], q[k])))
    return p[seat]


def prismatic_shift(chain: Chain, turn: Slots, far: float) -> Vector:
    """Σ h q over the links that travel, where |q| > far."""
    q, R, away = chain.input("q"), chain.slots(9), chain.accumulator(ZERO3)
    R[chain.base] = IDENTITY
    for k in chain.base_to_tip():
        # the axes, as they are placed below
        E, _ = chain.placement(k)
        still = rotate_rotation(R[chain.inboard(k)], E)
        R[k] = where(chain.is_revolute(k), _turned(still, turn[k]), still)

        # at home nothing moves, down to the last bit
        slid = if_less(q[k] * q[k], far * far, 0.0, q[k])
        gone = add(away.value, scale(still[2::3], slid))
        away.value = where(chain.frame_travels(k), gone, away.value)
    return away.value


def frame_origin(chain: Chain, links: Links) -> Vector:
    """Position of the inertial frame in the root frame of the description."""
    return chain.origin if links.away is None else add(chain.origin, links.away)


def body_axes(chain: Chain, R: Slots, p: Slots, H: Slots) -> None:
    """H*(k) = [h; p x h] revolute, [0; h] prismatic; h = R d(k), R and p of the joint's body."""
    for k in chain.base_to_tip():
        body = chain.groups.joint_body(k)
        h = rotate(R[body], chain.groups.direction(k))
        H[k] = where(chain.is_revolute(k), h + cross(p[body], h), ZERO3 + h)


def _turned(still: Vector, turn: Vector) -> Vector:
    """Rotate the axes about the third of them."""
    s, c = turn
    x, y, h = still[0::3], still[1::3], still[2::3]
    turned_x, turned_y = add(scale(x, c), scale(y, s)), add(scale(y, c), scale(x, -s))
    return tuple([column[i] for i in range(3) for column in (turned_x, turned_y, h)])
