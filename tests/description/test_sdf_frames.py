"""The pose graph of SDF files: every frame is where the rules of the format put it."""

from __future__ import annotations

from math import cos, pi, sin

import pytest

from robolin.core.arm import HERE, Pose
from robolin.core.arm_parts import compose
from robolin.description.load import read
from robolin.description.model import Description
from robolin.description.structure import tree_of
from tests.cases import for_each

BODY = (
    "<inertial><mass>1</mass><inertia><ixx>.1</ixx><iyy>.1</iyy><izz>.1</izz></inertia></inertial>"
)


def link(name: str, pose: str = "") -> str:
    return f'<link name="{name}">{pose}{BODY}</link>'


def joint(name: str, parent: str, child: str, inside: str = "", kind: str = "revolute") -> str:
    axis = "" if "<axis>" in inside or kind == "fixed" else "<axis><xyz>0 0 1</xyz></axis>"
    ends = f"<parent>{parent}</parent><child>{child}</child>"
    return f'<joint name="{name}" type="{kind}">{ends}{inside}{axis}</joint>'


def model(*inside: str, version: str = "1.9", about: str = 'name="m"') -> str:
    lines = "\n".join(inside)
    return f'<sdf version="{version}">\n<model {about}>\n{lines}\n</model>\n</sdf>\n'


def described(text: str) -> Description:
    reading = read(text)
    assert reading.description is not None, reading.findings
    return reading.description


def pose_of(description: Description, name: str) -> Pose:
    """The pose of a link in the root link, with all joints at zero."""
    pose = HERE
    for entry in tree_of(description).inboard(name):
        pose = compose(entry.pose, pose)
    return pose


AT = '<pose relative_to="{}">1 0 0 0 0 {}</pose>'
QUARTER = repr(pi / 2)


@for_each(
    "inside,at,yaw",
    [
        # default: the model
        ("<pose>1 2 3 0 0 0</pose>", (1, 2, 3), 0),
        ('<pose relative_to="__model__">1 2 3 0 0 0</pose>', (1, 2, 3), 0),
        # another link, a frame on it, a frame on that frame, and a joint
        (AT.format("b", 0), (0, 3, 0), pi / 2),
        (AT.format("f", 0), (0, 4, 0), pi / 2),
        (AT.format("g", 0), (-1, 4, 0), pi),
        (AT.format("jb", 0), (-1, 2, 0), pi),
        # a frame attached to the model
        (AT.format("h", 0), (8, 0, 0), 0),
        (AT.format("b", QUARTER), (0, 3, 0), pi),
        # other notations of a rotation
        ('<pose degrees="true">0 0 0 0 0 90</pose>', (0, 0, 0), pi / 2),
        ('<pose rotation_format="quat_xyzw">0 0 0 0 0 2 2</pose>', (0, 0, 0), pi / 2),
        ("<pose>\n 0 0 0\n 0 0 1.25 </pose>", (0, 0, 0), 1.25),
        ("<pose/>", (0, 0, 0), 0),
    ],
)
def test_relative_poses(inside: str, at: tuple[float, ...], yaw: float) -> None:
    """A pose is relative to the named frame, by default to the model."""
    text = model(
        link("a"),
        link("b", f"<pose>0 2 0 0 0 {QUARTER}</pose>"),
        f'<frame name="f" attached_to="b"><pose>1 0 0 0 0 0</pose></frame>'
        f'<frame name="g" attached_to="f"><pose>1 0 0 0 0 {QUARTER}</pose></frame>'
        '<frame name="h"><pose>7 0 0 0 0 0</pose></frame>',
        joint("jb", "a", "b", f"<pose>0 0 0 0 0 {QUARTER}</pose>"),
        link("c", inside),
        joint("jc", "b", "c"),
    )
    pose = pose_of(described(text), "c")

    assert pose.translation == pytest.approx(at, abs=1e-15)
    assert pose.rotation == pytest.approx(
        (cos(yaw), -sin(yaw), 0, sin(yaw), cos(yaw), 0, 0, 0, 1), abs=1e-15
    )


def test_quaternion_that_is_not_unit() -> None:
    """A long quaternion is normalized, with a warning: libsdformat does not normalize it."""
    pose = '<pose rotation_format="quat_xyzw">0 0 0 0 0 {} {}</pose>'
    ids = [
        [finding.id for finding in read(model(link("a", pose.format(*each)))).findings]
        for each in ((2, 2), (0.6, 0.8), (0.707107, 0.707107))
    ]
    assert ids == [["sdf-quaternion"], [], []]


def test_pose_relative_to_parent_is_exact() -> None:
    """A child given relative to its parent has exactly the written pose: nothing is inverted."""
    text = model(
        link("a", "<pose>.1 .2 .3 .4 .5 .6</pose>"),
        link("b", '<pose relative_to="a">.7 .8 .9 0 0 0</pose>'),
        joint("j", "a", "b"),
    )
    entry = tree_of(described(text)).by_name["j"]

    assert entry.pose == Pose(translation=(0.7, 0.8, 0.9))


NESTED = (
    '<model name="hand"{}>{}<link name="palm"><pose>0 0 1 0 0 0</pose>' + BODY + "</link>"
    '<frame name="grip"><pose>0 0 5 0 0 0</pose></frame></model>'
)


@for_each(
    "about,pose,height",
    [
        ("", "<pose>0 0 20 0 0 0</pose>", 21),
        ("", '<pose relative_to="a">0 0 20 0 0 0</pose>', 121),
        # the pose is that of the placement frame
        (' placement_frame="palm"', "<pose>0 0 20 0 0 0</pose>", 20),
        (' placement_frame="grip"', "<pose>0 0 20 0 0 0</pose>", 16),
        (' placement_frame="grip"', "", -4),
    ],
)
def test_nested_models(about: str, pose: str, height: float) -> None:
    """Frames of a nested model move with its pose, or with that of its placement frame."""
    text = model(
        link("a", "<pose>0 0 100 0 0 0</pose>"),
        NESTED.format(about, pose),
        joint("j", "a", "hand::palm"),
        link("b", '<pose relative_to="hand::grip">1 0 0 0 0 0</pose>'),
        joint("k", "hand::palm", "b"),
    )
    description = described(text)

    assert pose_of(description, "hand::palm").translation == (0, 0, height)
    assert pose_of(description, "b").translation == (1, 0, height + 4)


def test_joint_ends_are_frames() -> None:
    """Parent and child of a joint may be frames; the links are those they are attached to."""
    text = model(
        link("a"),
        link("b", "<pose>3 0 0 0 0 0</pose>"),
        '<frame name="f" attached_to="b"><pose>0 1 0 0 0 0</pose></frame>',
        joint("j", "__model__", "f"),
        about='name="m" canonical_link="a"',
    )
    entry = tree_of(described(text)).by_name["j"]

    # the joint is at its child frame
    assert (entry.parent, entry.child) == ("a", "b@j")
    assert entry.pose.translation == (3, 1, 0)


@for_each(
    "version,axis,expected",
    [
        ("1.9", "<xyz>1 0 0</xyz>", (1, 0, 0)),
        ("1.9", '<xyz expressed_in="__model__">1 0 0</xyz>', (0, -1, 0)),
        ("1.9", '<xyz expressed_in="a">1 0 0</xyz>', (-1, 0, 0)),
        ("1.9", "", (0, 0, 1)),
        ("1.6", "<xyz>1 0 0</xyz>", (1, 0, 0)),
        (
            "1.6",
            "<xyz>1 0 0</xyz><use_parent_model_frame>true</use_parent_model_frame>",
            (0, -1, 0),
        ),
        # before version 1.5 an axis is in the axes of the model
        ("1.4", "<xyz>1 0 0</xyz>", (0, -1, 0)),
    ],
)
def test_axes(version: str, axis: str, expected: tuple[float, ...]) -> None:
    """The axis of a joint is in the axes of the joint frame, or of the frame that it names."""
    text = model(
        link("a", f"<pose>0 0 0 0 0 -{QUARTER}</pose>"),
        link("b", f"<pose>0 0 0 0 0 {QUARTER}</pose>"),
        joint("j", "a", "b", f"<axis>{axis}</axis>"),
        version=version,
    )
    entry = tree_of(described(text)).by_name["j"]

    assert entry.axis == pytest.approx(expected, abs=1e-15)


def test_frame_attribute_before_version_1_7() -> None:
    """`<pose frame="…">` of older files is the frame that the pose is relative to."""
    text = model(
        link("a"),
        link("b", "<pose>0 2 0 0 0 0</pose>"),
        link("c", '<pose frame="b">1 0 0 0 0 0</pose>'),
        joint("j", "a", "b"),
        joint("k", "b", "c"),
        version="1.6",
    )
    assert pose_of(described(text), "c").translation == (1, 2, 0)


def test_joint_with_the_name_of_a_link() -> None:
    """Before version 1.7 a joint may have the name of a link; the name then means the link."""
    parts = (link("a"), link("b", "<pose>0 0 1 0 0 0</pose>"), joint("b", "a", "b"))
    assert tree_of(described(model(*parts, version="1.6"))).by_name["b"].child == "b"

    errors = read(model(*parts, version="1.7")).findings
    assert [(error.id, error.location.line) for error in errors] == [("sdf-frame", 5)]


def test_long_chain_of_frames() -> None:
    """Poses through 3 000 frames are resolved, without recursion and in linear time."""
    frames = "".join(
        f'<frame name="f{k}"><pose relative_to="f{k + 1}">0 0 1 0 0 0</pose></frame>'
        for k in range(3_000)
    )
    text = model(
        link("a"),
        link("b", '<pose relative_to="f0">0 0 1 0 0 0</pose>'),
        frames,
        '<frame name="f3000"/>',
        joint("j", "a", "b"),
    )
    assert pose_of(described(text), "b").translation == (0, 0, 3_001)


def test_many_unknown_frames() -> None:
    """A file with thousands of wrong names is not compared name by name."""
    links = (f'<link name="l{k}"><pose relative_to="x"/></link>' for k in range(2001))
    hints = {finding.hint for finding in read(model(*links)).findings if finding.id == "sdf-frame"}
    assert hints == {"check the spelling", "correct these first"}


def test_long_chain_of_attached_frames() -> None:
    """Many joints on a long chain of frames: every frame is resolved once."""
    n = 1500
    frames = (f'<frame name="f{k}" attached_to="f{k + 1}"/>' for k in range(n))
    children = (link(f"l{k}") + joint(f"j{k}", f"f{k}", f"l{k}", kind="fixed") for k in range(99))
    text = model(link("a"), *frames, f'<frame name="f{n}" attached_to="a"/>', *children)
    assert {each.parent for each in described(text).joints} == {"a"}
