"""SDF includes: found as in Gazebo and Drake, and never outside the package of the file."""

from __future__ import annotations

from math import pi
from pathlib import Path

import numpy as np
import pytest

import robolin
from robolin.description.building.keywords import ModelOptions
from robolin.description.load import read
from robolin.description.model import Finding
from tests.cases import for_each
from tests.description.test_sdf_frames import BODY, joint, link, model, pose_of

HAND = model(
    link("palm", "<pose>0 0 1 0 0 0</pose>"),
    link("tip", "<pose>0 0 2 0 0 0</pose>"),
    '<frame name="grip"><pose>0 0 5 0 0 0</pose></frame>',
    joint("bend", "palm", "tip"),
    about='name="hand"',
)


@pytest.fixture
def models(tmp_path: Path) -> Path:
    """A model database with an arm and a hand, and a secret next to it."""
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "model.sdf").write_text(HAND)
    hand = tmp_path / "models" / "hand"
    hand.mkdir(parents=True)
    (hand / "model.config").write_text(
        '<model><sdf version="1.4">old.sdf</sdf><sdf version="1.9">new.sdf</sdf>'
        '<sdf version="99.0">newest.sdf</sdf></model>'
    )
    (hand / "new.sdf").write_text(HAND)
    arm = tmp_path / "models" / "arm"
    arm.mkdir()
    (arm / "model.config").write_text("<model/>")
    (arm / "local.sdf").write_text(HAND)
    return arm


def arm_file(folder: Path, include: str, child: str = "hand::palm", merge: str = "") -> Path:
    path = folder / "model.sdf"
    text = f"<include{merge}>{include}</include>"
    path.write_text(model(link("a"), text, joint("j", "a", child)))
    return path


@for_each(
    "uri",
    [
        *("model://hand", "model://hand/new.sdf", "package://hand/new.sdf", "hand"),
        *("local.sdf", "file://local.sdf", "../hand", "../hand/new.sdf"),
    ],
)
def test_uris(models: Path, uri: str) -> None:
    """A URI is a model in the database, or a path from the folder of the file."""
    arm = robolin.load(arm_file(models, f"<uri>{uri}</uri>"))
    assert arm.joint_names == ("j", "hand::bend")


def test_include_sets_name_pose_and_placement(models: Path) -> None:
    """Name, pose and placement frame of an <include> replace those of the model."""
    include = (
        "<uri>model://hand</uri><name>left</name><pose>0 0 50 0 0 0</pose>"
        "<placement_frame>grip</placement_frame>"
    )
    description = read(arm_file(models, include, "left::palm")).description

    assert description is not None
    assert pose_of(description, "left::palm").translation == (0, 0, 46)


def test_merged_include(models: Path) -> None:
    """A merged model has no name of its own; its poses keep the frame of the model."""
    include = "<uri>model://hand</uri><pose>0 0 50 0 0 0</pose>"
    description = read(arm_file(models, include, "palm", ' merge="true"')).description

    assert description is not None
    assert [each.name for each in description.joints] == ["j", "bend"]
    assert pose_of(description, "tip").translation == (0, 0, 52)


def errors(path: Path, **packages: str) -> list[Finding]:
    findings = read(path, ModelOptions(packages=packages)).findings
    return [each for each in findings if each.id == "sdf-include"]


def test_files_outside_are_rejected(models: Path) -> None:
    """No path, link or `model.config` leads out of the readable folders, unless the user does."""
    top = models.parent.parent
    for uri in ("../../secret/model.sdf", "model://../secret", f"file://{top}/secret/model.sdf"):
        reported = errors(arm_file(models, f"<uri>{uri}</uri>"))
        assert ["outside the package" in each.message for each in reported] == [True], uri
        assert reported[0].location.line == 4
    (models / "link.sdf").symlink_to(top / "secret" / "model.sdf")
    (models.parent / "trick").mkdir()
    (models.parent / "trick" / "model.config").write_text(
        '<model><sdf version="1.9">../../secret/model.sdf</sdf></model>'
    )
    for uri in ("link.sdf", "model://trick"):
        reported = errors(arm_file(models, f"<uri>{uri}</uri>"))
        assert ["outside the package" in each.message for each in reported] == [True], uri
    path = arm_file(models, "<uri>model://secret</uri>")
    assert [each.message for each in errors(path)] == ["'model://secret' was not found"]
    assert errors(path, secret=str(top / "secret")) == []


def test_search_path(models: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The folders of Gazebo's search path are readable."""
    path = arm_file(models, "<uri>model://secret</uri>")
    monkeypatch.setenv("GZ_SIM_RESOURCE_PATH", str(models.parent.parent))
    assert errors(path) == []


@for_each(
    "uri,words",
    [
        ("https://fuel.gazebosim.org/1.0/x", "does not download"),
        ("model://nothing", "was not found"),
        ("nothing.sdf", "was not found"),
        (".", "not an SDF file"),
        ("two.sdf", "has 2 models"),
        ("x" * 400, "was not found"),
    ],
)
def test_includes_that_fail(models: Path, uri: str, words: str) -> None:
    """The error has the line of the <include> and its URI."""
    one = "".join(HAND.splitlines()[1:-1])
    (models / "two.sdf").write_text(f'<sdf version="1.9">{one}{one}</sdf>')
    path = models / "outer.sdf"
    text = f"<include><uri>{uri}</uri></include>"
    path.write_text(model(link("a"), text, joint("j", "a", "hand::palm")))

    reported = errors(path)
    assert [words in each.message for each in reported] == [True]
    assert (reported[0].location.file, reported[0].location.line) == (str(path), 4)


def test_errors_in_an_included_file_have_its_name(models: Path) -> None:
    """A finding in an included file has the path and the line of that file."""
    (models / "local.sdf").write_text(HAND.replace("<mass>1</mass>", "<mass>heavy</mass>", 1))
    findings = read(arm_file(models, "<uri>local.sdf</uri>")).findings
    assert [str(each.location) for each in findings] == ["local.sdf:3"]


def test_file_that_includes_itself(models: Path) -> None:
    """A file that includes itself ten times ends at the limits, with few findings."""
    path = models / "model.sdf"
    itself = "<include><uri>model.sdf</uri></include>"
    path.write_text(model(link("a"), *[itself] * 10))
    reading = read(path)

    assert reading.description is None
    assert {each.id for each in reading.findings} >= {"sdf-include"}


def test_hash_covers_all_files(models: Path) -> None:
    """A change in an included file changes the hash; another folder does not."""
    path = arm_file(models, "<uri>model://hand</uri>")
    before = read(path).description
    file = models.parent / "hand" / "new.sdf"
    file.write_text(file.read_text().replace("<mass>1<", "<mass>2<"))
    after = read(path).description

    assert before is not None
    assert after is not None
    assert before.digest != after.digest


def test_world_includes_that_are_not_needed(models: Path) -> None:
    """A world loads without its sun; the missing model is a warning."""
    path = models.parent / "room.world"
    include = "<include><uri>model://sun</uri></include><include><uri>model://hand</uri></include>"
    path.write_text(f'<sdf version="1.9"><world name="w">{include}</world></sdf>')
    reading = read(path)

    assert reading.description is not None
    assert [(each.id, each.level) for each in reading.findings] == [
        ("sdf-world-include", "warning")
    ]


def test_text_without_a_file(models: Path) -> None:
    """Standard input has no folder: only models that the user names are included."""
    text = model(
        f'<link name="a">{BODY}</link>',
        "<include><uri>model://hand</uri></include>",
        joint("j", "a", "hand::palm"),
    )
    assert [each.id for each in read(text).findings] == ["sdf-include", "unknown-link"]
    arm = robolin.load(text, packages={"hand": models.parent / "hand"})
    assert arm.joint_names == ("j", "hand::bend")


@for_each("name", ["panda-fingers", "xarm7", "j2s6s200"])
def test_included_urdf(tmp_path: Path, name: str) -> None:
    """A URDF file in an <include> is the arm of that file, where the <include> places it."""
    urdf = Path(robolin.__file__).parents[1] / "models" / f"{name}.urdf"
    (tmp_path / "arm.urdf").write_text(urdf.read_text())
    include = "<include><uri>arm.urdf</uri><name>left</name>{}</include>"
    (tmp_path / "room.sdf").write_text(
        f'<sdf version="1.9"><world name="w"><gravity>0 0 -9.81</gravity>{include.format("")}'
        "</world></sdf>"
    )
    arm, alone = robolin.load(tmp_path / "room.sdf"), robolin.load(urdf)
    q, qd, qdd = np.random.default_rng(0).uniform(-1, 1, (3, alone.n))
    assert arm.joint_names == alone.joint_names
    assert [link.joint.limits for link in arm.links] == [link.joint.limits for link in alone.links]
    assert np.array_equal(robolin.mass_matrix(arm, q), robolin.mass_matrix(alone, q))
    assert np.array_equal(robolin.inverse(arm, q, qd, qdd), robolin.inverse(alone, q, qd, qdd))

    # upside down on a ceiling: the opposite gravity
    (tmp_path / "hanging.sdf").write_text(
        model(include.format(f"<pose>0 0 2 {pi!r} 0 0</pose>"), about='name="ceiling"')
    )
    hanging = robolin.load(tmp_path / "hanging.sdf")
    opposite = robolin.load(urdf, gravity=(0, 0, 9.81))
    assert hanging.joint_names == tuple(f"left::{joint}" for joint in alone.joint_names)
    computed, expected = (robolin.inverse(each, q, qd, qdd) for each in (hanging, opposite))
    # pi in double precision
    np.testing.assert_allclose(computed, expected, atol=1e-13 * float(np.abs(expected).max()))


def test_included_urdf_on_the_world(tmp_path: Path) -> None:
    """The link 'world' of a URDF file is the world, and a link without inertia has no mass."""
    (tmp_path / "arm.urdf").write_text(
        '<robot name="r"><link name="world"/><link name="a"/><link name="b"><inertial>'
        '<mass value="2"/><origin xyz="1 0 0"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" '
        'iyz="0"/></inertial></link><joint name="w" type="fixed"><parent link="world"/><child '
        'link="a"/><origin xyz="0 0 3"/></joint><joint name="j" type="revolute"><parent link="a"/>'
        '<child link="b"/><axis xyz="0 1 0"/><limit lower="-1" upper="2" effort="5" velocity="3"/>'
        '<dynamics damping="0.5" friction="0.25"/></joint></robot>'
    )
    (tmp_path / "m.sdf").write_text(model("<include><uri>arm.urdf</uri></include>"))
    arm = robolin.load(tmp_path / "m.sdf")

    assert robolin.inverse(arm, [0.0], [1.0], [1.0]) == pytest.approx([3.0 + 0.5 - 2 * 9.81])
    joint = arm.links[-1].joint
    assert (joint.limits.lower, joint.limits.upper, joint.friction) == (-1, 2, 0.25)


@for_each(
    "text,message",
    [
        ("<mujoco/>", "the root element is <mujoco>"),
        ('<robot name="r"><xacro:include/></robot>', "unexpanded xacro"),
        (
            '<robot name="r"><link name="a"/><link name="b"/><joint name="j" type="floating">'
            '<parent link="a"/><child link="b"/></joint></robot>',
            "joint 'j' of type 'floating' is not supported",
        ),
        ('<robot name="r"><link name="a"/><joint/></robot>', "a joint has no name"),
    ],
)
def test_included_files_that_are_not_read(tmp_path: Path, text: str, message: str) -> None:
    """Another format, xacro and joints without an SDF type are errors of the included file."""
    (tmp_path / "other.urdf").write_text(text)
    (tmp_path / "m.sdf").write_text(model("<include><uri>other.urdf</uri></include>"))
    errors = [each for each in read(tmp_path / "m.sdf").findings if each.level == "error"]
    assert any(message in each.message for each in errors), errors
    assert errors[0].location.file == "other.urdf"


def test_a_second_inertial_of_an_included_link_is_a_warning(tmp_path: Path) -> None:
    """An included URDF file gets the warning of a URDF file that is read alone."""
    (tmp_path / "other.urdf").write_text(
        '<robot name="r"><link name="a"><inertial><mass value="1"/></inertial><inertial>'
        '<mass value="2"/></inertial></link></robot>'
    )
    (tmp_path / "m.sdf").write_text(model("<include><uri>other.urdf</uri></include>"))
    findings = read(tmp_path / "m.sdf").findings
    (finding,) = [each for each in findings if "a second, different <inertial>" in each.message]
    assert (finding.level, finding.location.file) == ("warning", "other.urdf")
