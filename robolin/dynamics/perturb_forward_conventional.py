"""Algorithm 3: the change of acceleration by Algorithm 1 and a solve with 𝓜."""

from __future__ import annotations

from robolin.algebra.chain import Chain
from robolin.dynamics.elimination import eliminate, solve
from robolin.dynamics.kinematics import place_links
from robolin.dynamics.mass_matrix import composite_bodies
from robolin.dynamics.perturb_inverse import torque_changes


def perturb_forward_conventional(chain: Chain) -> None:
    """𝓜 δq̈ = δτ - (A_D δq̇ + B_D δq)."""
    links = place_links(chain)
    chain.begin("applied", "dtau", "mass_matrix")
    still, dtau = chain.scalars(), chain.given("dtau")
    for k in chain.tip_to_base():
        still[k] = 0.0
        chain.hold("applied", (k,), dtau[k])
    torque_changes(chain, links, still, chain.hold)
    composite_bodies(chain, links, chain.hold)

    needed, dqdd = chain.held_column("dtau"), chain.held_column("applied")
    for j in chain.coordinates():
        dqdd[j] = dqdd[j] - needed[j]
    solve(chain, eliminate(chain, "mass_matrix"), dqdd)
    for j in chain.coordinates():
        chain.out_coordinate("dqdd", (j,), dqdd[j])
