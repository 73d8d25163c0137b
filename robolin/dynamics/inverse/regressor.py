"""Regressors of inverse dynamics, τ = Y π with π the parameters of links and joints, O(n²).

The Slotine–Li regressor of adaptive control has Y π = 𝓜 q̈ᵣ + C(q, q̇) q̇ᵣ + gravity.
"""

from __future__ import annotations

from robolin.dynamics.algebra.chain import Chain, LinkNumber, Scalars, Slots
from robolin.dynamics.algebra.scalar import Vector, tanh
from robolin.dynamics.algebra.vectors import ZERO6, add, cross, dot, motion_cross, scale, sub
from robolin.dynamics.links.group_rotors import relative_twists, unit_force
from robolin.dynamics.links.link_motion import base_acceleration, motion, velocities
from robolin.dynamics.links.link_poses import Links, forward_kinematics

# the columns of a link begin with its mass, first moment (3) and J (6), in its frame
DAMPING_COLUMN, ARMATURE_COLUMN, FRICTION_COLUMN = 10, 11, 12


def regressor(chain: Chain) -> None:
    """Y(j; k): torque at hinge j for unit parameters of link k and of the joint inboard of it.

    With angular velocity w, angular acceleration α and classical acceleration c = b + w x u of
    link k, all in its own axes and at its own origin, its mass m, first moment s and J need a force

        f = [s x c + J α + w x J w;  m c + α x s + w x (w x s)]

    and a torque H(j) f at hinge j, with H*(j) = [e; x] in the same axes and at the same origin:

        m   x·c
        s   c x e + x x α + (x x w) x w
        J   e* J α + (e x w)* J w
    """
    links = forward_kinematics(chain)
    qd, qdd = chain.input("qd"), chain.input("qdd")
    moving = motion(chain, links, qd, qdd)

    for k in chain.tip_to_base():
        # motion of link k in its own axes
        R, p = links.R[k], links.p[k]
        w, u = seen_from(R, p, moving.V[k])
        alpha, b = seen_from(R, p, moving.alpha[k])
        c = add(b, cross(w, u))

        # torque at every hinge inboard for each of its parameters
        for j in chain.path_of(k):
            e, x = seen_from(R, p, links.H[j])
            turning = add(cross(x, alpha), cross(cross(x, w), w))
            first = add(cross(c, e), turning)
            rotary = add(products(e, alpha), products(cross(e, w), w))
            for i, value in enumerate((dot(x, c), *first, *rotary)):
                chain.out("regressor", (j, k, i), value)

        # friction and rotor of a joint affect no other joint
        chain.out("regressor", (k, k, DAMPING_COLUMN), qd[k])
        chain.out("regressor", (k, k, ARMATURE_COLUMN), qdd[k])
        smooth = chain.friction_velocity(k)
        if smooth is not None:
            chain.out("regressor", (k, k, FRICTION_COLUMN), tanh(qd[k] / smooth))
    if chain.groups.translate:
        turning_rotors(chain, links, qd, qd)


def spring_regressor(chain: Chain) -> None:
    """Two columns for the spring of every joint: k (q - rest) is linear in k and in k · rest."""
    q = chain.input("q")
    for k in chain.tip_to_base():
        chain.out("spring_regressor", (k, k, 0), q[k])
        chain.out("spring_regressor", (k, k, 1), -1.0)


def turning_rotors(chain: Chain, links: Links, qd: Scalars, turning: Scalars) -> None:
    """Torque (H*(j) x X)* F q̇ of a translation's armature on other axes of its joint.

    turning: the velocities of the relative twist X, q̇ itself or a reference
    """
    X = relative_twists(chain, links, turning)
    for k in chain.groups.with_partners():
        twist = X[chain.groups.joint_body(k)]
        for c in chain.groups.same_joint_outboard(k):
            for j, moved in ((c, k), (k, c)):
                turned = dot(motion_cross(links.H[j], twist), unit_force(chain, links, moved))
                chain.out("regressor", (j, moved, ARMATURE_COLUMN), turned * qd[moved])


def seen_from(R: Vector, p: Vector, X: Vector) -> tuple[Vector, Vector]:
    """A motion X = [a; b] about the inertial frame as [R* a; R* (b + a x p)]."""
    a, b = X[:3], add(X[3:], cross(X[:3], p))
    columns = (R[0::3], R[1::3], R[2::3])
    return tuple(dot(x, a) for x in columns), tuple(dot(x, b) for x in columns)


def products(a: Vector, b: Vector) -> Vector:
    """∂(a* J b)/∂J, entry by entry: xx xy xz yy yz zz."""
    return (
        a[0] * b[0],
        a[0] * b[1] + a[1] * b[0],
        a[0] * b[2] + a[2] * b[0],
        a[1] * b[1],
        a[1] * b[2] + a[2] * b[1],
        a[2] * b[2],
    )


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
        smooth = chain.friction_velocity(k)
        if smooth is not None:
            chain.out("regressor", (k, k, FRICTION_COLUMN), tanh(qd[k] / smooth))
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
