"""Bad YAML is rejected at the line of the defect."""

from __future__ import annotations

import random
from functools import cache

import pytest
from yaml.scanner import Scanner

from robolin.description.finding_ids import READING_IDS
from robolin.description.model import Reading
from robolin.description.yaml import yaml_nodes
from robolin.description.yaml.yaml_arm import read_yaml
from tests.cases import in_groups
from tests.description.bad_urdf import BadFile
from tests.description.bad_yaml import BAD_YAML, TABLE, VALID, arm, damping, edited, table
from tests.work import count_calls


def findings(text: str | bytes) -> list[tuple[str, int]]:
    data = text if isinstance(text, bytes) else text.encode()
    return [(finding.id, finding.location.line) for finding in read_yaml(data, "bad.yaml").findings]


@cache
def reading_of(bad: BadFile) -> Reading:
    """Cached reading of a bad file, since some take long to read."""
    return read_yaml(bad.data, "bad.yaml")


def hint(text: str) -> str:
    (finding,) = read_yaml(text.encode(), "bad.yaml").findings
    return finding.hint


@pytest.mark.parametrize("text", [VALID, TABLE])
def test_base_files_are_valid(text: str) -> None:
    """The two files that every row of the table edits are read without a finding."""
    reading = read_yaml(text.encode(), "good.yaml")

    assert reading.description is not None
    assert not reading.findings


@in_groups("bad", BAD_YAML)
def test_every_bad_file_is_refused_at_its_line(bad: BadFile) -> None:
    """The first error has the expected id, line, words and a hint; no description is returned."""
    reading = reading_of(bad)

    assert reading.description is None
    first = reading.findings[0]
    assert (first.id, first.location.line, first.level) == (bad.id, bad.line, "error")
    assert bad.says in first.message
    assert str(first.location).startswith(f"bad.yaml:{bad.line}")
    assert first.hint


def test_one_mistake_is_one_finding() -> None:
    """No row's mistake is reported a second time in other words, except where it affects others."""
    spreading = {"no rows", "mapping of joints", "table as a list"}
    several = {bad.name for bad in BAD_YAML if len(reading_of(bad).findings) > 1}

    assert several <= spreading


def test_the_table_is_large_and_its_names_are_different() -> None:
    """At least eighty rows, each with its own name."""
    assert len({bad.name for bad in BAD_YAML}) == len(BAD_YAML) >= 80


def test_every_id_is_listed_with_its_level() -> None:
    """All findings of the reader in bad files are in READING_IDS."""
    findings = [finding for bad in BAD_YAML for finding in reading_of(bad).findings]

    assert all(READING_IDS[finding.id][0] == finding.level for finding in findings)


def test_a_wrong_type_hides_no_wrong_axis() -> None:
    """Other keys of a joint are checked even if its type is wrong."""
    text = arm("type: revolute", "type: revolut").replace("[0, 1, 0]", "[0, 0, 0]")
    assert sorted(rule for rule, _ in findings(text)) == ["unknown-joint-type", "zero-axis"]

    text = arm("type: revolute", "type: revolut").replace("    axis: [0, 1, 0]\n", "")
    assert [rule for rule, _ in findings(text)] == ["unknown-joint-type"]


def test_all_problems_are_reported_at_once_and_in_order() -> None:
    """Mistakes of every kind in one file are found in one pass and sorted by line."""
    text = VALID
    for old, new in [
        ("robolin: 1", "robolin: 3"),
        ("[0, 0, -9.81]", "[0, -9.81]"),
        ("parent: base", "parent: *base"),
        ("type: revolute", "type: revolut"),
        ("damping: 0.1", "damping: 1_0"),
        ("name: lower\n", "name: upper\n"),
    ]:
        text = text.replace(old, new, 1)

    assert findings(text) == [
        ("format-version", 1),
        ("wrong-count", 3),
        ("yaml-alias", 7),
        ("unknown-joint-type", 11),
        ("unknown-link", 13),
        ("number-malformed", 16),
        ("duplicate-link", 22),
    ]


def test_a_finding_has_a_column() -> None:
    """The location of a value is its line and its column, both from 1."""
    (finding,) = read_yaml(damping("x").encode(), "bad.yaml").findings

    assert str(finding.location) == "bad.yaml:16:14"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (arm("damping", "dampng"), "did you mean 'damping'?"),
        (arm("child: lower", "child: lowr"), "did you mean 'lower'?"),
        (arm("revolute", "revolut"), "did you mean 'revolute'?"),
        (table("standard", "standart"), "did you mean 'standard'?"),
        (table("d: 0", "d: 0, link: lnk1"), "did you mean 'link1'?"),
        (
            damping("180deg"),
            "write a number without an angle unit (as an angle it would be 3.141592653589793)",
        ),
        (
            damping("-pi/2"),
            "write a number without an angle unit (as an angle it would be -1.5707963267948966)",
        ),
        (
            damping("2*pi"),
            "write a number without an angle unit (as an angle it would be 6.283185307179586)",
        ),
        (damping("1_000"), "write the number without underscores: 1000"),
        (
            damping("'0.1'"),
            "remove the quotes: 0.1",
        ),
        (damping("-010"), "leading zeros can mean octal: write -10"),
    ],
)
def test_a_hint_says_what_was_probably_meant(text: str, expected: str) -> None:
    """A recognized mistake comes with its correction."""
    assert hint(text) == expected


LISTED_FRAMES = (
    VALID.replace("links:", "  - {name: m, type: fixed, parent: lower, child: tool}\nlinks:")
    + "  - {name: base}\n  - {name: tool, mass: 1}\n"
)


@pytest.mark.parametrize(("name", "slip"), [("base", "parent: bse"), ("tool", "child: tol")])
def test_a_misspelt_frame_is_not_taken_for_a_new_one(name: str, slip: str) -> None:
    """A base or tool that is listed is not doubled by a slip in the joint that names it."""
    text = edited(LISTED_FRAMES, f"{slip.split()[0]} {name}", slip)
    (finding,) = read_yaml(text.encode(), "bad.yaml").findings

    assert not findings(LISTED_FRAMES)
    assert (finding.id, finding.hint) == ("unknown-link", f"did you mean '{name}'?")


def test_an_unlisted_link_in_the_middle_is_refused() -> None:
    """Only the base and frames at the end may be unlisted, not a moving link without mass."""
    text = VALID.replace("  - name: lower\n    mass: 1\n", "")

    assert findings(text) == [("unknown-link", 13)]


def test_oversized_files_are_refused_before_they_are_parsed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Files above the size limit are rejected without parsing."""
    parsed = count_calls(monkeypatch, yaml_nodes, "_composed")
    assert findings(b"[" * (yaml_nodes.MAX_BYTES + 1)) == [("file-too-large", 0)]
    assert not parsed
    assert findings(VALID) == []
    assert parsed


@pytest.mark.parametrize("opening", [b"[", b"{a: ", b"- "])
def test_deep_nesting_is_rejected_where_it_exceeds_the_limit(
    opening: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The text after that location is not parsed, however long it is.

    The scanner reads up to 1024 characters ahead for the end of a key.
    """
    scanned = count_calls(monkeypatch, Scanner, "fetch_more_tokens")

    def work(depth: int) -> int:
        scanned.clear()
        assert findings(opening * depth) == [("yaml-too-deep", 1)]
        return len(scanned)

    assert 0 < work(20_000) == work(2000)


def test_values_that_have_no_meaning_are_warned_about() -> None:
    """Damping of a fixed joint and position limits of a continuous one are ignored aloud."""
    fixed = read_yaml(arm("revolute", "fixed").encode(), "arm.yaml")
    endless = read_yaml(arm("revolute", "continuous").encode(), "arm.yaml")

    assert [finding.id for finding in fixed.findings] == ["ignored-key"] * 3
    assert fixed.description is not None
    assert fixed.description.ignored[-1] == "joint 'elbow': damping"
    assert endless.description is not None
    assert endless.description.ignored == (
        "joint 'elbow': limits.lower",
        "joint 'elbow': limits.upper",
    )
    assert endless.description.joints[1].limits.lower is None


MARKS = "{}[]:,-&*!|>'\"%@`#?<~0.e\\é\0\t\n "


def mutated(text: str, rng: random.Random) -> bytes:
    """Return the text after a few random edits of characters, pieces, lines or bytes."""
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(len(text))
        match rng.randrange(4):
            case 0:
                text = (
                    text[:at] + rng.choice("{}[]:,-&*!|>'\"%@`#?<~0.e\\é\0\t\n ") + text[at + 1 :]
                )
            case 1:
                text = text[:at] + text[at + rng.randint(1, 20) :]
            case 2:
                text = (
                    text[:at] + text[rng.randrange(len(text)) :][: rng.randint(1, 60)] + text[at:]
                )
            case 3:
                lines = text.split("\n")
                lines[rng.randrange(len(lines))] = rng.choice(lines)
                text = "\n".join(lines)
    data = bytearray(text.encode())
    if rng.random() < 0.2:
        data[rng.randrange(len(data))] = rng.randrange(256)
    return bytes(data)


@pytest.mark.slow
@pytest.mark.parametrize("text", [VALID, TABLE])
def test_no_mutation_of_a_file_is_a_crash(text: str) -> None:
    """A mutated file is a reading: a description without errors, or errors that are listed."""
    rng = random.Random(19700101)
    for _ in range(150):
        reading = read_yaml(mutated(text, rng), "arm.yaml")
        errors = [finding for finding in reading.findings if finding.level == "error"]
        assert (reading.description is None) == bool(errors)
        assert all(READING_IDS[finding.id][0] == finding.level for finding in reading.findings)
        assert reading.description is None or reading.description.root
        for finding in reading.findings:
            assert f"{finding.message}{finding.hint}".isprintable()
