"""Joint springs: torque k (q - rest) in every algorithm, engine and derivative.

Both sides round a few hundred products, 1e-13 of the largest entry; results that divide by the mass
matrix have 1e-15 cond(𝓜) more.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import robolin
from robolin.core.arm import Arm
from robolin.dynamics.catalogue import ALGORITHMS
from tests.dynamics.running import gap, run_on
from tests.dynamics.world import spreading
from tests.evaluation.loops.closed_arms import sample
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

CHAIN = with_springs(random_arm(91, 5, armature=True, damping=True))
TREE = with_springs(with_wrench(random_arm(92, 6, tree=True, friction_velocity=0.2), "dead"))
FOLLOWING = with_springs(with_follower(random_arm(93, 5, tree=True, damping=True)))
FLOATING = with_springs(grouped_arm(94, ["floating", "revolute", "spherical", "prismatic"]))
ARMS = [CHAIN, TREE, FOLLOWING, FLOATING]
every = pytest.mark.parametrize("arm", ARMS, ids=arm_name)


def relaxed(arm: Arm) -> Arm:
    return replace(arm, springs=False)


def stiffness_matrix(arm: Arm) -> np.ndarray:
    """S* K S (n, n), with S from independent velocities to those of all joints."""
    S = spreading(arm)
    return S.T @ np.diag([link.joint.stiffness for link in arm.links_tip_to_base]) @ S


def spring_torque(arm: Arm, q: np.ndarray) -> np.ndarray:
    """S* K (S q + offset - rest)."""
    joints = [link.joint for link in arm.links_tip_to_base]
    offset = np.array([joint.mimic.offset if joint.mimic else 0.0 for joint in joints])
    stretched = q @ spreading(arm).T + offset - np.array([joint.rest for joint in joints])
    return (stretched * [joint.stiffness for joint in joints]) @ spreading(arm)


def divided(arm: Arm, q: np.ndarray) -> float:
    return 1e-12 + 1e-14 * float(np.linalg.cond(robolin.mass_matrix(arm, q)).max())


@every
@pytest.mark.parametrize("engine", ["python", "compiled"])
def test_torque_and_gradient(arm: Arm, engine: str) -> None:
    """τ grows by k (q - rest) and ∂τ/∂q by k, through mimic ratios; 𝓜 and ∂τ/∂q̇ stay."""
    s = random_states(arm, 3)
    tau = robolin.inverse(arm, s.q, s.qd, s.qdd, engine=engine)
    without = robolin.inverse(relaxed(arm), s.q, s.qd, s.qdd, engine=engine)
    assert gap(tau - without, spring_torque(arm, s.q), np.abs(tau).max()) <= ROUNDING

    model = robolin.linearize_inverse(arm, s.q, s.qd, s.qdd, engine=engine)
    plain = robolin.linearize_inverse(relaxed(arm), s.q, s.qd, s.qdd, engine=engine)
    change = model.dtau_dq - plain.dtau_dq
    expected = np.broadcast_to(stiffness_matrix(arm), change.shape)
    assert gap(change, expected, np.abs(model.dtau_dq).max()) <= ROUNDING
    assert np.array_equal(model.mass_matrix, plain.mass_matrix)
    assert np.array_equal(model.dtau_dqd, plain.dtau_dqd)


def _forward(arm: Arm) -> list[str]:
    """Every algorithm that gives q̈ from q, q̇ and τ on this arm."""
    return [
        name
        for name, each in ALGORITHMS.items()
        if each.needs == ("q", "qd", "tau")
        and "qdd" in each.gives
        and each.kind != "closed"
        and (each.kind == "any" or not arm.has_mimic)
        and (each.kind != "serial" or arm.serial)
        and not (each.inverts_bodies and arm.groups)
    ]


@every
def test_every_forward_algorithm_undoes_inverse(arm: Arm) -> None:
    """Each algorithm for q̈, linearizations among them, returns the q̈ that the torque was for."""
    s = random_states(arm, 2)
    tau = robolin.inverse(arm, s.q, s.qd, s.qdd)
    inputs = {"q": s.q, "qd": s.qd, "tau": tau}
    names = _forward(arm)
    assert len(names) >= (2 if arm.has_mimic else 8)
    for name in names:
        qdd = run_on(arm, name, inputs)["qdd"]
        assert gap(qdd, s.qdd) <= 10.0 * divided(arm, s.q), name


@every
def test_every_linear_forward_model(arm: Arm) -> None:
    """∂q̈/∂q of each algorithm is -𝓜⁻¹ ∂τ/∂q, and changes of q̈ follow it."""
    s = random_states(arm, 2)
    tau = robolin.inverse(arm, s.q, s.qd, s.qdd)
    inverse = robolin.linearize_inverse(arm, s.q, s.qd, s.qdd)
    solved = -np.linalg.solve(inverse.mass_matrix, inverse.dtau_dq)
    tolerance = 100.0 * divided(arm, s.q)
    models = [name for name in _forward(arm) if "dqdd_dq" in ALGORITHMS[name].gives]
    assert models
    for name in models:
        dqdd_dq = run_on(arm, name, {"q": s.q, "qd": s.qd, "tau": tau})["dqdd_dq"]
        assert gap(dqdd_dq, solved) <= tolerance, name

    inputs = {"q": s.q, "qd": s.qd, "qdd": s.qdd, "dq": s.dq, "dqd": s.dqd}
    dtau = run_on(arm, "perturb-inverse", {**inputs, "dqdd": s.dqdd})["dtau"]
    for name in ("perturb-forward", "perturb-forward-articulated", "perturb-forward-conventional"):
        if ALGORITHMS[name].kind == "any" or not arm.has_mimic:
            dqdd = run_on(arm, name, {**inputs, "dtau": dtau})["dqdd"]
            assert gap(dqdd, s.dqdd) <= tolerance, name


@every
def test_potential_energy(arm: Arm) -> None:
    """The potential energy grows by ½ k (q - rest)², and its gradient is the spring's torque."""
    s = random_states(arm, 3)
    joints = [link.joint for link in arm.links_tip_to_base]
    offset = np.array([joint.mimic.offset if joint.mimic else 0.0 for joint in joints])
    stretched = s.q @ spreading(arm).T + offset - np.array([joint.rest for joint in joints])
    stored = 0.5 * (stretched**2) @ np.array([joint.stiffness for joint in joints])
    sprung, plain = (run_on(each, "energy", {"q": s.q, "qd": s.qd}) for each in (arm, relaxed(arm)))
    change = sprung["potential_energy"] - plain["potential_energy"]
    assert gap(change, stored, np.abs(sprung["potential_energy"]).max()) <= ROUNDING
    assert np.array_equal(sprung["kinetic_energy"], plain["kinetic_energy"])


@pytest.mark.slow
@every
def test_everything_that_verify_checks(arm: Arm, request: pytest.FixtureRequest) -> None:
    """Complex steps, identities, 50 digits, engines and all algorithms agree with springs."""
    if arm is not CHAIN:
        # `test_torque_and_gradient` compares kernels of the other arms
        request.getfixturevalue("without_kernels")
    verification = robolin.verify(arm, samples=1)
    assert verification.passed, verification.failed


@pytest.mark.slow
@pytest.mark.usefixtures("only_the_peer")
@pytest.mark.parametrize("against", ["mujoco", "pinocchio"])
def test_against_other_programs(against: str) -> None:
    """MuJoCo has the same springs, and Pinocchio with their torques added gives the same."""
    pytest.importorskip(against)
    arm = replace(CHAIN, wrenches=())
    verification = robolin.verify(arm, samples=3, against=against)
    assert verification.passed, verification.failed
    words = {
        "mujoco": "set in the model of the other program",
        "pinocchio": "added to the torques of the other program",
    }
    assert verification.comparison.accounted["springs"] == words[against]


def test_closed_loops() -> None:
    """With loops closed, springs act as the torque that they need, with the sign turned."""
    case = sample()[0]
    sprung = with_springs(case.arm)
    qdd = robolin.forward(sprung, case.q, case.qd, case.tau)
    needed = spring_torque(sprung, case.q)
    expected = robolin.forward(case.arm, case.q, case.qd, case.tau - needed)
    # both divide by the same matrices, within 1e-12 of the largest entry for sizes of this sample
    assert gap(qdd, expected) <= 1e-10

    model = robolin.linearize_forward(sprung, case.q, case.qd, case.tau)
    plain = robolin.linearize_forward(case.arm, case.q, case.qd, case.tau - needed)
    expected = plain.dqdd_dq - plain.dqdd_dtau @ stiffness_matrix(sprung)
    assert gap(model.dqdd_dq, expected) <= 1e-10


def test_simulation_keeps_the_energy() -> None:
    """An arm with springs and without damping conserves energy."""
    arm = with_springs(random_arm(95, 3))
    motion = robolin.simulate(arm, [0.3, -0.4, 0.2], duration=0.3, dt=1e-3)
    assert np.ptp(motion.potential_energy) > 0.05
    total = motion.kinetic_energy + motion.potential_energy
    # steps of 1 ms by the classical Runge–Kutta method
    assert np.abs(total - total[0]).max() < 1e-6 * np.ptp(motion.potential_energy)


def test_flexible_joint_closed_form() -> None:
    """A motor behind a gear, a spring and a pendulum: poles of the two coupled oscillators.

    B θ̈ + k (θ - q) = τ and J q̈ + k (q - θ) + m g l sin q = 0, hanging at rest, give
    B J s⁴ + (k (B + J) + B m g l) s² + k m g l = 0, with B = ratio² times the rotor's inertia.
    """
    arm = robolin.load(FLEXIBLE)
    B, J, k, weight = 50.0**2 * 4e-5, 2.0 * 0.6**2 / 3.0, 400.0, 2.0 * 9.81 * 0.3
    squares = np.roots([B * J, k * (B + J) + B * weight, k * weight])
    expected = np.repeat(np.sort(np.sqrt(-squares)), 2)
    poles = robolin.state_space(arm, [0.0, 0.0]).poles()
    assert np.allclose(poles.frequency, expected, rtol=1e-11, atol=0.0)

    # the motor carries the load through the spring: deflection m g l sin q / k
    q = 0.4
    deflection = -weight * np.sin(q) / k
    tau = robolin.inverse(arm, [q - deflection, deflection])
    assert np.allclose(tau, [weight * np.sin(q), 0.0], rtol=1e-13, atol=1e-13)


FLEXIBLE = """
robolin: 1
name: flexible-joint
gravity: [0, 0, -9.81]
joints:
  - {name: drive, type: continuous, parent: base, child: gear, axis: [0, 1, 0]}
  - name: motor
    type: continuous
    parent: base
    child: rotor
    axis: [0, 1, 0]
    mimic: {joint: drive, ratio: 50}
  - {name: flex, type: revolute, parent: gear, child: arm, axis: [0, 1, 0], stiffness: 400}
links:
  - {name: rotor, mass: 0.1, inertia: {ixx: 4e-5, iyy: 4e-5, izz: 4e-5}}
  - {name: gear}
  - {name: arm, mass: 2, com: [0, 0, -0.3], shape: {rod: 0.6}}
"""


@every
def test_a_regressor_program_without_spring_columns_is_rejected(arm, tmp_path):
    sprung = next(link.joint.name for link in arm.links if link.joint.stiffness)
    for program in (
        lambda: robolin.generate(arm, ["regressor"], tmp_path / "sprung"),
        lambda: robolin.compile(arm, "regressor"),
    ):
        with pytest.raises(robolin.RobolinError, match=rf"joint springs: .*'{sprung}'") as caught:
            program()
        assert "--no-springs" in (caught.value.hint or "")
    assert not (tmp_path / "sprung").exists()
    if not arm.groups:
        robolin.compile(relaxed(arm), "regressor")
