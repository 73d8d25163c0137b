"""The YAML format is read as it is written: every key, every default, every number."""

from __future__ import annotations

from hashlib import sha256
from math import cos, pi, sin

import pytest

from robolin.core.arm import NO_TURN, Inertia, Limits, Mimic
from robolin.description.model import Description
from robolin.description.yaml.yaml_arm import read_yaml
from tests.description.bad_yaml import VALID, damping, edited

FULL = """\
robolin: 1
name: full
description: every key of the format
source: made up
licence: none
gravity: [0, 0, -1.62]
joints:
  - name: turret
    type: revolute
    parent: ground
    child: upper
    origin: {xyz: [1, 2, 3], rpy: [0, 0, 1.5707963267948966]}
    axis: [0, 0, 2]
    limits: {lower: -1, upper: 2, velocity: 3, effort: 4}
    damping: 0.1
    friction: 0.2
    armature: 0.3
  - name: slide
    type: prismatic
    parent: upper
    child: lower
    axis: [1, 0, 0]
    rotor_inertia: 2e-3
    gear_ratio: -10
    mimic: {joint: turret, ratio: -0.5, offset: 0.25}
  - {name: mount, type: fixed, parent: lower, child: flange, origin: {xyz: [0, 0, 1]}}
links:
  - name: upper
    mass: 5
    com: [0.1, 0.2, 0.3]
    inertia: {ixx: 1, iyy: 2, izz: 2.5, ixy: 0.01, ixz: 0.02, iyz: 0.03}
  - {name: lower, mass: 2, com: [0, 0, 0.5]}
"""


def described(text: str) -> Description:
    reading = read_yaml(text.encode(), "arm.yaml")
    assert not reading.findings
    assert reading.description is not None
    return reading.description


def test_every_key_is_read() -> None:
    """Limits, damping, armature, mimic, gravity and source are those of the file."""
    arm = described(FULL)
    turret, slide, mount = arm.joints

    assert (arm.name, arm.root, arm.gravity) == ("full", "ground", (0.0, 0.0, -1.62))
    assert arm.notes == ("source: made up",)
    assert arm.digest == sha256(FULL.encode()).hexdigest()
    assert turret.limits == Limits(-1.0, 2.0, 3.0, 4.0)
    assert (turret.damping, turret.friction, turret.armature) == (0.1, 0.2, 0.3)
    assert turret.axis == (0.0, 0.0, 2.0)
    assert slide.mimic == Mimic("turret", -0.5, 0.25)
    assert (mount.kind, mount.pose.translation) == ("fixed", (0.0, 0.0, 1.0))


def test_findings_name_the_line_of_each_key() -> None:
    """A later finding about an axis, a limit or damping can name its own line."""
    turret, slide, _ = described(FULL).joints

    parts = ("parent", "child", "axis", "limit", "dynamics", "friction", "armature")
    assert [turret.at(part).line for part in parts] == [10, 11, 13, 14, 15, 16, 17]
    assert [slide.at(part).line for part in ("dynamics", "mimic", "limit")] == [23, 25, 18]


def test_armature_is_the_rotor_seen_through_the_gear() -> None:
    """The armature is the square of the gear ratio, of either sign, times the rotor inertia."""
    assert described(FULL).joints[1].armature == pytest.approx(100 * 2e-3, rel=1e-15)


def test_origin_rotates_about_fixed_axes() -> None:
    """rpy rotates about x, then y, then z of the parent, and does not rotate xyz."""
    pose = described(FULL).joints[0].pose
    c, s = cos(pi / 2), sin(pi / 2)

    assert pose.translation == (1.0, 2.0, 3.0)
    assert pose.rotation == pytest.approx((c, -s, 0, s, c, 0, 0, 0, 1), abs=1e-16)
    assert described(FULL).joints[1].pose.rotation == NO_TURN


def test_inertia_is_kept_in_our_order() -> None:
    """Inertias are read by name and stored as xx xy xz yy yz zz."""
    links = {link.name: link for link in described(FULL).links}

    assert links["upper"].inertia == Inertia(
        5.0, (0.1, 0.2, 0.3), (1.0, 0.01, 0.02, 2.0, 0.03, 2.5)
    )
    assert links["lower"].inertia == Inertia(2.0, (0.0, 0.0, 0.5))
    assert links["upper"].inertia_location is not None
    assert links["upper"].inertia_location.line == 31


def test_base_and_end_frames_need_no_listing() -> None:
    """The first joint's parent and a fixed joint's last child are massless frames."""
    links = {link.name: link.inertia for link in described(FULL).links}

    assert links["ground"] is None
    assert links["flange"] is None
    assert set(links) == {"ground", "flange", "upper", "lower"}


def test_gravity_is_unset_without_its_key() -> None:
    """Without `gravity:` the description has none of its own."""
    assert described(edited(VALID, "gravity: [0, 0, -9.81]\n", "")).gravity is None


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("1e-3", 1e-3),
        ("1E5", 1e5),
        (".5", 0.5),
        ("5.", 5.0),
        ("-1", -1.0),
        ("+2", 2.0),
        ("0", 0.0),
        ("-.5e+2", -50.0),
        ("0.1000000000000000055", 0.1),
        ("123456789012345678901234567890", 123456789012345678901234567890.0),
    ],
)
def test_decimal_numbers_are_numbers(written: str, value: float) -> None:
    """Every decimal form is the nearest double, including those that YAML 1.1 calls text."""
    assert described(damping(written)).joints[1].damping == value


@pytest.mark.parametrize("name", ["yes", "1", "on", "'quoted name'", "0x10", "1.5", "größe"])
def test_names_are_text_whatever_they_look_like(name: str) -> None:
    """A name is never turned into a truth value or a number."""
    assert described(edited(VALID, "name: arm", f"name: {name}")).name == name.strip("'")


def test_line_ends_marks_and_directives_do_not_matter() -> None:
    """A byte order mark, CRLF, a YAML directive and document ends give the same description."""
    plain = read_yaml(VALID.encode(), "arm.yaml").description
    assert plain is not None
    for data in (
        b"\xef\xbb\xbf" + VALID.encode(),
        VALID.replace("\n", "\r\n").encode(),
        b"%YAML 1.2\n---\n" + VALID.encode() + b"...\n",
    ):
        reading = read_yaml(data, "arm.yaml")
        assert not reading.findings
        assert reading.description is not None
        assert [link.inertia for link in reading.description.links] == [
            link.inertia for link in plain.links
        ]


def test_json_is_yaml() -> None:
    """The same arm as JSON is read, so that programs can write it."""
    json = (
        '{"robolin": 1, "name": "j", "joints": [{"name": "a", "type": "revolute", '
        '"parent": "base", "child": "l", "axis": [0, 0, 1e0]}], '
        '"links": [{"name": "l", "mass": 1.5}]}'
    )

    assert described(json).joints[0].axis == (0.0, 0.0, 1.0)
