"""Forward dynamics and Algorithm 4: form the inverse model, then solve with 𝓜, O(n³)."""

from __future__ import annotations

from robolin.dynamics.algebra.chain import Chain, Column, Scalars
from robolin.dynamics.inverse.inverse_dynamics import torques
from robolin.dynamics.inverse.linearize_inverse import InverseModel, inverse_model
from robolin.dynamics.links.link_motion import nominal_terms
from robolin.dynamics.links.link_poses import Links, forward_kinematics
from robolin.dynamics.mass_matrix.elimination import (
    EliminationFactors,
    eliminate,
    invert,
    solve_difference,
    solve_matrices,
    to_coordinates,
)
from robolin.dynamics.mass_matrix.mass_matrix import composite_bodies


def forward_conventional(chain: Chain) -> None:
    """q̈ from q, q̇ and τ."""
    nominal_conventional(chain)


def nominal_conventional(chain: Chain) -> tuple[Links, Column, EliminationFactors]:
    """The same, with the links and factors that a linearization reuses."""
    links = forward_kinematics(chain)
    qdd, factors = accelerations_conventional(chain, links)
    out = chain.result("qdd")
    for j in chain.coordinates():
        out[j] = qdd[j]
    return links, qdd, factors


def accelerations_conventional(chain: Chain, links: Links) -> tuple[Column, EliminationFactors]:
    """q̈ = 𝓜⁻¹ (τ - τ(q, q̇, q̈ = 0)) of the independent coordinates, and the factors of 𝓜."""
    # applied torques, and bias torques for q̈ = 0
    tau, bias = to_coordinates(chain, chain.input("tau")), chain.column()
    torques(chain, links, chain.input("qd"), chain.zeros(), bias)

    # the difference accelerates
    factors = factored_mass_matrix(chain, links)
    return solve_difference(chain, factors, tau, bias), factors


def factored_mass_matrix(chain: Chain, links: Links) -> EliminationFactors:
    """𝓜 = L D L*."""
    mass = chain.table()
    composite_bodies(chain, links, mass)
    return eliminate(chain, links, mass)


def inverse_conventional(chain: Chain) -> None:
    """𝓜⁻¹ by elimination."""
    factors = factored_mass_matrix(chain, forward_kinematics(chain))
    invert(chain, factors, chain.result("mass_matrix_inverse"))


def factors_conventional(chain: Chain) -> None:
    """L, D and L⁻¹ of 𝓜 = L D L*, a column of L⁻¹ at a time."""
    L = factored_mass_matrix(chain, forward_kinematics(chain)).L
    factor, D, inverse = (chain.result(name) for name in ("factor", "D", "factor_inverse"))
    for c in chain.coordinates():
        D[c] = L[c, c]
        factor[c, c] = inverse[c, c] = 1.0
        for r in chain.coordinates(after=c):
            factor[r, c] = L[r, c]

        # L x = the unit vector c: nothing above row c
        x = chain.column()
        x[c] = 1.0
        for r in chain.coordinates(after=c):
            entry = chain.accumulator((0.0,))
            for j in chain.coordinates(start=c, before=r):
                entry.value = (entry.value[0] - L[r, j] * x[j],)
            x[r] = entry.value[0]
            inverse[r, c] = x[r]


def linearize_forward_conventional(chain: Chain) -> None:
    """q̈ at q, q̇, τ, and the model around it."""
    links, qdd, factors = nominal_conventional(chain)
    forward_model_conventional(chain, links, qdd.on_links(), factors)


def forward_model_conventional(
    chain: Chain, links: Links, qdd: Scalars, factors: EliminationFactors | None = None
) -> None:
    """Algorithm 4: 𝓜, A_D, B_D by Algorithm 2, then 𝓜⁻¹, -𝓜⁻¹ A_D and -𝓜⁻¹ B_D.

    The mass matrix is not formed again if its factors are known.
    """
    # the inverse model
    mass = None if factors else chain.table()
    AD, BD = chain.table(), chain.table()
    one = nominal_terms(chain, links, qdd)
    inverse_model(chain, links, one, InverseModel(mass, AD, BD))
    if mass is not None:
        factors = eliminate(chain, links, mass)

    # the forward model
    assert factors is not None
    into = [(AD, chain.result("dqdd_dqd")), (BD, chain.result("dqdd_dq"))]
    solve_matrices(chain, factors, chain.result("dqdd_dtau"), into)
