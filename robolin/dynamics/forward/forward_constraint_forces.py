"""Forward dynamics of a chain from its constraint forces alone: block-tridiagonal, O(n).

    T* M⁻¹ T β = T* a₀ - T* M⁻¹ f

Each joint acts on two bodies, so the row of joint k couples joints k-1, k and k+1 only.  Its six
unknowns φ are the effort of the drive, τ minus the rotor torque, and five constraint forces β.
Every body requires an inertia in all directions.
"""

from __future__ import annotations

from typing import NamedTuple

from robolin.dynamics.algebra.chain import Chain, LinkNumber, Scalars, Slots
from robolin.dynamics.algebra.inertias import ENTRY_INDEX, articulated_from, rigid_times
from robolin.dynamics.algebra.scalar import Scalar, Vector
from robolin.dynamics.algebra.small_matrices import (
    BlockRow,
    Matrix,
    by_cyclic_reduction,
    divided,
    flat,
    matrix_rows,
    matrix_times,
    minus,
    plus,
    times_vector,
    transposed,
)
from robolin.dynamics.algebra.vectors import add, dot, force_cross, scale, sub
from robolin.dynamics.links.joint_torques import conserving_torques, resisting_torque, transmitted
from robolin.dynamics.links.link_motion import base_acceleration, velocities
from robolin.dynamics.links.link_poses import Links, forward_kinematics
from robolin.dynamics.links.loads import external_forces, plus_external

UNIT = [tuple(float(i == j) for j in range(6)) for i in range(6)]
ZERO36: Vector = (0.0,) * 36


class Bodies(NamedTuple):
    """M⁻¹ (36), a₀ = -M⁻¹ b (6), E* (36), c (6) and torques of springs; the base is fixed."""

    N: Slots
    free: Slots
    E: Slots
    c: Slots
    needed: Scalars | None


def forward_constraint_forces(chain: Chain) -> None:
    """q̈ from q, q̇ and τ, joints eliminated one after the other.

    tip to base   φ(k) = x(k) - Y(k) φ(k+1)
                  a(k) = a₀ - M⁻¹ E x(k-1) + M⁻¹ (E + E Y(k-1)) φ(k)
    base to tip   q̈(k) = drive · (a(k) - a(k+1) - c)
    """
    bodies = _bodies(chain, forward_kinematics(chain))
    x, Y, own, give = chain.slots(6), chain.slots(36), chain.slots(6), chain.slots(36)
    pull, passed = chain.child_sums(6), chain.child_sums(36)
    for k in chain.tip_to_base():
        E, N, row = (
            matrix_rows(bodies.E[k], 6),
            matrix_rows(bodies.N[k], 6),
            block_row(chain, bodies, k),
        )

        # effect of the joint outboard on link k, as a function of φ(k)
        moved, more = times_vector(N, pull[k]), matrix_times(N, matrix_rows(passed[k], 6))
        own[k] = sub(bodies.free[k], moved)
        give[k] = flat(plus(matrix_times(N, transposed(E)), more))
        D = plus(row.D, _weighed(chain, k, matrix_times(E, more)))
        r = add(row.r, flat(_weighed(chain, k, [(y,) for y in times_vector(E, moved)])))
        quotients = divided(D, [(*u, y) for u, y in zip(row.U, r, strict=True)])
        x[k], Y[k] = tuple(line[6] for line in quotients), flat([line[:6] for line in quotients])
        pull.add_to_parent(k, times_vector(transposed(E), x[k]))
        passed.add_to_parent(k, flat(matrix_times(transposed(E), matrix_rows(Y[k], 6))))
    _go_back(chain, bodies, (x, Y, own, give))


def _go_back(chain: Chain, bodies: Bodies, known: tuple[Slots, Slots, Slots, Slots]) -> None:
    """Back substitution from base to tip; writes q̈."""
    x, Y, own, give = known
    phi, a = chain.slots(6), chain.slots(6)
    phi[chain.base], a[chain.base] = (0.0,) * 6, base_acceleration(chain)
    for k in chain.base_to_tip():
        up = chain.inboard(k)
        phi[k] = sub(x[k], times_vector(matrix_rows(Y[k], 6), phi[up]))
        a[k] = add(own[k], times_vector(matrix_rows(give[k], 6), phi[k]))
        drive = bodies.E[k][:6]
        chain.out("qdd", (k,), dot(drive, sub(a[k], add(a[up], bodies.c[k]))))


def forward_by_reduction(chain: Chain) -> int:
    """The same by cyclic reduction; returns the number of steps with one processor per joint.

    It combines distant blocks, which loops over neighbours cannot express, so it is not compiled.
    """
    bodies = _bodies(chain, forward_kinematics(chain))
    links = list(chain.tip_to_base())
    rows = [block_row(chain, bodies, k, k - 1 if k > 1 else None) for k in links]
    solution, steps = by_cyclic_reduction(rows)
    phi = dict(zip(links, solution, strict=True))
    a = {chain.base: base_acceleration(chain)}
    for k in chain.base_to_tip():
        force = times_vector(transposed(matrix_rows(bodies.E[k], 6)), phi[k])
        if k > 1:
            force = sub(
                force, times_vector(transposed(matrix_rows(bodies.E[k - 1], 6)), phi[k - 1])
            )
        a[k] = add(bodies.free[k], times_vector(matrix_rows(bodies.N[k], 6), force))
        inboard = add(a[chain.inboard(k)], bodies.c[k])
        chain.out("qdd", (k,), dot(bodies.E[k][:6], sub(a[k], inboard)))
    return steps


def block_row(
    chain: Chain, bodies: Bodies, k: LinkNumber, outboard: LinkNumber | None = None
) -> BlockRow:
    """W E* (a(k) - a(k+1) - c) + e₀ (φ₀ - τ) = 0 with W = diag(rotor, 1, …, 1), in terms of φ."""
    up, E = chain.inboard(k), matrix_rows(bodies.E[k], 6)
    here, there = matrix_rows(bodies.N[k], 6), matrix_rows(bodies.N[up], 6)
    tau, qd = chain.input("tau"), chain.input("qd")
    effort = tau[k] - resisting_torque(chain, bodies.needed, k, qd[k])
    D = _weighed(chain, k, matrix_times(E, matrix_times(plus(here, there), transposed(E))))
    D[0] = (D[0][0] + 1.0, *D[0][1:])
    U = matrix_times(E, matrix_times(there, transposed(matrix_rows(bodies.E[up], 6))))
    L = matrix_rows(ZERO36, 6)
    if outboard is not None:
        L = matrix_times(E, matrix_times(here, transposed(matrix_rows(bodies.E[outboard], 6))))
    relative = add(bodies.c[k], sub(bodies.free[up], bodies.free[k]))
    r = flat(_weighed(chain, k, [(y,) for y in times_vector(E, relative)]))
    zero = matrix_rows(ZERO36, 6)
    return BlockRow(
        minus(zero, _weighed(chain, k, L)),
        D,
        minus(zero, _weighed(chain, k, U)),
        (r[0] + effort, *r[1:]),
    )


def _weighed(chain: Chain, k: LinkNumber, rows: Matrix) -> list[Vector]:
    """W rows."""
    return [scale(rows[0], chain.armature(k)), *rows[1:]]


def _bodies(chain: Chain, links: Links) -> Bodies:
    qd, f0 = chain.input("qd"), external_forces(chain, links)
    moving = velocities(chain, links, qd)
    needed = conserving_torques(chain, links, qd)
    bodies = Bodies(chain.slots(36), chain.slots(6), chain.slots(36), chain.slots(6), needed)
    base = chain.base
    bodies.N[base], bodies.E[base], bodies.free[base] = ZERO36, ZERO36, base_acceleration(chain)
    for k in chain.tip_to_base():
        M, V = links.M[k], moving.V[k]
        own = plus_external(f0, k, force_cross(V, rigid_times(M, V)))
        N = _inverse(chain, k, articulated_from(M))
        bodies.N[k], bodies.E[k] = flat(N), flat(transmitted(chain, links, k))
        bodies.free[k] = tuple(-x for x in times_vector(N, own))
        bodies.c[k] = scale(moving.Hd[k], qd[k])
    return bodies


def _inverse(chain: Chain, k: LinkNumber, M: Vector) -> list[Vector]:
    """M⁻¹; a body without inertia in some direction flags joint k."""
    rows = [tuple(M[index] for index in row) for row in ENTRY_INDEX]

    def positive(i: int, pivot: Scalar) -> Scalar:
        return chain.guard_inertia(k, pivot, lambda: rows[i][i])

    return divided(rows, UNIT, positive)
