"""Descriptions state which joints have a motor; linear models use these as inputs by default."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import robolin
from robolin.description.yaml.yaml_arm import read_yaml
from tests.cli.command import robolin as command
from tests.cli.command import run_ok

MODELS = Path(__file__).resolve().parents[2] / "models"
UPRIGHT = [np.pi, 0.0]
PENDULUM = """<mujoco><worldbody><body name="cart"><joint name="slide" type="slide" axis="1 0 0"/>
  <geom size=".1"/><body name="bar"><joint name="pivot" axis="0 1 0"/>
  <geom type="capsule" size=".02" fromto="0 0 0 0 0 1"/></body></body></worldbody>
  ACTUATORS</mujoco>"""
CART_MOTOR = '<actuator><motor joint="slide"/></actuator>'
# both fingers on one fixed tendon, and the second mimics the first
GRIPPER = """<mujoco><worldbody><body name="palm"><joint name="lift" type="slide" axis="0 0 1"/>
  <geom size=".1"/>
  <body name="one"><joint name="one" type="slide" axis="0 1 0"/><geom size=".1"/></body>
  <body name="two"><joint name="two" type="slide" axis="0 1 0"/><geom size=".1"/></body></body>
  </worldbody><equality><joint joint1="two" joint2="one"/></equality>
  <tendon><fixed name="grip"><joint joint="two" coef="1"/></fixed></tendon>
  <actuator><position tendon="grip"/></actuator></mujoco>"""


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def written(actuators: str) -> str:
    Path("arm.xml").write_text(PENDULUM.replace("ACTUATORS", actuators))
    return "arm.xml"


def test_the_acrobot_is_driven_at_the_elbow():
    """The gains are those published for Drake's acrobot with Q = diag(10, 10, 1, 1) and R = 1."""
    model = robolin.state_space(robolin.load("acrobot"), UPRIGHT)
    assert model.inputs == ("elbow/effort",)
    gains = robolin.lqr(model, Q={"q": 10.0, "qd": 1.0}).K
    published = [-278.44223126, -112.29125985, -119.72457377, -56.82824017]
    # eight decimals are printed
    np.testing.assert_allclose(gains, [published], rtol=0, atol=5.1e-9)


def test_the_cart_pole_is_driven_at_the_cart():
    """Poles are those of all motors, reached by the cart's alone."""
    model = robolin.state_space(robolin.load("cart-pole"), 0.0)
    assert model.inputs == ("slide/effort",)
    assert model.controllability().dimension == 4


def test_flags_override_the_description():
    """`actuated` and `passive` mean the same as on an arm without actuator information."""
    arm = robolin.load("acrobot")
    both = ("shoulder/effort", "elbow/effort")
    for keywords, inputs in (
        ({"actuated": "all"}, both),
        ({"actuated": ["shoulder", "elbow"]}, both),
        ({"passive": ()}, both),
        ({"passive": "elbow"}, both[:1]),
        ({"actuated": "shoulder"}, both[:1]),
    ):
        assert robolin.state_space(arm, UPRIGHT, **keywords).inputs == inputs


def test_the_contract_names_passive_joints(here):
    """Results of arms with passive joints have a line about them, others have none."""
    assert robolin.load("acrobot").contract["passive"] == "shoulder: no motor in the robot file"
    assert "passive" not in robolin.load("two-link").contract
    for verb in ("poles", "lqr", "state-space", "response"):
        options = ("--duration", "1") if verb == "response" else ()
        text = run_ok(verb, "acrobot", "--q", "180deg,0", *options, "--format", "json").out
        assert '"actuated": "elbow"' in text


def test_a_trim_uses_the_motors_of_the_description():
    """Near upright the elbow alone holds the acrobot where nothing else does."""
    trim = robolin.trim(robolin.load("acrobot"), [3.0, 0.1])
    assert trim.tau[0] == 0.0


def test_a_pose_that_needs_a_passive_joint_is_rejected_with_a_hint():
    """The error names the joint, and the flag in its hint works."""
    ran = command("poles", "acrobot", "--q", "1,0")
    assert ran.code == 3
    assert "joint 'shoulder' is passive" in ran.err
    assert "--actuated all" in ran.err
    run_ok("poles", "acrobot", "--q", "1,0", "--actuated", "all")


def test_a_gain_without_names_drives_the_described_joints():
    """A law with one row drives the elbow, one with two rows both joints."""
    arm = robolin.load("acrobot")
    K = robolin.lqr(robolin.state_space(arm, UPRIGHT)).K
    start = [np.pi + 0.02, 0.0]
    one = robolin.simulate(arm, start, duration=0.1, control=robolin.FeedbackControl(K, UPRIGHT))
    assert (one.tau[:, 0] == 0.0).all()
    assert one.tau[0, 1] == -K[0, 0] * (start[0] - np.pi)
    two = robolin.FeedbackControl(np.vstack([K, K]), UPRIGHT)
    assert robolin.simulate(arm, start, duration=0.1, control=two).tau[0, 0] != 0.0


def test_simulated_torques_on_passive_joints_are_warned_about():
    """A torque on the shoulder is applied and counted, one on the elbow is not mentioned."""
    flags = ("--duration", "0.01", "--dt", "0.005")
    ran = run_ok("simulate", "acrobot", "--tau", "1,0", *flags)
    assert "torques act on passive joints in 3 of 3 rows: shoulder 3" in ran.err
    assert "passive" not in run_ok("simulate", "acrobot", "--tau", "0,1", *flags).err


@pytest.mark.slow
def test_mjcf_actuators_define_actuated_joints(here):
    """With at least one actuator, joints without one are passive; without any, none is."""
    pytest.importorskip("mujoco")
    assert robolin.load(written(CART_MOTOR)).passive_joints == ("pivot",)
    assert robolin.load(written("")).passive_joints == ()
    off = '<option><flag actuation="disable"/></option>' + CART_MOTOR
    assert robolin.load(written(off)).passive_joints == ()


@pytest.mark.slow
def test_mjcf_tendons_drive_the_joints_they_name(here):
    """A fixed tendon on a mimic joint actuates its leader; a site actuates no joint."""
    pytest.importorskip("mujoco")
    Path("gripper.xml").write_text(GRIPPER)
    assert robolin.load("gripper.xml").passive_joints == ("lift",)
    site = PENDULUM.replace("<geom size=", '<site name="s"/><geom size=')
    Path("arm.xml").write_text(
        site.replace("ACTUATORS", '<actuator><general site="s" gear="0 0 1 0 0 0"/></actuator>')
    )
    assert robolin.load("arm.xml").passive_joints == ()


# the joints of Drake's acrobot.urdf: the shoulder has an effort limit of 0 and no transmission
URDF = """<robot name="acrobot"><link name="world"/>
  <link name="one"><inertial><mass value="1"/><origin xyz="0 0 -0.5"/>
    <inertia ixx="0.083" iyy="0.083" izz="5e-7" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="two"><inertial><mass value="1"/><origin xyz="0 0 -1"/>
    <inertia ixx="0.33" iyy="0.33" izz="5e-7" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="shoulder" type="continuous"><parent link="world"/><child link="one"/>
    <axis xyz="0 1 0"/><limit effort="SHOULDER" velocity="1"/></joint>
  <joint name="elbow" type="continuous"><parent link="one"/><child link="two"/>
    <axis xyz="0 1 0"/><origin xyz="0 0 -1"/></joint>
  TRANSMISSIONS</robot>"""
ELBOW = """<transmission type="SimpleTransmission" name="elbow_trans">
  <actuator name="elbow"/><joint name="elbow"/></transmission>"""


@pytest.mark.parametrize(
    ("effort", "transmissions", "passive"),
    [
        ("0", ELBOW, ("shoulder",)),
        ("0", "", ()),
        ("30", ELBOW, ()),
        ("0", ELBOW.replace('joint name="elbow"', 'joint name="other"'), ()),
        ("0", ELBOW + ELBOW.replace("elbow", "shoulder"), ()),
    ],
)
def test_urdf_transmissions_define_actuated_joints(here, effort, transmissions, passive):
    """A joint is passive if others have a transmission and it has no effort limit above 0."""
    text = URDF.replace("SHOULDER", effort).replace("TRANSMISSIONS", transmissions)
    Path("arm.urdf").write_text(text)
    assert robolin.load("arm.urdf").passive_joints == passive


@pytest.mark.slow
def test_mujoco_moves_only_the_joints_that_are_actuated(here):
    """Where MuJoCo's actuators give a generalized force, and nowhere else, a joint is actuated."""
    mujoco = pytest.importorskip("mujoco")
    for file in (written(CART_MOTOR), "gripper.xml"):
        Path("gripper.xml").write_text(GRIPPER)
        arm, model = robolin.load(file), mujoco.MjModel.from_xml_path(file)
        data = mujoco.MjData(model)
        data.ctrl[:] = 1.0
        mujoco.mj_forward(model, data)
        names = {model.joint(k).name for k in range(model.njnt) if data.qfrc_actuator[k]}
        leaders = {j.mimic.leader for link in arm.links if (j := link.joint).mimic}
        moved = {name if name in arm.joint_names else leaders.pop() for name in names}
        assert moved == set(arm.joint_names) - set(arm.passive_joints)


@pytest.mark.slow
def test_check_accepts_results_stored_before_actuators_were_read(here, monkeypatch):
    """An unchanged file is recomputed with the stored motors; a changed one with its own."""
    pytest.importorskip("mujoco")
    from robolin.description.mjcf import mjcf_reader

    file = written(CART_MOTOR)
    with monkeypatch.context() as before:
        every = {"slide", "pivot"}
        before.setattr(mjcf_reader, "_actuated", lambda model, rules: every)
        run_ok("lqr", file, "-o", "gains.npz")
        run_ok("inverse", file, "-o", "torques.npz")
    assert robolin.read_result("gains.npz").meta["contract"]["actuated"] == "all joints"
    run_ok("check", "gains.npz", "torques.npz")
    # with the cart as the only actuated joint, the same file gives other gains
    run_ok("lqr", file, "-o", "now.npz")
    assert robolin.read_result("now.npz").arrays["K"].shape == (1, 4)
    # a changed file is another question
    Path(file).write_text(Path(file).read_text() + "<!-- changed -->")
    ran = command("check", "gains.npz")
    assert ran.code == 1
    assert "actuated" in ran.out + ran.err
    # results that do not depend on motors are the same
    run_ok("check", "torques.npz")


def test_gains_stored_before_passive_joints_were_named_still_drive_the_arm(here):
    """Which joints the description has as passive does not make it another arm."""
    text = (MODELS / "acrobot.yaml").read_text(encoding="utf-8")
    Path("acrobot.yaml").write_text(text.replace("    actuated: false\n", ""), encoding="utf-8")
    flags = ("--q", "180deg,0")
    run_ok("lqr", "acrobot.yaml", *flags, "--passive", "shoulder", "-o", "gains.npz")
    Path("acrobot.yaml").write_text(text, encoding="utf-8")
    start = ("--q", "181deg,0", "--duration", "0.1")
    run_ok("simulate", "acrobot.yaml", "--feedback", "gains.npz", *start)


@pytest.mark.parametrize("value", ["maybe", "'false'", "0", "[false]"])
def test_actuated_is_true_or_false(value):
    """Anything else is an error with its line."""
    text = (MODELS / "acrobot.yaml").read_text(encoding="utf-8")
    text = text.replace("actuated: false", f"actuated: {value}")
    (finding,) = read_yaml(text.encode(), "acrobot.yaml").findings
    assert (finding.id, finding.level) == ("wrong-kind", "error")
    assert finding.location.line == text.splitlines().index(f"    actuated: {value}") + 1


def test_a_mimic_joint_has_no_motor_of_its_own():
    """`actuated` on a joint that mimics another is warned about and listed as ignored."""
    text = (MODELS / "acrobot.yaml").read_text(encoding="utf-8")
    text = text.replace("actuated: false", "actuated: true\n    mimic: {joint: elbow}")
    reading = read_yaml(text.encode(), "acrobot.yaml")
    assert [finding.id for finding in reading.findings] == ["ignored-key"]
    assert reading.description is not None
    assert reading.description.ignored == ("joint 'shoulder': actuated",)
