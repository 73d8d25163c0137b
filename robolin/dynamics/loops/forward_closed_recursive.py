"""Forward dynamics with closed loops: constraint forces first, by recursions, O(n r² + r³).

    L 𝓜⁻¹ L* λ = c - L 𝓜⁻¹ (τ - C)          q̈ = 𝓜⁻¹ (τ - C + L* λ)

No mass matrix is formed: 𝓜⁻¹ times a vector is two sweeps through articulated bodies.  An
orthonormal basis Q of the rows of L replaces the rows.
"""

from __future__ import annotations

from robolin.dynamics.algebra.chain import Chain, Scalars
from robolin.dynamics.algebra.scalar import Vector
from robolin.dynamics.algebra.small_matrices import factored, solved_symmetric
from robolin.dynamics.algebra.vectors import added_up, dot, scale
from robolin.dynamics.forward.forward_dynamics import hinge_accelerations
from robolin.dynamics.links.link_motion import bias_motion
from robolin.dynamics.links.link_poses import Links, forward_kinematics
from robolin.dynamics.loops.closures import (
    by_coordinates,
    closure_acceleration,
    closure_columns,
    closure_ends,
    row_count,
)
from robolin.dynamics.loops.forward_closed import check_consistency
from robolin.dynamics.loops.independent_rows import (
    Basis,
    forces,
    independent_rows,
    least_solution,
    summed,
)
from robolin.dynamics.mass_matrix.articulated_bodies import (
    Articulated,
    apply_inverse_mass,
    articulated_bodies,
)

# compliance of a constraint, relative to the sum over all, below which it is numerically zero
SMALL_COMPLIANCE = 1e-12


def forward_closed_recursive(chain: Chain) -> None:
    """q̈ and λ from q, q̇ and τ.

    u(s)  = 𝓜⁻¹ q(s)                                   two sweeps for each direction
    S     = Q 𝓜⁻¹ Q*,  S μ = y - Q q̈₀                  q̈₀ of the open tree
    q̈     = q̈₀ + Σ u(s) μ(s)                           λ from (L* λ) · q(s) = μ(s)
    """
    links, count = forward_kinematics(chain), row_count(chain)
    ends, moving = closure_ends(chain, links), bias_motion(chain, links, chain.input("qd"))
    c = tuple(-x for x in closure_acceleration(chain, ends, moving))
    L = by_coordinates(chain, closure_columns(chain, links, ends), count)
    basis = independent_rows(chain, L, count)

    # the open tree, and its response to each direction
    art = articulated_bodies(chain, links)
    free = hinge_accelerations(chain, links, art)
    responses = [_response(chain, links, art, basis, s) for s in range(count)]

    # constraint forces
    along = _along(chain, basis, free, count)
    gap = tuple(a - b for a, b in zip(least_solution(basis, c), along, strict=True))
    S = _compliance(chain, basis, responses)
    least = added_up(tuple(S[s][s] for s in range(count))) * SMALL_COMPLIANCE
    mu = solved_symmetric(factored(S, lambda _, pivot: chain.guard_rank("qdd", pivot, least)), gap)
    qdd, out = chain.scalars(), chain.result("qdd")
    for j in chain.coordinates():
        qdd[j] = free[j] + dot(tuple(response[j] for response in responses), mu)
        out[j] = qdd[j]
    for row, force in enumerate(forces(basis, mu)):
        chain.out("lam", (row,), force)
    driven = summed(chain, 1, lambda j: (free[j] * free[j],))[0]
    check_consistency(chain, L, qdd, c, driven)


def _response(chain: Chain, links: Links, art: Articulated, basis: Basis, s: int) -> Scalars:
    """𝓜⁻¹ q(s)."""
    push = chain.scalars()
    for j in chain.coordinates():
        push[j] = basis.Q[j][s]
    return apply_inverse_mass(chain, links, art, push)


def _compliance(chain: Chain, basis: Basis, responses: list[Scalars]) -> list[Vector]:
    """Rows of Q 𝓜⁻¹ Q*, with 1 on the diagonal of missing directions."""
    count = len(responses)
    rows = [_along(chain, basis, response, count) for response in responses]
    return [
        (*row[:s], row[s] + (1.0 - added_up(basis.picks[s])), *row[s + 1 :])
        for s, row in enumerate(rows)
    ]


def _along(chain: Chain, basis: Basis, response: Scalars, count: int) -> Vector:
    """Q times a response."""
    return summed(chain, count, lambda j: scale(basis.Q[j], response[j]))
