"""Friction that depends on the direction of motion, as of the Puma 560, in every algorithm."""

from __future__ import annotations

from dataclasses import replace
from math import pi
from pathlib import Path

import numpy as np
import pytest

import robolin
from robolin.checking.check_results import changed_location
from robolin.checking.model_changes import model_changes
from robolin.core.arm import Arm
from robolin.description.yaml.yaml_arm import read_yaml
from robolin.dynamics.catalogue import ALGORITHMS
from robolin.engine.compiled.plan import variant_of
from robolin.engine.parameters import float_table, parameters_of
from robolin.evaluation.evaluate import evaluate
from tests.cli.command import robolin as command
from tests.cli.command import run_ok
from tests.codegen.compilers import GCC
from tests.robots import random_arm, random_states, with_follower, with_wrench

QN = np.array([0, pi / 4, pi, 0, pi / 4, 0])
ARM = """robolin: 1
name: swing
joints:
  - {name: pivot, type: revolute, parent: base, child: bar, axis: [0, 1, 0],
     friction: FRICTION}
links:
  - {name: bar, mass: 1, com: [0, 0, -0.5], shape: {rod: 1}}
"""


def one_sided(arm: Arm, seed: int = 0) -> Arm:
    """The arm with friction of its own for negative velocities at every second joint."""
    rng, links = np.random.default_rng(seed), []
    for i, link in enumerate(arm.links_tip_to_base):
        negative = float(rng.uniform(0.0, 2.0)) if i % 2 == 0 else None
        joint = replace(link.joint, friction=0.7, friction_negative=negative)
        links.append(replace(link, joint=joint))
    return replace(arm, links_tip_to_base=tuple(links), friction_velocity=0.3)


def sprung(arm: Arm) -> Arm:
    """The arm with a spring in every joint."""
    links = (
        replace(link, joint=replace(link.joint, stiffness=3.0, rest=0.2))
        for link in arm.links_tip_to_base
    )
    return replace(arm, links_tip_to_base=tuple(links))


ARMS = {
    "chain": one_sided(random_arm(71, 4, armature=True, damping=True)),
    "tree": one_sided(with_wrench(with_follower(random_arm(72, 5, True)), "dead")),
    "sprung": sprung(one_sided(with_wrench(random_arm(73, 3), "world"))),
    "four-bar": one_sided(robolin.load("four-bar")),
}


def test_the_robotics_toolbox_prints_the_same_torques():
    """18 torques with friction, and 6 accelerations, that the Robotics Toolbox prints of its Puma.

    robotics-toolbox-python, tests/test_DHRobot.py, test_rne and test_accel: rne(qn, q̇, q̈) with
    q̇ = 1 and q̈ = 1, q̈ = 0, and without gravity; accel(qn, q̇, τ).
    """
    options = {"friction_velocity": 1e-3}
    arm, weightless = (
        robolin.load("puma560", **options),
        robolin.load("puma560", gravity=0, **options),
    )
    printed = [
        (arm, 1.0, [32.4952, 60.867, 17.7436, 1.45452, 1.29911, 0.713781]),
        (arm, 0.0, [29.1421, 56.5044, 16.3528, 1.26448, 1.12392, 0.519648]),
        (weightless, 1.0, [32.4952, 29.2271, 11.7085, 1.45452, 1.27086, 0.713781]),
    ]
    for each, qdd, published in printed:
        # six digits are printed
        torques = robolin.inverse(each, QN, np.ones(6), np.full(6, qdd))
        np.testing.assert_allclose(torques, published, rtol=5.1e-6)
    qd, tau = [0.1, 0.2, 0.8, 0.2, 0.5, 1.0], [1.0, 3.2, 1.8, 0.1, 0.7, 4.6]
    accelerations = [-7.4102, -9.8432, -10.9694, -4.4314, -0.9881, 21.0228]
    np.testing.assert_allclose(robolin.forward(arm, QN, qd, tau), accelerations, atol=5.1e-5)


def test_friction_of_fast_joints_depends_on_direction():
    """Far above the smoothing velocity the Puma's joints lose G Tc+ forward and G Tc- backward."""
    gear = np.array([62.6111, 107.815, 53.7063, 76.0364, 71.923, 76.686])
    forward = gear * [0.395, 0.126, 0.132, 11.2e-3, 9.26e-3, 3.96e-3]
    backward = gear * [0.435, 0.071, 0.105, 16.9e-3, 14.5e-3, 10.5e-3]
    rubbing = robolin.load("puma560", friction_velocity=1e-3, damping=False)
    smooth = robolin.load("puma560", damping=False)
    for sign, size in ((1.0, forward), (-1.0, backward)):
        qd = sign * np.ones(6)
        lost = robolin.inverse(rubbing, QN, qd) - robolin.inverse(smooth, QN, qd)
        # torques of 60 N·m are subtracted
        np.testing.assert_allclose(lost, sign * size, atol=1e-13)
    at_rest = robolin.inverse(rubbing, QN) - robolin.inverse(smooth, QN)
    assert not at_rest.any()


def test_friction_always_takes_energy():
    """Torque times velocity is never negative, also near rest."""
    arm = ARMS["chain"]
    bare = replace(arm, friction_velocity=None)
    states = random_states(arm, 200)
    qd = states.qd * 0.2
    lost = robolin.inverse(arm, states.q, qd) - robolin.inverse(bare, states.q, qd)
    assert (lost * qd).min() >= -1e-14
    assert (lost * qd).max() > 0.1


@pytest.mark.slow
@pytest.mark.parametrize("name", ARMS)
def test_every_check_of_verify_passes(name, request):
    """Complex steps, identities, all algorithms, both engines and 50 digits agree."""
    if name != "tree":
        # `test_engines_give_the_same_bits` compares kernels of the other arms
        request.getfixturevalue("without_kernels")
    verification = robolin.verify(ARMS[name], samples=1)
    assert verification.passed, verification.failed


@pytest.mark.parametrize("name", ARMS)
def test_engines_give_the_same_bits(name):
    """The compiled kernel finds the numbers of one-sided friction behind loads and closures."""
    arm = ARMS[name]
    s = random_states(arm, 3)
    values = {"q": s.q, "qd": s.qd, "qdd": s.qdd, "tau": s.qdd}
    for algorithm in ("forward-closed",) if arm.loops else ("inverse", "forward"):
        inputs = {key: values[key] for key in ALGORITHMS[algorithm].needs}
        ((python, compiled), (smooth, _)) = (
            [evaluate(each, algorithm, inputs, engine=engine) for engine in ("python", "compiled")]
            for each in (arm, replace(arm, friction_velocity=None))
        )
        for result in python:
            assert python[result].tobytes() == compiled[result].tobytes()
        assert any((python[result] != smooth[result]).any() for result in python)


@pytest.mark.parametrize("name", ["chain", "tree", "sprung"])
def test_the_linear_model_has_the_slope_of_friction(name):
    """∂τ/∂q̇ exceeds that without friction by the complex step of (μ + δ t) t."""
    arm = ARMS[name]
    bare = replace(arm, friction_velocity=None)
    s = random_states(arm, 1)
    q, qd, qdd = s.q[0], 0.2 * s.qd[0], s.qdd[0]
    slopes = np.zeros((arm.n, arm.n))
    for link, coordinate in zip(arm.links_tip_to_base, arm.coordinates, strict=True):
        ratio = link.joint.mimic.ratio if link.joint.mimic else 1.0
        positive, negative = link.joint.friction_sides
        t = np.tanh(ratio * (qd[coordinate] + 1e-30j) / 0.3)
        loss = ratio * (positive * t * (1 + t) / 2 + negative * t * (1 - t) / 2)
        slopes[coordinate, coordinate] += loss.imag / 1e-30
    with_friction, without = (
        robolin.linearize_inverse(each, q, qd, qdd).dtau_dqd for each in (arm, bare)
    )
    np.testing.assert_allclose(
        with_friction - without, slopes, atol=1e-12 * np.abs(with_friction).max()
    )


@pytest.mark.parametrize("name", ["chain", "tree", "sprung"])
def test_torques_are_linear_in_the_friction_of_each_direction(name):
    """Y π is the torque, with a parameter for each direction where they differ."""
    arm = replace(ARMS[name], wrenches=())
    s = random_states(arm, 4)
    regressor = robolin.regressor(arm, s.q, 0.2 * s.qd, s.qdd)
    tau = robolin.inverse(arm, s.q, 0.2 * s.qd, s.qdd)
    np.testing.assert_allclose(
        regressor.matrix @ regressor.parameters, tau, atol=1e-12 * np.abs(tau).max()
    )
    sides = [label for label in regressor.names if "friction_" in label]
    halves = [link.joint for link in arm.links if link.joint.friction_negative is not None]
    assert len(sides) == 2 * len(halves)
    assert not any(f"{joint.name}/friction" in regressor.names for joint in halves)


def test_the_energy_of_a_motion_is_accounted_for():
    """The loss of energy is the work of friction."""
    arm = ARMS["chain"]
    motion = robolin.simulate(arm, np.zeros(4), np.ones(4), duration=0.5, dt=0.001)
    assert motion.energy_drift.max() < 1e-9 * motion.kinetic_energy.max()


@pytest.mark.slow
def test_c_has_the_same_bits(tmp_path):
    """A generated program, unrolled and with loops, gives robolin's bits."""
    arm = ARMS["tree"]
    for layout in ("unrolled", "loops"):
        folder = tmp_path / layout
        robolin.generate(arm, ["inverse"], folder, layout=layout, states=10, prefix="arm")
        GCC.checked(folder, "arm")


def test_a_program_of_the_regressor_is_refused(tmp_path):
    """Its one column for friction could not hold both directions."""
    with pytest.raises(robolin.RobolinError, match="two columns"):
        robolin.generate(ARMS["chain"], ["regressor"], tmp_path / "made")
    with pytest.raises(robolin.RobolinError, match="two columns"):
        robolin.compile(ARMS["chain"], "regressor")
    still = replace(ARMS["chain"], friction_velocity=None)
    robolin.generate(still, ["regressor"], tmp_path / "made", states=1)


def test_casadi_has_the_same_torques():
    """A CasADi function gives the torques of one-sided friction."""
    pytest.importorskip("casadi")
    arm = ARMS["chain"]
    s = random_states(arm, 1)
    by_casadi = robolin.casadi_function(arm, "inverse")(s.q[0], s.qd[0], s.qdd[0])
    tau = robolin.inverse(arm, s.q[0], s.qd[0], s.qdd[0])
    np.testing.assert_allclose(np.array(by_casadi).ravel(), tau, atol=1e-13 * np.abs(tau).max())


def test_the_same_friction_in_both_directions_is_one_number(tmp_path, monkeypatch):
    """Parameters, kernels and results are those of an arm with one number."""
    monkeypatch.chdir(tmp_path)
    made = []
    for text in ("2", "{positive: 2, negative: 2}"):
        Path("arm.yaml").write_text(ARM.replace("FRICTION", text))
        made.append(robolin.load("arm.yaml", friction_velocity=0.1))
    assert made[0].joints == made[1].joints
    assert made[0].model_dict == made[1].model_dict
    parameters = parameters_of(made[1])
    assert not variant_of(parameters).one_sided_friction
    assert len(float_table(parameters)) == 28 + 30


def test_a_change_of_either_side_names_it(tmp_path, monkeypatch):
    """`diff` says "positive friction" and "negative friction" where the sides differ."""
    monkeypatch.chdir(tmp_path)
    figures = []
    for text in ("2", "3", "{positive: 3, negative: 1}"):
        Path("arm.yaml").write_text(ARM.replace("FRICTION", text))
        figures.append(robolin.load("arm.yaml").model_dict)
    one, other, sided = figures
    assert [change.quantity for change in model_changes(one, other)] == ["friction"]
    for changes in (model_changes(one, sided), model_changes(sided, one)):
        assert sorted(change.quantity for change in changes) == [
            "negative friction",
            "positive friction",
        ]
        location = changed_location("arm.yaml", changes)
        assert "friction" in Path("arm.yaml").read_text().splitlines()[location.line - 1]


@pytest.mark.slow
def test_both_sides_are_shown(tmp_path, monkeypatch):
    """The contract, `inspect`, `diff` and stored parameters have both sides."""
    monkeypatch.chdir(tmp_path)
    figures = []
    for text in ("2", "{positive: 2, negative: 0}"):
        Path("arm.yaml").write_text(ARM.replace("FRICTION", text))
        arm = robolin.load("arm.yaml", friction_velocity=0.1)
        figures.append(arm.model_dict)
    assert arm.contract["friction"].endswith(": pivot 2 for q̇ > 0 and 0 for q̇ < 0")
    assert "+2 -0" in run_ok("inspect", "arm.yaml").out
    (change,) = model_changes(*figures)
    assert str(change) == "joint pivot: negative friction 2 → 0 N·m (-100 %)"
    run_ok("inverse", "arm.yaml", "--friction-velocity", "0.1", "--qd", "-1", "-o", "tau.npz")
    run_ok("check", "tau.npz")
    run_ok("report", "arm.yaml", "-o", "page.html")
    assert "+2 -0" in Path("page.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("friction", "finding", "message"),
    [
        ("{positive: 2}", "missing-key", "has no 'friction.negative'"),
        ("{positive: 2, negative: x}", "number-malformed", "friction.negative is 'x'"),
        ("{positive: 2, back: 3}", "unknown-key", "'friction.back'"),
        ("[2, 3]", "wrong-kind", "friction must be a number, got a list"),
    ],
)
def test_wrong_friction_is_reported(friction, finding, message):
    """Each mistake is an error that names the key."""
    findings = read_yaml(ARM.replace("FRICTION", friction).encode(), "arm.yaml").findings
    assert finding in [each.id for each in findings]
    assert any(message in each.message for each in findings)


def test_a_negative_size_is_warned_about(tmp_path, monkeypatch):
    """Corke prints Tc- with its sign; as a size it is below zero, and `validate` says so."""
    monkeypatch.chdir(tmp_path)
    Path("arm.yaml").write_text(ARM.replace("FRICTION", "{positive: 2, negative: -3}"))
    out = command("validate", "arm.yaml").out
    assert "negative-friction" in out
    assert "did you mean 3?" in out
