"""Derivatives of torques by the placements of joints and of links on their joints, O(n²)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from robolin.dynamics.algebra.chain import Chain, LinkNumber, Slots
from robolin.dynamics.algebra.inertias import (
    gyroscopic,
    gyroscopic_times,
    gyroscopic_transpose_times,
    rigid_times,
)
from robolin.dynamics.algebra.scalar import Vector
from robolin.dynamics.algebra.vectors import (
    ZERO3,
    add,
    angular,
    cross,
    dot,
    force_cross,
    motion_cross,
    rotate,
    rotate_rotation,
    twice,
)
from robolin.dynamics.links.link_motion import Motion, motion
from robolin.dynamics.links.link_poses import Links, forward_kinematics
from robolin.dynamics.links.loads import external_forces, nonfollower_correction, plus_external

# columns of a link: rotations, translations of its joint on the link inboard; of it on its joint
JOINT, BODY = 0, 6


def geometry_derivative(chain: Chain) -> None:
    """∂τ/∂(placements): a placement is treated as the coordinate of a virtual hinge T at rest.

    So its column of B_D is as in Algorithm 2, with the rates of an axis fixed in its carrier p:
    p = k + 1 for the joint of link k, p = k for the link on its joint.

        Ṫ = V(p) x T                            T̈ = a(p) x T + V(p) x Ṫ
        ∂τ(j) = H(j) [R(k) T̈ + 2 R̂(k) Ṫ + S[T] f(k)]        hinges j inboard of the placement
        ∂τ(j) = [R(j) H*(j)]* T̈ + [2 R̂(j)* H*(j)]* Ṫ         hinges j outboard, which it moves
    """
    links, qd, qdd = forward_kinematics(chain), chain.input("qd"), chain.input("qdd")
    moving = motion(chain, links, qd, qdd)
    bodies = _composite_terms(chain, links, moving)

    for k in chain.tip_to_base():
        up = chain.inboard(k)
        E, t = chain.placement(k)
        axes, point = rotate_rotation(links.R[up], E), add(links.p[up], rotate(links.R[up], t))
        of_joint = [_placement_change(moving, up, T) for T in _twists(axes, point)]
        of_body = [_placement_change(moving, k, T) for T in _twists(links.R[k], links.p[k])]

        # the placement of joint k moves hinge k; the placement of the link on its joint does not
        _torques_of_inboard_hinges(chain, links, bodies, k, JOINT, of_joint, chain.inboard_of(k))
        _torques_of_moved_hinges(chain, bodies, k, JOINT, of_joint, chain.subtree_of(k))
        _torques_of_inboard_hinges(chain, links, bodies, k, BODY, of_body, chain.path_of(k))
        _torques_of_moved_hinges(chain, bodies, k, BODY, of_body, chain.outboard_of(k))
    _loads_that_do_not_turn(chain, links)


class CompositeTerms(NamedTuple):
    """R (10), 2 R̂ (12) and f (6) of composite bodies, X = R H* (6) and X̂ = 2 R̂* H* (3)."""

    R: Slots
    Rhat: Slots
    f: Slots
    X: Slots
    Xhat: Slots


def _composite_terms(chain: Chain, links: Links, moving: Motion) -> CompositeTerms:
    """Inertias of composite bodies and transmitted forces, from the tip inward."""
    bodies = CompositeTerms(*(chain.slots(size) for size in (10, 12, 6, 6, 3)))
    R, Rhat, f = chain.child_sums(10), chain.child_sums(12), chain.child_sums(6)
    f0 = external_forces(chain, links)
    for k in chain.tip_to_base():
        H, M, V, alpha = links.H[k], links.M[k], moving.V[k], moving.alpha[k]
        Mhat = gyroscopic(M, V)
        own = add(rigid_times(M, alpha), gyroscopic_times(Mhat, angular(V)))
        bodies.R[k], bodies.Rhat[k] = add(R[k], M), add(Rhat[k], Mhat)
        bodies.f[k] = add(f[k], plus_external(f0, k, own))
        bodies.X[k] = rigid_times(bodies.R[k], H)
        bodies.Xhat[k] = twice(gyroscopic_transpose_times(bodies.Rhat[k], H))
        for sums, slots in ((R, bodies.R), (Rhat, bodies.Rhat), (f, bodies.f)):
            sums.add_to_parent(k, slots[k])
    return bodies


class PlacementChange(NamedTuple):
    """A unit change of a placement as a twist T, and its rates Ṫ and T̈ (6 each)."""

    T: Vector
    Td: Vector
    Tdd: Vector


def _twists(R: Vector, p: Vector) -> list[Vector]:
    """Unit rotations about the axes of a frame, then unit translations along them."""
    axes = (R[0::3], R[1::3], R[2::3])
    return [*(h + cross(p, h) for h in axes), *(ZERO3 + h for h in axes)]


def _placement_change(moving: Motion, p: LinkNumber, T: Vector) -> PlacementChange:
    V, Td = moving.V[p], motion_cross(moving.V[p], T)
    return PlacementChange(T, Td, add(motion_cross(moving.alpha[p], T), motion_cross(V, Td)))


def _torques_of_inboard_hinges(
    chain: Chain,
    links: Links,
    bodies: CompositeTerms,
    k: LinkNumber,
    first: int,
    changes: list[PlacementChange],
    hinges: Iterable[LinkNumber],
) -> None:
    """H(j) [R T̈ + 2 R̂ Ṫ + S[T] f] for hinges inboard of the placement."""
    forces = []
    for T, Td, Tdd in changes:
        gyro = gyroscopic_times(bodies.Rhat[k], twice(angular(Td)))
        forces.append(add(add(rigid_times(bodies.R[k], Tdd), gyro), force_cross(T, bodies.f[k])))
    for j in hinges:
        for i, force in enumerate(forces, start=first):
            chain.out("dtau_dgeometry", (j, k, i), dot(links.H[j], force))


def _torques_of_moved_hinges(
    chain: Chain,
    bodies: CompositeTerms,
    k: LinkNumber,
    first: int,
    changes: list[PlacementChange],
    hinges: Iterable[LinkNumber],
) -> None:
    """X(j)* T̈ + X̂(j)* Ṫ for hinges that the placement moves."""
    for j in hinges:
        for i, (_, Td, Tdd) in enumerate(changes, start=first):
            entry = dot(bodies.X[j], Tdd) + dot(bodies.Xhat[j], angular(Td))
            chain.out("dtau_dgeometry", (j, k, i), entry)


def _loads_that_do_not_turn(chain: Chain, links: Links) -> None:
    """Subtract the rotation of dead and world loads, as linearizations do."""
    derivative = chain.result("dtau_dgeometry")
    for load in chain.loads:
        if load.model == "follower":
            continue
        for k in chain.path_of(load.link):
            up = chain.inboard(k)
            E, t = chain.placement(k)
            axes, point = rotate_rotation(links.R[up], E), add(links.p[up], rotate(links.R[up], t))
            twists = [*_twists(axes, point), *_twists(links.R[k], links.p[k])]
            for i, T in enumerate(twists):
                excess = nonfollower_correction(load, links, T)
                for j in chain.path_of(load.link):
                    derivative.add((j, k, i), -dot(links.H[j], excess))
