"""An effort limit with two ends keeps both, wherever limits are used."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import robolin
from robolin.checking.model_changes import model_changes
from robolin.description.yaml.yaml_arm import read_yaml
from robolin.display.plots.panels import joint_bounds
from tests.cli.command import robolin as command

ARM = """robolin: 1
name: swing
joints:
  - {name: pivot, type: revolute, parent: base, child: bar, axis: [0, 1, 0],
     limits: {lower: -2, upper: 2, velocity: 3, effort: EFFORT}}
links:
  - {name: bar, mass: 1, com: [0, 0, -0.5], shape: {rod: 1}}
"""
MJCF = """<mujoco><worldbody><body name="bar"><joint name="pivot" axis="0 1 0"
  actuatorfrcrange="-3 4"/><geom type="capsule" size=".02" fromto="0 0 0 0 0 -1"/></body>
  </worldbody><actuator><motor joint="pivot"/></actuator></mujoco>"""


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def written(effort: str) -> robolin.Arm:
    Path("arm.yaml").write_text(ARM.replace("EFFORT", effort))
    return robolin.load("arm.yaml")


def printed(*words: str) -> str:
    done = command(*words)
    assert done.code == 0, done.err
    return done.out


def test_a_symmetric_range_is_one_number(here):
    """`[-4, 4]` and `4` are the same arm, with the same stored parameters."""
    one, two = written("4"), written("[-4, 4]")
    assert one.joints == two.joints
    assert one.model_dict == two.model_dict
    assert "lower effort limit" not in one.model_dict["joints"]["pivot"]


def test_both_ends_are_kept(here):
    """Limits, stored parameters, `inspect` and plots have -3 and 4."""
    arm = written("[-3, 4]")
    assert arm.joints[0].limits.effort_range == (-3.0, 4.0)
    bounds = joint_bounds(arm.model_dict, "tau", "pivot")
    assert (bounds.lower, bounds.upper) == (-3.0, 4.0)
    row = json.loads(printed("inspect", "arm.yaml", "--format", "json"))["joints"][0]
    assert row["effort"] == [-3.0, 4.0]
    assert "-3 … 4" in printed("inspect", "arm.yaml")
    assert "-3 … 4" in arm._repr_html_()


def test_margins_count_to_the_nearer_end(here):
    """A torque of -3.5 is beyond -3 by 0.5, one of 3.5 is within 4 by 0.5."""
    arm = written("[-3, 4]")
    limits = robolin.limits(arm, [[0.0], [0.0]], tau=[[3.5], [-3.5]])
    (effort,) = (margin for margin in limits.margins if margin.quantity == "effort")
    assert (effort.row, effort.limit, effort.margin, effort.share) == (1, -3.0, -0.5, -0.5 / 3.0)
    assert not robolin.limits(arm, [[0.0]], tau=[[3.5]]).exceeded


def test_simulated_torques_are_cut_at_either_end(here):
    """Ten N·m become 4, minus ten become -3."""
    arm = written("[-3, 4]")
    for requested, applied in ((10.0, 4.0), (-10.0, -3.0), (3.5, 3.5)):
        motion = robolin.simulate(arm, [0.0], duration=0.01, tau=[requested])
        assert (motion.tau == applied).all()
        assert motion.saturated.all() == (requested != applied)


def test_mjcf_is_cut_where_mujoco_cuts_it(here):
    """actuatorfrcrange="-3 4" limits torques as MuJoCo's qfrc_actuator is limited."""
    mujoco = pytest.importorskip("mujoco")
    Path("arm.xml").write_text(MJCF)
    arm, model = robolin.load("arm.xml"), mujoco.MjModel.from_xml_path("arm.xml")
    data = mujoco.MjData(model)
    for requested in (10.0, -10.0, 1.0):
        data.ctrl[:] = requested
        mujoco.mj_forward(model, data)
        motion = robolin.simulate(arm, [0.0], duration=0.01, tau=[requested])
        assert motion.tau[0, 0] == data.qfrc_actuator[0]


_MOTOR = 'motor joint="pivot"'


@pytest.mark.parametrize(
    ("actuators", "expected"),
    [
        (f'<{_MOTOR} ctrlrange="-1 2" gear="50"/>', (-50.0, 100.0)),
        (f'<{_MOTOR} ctrlrange="-1 2" gear="-50"/>', (-100.0, 50.0)),
        (f'<{_MOTOR} ctrlrange="-9 9" forcerange="-2 3" gear="2"/>', (-4.0, 6.0)),
        (f'<{_MOTOR} ctrlrange="-1 1"/><{_MOTOR} ctrlrange="-2 2" gear="3"/>', (-7.0, 7.0)),
        (f'<{_MOTOR} ctrlrange="-1 1"/><{_MOTOR}/>', None),
        ('<general joint="pivot" gainprm="5" ctrlrange="-1 2"/>', (-5.0, 10.0)),
        ('<position joint="pivot" kp="100" ctrlrange="-1 1"/>', None),
        ('<position joint="pivot" kp="1e6" forcerange="-7 8" gear="2"/>', (-14.0, 16.0)),
    ],
)
def test_actuators_of_mjcf_limit_the_effort(here, actuators, expected):
    """MuJoCo's qfrc_actuator for extreme controls is within the limits, and reaches them."""
    mujoco = pytest.importorskip("mujoco")
    text = MJCF.replace('actuatorfrcrange="-3 4"', "").replace('<motor joint="pivot"/>', actuators)
    Path("arm.xml").write_text(text)
    limits = robolin.load("arm.xml").joints[0].limits
    assert limits.effort_range == (expected or (-float("inf"), float("inf")))
    model = mujoco.MjModel.from_xml_path("arm.xml")
    data, reached = mujoco.MjData(model), []
    for control in (-1e3, 1e3):
        data.ctrl[:] = control * (-1 if model.actuator_gear[0, 0] < 0 else 1)
        mujoco.mj_forward(model, data)
        reached.append(float(data.qfrc_actuator[0]))
    assert expected is None or tuple(reached) == expected


def test_disabled_actuators_do_not_limit_the_effort(here):
    """MuJoCo applies no force of a disabled group: only the other motor has a range."""
    mujoco = pytest.importorskip("mujoco")
    motors = f'<{_MOTOR} ctrlrange="-1 1" group="2"/><{_MOTOR} ctrlrange="-2 3"/>'
    text = MJCF.replace('actuatorfrcrange="-3 4"', "").replace('<motor joint="pivot"/>', motors)
    option = '<option actuatorgroupdisable="2"/><worldbody>'
    Path("arm.xml").write_text(text.replace("<worldbody>", option))
    assert robolin.load("arm.xml").joints[0].limits.effort_range == (-2.0, 3.0)
    data = mujoco.MjData(model := mujoco.MjModel.from_xml_path("arm.xml"))
    data.ctrl[:] = 1e3
    mujoco.mj_forward(model, data)
    assert data.qfrc_actuator[0] == 3.0


def test_motors_on_ball_joints_give_no_effort_limit(here):
    """The contract does not name limits that the arm does not have."""
    pytest.importorskip("mujoco")
    Path("ball.xml").write_text(
        '<mujoco><worldbody><body><joint name="ball" type="ball"/><geom size="0.1"/></body>'
        '</worldbody><actuator><motor joint="ball" gear="0 5 0" ctrlrange="-1 1"/></actuator>'
        "</mujoco>"
    )
    assert "effort limits" not in str(robolin.load("ball.xml").contract)


def test_effort_limits_of_actuators_are_assumptions(here):
    """The contract names the source of the limits, and MuJoCo's clamp of the sum still holds."""
    pytest.importorskip("mujoco")
    Path("arm.xml").write_text(MJCF.replace("<motor", '<motor ctrlrange="-1 1" gear="3.5"'))
    arm = robolin.load("arm.xml")
    assert arm.joints[0].limits.effort_range == (-3.0, 3.5)
    note = "effort limits of 1 joint from ctrlrange, forcerange and gear of their actuators"
    assert note in arm.contract["notes"]
    assert not any("ctrlrange" in each for each in arm.contract["ignored"])


def test_bryson_takes_half_the_range(here):
    """The weight of the torque is 1/3.5², and with one number for both ends 1/4²."""
    for effort, half in (("[-3, 4]", 3.5), ("4", 4.0)):
        model = robolin.state_space(written(effort), [0.0])
        assert robolin.lqr(model, bryson=True).R[0, 0] == 1.0 / half**2


@pytest.mark.slow
def test_a_report_shows_both_ends(here):
    """The page has the range in its tables."""
    written("[-3, 4]")
    printed("report", "arm.yaml", "-o", "page.html")
    assert "-3 … 4" in Path("page.html").read_text(encoding="utf-8")


def test_diff_compares_end_with_end(here):
    """From ±4 to [-3, 4] only the lower end changes, from -4 to -3."""
    old, new = written("4").model_dict, written("[-3, 4]").model_dict
    assert [str(each) for each in model_changes(old, new)] == [
        "joint pivot: lower effort limit -4 → -3 N·m (+25 %)"
    ]
    assert [str(each) for each in model_changes(new, old)] == [
        "joint pivot: lower effort limit -3 → -4 N·m (-33 %)"
    ]


@pytest.mark.parametrize(
    ("effort", "finding", "message"),
    [
        (
            "[4, -3]",
            "effort-limits-inverted",
            "joint 'pivot': limits.effort: the lower limit 4 is above the upper limit -3",
        ),
        ("[1, 2, 3]", "wrong-count", "joint 'pivot': limits.effort must have 2 values, got 3"),
        (
            "[1, x]",
            "number-malformed",
            "joint 'pivot': limits.effort[1] is 'x', which is not a decimal number",
        ),
        ("{a: 1}", "wrong-kind", "joint 'pivot': limits.effort must be a number, got a mapping"),
    ],
)
def test_wrong_ranges_are_reported(effort, finding, message):
    """Each wrong range is one error that names the key and the rule."""
    findings = read_yaml(ARM.replace("EFFORT", effort).encode(), "arm.yaml").findings
    assert [each.id for each in findings] == [finding]
    assert message in findings[0].message
    assert findings[0].location.line == 5


def test_no_effort_at_all_is_noted_and_one_direction_is_not(here):
    """`validate` notes a range of [0, 0], and accepts a motor that only pulls."""
    for effort, noted in (("0", True), ("[0, 0]", True), ("[-10, 0]", False)):
        written(effort)
        assert ("limits-zero-effort" in command("validate", "arm.yaml").out) == noted
