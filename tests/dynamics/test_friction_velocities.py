"""Coulomb friction with a velocity scale per joint, in every algorithm, file and command."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import robolin
from robolin.checking.model_changes import model_changes
from robolin.core.arm import Arm
from robolin.dynamics.catalogue import ALGORITHMS
from robolin.engine.compiled.plan import variant_of
from robolin.engine.parameters import float_table, parameters_of
from robolin.evaluation.evaluate import evaluate
from tests.cli.command import robolin as command
from tests.cli.command import run_ok
from tests.codegen.compilers import GCC
from tests.dynamics.test_one_sided_friction import one_sided, sprung
from tests.robots import random_arm, random_states, with_follower, with_wrench

YAML = """robolin: 1
name: swing
joints:
  - {name: a, type: revolute, parent: base, child: bar, axis: [0, 1, 0], friction: 2VELOCITY_A}
  - {name: b, type: revolute, parent: bar, child: rod, axis: [0, 1, 0], friction: 1VELOCITY_B}
links:
  - {name: bar, mass: 1, com: [0, 0, -0.5], shape: {rod: 1}}
  - {name: rod, mass: 1, com: [0, 0, -0.5], shape: {rod: 1}}
"""


def with_velocities(arm: Arm) -> Arm:
    """The arm with another friction velocity at every joint but the last."""
    links = [
        replace(link, joint=replace(link.joint, friction=0.7, friction_velocity=0.1 * (i + 1)))
        for i, link in enumerate(arm.links_tip_to_base)
    ]
    links[0] = replace(links[0], joint=replace(links[0].joint, friction_velocity=None))
    return replace(arm, links_tip_to_base=tuple(links), friction_velocity=0.3)


ARMS = {
    "chain": with_velocities(random_arm(81, 4, armature=True, damping=True)),
    "tree": with_velocities(one_sided(with_wrench(with_follower(random_arm(82, 5, True)), "dead"))),
    "sprung": with_velocities(sprung(one_sided(with_wrench(random_arm(83, 3), "world")))),
}


def file_text(a: str, b: str) -> str:
    """The YAML arm with friction velocities, or without where the text is empty."""
    first, second = (f", friction_velocity: {v}" if v else "" for v in (a, b))
    return YAML.replace("VELOCITY_A", first).replace("VELOCITY_B", second)


def losses(arm: Arm, qd: np.ndarray) -> np.ndarray:
    """Friction torques (n,) of an arm in closed form."""
    torques = np.zeros(arm.n)
    for link, coordinate in zip(arm.links_tip_to_base, arm.coordinates, strict=True):
        ratio = link.joint.mimic.ratio if link.joint.mimic else 1.0
        positive, negative = link.joint.friction_sides
        t = np.tanh(ratio * qd[coordinate] / (link.joint.friction_velocity or 0.3))
        torques[coordinate] += ratio * (positive * t * (1 + t) / 2 + negative * t * (1 - t) / 2)
    return torques


@pytest.mark.parametrize("name", ARMS)
def test_every_joint_has_its_own_velocity(name):
    """Torques exceed those without friction by μ tanh(q̇ / v) with the v of each joint."""
    arm = ARMS[name]
    s = random_states(arm, 1)
    q, qd = s.q[0], 0.2 * s.qd[0]
    without = robolin.inverse(replace(arm, friction_velocity=None), q, qd)
    tau = robolin.inverse(arm, q, qd)
    np.testing.assert_allclose(tau - without, losses(arm, qd), atol=1e-12 * np.abs(tau).max())


@pytest.mark.parametrize("name", ARMS)
def test_engines_give_the_same_bits(name):
    """The compiled kernel finds the velocities behind loads, springs and one-sided friction."""
    arm = ARMS[name]
    s = random_states(arm, 3)
    values = {"q": s.q, "qd": 0.2 * s.qd, "qdd": s.qdd, "tau": s.qdd}
    for algorithm in ("inverse", "forward", "linearize-inverse", "regressor"):
        if algorithm == "regressor" and name != "chain":
            continue
        inputs = {key: values[key] for key in ALGORITHMS[algorithm].needs}
        python, compiled = (
            evaluate(arm, algorithm, inputs, engine=engine) for engine in ("python", "compiled")
        )
        for result in python:
            assert python[result].tobytes() == compiled[result].tobytes()


@pytest.mark.slow
@pytest.mark.parametrize("name", ARMS)
def test_every_check_of_verify_passes(name, request):
    """Complex steps, identities, all algorithms, both engines and 50 digits agree."""
    if name != "tree":
        # kernels of one arm are compared with plain Python
        request.getfixturevalue("without_kernels")
    verification = robolin.verify(ARMS[name], samples=1)
    assert verification.passed, verification.failed


def test_torques_are_linear_in_friction():
    """Y π is the torque, and the Slotine–Li regressor at the motion itself is Y."""
    arm = replace(ARMS["chain"], wrenches=())
    s = random_states(arm, 4)
    qd = 0.2 * s.qd
    regressor, tau = robolin.regressor(arm, s.q, qd, s.qdd), robolin.inverse(arm, s.q, qd, s.qdd)
    np.testing.assert_allclose(
        regressor.matrix @ regressor.parameters, tau, atol=1e-12 * np.abs(tau).max()
    )
    adaptive = robolin.slotine_li_regressor(arm, s.q, qd, qd, s.qdd).matrix
    np.testing.assert_allclose(
        adaptive, regressor.matrix, atol=1e-12 * np.abs(regressor.matrix).max()
    )


@pytest.mark.slow
def test_c_and_casadi_have_the_same_torques(tmp_path):
    """Generated programs give robolin's bits, CasADi the same torques, simulate the same energy."""
    arm = ARMS["tree"]
    for layout in ("unrolled", "loops"):
        folder = tmp_path / layout
        robolin.generate(arm, ["inverse"], folder, layout=layout, states=10, prefix="arm")
        GCC.checked(folder, "arm")
    chain = ARMS["chain"]
    motion = robolin.simulate(chain, np.zeros(4), np.ones(4), duration=0.5, dt=0.001)
    assert motion.energy_drift.max() < 1e-9 * motion.kinetic_energy.max()
    pytest.importorskip("casadi")
    s = random_states(chain, 1)
    by_casadi = robolin.casadi_function(chain, "inverse")(s.q[0], 0.2 * s.qd[0], s.qdd[0])
    tau = robolin.inverse(chain, s.q[0], 0.2 * s.qd[0], s.qdd[0])
    np.testing.assert_allclose(np.array(by_casadi).ravel(), tau, atol=1e-13 * np.abs(tau).max())


def test_one_number_keeps_kernel_and_parameters():
    """Without own velocities, kernels and their parameters are as before."""
    parameters = parameters_of(robolin.load("cart-pole", friction_velocity=0.1))
    assert not variant_of(parameters).own_friction_velocities
    assert len(float_table(parameters)) == 28 + 30 * 2


def test_flag_keyword_file_and_parameters_agree(tmp_path, monkeypatch):
    """The four ways to set the velocities give the same arm and the same bits."""
    monkeypatch.chdir(tmp_path)
    Path("plain.yaml").write_text(file_text("", ""))
    Path("own.yaml").write_text(file_text("0.02", "0.05"))
    plain = robolin.load("plain.yaml")
    made = {
        "keyword": robolin.load("plain.yaml", friction_velocity={"a": 0.02, "b": 0.05}),
        "file": robolin.load("own.yaml"),
        "parameters": plain.with_parameters(
            {"a/friction_velocity": 0.02, "b/friction_velocity": 0.05}
        ),
    }
    q, qd = np.array([0.3, -0.7]), np.array([0.03, -0.04])
    friction = np.array([2.0 * np.tanh(1.5), -np.tanh(0.8)])
    expected = robolin.inverse(plain, q, qd) + friction
    for arm in made.values():
        np.testing.assert_allclose(robolin.inverse(arm, q, qd), expected, atol=1e-14)
        assert arm.joints == made["file"].joints
    assert "v = a 0.02, b 0.05: a 2, b 1" in made["file"].contract["friction"]
    over = robolin.load("own.yaml", friction_velocity=0.1)
    assert over.joints == plain.joints
    assert over.friction_velocity == 0.1
    state = ("--q", "0.3,-0.7", "--qd", "0.03,-0.04")
    run_ok("inverse", "plain.yaml", "--friction-velocity", "a=0.02,b=0.05", *state, "-o", "t.npz")
    run_ok("check", "t.npz")
    np.testing.assert_allclose(np.load("t.npz")["tau"], expected, atol=1e-14)


def test_a_changed_velocity_is_found(tmp_path, monkeypatch):
    """`check` fails after a change of the file, and `diff` names the joint."""
    monkeypatch.chdir(tmp_path)
    Path("own.yaml").write_text(file_text("0.02", "0.05"))
    before = robolin.load("own.yaml").model_dict
    run_ok("inverse", "own.yaml", "--qd", "0.03,-0.04", "-o", "t.npz")
    Path("own.yaml").write_text(file_text("0.02", "0.06"))
    (change,) = model_changes(before, robolin.load("own.yaml").model_dict)
    assert "joint b: friction velocity" in str(change)
    assert command("check", "t.npz").code == 1


@pytest.mark.parametrize(
    ("flag", "message"),
    [
        ("a=0.02", "values are missing for joints with friction: 'b'"),
        ("a=0.02,b=0", "joint 'b' must be > 0"),
        ("a=0.02,c=0.1", "joint 'c' not found"),
        ("a=0.02,b=2deg", "not an angle"),
        ("a=0.02,0.1", "must have the form JOINT=VALUE"),
        ("-1", "must be > 0"),
    ],
)
def test_wrong_velocities_are_reported(tmp_path, monkeypatch, flag, message):
    """Each mistake is an error of the option, with exit code 2."""
    monkeypatch.chdir(tmp_path)
    Path("plain.yaml").write_text(file_text("", ""))
    ran = command("inverse", "plain.yaml", f"--friction-velocity={flag}")
    assert ran.code == 2
    assert message in ran.err


@pytest.mark.parametrize(
    ("a", "b", "message"),
    [
        ("0.02", "", "values are missing for joints with friction: 'b'"),
        ("0.02", "-1", "friction_velocity must be > 0, got -1"),
    ],
)
def test_wrong_velocities_of_a_file_have_a_line(tmp_path, monkeypatch, a, b, message):
    """A joint with friction needs a velocity if another joint has one."""
    monkeypatch.chdir(tmp_path)
    Path("own.yaml").write_text(file_text(a, b))
    ran = command("inverse", "own.yaml")
    assert ran.code != 0
    assert message in ran.err
    assert "own.yaml:5" in ran.err


def test_friction_of_a_file_can_be_ignored(tmp_path, monkeypatch):
    """`--no-friction` and `friction=False` remove all friction, and the contract states it."""
    monkeypatch.chdir(tmp_path)
    Path("arm.yaml").write_text(file_text("0.1", "0.2"))
    Path("bare.yaml").write_text(file_text("", ""))
    arm = robolin.load("arm.yaml", friction=False)
    assert arm.contract["friction"] == "ignored as requested: a 2, b 1"
    expected = robolin.inverse(robolin.load("bare.yaml"), 0.3, 1.0)
    np.testing.assert_array_equal(robolin.inverse(arm, 0.3, 1.0), expected)
    words = ("inverse", "arm.yaml", "--q", "0.3,0.3", "--qd", "1,1")
    assert [float(x) for x in run_ok(*words, "--no-friction").out.split()[1].split(",")] == list(
        expected
    )
    refused = command(*words, "--no-friction", "--friction-velocity", "0.1")
    assert refused.code == 2
    assert "--friction-velocity: has no effect without friction" in refused.err


def test_a_velocity_of_one_joint_does_not_apply_to_others():
    """`with_parameters` needs the velocity of every joint with friction."""
    arm = robolin.load(file_text("", ""))
    with pytest.raises(
        robolin.UsageError, match="values are missing for joints with friction: 'b'"
    ):
        arm.with_parameters({"a/friction_velocity": 0.1})
    both = arm.with_parameters({"a/friction_velocity": 0.1, "b/friction_velocity": 0.2})
    np.testing.assert_allclose(
        robolin.inverse(both, 0.0, 1.0) - robolin.inverse(arm, 0.0, 1.0),
        [2 * np.tanh(10.0), np.tanh(5.0)],
        rtol=1e-12,
    )
