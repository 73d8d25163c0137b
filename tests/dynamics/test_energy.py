"""Energies against sums over single bodies, and power against the rate of energy."""

from __future__ import annotations

import numpy as np
import pytest

import robolin
from robolin.core.arm import Arm
from robolin.evaluation.evaluate import evaluate
from tests.dynamics.running import complex_step_along, gap
from tests.dynamics.world import kinetic_energy, potential_energy
from tests.robots import (
    WRENCH_MODELS,
    arm_name,
    bundled_arms,
    random_arm,
    random_states,
    sample_arms,
    with_follower,
    with_wrench,
)

ARMS = (
    *sample_arms()[::3],
    *(arm for arm in bundled_arms() if not arm.loops),
    with_follower(random_arm(7, 5, armature=True, damping=True)),
)
DRIVEN = (
    *ARMS,
    random_arm(5, 6, damping=True, friction_velocity=0.2, armature=True),
    *(with_wrench(random_arm(6, 5, tree=True), model) for model in WRENCH_MODELS),
    with_wrench(with_follower(random_arm(8, 4)), "follower"),
)


@pytest.mark.parametrize("arm", ARMS, ids=arm_name)
def test_energies_are_sums_over_bodies(arm: Arm) -> None:
    """½ Σ V*MV and -Σ m g·c are the energies of masses and inertias placed in the root frame."""
    states = random_states(arm, 2)
    results = evaluate(arm, "energy", {"q": states.q, "qd": states.qd}, engine="compiled")

    assert gap(results["kinetic_energy"], kinetic_energy(arm, states.q, states.qd)) < 1e-13
    assert gap(results["potential_energy"], potential_energy(arm, states.q)) < 1e-13


@pytest.mark.parametrize("arm", DRIVEN, ids=arm_name)
def test_power_is_the_rate_of_energy(arm: Arm) -> None:
    """d/dt (kinetic + potential) along the motion is the power of torques, loads and losses."""
    states = random_states(arm, 2)
    q, qd, tau = states.q, states.qd, 10.0 * states.dtau
    qdd = robolin.forward(arm, q, qd, tau)
    rates = complex_step_along(arm, "energy", {"q": q, "qd": qd}, {"q": qd, "qd": qdd})
    power = evaluate(arm, "power", {"q": q, "qd": qd, "tau": tau})["power"]

    # kinetic and potential energy exchange much more than they gain; q̈ has cond(M) of rounding
    exchanged = float(np.abs(rates["kinetic_energy"]).max())
    total = rates["kinetic_energy"] + rates["potential_energy"]
    assert gap(power, total, made_of=exchanged) < 1e-11
