"""Motion of the links, and step 1 of every linearization.

Velocities, hinge rates and accelerations are in the inertial frame.  A linearization also needs
gyroscopic matrices and transmitted forces.
"""

from __future__ import annotations

from typing import NamedTuple

from robolin.dynamics.algebra.chain import Chain, Scalars, Slots
from robolin.dynamics.algebra.inertias import gyroscopic, gyroscopic_times, rigid_times
from robolin.dynamics.algebra.scalar import Vector
from robolin.dynamics.algebra.vectors import ZERO3, ZERO6, add, angular, motion_cross, scale, twice
from robolin.dynamics.links.groups import body_rates, carried_rates
from robolin.dynamics.links.link_poses import Links
from robolin.dynamics.links.loads import external_forces, plus_external


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


class NominalTerms(NamedTuple):
    """Ḣ* (6), Ṗ* (6), Ḧ* (6), M̂ (12), and the wrench f (6) that reaches each link from inboard.

    Ṗ* is Ḣ* itself without multi-DoF joints; with them, Ḣ* stands for ½ (Ḣ* + Ṗ*) and Ḧ* for P̈*,
    as explained in dynamics/links/groups.py.
    """

    Hd: Slots
    Pd: Slots
    Hdd: Slots
    Mhat: Slots
    f: Slots


def nominal_terms(
    chain: Chain, links: Links, qdd: Scalars, moving: Motion | None = None
) -> NominalTerms:
    """The nominal motion, unless it is known, and the forces that go with it.

    Ḣ*(k) = V(k) x H*(k)                   Ḧ*(k) = a(k) x H*(k) + V(k) x Ḣ*(k)
    f(k)  = f(k-1) + M(k) a(k) + M̂(k) V(k) + f0(k)
    """
    moving = moving or motion(chain, links, chain.input("qd"), qdd)
    Hdd, Mhat, f = chain.slots(6), chain.slots(12), chain.slots(6)
    f0, handed = external_forces(chain, links), chain.child_sums(6)

    for k in chain.tip_to_base():
        H, M, V, alpha = links.H[k], links.M[k], moving.V[k], moving.alpha[k]

        # second rate of the hinge's axis
        if not chain.groups:
            Hdd[k] = add(motion_cross(alpha, H), motion_cross(V, moving.Hd[k]))

        # force for the motion of the link and of everything outboard of it
        Mhat[k] = gyroscopic(M, V)
        own = add(rigid_times(M, alpha), gyroscopic_times(Mhat[k], angular(V)))
        f[k] = add(handed[k], plus_external(f0, k, own))
        handed.add_to_parent(k, f[k])

    if chain.groups:
        return NominalTerms(*carried_rates(chain, links, *moving), Mhat, f)
    return NominalTerms(moving.Hd, moving.Hd, Hdd, Mhat, f)


def doubled(chain: Chain, one: NominalTerms) -> tuple[Slots, Slots]:
    """2 Ḣ* and 2 Ṗ* of every link."""
    Hd2, Pd2 = chain.slots(6), chain.slots(6)
    for k in chain.tip_to_base():
        Hd2[k] = twice(one.Hd[k])
        if chain.groups:
            Pd2[k] = twice(one.Pd[k])
    return Hd2, Pd2 if chain.groups else Hd2
