"""Forward dynamics and Algorithms 3 and 4: form the inverse model, then solve with 𝓜, O(n³)."""

from __future__ import annotations

from robolin.algebra.chain import Chain, LinkNumber, Scalars
from robolin.algebra.scalar import Scalar
from robolin.dynamics.inverse.inverse_dynamics import torques
from robolin.dynamics.inverse.linearize_inverse import inverse_model
from robolin.dynamics.links.link_poses import Links, place_links
from robolin.dynamics.links.nominal_terms import nominal_terms
from robolin.dynamics.mass_matrix.elimination import Factors, eliminate, inverse_column, solve
from robolin.dynamics.mass_matrix.mass_matrix import composite_bodies


def forward_conventional(chain: Chain) -> None:
    """q̈ = 𝓜⁻¹ (τ - τ(q, q̇, q̈ = 0))."""
    nominal_conventional(chain)


def nominal_conventional(chain: Chain) -> tuple[Links, Scalars, Factors]:
    """The same, and the links and factors that a linearization goes on with."""
    links = place_links(chain)
    qdd, factors = accelerations_conventional(chain, links)
    for j in chain.coordinates():
        chain.out_coordinate("qdd", (j,), qdd[j])
    return links, qdd, factors


def accelerations_conventional(chain: Chain, links: Links) -> tuple[Scalars, Factors]:
    """The accelerations of the independent coordinates, and the factors of 𝓜."""
    chain.begin("applied", "tau", "mass_matrix")
    still = chain.scalars()
    for k in chain.tip_to_base():
        still[k] = 0.0
        chain.hold("applied", (k,), chain.given("tau")[k])
    torques(chain, links, chain.given("qd"), still, chain.hold)
    composite_bodies(chain, links, chain.hold)
    bias, applied = chain.held_column("tau"), chain.held_column("applied")
    x, qdd = chain.slots(1), chain.scalars()
    for j in chain.coordinates():
        x[j] = (applied[j] - bias[j],)
    factors = eliminate(chain, links, "mass_matrix")
    solve(chain, factors, x)
    for j in chain.coordinates():
        qdd[j] = x[j][0]
    return qdd, factors


def inverse_conventional(chain: Chain) -> None:
    """𝓜⁻¹ by elimination."""
    chain.begin("mass_matrix")
    links = place_links(chain)
    composite_bodies(chain, links, chain.hold)
    factors = eliminate(chain, links, "mass_matrix")
    for c in chain.coordinates():
        x = inverse_column(chain, factors, c)
        chain.out_coordinate("mass_matrix_inverse", (c, c), x[c])
        for r in chain.coordinates_after(c):
            chain.out_coordinate("mass_matrix_inverse", (r, c), x[r])
            chain.out_coordinate("mass_matrix_inverse", (c, r), x[r])


def linearize_forward_conventional(chain: Chain) -> None:
    """q̈ at q, q̇, τ, and the model around it."""
    links, qdd, factors = nominal_conventional(chain)
    forward_model_conventional(chain, links, chain.spread(qdd), factors)


def forward_model_conventional(
    chain: Chain, links: Links, qdd: Scalars, factors: Factors | None = None
) -> None:
    """Algorithm 4: 𝓜, A_D, B_D by Algorithm 2, then 𝓜⁻¹, -𝓜⁻¹ A_D and -𝓜⁻¹ B_D."""
    formed = factors is not None
    chain.begin(*(() if formed else ("mass_matrix",)), "dtau_dqd", "dtau_dq")

    def hold(name: str, index: tuple[LinkNumber, ...], value: Scalar) -> None:
        # a mass matrix that is factored already must not be formed again in the same place
        if not (formed and name == "mass_matrix"):
            chain.hold(name, index, value)

    inverse_model(chain, links, nominal_terms(chain, links, qdd), hold, chain.hold_more)
    factors = factors or eliminate(chain, links, "mass_matrix")

    # four columns of I, A_D and B_D are solved at once: that many keep a processor busy
    AD, BD, x = chain.held("dtau_dqd"), chain.held("dtau_dq"), chain.slots(12)
    for columns in chain.coordinates_in_fours():
        for r in chain.coordinates():
            x[r] = tuple(entry for c in columns for entry in (0.0, AD[r, c], BD[r, c]))
        for i, c in enumerate(columns):
            x[c] = (*x[c][: 3 * i], 1.0, *x[c][3 * i + 1 :])
        solve(chain, factors, x)
        for r in chain.coordinates():
            for i, c in enumerate(columns):
                chain.out_coordinate("dqdd_dqd", (r, c), -x[r][3 * i + 1])
                chain.out_coordinate("dqdd_dq", (r, c), -x[r][3 * i + 2])
        # 𝓜⁻¹ is symmetric, and stays so to the last bit
        for i, c in enumerate(columns):
            chain.out_coordinate("dqdd_dtau", (c, c), x[c][3 * i])
            for r in chain.coordinates_after(c):
                chain.out_coordinate("dqdd_dtau", (r, c), x[r][3 * i])
                chain.out_coordinate("dqdd_dtau", (c, r), x[r][3 * i])
