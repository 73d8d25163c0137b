"""Prescribed joints, and arms on a base with prescribed motion.

The references are a uniformly accelerated base, which is equivalent to gravity, Newton–Euler,
complex steps, and Pinocchio's free flyer.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import robolin
from robolin.checking.verification.check_context import complex_step
from robolin.core.arm import Arm
from robolin.dynamics.catalogue import ALGORITHMS
from robolin.engine.direct_storage import generic_chain
from robolin.engine.run import count_operations
from tests.dynamics.running import gap, run_on
from tests.dynamics.test_groups import ARMS
from tests.robots import grouped_arm, random_arm, random_states, with_follower

FOLLOWING = (
    with_follower(random_arm(3, 5, tree=True), followers=2),
    with_follower(grouped_arm(7, ["revolute", "spherical", "planar", "revolute"])),
)


def prescribed_state(
    arm: Arm, seed: int = 0, rows: int = 2
) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """A state whose first joint and every third coordinate are prescribed, and all of its q̈."""
    s, driven = random_states(arm, rows, seed=seed), np.zeros(arm.n)
    first = arm.joint_names[0].partition(":")[0]
    driven[[name.partition(":")[0] == first for name in arm.joint_names]] = 1.0
    driven[::3] = 1.0
    tau = robolin.inverse(arm, s.q, s.qd, s.qdd)
    state = {"q": s.q, "qd": s.qd, "tau": tau * (1.0 - driven), "qdd": s.qdd * driven}
    return {**state, "prescribed": np.broadcast_to(driven, s.q.shape)}, s.qdd


# recursions, and elimination, which alone supports mimic joints
ELIMINATION = [(arm, "-conventional") for arm in (ARMS[1], *FOLLOWING)]


@pytest.mark.parametrize(("arm", "way"), [*((arm, "") for arm in ARMS), *ELIMINATION])
def test_newton_euler_gives_the_torques_back(arm: Arm, way: str) -> None:
    """q̈ of free joints and τ of driven ones are those of one motion; divided by 𝓜: 1e-11."""
    inputs, qdd = prescribed_state(arm)
    results = run_on(arm, f"forward-prescribed{way}", inputs)
    tau = robolin.inverse(arm, inputs["q"], inputs["qd"], qdd)
    assert gap(results["qdd"], qdd) <= 1e-11
    assert gap(results["tau"], tau) <= 1e-11


@pytest.mark.parametrize(("arm", "way"), [*((arm, "") for arm in ARMS[1:5]), *ELIMINATION])
def test_model_is_the_complex_step(arm: Arm, way: str) -> None:
    """∂q̈/∂τ, ∂q̈/∂q̇, ∂q̈/∂q and ∂q̈/∂q̈₀ are complex steps of q̈; divided by 𝓜: 1e-11."""
    inputs, _ = prescribed_state(arm, rows=2)
    results = run_on(arm, f"linearize-forward-prescribed{way}", inputs)
    for name, along in (
        ("dqdd_dtau", "tau"),
        ("dqdd_dqd", "qd"),
        ("dqdd_dq", "q"),
        ("dqdd_dprescribed", "qdd"),
    ):
        true = complex_step(arm, f"forward-prescribed{way}", inputs, along)["qdd"]
        assert gap(results[name], true) <= 1e-11, name


def test_an_accelerated_base_is_equivalent_to_gravity() -> None:
    """On a uniformly accelerated base the arm moves as if gravity were reduced by that much.

    Two forward dynamics of cond(𝓜) 1e4 about the same point: 1e-11 of the largest.
    """
    rising, rng = np.array([0.7, -1.1, 2.0]), np.random.default_rng(3)
    arm = robolin.load("ur5", floating_base=True)
    still = robolin.load("ur5", gravity=np.array([0.0, 0.0, -9.81]) - rising)
    q, qd, tau = rng.uniform(-1.0, 1.0, (3, 5, 6))
    none = np.zeros((5, 6))
    states = [np.concatenate([none, each], -1) for each in (q, qd, tau)]
    qdd = np.concatenate([np.zeros(3), rising, np.zeros(6)])
    accelerations = robolin.forward(arm, *states, prescribe="base", qdd=qdd)
    assert gap(accelerations[:, 6:], robolin.forward(still, q, qd, tau)) <= 1e-11
    assert (accelerations[:, :6] == qdd[:6]).all()


def test_a_base_at_rest_is_a_fixed_base() -> None:
    """A base prescribed to rest gives the linear model of the fixed arm; 1e-11 as above."""
    rng = np.random.default_rng(4)
    q, qd, tau = rng.uniform(-1.0, 1.0, (3, 6))
    floating, still = robolin.load("ur5", floating_base=True), robolin.load("ur5")
    states = [np.concatenate([np.zeros(6), each]) for each in (q, qd, tau)]
    model = robolin.linearize_forward(floating, *states, prescribe="base")
    true = robolin.linearize_forward(still, q, qd, tau)
    assert gap(model.qdd[6:], true.qdd) <= 1e-11
    for name in ("dqdd_dtau", "dqdd_dqd", "dqdd_dq"):
        assert gap(getattr(model, name)[6:, 6:], getattr(true, name)) <= 1e-11, name
    assert (model.dqdd_dtau[:6] == 0.0).all()
    assert (model.dqdd_dtau[:, :6] == 0.0).all()


def test_the_floating_arm_moves_so_under_the_returned_torques() -> None:
    """Forward dynamics of the floating arm under the base's wrench gives its base motion: 1e-10.

    cond(𝓜) is 1e4, and the torques were rounded before they were divided.
    """
    arm = robolin.load("ur5", floating_base=True)
    q, qd, tau, qdd = np.random.default_rng(5).uniform(-1.0, 1.0, (4, 3, 12))
    tau[:, :6], qdd[:, 6:] = 0.0, 0.0
    accelerations = robolin.forward(arm, q, qd, tau, prescribe="base", qdd=qdd)
    needed = robolin.inverse(arm, q, qd, accelerations)
    assert gap(needed[:, 6:], tau[:, 6:]) <= 1e-11
    assert gap(robolin.forward(arm, q, qd, needed), accelerations) <= 1e-10


def test_pinocchio_agrees() -> None:
    """Pinocchio's free flyer takes these torques for these accelerations; sums: 1e-11.

    Its free flyer has its velocities in the base's axes, linear before angular.
    """
    pytest.importorskip("pinocchio")
    from tests.dynamics.grouped_reference import grouped_model, grouped_reference

    arm = ARMS[3]
    inputs, _ = prescribed_state(arm, seed=7, rows=3)
    results = run_on(arm, "forward-prescribed", inputs)
    states = replace(random_states(arm, 3, seed=7), qdd=results["qdd"])
    true = grouped_reference(grouped_model(arm), arm, states)
    free = inputs["prescribed"] == 0.0
    assert gap(true.tau * free, inputs["tau"], made_of=np.abs(true.tau).max()) <= 1e-11
    assert gap(results["tau"], true.tau) <= 1e-11


def test_costs_are_lines_in_n() -> None:
    """Every link costs the same: forward dynamics is O(n), a line, with joints that are driven."""
    algorithm, costs = ALGORITHMS["forward-prescribed"], []
    for n in (3, 4, 5):
        cost = count_operations(generic_chain(n), algorithm.run, algorithm.needs, algorithm.gives)
        costs.append(sum(cost.algorithm.values()))
    assert costs[2] - costs[1] == costs[1] - costs[0] > 0


REFUSED = [
    (
        {"prescribe": "base"},
        "the base is fixed",
        "add --floating-base or --base-joint (in Python floating_base=True or base_joint=)",
    ),
    (
        {"prescribe": "base"},
        "the base is fixed",
        "add --floating-base or --base-joint (in Python floating_base=True or base_joint=)",
    ),
    ({"prescribe": True}, "True is not a joint name", "['base', 'elbow']"),
    ({"prescribe": np.array(3)}, "array(3) is not a joint name", "['base', 'elbow']"),
    ({"prescribe": "elbow", "tau": "hols"}, "got 'hols'", "'hold'"),
    ({"tau": "hols"}, "got 'hols'", "'hold'"),
    ({"prescribe": "elbw"}, "movable joint 'elbw' not found", "did you mean 'elbow'?"),
    ({"prescribe": ""}, "movable joint '' not found", ""),
    (
        {"prescribe": []},
        "the list of joints is empty",
        "name at least one joint, for example shoulder",
    ),
    ({"qdd": 1.0}, "has no effect without prescribe", "name the prescribed joints with prescribe="),
    (
        {"prescribe": "elbow", "qdd": [1.0, 0.0]},
        "joint 'shoulder' is free, so its acceleration is a result, not an input",
        "omit",
    ),
    (
        {"prescribe": "elbow", "tau": [0.0, 1.0]},
        "joint 'elbow' is prescribed, so its torque is a result, not an input",
        "omit",
    ),
    (
        {"prescribe": "elbow", "method": "a"},
        "cannot be used with prescribe",
        "robolin selects elimination",
    ),
]


@pytest.mark.parametrize(("options", "message", "hint"), REFUSED, ids=range(len(REFUSED)))
def test_invalid_options_are_rejected(options: dict, message: str, hint: str) -> None:
    """Unknown joints, and values that would have no effect, are errors with a hint."""
    for ask in (robolin.forward, robolin.linearize_forward):
        with pytest.raises(robolin.RobolinError) as caught:
            ask(robolin.load("two-link"), 0.0, **options)
        assert message in caught.value.message
        assert hint in caught.value.hint


def test_loops_are_refused() -> None:
    """Prescribed joints are not supported with closed loops."""
    with pytest.raises(
        robolin.RobolinError,
        match=r"prescribe: prescribed joints are not supported with closed loops \('pin'\)",
    ):
        robolin.forward(robolin.load("four-bar"), 0.0, prescribe="drive")


def test_mimic_joints_of_a_prescribed_joint_move_with_it() -> None:
    """Prescribed fingers take the force of both, and the arm compensates their reaction.

    Two ways through elimination of one arm: round-off of torques of 50 N·m, 1e-12.
    """
    arm = robolin.load("panda-fingers")
    finger = arm.joint_names[-1]
    q = np.array([0.1, -0.5, 0.2, -1.9, 0.3, 1.6, 0.7, 0.02])
    prescribed_qdd = {finger: 3.0}
    qdd = robolin.forward(arm, q, 0.0, "hold", prescribe=finger, qdd=prescribed_qdd)
    tau = robolin.inverse(arm, q, 0.0, qdd)
    assert qdd[-1] == 3.0
    assert gap(tau[:-1], robolin.inverse(arm, q)[:-1]) <= 1e-12
    assert tau[-1] > robolin.inverse(arm, q)[-1] + 0.5 * 3.0 * robolin.mass_matrix(arm, q)[-1, -1]


def test_tau_hold() -> None:
    """With tau="hold" only prescribed joints accelerate.

    Round-off of torques of 20 N·m, divided by 𝓜: 1e-12.
    """
    q, qd = np.random.default_rng(5).uniform(-1.0, 1.0, (2, 3, 5))
    arm = robolin.load("two-link", base_joint="planar")
    moved = {"prescribe": "base", "qdd": {"base:x": 2.0}}
    held = robolin.forward(arm, q, qd, "hold", **moved)
    assert np.abs(held - [2.0, 0.0, 0.0, 0.0, 0.0]).max() <= 1e-12
    still = robolin.load("two-link")
    assert np.abs(robolin.forward(still, q[:, 3:], qd[:, 3:], "hold")).max() <= 1e-12


def test_free_joints_are_those_of_inverse_and_mass_matrix() -> None:
    """As docs/howto/embedded.md states: 𝓜 q̈ = τ - τ₀ for the free joints, to 1e-12."""
    q, qd = np.random.default_rng(5).uniform(-1.0, 1.0, (2, 5))
    arm = robolin.load("two-link", base_joint="planar")
    prescribed_qdd, tau = {"base:x": 2.0}, [0.0, 0.0, 0.0, 1.0, 0.5]
    mass = robolin.mass_matrix(arm, q)[3:, 3:]
    needed = robolin.inverse(arm, q, qd, [2.0, 0.0, 0.0, 0.0, 0.0])[3:]
    qdd = robolin.forward(arm, q, qd, tau, prescribe="base", qdd=prescribed_qdd)
    assert np.abs(qdd[3:] - np.linalg.solve(mass, tau[3:] - needed)).max() <= 1e-12
