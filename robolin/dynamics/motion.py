"""How the links move: velocities, hinge rates and accelerations in the inertial frame."""

from __future__ import annotations

from typing import NamedTuple

from robolin.algebra.chain import Chain, Scalars, Slots
from robolin.algebra.scalar import Vector
from robolin.algebra.vectors import ZERO3, ZERO6, add, motion_cross, scale
from robolin.dynamics.kinematics import Links


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
        V[k] = add(V[chain.inboard(k)], scale(H, qd[k]))
        Hd[k] = motion_cross(V[k], H)
    return Velocities(V, Hd)


def accelerations(
    chain: Chain, links: Links, moving: Velocities, qd: Scalars, qdd: Scalars
) -> Slots:
    """a(k) = a(k+1) + H*(k) q̈(k) + Ḣ*(k) q̇(k), from a base that falls upward against gravity."""
    alpha = chain.slots(6)
    alpha[chain.base] = base_acceleration(chain)
    for k in chain.base_to_tip():
        driven = add(alpha[chain.inboard(k)], scale(links.H[k], qdd[k]))
        alpha[k] = add(driven, scale(moving.Hd[k], qd[k]))
    return alpha


def base_acceleration(chain: Chain) -> Vector:
    """[0; -g]: weight is felt as if the base accelerated upward."""
    return ZERO3 + tuple(-g for g in chain.gravity)
