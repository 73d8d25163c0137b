"""Findings of validation: id, level and line for each defect of a description."""

from __future__ import annotations

import random
import re
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from robolin.core.arm import Inertia, Limits, Mimic, Pose
from robolin.description.building.build_arm import build
from robolin.description.finding_ids import READING_IDS, VALIDATION_IDS
from robolin.description.inspection import partial_findings
from robolin.description.load import read
from robolin.description.model import Finding, PoseEntry, Reading, SourceLocation
from robolin.description.urdf.urdf_reader import read_urdf
from robolin.description.validate import (
    decimal_point_repairs,
    positive,
    possible_inertia,
    principal_inertias,
    radius_of_gyration,
    triangle_shortfall,
    validate,
)
from robolin.description.yaml.yaml_arm import read_yaml
from tests.cases import for_each
from tests.description.hand_made import cloud, describe, inertia_of, joint, random_tree
from tests.published import COLLECTION, URDF, needs_published_files

BOX = Inertia(1.0, (0.1, 0.0, 0.0), (0.01, 0.0, 0.0, 0.015, 0.0, 0.02))


def rotary(xx, yy, zz, xy=0.0, xz=0.0, yz=0.0):
    return (xx, xy, xz, yy, yz, zz)


def one_link(inertia=BOX, **more):
    """A link on one joint; the link's inertia is at line 11, the joint at 101."""
    return describe([joint("j1", "base", "arm", **more)], {"arm": inertia})


def findings_in(description, what=None):
    findings = validate(Reading(description, []))
    return findings if what is None else [f for f in findings if f.id == what]


# ------------------------------------------------------------------- inertia


@for_each("seed", range(50))
def test_principal_inertias_are_eigenvalues(seed):
    """Jacobi rotations give the eigenvalues of any symmetric matrix to round-off of the largest."""
    rng = random.Random(seed)
    scale = 10.0 ** rng.randint(-12, 6)
    xx, xy, xz, yy, yz, zz = entries = tuple(scale * rng.uniform(-1, 1) for _ in range(6))
    expected = np.linalg.eigvalsh([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    np.testing.assert_allclose(principal_inertias(entries), expected, rtol=0, atol=4e-15 * scale)


def test_small_inertias_keep_their_digits():
    """A rod's vanishing inertia keeps its digits next to large ones if the input is exact."""
    assert principal_inertias(rotary(1e-12, 1.0, 1.0)) == (1e-12, 1.0, 1.0)
    assert principal_inertias(rotary(0.0, 0.0, 0.0)) == (0.0, 0.0, 0.0)


@for_each("seed", range(50))
def test_every_cloud_of_points_is_possible(seed):
    """No body made of positive masses is ever called impossible, flat and thin ones included."""
    rng = random.Random(seed)
    for flat in range(3):
        points = [(m, tuple(x if i >= flat else 0.0 for i, x in enumerate(p)))
                  for m, p in cloud(rng)]  # fmt: skip
        assert possible_inertia(inertia_of(points).rotary)


@for_each("seed", range(20))
def test_six_printed_digits_are_enough(seed):
    """A thin plate printed with seven digits passes in any orientation."""
    rng = random.Random(seed)
    points = [(m, (x, y, 0.0)) for m, (x, y, _) in cloud(rng)]
    R = np.linalg.qr(np.reshape([rng.gauss(0, 1) for _ in range(9)], (3, 3)))[0]
    turned = inertia_of([(m, tuple(R @ p)) for m, p in points])
    assert possible_inertia(tuple(float(f"{entry:.7g}") for entry in turned.rotary))


def test_triangle_shortfall():
    """The triangle's shortfall is c - a - b, and none where the sum reaches c."""
    assert triangle_shortfall((1.0, 2.0, 4.0)) == 1.0
    assert triangle_shortfall((1.0, 2.0, 3.0)) == 0.0
    assert not positive((-1e-3, 1.0, 1.0))


def test_radius_of_gyration_of_a_ring():
    """A thin ring has all its mass at its radius."""
    ring = Inertia(3.0, (0.0, 0.0, 0.0), rotary(0.375, 0.375, 0.75))
    assert radius_of_gyration(ring) == 0.5


def test_a_slipped_decimal_point_is_found():
    """Moving the point of the one wrong entry back is proposed, and only shortest moves are."""
    assert "ixx 0.12 should be 0.012" in decimal_point_repairs(rotary(0.12, 0.015, 0.02))
    assert decimal_point_repairs(rotary(0.0, 0.0, 0.3)) == []
    long = rotary(0.1234567890123456, 0.01234567890123456, 0.02345678901234567)
    assert decimal_point_repairs(long) == []


# ------------------------------------------------------------------ findings

NEAR = Pose(translation=(0.2, 0.0, 0.0))

# (id, description, line, words of the message, words of the hint)
FINDINGS = [
    (
        "triangle-inequality",
        one_link(replace(BOX, rotary=rotary(0.3, 0.1, 0.1)), pose=NEAR),
        11,
        "'arm': the principal moments 0.1, 0.1, 0.3 kg·m² violate the triangle inequality: "
        "0.1 + 0.1 < 0.3 by 0.1 (33.3 %); radius of gyration 0.548 m",
        "ixx 0.3 should be 0.03",
    ),
    (
        "inertia-not-positive",
        one_link(replace(BOX, rotary=rotary(0.01, 0.01, 0.01, xy=0.05))),
        11,
        "principal moments -0.04, 0.01, 0.06",
        "ixy 0.05 should be 0.005",
    ),
    (
        "negative-mass",
        one_link(replace(BOX, mass=-2.0)),
        11,
        "mass must be ≥ 0, got -2 kg",
        "did you mean 2?",
    ),
    (
        "inertia-without-mass",
        one_link(replace(BOX, mass=0.0)),
        11,
        "link 'arm' has a moment of inertia but no mass",
        "write the mass, or set the inertia to zero if the link is only a frame",
    ),
    (
        "mass-without-inertia",
        one_link(Inertia(2.0, (1.0, 1.0, 1.0))),
        11,
        "link 'arm': the mass is 2 kg, but the moment of inertia is 0",
        "if the link is a point mass, no action is needed; otherwise write the inertia about "
        "the centre of mass",
    ),
    ("placeholder-inertia", one_link(replace(BOX, rotary=rotary(1, 1, 1))), 11, "1, 1, 1", "CAD"),
    (
        "radius-of-gyration",
        one_link(replace(BOX, rotary=rotary(20.0, 20.0, 20.0))),
        11,
        "': the radius of gyration is 4.47 m with 1 kg",
        "kg·mm²",
    ),
    (
        "radius-of-gyration",
        one_link(replace(BOX, rotary=rotary(0.36, 0.36, 0.36))),
        11,
        "0.6 m with 1 kg, but joints, frames and centre of mass span 0.1 m",
        "units",
    ),
    ("axis-not-unit", one_link(axis=(0.0, 3.0, 4.0)), 101, "length 5", "0, 0.6, 0.8"),
    ("limits-inverted", one_link(limits=Limits(1.0, -1.0)), 101, "1 is above the upper -1", "swap"),
    ("limits-in-degrees", one_link(limits=Limits(-115.0, 90.0)), 101, "-115 and 90 rad", "-2.007"),
    ("limits-zero-range", one_link(limits=Limits(0.0, 0.0)), 101, "both limits are 0", "fixed"),
    ("limits-zero-effort", one_link(limits=Limits(effort=0.0)), 101, "effort", "unknown"),
    ("limits-zero-velocity", one_link(limits=Limits(velocity=0.0)), 101, "velocity", "unknown"),
    (
        "effort-limits-without-zero",
        one_link(limits=Limits(effort=8.0, effort_lower=2.0)),
        101,
        "joint 'j1': the effort limits 2 and 8 must include 0",
        "signs",
    ),
    (
        "effort-limits-without-zero",
        one_link(limits=Limits(effort=-3.0, effort_lower=-5.0)),
        101,
        "joint 'j1': the effort limits -5 and -3 must include 0",
        "signs",
    ),
    (
        "effort-limits-without-zero",
        one_link(limits=Limits(effort=-5.0)),
        101,
        "joint 'j1': the effort limit must be ≥ 0, got -5",
        "did you mean 5?",
    ),
    (
        "rest-outside-limits",
        one_link(limits=Limits(-2.0, 2.0), stiffness=5.0, rest=30.0),
        101,
        "rest position 30 rad of the spring is far outside the limits from -2 to 2",
        "if the position is in degrees, write 0.5236",
    ),
    (
        "rest-outside-limits",
        one_link(kind="prismatic", limits=Limits(0.0, 0.2), stiffness=5.0, rest=-30.0),
        101,
        "rest position -30 m of the spring is far outside the limits from 0 to 0.2",
        "in m",
    ),
    (
        "negative-damping",
        one_link(damping=-0.5),
        101,
        "damping must be ≥ 0, got -0.5",
        "did you mean 0.5?",
    ),
    (
        "negative-friction",
        one_link(friction=-0.5),
        101,
        "friction must be ≥ 0, got -0.5",
        "did you mean 0.5?",
    ),
    (
        "negative-armature",
        one_link(armature=-0.5),
        101,
        "armature must be ≥ 0, got -0.5",
        "did you mean 0.5?",
    ),
    (
        "negative-stiffness",
        one_link(stiffness=-5.0),
        101,
        "stiffness must be ≥ 0, got -5",
        "did you mean 5?",
    ),
    ("multi-dof-spring", one_link(kind="spherical", stiffness=5.0), 101, "spring", "--no-springs"),
    ("no-inertia-at-joint", one_link(None), 101, "its child links have no mass", "--armature j1="),
    (
        "no-inertia-at-joint",
        one_link(Inertia(1.0, (0.0, 0.0, 0.7)), axis=(0.0, 0.0, 1.0)),
        101,
        "its child links have no inertia about its axis",
        "to link 'arm'",
    ),
    (
        "no-inertia-at-joint",
        one_link(Inertia(0.0, (0.0, 0.0, 0.0), BOX.rotary), kind="prismatic"),
        101,
        "its child links have no mass",
        "lock the joint",
    ),
    (
        "massless-link",
        describe([joint("j1", "base", "a"), joint("j2", "a", "b")], {"b": BOX}),
        101,
        "link 'a' moves and has no mass, but its child links have mass",
        "have different axes",
    ),
    (
        "massless-link",
        describe([joint("j1", "base", "a", armature=0.1), joint("j2", "a", "b")], {"b": BOX}),
        101,
        "link 'a' moves and has no mass, but its child links have mass",
        "joint 'j1' has an armature or a rotor",
    ),
    (
        "massless-link",
        describe(
            [
                joint("j1", "base", "a"),
                joint("motor", "base", "rotor", mimic=Mimic("j1", 50.0)),
                joint("j2", "a", "b"),
            ],
            {"rotor": BOX, "b": BOX},
        ),
        101,
        "link 'a' moves and has no mass, but its child links have mass",
        "joint 'j1' has an armature or a rotor",
    ),
    (
        "massless-link",
        describe(
            [joint("j1", "base", "a"), joint("j2", "a", "b", mimic=Mimic("j1", -1.0))],
            {"b": BOX},
        ),
        101,
        "link 'a' moves and has no mass, but its child links have mass",
        "have different axes",
    ),
    (
        "nothing-moves",
        one_link(kind="fixed"),
        0,
        "all joints of this robot are fixed",
        "floating-base",
    ),
    (
        "pose-outside-limits",
        replace(
            one_link(limits=Limits(-1.0, 1.0)),
            poses=(PoseEntry("home", SourceLocation("arm", 7), {"j1": 1.5}),),
        ),
        7,
        "pose 'home' is outside the joint limits: 'j1' is at 1.5 rad",
        "correct the pose",
    ),
    (
        "mimic-ratio-zero",
        describe(
            [joint("j1", "base", "a"), joint("j2", "a", "b", mimic=Mimic("j1", 0.0))],
            {"a": BOX, "b": BOX},
        ),
        102,
        "joint 'j2' mimics 'j1' with ratio 0",
        "multiplier",
    ),
    (
        "repeated-inertial",
        describe(
            [joint("j1", "base", "a"), joint("j2", "a", "b"), joint("j3", "b", "c")],
            {"a": BOX, "b": BOX, "c": BOX},
        ),
        11,
        "3 links have the same inertial parameters: 'a', 'b', 'c'",
        "values of each link",
    ),
]


@pytest.mark.parametrize(
    ("what", "description", "line", "message", "hint"), FINDINGS, ids=[row[0] for row in FINDINGS]
)
def test_findings(what, description, line, message, hint):
    """A defect is reported once, at its level and line, with the values and a hint."""
    (one,) = findings_in(description, what)
    assert one.level == VALIDATION_IDS[what][0]
    assert one.location.line == line
    assert message in one.message
    assert hint in one.hint


def test_every_id_has_a_test():
    """No finding is listed that no description can cause."""
    assert {row[0] for row in FINDINGS} == set(VALIDATION_IDS)


def test_ids_are_unique_kebab_case_sentences():
    """Ids are kebab-case, unique, and have one sentence each."""
    assert not set(VALIDATION_IDS) & set(READING_IDS)
    for what, (_, meaning) in VALIDATION_IDS.items():
        assert re.fullmatch(r"[a-z]+(-[a-z]+)*", what)
        assert meaning[0].isupper()
        assert meaning.endswith(".")


SOUND = [
    ("a plain link", one_link()),
    ("0.707 for an axis", one_link(axis=(0.707, 0.707, 0.0))),
    ("limits of a continuous joint", one_link(kind="continuous", limits=Limits(0.0, 0.0))),
    ("armature for a massless link", one_link(None, armature=0.1)),
    ("a point mass off the axis", one_link(replace(BOX, com=(0.0, 0.1, 0.0)))),
    (
        "a follower without mass",
        describe([joint("j1", "base", "a"), joint("j2", "a", "b", mimic=Mimic("j1"))], {"a": BOX}),
    ),
    (
        "a massless tool frame",
        describe([joint("j1", "base", "a"), joint("t", "a", "tool", "fixed")], {"a": BOX}),
    ),
]


@pytest.mark.parametrize("description", [row[1] for row in SOUND], ids=[row[0] for row in SOUND])
def test_valid_descriptions_have_no_findings(description):
    assert findings_in(description) == []


@for_each("seed", range(20))
def test_real_bodies_are_never_called_impossible(seed):
    """Random trees of point masses cause no finding but the length of their random axes."""
    description, _ = random_tree(seed)
    assert {finding.id for finding in findings_in(description)} <= {"axis-not-unit"}


def test_the_joint_named_is_the_one_whose_mass_matrix_entry_vanishes():
    """A joint through the centre of a point mass is named; the next one inboard is not."""
    joints = [
        joint("j1", "base", "a", pose=NEAR, axis=(0.0, 0.0, 1.0)),
        joint("j2", "a", "b", pose=NEAR, axis=(0.0, 0.0, 1.0)),
    ]
    description = describe(joints, {"b": Inertia(1.0)})
    assert [f.location.line for f in findings_in(description, "no-inertia-at-joint")] == [102]


def test_a_broken_file_is_not_validated():
    """Without a description only the reader's own findings are reported."""
    error = Finding("cycle", "error", SourceLocation("a.urdf", 3), "closed")
    assert validate(Reading(None, [error])) == [error]


def test_findings_come_by_line():
    """The reader's findings and the physical ones are one list in the order of the file."""
    late = Finding("misspelt", "warning", SourceLocation("arm.urdf", 50), "late")
    description = one_link(replace(BOX, mass=-1.0), damping=-1.0)
    lines = [f.location.line for f in validate(Reading(description, [late]))]
    assert lines == sorted(lines)
    assert 50 in lines


def test_descriptions_with_warnings_load():
    """Every description in the table without errors loads as an arm, or fails with a reason."""
    refused = {"nothing-moves", "multi-dof-spring"}
    for what, description, *_ in FINDINGS:
        if what not in refused:
            assert build(description).n


# ------------------------------------------------------- published descriptions

REMARKS = {
    "I_triangle": "triangle-inequality",
    "I_non_psd": "inertia-not-positive",
    "I_zero_mass_nonzero_inertia": "inertia-without-mass",
    "I_zero_inertia": "mass-without-inertia",
    "limit_zero_effort": "limits-zero-effort",
    "limit_zero_velocity": "limits-zero-velocity",
}


def remarks():
    """File name and {remark: count} of every row of the table of published files."""
    rows = (COLLECTION / "README.md").read_text().splitlines()
    for row in rows:
        cells = [cell.strip() for cell in row.split("|")]
        if len(cells) > 7 and cells[1].endswith(".urdf"):
            items = [item.strip() for item in cells[7].split(";")]
            # the last remark may be cut short by the table
            yield cells[1], items


@needs_published_files
def test_known_defects_of_published_files_are_found():
    """Every defect that the list of published files names is found, as often as it says."""
    rows = list(remarks())
    assert len(rows) > 30
    for name, items in rows:
        counts = Counter(f.id for f in validate(read(URDF / name)))
        for item in items:
            match = re.fullmatch(r"(\w+)(?:\((\d+)\))?:\S+", item)
            if match and match[1] in REMARKS:
                assert counts[REMARKS[match[1]]] == int(match[2] or 1), (name, item)
            if item.startswith(("I_gyr>1.5m", "unit_inertia")):
                what = "radius-of-gyration" if "gyr" in item else "placeholder-inertia"
                assert counts[what] >= 1, (name, item)


@pytest.mark.parametrize(
    "more",
    [
        {"limits": Limits(-2.0, 2.0), "stiffness": 5.0, "rest": 2.5},
        {"limits": Limits(10.0, 20.0)},
        {"limits": Limits(10.0, 20.0), "stiffness": 5.0},
        {"stiffness": 5.0, "rest": 30.0},
        {"kind": "continuous", "limits": Limits(-2.0, 2.0), "stiffness": 5.0, "rest": 30.0},
        {"limits": Limits(effort=4.0, effort_lower=0.0)},
        {"limits": Limits(effort=0.0, effort_lower=-4.0)},
        {"limits": Limits(effort=4.0)},
    ],
)
def test_preloaded_springs_and_one_sided_motors_are_usual(more):
    """No warning about a rest position near the limits or without any, or 0 as an effort limit."""
    assert not findings_in(one_link(**more), "rest-outside-limits")
    assert not findings_in(one_link(**more), "effort-limits-without-zero")


@pytest.mark.parametrize(
    "more",
    [
        {"limits": Limits(-12.5, 12.5)},
        {"limits": Limits(-18.85, 18.85)},
        {"limits": Limits(-1e3, 1e3)},
        {"kind": "prismatic", "limits": Limits(0.0, 90.0)},
    ],
)
def test_limits_of_two_revolutions_or_many_are_usual(more):
    """Cables allow two revolutions; 1000 rad replaces no limit; travel has no degrees."""
    assert not findings_in(one_link(**more), "limits-in-degrees")


def test_degrees_without_a_unit_are_warned_about_in_files(tmp_path):
    """`rest: 30` in YAML and `springref="30"` in radians in MJCF get the same warning."""
    yaml = b"""robolin: 1
name: swing
joints:
  - {name: pivot, type: revolute, parent: base, child: bar, axis: [0, 1, 0], stiffness: 3,
     limits: {lower: -2, upper: 2, effort: [2, 8]},
     rest: 30}
links:
  - {name: bar, mass: 1, com: [0, 0, -0.5], shape: {rod: 1}}
"""
    file = tmp_path / "arm.yaml"
    file.write_bytes(yaml)
    warnings = [f for f in validate(read(str(file))) if f.level == "warning"]
    assert [(f.id, f.location.line) for f in warnings] == [
        ("effort-limits-without-zero", 5),
        ("rest-outside-limits", 6),
    ]
    file.write_bytes(yaml.replace(b"30", b"30deg").replace(b"[2, 8]", b"[-2, 8]"))
    assert not [f for f in validate(read(str(file))) if f.level == "warning"]
    pytest.importorskip("mujoco")
    file = tmp_path / "arm.xml"
    file.write_text("""<mujoco><compiler angle="radian"/><worldbody><body name="bar">
<joint name="pivot" axis="0 1 0" range="-2 2" limited="true" stiffness="3" springref="30"
 actuatorfrcrange="2 8" actuatorfrclimited="true"/>
<geom type="capsule" size=".02" fromto="0 0 0 0 0 -1"/></body></worldbody></mujoco>""")
    warnings = [f.id for f in validate(read(str(file))) if f.level == "warning"]
    assert sorted(warnings) == ["effort-limits-without-zero", "rest-outside-limits"]


BEHIND_A_BROKEN_LINK = """<robot name="r">
<link name="base"/>
<link name="upper"><inertial><mass value="one"/></inertial></link>
<link name="lower"><inertial><mass value="-2"/>
<inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/></inertial></link>
<joint name="a" type="revolute"><parent link="bas"/><child link="upper"/><axis xyz="0 0 1"/>
<limit lower="2" upper="1" effort="1" velocity="1"/></joint>
<joint name="b" type="continuous"><parent link="upper"/><child link="lower"/><axis xyz="0 0 2"/>
</joint>
</robot>"""

SAME_IN_YAML = """robolin: 1
name: r
joints:
  - {name: a, type: revolute, parent: bas, child: upper, axis: [0, 0, 1],
     limits: {lower: 2, upper: 1}}
  - {name: b, type: revolute, parent: upper, child: lower, axis: [0, 0, 2]}
links:
  - {name: base}
  - {name: upper, mass: one}
  - {name: lower, mass: -2, inertia: {ixx: 0.1, iyy: 0.1, izz: 0.1}}
"""


@pytest.mark.parametrize("reader", [read_urdf, read_yaml])
def test_problems_after_an_error_are_reported(reader):
    """One run lists all problems, also of links and joints after one that is broken."""
    text = BEHIND_A_BROKEN_LINK if reader is read_urdf else SAME_IN_YAML
    ids = {x.id for x in partial_findings(reader(text.encode(), "r"))}
    assert {"number-malformed", "unknown-link", "negative-mass"} <= ids
    assert {"limits-inverted", "axis-not-unit"} <= ids


EVERY_PART_BROKEN = """<robot name="staged">
<link name="base"/>
<link name="l1"><inertial><mass value="-1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0"
 izz="1"/></inertial></link>
<link name="l2"><inertial><mass value="abc"/><inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0"
 izz="0.9"/></inertial></link>
<link name="l3"/><link name="l4"/><link name="orphan"/><link name="stray"/>
<joint name="j1" type="revolute"><parent link="base"/><child link="l1"/><axis xyz="0 0 1"/>
<limit lower="1" upper="-1" effort="0" velocity="1"/></joint>
<joint name="j2" type="revolut"><parent link="l1"/><child link="l2"/><axis xyz="0 0 0"/></joint>
<joint name="j3" type="continuous"><parent link="l2"/><child link="l33"/><axis xyz="0 1 0"/>
<dynamics damping="-2"/></joint>
<joint name="j4" type="continuous"><parent link="l3"/><child link="l4"/><axis xyz="0 3 0"/></joint>
</robot>"""


def test_checks_of_motion_and_structure_run_after_errors():
    """Errors hide only the findings that would repeat them."""
    findings = partial_findings(read_urdf(EVERY_PART_BROKEN.encode(), "r"))
    assert {x.id for x in findings if x.level == "error"} == {
        *("number-malformed", "unknown-joint-type", "zero-axis", "unknown-link", "several-roots")
    }
    assert {x.id for x in findings if x.level != "error"} == {
        *("negative-mass", "placeholder-inertia", "triangle-inequality", "limits-inverted"),
        *("limits-zero-effort", "negative-damping", "axis-not-unit", "no-inertia-at-joint"),
    }
    (roots,) = (x for x in findings if x.id == "several-roots")
    assert "'orphan'" in roots.message
    assert "'l3'" not in roots.message


MALFORMED = """<robot name="m">
<link name="base"/>
<link name="l1"><inertial><mass value="-1"/></inertial>
<link name="l2><inertial><mass value="1"/></inertial></link>
<link name="l3"><inertial><mass value="-3"/></inertial></link>
<joint name="j1" type="revolute"><parent link="base"/><child link="l1"></joint>
<joint name="j2" type="revolut"><parent link="l1"/><child link="l2"/><axis xyz="0 0 1"/></joint>
<joint name="j3" type="continuous"><parent link="l2"/><child link="l3"/><axis xyz="0 0 0"/></joint>
</robot>"""


def test_all_malformed_elements_are_reported():
    """The rest of a file with malformed XML is checked too."""
    findings = partial_findings(read_urdf(MALFORMED.encode(), "r"))
    assert [(x.id, x.location.line) for x in findings if x.id == "xml-malformed"] == [
        ("xml-malformed", 4),
        ("xml-malformed", 6),
        ("xml-malformed", 9),
    ]
    assert {x.id for x in findings} - {"xml-malformed", "mass-without-inertia"} == {
        *("negative-mass", "unknown-joint-type", "zero-axis")
    }
