"""The Slotine–Li regressor of adaptive control: Y π = 𝓜 q̈ᵣ + C(q, q̇) q̇ᵣ + gravity, O(n²)."""

from __future__ import annotations

from robolin.dynamics.algebra.chain import Chain, LinkNumber, Slots
from robolin.dynamics.algebra.scalar import Vector, tanh
from robolin.dynamics.algebra.vectors import ZERO6, add, cross, dot, motion_cross, scale, sub
from robolin.dynamics.inverse.regressor import (
    ARMATURE_COLUMN,
    DAMPING_COLUMN,
    FRICTION_COLUMN,
    products,
    seen_from,
    turning_rotors,
)
from robolin.dynamics.links.link_motion import base_acceleration, velocities
from robolin.dynamics.links.link_poses import Links, forward_kinematics


def slotine_li_regressor(chain: Chain) -> None:
    """Y(j; k): torque at hinge j for unit parameters of link k and of the joint inboard of it.

    C is the Coriolis matrix of Christoffel symbols, for which 𝓜̇ - 2 C is skew-symmetric.  With
    the velocity V of link k for q̇, and Vᵣ and aᵣ for q̇ᵣ and q̈ᵣ, C gives the body a force

        f = M a + ½ (S[V] M Vᵣ + S[Vᵣ] M V)        a = aᵣ - ½ V x Vᵣ

    and a torque H(j) f at hinge j, a sum of bilinear forms of the inertia M:

        H(j) f = <H*(j), a> + ½ <H*(j) x V, Vᵣ> + ½ <H*(j) x Vᵣ, V>          <X, Y> = X* M Y

    Damping acts at q̇ᵣ, Coulomb friction at q̇.  With q̇ᵣ = q̇ and q̈ᵣ = q̈ it is the regressor.
    """
    links = forward_kinematics(chain)
    qd, qdr, qddr = (chain.input(name) for name in ("qd", "qdr", "qddr"))
    V, Vr, a = _motions(chain, links)

    for k in chain.tip_to_base():
        # motions of link k in its own axes
        v, vr, ak = (_in_link(links, k, motion) for motion in (V[k], Vr[k], a[k]))

        # torque at every hinge inboard for each of its parameters
        for j in chain.path_of(k):
            h = _in_link(links, k, links.H[j])
            mixed = add(_bilinear(motion_cross(h, v), vr), _bilinear(motion_cross(h, vr), v))
            for i, value in enumerate(add(_bilinear(h, ak), scale(mixed, 0.5))):
                chain.out("regressor", (j, k, i), value)

        # friction and rotor of a joint affect no other joint
        chain.out("regressor", (k, k, DAMPING_COLUMN), qdr[k])
        chain.out("regressor", (k, k, ARMATURE_COLUMN), qddr[k])
        if chain.friction_velocity is not None:
            chain.out("regressor", (k, k, FRICTION_COLUMN), tanh(qd[k] / chain.friction_velocity))
    if chain.groups.translate:
        turning_rotors(chain, links, qd, qdr)


def _motions(chain: Chain, links: Links) -> tuple[Slots, Slots, Slots]:
    """V, Vᵣ and a of every link.

    Vᵣ(k) = Vᵣ(k+1) + H*(k) q̇ᵣ(k)       aᵣ(k) = aᵣ(k+1) + H*(k) q̈ᵣ(k) + Ḣ*(k) q̇ᵣ(k)
    """
    qdr, qddr = chain.input("qdr"), chain.input("qddr")
    moving = velocities(chain, links, chain.input("qd"))
    Vr, ar, a = chain.slots(6), chain.slots(6), chain.slots(6)
    Vr[chain.base], ar[chain.base] = ZERO6, base_acceleration(chain)
    for k in chain.base_to_tip():
        up, H = chain.inboard(k), links.H[k]
        Vr[k] = add(Vr[up], scale(H, qdr[k]))
        ar[k] = add(add(ar[up], scale(H, qddr[k])), scale(moving.Hd[k], qdr[k]))
        a[k] = sub(ar[k], scale(motion_cross(moving.V[k], Vr[k]), 0.5))
    return moving.V, Vr, a


def _in_link(links: Links, k: LinkNumber, X: Vector) -> Vector:
    angular, linear = seen_from(links.R[k], links.p[k], X)
    return angular + linear


def _bilinear(X: Vector, Y: Vector) -> Vector:
    """<X, Y> for unit mass, first moment and J: m b·d + s·(d x a + b x c) + a* J c."""
    a, b, c, d = X[:3], X[3:], Y[:3], Y[3:]
    return (dot(b, d), *add(cross(d, a), cross(b, c)), *products(a, c))
