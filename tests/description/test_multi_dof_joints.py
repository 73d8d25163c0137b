"""Universal, cylindrical and spherical joints, in URDF and YAML, against Pinocchio's own."""

from __future__ import annotations

import numpy as np
import pytest

import robolin
from robolin.core.arm import Arm
from robolin.description.urdf.urdf_reader import read_urdf
from robolin.description.yaml.yaml_arm import read_yaml
from tests.dynamics.running import gap
from tests.robots import random_states

LINKS = ("a", "b", "c")
JOINTS = {
    "u": ("universal", "ground", "a", (0.1, 0.0, 0.2)),
    "s": ("spherical", "a", "b", (0.0, 0.1, 0.4)),
    "c": ("cylindrical", "b", "c", (0.2, 0.0, 0.3)),
}
AXIS, AXIS2 = (1.0, 0.0, 2.0), (0.0, 1.0, 1.0)
NAMES = ("u:axis", "u:axis2", "s:rx", "s:ry", "s:rz", "c:slide", "c:turn")


def urdf(ball: str = "spherical") -> str:
    inertia = '<inertia ixx="0.05" iyy="0.06" izz="0.04" ixy="0" ixz="0" iyz="0"/>'
    body = f'<inertial><origin xyz="0.1 0.05 0.2"/><mass value="2"/>{inertia}</inertial>'
    links = "".join(f'<link name="{name}">{body}</link>' for name in LINKS)
    axes = {
        "universal": '<axis xyz="1 0 2"/><axis2 xyz="0 1 1"/>',
        "spherical": "",
        "cylindrical": '<axis xyz="1 0 2"/>',
    }
    joints = "".join(
        f'<joint name="{name}" type="{ball if kind == "spherical" else kind}">'
        f'<parent link="{up}"/><child link="{down}"/>'
        f'<origin xyz="{" ".join(map(str, at))}"/>{axes[kind]}</joint>'
        for name, (kind, up, down, at) in JOINTS.items()
    )
    return f'<robot name="pairs"><link name="ground"/>{links}{joints}</robot>'


def yaml() -> str:
    axes = {"universal": ", axis: [1, 0, 2], axis2: [0, 1, 1]", "cylindrical": ", axis: [1, 0, 2]"}
    joints = [
        f"  - {{name: {name}, type: {kind}, parent: {up}, child: {down}, "
        f"origin: {{xyz: {list(at)}}}{axes.get(kind, '')}}}"
        for name, (kind, up, down, at) in JOINTS.items()
    ]
    links = [
        f"  - {{name: {name}, mass: 2, com: [0.1, 0.05, 0.2], "
        "inertia: {ixx: 0.05, iyy: 0.06, izz: 0.04}}"
        for name in LINKS
    ]
    return "\n".join(["robolin: 1", "name: pairs", "joints:", *joints, "links:", *links, ""])


@pytest.fixture(scope="module")
def arm() -> Arm:
    return robolin.load(yaml().encode())


def test_urdf_and_yaml_agree(arm: Arm) -> None:
    """URDF and YAML give one arm with one name per DoF; a ball is spherical."""
    others = [robolin.load(urdf(ball).encode()) for ball in ("spherical", "ball")]
    assert arm.joint_names == NAMES
    for other in others:
        assert other.links_tip_to_base == arm.links_tip_to_base
        assert other.groups == arm.groups


def test_pinocchio_agrees(arm: Arm) -> None:
    """Torques and accelerations are Pinocchio's, with its universal and spherical joints.

    1e-12 for sums, and 1e-15 of the mass matrix's condition where it is divided by, ten times.
    """
    pin = pytest.importorskip("pinocchio")
    unit, second = (np.array(axis) / np.linalg.norm(axis) for axis in (AXIS, AXIS2))
    slide = pin.JointModelComposite(pin.JointModelPrismaticUnaligned(unit))
    slide.addJoint(pin.JointModelRevoluteUnaligned(unit))
    pair = pin.JointModelComposite(pin.JointModelRevoluteUnaligned(unit))
    pair.addJoint(pin.JointModelRevoluteUnaligned(second))
    model, parent = pin.Model(), 0
    for kind, (name, row) in zip(
        (pair, pin.JointModelSpherical(), slide), JOINTS.items(), strict=True
    ):
        parent = model.addJoint(parent, kind, pin.SE3(np.eye(3), np.array(row[3])), name)
        body = pin.Inertia(2.0, np.array([0.1, 0.05, 0.2]), np.diag([0.05, 0.06, 0.04]))
        model.appendBodyToJoint(parent, body, pin.SE3.Identity())
    data, states = model.createData(), random_states(arm, 5)
    for q, qd, qdd in zip(states.q, states.qd, states.qdd, strict=True):
        turn = pin.Quaternion(pin.rpy.rpyToMatrix(*q[2:5])).coeffs()
        theirs = np.concatenate([q[:2], turn, q[5:]])
        tau = pin.rnea(model, data, theirs, qd, qdd)
        assert gap(robolin.inverse(arm, q, qd, qdd), tau) <= 1e-12
        limit = 1e-11 + 1e-14 * np.linalg.cond(robolin.mass_matrix(arm, q))
        assert gap(robolin.forward(arm, q, qd, tau), qdd) <= limit


WRONG = [
    ("axis2: [0, 1, 1]", "axis2: [2, 0, 4]", "': axis2 is parallel to axis"),
    ("axis2: [0, 1, 1]", "axis2: [0, 0, 0]", "axis2 is zero"),
    (", axis2: [0, 1, 1]", "", "axis2"),
    ("axis2: [0, 1, 1]", "axis2: [0, 1, 1], mimic: {joint: c}", "mimic another"),
    (
        "type: cylindrical",
        "type: cylindrical, limits: {lower: -1, upper: 1}",
        "a single limit cannot apply",
    ),
    ("type: spherical", "type: spherical, axis: [1, 0, 0]", "rotates about all axes"),
]


@pytest.mark.parametrize("old, new, message", WRONG, ids=[row[2] for row in WRONG])
def test_invalid_joints_are_reported(old: str, new: str, message: str) -> None:
    """Parallel, missing or zero axes, limits of two kinds and mimicking pairs are findings."""
    text = yaml()
    assert old in text
    findings = read_yaml(text.replace(old, new, 1).encode(), "pairs.yaml").findings
    messages = [f"{finding.message} {finding.hint}" for finding in findings]
    assert any(message in each for each in messages), messages


@pytest.mark.parametrize("axis", ["", ", axis2: [1, 0]"])
def test_an_unreadable_axis_is_reported_once(axis: str) -> None:
    """A missing or malformed axis has no further findings."""
    written = yaml().replace("axis: [1, 0, 2], axis2: [0, 1, 1]", f"axis: [1, 0, 0]{axis}", 1)
    (finding,) = read_yaml(written.encode(), "pairs.yaml").findings

    assert "axis2" in finding.message
    assert "along" not in finding.message


def test_a_second_axis_left_out_of_urdf_is_named() -> None:
    """Where URDF's own second axis is along the first, the hint says which one that is."""
    text = urdf().replace('<axis xyz="1 0 2"/><axis2 xyz="0 1 1"/>', '<axis xyz="0 1 0"/>')
    (finding,) = read_urdf(text.encode(), "pairs.urdf").findings

    assert "': axis2 is parallel to axis" in finding.message
    assert "axis2 is 0 1 0 by default" in finding.hint


def test_options_name_each_degree_of_freedom_of_a_pair() -> None:
    """A pair is locked as two joints; the error for its own name lists them."""
    with pytest.raises(robolin.RobolinError, match="'u' has several degrees of freedom") as caught:
        robolin.load(yaml().encode(), lock={"u": 0.1})
    assert caught.value.hint == "name the degrees of freedom: 'u:axis', 'u:axis2'"


BODY = "mass: 2, com: [0.1, 0.05, 0.2], inertia: {ixx: 0.05, iyy: 0.06, izz: 0.04}"


def following(joints: list[str], links: list[str]) -> Arm:
    rows = [*(f"  - {{{joint}}}" for joint in joints)]
    bodies = (f"name: {name}" if name.endswith("1") else f"name: {name}, {BODY}" for name in links)
    rows += ["links:", *(f"  - {{{body}}}" for body in bodies)]
    return robolin.load("\n".join(["robolin: 1", "name: led", "joints:", *rows, ""]))


def test_pairs_lead_and_follow() -> None:
    """A joint can mimic one DoF of a pair, and a pair another pair of its kind.

    The reference is the arm whose four joints are written one by one; the same sums: 1e-13.
    """
    ratio = "ratio: -0.5, offset: 0.2"
    axes = "type: universal, axis: [1, 0, 0], axis2: [0, 1, 0]"
    pairs = following(
        [
            f"name: u, parent: ground, child: a, {axes}",
            f"name: v, parent: a, child: b, {axes}, mimic: {{joint: u, {ratio}}}",
            "name: w, parent: b, child: c, type: prismatic, axis: [0, 0, 1], "
            "mimic: {joint: 'u:axis2', ratio: 0.1}",
        ],
        ["a", "b", "c"],
    )
    x, y = (f"type: continuous, axis: {axis}" for axis in ("[1, 0, 0]", "[0, 1, 0]"))
    single = following(
        [
            f"name: u1, parent: ground, child: a1, {x}",
            f"name: u2, parent: a1, child: a, {y}",
            f"name: v1, parent: a, child: b1, {x}, mimic: {{joint: u1, {ratio}}}",
            f"name: v2, parent: b1, child: b, {y}, mimic: {{joint: u2, {ratio}}}",
            "name: w, parent: b, child: c, type: prismatic, axis: [0, 0, 1], "
            "mimic: {joint: u2, ratio: 0.1}",
        ],
        ["a1", "a", "b1", "b", "c"],
    )
    assert pairs.joint_names == ("u:axis", "u:axis2")
    s = random_states(pairs, 3)
    motion = (s.q, s.qd, s.qdd)
    assert gap(robolin.inverse(pairs, *motion), robolin.inverse(single, *motion)) <= 1e-13


PAIRS_TOLD = [
    ("type: revolute, axis: [1, 0, 0], mimic: {joint: u}", "mimic one of 'u:axis', 'u:axis2'"),
    ("type: cylindrical, axis: [1, 0, 0], mimic: {joint: u}", "mimics universal joint 'u'"),
    ("type: spherical, mimic: {joint: u}", "is spherical and mimics 'u'"),
    (
        "type: cylindrical, axis: [1, 0, 0], mimic: {joint: c, offset: 0.1}",
        "translates and rotates, so a mimic offset would need two units, m and rad",
    ),
]


@pytest.mark.parametrize(("written", "message"), PAIRS_TOLD, ids=range(len(PAIRS_TOLD)))
def test_invalid_mimic_joints_are_reported(written: str, message: str) -> None:
    """Joints of different kinds, and an offset of two units, are errors."""
    joints = [
        "name: u, parent: ground, child: a, type: universal, axis: [1, 0, 0], axis2: [0, 1, 0]",
        "name: c, parent: a, child: b, type: cylindrical, axis: [1, 0, 0]",
        f"name: v, parent: b, child: d, {written}",
    ]
    with pytest.raises(robolin.RobolinError) as caught:
        following(joints, ["a", "b", "d"])
    assert message in str(caught.value)
