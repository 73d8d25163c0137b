"""Diagonalized dynamics with multi-DoF joints, including a floating base."""

from __future__ import annotations

import numpy as np
import pytest

import robolin
from robolin.core.arm import Arm
from robolin.core.configuration import integrate
from tests.dynamics.running import gap, run_on
from tests.robots import arm_name, grouped_arm, random_states, with_wrench

ARMS = (
    grouped_arm(2, ("floating", "revolute", "planar", "prismatic")),
    grouped_arm(3, ("revolute", "floating", "revolute", "planar"), True, armature=True),
    with_wrench(grouped_arm(4, ("planar", "revolute", "floating"), True), "dead"),
)
each = pytest.mark.parametrize(
    "arm",
    [*ARMS[2:], *(pytest.param(arm, marks=pytest.mark.slow) for arm in ARMS[:2])],
    ids=arm_name,
)


def random_state(arm: Arm) -> dict[str, np.ndarray]:
    states = random_states(arm, 2)
    return {"q": states.q, "qd": states.qd, "tau": states.dtau}


def divided(arm: Arm, q: np.ndarray) -> float:
    """1e-13 for sums, and 1e-15 of the mass matrix's condition where it is divided by."""
    return 1e-13 + 1e-15 * float(np.linalg.cond(robolin.mass_matrix(arm, q)).max())


@each
@pytest.mark.parametrize("end", ["", "-unnormalized"])
def test_recursions_and_elimination_agree(arm: Arm, end: str) -> None:
    """Tables 1 and 2 and Algorithm 7.1 equal elimination with Christoffel's C."""
    state = random_state(arm)
    computed, true = (run_on(arm, f"diagonalize{end}{by}", state) for by in ("", "-conventional"))
    for name, values in true.items():
        assert gap(computed[name], values) <= divided(arm, state["q"]), name


@each
def test_energy_is_a_sum_of_squares_that_coriolis_forces_keep(arm: Arm) -> None:
    """m m* = 𝓜, ν*ν = q̇*𝓜q̇, ν*C(q, ν) = 0, and the inverse maps invert."""
    state = random_state(arm)
    results = run_on(arm, "diagonalize", state)
    M, nu, qd = robolin.mass_matrix(arm, state["q"]), results["nu"], state["qd"]
    limit = divided(arm, state["q"])
    assert gap(results["m"] @ np.swapaxes(results["m"], 1, 2), M) <= 1e-13
    assert gap(np.sum(nu**2, -1), np.einsum("bi,bij,bj->b", qd, M, qd)) <= 1e-13
    work = np.sum(nu * results["coriolis"], -1)
    sizes = np.linalg.norm(nu, axis=-1) * np.linalg.norm(results["coriolis"], axis=-1)
    assert gap(work, 0.0, made_of=float(sizes.max())) <= limit
    back = {"q": state["q"], "nu": nu, "epsilon": results["epsilon"]}
    assert gap(run_on(arm, "undiagonalize", back)["qd"], qd) <= limit


@each
def test_rates_of_nu_are_those_of_the_accelerations(arm: Arm) -> None:
    """ν̇ = m* q̈ + ṁ* q̇ with ṁ by differences along q ⊕ q̇ h, and ν̇ + C(q, ν) = ε.

    Central differences with h = 1e-5 leave 1e-10 of a third derivative and 1e-11 of rounding.
    """
    state = random_state(arm)
    results = run_on(arm, "diagonalize", state)
    moved = {"q": state["q"], "nu": results["nu"], "tau": state["tau"]}
    nud = run_on(arm, "forward-diagonalized", moved)["nud"]
    limit = divided(arm, state["q"])
    assert gap(nud + results["coriolis"], results["epsilon"], made_of=np.abs(nud).max()) <= limit

    more, less = (
        run_on(arm, "diagonalize", {**state, "q": integrate(arm, state["q"], h * state["qd"])})["m"]
        for h in (1e-5, -1e-5)
    )
    qdd = run_on(arm, "forward", state)["qdd"]
    true = np.einsum("bji,bj->bi", results["m"], qdd)
    true += np.einsum("bji,bj->bi", (more - less) / 2e-5, state["qd"])
    assert gap(nud, true) <= 1e-8


@pytest.mark.slow
def test_a_free_arm_moves_the_same_in_all_velocities() -> None:
    """A freely floating motion is the same in q̇, ξ and ν, to the integrator's error."""
    arm = grouped_arm(6, ("floating", "revolute"))
    q, qd = 0.5 * np.random.default_rng(1).normal(size=(2, arm.n))
    run = {"duration": 0.005, "dt": 0.001, "engine": "python"}
    rates, xi, nu = (
        robolin.simulate(arm, q, qd, state=state, **run) for state in ("rates", "xi", "nu")
    )
    for other in (xi, nu):
        assert gap(other.q[-1], rates.q[-1]) <= 1e-10
        assert gap(other.qd[-1], rates.qd[-1]) <= 1e-10
