"""Step 1 of every linearization: motion, hinge rates, gyroscopic matrices, transmitted forces."""

from __future__ import annotations

from typing import NamedTuple

from robolin.dynamics.algebra.chain import Chain, Scalars, Slots
from robolin.dynamics.algebra.inertias import gyroscopic, gyroscopic_times, rigid_times
from robolin.dynamics.algebra.vectors import add, angular, motion_cross, twice
from robolin.dynamics.links.groups import carried_rates
from robolin.dynamics.links.link_motion import motion
from robolin.dynamics.links.link_poses import Links
from robolin.dynamics.links.loads import external_forces, plus_external


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


def nominal_terms(chain: Chain, links: Links, qdd: Scalars) -> NominalTerms:
    """The nominal motion and the forces that go with it.

    Ḣ*(k) = V(k) x H*(k)                   Ḧ*(k) = a(k) x H*(k) + V(k) x Ḣ*(k)
    f(k)  = f(k-1) + M(k) a(k) + M̂(k) V(k) + f0(k)
    """
    moving = motion(chain, links, chain.input("qd"), qdd)
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
