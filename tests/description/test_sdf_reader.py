"""SDF files as a whole: models of a world, the base, defaults, and ignored parts."""

from __future__ import annotations

import re
from importlib.util import find_spec
from io import BytesIO, TextIOWrapper
from math import pi
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import robolin
from robolin.cli.main import main
from robolin.description.load import read
from robolin.description.validate import validate
from robolin.errors import RobolinError
from tests.cases import for_each
from tests.description.test_sdf_frames import described, joint, link, model, pose_of
from tests.fuzz.robot_subjects import SDF

ARM = '<model name="{}">{}' + link("a") + link("b") + joint("j", "a", "b") + "</model>"
DOWN = "<gravity>0 1 -2</gravity>"


def world(*inside: str, version: str = "1.9") -> str:
    lines = "\n".join(inside)
    return f'<sdf version="{version}">\n<world name="w">\n{lines}\n</world>\n</sdf>\n'


@for_each(
    "text,gravity",
    [
        (world(DOWN, ARM.format("m", "")), (0, 1, -2)),
        (world(ARM.format("m", "")), (0, 0, -9.8)),
        (
            world(
                "<physics><gravity>0 1 -2</gravity></physics>", ARM.format("m", ""), version="1.5"
            ),
            (0, 1, -2),
        ),
        (model(link("a"), link("b"), joint("j", "a", "b")), None),
    ],
)
def test_gravity(text: str, gravity: tuple[float, ...] | None) -> None:
    """A world has the gravity of the file, by default 9.8 m/s²; a model has none."""
    assert described(text).gravity == gravity


STILL = '<model name="floor"><static>true</static>' + link("plane") + "</model>"


def test_only_model_that_moves() -> None:
    """A world with one model that can move is that model; the others are counted."""
    description = described(world(STILL, ARM.format("m", "")))
    assert description.name == "m"
    assert description.ignored == ("model (1)",)


def test_only_model_that_is_not_static() -> None:
    """Without joints, the only model that is not static can move on a floating base."""
    text = world(STILL, '<model name="box"><link name="b"/></model>')
    assert robolin.load(text, floating_base=True).name == "box"
    with pytest.raises(RobolinError, match="no movable joint"):
        robolin.load(text)


def test_several_models(tmp_path: Path) -> None:
    """With several models, `FILE:MODEL` chooses one."""
    path = tmp_path / "room.world"
    path.write_text(world(ARM.format("left", "<pose>0 0 1 0 0 0</pose>"), ARM.format("right", "")))

    with pytest.raises(RobolinError) as caught:
        robolin.load(path)
    assert "2 models: 'left', 'right'" in caught.value.message
    assert caught.value.hint == f"select a model after a colon: {path}:left"
    assert robolin.load(f"{path}:left").name == "left"
    stored = tmp_path / "stored.json"
    words = ["record", "inverse", f"{path}:left", "--q", "0.1", "-o", str(stored)]
    assert (main(words), main(["check", str(stored)])) == (0, 0)
    with pytest.raises(RobolinError) as caught:
        robolin.load(f"{path}:lift")
    assert caught.value.hint == "did you mean 'left'?"


def test_base_is_where_the_file_places_it() -> None:
    """A root link with a pose is fixed to the world, so that gravity has its direction."""
    text = model(
        f"<pose>0 0 3 {pi / 2!r} 0 0</pose>",
        link("a"),
        link("b", "<pose>0 0 0 0 0 0</pose>"),
        joint("j", "a", "b", "<pose>0 0 1 0 0 0</pose><axis><xyz>1 0 0</xyz></axis>"),
    )
    description = described(text)

    assert (description.root, description.placement) == ("world", "a/fixed")
    assert pose_of(description, "a").translation == (0, 0, 3)
    # z of the link is -y of the world: the body is level with the joint, 1 m aside
    tau = robolin.inverse(robolin.load(text), [0.0], [0.0], [0.0])
    assert abs(tau[0]) == pytest.approx(9.81, rel=1e-15)


def test_floating_base_replaces_the_placement() -> None:
    """With a floating base, the position of the root link is that of the base joint."""
    text = model("<pose>0 0 3 1 0 0</pose>", link("a"), link("b"), joint("j", "a", "b"))
    arm = robolin.load(text, floating_base=True)

    assert arm.joint_names[-1] == "j"
    assert len(arm.joint_names) == 7
    moved = robolin.load(text.replace("<pose>0 0 3 1 0 0</pose>", ""), floating_base=True)
    q = [0.0] * 7
    assert (robolin.mass_matrix(arm, q) == robolin.mass_matrix(moved, q)).all()


def test_link_fixed_to_the_world() -> None:
    """A joint with the parent `world` makes the world the root."""
    text = model(
        link("a", "<pose>0 0 2 0 0 0</pose>"),
        link("b"),
        joint("f", "world", "a", kind="fixed"),
        joint("j", "a", "b"),
    )
    description = described(text)
    assert (description.root, description.placement) == ("world", "")
    assert pose_of(description, "a").translation == (0, 0, 2)


def test_joint_of_the_world() -> None:
    """A joint of a world may fix the robot; one to another model is ignored with a warning."""
    arm, box = ARM.format("m", ""), '<model name="box">' + link("c") + "</model>"
    weld = joint("weld", "world", "m::a", "<pose>0 0 1 0 0 0</pose>", "fixed")
    description = described(world(arm, weld, version="1.11"))
    assert [(each.name, each.parent) for each in description.joints] == [
        ("j", "a"),
        ("weld", "world"),
    ]
    reading = read(world(arm, box, joint("grip", "m::b", "box::c", kind="fixed"), version="1.11"))
    assert reading.description is not None
    assert [finding.id for finding in reading.findings] == ["sdf-left-out"]


def test_errors_in_other_models_of_a_world() -> None:
    """An error in a model that is not the robot is a warning."""
    wrong = '<model name="box">' + link("c", '<pose relative_to="nothing"/>') + "</model>"
    reading = read(world(ARM.format("m", ""), wrong))

    assert reading.description is not None
    assert [(finding.id, finding.level) for finding in reading.findings] == [
        ("sdf-world-include", "warning")
    ]


@for_each(
    "inside,mass,rotary,missing",
    [
        ("", 1, (1, 0, 0, 1, 0, 1), "mass, ixx, iyy, izz"),
        ("<inertial><mass>3</mass></inertial>", 3, (1, 0, 0, 1, 0, 1), "ixx, iyy, izz"),
        (
            "<inertial><mass>3</mass><inertia><ixx>2</ixx><izz>2</izz><ixy>.1</ixy></inertia>"
            "</inertial>",
            3,
            (2, 0.1, 0, 1, 0, 2),
            "iyy",
        ),
    ],
)
def test_default_inertia(inside: str, mass: float, rotary: tuple[float, ...], missing: str) -> None:
    """Missing parts of an inertia are 1, as SDF defines, each with a warning."""
    reading = read(model(f'<link name="a">{inside}</link>'))

    assert reading.description is not None
    inertia = reading.description.links[0].inertia
    assert inertia is not None
    assert (inertia.mass, inertia.rotary) == (mass, rotary)
    # one finding, although these numbers are also those of a placeholder
    ids = [each.id for each in validate(reading)]
    assert [each for each in ids if "inertia" in each] == ["sdf-default-inertia"]
    assert f"has no {missing}:" in reading.findings[0].message


def test_ignored_parts() -> None:
    """Every part without effect is counted, also in axes, limits and frames."""
    text = world(
        "<light/><physics/>",
        '<model name="m"><plugin/><self_collide>1</self_collide>'
        + link("a").replace("</link>", "<visual/><visual/><sensor/></link>")
        + link("b")
        + joint(
            "j",
            "a",
            "b",
            "<physics/><axis><xyz>0 0 1</xyz><limit><stiffness>1</stiffness></limit>"
            "<dynamics><spring_reference>1</spring_reference></dynamics></axis>",
        )
        + "</model>",
    )
    assert described(text).ignored == (
        "dynamics/spring_reference without stiffness (1)",
        "light (1)",
        "limit/stiffness (1)",
        "physics (2)",
        "plugin (1)",
        "self_collide (1)",
        "sensor (1)",
        "visual (2)",
    )


@for_each(
    "part,words",
    [
        ("<gravity>false</gravity>", "gravity acts on the link"),
        ("<kinematic>true</kinematic>", "forces move the link"),
        ("<velocity_decay><linear>.1</linear></velocity_decay>", "the element damps the motion"),
        ("<drake:deformable_properties/>", "deformable"),
    ],
)
def test_parts_that_change_the_dynamics(part: str, words: str) -> None:
    """A part that is ignored and changes the dynamics is a warning."""
    text = model(link("a"), link("b", part), joint("j", "a", "b"))
    findings = read(text).findings
    assert [(each.id, each.level) for each in findings] == [("sdf-left-out", "warning")]
    assert words in findings[0].message


@for_each("name", ["arm.sdf", "arm.world", "arm.xml", "arm"])
def test_format_by_extension_and_by_root(tmp_path: Path, name: str) -> None:
    """SDF is recognized by its extension, and by its root element in other files."""
    path = tmp_path / name
    path.write_text('<?xml version="1.0"?>\n<!-- arm -->\n' + model(*map(link, "a")))
    assert read(path).description is not None


def test_commands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Commands read SDF from a file and from standard input."""
    path, text = tmp_path / "arm.sdf", model(link("a"), link("b"), joint("j", "a", "b"))
    text = text.replace(">.1<", ">.001<")
    path.write_text(text)
    for words in (["inspect", str(path)], ["validate", str(path)], ["diff", str(path), str(path)]):
        assert main(words) == 0
    monkeypatch.setattr("sys.stdin", TextIOWrapper(BytesIO(text.encode())))
    assert main(["inspect", "-"]) == 0
    assert "continuous" in capsys.readouterr().out


@pytest.mark.skipif(find_spec("pydrake") is None, reason="needs pip install drake")
def test_agreement_with_drake() -> None:
    """M and τ of every joint type that Drake has, in a world with frames and a nested model."""
    from pydrake.multibody.parsing import Parser
    from pydrake.multibody.plant import MultibodyPlant
    from pydrake.multibody.tree import MultibodyForces

    # Drake has no <mimic>
    text = re.sub("<mimic.*?</mimic>", "", SDF.decode(), flags=re.DOTALL)
    arm = robolin.load(text)

    def parsed() -> Any:
        made = MultibodyPlant(0.0)
        Parser(made).AddModelsFromString(text, "sdf")
        return made

    loose = parsed()
    loose.Finalize()
    pose = loose.GetDefaultFloatingBaseBodyPose(loose.GetBodyByName("tower"))
    made = parsed()
    made.WeldFrames(made.world_frame(), made.GetFrameByName("tower"), pose)
    made.mutable_gravity_field().set_gravity_vector([1, -2, -9])
    made.Finalize()
    rows = []
    for name in arm.joint_names:
        entry = made.GetJointByName(name.split("::")[-1].split(":")[0])
        rows.append(entry.velocity_start() + name.endswith(":axis2"))
    rng = np.random.default_rng(5)
    for q, qd, qdd in rng.uniform(-1, 1, (5, 3, len(rows))):
        context, forces = made.CreateDefaultContext(), MultibodyForces(made)
        order = np.argsort(rows)
        made.SetPositions(context, q[order])
        made.SetVelocities(context, qd[order])
        made.CalcForceElementsContribution(context, forces)
        M = made.CalcMassMatrix(context)[np.ix_(rows, rows)]
        tau = made.CalcInverseDynamics(context, qdd[order], forces)[rows]
        # sums of a few dozen rounded terms
        assert np.abs(robolin.mass_matrix(arm, q) - M).max() <= 1e-13 * np.abs(M).max()
        assert np.abs(robolin.inverse(arm, q, qd, qdd) - tau).max() <= 1e-13 * np.abs(tau).max()


def test_xacro_of_sdf(tmp_path: Path) -> None:
    """A xacro file that expands to SDF is read as SDF."""
    pytest.importorskip("xacro", reason="xacro files need the package xacro")
    path = tmp_path / "arm.sdf.xacro"
    text = model(link("a"), link("b"), joint("j", "a", "b")).replace(
        "<sdf", '<sdf xmlns:xacro="http://www.ros.org/wiki/xacro"'
    )
    text = text.replace("<model", '<xacro:property name="m" value="2"/><model')
    path.write_text(text.replace("<mass>1<", "<mass>${m*2}<"))
    description = read(path).description
    assert description is not None
    assert {each.inertia.mass for each in description.links if each.inertia} == {4.0}


def test_links_without_a_parent_joint() -> None:
    """Several trees of links are fixed to the world where the file places them, with a warning."""
    parts = (
        link("a", "<pose>0 0 1 0 0 0</pose>"),
        link("b"),
        link("c", "<pose>5 0 0 0 1 0</pose>"),
        link("d", "<pose>6 0 0 0 1 0</pose>"),
        link("mug"),
        joint("j", "a", "b"),
        joint("k", "c", "d"),
    )
    reading = read(model(*parts))
    (warning,) = reading.findings
    assert (warning.id, warning.level, warning.location.line) == ("sdf-loose-link", "warning", 7)
    assert "3 links without a parent joint: 'a', 'c', 'mug'" in warning.message
    assert "<joint>" in warning.hint

    both = robolin.load(model(*parts))
    assert both.joint_names == ("j", "k")
    q, qd, qdd = np.random.default_rng(0).uniform(-1, 1, (3, 2))
    alone = [robolin.load(model(*parts[:2], parts[5])), robolin.load(model(*parts[2:4], parts[6]))]
    each = [robolin.inverse(arm, q[[i]], qd[[i]], qdd[[i]])[0] for i, arm in enumerate(alone)]
    np.testing.assert_allclose(robolin.inverse(both, q, qd, qdd), each, rtol=1e-14)
    # a joint to the world is one tree more
    ids = [each.id for each in read(model(*parts, joint("w", "world", "a"))).findings]
    assert ids == ["sdf-loose-link"]
