"""Equality constraints and tendons of MJCF files constrain and load the arm as in MuJoCo."""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import robolin
from robolin.core.arrays import Floats
from robolin.description.load import read
from robolin.description.mjcf import mjcf_reader
from robolin.description.worker_process import WaitedTooLongError
from robolin.errors import RobolinError, UsageError

mujoco = pytest.importorskip("mujoco", reason="MJCF files need the package mujoco")

BODIES = """<option jacobian="dense"/><worldbody>
  <body name="b1" pos=".1 .2 .3" euler="10 20 30">
    <joint name="a" axis="0 1 0"/><geom size=".1" pos=".1 0 0"/>
    <site name="s1" pos=".1 .2 .05" euler="0 40 20"/>
    <body name="c1" pos=".3 0 0">
      <joint name="c" axis="1 0 0" ref="20" pos=".02 0 .01"/><geom size=".1" pos=".2 .1 0"/>
      <body name="e1" pos=".3 0 .2"><joint name="e" type="slide" axis="1 0 1"/>
        <geom size=".07" pos=".1 .1 .1"/></body></body></body>
  <body name="b2" pos="1 0 0"><joint name="b" axis="0 0 1"/><geom size=".1"/>
    <site name="s2" pos="-.1 .2 .0" euler="50 10 0"/></body>
</worldbody>"""
THREE = '<joint joint="a" coef="2"/><joint joint="c" coef="-.7"/><joint joint="e" coef=".3"/>'
TENDONS = f"""<tendon><fixed name="three">{THREE}</fixed>
  <fixed name="one"><joint joint="b" coef="5"/></fixed>
  <fixed name="two"><joint joint="a" coef="-.5"/><joint joint="c" coef=".5"/></fixed>
  <spatial name="rope"><site site="s1"/><site site="s2"/></spatial></tendon>"""


@pytest.fixture(autouse=True)
def compiled_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Compile models in this process."""
    monkeypatch.chdir(tmp_path)

    def run_here(module: str, request: dict[str, Any], bounds: object) -> Any:
        return json.loads(json.dumps(import_module(module).reply(request)))

    monkeypatch.setattr(mjcf_reader, "run_in_separate_process", run_here)


def written(equalities: str, tendons: str = TENDONS) -> str:
    text = f"<mujoco>{BODIES}{tendons}<equality>{equalities}</equality></mujoco>"
    Path("m.xml").write_text(text)
    return "m.xml"


def in_mujoco(arm: robolin.Arm, q: Floats) -> tuple[Floats, Floats]:
    """Violation and Jacobian of MuJoCo's equality rows, in the coordinates of the arm."""
    model = mujoco.MjModel.from_xml_path("m.xml")
    data, follow = mujoco.MjData(model), np.zeros((model.nv, arm.n))
    joints = {link.joint.name: link.joint for link in arm.links}
    for k in range(model.njnt):
        rule = joints[model.joint(k).name].mimic
        leader = arm.joint_names.index(rule.leader if rule else model.joint(k).name)
        follow[k, leader] = rule.ratio if rule else 1.0
        data.qpos[k] = follow[k] @ q + (rule.offset if rule else 0.0)
    mujoco.mj_forward(model, data)
    rows = data.efc_J.reshape(data.nefc, model.nv)[: data.ne]
    return data.efc_pos[: data.ne].copy(), rows @ follow


def row_space(rows: Floats) -> Floats:
    """The projection onto the span of the rows."""
    _, sizes, axes = np.linalg.svd(rows)
    basis = axes[: int((sizes > 1e-9).sum())]
    return np.asarray(basis.T @ basis)


CLOSURES = [
    '<weld body1="c1" body2="b2"/>',
    '<weld body1="c1" body2="b2" relpose=".1 .2 .3 .5 .5 .5 .5" anchor=".2 .1 0" torquescale="3"/>',
    '<weld body1="c1" body2="b2" torquescale="0"/>',
    '<weld body1="c1"/>',
    '<connect site1="s1" site2="s2"/>',
    '<weld site1="s1" site2="s2"/>',
    '<tendon tendon1="three"/>',
    '<tendon tendon1="three" tendon2="one" polycoef=".1 .5 0 0 0"/>',
    '<joint joint1="a" joint2="c" polycoef=".1 2 0 0 0"/><joint joint1="a" joint2="b"/>',
    '<joint joint1="a" joint2="c"/><joint joint1="c" joint2="a"/><connect site1="s1" site2="s2"/>',
]


@pytest.mark.parametrize("equalities", CLOSURES)
def test_closures_constrain_the_same_motions_as_in_mujoco(equalities: str) -> None:
    """Violations of points and linear equations are MuJoCo's, and so are the allowed motions."""
    arm = robolin.load(written(equalities))
    q = np.random.default_rng(3).uniform(-1, 1, arm.n)
    ours = robolin.loop_constraints(arm, q)
    gap, rows = in_mujoco(arm, q)
    assert np.abs(row_space(ours.jacobian) - row_space(rows)).max() < 1e-12
    points = gap[-1:] if arm.loops[-1].name.startswith("equality") and len(gap) < 3 else gap[-3:]
    if "weld" in equalities:
        points = gap[:3]
    gaps = ours.open_by[-3:] if "weld" not in equalities else ours.open_by[:3]
    assert np.abs(gaps[: len(points)] - points).max() < 1e-12


def test_tendons_of_two_joints_are_mimic_rules() -> None:
    """An equality of two joints leaves one coordinate, and MuJoCo's violation is zero."""
    arm = robolin.load(written('<tendon tendon1="two" polycoef=".2 0 0 0 0"/>'))
    assert arm.joint_names == ("c", "e", "b")
    gap, rows = in_mujoco(arm, np.array([0.3, -0.4, 0.9]))
    assert np.abs(gap).max() < 1e-14
    assert np.abs(rows).max() == 0.0


def test_forward_dynamics_satisfies_the_equations_of_mujoco() -> None:
    """With M and J of MuJoCo: M q̈ + C = τ + Jᵀ λ and J q̈ = 0 for a linear equation."""
    arm = robolin.load(written('<tendon tendon1="three"/>'))
    state = robolin.close(arm, [0.2, -0.3, 0.1, 0.4])
    model = mujoco.MjModel.from_xml_path("m.xml")
    data, M = mujoco.MjData(model), np.zeros((4, 4))
    data.qpos[:] = state.q
    mujoco.mj_forward(model, data)
    mujoco.mj_fullM(model, data, M)
    rows = data.efc_J.reshape(data.nefc, 4)[: data.ne]
    assert np.abs(data.efc_pos[: data.ne]).max() < 1e-12
    tau = np.array([1.0, -2.0, 3.0, 0.5])
    system = np.block([[M, rows.T], [rows, np.zeros((1, 1))]])
    qdd = np.linalg.solve(system, [*(tau - data.qfrc_bias), 0.0])[:4]
    computed = robolin.forward(arm, state.q, np.zeros(4), tau)
    assert np.abs(computed - qdd).max() < 1e-10 * np.abs(qdd).max()


UNSUPPORTED = [
    ('<tendon tendon1="rope"/>', "spatial tendon"),
    ('<tendon tendon1="one"/>', "fixes 'b'"),
    ('<joint joint1="e"/>', "fixes 'e'"),
    ('<tendon tendon1="three" tendon2="one" polycoef="0 1 .2 0 0"/>', "nonlinear polynomial"),
    ('<joint joint1="a" joint2="b" polycoef="0 1 0 .1 0"/>', "nonlinear polynomial"),
]


@pytest.mark.parametrize(("equalities", "message"), UNSUPPORTED)
def test_open_loops_leave_out_every_equality(equalities: str, message: str) -> None:
    """An unsupported equality is an error whose hint names the option that leaves it out."""
    path = written(equalities)
    with pytest.raises(RobolinError, match=message) as refused:
        robolin.load(path)
    assert "--open-loops" in refused.value.hint
    arm = robolin.load(path, open_loops=True)
    assert arm.joint_names == ("a", "c", "e", "b")
    assert "equality ignored by --open-loops (1)" in arm.contract["ignored"]
    # a linear equation that is a closure is left out too, without its links
    opened = robolin.load(written('<tendon tendon1="three"/>'), open_loops=True)
    assert (opened.n, len(opened.links), opened.loops) == (4, 4, ())


def test_armature_of_tendons_is_in_the_mass_matrix() -> None:
    """M, torques and accelerations are MuJoCo's, and the momentum has no rotors."""
    tendons = f"""<tendon><fixed name="three" armature=".4">{THREE}</fixed>
      <fixed armature="2"><joint joint="b" coef="5"/></fixed></tendon>"""
    plain = robolin.load(written("", "<tendon/>"))
    arm = robolin.load(written("", tendons))
    model = mujoco.MjModel.from_xml_path("m.xml")
    data, M = mujoco.MjData(model), np.zeros((4, 4))
    q, qd, tau = np.random.default_rng(5).uniform(-1, 1, (3, 4))
    data.qpos[:], data.qvel[:], data.qfrc_applied[:] = q, qd, tau
    mujoco.mj_forward(model, data)
    mujoco.mj_fullM(model, data, M)
    assert np.abs(robolin.mass_matrix(arm, q) - M).max() < 1e-14 * M.max()
    bias = robolin.inverse(arm, q, qd, np.zeros(4))
    assert np.abs(bias - data.qfrc_bias).max() < 1e-13
    assert np.abs(robolin.forward(arm, q, qd, tau) - data.qacc).max() < 1e-12
    momenta = [robolin.momentum(each, q, qd).momentum for each in (arm, plain)]
    assert np.abs(momenta[0] - momenta[1]).max() < 1e-15
    assert not [finding for finding in read("m.xml").findings if finding.level != "note"]
    with pytest.raises(UsageError, match="models a tendon armature, which requires a fixed base"):
        robolin.load("m.xml", floating_base=True)


def test_generated_names_are_those_of_no_other_joint() -> None:
    """A joint without a name does not take the name of another joint."""
    inner = '<body name="body1"><joint name="joint0"/><geom size=".1"/></body>'
    body = f'<body><joint/><geom size=".1"/>{inner}</body>'
    Path("m.xml").write_text(f"<mujoco><worldbody>{body}</worldbody></mujoco>")
    arm = robolin.load("m.xml")
    assert arm.joint_names == ("joint0_", "joint0")
    assert "body1_" in arm.frames


def test_meshes_are_not_needed_if_every_body_has_an_inertial() -> None:
    """Missing meshes and textures change nothing and are noted; without <inertial> they do."""
    asset = '<asset><mesh name="m" file="gone.stl"/><texture name="t" type="2d" file="no.png"/>'
    asset += '<material name="w" texture="t"/></asset>'
    inertial = '<inertial pos="0 .1 0" mass="2" diaginertia=".1 .2 .15"/>'
    mesh = '<geom name="g" type="mesh" mesh="m" material="w"/>'
    body = f'<worldbody><body name="l"><joint name="j"/>{inertial}GEOM</body></worldbody>'
    exclude = '<sensor><framepos objtype="geom" objname="g"/></sensor>'
    text = f"<mujoco>{asset}{body.replace('GEOM', mesh)}{exclude}</mujoco>"
    Path("m.xml").write_text(text)
    arm = robolin.load("m.xml")
    ids = [finding.id for finding in read("m.xml").findings]
    assert ids == ["mjcf-unread", "mjcf-from-outside"]
    Path("n.xml").write_text(f"<mujoco>{body.replace('GEOM', '')}</mujoco>")
    assert arm.links_tip_to_base == robolin.load("n.xml").links_tip_to_base
    for broken in (
        text.replace(inertial, ""),
        text.replace("<mujoco>", '<mujoco><compiler inertiafromgeom="true"/>'),
    ):
        Path("m.xml").write_text(broken)
        with pytest.raises(RobolinError, match=r"gone\.stl.* could not be read"):
            robolin.load("m.xml")


def test_equalities_of_flexible_bodies_are_ignored_with_them() -> None:
    """An equality of a flexible body has no effect on an arm without the flexible body."""
    flex = """<mujoco><worldbody><body name="b"><joint name="j" axis="0 1 0"/>
      <geom size=".1" pos=".3 0 0"/></body>
      <flexcomp name="cloth" type="grid" count="3 3 1" spacing=".1 .1 .1" dim="2" mass="1">
      <edge equality="true"/></flexcomp></worldbody></mujoco>"""
    Path("flex.xml").write_text(flex)
    reading = read("flex.xml")
    assert [each.id for each in reading.findings if each.level == "warning"] == ["mjcf-left-out"]
    assert reading.description is not None
    assert any("equality of a flexible body" in text for text in reading.description.ignored)
    assert robolin.load("flex.xml").joint_names[0] == "j"


def test_a_busy_computer_is_not_a_crash(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process of MuJoCo that gets no CPU time is reported as such, with what to do."""

    def starved(*_: object) -> Any:
        raise WaitedTooLongError

    monkeypatch.setattr(mjcf_reader, "run_in_separate_process", starved)
    with pytest.raises(RobolinError, match="did not compile the file within 60 s") as caught:
        robolin.load(written(""))
    assert "less busy" in caught.value.hint
