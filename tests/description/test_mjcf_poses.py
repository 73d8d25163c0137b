"""Keyframes of MJCF files are named poses: MuJoCo computes the same torques at its keyframe."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import robolin
from robolin.description.load import read

mujoco = pytest.importorskip(
    "mujoco", reason="MJCF files need the package mujoco, which is not installed"
)

HINGES = """<mujoco model="arm"><compiler angle="radian"/><worldbody>
  <body name="a" pos="0 0 .3" euler=".3 .1 -.2">
    <joint name="pan" axis="0 1 1" ref=".4" damping=".7"/><geom size=".1" pos=".2 0 .1"/>
    <body name="b" pos=".3 0 0"><joint name="lift" type="slide" axis="1 0 2" range="-.1 .1"/>
      <geom size=".1" pos="0 .2 0"/></body></body></worldbody>
  <keyframe><key name="home" qpos=".7 -.05"/><key qpos="-.3 .2" ctrl=""/>
    <key name="pan" qpos="0 0"/><key name="3" qpos="0 0"/></keyframe></mujoco>
"""
BODIES = """<mujoco model="bodies"><compiler angle="radian"/><worldbody>
  <body name="trunk" pos=".1 .2 .3" quat=".9 .1 -.3 .2"><freejoint name="root"/>
    <geom type="box" size=".1 .2 .3" pos=".05 0 .02"/>
    <body name="leg" pos="0 .3 0" euler=".2 .1 0"><joint name="hip" type="ball" pos="0 0 .1"/>
      <geom type="box" size=".1 .05 .2" pos=".1 0 -.2"/>
      <body name="foot" pos="0 0 -.4"><joint name="ankle" axis="0 1 0"/>
        <geom type="box" size=".1 .05 .02" pos=".1 0 0"/></body></body></body></worldbody>
  <keyframe><key name="jump" qpos="1 2 3 .5 .5 -.1 .7 .2 .4 -.6 1 .3"/></keyframe></mujoco>
"""


def keyframe_torques(path: Path, key: int) -> tuple[np.ndarray, np.ndarray]:
    """qpos and the holding torques of a keyframe, as MuJoCo computes both."""
    model = mujoco.MjModel.from_xml_path(str(path))
    bits = mujoco.mjtDisableBit
    model.opt.disableflags |= int(bits.mjDSBL_CONTACT) | int(bits.mjDSBL_CONSTRAINT)
    data = mujoco.MjData(model)
    mujoco.mj_resetDataKeyframe(model, data, key)
    mujoco.mj_inverse(model, data)
    return data.qpos.copy(), data.qfrc_inverse.copy()


def test_a_keyframe_is_a_pose(tmp_path: Path) -> None:
    """Positions are MuJoCo's own, also with `ref`; an unnamed key has its index as name."""
    path = tmp_path / "arm.xml"
    path.write_text(HINGES)
    arm = robolin.load(path)
    assert list(arm.poses) == ["home", "key1"]
    for key, name in enumerate(arm.poses):
        qpos, tau = keyframe_torques(path, key)
        assert np.array_equal(arm.poses[name], qpos)
        result = robolin.answer(arm, "inverse", robolin.States(q=name))
        # both are sums of a few products of numbers up to 10
        assert np.allclose(result["tau"], tau, rtol=0, atol=1e-12)


@pytest.mark.slow
def test_a_keyframe_with_the_name_of_a_joint_is_refused(tmp_path: Path) -> None:
    """A name that --q would read as something else is left out, with a warning."""
    path = tmp_path / "arm.xml"
    path.write_text(HINGES)
    findings = [each for each in read(path).findings if each.id == "pose-ignored"]
    assert [each.message.partition("'")[2].partition("'")[0] for each in findings] == ["pan", "3"]
    assert [(each.level, each.location.line) for each in findings] == [("warning", 7)] * 2


@pytest.mark.slow
def test_quaternions_become_roll_pitch_and_yaw(tmp_path: Path) -> None:
    """Free and ball joints of a keyframe: the same torques, in the body's own axes."""
    path = tmp_path / "bodies.xml"
    path.write_text(BODIES)
    arm = robolin.load(path)
    qpos, theirs = keyframe_torques(path, 0)
    tau = robolin.inverse(arm, arm.poses["jump"])
    rotation = np.empty(9)
    mujoco.mju_quat2Mat(rotation, qpos[3:7])
    # MuJoCo has the force on a free body in world axes, and before its moment
    force, torque = rotation.reshape(3, 3).T @ theirs[:3], theirs[3:6]
    expected = np.concatenate([torque, force, theirs[6:]])
    # weights of 200 N at 1 m, in double precision
    assert np.allclose(tau, expected, rtol=0, atol=1e-10)
    assert np.abs(expected).max() > 100.0
