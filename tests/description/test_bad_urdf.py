"""Bad URDF is rejected at the line of the defect."""

from __future__ import annotations

import random
import re

import pytest

from robolin.description import xml_tree
from robolin.description.finding_ids import READING_IDS
from robolin.description.model import Reading
from robolin.description.urdf.urdf_reader import read_urdf
from tests.cases import in_groups
from tests.description.bad_urdf import BAD_URDF, BadFile, between, inertial, joint, robot
from tests.work import count_calls

VALID = """<?xml version="1.0"?>
<robot name="arm" xmlns:xacro="http://www.ros.org/wiki/xacro">
  <link name="base"/>
  <link name="upper">
    <inertial>
      <origin xyz="0.5 0 0" rpy="0 0 0.1"/>
      <mass value="1.5"/>
      <inertia ixx="0.1" ixy="0" ixz="0" iyy="0.2" iyz="0" izz="0.2"/>
    </inertial>
    <visual><geometry><box size="1 1 1"/></geometry></visual>
  </link>
  <link name="lower"/>
  <joint name="shoulder" type="revolute">
    <parent link="base"/> <child link="upper"/>
    <origin xyz="0 0 1" rpy="0 1.57 0"/> <axis xyz="0 0 1"/>
    <limit lower="-1" upper="1" effort="10" velocity="2"/>
    <dynamics damping="0.1" friction="0.2"/>
  </joint>
  <joint name="elbow" type="prismatic">
    <parent link="upper"/> <child link="lower"/>
    <mimic joint="shoulder" multiplier="0.5" offset="0.1"/>
  </joint>
  <transmission name="t"><joint name="shoulder"/></transmission>
</robot>
"""


def findings(text: str | bytes) -> list[tuple[str, int]]:
    data = text if isinstance(text, bytes) else text.encode()
    return [(finding.id, finding.location.line) for finding in read_urdf(data, "bad.urdf").findings]


@in_groups("bad", BAD_URDF)
def test_every_bad_file_is_refused_at_its_line(bad: BadFile) -> None:
    """The reading has no description and one error: the expected id, line and words."""
    reading = read_urdf(bad.data, "bad.urdf")

    assert reading.description is None
    errors = [finding for finding in reading.findings if finding.level == "error"]
    assert [(error.id, error.location.line) for error in errors] == [(bad.id, bad.line)]
    assert bad.says in errors[0].message
    assert str(errors[0].location).startswith(f"bad.urdf:{bad.line}")
    assert errors[0].hint


def test_the_table_is_large_and_its_names_are_different() -> None:
    """At least fifty rows, each with its own name."""
    assert len({bad.name for bad in BAD_URDF}) == len(BAD_URDF) >= 50


def test_every_id_is_listed_with_its_level() -> None:
    """All findings of the readers are in READING_IDS, in alphabetical order."""
    findings = [f for bad in BAD_URDF for f in read_urdf(bad.data, "bad.urdf").findings]

    assert all(READING_IDS[finding.id][0] == finding.level for finding in findings)
    assert list(READING_IDS) == sorted(READING_IDS)


def test_all_problems_are_reported_at_once_and_in_order() -> None:
    """Five mistakes in one file are five findings, sorted by line."""
    text = robot(
        '<link name="a"><inertial><mass value="x"/></inertial></link>',
        '<link name="a"/>',
        '<link name="b"/>',
        '<joint name="j" type="weld"><parent link="a"/><child link="b"/>',
        '<axis xyz="0 0"/>',
        '<dynamics damping="nan"/></joint>',
    )

    assert findings(text) == [
        ("number-malformed", 2),
        ("duplicate-link", 3),
        ("unknown-joint-type", 5),
        ("wrong-count", 6),
        ("number-not-finite", 7),
    ]


def test_one_misspelt_child_is_one_problem_with_a_suggestion() -> None:
    """A joint to a link that is not there does not also make the lonely link a second root."""
    text = robot('<link name="base"/>', '<link name="forearm"/>', between("j", "base", "forarm"))
    reading = read_urdf(text.encode(), "arm.urdf")

    assert [(finding.id, finding.hint) for finding in reading.findings] == [
        ("unknown-link", "did you mean 'forearm'?")
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (robot('<link name="a"><inertail/></link>'), ("misspelt", 2)),
        (joint('<Axis xyz="0 0 1"/>'), ("misspelt", 5)),
        (joint('<origin xzy="0 0 1"/>'), ("misspelt", 5)),
        (joint('<limit Effort="1"/>'), ("misspelt", 5)),
        (robot('<link name="a"/>', "<Link/>"), ("misspelt", 3)),
        (robot('<link name="a"><mass value="1"/></link>'), ("misplaced-element", 2)),
        (inertial('<mass value="1"/>\n<axis xyz="0 0 1"/>'), ("misplaced-element", 5)),
        (robot('<link name="a"/>', '<mimic joint="j"/>'), ("misplaced-element", 3)),
    ],
)
def test_likely_misspellings_are_warned_about(text: str, expected: tuple[str, int]) -> None:
    """An ignored element or attribute that resembles a known one is a warning."""
    reading = read_urdf(text.encode(), "arm.urdf")

    assert [(finding.id, finding.location.line) for finding in reading.findings] == [expected]
    assert all(
        READING_IDS[finding.id][0] == finding.level == "warning" for finding in reading.findings
    )
    assert reading.description is not None


def test_oversized_files_are_refused_before_they_are_parsed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Files above the size limit are rejected without parsing."""
    parsers = count_calls(monkeypatch, xml_tree, "_Builder")
    assert findings(b"<" * (xml_tree.LARGEST_FILE + 1)) == [("file-too-large", 0)]
    assert not parsers
    assert findings(VALID) == [("limit-missing", 19)]
    assert parsers


def test_too_many_elements_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """The number of elements is limited as well as the number of bytes."""
    monkeypatch.setattr(xml_tree, "MOST_ELEMENTS", 10)

    assert findings(robot(*['<link name="a"/>'] * 20)) == [("file-too-large", 11)]


@pytest.mark.parametrize(
    "name", ["utf-7", "idna", "hex", "malformed XML: undefined entity", "big5", "x" * 300]
)
def test_strange_encodings_never_escape_as_exceptions(name: str) -> None:
    """A reading is returned for every codec that the declaration names."""
    declaration = f'<?xml version="1.0" encoding="{name}"?>'
    assert isinstance(read_urdf((declaration + robot()).encode(), "r.urdf"), Reading)


def mutated(text: str, rng: random.Random) -> bytes:
    """Return the text after a few random edits of characters, bytes, attributes or elements."""
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(len(text))
        match rng.randrange(5):
            case 0:
                text = text[:at] + rng.choice("<>\"'&/=${}0.e-x é\0\n") + text[at + 1 :]
            case 1:
                text = text[:at] + text[at + rng.randint(1, 20) :]
            case 2:
                text = (
                    text[:at] + text[rng.randrange(len(text)) :][: rng.randint(1, 60)] + text[at:]
                )
            case 3:
                elements = list(re.finditer(r"<(\w+)[^<>]*/>", text)) or [None]
                if chosen := rng.choice(elements):
                    again = chosen.group() * rng.choice([0, 2])
                    text = text[: chosen.start()] + again + text[chosen.end() :]
            case 4:
                values = list(re.finditer(r'"[^"]*"', text)) or [None]
                if chosen := rng.choice(values):
                    value = rng.choice(["", "nan", "1e999", "upper", "0 0", "0 0 0", "fixed", "-1"])
                    text = f'{text[: chosen.start()]}"{value}"{text[chosen.end() :]}'
    data = bytearray(text.encode())
    if rng.random() < 0.2:
        data[rng.randrange(len(data))] = rng.randrange(256)
    return bytes(data)


@pytest.mark.slow
def test_no_mutation_of_a_file_is_a_crash() -> None:
    """A mutated file is a reading: a description without errors, or errors that are listed."""
    assert read_urdf(VALID.encode(), "arm.urdf").description is not None
    rng = random.Random(20240607)
    for _ in range(1000):
        reading = read_urdf(mutated(VALID, rng), "arm.urdf")
        errors = [finding for finding in reading.findings if finding.level == "error"]
        assert (reading.description is None) == bool(errors)
        assert all(READING_IDS[finding.id][0] == finding.level for finding in reading.findings)
        assert reading.description is None or reading.description.root
