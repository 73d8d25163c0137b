"""Forward dynamics and rate control in diagonalizing velocities by elimination; mimic joints too.

𝓜 = L D L*        ξ = L* q̇        ν = D^½ ξ        D ξ̇ + C(q, ξ) = κ        ν̇ + C(q, ν) = ε
"""

from __future__ import annotations

from robolin.dynamics.algebra.chain import Chain
from robolin.dynamics.diagonal.diagonalize_conventional import (
    coriolis_forces,
    free_torque,
    losses,
    roots,
)
from robolin.dynamics.forward.conventional import factored_mass_matrix
from robolin.dynamics.inverse.inverse_dynamics import gravity_effort
from robolin.dynamics.links.link_poses import forward_kinematics
from robolin.dynamics.mass_matrix.triangular import (
    of_leaders,
    solved,
    solved_transposed,
    times,
    times_transposed,
)


def forward_diagonalized_conventional(chain: Chain) -> None:
    """q̇ and ν̇ from q, ν and τ."""
    _forward(chain, "nu", "nud", normalized=True)


def forward_diagonalized_unnormalized_conventional(chain: Chain) -> None:
    """q̇ and ξ̇ from q, ξ and τ."""
    _forward(chain, "xi", "xid", normalized=False)


def _forward(chain: Chain, input_name: str, output_name: str, *, normalized: bool) -> None:
    """q̇ = L⁻* ξ,   ξ̇ = D⁻¹ (L⁻¹ (τ - gravity - loads - friction) - C(q, ξ))."""
    links = forward_kinematics(chain)
    factors = factored_mass_matrix(chain, links)
    L, xi = factors.L, of_leaders(chain, chain.input(input_name))
    root = roots(chain, L) if normalized else None
    if root is not None:
        for j in chain.coordinates():
            xi[j] = xi[j] / root[j]

    # joint velocities, and the forces that act on them
    qd = solved_transposed(chain, L, xi)
    moving = qd.on_links()
    kappa = solved(chain, L, free_torque(chain, links, moving))
    coriolis = coriolis_forces(chain, links, L, xi, moving, normalized=normalized)

    velocity, rate = chain.result("qd"), chain.result(output_name)
    for j in chain.coordinates():
        push = kappa[j] - coriolis[j]
        velocity[j] = qd[j]
        rate[j] = push * factors.Dinv[j] if root is None else push / root[j]


def rate_control_conventional(chain: Chain) -> None:
    """Control law 8.1: τ, and ν itself, from q, q̇ and one gain c per joint.

    ν = m* q̇        ε = -c ν        τ = m ε + gravity + loads + friction
    """
    links, qd = forward_kinematics(chain), chain.input("qd")
    L = factored_mass_matrix(chain, links).L

    # damp each diagonalizing velocity separately
    root, gain = roots(chain, L), of_leaders(chain, chain.input("gain"))
    xi, kappa = times_transposed(chain, L, of_leaders(chain, qd)), chain.column()
    for j in chain.coordinates():
        nu = xi[j] * root[j]
        chain.result("nu")[j] = nu
        kappa[j] = gain[j] * nu * -1.0 * root[j]

    # transform to joint torques, and compensate gravity and loads
    effort, standing, lost = (
        times(chain, L, kappa),
        gravity_effort(chain, links),
        losses(chain, qd),
    )
    tau = chain.result("tau")
    for j in chain.coordinates():
        tau[j] = effort[j] + standing[j] + lost[j]
