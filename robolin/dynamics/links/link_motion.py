"""Motion of the links: velocities, hinge rates and accelerations in the inertial frame."""

from typing import NamedTuple

from robolin.dynamics.algebra.chain import Chain, Scalars, Slots
from robolin.dynamics.algebra.scalar import Vector
from robolin.dynamics.algebra.vectors import ZERO3, ZERO6, add, motion_cross, scale
from robolin.dynamics.links.groups import body_rates
from robolin.dynamics.links.link_poses import Links


# annotations are evaluated: a named tuple compiles texts, 1.3 million instructions each
class Velocities(NamedTuple):
    """Spatial velocity V (6) and hinge rate Ḣ* (6) of every link."""

    V: Slots
    Hd: Slots


def velocities(chain: Chain, links: Links, qd: Scalars) -> Velocities:
    """V(k) = V(k+1) + H*(k) q̇(k);   Ḣ*(k) = V(k) x H*(k)."""
    V, Hd = chain.slots(6), chain.slots(6)
    V[chain.base] = ZERO6
    for k in chain.base_to_tip():
        H = links.H[k]

        # velocity of the link inboard plus that of the hinge
        V[k] = add(V[chain.inboard(k)], scale(H, qd[k]))
        if not chain.groups:
            Hd[k] = motion_cross(V[k], H)
    return Velocities(V, body_rates(chain, links, V) if chain.groups else Hd)


class Motion(NamedTuple):
    """Velocity V (6), hinge rate Ḣ* (6) and acceleration a (6) of every link."""

    V: Slots
    Hd: Slots
    alpha: Slots


def motion(chain: Chain, links: Links, qd: Scalars, qdd: Scalars) -> Motion:
    """Velocities as above, and accelerations with a base that accelerates by -g for gravity.

    a(k) = a(k+1) + H*(k) q̈(k) + Ḣ*(k) q̇(k)
    """
    if chain.groups:
        return _motion_of_groups(chain, links, qd, qdd)
    V, Hd, alpha = chain.slots(6), chain.slots(6), chain.slots(6)
    V[chain.base], alpha[chain.base] = ZERO6, base_acceleration(chain)
    for k in chain.base_to_tip():
        up, H = chain.inboard(k), links.H[k]
        V[k] = add(V[up], scale(H, qd[k]))
        Hd[k] = motion_cross(V[k], H)

        # the hinge drives, and its axis is carried along
        alpha[k] = add(add(alpha[up], scale(H, qdd[k])), scale(Hd[k], qd[k]))
    return Motion(V, Hd, alpha)


def _motion_of_groups(chain: Chain, links: Links, qd: Scalars, qdd: Scalars) -> Motion:
    """The same in two sweeps: Ḣ* needs the velocity of the joint's body first."""
    V, Hd = velocities(chain, links, qd)
    alpha = chain.slots(6)
    alpha[chain.base] = base_acceleration(chain)
    for k in chain.base_to_tip():
        # the hinge drives, and its axis is carried along
        driven = add(scale(links.H[k], qdd[k]), scale(Hd[k], qd[k]))
        alpha[k] = add(alpha[chain.inboard(k)], driven)
    return Motion(V, Hd, alpha)


def bias_motion(chain: Chain, links: Links, qd: Scalars) -> Motion:
    """V, Ḣ* and a of every link without q̈ and gravity: a(k) = a(k+1) + Ḣ*(k) q̇(k)."""
    moving, a = velocities(chain, links, qd), chain.slots(6)
    a[chain.base] = ZERO6
    for k in chain.base_to_tip():
        a[k] = add(a[chain.inboard(k)], scale(moving.Hd[k], qd[k]))
    return Motion(moving.V, moving.Hd, a)


def base_acceleration(chain: Chain) -> Vector:
    """[0; -g]: gravity is equivalent to an upward acceleration of the base."""
    return ZERO3 + tuple(-g for g in chain.gravity)
