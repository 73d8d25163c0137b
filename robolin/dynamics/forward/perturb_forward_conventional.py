"""Algorithm 3: the perturbation of acceleration by Algorithm 1 and a solve with 𝓜."""

from __future__ import annotations

from robolin.dynamics.algebra.chain import Chain
from robolin.dynamics.forward.conventional import factored_mass_matrix
from robolin.dynamics.inverse.perturb_inverse import perturbed_torques
from robolin.dynamics.links.link_poses import forward_kinematics
from robolin.dynamics.mass_matrix.elimination import solve_difference, to_coordinates


def perturb_forward_conventional(chain: Chain) -> None:
    """δq̈ = 𝓜⁻¹ (δτ - (A_D δq̇ + B_D δq))."""
    # the applied δτ, and the δτ for δq̈ = 0
    links = forward_kinematics(chain)
    applied, needed = to_coordinates(chain, chain.input("dtau")), chain.column()
    perturbed_torques(chain, links, chain.zeros(), needed)

    # the difference accelerates
    factors = factored_mass_matrix(chain, links)
    dqdd, out = solve_difference(chain, factors, applied, needed), chain.result("dqdd")
    for j in chain.coordinates():
        out[j] = dqdd[j]
