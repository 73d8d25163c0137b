"""Forward dynamics in two sweeps: bias forces as polynomials in the velocity, O(n).

Other algorithms need one sweep outward for the velocities before the articulated bodies.  Bias
forces are quadratic polynomials in the velocity of their link, and stay quadratic across a hinge.
So their 28 coefficients can be accumulated before any velocity is known.
"""

from __future__ import annotations

from robolin.dynamics.algebra.chain import Chain, LinkNumber, Slots
from robolin.dynamics.algebra.inertias import articulated_times
from robolin.dynamics.algebra.scalar import Vector
from robolin.dynamics.algebra.vectors import ZERO6, add, dot, motion_cross, scale
from robolin.dynamics.algebra.velocity_polynomials import (
    COUNT,
    PolynomialColumns,
    gyroscopic_force,
    polynomial_at,
    polynomial_columns,
    shifted,
    stored,
    unit_cross,
)
from robolin.dynamics.links.joint_torques import conserving_torques, resisting_torque
from robolin.dynamics.links.link_motion import base_acceleration
from robolin.dynamics.links.link_poses import Links, forward_kinematics
from robolin.dynamics.links.loads import external_forces, plus_external
from robolin.dynamics.mass_matrix.articulated_bodies import Articulated, articulated_bodies


def forward_two_sweeps(chain: Chain) -> None:
    """q̈ from q, q̇ and τ.

    tip to base, of V(k)   z(k) = z⁺(k-1) + S[V] M V + f0       ε = τ - H z
                           z⁺(k) = z + P c + G (ε - H P c)      with c = V x H* q̇
                           z⁺ of V(k+1) = V(k) - H* q̇
    base to tip            V(k) = V(k+1) + H* q̇
                           q̈(k) = ε/D - G* (λ(k+1) + c)         λ(k) = λ(k+1) + H* q̈ + c
    """
    links, qd = forward_kinematics(chain), chain.input("qd")
    art = articulated_bodies(chain, links)
    left = left_over(chain, links, art)

    V, lam = chain.slots(6), chain.slots(6)
    V[chain.base], lam[chain.base] = ZERO6, base_acceleration(chain)
    for k in chain.base_to_tip():
        up, H = chain.inboard(k), links.H[k]
        V[k] = add(V[up], scale(H, qd[k]))
        c = scale(motion_cross(add(V[k], _beyond(chain, links, k)), H), qd[k])

        # the innovation at the known velocity accelerates the hinge
        carried = add(lam[up], c)
        qdd = art.Dinv[k] * polynomial_at(left[k], V[k]) - dot(art.G[k], carried)
        lam[k] = add(carried, scale(H, qdd))
        chain.out("qdd", (k,), qdd)


def left_over(chain: Chain, links: Links, art: Articulated) -> Slots:
    """Innovation ε of every link as a polynomial in its velocity."""
    qd, tau, f0 = chain.input("qd"), chain.input("tau"), external_forces(chain, links)
    left, handed = chain.slots(COUNT), chain.child_sums(6 * COUNT)
    needed = conserving_torques(chain, links, qd)
    for k in chain.tip_to_base():
        H = links.H[k]
        own = gyroscopic_force(links.M[k])
        own[0] = plus_external(f0, k, own[0])
        z = [add(a, b) for a, b in zip(polynomial_columns(handed[k]), own, strict=True)]

        # the torque minus the contribution of everything outboard
        felt = tuple(dot(H, column) for column in z)
        driven = tau[k] - resisting_torque(chain, needed, k, qd[k])
        left[k] = (driven - felt[0], *(-x for x in felt[1:]))

        # through the hinge, as a polynomial in the velocity of the link inboard
        z_plus = _through(z, left[k], _drift(chain, links, k), art.P[k], art.G[k], art.PH[k])
        handed.add_to_parent(k, stored(shifted(z_plus, scale(H, qd[k]))))
    return left


def _through(
    z: PolynomialColumns, left: Vector, c: PolynomialColumns, P: Vector, G: Vector, PH: Vector
) -> list[Vector]:
    """z + P c + G (ε - H P c), column by column; c has a constant and a linear part only."""
    drifting = [
        add(add(column, articulated_times(P, move)), scale(G, e - dot(PH, move)))
        for column, e, move in zip(z, left, c, strict=False)
    ]
    rest = len(drifting)
    return drifting + [add(x, scale(G, e)) for x, e in zip(z[rest:], left[rest:], strict=True)]


def _drift(chain: Chain, links: Links, k: LinkNumber) -> PolynomialColumns:
    """c = V x H* q̇ in powers of V; e(i) x H* takes no multiplication."""
    h, u = links.H[k][:3], links.H[k][3:]
    qd = chain.input("qd")[k]
    turned = [unit_cross(i, h) + unit_cross(i, u) for i in range(3)]
    moved = [(0.0,) * 3 + unit_cross(i, h) for i in range(3)]
    beyond = motion_cross(_beyond(chain, links, k), links.H[k]) if chain.groups else ZERO6
    return [scale(x, qd) for x in (beyond, *turned, *moved)]


def _beyond(chain: Chain, links: Links, k: LinkNumber) -> Vector:
    """Velocity of the body of a multi-DoF joint relative to its virtual link k."""
    twist = chain.accumulator(ZERO6)
    if chain.groups:
        for c in chain.groups.same_joint_outboard(k):
            twist.value = add(twist.value, scale(links.H[c], chain.input("qd")[c]))
    return twist.value
