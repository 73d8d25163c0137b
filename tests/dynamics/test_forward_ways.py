"""Four recursions and one elimination for forward dynamics, and the accelerations of the links.

Results that divide by the mass matrix are accurate to 1e-12 + 1e-15 cond(𝓜) of their largest entry,
ten times as much for q̈, whose torques are rounded before they are divided.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import robolin
from robolin.analysis.operation_counts import operation_counts
from robolin.core.arm import Arm
from robolin.engine.direct_storage import generic_chain
from robolin.evaluation.evaluate import algorithm_for
from robolin.evaluation.methods import METHOD_ALIASES
from tests.dynamics.running import complex_step_along, gap, gap_by_state, run_on
from tests.dynamics.world import STEP, placed
from tests.robots import (
    WRENCH_MODELS,
    arm_name,
    bundled_arms,
    random_arm,
    random_states,
    with_wrench,
    without_mimic,
)

WAYS = ("a", "b", "c", "d", "three-sweeps-links", "two-sweeps", "conventional")


def rough(seed: int, joints: int, tree: bool, model: str) -> Arm:
    """Sliding joints, rotors, damping, friction and a load."""
    arm = random_arm(seed, joints, tree, armature=True, damping=True, friction_velocity=0.1)
    return with_wrench(arm, model, seed)


ROUGH = [
    rough(700 + i, joints, tree, WRENCH_MODELS[i % 3])
    for i, (joints, tree) in enumerate([(1, False), (3, True), (6, False), (9, True), (12, True)])
]
PLAIN = [random_arm(720, 7), random_arm(721, 10, tree=True), *without_mimic(bundled_arms())]


@pytest.mark.parametrize("arm", ROUGH + PLAIN, ids=arm_name)
def test_all_ways_give_the_accelerations_that_took_the_torques(arm: Arm) -> None:
    """Each method returns the q̈ from which inverse dynamics computed τ."""
    s = random_states(arm, 2)
    tau = robolin.inverse(arm, s.q, s.qd, s.qdd)
    tolerance = 10.0 * (1e-12 + 1e-15 * np.linalg.cond(robolin.mass_matrix(arm, s.q)))

    for way in WAYS:
        qdd = robolin.forward(arm, s.q, s.qd, tau, method=way)
        assert (gap_by_state(qdd, s.qdd) <= tolerance).all(), way


def test_the_methods_are_different_computations() -> None:
    """No two of them have the same round-off, so that each is a check of the others."""
    arm = random_arm(730, 8, armature=True)
    s = random_states(arm, 2)
    ways = ("a", "c", "d", "two-sweeps")
    results = [robolin.forward(arm, s.q, s.qd, s.qdd, method=way).tobytes() for way in ways]
    results.append(robolin.forward(arm, s.q, s.qd, s.qdd, method="conventional").tobytes())

    assert len(set(results)) == len(results)


@pytest.mark.parametrize("letter, name", METHOD_ALIASES.items())
def test_a_letter_is_short_for_a_name(letter: Any, name: Any) -> None:
    """Letters and names select the same algorithm; d is an alias of operator."""
    arm = random_arm(731, 4)

    assert algorithm_for(arm, "forward", letter) == algorithm_for(arm, "forward", name)
    assert algorithm_for(arm, "forward", "d") == algorithm_for(arm, "forward", "auto")


def test_commands_with_one_recursion_accept_every_letter() -> None:
    """Other commands take the letters as 'operator'."""
    arm = random_arm(732, 4)
    s = random_states(arm, 2)

    for verb in ("linearize-forward", "perturb-forward", "mass-matrix-inverse", "inverse"):
        assert algorithm_for(arm, verb, "c") == algorithm_for(arm, verb, "operator"), verb
    changed = robolin.perturb_forward(arm, s.q, s.qd, s.dtau, dq=s.dq, method="a")
    plain = robolin.perturb_forward(arm, s.q, s.qd, s.dtau, dq=s.dq, method="operator")
    np.testing.assert_allclose(changed, plain, rtol=0, atol=1e-11 * np.abs(plain).max())


@pytest.mark.parametrize("way", ["a", "b", "c", "d", "bias-free", "three-sweeps"])
def test_mimic_joints_are_rejected_by_recursions(way: Any) -> None:
    """Every recursion names the mimic joint, and elimination returns a result."""
    arm = robolin.load("panda-fingers")

    with pytest.raises(robolin.RobolinError, match="'panda_finger_joint2' mimics"):
        robolin.forward(arm, np.zeros(arm.n), method=way)
    assert np.isfinite(robolin.forward(arm, np.zeros(arm.n), method="conventional")).all()


@pytest.mark.parametrize("arm", ROUGH + PLAIN[:2], ids=arm_name)
def test_b_gives_the_links_accelerations_too(arm: Arm) -> None:
    """λ + ζ of the four-sweep recursion is the spatial acceleration that kinematics gives."""
    s = random_states(arm, 2)
    tau = robolin.inverse(arm, s.q, s.qd, s.qdd)
    results = run_on(arm, "forward-bias-free-links", {"q": s.q, "qd": s.qd, "tau": tau})
    true = robolin.link_accelerations(arm, s.q, s.qd, s.qdd).link_acceleration
    condition = np.linalg.cond(robolin.mass_matrix(arm, s.q)).max()

    assert gap(results["link_acceleration"], true) <= 10.0 * (1e-12 + 1e-15 * condition)


@pytest.mark.parametrize("arm", ROUGH + PLAIN[:2], ids=arm_name)
def test_c_gives_accelerations_of_links_and_tip(arm: Arm) -> None:
    """λ + ζ of the three-sweep recursion equal the kinematics at every link and at the tip."""
    s = random_states(arm, 2)
    motion = {"q": s.q, "qd": s.qd, "qdd": s.qdd}
    tau = robolin.inverse(arm, s.q, s.qd, s.qdd)
    results = run_on(arm, "forward-three-sweeps-links", {"q": s.q, "qd": s.qd, "tau": tau})
    links, tip = (run_on(arm, name, motion) for name in ("link-accelerations", "tip-acceleration"))
    condition = np.linalg.cond(robolin.mass_matrix(arm, s.q)).max()
    tolerance = 10.0 * (1e-12 + 1e-15 * condition)

    assert gap(results["link_acceleration"], links["link_acceleration"]) <= tolerance
    assert gap(results["tip_acceleration"], tip["tip_acceleration"]) <= tolerance


@pytest.mark.parametrize("arm", ROUGH[1:3] + PLAIN[:2], ids=arm_name)
def test_the_error_of_old_velocities(arm: Arm) -> None:
    """With current velocities the error is 0; otherwise it follows from ∂q̈/∂q̇ of the biases.

    This is the first-order term, and the remainder falls with the square.
    """
    s = random_states(arm, 2)
    state = {"q": s.q, "qd": s.qd, "tau": robolin.inverse(arm, s.q, s.qd, s.qdd)}

    def missed(share: float) -> np.ndarray:
        qdd = run_on(arm, "forward-delayed", {**state, "dqd": share * s.dqd})["qdd"]
        return qdd - s.qdd

    condition = np.linalg.cond(robolin.mass_matrix(arm, s.q)).max()
    first = complex_step_along(
        arm, "forward-delayed", {**state, "dqd": np.zeros_like(s.qd)}, {"dqd": s.dqd}
    )["qdd"]
    size = float(np.abs(s.qdd).max())
    beyond = [np.abs(missed(share) - share * first).max() for share in (1e-2, 1e-3)]

    assert np.abs(missed(0.0)).max() <= 10.0 * (1e-12 + 1e-15 * condition) * size
    assert np.abs(first).max() > 1e-2 * size
    assert beyond[1] < 0.02 * beyond[0]


@pytest.mark.slow
def test_two_sweeps_cost_a_line_in_n() -> None:
    """Every link costs the same, but more than in the other methods, as [F] states."""
    costs = {}
    for n in (2, 3, 4):
        rows = operation_counts("forward", generic_chain(n))
        costs[n] = {row.algorithm: sum(row.cost.algorithm.values()) for row in rows}
    assert (
        costs[4]["two sweeps"] - costs[3]["two sweeps"]
        == costs[3]["two sweeps"] - costs[2]["two sweeps"]
    )
    assert costs[4]["two sweeps"] > costs[4]["articulated bodies"]


@pytest.mark.parametrize("arm", ROUGH + PLAIN[:3], ids=arm_name)
def test_classical_accelerations_are_second_derivatives_of_the_origins(arm: Arm) -> None:
    """p̈ is the rate of ṗ along q(t), whose velocity and acceleration are q̇ and q̈.

    ṗ comes from poses by complex step, its rate from central differences of step 1e-4, whose error
    is 1e-8 of the third derivative and 1e-12 of ṗ: 1e-6 of the largest entry.
    """
    s, h = random_states(arm, 2), 1e-4

    def velocity(t: float) -> np.ndarray:
        q, qd = s.q + t * s.qd + 0.5 * t * t * s.qdd, s.qd + t * s.qdd
        return placed(arm, q + 1j * STEP * qd).p.imag / STEP

    true = ((velocity(h) - velocity(-h)) / (2.0 * h))[:, ::-1]
    accelerations = robolin.link_accelerations(arm, s.q, s.qd, s.qdd)

    assert gap(accelerations.link_classical_acceleration[..., 3:], true) <= 1e-6


@pytest.mark.parametrize("arm", [ROUGH[3], PLAIN[0]], ids=arm_name)
def test_both_accelerations_differ_by_spin_times_velocity(arm: Arm) -> None:
    """The linear parts differ by w x v, the angular parts not at all."""
    s = random_states(arm, 2)
    accelerations = robolin.link_accelerations(arm, s.q, s.qd, s.qdd)
    for i, link in enumerate(arm.links):
        twist = robolin.frame_motion(arm, s.q, s.qd, s.qdd, frame=link.name).twist
        spatial, classical = (x[:, i] for x in vars(accelerations).values())
        own = np.cross(twist[:, :3], twist[:, 3:])

        assert np.array_equal(spatial[:, :3], classical[:, :3])
        assert gap(classical[:, 3:] - spatial[:, 3:], own, np.abs(classical).max()) <= 1e-13


def test_accelerations_do_not_contain_gravity() -> None:
    """An arm held at rest does not accelerate; a falling one does."""
    arm = robolin.load("panda")
    q = np.full(arm.n, 0.4)

    assert not robolin.link_accelerations(arm, q).link_acceleration.any()
    still = replace(arm, gravity=(0.0, 0.0, 0.0))
    moving = [robolin.link_accelerations(each, q, 0.5, 0.7) for each in (arm, still)]
    for one, other in zip(*(vars(each).values() for each in moving), strict=True):
        assert np.array_equal(one, other)


def test_links_of_an_arm_with_closed_loops() -> None:
    """Where links are and how they move follows from q, q̇, q̈, whether or not loops are closed."""
    arm, tree = robolin.load("four-bar"), robolin.load("four-bar", open_loops=True)
    s = random_states(arm, 3)
    closed, opened = (robolin.link_accelerations(each, s.q, s.qd, s.qdd) for each in (arm, tree))
    J = [robolin.jacobian(each, s.q, frame="coupler_end").jacobian for each in (arm, tree)]

    assert np.array_equal(closed.link_acceleration, opened.link_acceleration)
    assert np.array_equal(*J)
    with pytest.raises(robolin.RobolinError, match="closed loops"):
        robolin.operational_space(arm, s.q, frame="coupler_end")
