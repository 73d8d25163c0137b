"""Forward dynamics of all bodies with the forces in their joints: [O] section 3.5.

Bodies are inverted about the base, so their own condition number adds to that of 𝓜.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

import robolin
from robolin.core.arm import Arm
from robolin.dynamics.catalogue import ALGORITHMS
from robolin.dynamics.forward.forward_constraint_forces import forward_by_reduction
from robolin.engine.direct import DirectChain
from robolin.engine.direct_storage import generic_chain
from robolin.engine.parameters import parameters_of
from robolin.engine.run import count_operations
from robolin.evaluation.evaluate import evaluate
from tests.dynamics.running import gap, run_on
from tests.robots import arm_name, bundled_arms, random_arm, random_states, with_wrench

LOADED = with_wrench(random_arm(5, 9, tree=True, armature=True, damping=True), "dead")
TREES = [random_arm(3, 5), random_arm(4, 8, tree=True), LOADED]
TOYS = [arm for arm in bundled_arms() if arm.n < 6 and not arm.has_mimic]
CHAINS = [random_arm(3, 5), random_arm(6, 7, armature=True), with_wrench(random_arm(7, 6), "world")]


def pushed(arm: Arm, count: int) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """States with torques, and the accelerations that these were made for."""
    s = random_states(arm, count)
    return {"q": s.q, "qd": s.qd, "tau": robolin.inverse(arm, s.q, s.qd, s.qdd)}, s.qdd


@pytest.mark.parametrize("arm", TREES + TOYS, ids=arm_name)
def test_sparse_elimination_gives_the_accelerations_that_took_the_torques(arm: Arm) -> None:
    """Equation 27, eliminated from the tips, on trees, with rotors, loads and point masses."""
    state, true = pushed(arm, 6)
    qdd = run_on(arm, "forward-all-bodies", state)["qdd"]
    condition = np.linalg.cond(robolin.mass_matrix(arm, state["q"])).max()

    assert gap(qdd, true) <= 1e-11 + 1e-14 * condition


@pytest.mark.parametrize("arm", CHAINS, ids=arm_name)
def test_constraint_forces_give_the_accelerations_that_took_the_torques(arm: Arm) -> None:
    """Equation 28 as a block-tridiagonal system, joints eliminated one after the other."""
    state, true = pushed(arm, 6)
    qdd = run_on(arm, "forward-constraint-forces", state)["qdd"]
    condition = np.linalg.cond(robolin.mass_matrix(arm, state["q"])).max()

    assert gap(qdd, true) <= 1e-11 + 1e-14 * condition


@pytest.mark.parametrize("joints", [1, 2, 3, 7, 8, 12])
def test_cyclic_reduction_takes_as_many_steps_as_a_logarithm(joints: int) -> None:
    """⌈log₂(N+1)⌉ steps, in each of which all remaining joints can be processed in parallel."""
    arm = random_arm(20 + joints, joints, armature=joints % 2 == 0)
    state, true = pushed(arm, 1)
    inputs = {name: values[0].tolist() for name, values in state.items()}
    chain = DirectChain(parameters_of(arm), inputs)
    steps = forward_by_reduction(chain)
    computed = np.array([chain.results["qdd"][(i,)] for i in range(joints)])
    beside = run_on(arm, "forward-constraint-forces", state)["qdd"][0]

    assert steps == math.ceil(math.log2(joints + 1))
    assert gap(computed, true[0]) <= 1e-9
    assert gap(beside, true[0]) <= 1e-9


@pytest.mark.slow
@pytest.mark.parametrize("name", ["forward-all-bodies", "forward-constraint-forces"])
def test_costs_are_lines_in_n(name: str) -> None:
    """Every link costs the same: the matrices have as many entries as there are links."""
    algorithm = ALGORITHMS[name]
    totals = [
        sum(
            count_operations(
                generic_chain(n), algorithm.run, algorithm.needs, algorithm.gives
            ).total.values()
        )
        for n in (4, 5, 6)
    ]
    assert np.diff(totals, 2) == 0


def test_bodies_that_cannot_be_inverted_are_refused() -> None:
    """Bodies of a planar arm have inertia in the plane only, and equation 28 inverts all of it."""
    with pytest.raises(robolin.RobolinError, match="moves no inertia"):
        evaluate(
            robolin.load("two-link"), "forward-constraint-forces", {"q": 0.0, "qd": 0.0, "tau": 0.0}
        )
