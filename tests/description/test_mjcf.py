"""MJCF models are the arms that MuJoCo itself makes of them."""

from __future__ import annotations

import json
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

import robolin
from robolin.description.load import read
from robolin.description.mjcf import mjcf_reader
from robolin.errors import RobolinError

mujoco = pytest.importorskip(
    "mujoco",
    reason="MJCF files need the package mujoco, which is not installed",
)

ARM = """<mujoco model="odd">
  <compiler angle="radian"/>
  <option gravity="1 -2 -9"/>
  <worldbody>
    <geom type="plane" size="1 1 .1"/>
    <body name="tower" pos=".1 .2 .3" euler=".3 -.2 .5">
      <geom type="capsule" size=".05" fromto="0 0 0 .1 .2 .4" density="800"/>
      <body name="shoulder" pos="0 .1 .4" quat=".8 .2 -.4 .3">
        <joint name="lift" type="slide" axis="1 2 2" ref=".2" range="-1 1" armature=".3"/>
        <joint name="pan" axis="0 1 1" pos=".1 .02 -.03" ref="-.4" damping=".7"/>
        <joint name="tilt" axis="1 0 -1" pos="-.05 .1 0" range="-2 2" frictionloss=".2"/>
        <geom type="box" size=".1 .05 .2" pos=".03 .01 .1" euler=".2 .3 .4"/>
        <body name="hand" pos=".3 0 .2">
          <joint name="wrist" axis="0 0 1" pos=".02 0 0" actuatorfrcrange="-3 4"/>
          <inertial pos=".01 .02 .03" mass=".4" fullinertia=".01 .02 .025 .001 .002 -.001"/>
          <body name="left"><joint name="left" type="slide" axis="0 1 0" range="0 .1"/>
            <geom size=".03"/></body>
          <body name="right"><joint name="right" type="slide" axis="0 -1 0" ref=".01"/>
            <geom size=".03"/></body>
        </body>
      </body>
    </body>
  </worldbody>
  <equality><joint joint1="right" joint2="left" polycoef=".02 .9 0 0 0"/></equality>
</mujoco>
"""


def compared(path: Path, arm: robolin.Arm, states: int = 4) -> None:
    """Compare torques and mass matrix with MuJoCo's, in the coordinates of the arm."""
    model = mujoco.MjModel.from_xml_path(str(path))
    # effects that robolin does not model, and reports
    model.body_gravcomp[:] = 0.0
    model.opt.density, model.opt.viscosity = 0.0, 0.0
    bits = mujoco.mjtDisableBit
    model.opt.disableflags |= int(bits.mjDSBL_CONTACT) | int(bits.mjDSBL_CONSTRAINT)
    data = mujoco.MjData(model)
    follow, offset = reduction(model, arm)
    for q, qd, qdd in np.random.default_rng(0).uniform(-1, 1, (states, 3, arm.n)):
        data.qpos[:], data.qvel[:], data.qacc[:] = follow @ q + offset, follow @ qd, follow @ qdd
        mujoco.mj_inverse(model, data)
        tau, M = follow.T @ data.qfrc_inverse, np.zeros((model.nv, model.nv))
        mujoco.mj_fullM(model, data, M)
        M = follow.T @ M @ follow
        # the documented tolerance is 1e-10; both are accurate to about 1e-15 of the largest entry
        computed = robolin.inverse(arm, q, qd, qdd)
        assert np.abs(computed - tau).max() <= 1e-12 * max(np.abs(tau).max(), 1e-9)
        assert np.abs(robolin.mass_matrix(arm, q) - M).max() <= 1e-12 * np.abs(M).max()


def reduction(model, arm):
    """MuJoCo's positions as a linear function of the arm's: q = follow q(arm) + offset."""
    rules = {link.joint.name: link.joint.mimic for link in arm.links if link.joint.mimic}
    follow, offset = np.zeros((model.nv, arm.n)), np.zeros(model.nv)
    for k in range(model.njnt):
        name = model.joint(k).name or f"joint{k}"
        rule = rules.get(name)
        leader = rule.leader if rule else name
        follow[k, arm.joint_names.index(leader)] = rule.ratio if rule else 1.0
        offset[k] = rule.offset if rule else 0.0
    return follow, offset


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def compiled_here(here, monkeypatch):
    """Compile models in this process, for tests that are not about the worker process."""

    def run_here(module, request, bounds):
        return json.loads(json.dumps(import_module(module).reply(request)))

    monkeypatch.setattr(mjcf_reader, "run_in_separate_process", run_here)


@pytest.mark.usefixtures("reader_processes")
def test_an_unusual_model_is_the_arm_of_mujoco(here):
    """Joints off the body's frame, several on a body, positions from ref, and a mimic joint."""
    Path("odd.xml").write_text(ARM)
    arm = robolin.load("odd.xml")
    assert arm.joint_names == ("lift", "pan", "tilt", "wrist", "left")
    assert arm.gravity == (1.0, -2.0, -9.0)
    compared(Path("odd.xml"), arm)
    joints = {link.joint.name: link.joint for link in arm.links}
    assert (joints["pan"].damping, joints["tilt"].friction) == (0.7, 0.2)
    assert (joints["lift"].armature, joints["wrist"].limits.effort) == (0.3, 4.0)


def test_a_body_is_the_frame_mujoco_gives_it(compiled_here):
    """The frame named after a body has MuJoCo's pose of the body, wherever its joint axis is."""
    Path("odd.xml").write_text(ARM)
    arm, model = robolin.load("odd.xml"), mujoco.MjModel.from_xml_path("odd.xml")
    data, q = mujoco.MjData(model), np.array([0.1, 0.4, -0.7, 1.2, 0.05])
    follow, offset = reduction(model, arm)
    data.qpos[:] = follow @ q + offset
    mujoco.mj_kinematics(model, data)
    for name in ("shoulder", "hand", "right"):
        position = robolin.jacobian(arm, q, frame=name).position
        assert np.abs(position - data.body(name).xpos).max() < 1e-14


def test_disabled_effects_are_not_applied(compiled_here):
    """Flags that disable gravity, damping and equalities remove them from the arm."""
    flags = '<flag gravity="disable" damper="disable" equality="disable" frictionloss="disable"/>'
    Path("odd.xml").write_text(ARM.replace('-9"/>', f'-9">{flags}</option>'))
    arm = robolin.load("odd.xml")
    assert arm.gravity == (0.0, 0.0, 0.0)
    assert arm.n == 6
    assert not any(link.joint.damping or link.joint.friction for link in arm.links)


FOUR_BAR = """<mujoco><option gravity="0 0 -9.81"/><worldbody>
  <body name="crank"><joint name="drive" axis="0 1 0"/>
    <geom type="capsule" size=".02" fromto="0 0 0 0 0 .3"/>
    <body name="coupler" pos="0 0 .3"><joint name="middle" axis="0 1 0"/>
      <geom type="capsule" size=".02" fromto="0 0 0 .5 0 0"/></body></body>
  <body name="rocker" pos=".5 0 0"><joint name="swing" axis="0 1 0"/>
    <geom type="capsule" size=".02" fromto="0 0 0 0 0 .3"/></body>
</worldbody><equality><connect name="pin" body1="coupler" body2="rocker" anchor=".5 0 0"/>
</equality></mujoco>"""


def test_a_connect_closes_a_loop(here):
    """A four-bar moves as a parallelogram: its rocker rotates with its crank."""
    Path("bars.xml").write_text(FOUR_BAR)
    arm = robolin.load("bars.xml")
    state = robolin.close(arm, [0.4, 0.0, 0.0], [1.0, 0.0, 0.0], hold="drive")
    assert np.allclose(state.q, [0.4, -0.4, 0.4], atol=1e-12)
    assert np.allclose(state.qd, [1.0, -1.0, 1.0], atol=1e-12)


def test_a_free_joint_is_a_floating_base(here):
    """A body on a free joint has MuJoCo's mass matrix, once both move it along the same axes."""
    capsule = '<geom type="capsule"'
    Path("free.xml").write_text(ARM.replace(capsule, f'<freejoint name="float"/>{capsule}', 1))
    arm, model = robolin.load("free.xml"), mujoco.MjModel.from_xml_path("free.xml")
    data, M = mujoco.MjData(model), np.zeros((model.nv, model.nv))
    q = np.array([0.0] * 6 + [0.2, -0.3, 0.5, 0.4, 0.03])
    # MuJoCo translates along the world's axes and rotates about the body's; robolin uses the body's
    # for both
    follow = np.zeros((12, 11))
    follow[3:6, 0:3] = np.eye(3)
    follow[6:11, 6:] = np.eye(5)
    follow[11, 10] = 0.9
    data.qpos[7:] = [*q[6:], 0.9 * q[10] + 0.03]
    mujoco.mj_forward(model, data)
    follow[0:3, 3:6] = data.body("tower").xmat.reshape(3, 3)
    mujoco.mj_fullM(model, data, M)
    assert np.abs(robolin.mass_matrix(arm, q) - follow.T @ M @ follow).max() < 1e-13


LIMBS = """<mujoco><compiler angle="radian"/><option gravity="1 -2 -9"/><worldbody>
  <body name="trunk" pos=".1 .2 .3" quat=".8 .2 -.4 .3">
    <joint name="float" type="free" damping=".4"/>
    <geom type="box" size=".1 .05 .2" pos=".03 .01 .1"/>
    <body name="leg" pos="0 .1 .4" euler=".3 -.2 .5">
      <joint name="slide" type="slide" axis="1 2 2"/>
      <joint name="hip" type="ball" pos=".1 .02 -.03" damping=".7" armature=".3"/>
      <geom type="capsule" size=".05" fromto="0 0 0 .1 .2 .4"/>
      <body name="foot" pos=".3 0 .2"><joint name="ankle" type="ball"/>
        <geom type="box" size=".1 .05 .2" pos=".03 .01 .1" euler=".2 .3 .4"/>
        <body name="toe" pos=".1 0 0"><joint name="toe" axis="0 1 1"/><geom size=".03"/>
        </body></body></body></body></worldbody></mujoco>"""


def test_balls_and_free_joints_are_those_of_mujoco(compiled_here):
    """Torques and 𝓜 of multi-DoF joints, on and off their bodies' frames.

    MuJoCo rotates a ball about the axes of its body, as robolin does, and translates a free body
    along those of the world. Both sides are sums of a few hundred products: 1e-12 of the largest
    entry.
    """
    Path("limbs.xml").write_text(LIMBS)
    arm, model = robolin.load("limbs.xml"), mujoco.MjModel.from_xml_path("limbs.xml")
    parts = ("hip:rx", "hip:ry", "hip:rz", "ankle:rx", "ankle:ry", "ankle:rz", "toe")
    assert arm.joint_names[6:] == ("slide", *parts)
    data, M = mujoco.MjData(model), np.zeros((model.nv, model.nv))
    trunk, turn, world = model.body("trunk"), np.zeros(4), np.zeros(9)
    for q, qd, qdd in np.random.default_rng(1).uniform(-1, 1, (4, 3, arm.n)):
        mujoco.mju_quat2Mat(world, trunk.quat)
        position = trunk.pos + world.reshape(3, 3) @ q[3:6]
        mujoco.mju_mulQuat(turn, trunk.quat, quaternion(q[:3]))
        limbs = [q[6], *quaternion(q[7:10]), *quaternion(q[10:13]), q[13]]
        data.qpos[:] = [*position, *turn, *limbs]

        # the rate of a velocity in world axes also contains the rotation of the body axes
        mujoco.mju_quat2Mat(world, turn)
        along = np.eye(arm.n)[[3, 4, 5, 0, 1, 2, *range(6, 14)]]
        along[:3, 3:6] = world.reshape(3, 3)
        data.qvel[:], data.qacc[:] = along @ qd, along @ qdd
        data.qacc[:3] += along[:3, 3:6] @ np.cross(qd[:3], qd[3:6])

        mujoco.mj_inverse(model, data)
        mujoco.mj_fullM(model, data, M)
        tau, mass = along.T @ data.qfrc_inverse, along.T @ M @ along
        assert np.abs(robolin.inverse(arm, q, qd, qdd) - tau).max() <= 1e-12 * np.abs(tau).max()
        assert np.abs(robolin.mass_matrix(arm, q) - mass).max() <= 1e-12 * np.abs(mass).max()


def quaternion(rpy):
    converted = np.zeros(4)
    mujoco.mju_euler2Quat(converted, rpy, "XYZ")
    return converted


WRONG = [
    (
        "<equality>",
        '<tendon><fixed name="t"><joint joint="wrist" coef="2"/></fixed></tendon><equality>'
        '<tendon tendon1="t"/>',
        "mjcf-equality",
    ),
    (".02 .9 0 0 0", ".02 .9 .1 0 0", "mjcf-equality"),
    ('joint2="left" ', "", "mjcf-equality"),
    ('ref="-.4"', 'ref="inf"', "number-not-finite"),
    ('gravity="1 -2 -9"', 'gravity="0 nan 0"', "number-not-finite"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("old", "new", "finding"), WRONG, ids=range(len(WRONG)))
def test_unsupported_elements_are_rejected_by_name(compiled_here, old, new, finding):
    """Fixed joints, mimic joints on curves and infinite parameters are errors."""
    assert old in ARM
    Path("a.mjcf").write_text(ARM.replace(old, new))
    findings = [each for each in read("a.mjcf").findings if each.level == "error"]
    assert [each.id for each in findings] == [finding]


LEFT_OUT = [
    ('<body name="hand"', '<body name="hand" gravcomp="1"', "hand"),
    ('<option gravity="1 -2 -9"/>', '<option density="1000"/>', "drag"),
    ('<joint name="wrist" axis="0 0 1"', '<joint name="wrist" type="ball" range="0 1"', "range"),
    (
        '<geom type="capsule"',
        '<joint type="free" frictionloss="1"/><geom type="capsule"',
        "free joints",
    ),
]


@pytest.mark.slow
@pytest.mark.parametrize(("old", "new", "what"), LEFT_OUT, ids=range(len(LEFT_OUT)))
def test_omitted_effects_are_warned_about(compiled_here, old, new, what):
    """Gravity compensation and drag act in MuJoCo only, which `validate` reports."""
    Path("a.xml").write_text(ARM.replace(old, new))
    (finding,) = [each for each in read("a.xml").findings if each.id == "mjcf-left-out"]
    assert what in finding.message
    with pytest.raises(RobolinError):
        robolin.load("a.xml", strict=True)


def test_warnings_of_mujoco_are_findings(here):
    """Warnings of MuJoCo are listed; MuJoCo itself would write a log file into the folder."""
    lit = '<worldbody><light pos="0 0 nan"/>'
    Path("a.xml").write_text(ARM.replace("<worldbody>", lit))
    (message,) = [each.message for each in read("a.xml").findings if each.id == "mjcf-warning"]
    assert "NaN" in message
    assert [path.name for path in Path().iterdir()] == ["a.xml"]


def test_external_effects_are_noted(compiled_here):
    """Actuators and contacts are listed, and the model still loads with strict."""
    servos = '<actuator><position joint="wrist" kp="9"/></actuator></mujoco>'
    Path("a.xml").write_text(ARM.replace("</mujoco>", servos))
    noted = [each.message for each in read("a.xml").findings if each.level == "note"]
    assert [each.split(":")[0] for each in noted] == ["actuators (1)", "contacts"]
    assert robolin.load("a.xml", strict=True).n == robolin.load("a.xml").n


ACTUATORS = """<actuator>
  <motor joint="wrist" gear="10" armature=".02" damping=".3"/>
  <position joint="wrist" kp="3" gear="-2" armature=".1"/>
  <motor jointinparent="lift" gear="3" damping=".1"/></actuator></mujoco>"""


@pytest.mark.skipif(
    not hasattr(mujoco.MjModel, "actuator_armature"), reason="needs MuJoCo 4 or newer"
)
def test_armature_and_damping_of_actuators_act_on_joints(compiled_here):
    """Torques and 𝓜 have gear² times the armature and damping of actuators, as in MuJoCo."""
    Path("a.xml").write_text(ARM.replace("</mujoco>", ACTUATORS))
    arm = robolin.load("a.xml")
    compared(Path("a.xml"), arm)
    joints = {link.joint.name: link.joint for link in arm.links}
    assert joints["wrist"].armature == pytest.approx(100 * 0.02 + 4 * 0.1, rel=1e-15)
    assert joints["wrist"].damping == pytest.approx(100 * 0.3, rel=1e-15)
    assert joints["lift"].damping == pytest.approx(9 * 0.1, rel=1e-15)
    assert "armature and damping of 3 actuators added to their joints" in arm.contract["notes"]


@pytest.mark.skipif(
    not hasattr(mujoco.MjModel, "actuator_armature"), reason="needs MuJoCo 4 or newer"
)
def test_armature_of_an_actuator_on_a_tendon_is_warned_about(compiled_here):
    """Tendons are not supported, nor is the armature of their actuators."""
    tendon = '<tendon><fixed name="t"><joint joint="wrist" coef="3"/></fixed></tendon>'
    pull = '<actuator><motor name="pull" tendon="t" armature=".5"/></actuator></mujoco>'
    Path("a.xml").write_text(ARM.replace("</mujoco>", tendon + pull))
    (finding,) = [each for each in read("a.xml").findings if each.id == "mjcf-left-out"]
    assert "'pull'" in finding.message


def test_errors_of_every_class_in_mujoco_are_reported(here):
    """Exceptions of every class in MuJoCo are errors of the file."""
    Path("a.xml").write_text(ARM.replace("<worldbody>", "<asset><model/></asset><worldbody>", 1))
    with pytest.raises(RobolinError, match="MuJoCo rejects the file:"):
        robolin.load("a.xml")


# elements with an error, and a word of the message; each of them hides those after it in MuJoCo
WRONG_ELEMENTS = [
    ('<joint name="a1" axsi="1 0 0"/>', "joint 'a1': unrecognized attribute: 'axsi'"),
    ('<joint name="a2" axis="1 0 x"/>', "joint 'a2': bad format in attribute 'axis'"),
    ('<joint name="a3" type="hing"/>', "joint 'a3': invalid keyword: 'hing'"),
    ('<jont name="a4"/>', "jont 'a4': unrecognized element"),
    ('<joint name="a5" class="none"/>', "joint 'a5': unknown default class name 'none'"),
    ('<joint name="a6"/><joint name="a6"/>', "joint 'a6': repeated name 'a6'"),
    ('<geom name="g1" sizee="1"/>', "geom 'g1': unrecognized attribute: 'sizee'"),
    (
        '<body name="b1"><joint name="a7"/></body>',
        "body 'b1': mass and inertia of moving bodies must be larger",
    ),
    (
        '<body name="b2"><joint axis="nan 0 0" name="a8"/>'
        '<inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/></body>',
        "joint 'a8': axis is nan",
    ),
    (
        '<body name="b3"><joint type="ball"/><joint type="ball"/><joint/>'
        '<inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/></body>',
        "body 'b3': more than 6 dofs",
    ),
    (
        '<body name="b4"><joint name="a9" axis="0 0 0"/>'
        '<inertial pos="0 0 0" mass="1" diaginertia="1 1 9"/></body>',
        "body 'b4': inertia must satisfy",
    ),
]


def test_all_errors_of_a_file_are_reported_together(here):
    """MuJoCo stops at its first error; validate reports every element with an error, by line."""
    lines = "\n".join(text for text, _ in WRONG_ELEMENTS)
    body = f'<body name="first"><geom size="1" mass="1"/>\n{lines}\n</body>'
    motors = '<actuator><motor joint="a10"/><motor joint="a2"/></actuator>'
    Path("a.xml").write_text(f"<mujoco><worldbody>{body}</worldbody>\n{motors}</mujoco>")
    errors = [each for each in read("a.xml").findings if each.level == "error"]
    shown = {each.location.line: [] for each in errors}
    for each in errors:
        shown[each.location.line].append(each.message)
    expected = dict(enumerate((words for _, words in WRONG_ELEMENTS), start=2))
    # one element, one message, except the axis and the inertia of the last body
    assert {line: len(texts) for line, texts in shown.items()} == {
        **dict.fromkeys(expected, 1),
        len(expected) + 1: 2,
        len(expected) + 3: 1,
    }
    for line, words in expected.items():
        assert any(words in text for text in shown[line]), (line, shown[line])
    (motor,) = shown[len(expected) + 3]
    assert motor.startswith("MuJoCo rejects <motor>: unknown transmission target 'a10'")


def test_line_numbers_in_names_do_not_locate_errors(here):
    """A name such as 'line 40' is not the line of an error."""
    twice = '<joint name="line 40"/>\n<joint name="line 40"/>'
    body = f'<body name="line 1"><geom size="1"/>\n{twice}</body>'
    Path("a.xml").write_text(f"<mujoco><worldbody>{body}</worldbody></mujoco>")
    (error,) = read("a.xml").findings
    assert error.location.line == 3
    assert error.message.endswith("joint 'line 40': repeated name 'line 40' in joint")


def test_errors_in_included_files_have_their_lines(here):
    """An error of an included file has the name and the line of that file."""
    Path("inner.xml").write_text('<mujoco>\n<body name="b">\n<joint axsi="1"/></body></mujoco>')
    text = '<mujoco><worldbody>\n<include file="inner.xml"/>\n<body poss="1"/></worldbody></mujoco>'
    Path("a.xml").write_text(text)
    locations = [str(each.location) for each in read("a.xml").findings]
    assert locations[:2] == ["inner.xml:3", "a.xml:3"]


REFUSED = [
    ("<mujoco><worldbody><body/></worldbody>", "no element found"),
    ("<mujoco><wordbody/></mujoco>", "MuJoCo rejects <wordbody>: unrecognized element"),
    ('<mujoco><include file="../out.xml"/></mujoco>', "outside the model's package"),
    ('<mujoco><include file="/etc/passwd"/></mujoco>', "outside the model's package"),
    ('<mujoco><include file="none.xml"/></mujoco>', "could not be read"),
    ('<mujoco><asset><mesh file="../m.stl"/></asset></mujoco>', "outside the model's package"),
    ("<mujoco/>", "the robot has no movable joint:"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("text", "message"), REFUSED, ids=range(len(REFUSED)))
def test_invalid_models_are_rejected(here, text, message):
    """Broken models, and models that refer to files outside their folder, are errors."""
    Path("a.xml").write_text(text)
    with pytest.raises(RobolinError, match=message):
        robolin.load("a.xml")


@pytest.mark.slow
def test_included_files_are_part_of_the_model(compiled_here):
    """A change in an included file changes the hash, and findings name the included file."""
    Path("parts").mkdir()
    joint = '<joint name="j" type="hinge"/>'
    body = f'<mujoco><body name="b" gravcomp="1">{joint}<geom size=".1"/></body></mujoco>'
    Path("parts/b.xml").write_text(body)
    include = '<mujoco><worldbody><include file="parts/b.xml"/></worldbody></mujoco>'
    Path("a.xml").write_text(include)
    (finding,) = [each for each in read("a.xml").findings if each.id == "mjcf-left-out"]
    assert str(finding.location) == "parts/b.xml:1"
    digests = []
    for kind in ("hinge", "slide"):
        Path("parts/b.xml").write_text(body.replace("hinge", kind))
        digests.append(robolin.load("a.xml").digest)
    assert digests[0] != digests[1]


def public_models() -> list[Path]:
    """Models of packages that are there."""
    paths: list[Path] = []
    for package, folder in (
        ("gymnasium", "envs/mujoco/assets"),
        ("dm_control", "suite"),
        ("robosuite", "models/assets/robots"),
    ):
        spec = find_spec(package)
        for root in (spec and spec.submodule_search_locations) or ():
            paths += sorted((Path(root) / folder).rglob("*.xml"))
    return paths


@pytest.mark.slow
@pytest.mark.skipif(not public_models(), reason="needs the models of gymnasium or dm_control")
def test_public_models_agree_with_mujoco():
    """Every available public model is rejected by name, or has MuJoCo's torques and mass matrix."""
    agreed = 0
    for path in public_models():
        try:
            model = mujoco.MjModel.from_xml_path(str(path))
        except ValueError:
            continue
        if model.njnt == 0 or (model.jnt_type < 2).any():
            continue
        if any(finding.level == "error" for finding in read(path).findings):
            continue
        compared(path, robolin.load(path), states=1)
        agreed += 1
    assert agreed >= 9


def test_a_missing_mesh_is_a_finding_with_a_hint(here):
    """A mesh that an inertia depends on is an error of the file, like other errors."""
    body = '<body><joint name="j"/><geom type="mesh" mesh="m"/></body>'
    asset = '<asset><mesh name="m" file="hand.stl"/></asset>'
    Path("a.xml").write_text(f"<mujoco><worldbody>\n{body}</worldbody>\n{asset}</mujoco>")
    (missing,) = (each for each in read("a.xml").findings if each.level == "error")
    assert "'hand.stl' could not be read" in missing.message
    assert missing.hint == "a missing mesh is accepted if its body has an <inertial>"
    Path("hands.stl").touch()
    (missing,) = (each for each in read("a.xml").findings if each.level == "error")
    assert missing.hint.startswith("did you mean 'hands.stl'? ")
    Path("b.xml").write_text('<mujoco><include file="c.xml"/></mujoco>')
    with pytest.raises(RobolinError) as caught:
        read("b.xml")
    assert caught.value.hint == "check the path"
