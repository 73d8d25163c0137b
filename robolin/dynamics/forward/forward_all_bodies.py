"""Forward dynamics in the accelerations of all bodies and their constraint forces, O(n).

    [[M, T], [T*, 0]] [a; -β] = [f; T* a₀]

has six unknowns for every body and five for every joint.  Elimination from the tips of a body and
its joint only changes the equations of the link inboard, so that the elimination stays sparse.

A body may have no inertia in directions that its joint constrains, such as a point mass.  So a
stiffness κ is added there: T*(a - u) = 0 with u = a⁺ + c, hence W (a - u) may be added for any
W = T κ T*.  Rotors, which [O] does not have, are the sixth entry of W.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from robolin.dynamics.algebra.chain import Chain, LinkNumber, Slots
from robolin.dynamics.algebra.inertias import (
    ENTRY_INDEX,
    articulated_from,
    articulated_times,
    rank_one,
    rigid_times,
)
from robolin.dynamics.algebra.scalar import Scalar, Vector
from robolin.dynamics.algebra.small_matrices import SystemFactors, factored, solved_symmetric
from robolin.dynamics.algebra.vectors import add, dot, force_cross, scale, sub
from robolin.dynamics.links.joint_torques import conserving_torques, resisting_torque, transmitted
from robolin.dynamics.links.link_motion import Velocities, base_acceleration, velocities
from robolin.dynamics.links.link_poses import Links, forward_kinematics
from robolin.dynamics.links.loads import external_forces, plus_external

BodyColumns = Sequence[Vector]

# κ relative to the accumulated inertia: larger values cancel digits, smaller ones shrink pivots
STIFF = 0.03


class EliminatedBodies(NamedTuple):
    """A body and its joint as functions of u = a⁺ + c; a⁺ is the acceleration of the link inboard.

    β = β₀ + Y u      a = a₀ + K (W E* u + β)
    """

    c: Slots
    beta: Slots
    Y: Slots
    a: Slots
    K: Slots
    E: Slots
    W: Slots


def forward_all_bodies(chain: Chain) -> None:
    """q̈ from q, q̇ and τ."""
    links = forward_kinematics(chain)
    done = eliminated_bodies(chain, links, velocities(chain, links, chain.input("qd")))

    a = chain.slots(6)
    a[chain.base] = base_acceleration(chain)
    for k in chain.base_to_tip():
        u, E, K = add(a[chain.inboard(k)], done.c[k]), _parts(done.E[k]), _parts(done.K[k])
        forces = tuple(b + dot(y, u) for b, y in zip(done.beta[k], _parts(done.Y[k]), strict=True))
        acceleration = done.a[k]
        for e, column, w, force in zip(E, K, done.W[k], (0.0, *forces), strict=True):
            acceleration = add(acceleration, scale(column, w * dot(e, u) + force))
        a[k] = acceleration
        chain.out("qdd", (k,), dot(E[0], sub(acceleration, u)))


def eliminated_bodies(chain: Chain, links: Links, moving: Velocities) -> EliminatedBodies:
    """From tip to base, with A the accumulated inertia of link k and r the force on it:

    E = [drive, T]     W = diag(rotor, κ, …, κ)
    A = M + Σ F + E W E*                  r = drive τ - S[V] M V - f0 - Σ g
    K = A⁻¹ E          X = E - E W E* K    S = T* K_T
    Y = S⁻¹ X_T*       β₀ = -S⁻¹ T* A⁻¹ r
    F = E W X* + X_T Y                    g = F c + drive τ - E W E* A⁻¹ r + X_T β₀
    """
    qd, tau, f0 = chain.input("qd"), chain.input("tau"), external_forces(chain, links)
    done = EliminatedBodies(*(chain.slots(size) for size in (6, 5, 30, 6, 36, 36, 6)))
    F, g, needed = chain.child_sums(21), chain.child_sums(6), conserving_torques(chain, links, qd)
    for k in chain.tip_to_base():
        # the body, and the forces that its joint transmits
        M, V, E = links.M[k], moving.V[k], transmitted(chain, links, k)
        inertia = add(F[k], articulated_from(M))
        W = (chain.armature(k), *(_size(inertia) * STIFF,) * 5)
        drive = scale(E[0], tau[k] - resisting_torque(chain, needed, k, qd[k]))
        r = sub(drive, add(plus_external(f0, k, force_cross(V, rigid_times(M, V))), g[k]))
        body = _factored(chain, k, _stiffened(inertia, E, W))
        a, K = solved_symmetric(body, r), [solved_symmetric(body, e) for e in E]

        # the joint
        X = [_held(e, column, E, W) for e, column in zip(E, K, strict=True)]
        joint = _factored(chain, k, [tuple(dot(t, x) for x in K[1:]) for t in E[1:]])
        columns = [solved_symmetric(joint, tuple(x[i] for x in X[1:])) for i in range(6)]
        Y = [tuple(column[i] for column in columns) for i in range(5)]
        beta = tuple(-b for b in solved_symmetric(joint, tuple(dot(t, a) for t in E[1:])))

        # inertia and force that both add to the link inboard
        c, stiff = scale(moving.Hd[k], qd[k]), _stiffness(E, W, X, Y)
        F.add_to_parent(k, stiff)
        force = add(drive, _left_of_forces(E, W, X, a, beta))
        g.add_to_parent(k, add(articulated_times(stiff, c), force))
        known = (c, beta, _joined(Y), a, _joined(K), _joined(E), W)
        for slots, value in zip(done, known, strict=True):
            slots[k] = value
    return done


def _size(inertia: Vector) -> Scalar:
    """Trace of a symmetric 6x6 inertia, as a measure of its size."""
    total = inertia[ENTRY_INDEX[0][0]]
    for i in range(1, 6):
        total = total + inertia[ENTRY_INDEX[i][i]]
    return total


def _stiffened(inertia: Vector, E: BodyColumns, W: Vector) -> list[Vector]:
    """The rows of inertia + E W E*."""
    for e, w in zip(E, W, strict=True):
        inertia = add(inertia, rank_one(e, scale(e, w)))
    return [tuple(inertia[entry] for entry in row) for row in ENTRY_INDEX]


def _held(e: Vector, column: Vector, E: BodyColumns, W: Vector) -> Vector:
    """A column of E - E W E* K."""
    for other, w in zip(E, W, strict=True):
        e = sub(e, scale(other, w * dot(other, column)))
    return e


def _stiffness(E: BodyColumns, W: Vector, X: BodyColumns, Y: BodyColumns) -> Vector:
    """E W X* + X_T Y."""
    stiff = rank_one(E[0], scale(X[0], W[0]))
    for t, x, y, w in zip(E[1:], X[1:], Y, W[1:], strict=True):
        stiff = add(stiff, add(rank_one(t, scale(x, w)), rank_one(x, y)))
    return stiff


def _left_of_forces(E: BodyColumns, W: Vector, X: BodyColumns, a: Vector, beta: Vector) -> Vector:
    """X_T β₀ - E W E* a."""
    left = scale(E[0], -(W[0] * dot(E[0], a)))
    for t, x, b, w in zip(E[1:], X[1:], beta, W[1:], strict=True):
        left = add(left, sub(scale(x, b), scale(t, w * dot(t, a))))
    return left


def _factored(chain: Chain, k: LinkNumber, rows: list[Vector]) -> SystemFactors:
    """Factor the rows; a pivot that is numerically zero flags joint k."""
    return factored(rows, lambda i, pivot: chain.guard_inertia(k, pivot, lambda: rows[i][i]))


def _joined(parts: BodyColumns) -> Vector:
    return tuple(x for part in parts for x in part)


def _parts(joined: Vector) -> list[Vector]:
    return [joined[i : i + 6] for i in range(0, len(joined), 6)]
