"""Small files that need much time, memory or output are rejected or truncated with a message."""

from __future__ import annotations

import tracemalloc
from collections import Counter
from collections.abc import Callable

import pytest

from robolin.description import xml_tree
from robolin.description.load import arm_of, model_options
from robolin.description.model import MOST_OF_A_KIND, Reading
from robolin.description.urdf.urdf_reader import read_urdf
from robolin.description.validate import validate
from robolin.description.yaml import yaml_nodes
from robolin.description.yaml.yaml_arm import read_yaml
from robolin.errors import SeveralErrors
from tests.description.bad_urdf import joint, robot

HEAD = "robolin: 1\nname: a\n"
VALID = joint('<axis xyz="0 0 1"/>')
MANY = 3000


def yaml(text: str) -> Reading:
    return read_yaml((HEAD + text).encode(), "a.yaml")


def urdf(text: str) -> Reading:
    return read_urdf(text.encode(), "a.urdf")


# as many values as are allowed here; tests/fuzz/bombs.py has files with more than robolin allows
FEW = 2000

TOO_LARGE: dict[str, Callable[[], Reading]] = {
    "a list": lambda: yaml("joints: [" + "0," * FEW + "]"),
    "lists in a list": lambda: yaml("joints: [" + "[]," * FEW + "]"),
    "keys": lambda: yaml("".join(f"k{i}: 0\n" for i in range(FEW // 2 + 1))),
    "bytes": lambda: yaml("#" * yaml_nodes.MAX_BYTES),
    "elements": lambda: urdf(robot("<a/>" * (xml_tree.MOST_ELEMENTS + 1))),
    "attributes": lambda: urdf(robot("<a " + " ".join(f'a{i}=""' for i in range(1001)) + "/>")),
}


@pytest.mark.parametrize("what", list(TOO_LARGE))
def test_excessive_size_is_rejected(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file is rejected for its size, with no other finding."""
    monkeypatch.setattr(yaml_nodes, "MAX_NODES", FEW)
    reading = TOO_LARGE[what]()
    assert reading.description is None
    assert [finding.id for finding in reading.findings] == ["file-too-large"]


MANY_FINDINGS: dict[str, Callable[[], Reading]] = {
    "duplicate keys": lambda: yaml("a: 0\n" * MANY),
    "unknown keys": lambda: yaml("".join(f"k{i}: 0\n" for i in range(MANY))),
    "anchors": lambda: yaml("a: [" + "&a 0," * MANY + "]"),
    "joints that are none": lambda: yaml("joints: [" + "0," * MANY + "]"),
    "links without name": lambda: urdf(robot("<link/>" * MANY)),
    "links of one name": lambda: urdf(robot('<link name="a"/>' * MANY)),
    "joints without anything": lambda: urdf(robot("<joint/>" * MANY)),
    "misspelt elements": lambda: urdf(robot("<lnik/>" * MANY)),
}


@pytest.mark.parametrize("what", MANY_FINDINGS)
def test_many_findings_of_a_kind_are_counted(what: str) -> None:
    """The first few are shown at their lines, one more finding states the total."""
    reading = MANY_FINDINGS[what]()
    counts = Counter(finding.id for finding in reading.findings)
    assert max(counts.values()) == MOST_OF_A_KIND + 1
    for name in [name for name, count in counts.items() if count > MOST_OF_A_KIND]:
        last = [finding for finding in reading.findings if finding.id == name][-1]
        assert "more findings of this kind" in last.message
    assert sorted(validate(reading), key=str) == sorted(reading.findings, key=str)


def test_the_error_of_a_file_with_many_problems_is_as_short() -> None:
    """The exception has no more parts than the list of findings."""
    with pytest.raises(SeveralErrors) as caught:
        arm_of(urdf(robot("<link/>" * MANY)), model_options({}))
    assert len(caught.value.parts) <= 2 * (MOST_OF_A_KIND + 1)


def test_the_list_of_ignored_elements_is_limited() -> None:
    """A file with very many different unknown elements has a short list of ignored ones."""
    reading = urdf(VALID.replace("</robot>", "".join(f"<t{i}/>" for i in range(MANY)) + "</robot>"))
    assert reading.description is not None
    assert len(reading.description.ignored) <= 1001
    assert "more kinds" in reading.description.ignored[-1]


def test_a_vector_of_a_million_numbers_is_not_read_to_its_end() -> None:
    """The message reports too many numbers, with no more memory than the file takes."""
    text = joint('<axis xyz="' + "1 " * 1_000_000 + '"/>')
    tracemalloc.start()
    messages = [each.message for each in urdf(text).findings]
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert any("100 or more numbers" in message for message in messages)
    assert most < 5 * len(text)


# accepted by all other checks


@pytest.mark.parametrize("space", ["\n", "  ", "\r\n\t ", "\ufeff\n"])
def test_white_space_before_the_declaration_is_a_note(space: str) -> None:
    """The file is read as if it were not there, with its lines counted from the true beginning."""
    text = '<?xml version="1.0"?>\n' + VALID
    plain, spaced = urdf(text), urdf(space + text)
    assert plain.description is not None
    assert spaced.description is not None
    assert next(finding.id for finding in spaced.findings if finding not in plain.findings) == (
        "space-before-xml"
    )
    lines = space.count("\n")
    assert [each.location.line - lines for each in spaced.description.joints] == [
        each.location.line for each in plain.description.joints
    ]
    assert [each.pose for each in spaced.description.joints] == [
        each.pose for each in plain.description.joints
    ]


@pytest.mark.parametrize(
    "part",
    ['<axis xyz="0 0 1"/>', '<origin xyz="1 0 0" rpy="0 0 1"/>', '<dynamics damping="1"/>'],
)
def test_a_repeated_equal_element_is_a_note(part: str) -> None:
    """A repeated element that is equal has no effect; one that differs is an error."""
    once, twice = urdf(joint(part)), urdf(joint(part + "\n" + part.replace(" x", "  x")))
    assert [each.id for each in twice.findings if each.level == "note"].count(
        "repeated-element"
    ) == 1
    assert (twice.description is None) == (once.description is None)
    if once.description and twice.description:
        assert [each.axis for each in once.description.joints] == [
            each.axis for each in twice.description.joints
        ]
    other = urdf(joint(part + "\n" + part.replace("1", "2")))
    assert "duplicate-element" in [each.id for each in other.findings]
