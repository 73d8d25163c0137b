"""Forward dynamics in diagonalizing velocities is the time derivative of these velocities."""

from __future__ import annotations

import numpy as np
import pytest

import robolin
from robolin.core.arm import Arm
from robolin.evaluation.evaluate import evaluate
from tests.dynamics.running import complex_step_along, gap, gap_by_state
from tests.robots import (
    WRENCH_MODELS,
    bundled_arms,
    for_each_arm,
    random_arm,
    random_states,
    sample_arms,
    with_wrench,
    without_mimic,
)

ARMS = (
    *without_mimic(sample_arms()[::3]),
    *(arm for arm in without_mimic(bundled_arms()) if not arm.loops),
    random_arm(5, 6, damping=True, friction_velocity=0.2, armature=True),
    *(with_wrench(random_arm(6, 5, tree=True), model) for model in WRENCH_MODELS),
)
FORMS = {
    "xi": ("diagonalize-unnormalized", "forward-diagonalized-unnormalized"),
    "nu": ("diagonalize", "forward-diagonalized"),
}


@pytest.mark.parametrize("form", FORMS)
@for_each_arm(ARMS)
def test_rates_are_those_of_the_motion(arm: Arm, form: str) -> None:
    """ξ̇ and ν̇ are how ξ(q, q̇) and ν(q, q̇) change along q̇ and the q̈ of articulated bodies.

    Both divide by the inertia of light links; what is left grows with cond(M), at most 1e5 here.
    """
    there, onward = FORMS[form]
    states = random_states(arm, 2)
    q, qd, tau = states.q, states.qd, 10.0 * states.dtau
    qdd = robolin.forward(arm, q, qd, tau)
    inputs = {"q": q, "qd": qd, "tau": np.zeros_like(q)}
    true = complex_step_along(arm, there, inputs, {"q": qd, "qd": qdd})[form]
    values = evaluate(arm, there, inputs)[form]

    results = evaluate(arm, onward, {"q": q, form: values, "tau": tau})

    assert gap(results["qd"], qd) < 1e-12
    assert gap_by_state(results[f"{form}d"], true).max() < 1e-10


@for_each_arm(ARMS)
def test_equations_of_motion_are_those_of_diagonalize(arm: Arm) -> None:
    """ν̇ = ε - C(q, ν) and D ξ̇ = κ - C(q, ξ), with the C of algorithms 7.1 and 7.10."""
    states = random_states(arm, 2)
    q, qd, tau = states.q, states.qd, 10.0 * states.dtau
    with_roots = robolin.diagonalize(arm, q, qd, tau)
    without = robolin.diagonalize_unnormalized(arm, q, qd, tau)
    nud = with_roots.epsilon - with_roots.coriolis
    xid = (without.kappa - without.coriolis) / without.D

    by_nu = evaluate(arm, "forward-diagonalized", {"q": q, "nu": with_roots.nu, "tau": tau})
    values = {"q": q, "xi": without.xi, "tau": tau}
    by_xi = evaluate(arm, "forward-diagonalized-unnormalized", values)

    # the terms are of the size of ε and C, a few of which cancel
    assert gap(by_nu["nud"], nud) < 1e-11
    assert gap(by_xi["xid"], xid) < 1e-11


@for_each_arm(ARMS)
def test_rate_control_is_a_force_along_nu(arm: Arm) -> None:
    """The torque of control law 8.1 is, in diagonalizing coordinates, ε = -c ν joint by joint."""
    states = random_states(arm, 2)
    q, qd, gain = states.q, states.qd, np.abs(states.dq)
    results = evaluate(arm, "rate-control", {"q": q, "qd": qd, "gain": gain})

    there = robolin.diagonalize(arm, q, qd, results["tau"])

    assert gap(results["nu"], there.nu) < 1e-13
    # subtracting gravity leaves its round-off, divided by the root of the smallest D
    weight = np.abs(robolin.inverse(arm, q)).max()
    made_of = float(weight / np.sqrt(there.D.min()))
    assert gap(there.epsilon, -gain * there.nu, made_of) < 1e-12


@for_each_arm(ARMS)
def test_inverse_from_rest_leaves_out_coriolis_forces(arm: Arm) -> None:
    """Inverse dynamics minus C q̇ equals `inverse-from-rest`."""
    states = random_states(arm, 2)
    q, qd, qdd = states.q, states.qd, states.qdd
    coriolis = robolin.coriolis_matrix(arm, q, qd)
    true = robolin.inverse(arm, q, qd, qdd) - np.einsum("bij,bj->bi", coriolis, qd)

    tau = evaluate(arm, "inverse-from-rest", {"q": q, "qd": qd, "qdd": qdd})["tau"]

    assert gap(tau, true) < 1e-12
