"""The momentum balance ṗ = β + τ_e, and the observer as a filter of it.

Both sides round a few dozen terms of the size of the largest torque: 1e-13 of it.
"""

from __future__ import annotations

import numpy as np
import pytest

import robolin
from robolin.core.arm import Arm
from robolin.evaluation.evaluate import evaluate
from tests.dynamics.running import gap
from tests.robots import (
    arm_name,
    grouped_arm,
    random_arm,
    random_states,
    with_follower,
    with_springs,
    with_wrench,
)

ROUNDING = 1e-13

LOSSY = random_arm(81, 7, tree=True, armature=True, damping=True, friction_velocity=0.3)
ARMS = [
    LOSSY,
    with_springs(with_follower(LOSSY)),
    with_wrench(random_arm(83, 5, tree=True), "dead"),
    grouped_arm(4, ["floating", "revolute", "planar"], tree=True, armature=True),
    robolin.load("panda"),
    robolin.load("panda-fingers"),
]


@pytest.mark.parametrize("arm", ARMS, ids=arm_name)
def test_momentum_and_its_rate(arm: Arm) -> None:
    """p = 𝓜 q̇ and β = τ + 𝓜̇ q̇ - τ(q̈ = 0), with 𝓜̇ = C + C*."""
    s = random_states(arm, 3)
    tau = np.random.default_rng(1).normal(size=s.q.shape)
    results = evaluate(arm, "generalized-momentum", {"q": s.q, "qd": s.qd, "tau": tau})

    M, C = robolin.mass_matrix(arm, s.q), robolin.coriolis_matrix(arm, s.q, s.qd)
    momentum = np.einsum("bij,bj->bi", M, s.qd)
    turned = np.einsum("bij,bj->bi", C + np.swapaxes(C, 1, 2), s.qd)
    assert gap(results["generalized_momentum"], momentum) <= ROUNDING
    assert gap(results["momentum_rate"], tau + turned - robolin.inverse(arm, s.q, s.qd)) <= ROUNDING


def test_start_is_an_estimate_of_zero() -> None:
    """The first row of a moving arm estimates no external torque, for any torques."""
    arm, rng = robolin.load("panda"), np.random.default_rng(2)
    q, qd, tau = rng.normal(size=(3, arm.n))
    constants = {"observer_decay": np.full(7, 0.9), "observer_rate": np.full(7, 500.0)}
    row = {"q": q, "qd": qd, "tau": tau, **constants}
    started = evaluate(arm, "momentum-observer-start", row)["observer"]

    # a row of the same momentum whose torques do not change it: nothing external
    still = {**row, "tau": tau - evaluate(arm, "generalized-momentum", row)["momentum_rate"]}
    begun = evaluate(arm, "momentum-observer-start", still)["observer"]
    results = evaluate(arm, "momentum-observer", {**still, "observer": begun})
    assert np.abs(results["tau_external"]).max() <= 1e-12 * np.abs(begun).max()
    assert not np.array_equal(started, begun)
