"""Forward dynamics with closed loops: accelerations and constraint forces, O(n³).

    𝓜 q̈ + C = τ + L* λ          L q̈ = -L̇ q̇

The free motion is computed first, without a basis of the null space: with Q an orthonormal basis
of the rows of L, P = 1 - Q* Q projects onto the free motion.
"""

from __future__ import annotations

from typing import NamedTuple

from robolin.dynamics.algebra.chain import Chain, LinkNumber, Scalars, Slots, Table
from robolin.dynamics.algebra.scalar import Scalar, Vector
from robolin.dynamics.algebra.vectors import added_up, dot, scale, sub
from robolin.dynamics.inverse.inverse_dynamics import torques
from robolin.dynamics.links.link_motion import bias_motion
from robolin.dynamics.links.link_poses import Links, forward_kinematics
from robolin.dynamics.loops.closures import (
    by_coordinates,
    closure_acceleration,
    closure_columns,
    closure_ends,
    closure_velocity,
    out_gaps,
    out_rows,
    row_count,
)
from robolin.dynamics.loops.independent_rows import (
    Basis,
    forces,
    independent_rows,
    least_solution,
    summed,
)
from robolin.dynamics.mass_matrix.elimination import eliminate_with, solve, to_coordinates
from robolin.dynamics.mass_matrix.mass_matrix import composite_bodies

# if the inertia of the free motion is below this fraction of the trace of 𝓜, LAPACK solves
SMALL_INERTIA = 1e-8

# tolerated residual of omitted rows, relative to their terms and to rounding of the torques
AGREE_FOR_SURE_WITHIN, ROUNDING_OF_TORQUES = 1e-8, 1e-11


def forward_closed(chain: Chain) -> None:
    """q̈ and λ from q, q̇ and τ, the rows kept, and the constraint violation.

    x₀    = Q* y,  R y = -L̇ q̇                          minimum-norm q̈ on the constraints
    q̈     = x₀ + P A⁻¹ P (τ - C - 𝓜 x₀)                A = P 𝓜 P + tr(𝓜) Q* Q
    λ     from (L* λ) · q(s) = (𝓜 q̈ + C - τ) · q(s)
    """
    links, qd, count = forward_kinematics(chain), chain.input("qd"), row_count(chain)
    ends, moving = closure_ends(chain, links), bias_motion(chain, links, qd)
    out_gaps(chain, ends)
    out_rows(chain, "closure_velocity", closure_velocity(chain, ends, moving))

    # the closures, and an orthonormal basis of their rows
    c = tuple(-x for x in closure_acceleration(chain, ends, moving))
    L = by_coordinates(chain, closure_columns(chain, links, ends), count)
    basis = independent_rows(chain, L, count)
    y = least_solution(basis, c)

    # the tree, and its motion on the constraints
    top, mass = _driving(chain, links)
    free = _free_inertia(chain, basis, mass, count)
    qdd = _accelerations(chain, basis, free, y, top)
    pulled = summed(
        chain, count, lambda j: sub(scale(free.U[j], qdd[j]), scale(basis.Q[j], top[j]))
    )
    driven = summed(chain, 1, lambda j: (top[j] * top[j],))[0]
    check_consistency(chain, L, qdd, c, driven)
    out = chain.result("qdd")
    for j in chain.coordinates():
        out[j] = qdd[j]
    out_rows(chain, "lam", forces(basis, pulled))
    out_rows(chain, "kept", basis.kept)


def _driving(chain: Chain, links: Links) -> tuple[Scalars, Table]:
    """τ - C of every coordinate, and 𝓜."""
    tau, bias, mass = to_coordinates(chain, chain.input("tau")), chain.column(), chain.table()
    torques(chain, links, chain.input("qd"), chain.zeros(), bias)
    composite_bodies(chain, links, mass)
    top = chain.scalars()
    for j in chain.coordinates():
        top[j] = tau[j] - bias[j]
    return top, mass


class FreeInertia(NamedTuple):
    """A, which overwrites 𝓜, U = 𝓜 Q* per coordinate, and tr 𝓜."""

    A: Table
    U: Slots
    trace: Scalar


def _free_inertia(chain: Chain, basis: Basis, mass: Table, count: int) -> FreeInertia:
    """A(i,j) = 𝓜(i,j) - Z(i) · Q(j) - Q(i) · Z(j),   Z = U - ½ Q W - ½ tr(𝓜) Q,   W = Q U."""
    Q, A = basis.Q, mass
    U, Z = chain.slots(count), chain.slots(count)
    for j in chain.coordinates():
        U[j] = _row_times(chain, A, j, Q, count)
    trace = summed(chain, 1, lambda j: (A[j, j],))[0]
    W = [_column_times(chain, U, Q, s, count) for s in range(count)]
    for j in chain.coordinates():
        turned = tuple(dot(row, Q[j]) + trace * q for row, q in zip(W, Q[j], strict=True))
        Z[j] = sub(U[j], scale(turned, 0.5))
    for i in chain.coordinates():
        for j in chain.coordinates():
            A[i, j] = A[i, j] - (dot(Z[i], Q[j]) + dot(Q[i], Z[j]))
    return FreeInertia(A, U, trace)


def _row_times(chain: Chain, A: Table, j: LinkNumber, Q: Slots, count: int) -> Vector:
    return summed(chain, count, lambda i: scale(Q[i], A[j, i]))


def _column_times(chain: Chain, U: Slots, Q: Slots, s: int, count: int) -> Vector:
    return summed(chain, count, lambda j: scale(U[j], Q[j][s]))


def _accelerations(
    chain: Chain, basis: Basis, free: FreeInertia, y: Vector, top: Scalars
) -> Scalars:
    """q̈ = x₀ + P A⁻¹ P (τ - C - 𝓜 x₀)."""
    Q, least, x, qdd = basis.Q, free.trace * SMALL_INERTIA, chain.slots(1), chain.scalars()
    for j in chain.coordinates():
        x[j] = (top[j] - dot(free.U[j], y),)
    project_to_nullspace(chain, Q, x, len(y))
    factors = eliminate_with(chain, free.A, lambda j, D: chain.guard_rank("qdd", D, least))
    solve(chain, factors, x)
    project_to_nullspace(chain, Q, x, len(y))
    for j in chain.coordinates():
        qdd[j] = dot(y, Q[j]) + x[j][0]
    return qdd


def project_to_nullspace(chain: Chain, Q: Slots, x: Slots, count: int) -> None:
    """x ← P x."""
    along = summed(chain, count, lambda j: scale(Q[j], x[j][0]))
    for j in chain.coordinates():
        x[j] = (x[j][0] - dot(along, Q[j]),)


def check_consistency(chain: Chain, L: Slots, qdd: Scalars, c: Vector, driven: Scalar) -> None:
    """Check that q̈ also satisfies the omitted rows, within a tolerance.

    driven: squared norm of the driving torques, which scales the rounding error
    """
    moved = summed(chain, len(c), lambda j: scale(L[j], qdd[j]))
    size = summed(chain, 1, lambda j: (added_up(_squares(scale(L[j], qdd[j]))),))[0]
    allowed = AGREE_FOR_SURE_WITHIN**2 * (size + added_up(_squares(c))) + ROUNDING_OF_TORQUES**2 * (
        1.0 + driven
    )
    chain.guard_rank("qdd", allowed - added_up(_squares(sub(moved, c))), 0.0)


def _squares(values: Vector) -> Vector:
    return tuple(x * x for x in values)
