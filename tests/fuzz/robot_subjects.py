"""Mutated robot files: every arm that is read obeys physics and matches other programs."""

from __future__ import annotations

import re
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

import robolin
from robolin.core.arm import Arm
from robolin.errors import RobolinError
from tests.forked_readers import forked_readers
from tests.fuzz import mutators
from tests.fuzz.subject import Subject

XACRO = b"""<robot name="arm" xmlns:xacro="http://www.ros.org/wiki/xacro">
  <xacro:arg name="mass" default="2"/>
  <xacro:property name="m" value="$(arg mass)"/>
  <xacro:property name="lengths" value="${[0.4, 0.3, 0.2]}"/>
  <xacro:macro name="bar" params="name parent at:=0 *axis">
    <xacro:property name="l" value="${lengths[at]}"/>
    <link name="${name}"><inertial>
      <origin xyz="0 0 ${l/2}" rpy="0 0 ${radians(30)}"/><mass value="${m/(1+at)}"/>
      <inertia ixx="${m*l**2/12}" iyy="${m*l**2/12}" izz="0.001" ixy="0" ixz="0" iyz="0"/>
    </inertial></link>
    <joint name="${name}_joint" type="revolute">
      <parent link="${parent}"/><child link="${name}"/><xacro:insert_block name="axis"/>
      <origin xyz="0 0 ${lengths[at-1] if at else 0}"/>
      <limit lower="${-pi}" upper="${pi}" effort="10" velocity="3"/>
    </joint>
  </xacro:macro>
  <link name="base"/>
  <xacro:bar name="upper" parent="base"><axis xyz="0 1 0"/></xacro:bar>
  <xacro:bar name="lower" parent="upper" at="1"><axis xyz="1 0 0"/></xacro:bar>
  <xacro:if value="${m > 1}">
    <xacro:bar name="hand" parent="lower" at="2"><axis xyz="0 0 1"/></xacro:bar>
  </xacro:if>
  <xacro:unless value="${m > 1}"><link name="nothing"/></xacro:unless>
</robot>
"""
MJCF = b"""<mujoco model="odd">
  <compiler angle="radian"/>
  <option gravity="1 -2 -9"/>
  <default><joint armature="0.01"/><default class="soft"><joint damping="0.4"/></default></default>
  <worldbody>
    <body name="tower" pos=".1 .2 .3" euler=".3 -.2 .5">
      <geom type="capsule" size=".05" fromto="0 0 0 .1 .2 .4" density="800"/>
      <body name="shoulder" pos="0 .1 .4" quat=".8 .2 -.4 .3">
        <joint name="lift" type="slide" axis="1 2 2" ref=".2" range="-1 1" armature=".3"/>
        <joint name="pan" axis="0 1 1" pos=".1 .02 -.03" ref="-.4" damping=".7"/>
        <joint name="tilt" axis="1 0 -1" class="soft" range="-2 2" frictionloss=".2"/>
        <geom type="box" size=".1 .05 .2" pos=".03 .01 .1" euler=".2 .3 .4"/>
        <body name="hand" pos=".3 0 .2">
          <joint name="wrist" axis="0 0 1" pos=".02 0 0" actuatorfrcrange="-3 4"/>
          <inertial pos=".01 .02 .03" mass=".4" fullinertia=".01 .02 .025 .001 .002 -.001"/>
          <body name="left"><joint name="left" type="slide" axis="0 1 0" range="0 .1"/>
            <geom size=".03"/></body>
          <body name="right"><joint name="right" type="slide" axis="0 -1 0"/>
            <geom size=".03"/></body>
        </body>
      </body>
    </body>
  </worldbody>
  <equality><joint joint1="right" joint2="left" polycoef=".02 .9 0 0 0"/></equality>
</mujoco>
"""

MJCF_LOOPS = b"""<mujoco model="loops">
  <compiler angle="radian"/>
  <worldbody>
    <body name="hull" pos=".1 .2 1">
      <freejoint name="root"/>
      <inertial pos="0 .1 0" mass="3" diaginertia=".1 .2 .15"/>
      <site name="eye" pos=".2 .1 0" euler=".1 .2 .3"/>
      <body name="crank" pos=".1 0 0"><joint name="a" axis="0 1 0"/>
        <inertial pos=".1 0 0" mass=".4" diaginertia=".01 .02 .015"/>
        <body name="rod" pos=".3 0 0"><joint name="b" axis="0 1 0" ref=".2"/>
          <inertial pos=".2 0 0" mass=".3" diaginertia=".01 .02 .015"/>
          <site name="end" pos=".4 0 0"/></body></body>
      <body name="rocker" pos=".5 0 0"><joint name="c" axis="0 1 0"/>
        <inertial pos=".1 0 .1" mass=".5" diaginertia=".01 .02 .015"/>
        <site name="pin" pos=".1 0 .2"/></body>
      <body name="lid" pos="0 .3 0"><joint name="d" type="slide" axis="0 0 1"/>
        <inertial pos="0 0 0" mass=".2" diaginertia=".01 .01 .01"/></body>
    </body>
  </worldbody>
  <tendon>
    <fixed name="three" armature=".01"><joint joint="a" coef="1"/><joint joint="b" coef="-.5"/>
      <joint joint="c" coef=".25"/></fixed>
    <fixed name="pair"><joint joint="c" coef="2"/><joint joint="d" coef="-1"/></fixed>
    <fixed name="single" armature=".2"><joint joint="d" coef="3"/></fixed>
  </tendon>
  <equality>
    <connect name="pin" site1="end" site2="pin"/>
    <weld name="lock" body1="lid" body2="hull" relpose="0 .3 .1 1 0 0 0" active="false"/>
    <weld name="glue" body1="rocker" body2="hull" anchor=".1 0 0" torquescale="0"/>
    <tendon name="sum" tendon1="three" tendon2="single" polycoef=".1 .2 0 0 0"/>
    <tendon name="drive" tendon1="pair"/>
  </equality>
</mujoco>
"""

_PAIR = b'<tendon name="drive" tendon1="pair"/>'

SDF = b"""<sdf version="1.11" xmlns:drake="drake.mit.edu">
  <world name="room">
    <gravity>1 -2 -9</gravity>
    <frame name="corner"><pose degrees="true">1 2 0 0 0 30</pose></frame>
    <model name="arm" placement_frame="foot" canonical_link="tower">
      <pose relative_to="corner">.1 .2 .3 .3 -.2 .5</pose>
      <link name="tower"><pose>0 .1 .2 .1 .2 .3</pose>
        <inertial><mass>2</mass><inertia><ixx>.1</ixx><iyy>.1</iyy><izz>.1</izz></inertia></inertial>
      </link>
      <frame name="foot" attached_to="tower"><pose>0 0 -.5 0 0 0</pose></frame>
      <joint name="lift" type="prismatic"><parent>tower</parent><child>slider</child>
        <pose relative_to="tower">0 0 .1 .2 0 0</pose>
        <axis><xyz expressed_in="foot">1 2 2</xyz>
          <limit><lower>-1</lower><upper>1</upper><effort>-1</effort></limit>
          <dynamics><damping>.7</damping><spring_stiffness>3</spring_stiffness>
            <spring_reference>.1</spring_reference></dynamics></axis>
        <drake:rotor_inertia>.01</drake:rotor_inertia><drake:gear_ratio>10</drake:gear_ratio>
      </joint>
      <link name="slider"><pose relative_to="lift">.1 .02 -.03 0 0 0</pose>
        <inertial><pose>.1 0 0 .1 .2 .3</pose><mass>1.5</mass>
          <inertia><ixx>.02</ixx><iyy>.03</iyy><izz>.04</izz><ixy>.001</ixy></inertia></inertial>
      </link>
      <model name="hand"><pose relative_to="slider">0 .3 0 0 .4 0</pose>
        <link name="palm"><inertial><mass>.5</mass>
          <inertia><ixx>.01</ixx><iyy>.02</iyy><izz>.015</izz></inertia></inertial></link>
        <link name="tip"><pose rotation_format="quat_xyzw">0 0 .2 0 0 .6 .8</pose></link>
        <joint name="bend" type="revolute"><pose>.01 .02 .03 .2 0 0</pose>
          <parent>palm</parent><child>tip</child><axis><xyz>0 1 1</xyz></axis></joint>
      </model>
      <joint name="wrist" type="universal"><parent>slider</parent><child>hand::palm</child>
        <axis><xyz>1 0 0</xyz></axis><axis2><xyz>0 0 1</xyz></axis2></joint>
      <link name="nut"><pose>0 .5 0 0 0 0</pose><inertial><mass>.2</mass>
        <inertia><ixx>.001</ixx><iyy>.001</iyy><izz>.001</izz></inertia></inertial></link>
      <joint name="thread" type="screw"><parent>tower</parent><child>nut</child>
        <screw_thread_pitch>.01</screw_thread_pitch><axis><xyz>0 0 1</xyz>
        <mimic joint="lift"><multiplier>2</multiplier><offset>.1</offset>
          <reference>.3</reference></mimic></axis></joint>
    </model>
  </world>
</sdf>
"""


_NEGATIVE = re.compile(r"""<mass[^>]*["']\s*-""")


def models(ext: str) -> Callable[[Path], list[bytes]]:
    """The smaller ones of the bundled arms."""
    folder = Path(__file__).parents[2] / "models"
    small = [path for path in sorted(folder.glob(f"*.{ext}")) if path.stat().st_size < 12_000]
    return lambda _: [path.read_bytes() for path in small[:6]]


def arm_checked(path: str, _: str) -> None:
    """Check τ(q̈) − τ(0) = 𝓜 q̈, and compare 𝓜 with another program where that reads the file."""
    arm = robolin.load(path)
    n = len(arm.joint_names)
    if not n or _unusual(arm):
        return
    rng = np.random.default_rng(1)
    q, qd, qdd = rng.uniform(-1, 1, (3, n))
    try:
        tau, rest = (robolin.inverse(arm, q, qd, a, engine="python") for a in (qdd, 0 * qdd))
        matrix = robolin.mass_matrix(arm, q, engine="python")
    except RobolinError:
        # parameters that give a finite result at rest may overflow in motion
        return
    # parameters near the largest float would overflow here; a power of two changes no digit
    tau, rest, matrix = (x * 2.0**-20 for x in (tau, rest, matrix))
    scale = np.abs(matrix) @ np.abs(qdd) + np.abs(tau) + np.abs(rest)
    # sums of a few dozen rounded terms; a large moment of inertia leaves rounding errors even about
    # axes that it does not act on
    largest = max(abs(x) for link in arm.links for x in link.inertia.rotary)
    scale = scale + 2.0**-20 * largest * np.abs(qdd).max()
    assert (np.abs(tau - rest - matrix @ qdd) <= 1e-10 * scale.max()).all()
    other = {".urdf": _pinocchio, ".xml": _mujoco}.get(Path(path).suffix, lambda *_: None)
    _same(matrix, other(path, arm, q))


def _unusual(arm: Arm) -> bool:
    return arm.floating_base or len(arm.joint_names) != len(arm.links) or bool(arm.loops)


def _same(matrix: np.ndarray, other: np.ndarray | None) -> None:
    if other is None or not np.isfinite(other).all():
        return
    largest = np.abs(matrix).max()
    # long arms of small bodies lose digits to cancellation in both programs
    assert (np.abs(matrix - other * 2.0**-20) <= 1e-6 * largest).all(), "another mass matrix"


def _pinocchio(path: str, arm: Arm, q: np.ndarray) -> np.ndarray | None:
    """Return Pinocchio's mass matrix of the file; None if it does not support its joints."""
    text = Path(path).read_text(errors="replace")
    if find_spec("pinocchio") is None:
        return None
    import pinocchio as pin

    try:
        model = pin.buildModelFromUrdf(path)
    except (ValueError, RuntimeError, UnicodeError):
        return None
    names = [*model.names][1:]
    if sorted(names) != sorted(arm.joint_names) or model.nq != len(q):
        return None
    indices = [names.index(name) for name in arm.joint_names]
    own = np.zeros(len(q))
    own[indices] = q
    # it adds bodies by dividing by the sum of their masses, or by 2e-16 where that is negative
    full = (_body_by_body if _NEGATIVE.search(text) else _of_composites)(model, arm, own)
    armature = np.diag([link.joint.armature for link in arm.links])
    return full[np.ix_(indices, indices)] + armature


def _of_composites(model: Any, _: Arm, q: np.ndarray) -> np.ndarray:
    import pinocchio as pin

    matrix = pin.crba(model, model.createData(), q)
    return np.triu(matrix) + np.triu(matrix, 1).T


def _body_by_body(model: Any, arm: Arm, q: np.ndarray) -> np.ndarray:
    """Σ JᵀIJ: Pinocchio says how each body moves, and no body is added to another."""
    import pinocchio as pin

    data, total = model.createData(), np.zeros((len(q), len(q)))
    pin.computeJointJacobians(model, data, q)
    for link in arm.links:
        joint = model.getJointId(link.joint.name)
        J = pin.getJointJacobian(model, data, joint, pin.LOCAL)
        xx, xy, xz, yy, yz, zz = link.inertia.rotary
        rotary = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        body = pin.Inertia(link.inertia.mass, np.array(link.inertia.com), rotary)
        total += J.T @ body.matrix() @ J
    return total


def _mujoco(path: str, arm: Arm, q: np.ndarray) -> np.ndarray | None:
    """Return MuJoCo's mass matrix; None if its joints differ."""
    import mujoco

    model = mujoco.MjModel.from_xml_path(path)
    names = [model.joint(k).name or f"joint{k}" for k in range(model.njnt)]
    if names != [*arm.joint_names]:
        return None
    data, matrix = mujoco.MjData(model), np.zeros((model.nv, model.nv))
    data.qpos[:] = q
    mujoco.mj_forward(model, data)
    mujoco.mj_fullM(model, data, matrix)
    return matrix


def loops_checked(path: str, _: str) -> None:
    """Compare the motions that the constraints allow with MuJoCo's, at MuJoCo's initial pose."""
    import mujoco

    arm = robolin.load(path)
    model = mujoco.MjModel.from_xml_path(path)
    model.opt.jacobian = mujoco.mjtJacobian.mjJAC_DENSE
    # a huge factor of the rotations hides the other rows, a tiny one hides the rotations
    scale = model.eq_data[model.eq_type == mujoco.mjtEq.mjEQ_WELD, 10]
    model.eq_data[model.eq_type == mujoco.mjtEq.mjEQ_WELD, 10] = scale != 0.0
    slide = int(mujoco.mjtJoint.mjJNT_SLIDE)
    single = [k for k in range(model.njnt) if model.jnt_type[k] >= slide]
    names = [model.joint(k).name for k in single]
    if not arm.loops or any(name not in arm.joint_names for name in names):
        return
    columns = [arm.joint_names.index(name) for name in names]
    q, data = np.zeros(arm.n), mujoco.MjData(model)
    q[columns] = model.qpos0[model.jnt_qposadr[single]]
    mujoco.mj_forward(model, data)
    # MuJoCo's Jacobians are differences of points relative to this centre: far away, they are 0,
    # and it drops such rows, but not their memory
    if not np.abs(data.subtree_com).max() < 1e6:
        return
    rows = data.efc_J.reshape(-1, model.nv)[: data.ne, model.jnt_dofadr[single]]
    try:
        ours = robolin.loop_constraints(arm, q).jacobian[:, columns]
    except RobolinError:
        # positions beyond the limit of angles
        return
    if not len(rows) or not np.isfinite([np.abs(rows).max(), np.abs(ours).max()]).all():
        return
    spaces = [_row_space(each) for each in (rows, ours)]
    if all(space is not None for space in spaces):
        assert np.abs(spaces[0] - spaces[1]).max() < 1e-6, "other constraints"


def _row_space(rows: np.ndarray) -> np.ndarray | None:
    """The projection onto the span of the rows; None if their rank is doubtful."""
    _, sizes, axes = np.linalg.svd(rows / max(np.abs(rows).max(), 1e-300))
    if ((sizes > 1e-9) & (sizes < 1e-5)).any():
        return None
    basis = axes[: int((sizes > 1e-7).sum())]
    return basis.T @ basis


def _matrix(path: str) -> list[str]:
    return ["mass-matrix", path, "--format", "csv"]


_ROOM = """<sdf version="1.9"><world name="w">
<include><uri>{}</uri><name>arm</name></include></world></sdf>"""


def _in_a_room(path: str) -> list[str]:
    """Include a URDF file in a world."""
    room = Path(path).with_suffix(".sdf")
    room.write_text(_ROOM.format(Path(path).name))
    return _matrix(str(room))


def room_checked(path: str, out: str) -> None:
    """The mass matrix in the world is that of the URDF file, which has no armature."""
    arm_checked(path, out)
    arms = [robolin.load(each) for each in (path, str(Path(path).with_suffix(".sdf")))]
    assert arms[0].joint_names == arms[1].joint_names
    if any(link.joint.armature for link in arms[0].links):
        return
    q = np.random.default_rng(2).uniform(-1, 1, arms[0].n)
    try:
        one, other = (robolin.mass_matrix(arm, q, engine="python") for arm in arms)
    except RobolinError:
        return
    assert np.array_equal(one, other), "another mass matrix in an SDF file"


ROBOTS: dict[str, Subject] = {
    "urdf": Subject(
        *("urdf", models("urdf"), mutators.of_text(mutators.urdf)),
        *(_matrix, arm_checked),
    ),
    "yaml": Subject(
        *("yaml", models("yaml"), mutators.of_text(mutators.yaml)),
        *(_matrix, arm_checked),
    ),
    "sdf": Subject(
        *("sdf", lambda _: [SDF], mutators.of_text(mutators.sdf)),
        *(_matrix, arm_checked),
    ),
    "sdf-urdf": Subject(
        *("urdf", models("urdf"), mutators.of_text(mutators.urdf)),
        *(_in_a_room, room_checked),
    ),
    "validate": Subject(
        *("urdf", models("urdf"), mutators.of_text(mutators.urdf)),
        lambda path: ["validate", path],
    ),
}
if find_spec("xacro"):
    ROBOTS["xacro"] = Subject(
        *("xacro", lambda _: [XACRO], mutators.of_text(mutators.xacro)),
        *(_matrix, arm_checked, forked_readers),
    )
    ROBOTS["xacro-urdf"] = Subject(
        *("urdf", lambda _: [XACRO], mutators.of_text(mutators.xacro)),
        *(_matrix, arm_checked, forked_readers),
    )
if find_spec("mujoco"):
    ROBOTS["mjcf"] = Subject(
        *("xml", lambda _: [MJCF], mutators.of_text(mutators.urdf)),
        *(_matrix, arm_checked, forked_readers),
    )
    ROBOTS["mjcf-loops"] = Subject(
        *(
            "xml",
            lambda _: [MJCF_LOOPS, MJCF_LOOPS.replace(_PAIR, b"")],
            mutators.of_text(mutators.urdf),
        ),
        lambda path: ["inspect", path],
        *(loops_checked, forked_readers),
    )
