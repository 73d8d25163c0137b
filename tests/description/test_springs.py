"""Joint springs in robot files: YAML and MJCF, the contract, and unsupported ones."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import robolin
from robolin.checking.model_changes import model_changes
from robolin.core.arm import Arm
from robolin.description.inspection import inspection
from robolin.description.load import read
from robolin.description.validate import validate
from robolin.errors import RobolinError
from tests.dynamics.running import gap

SWING = """\
robolin: 1
name: swing
gravity: [0, 0, -9.81]
joints:
  - name: pivot
    type: revolute
    parent: base
    child: bar
    axis: [0, 1, 0]
    stiffness: 8
    rest: 30deg
  - {name: slide, type: prismatic, parent: bar, child: end, axis: [0, 0, -1], stiffness: 200}
links:
  - {name: bar, mass: 1.2, com: [0, 0, -0.25], shape: {rod: 0.5}}
  - {name: end, mass: 0.5, com: [0, 0, -0.5]}
"""


def test_yaml_stiffness_and_rest() -> None:
    """A spring needs stiffness (q - rest), in rad or m; the rest position is 0 where not given."""
    arm = robolin.load(SWING)
    assert [(joint.stiffness, joint.rest) for joint in arm.joints] == [
        (8.0, np.pi / 6),
        (200.0, 0.0),
    ]
    still = robolin.load(SWING, gravity=0.0)
    needed = robolin.inverse(still, [0.7, 0.02])
    assert gap(needed, np.array([8.0 * (0.7 - np.pi / 6), 200.0 * 0.02])) <= 1e-15


def test_contract_and_switch() -> None:
    """The contract lists springs; `springs=False` leaves them out of every result and says so."""
    arm, without = robolin.load(SWING), robolin.load(SWING, springs=False)
    text = "stiffness pivot 8, slide 200; relaxed at pivot 0.5235987755982988, the others at 0"
    assert arm.contract["springs"] == f"applied: {text}"
    assert without.contract["springs"] == f"ignored as requested: {text}"
    bare = robolin.load(
        SWING.replace("    stiffness: 8\n    rest: 30deg\n", "").replace(", stiffness: 200", "")
    )
    assert "springs" not in bare.contract
    q = [0.4, 0.1]
    assert np.array_equal(robolin.inverse(without, q), robolin.inverse(bare, q))
    assert not np.array_equal(robolin.inverse(arm, q), robolin.inverse(bare, q))


def test_springs_are_part_of_the_figures() -> None:
    """`inspect` shows springs, and another stiffness is a change of the model."""
    arm, softer = robolin.load(SWING), robolin.load(SWING.replace("stiffness: 8", "stiffness: 6"))
    rows = inspection(read(SWING), arm)["joints"]
    assert [(row["stiffness"], row["rest"]) for row in rows] == [(8.0, np.pi / 6), (200.0, 0.0)]
    (change,) = model_changes(arm.model_dict, softer.model_dict)
    assert (change.name, change.quantity) == ("pivot", "stiffness")


def test_rest_without_a_spring_is_ignored_aloud() -> None:
    """A rest position without stiffness has no effect, which is a warning and in the contract."""
    text = SWING.replace("    stiffness: 8\n", "")
    (finding,) = [each for each in read(text).findings if each.id == "ignored-key"]
    assert "rest" in finding.message
    assert any("rest" in each for each in robolin.load(text).contract["ignored"])


@pytest.mark.parametrize("kind", ["floating", "planar", "spherical"])
def test_multi_dof_springs_are_refused(kind: str) -> None:
    """A spring in a joint with several positions is an error, unless all springs are omitted."""
    text = SWING.replace("type: revolute", f"type: {kind}").replace("    rest: 30deg\n", "")
    with pytest.raises(RobolinError, match=f"joint 'pivot' is {kind} and has a spring") as refused:
        robolin.load(text)
    assert "--no-springs" in str(refused.value.hint)
    assert robolin.load(text, springs=False).n > 2


def test_two_freedoms_have_a_spring_each() -> None:
    """Each axis of a universal joint has the spring of the joint, as it has its damping."""
    text = SWING.replace("type: revolute", "type: universal")
    text = text.replace("axis: [0, 1, 0]", "axis: [0, 1, 0]\n    axis2: [1, 0, 0]")
    arm = robolin.load(text)
    assert [joint.stiffness for joint in arm.joints[:2]] == [8.0, 8.0]


def test_rows_of_a_table_take_springs() -> None:
    """A row of a Denavit–Hartenberg table has the same keys."""
    row = "{name: turn, type: revolute, a: 0.5, alpha: 0, d: 0, stiffness: 3, rest: 10deg}"
    text = f"robolin: 1\nname: arm\ndh:\n  convention: standard\n  rows:\n    - {row}\n"
    arm = robolin.load(text + "links:\n  - {name: link1, mass: 1}\n")
    assert (arm.joints[0].stiffness, arm.joints[0].rest) == (3.0, np.deg2rad(10.0))


MODEL = """
<mujoco model="sprung">
  <option gravity="0 0 -9.81"/>
  <worldbody>
    <body name="upper">
      <joint name="shoulder" axis="0 1 0" stiffness="8" springref="20" damping="0.1"/>
      <geom type="capsule" fromto="0 0 0 .4 0 0" size=".03"/>
      <body name="lower" pos=".4 0 0">
        <joint name="elbow" axis="0 1 .2" stiffness="3" springref="-30" ref="10"/>
        <geom type="capsule" fromto="0 0 0 .3 0 0" size=".02"/>
        <body name="tool" pos=".3 0 0">
          <joint name="slide" type="slide" axis="1 0 0" stiffness="200" springref=".01"/>
          <geom type="sphere" size=".05"/>
        </body>
      </body>
    </body>
  </worldbody>
</mujoco>
"""


@pytest.fixture
def model(tmp_path: Path) -> tuple[Arm, object]:
    mujoco = pytest.importorskip("mujoco")
    path = tmp_path / "sprung.xml"
    path.write_text(MODEL)
    return robolin.load(path), mujoco.MjModel.from_xml_path(str(path))


def test_mjcf_springs_against_mujoco(model: tuple[Arm, object]) -> None:
    """Holding torques, torques of motions and accelerations of a sprung model are MuJoCo's."""
    import mujoco

    arm, theirs = model
    theirs.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONTACT)
    data, rng = mujoco.MjData(theirs), np.random.default_rng(3)
    assert "ignored" in arm.contract
    assert not any("spring" in each for each in arm.contract["ignored"])
    for qd_size in (0.0, 1.0):
        q, qd, qdd = rng.normal(size=(3, arm.n)) * np.array([[1.0], [qd_size], [qd_size]])
        data.qpos[:], data.qvel[:], data.qacc[:] = q, qd, qdd
        mujoco.mj_inverse(theirs, data)
        # both are right to about 1e-15 of the largest entry
        assert gap(robolin.inverse(arm, q, qd, qdd), data.qfrc_inverse) <= 1e-13
        data.qfrc_applied[:] = [0.3, -0.2, 1.0]
        mujoco.mj_forward(theirs, data)
        assert gap(robolin.forward(arm, q, qd, [0.3, -0.2, 1.0]), data.qacc) <= 1e-12


@pytest.mark.slow
def test_poles_against_mujoco(model: tuple[Arm, object]) -> None:
    """Poles of a sprung model are those of MuJoCo's own linearized step.

    Its step is semi-implicit Euler with the damping of joints implicit, which is first order in
    the step: at 10 μs poles differ by 1e-3 of the largest, and at half the step by half as much.
    """
    import mujoco

    arm, theirs = model
    theirs.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONTACT)
    q = np.array([0.3, -0.4, 0.02])
    tau = robolin.inverse(arm, q)
    ours = np.sort_complex(robolin.state_space(arm, q, tau=tau).poles().values)
    errors = []
    for step in (1e-5, 5e-6):
        theirs.opt.timestep = step
        data = mujoco.MjData(theirs)
        data.qpos[:], data.qfrc_applied[:] = q, tau
        A = np.zeros((2 * arm.n, 2 * arm.n))
        mujoco.mjd_transitionFD(theirs, data, 1e-6, True, A, None, None, None)
        poles = np.sort_complex(np.log(np.linalg.eigvals(A)) / step)
        errors.append(np.abs(poles - ours).max() / np.abs(ours).max())
    assert errors[0] < 2e-3
    assert errors[1] < 0.6 * errors[0]


@pytest.mark.slow
def test_mjcf_ball_springs_are_refused(tmp_path: Path) -> None:
    """MuJoCo's spring of a ball joint is rejected by name; without springs the model loads."""
    pytest.importorskip("mujoco")
    path = tmp_path / "ball.xml"
    path.write_text(
        '<mujoco><worldbody><body name="b"><joint name="hip" type="ball" stiffness="2"/>'
        '<geom size=".1" pos="0 0 .2"/></body></worldbody></mujoco>'
    )
    with pytest.raises(RobolinError, match="joint 'hip' is spherical and has a spring"):
        robolin.load(path)
    assert robolin.load(path, springs=False).n == 3
    assert "multi-dof-spring" in [each.id for each in validate(read(path))]
