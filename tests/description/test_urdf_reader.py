"""A valid URDF file is read into the same description."""

from __future__ import annotations

import math
import random
from hashlib import sha256

import pytest

from robolin.core.arm import NO_TURN, Inertia, Limits, Mimic, Pose
from robolin.core.arm_parts import (
    apply,
    compose,
    matmul,
    rotate_point,
    rotation_from_rpy,
    transpose,
    turned_rotary,
)
from robolin.description.model import Description, JointEntry, SourceLocation
from robolin.description.urdf.urdf_reader import ignored_by_others, read_urdf
from robolin.description.xml_tree import parse_xml
from tests.description.bad_urdf import A, B, C, between, inertial, joint, robot
from tests.published import FILES, needs_published_files

UNIT = 'ixx="1" ixy="0" ixz="0" iyy="2" iyz="0" izz="3"'


def read(text: str | bytes) -> Description:
    """Read a text that must have no findings."""
    data = text if isinstance(text, bytes) else text.encode()
    reading = read_urdf(data, "arm.urdf")
    assert reading.description is not None, reading.findings
    assert [finding for finding in reading.findings if finding.level != "note"] == []
    return reading.description


def only_joint(text: str) -> JointEntry:
    (entry,) = read(text).joints
    return entry


def only_inertia(text: str) -> Inertia | None:
    (entry,) = read(text).links
    return entry.inertia


def test_all_parts_of_a_joint_are_read() -> None:
    """Every part of a joint is read, with its line; the axis keeps its length."""
    text = joint(
        '<origin xyz="1 -2 .5" rpy="0 0 0"/>\n<axis xyz="0 0 2"/>\n'
        '<limit lower="-1" upper="+1.5" velocity="2." effort="1e1"/>\n'
        '<dynamics damping="0.1" friction="0.2"/>',
        "revolute",
    )
    entry = only_joint(text)

    assert (entry.name, entry.kind, entry.parent, entry.child) == ("j", "revolute", "a", "b")
    assert entry.pose == Pose(NO_TURN, (1.0, -2.0, 0.5))
    assert entry.axis == (0.0, 0.0, 2.0)
    assert entry.limits == Limits(lower=-1.0, upper=1.5, velocity=2.0, effort=10.0)
    assert (entry.damping, entry.friction, entry.armature) == (0.1, 0.2, 0.0)
    lines = {part: location.line for part, location in entry.locations.items()}
    assert lines == {"parent": 4, "child": 4, "origin": 5, "axis": 6, "limit": 7, "dynamics": 8}
    assert entry.at("mimic") == entry.location == SourceLocation("arm.urdf", 4)


def test_omitted_parts_of_a_joint_have_defaults() -> None:
    """The axis is x, the pose the identity, limits unknown, damping and friction none."""
    entry = only_joint(joint(""))

    assert entry.axis == (1.0, 0.0, 0.0)
    assert (entry.pose, entry.limits, entry.mimic) == (Pose(), Limits(), None)
    assert (entry.damping, entry.friction) == (0.0, 0.0)


def test_mimic_is_read_with_its_defaults() -> None:
    """The multiplier defaults to 1 and the offset to 0; a multiplier of 0 stays 0."""
    text = robot(
        *(A, B, C, '<link name="d"/>', between("i", "a", "b")),
        between("j", "b", "c", '<mimic joint="i"/>'),
        between("k", "c", "d", '<mimic joint="i" multiplier="0" offset="-2"/>'),
    )
    assert [entry.mimic for entry in read(text).joints] == [
        None,
        Mimic("i", 1.0, 0.0),
        Mimic("i", 0.0, -2.0),
    ]


@pytest.mark.parametrize(
    "kind", ["revolute", "continuous", "prismatic", "fixed", "floating", "planar"]
)
def test_every_kind_of_joint_is_kept(kind: str) -> None:
    assert only_joint(joint('<axis xyz="0 1 0"/>', kind)).kind == kind


def test_the_axis_of_a_fixed_joint_is_ignored() -> None:
    """A zero axis, limits and dynamics on a fixed joint are listed as ignored."""
    description = read(joint('<axis xyz="0 0 0"/><dynamics damping="3"/>', "fixed"))

    assert description.joints[0].damping == 0.0
    assert description.ignored == ("axis of a fixed joint (1)", "dynamics of a fixed joint (1)")


def test_a_floating_joint_has_damping_but_no_axis() -> None:
    """A zero axis on a floating joint is listed as ignored, its damping is kept."""
    description = read(joint('<axis xyz="0 0 0"/><dynamics damping="3"/>', "floating"))

    assert description.joints[0].damping == 3.0
    assert description.ignored == ("axis of a floating joint (1)",)


@pytest.mark.parametrize(("kind", "noted"), [("revolute", 1), ("prismatic", 1), ("continuous", 0)])
def test_missing_limits_are_a_note_only(kind: str, noted: int) -> None:
    """A joint without limits loads; a note says so where limits are usual."""
    reading = read_urdf(joint("", kind).encode(), "arm.urdf")

    assert reading.description is not None
    assert [(finding.id, finding.level) for finding in reading.findings] == (
        [("limit-missing", "note")] * noted
    )


def test_a_link_without_inertial_has_no_inertia() -> None:
    """No kilogram is invented; an inertial with a mass alone is a point mass."""
    assert only_inertia(robot(A)) is None
    assert only_inertia(inertial('<mass value="2"/><origin xyz="0 0 1"/>')) == Inertia(
        2.0, (0.0, 0.0, 1.0)
    )
    assert read(inertial('<mass value="2"/>')).links[0].inertia_location == SourceLocation(
        "arm.urdf", 3
    )


def test_negative_masses_are_read() -> None:
    """The reader keeps physically impossible values; validation reports them."""
    body = only_inertia(inertial('<mass value="-1"/>'))
    assert body is not None
    assert body.mass == -1.0


def test_the_inertial_frame_is_rotated_to_link_axes() -> None:
    """A quarter turn about z exchanges Ixx and Iyy, to round-off."""
    quarter = f'<mass value="1"/><inertia {UNIT}/><origin rpy="0 0 {math.pi / 2!r}"/>'
    body = only_inertia(inertial(quarter))

    assert body is not None
    assert body.rotary == pytest.approx((2.0, 0.0, 0.0, 1.0, 0.0, 3.0), abs=1e-15)


def test_an_untouched_inertia_keeps_its_bits() -> None:
    """Without a rotation the six numbers are those in the file."""
    awkward = f'<mass value="0.1"/><inertia {UNIT.replace("1", "0.1").replace("3", "1e-7")}/>'
    body = only_inertia(inertial(awkward + '<origin rpy="0 0 0"/>'))
    assert body is not None
    assert body.rotary == (0.1, 0.0, 0.0, 2.0, 0.0, 1e-7)


def test_ignored_elements_are_counted() -> None:
    """Unused tags and attributes are listed with their number, alphabetically."""
    description = read(
        robot(
            '<link name="a" type="laser"><visual/><visual/><collision/><contact/></link>',
            *(
                B,
                '<material name="m"/>',
                "<gazebo/>",
                '<ros2_control name="x"><joint/></ros2_control>',
            ),
            between("j", "a", "b", '<dynamics damping="1" mu_viscous="3"/><safety_controller/>'),
        )
    )
    assert description.ignored == (
        "collision (1)",
        "contact (1)",
        "dynamics attribute mu_viscous (1)",
        "gazebo (1)",
        "link attribute type (1)",
        "material (1)",
        "ros2_control (1)",
        "safety_controller (1)",
        "visual (2)",
    )


def test_meshes_are_never_opened_and_package_addresses_are_silent() -> None:
    """A missing mesh is not an error."""
    mesh = '<geometry><mesh filename="package://nowhere/x.stl"/></geometry>'
    assert read(robot(f'<link name="a"><visual>{mesh}</visual></link>')).ignored == ("visual (1)",)


def test_transmissions_are_noted_in_both_styles() -> None:
    """Reduction and interface are noted as not applied; malformed ones are not errors."""
    new = (
        '<transmission name="t"><joint name="j"><hardwareInterface>hardware_interface/Effort'
        "</hardwareInterface></joint><actuator><hardwareInterface>Effort</hardwareInterface>"
        "<mechanicalReduction> 50 </mechanicalReduction></actuator></transmission>"
    )
    reduction = "<mechanicalReduction>-7</mechanicalReduction>"
    old = f'<transmission name="u" type="T">{reduction}</transmission>'
    description = read(robot(A, new, old, old, "<transmission/>"))

    assert description.notes == ("mechanicalReduction is ignored: 50 on 'j'; -7",)
    assert description.ignored == (
        "transmission (4): actuator (1), hardwareInterface Effort (2), joint (1), "
        "mechanicalReduction (3), transmission attribute type (2)",
    )


@pytest.mark.parametrize(
    ("reductions", "notes"),
    [
        (["1"] * 6, ()),
        (["1.0", "1"], ()),
        ([""], ()),
        (["1", "2", "3"], ("2 on 'j1'; 3 on 'j2'",)),
        (["2", "2"], ("2 on 'j0', 'j1'",)),
        (["2"] * 6, ("2 on 6 joints",)),
        (["fast"], ("fast on 'j0'",)),
        (
            [str(value) for value in range(2, 12)],
            ("; ".join([*(f"{i + 2} on 'j{i}'" for i in range(8)), "2 more values"]),),
        ),
    ],
)
def test_transmissions_are_noted_once(reductions: list[str], notes: tuple[str, ...]) -> None:
    """Reductions are noted together, equal ones once, and those of 1 not at all."""
    parts = [
        f'<transmission name="t{i}"><joint name="j{i}"/><actuator name="m">'
        f"<mechanicalReduction>{text}</mechanicalReduction></actuator></transmission>"
        for i, text in enumerate(reductions)
    ]
    description = read(robot(A, *parts))

    start = "mechanicalReduction is ignored: "
    assert description.notes == tuple(start + note for note in notes)
    n = len(reductions)
    inner = f"actuator ({n}), joint ({n}), mechanicalReduction ({n})"
    assert description.ignored == (f"transmission ({n}): {inner}",)


def test_the_description_knows_where_it_is_from() -> None:
    """Name, root, source and the hash of the bytes are stored."""
    text = robot(B, A, between("j", "a", "b"))
    description = read(text)

    assert (description.name, description.root, description.source) == ("r", "a", "arm.urdf")
    assert description.digest == sha256(text.encode()).hexdigest()
    assert [link.location.line for link in description.links] == [2, 3]
    assert description.locations["robot"].line == 1


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "iso-8859-1"])
def test_declared_encodings_and_byte_order_marks_are_read(encoding: str) -> None:
    """A name with an accent survives every encoding the file declares."""
    declared = encoding.removesuffix("-sig")
    text = f'<?xml version="1.0" encoding="{declared}"?>\n' + robot('<link name="bras-é"/>')
    assert read(text.encode(encoding)).root == "bras-é"


def test_a_xacro_name_space_alone_is_normal() -> None:
    """A xacro namespace, and xacro in unused elements, is neither an error nor listed."""
    head = '<robot name="r" xmlns:xacro="http://www.ros.org/wiki/xacro">'
    description = read(robot(A, "<gazebo><xacro:x/>$(find y)</gazebo>", head=head))
    assert description.ignored == ("gazebo (1)",)


@pytest.mark.parametrize("text", ["1", "+1.", "-.5", "1e3", "1.5E-07", " 2", "00.10"])
def test_decimal_numbers_are_read_exactly(text: str) -> None:
    """Every decimal spelling is the double nearest to it."""
    body = only_inertia(inertial(f'<mass value="{text}"/>'))
    assert body is not None
    assert body.mass == float(text)


def test_blanks_after_a_number_change_it_in_other_programs_only() -> None:
    """A mass with blanks on both sides is read exactly, with a warning about urdfdom."""
    reading = read_urdf(inertial('<mass value=" 2 "/>').encode(), "arm.urdf")
    assert reading.description is not None
    (entry,) = reading.description.links
    assert entry.inertia is not None
    assert entry.inertia.mass == 2.0
    assert [finding.id for finding in reading.findings] == ["inertia-urdfdom"]


def test_rotations_are_rotations() -> None:
    """R Rᵀ = 1, roll-pitch-yaw is about fixed axes, and poses compose and apply."""
    rng = random.Random(3)
    for _ in range(50):
        r, p, y = (rng.uniform(-4, 4) for _ in range(3))
        R = rotation_from_rpy(r, p, y)
        steps = matmul(
            rotation_from_rpy(0, 0, y),
            matmul(rotation_from_rpy(0, p, 0), rotation_from_rpy(r, 0, 0)),
        )
        assert matmul(R, transpose(R)) == pytest.approx(NO_TURN, abs=1e-15)
        assert pytest.approx(steps, abs=1e-15) == R

        outer, inner = Pose(R, (r, p, y)), Pose(rotation_from_rpy(y, r, p), (y, p, r))
        both = apply(outer, apply(inner, (1.0, 2.0, 3.0)))
        assert apply(compose(outer, inner), (1.0, 2.0, 3.0)) == pytest.approx(both, abs=1e-13)


def test_a_turned_inertia_has_the_same_energy() -> None:
    """½ ωᵀIω does not care from which axes it is seen."""
    rng = random.Random(4)
    for _ in range(50):
        R = rotation_from_rpy(*(rng.uniform(-4, 4) for _ in range(3)))
        xx, xy, xz, yy, yz, zz = rotary = tuple(rng.uniform(-1, 1) for _ in range(6))
        omega = (rng.uniform(-1, 1), rng.uniform(-1, 1), rng.uniform(-1, 1))

        def energy(rotary: tuple[float, ...], omega: tuple[float, ...]) -> float:
            xx, xy, xz, yy, yz, zz = rotary
            x, y, z = omega
            squares = xx * x * x + yy * y * y + zz * z * z
            return 0.5 * squares + xy * x * y + xz * x * z + yz * y * z

        turned = turned_rotary(R, (xx, xy, xz, yy, yz, zz))
        assert energy(turned, rotate_point(R, omega)) == pytest.approx(
            energy(rotary, omega), abs=1e-14
        )


@needs_published_files
def test_real_files_are_read_without_complaint() -> None:
    """Every file of the collection is read without error or warning."""
    for path in FILES:
        reading = read_urdf(path.read_bytes(), path.name)
        assert reading.description is not None, path.name
        assert {finding.level for finding in reading.findings} <= {"note"}, path.name


def test_the_first_of_two_different_inertials_is_used():
    """The peers that read URDF through urdfdom use the first; MuJoCo rejects the file."""
    bodies = [f'<inertial><mass value="{m}"/><inertia {UNIT}/></inertial>' for m in (2, 7)]
    joint = '<joint name="j" type="continuous"><parent link="z"/><child link="a"/></joint>'
    text = robot('<link name="a">', *bodies, "</link>", '<link name="z"/>', joint)
    reading = read_urdf(text.encode(), "arm.urdf")
    (finding,) = reading.findings
    assert (finding.id, finding.level) == ("second-inertial", "warning")
    assert (
        finding.location.line,
        "the first is on line 3, and robolin uses the first" in finding.message,
    ) == (
        4,
        True,
    )
    (link,) = [link for link in reading.description.links if link.inertia]
    assert link.inertia.mass == 2
    pinocchio = pytest.importorskip("pinocchio", reason="the peer pinocchio is not installed")
    assert pinocchio.buildModelFromXML(text).inertias[1].mass == 2


def test_an_empty_robot_name_is_a_warning():
    reading = read_urdf(robot(A, head='<robot name=" ">').encode(), "arm.urdf")
    assert [(finding.id, finding.level) for finding in reading.findings] == [
        ("robot-unnamed", "warning")
    ]
    assert reading.description is not None
    assert reading.description.name == "robot"


@pytest.mark.parametrize(
    "moments, finding",
    [
        ('ixx="1" iyy="2" izz="3"', "inertia-diagonal"),
        (UNIT.replace('"3"', '"3 "'), "inertia-urdfdom"),
        (UNIT.replace('"2"', '"2\n"'), "inertia-urdfdom"),
    ],
)
def test_an_inertia_that_urdfdom_loses_is_a_warning(moments, finding):
    """It is read here; Pinocchio, which uses urdfdom, has the mass and no moments of inertia."""
    text = inertial(f'<mass value="2"/><inertia {moments}/>')
    reading = read_urdf(text.encode(), "arm.urdf")
    assert [(each.id, each.level) for each in reading.findings] == [(finding, "warning")]
    assert reading.description is not None
    (link,) = [link for link in reading.description.links if link.inertia]
    assert link.inertia == Inertia(2.0, (0.0, 0.0, 0.0), (1.0, 0.0, 0.0, 2.0, 0.0, 3.0))
    pinocchio = pytest.importorskip("pinocchio", reason="the peer pinocchio is not installed")
    joints = '<joint name="j" type="continuous"><parent link="z"/><child link="a"/></joint>'
    complete = text.replace("</robot>", f'<link name="z"/>{joints}</robot>')
    peer = pinocchio.buildModelFromXML(complete).inertias[1]
    assert peer.mass == 2
    assert not peer.inertia.any()


LINKS = """<robot name="r"><link name="a"/><link name="b"><inertial><origin xyz="0 .1 .2"/>
<mass value="1.5"/><inertia ixx=".1" ixy="0" ixz="0" iyy=".2" iyz="0" izz=".15"/></inertial></link>
<link name="c"/><joint name="j" type="continuous"><origin xyz=".3 0 0"/><parent link="a"/>
<child link="b"/><axis xyz="0 0 1"/><dynamics damping=".5"/></joint>
<joint name="k" type="continuous"><parent link="b"/><child link="c"/>
<mimic joint="j" multiplier="2"/></joint></robot>"""


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ('"1.5"', '"1.5 "', "inertia-urdfdom"),
        ('"0 .1 .2"', '"0\n.1 .2"', "inertia-urdfdom"),
        ('"0 .1 .2"', '"0 .1\t.2"', "inertia-urdfdom"),
        ('".3 0 0"', '".3\n0 0"', "joint-urdfdom"),
        ('damping=".5"', 'damping=".5\n"', "joint-urdfdom"),
        ('multiplier="2"', 'multiplier="2 "', "joint-urdfdom"),
        ('"1.5"', '" 1.5"', None),
        ('<link name="c"/>', '<!-- <mass value="1 "/> --><link name="c"/>', None),
    ],
)
def test_numbers_that_urdfdom_does_not_accept(old: str, new: str, expected: str | None) -> None:
    """The numbers are read here; Pinocchio, which uses urdfdom, loses them or rejects the file."""
    text = LINKS.replace(old, new, 1)
    reading = read_urdf(text.encode(), "arm.urdf")
    assert [each.id for each in reading.findings] == ([expected] if expected else [])
    assert reading.description is not None
    (link,) = [link for link in reading.description.links if link.inertia]
    assert link.inertia is not None
    assert (link.inertia.mass, link.inertia.com) == (1.5, (0.0, 0.1, 0.2))
    pinocchio = pytest.importorskip("pinocchio", reason="the peer pinocchio is not installed")
    if expected == "joint-urdfdom":
        with pytest.raises(ValueError, match="URDF"):
            pinocchio.buildModelFromXML(text)
    else:
        mass = pinocchio.buildModelFromXML(text).inertias[1].mass
        assert mass == (0.0 if expected else 1.5)


def test_parts_that_other_programs_ignore_are_noted() -> None:
    """Mimic joints and damping are one note each, and Pinocchio indeed ignores the mimic rule."""
    description = read_urdf(LINKS.encode(), "arm.urdf").description
    assert description is not None
    notes = list(ignored_by_others(description))
    assert [(each.id, each.level) for each in notes] == [
        ("mimic-elsewhere", "note"),
        ("damping-elsewhere", "note"),
    ]
    pinocchio = pytest.importorskip("pinocchio", reason="the peer pinocchio is not installed")
    assert pinocchio.buildModelFromXML(LINKS).nv == 2


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-16-le", "utf-16-be"])
def test_malformed_joint_is_an_error_in_any_encoding(encoding: str):
    text = robot(A, B, "<joint name='j' type='fixed'><limit effort='1'</joint>", C)

    reading = read_urdf(text.encode(encoding), "arm.urdf")

    assert reading.description is None
    assert [x.id for x in reading.findings if x.level == "error"] == ["xml-malformed"]


def test_hyphens_in_a_comment_are_a_warning():
    """urdfdom and libsdformat read comments with --, which XML does not allow."""
    text = (
        b'\n<?xml version="1.0"?>\n<robot name="r"><!-- a -->\n'
        b'<!-- run --this <!-- --->\n<link name="a-b"/>\n</robot>'
    )
    root, findings = parse_xml(text, "a.urdf")
    assert root is not None
    assert [child.attributes["name"] for child in root.children] == ["a-b"]
    assert [(each.id, each.location.line) for each in findings] == [
        ("comment-hyphens", 4),
        ("space-before-xml", 1),
    ]
    # another mistake is still the error, at its line
    broken, (finding,) = parse_xml(text.replace(b"</robot>", b"</rob>"), "a.urdf")
    assert (broken, finding.id, finding.location.line) == (None, "xml-malformed", 6)
    assert parse_xml(b"<!--" * 200_000, "a.urdf")[0] is None
