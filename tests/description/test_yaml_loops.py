"""Loops in YAML arms: valid keys, errors with their lines, and the effect of options."""

from __future__ import annotations

from pathlib import Path

import pytest

import robolin
from robolin.description.yaml.yaml_arm import read_yaml
from tests.description.bad_urdf import BadFile

GOOD = """\
robolin: 1
name: linkage
joints:
  - {name: a, type: revolute, parent: base, child: one, axis: [0, 0, 1]}
  - {name: b, type: revolute, parent: one, child: two, axis: [0, 0, 1], origin: {xyz: [1, 0, 0]}}
  - {name: c, type: revolute, parent: base, child: three, axis: [0, 0, 1]}
  - {name: end, type: fixed, parent: two, child: tip, origin: {xyz: [1, 0, 0]}}
links:
  - {name: one, mass: 1}
  - {name: two, mass: 1, com: [0.5, 0, 0]}
  - {name: three, mass: 1, com: [1, 0, 0]}
loops:
  - name: pin
    kind: point
    first: tip
    second: {link: three, xyz: [2, 0, 0], rpy: [0, 0, 1.5]}
"""


def edited(old: str, new: str) -> str:
    assert old in GOOD
    return GOOD.replace(old, new, 1)


MAPPING = GOOD.partition("loops:")[0] + "loops: {name: pin}\n"
TWICE = GOOD + "  - {name: pin, kind: rigid, first: tip, second: base}\n"
NO_SECOND = GOOD.partition("    second")[0]

# defect, the file, the finding's id and line, and its words
BAD = [
    BadFile(*row)
    for row in (
        ("link", edited("first: tip", "first: tpi"), "unknown-link", 15, "'tpi'"),
        ("link of a frame", edited("link: three,", "link: tree,"), "unknown-link", 16, "'tree'"),
        ("kind", edited("point", "pint"), "unknown-loop-kind", 14, "got 'pint'"),
        ("no kind", edited("    kind: point\n", ""), "missing-key", 13, "no 'kind'"),
        ("no second", NO_SECOND, "missing-key", 13, "no 'second'"),
        ("no name", edited("name: pin\n    kind", "kind"), "missing-key", 13, "no 'name'"),
        ("no link", edited("link: three, ", ""), "missing-key", 16, "no 'second.link'"),
        ("key", edited("kind: point", "kind: point\n    king: 1"), "unknown-key", 15, "king"),
        ("key of a frame", edited("rpy:", "ypr:"), "unknown-key", 16, "second.ypr"),
        ("two numbers", edited("[2, 0, 0]", "[2, 0]"), "wrong-count", 16, "second.xyz"),
        ("a list as end", edited("first: tip", "first: [tip]"), "wrong-kind", 15, "first"),
        ("loops as a mapping", MAPPING, "wrong-kind", 12, "loops must be a list, got a mapping"),
        ("one link", edited("first: tip", "first: three"), "loop-to-itself", 16, "'three'"),
        ("twice", TWICE, "duplicate-loop", 17, "defined twice"),
    )
]


def load(tmp_path: Path, text: str, **options: object) -> robolin.Arm:
    path = tmp_path / "linkage.yaml"
    path.write_text(text)
    return robolin.load(path, **options)


@pytest.mark.parametrize("bad", BAD, ids=lambda bad: bad.name)
def test_bad_loops_are_refused_at_their_line(bad: BadFile) -> None:
    """The first error has the expected id, line, words and a hint; no description is returned."""
    reading = read_yaml(bad.data, "bad.yaml")

    assert reading.description is None
    first = reading.findings[0]
    assert (first.id, first.location.line, first.level) == (bad.id, bad.line, "error")
    assert bad.says in first.message
    assert first.hint


def test_a_misspelt_link_is_guessed() -> None:
    """The hint names the link that was probably meant, frames of fixed joints included."""
    (finding,) = read_yaml(edited("first: tip", "first: tpi").encode(), "bad.yaml").findings
    assert finding.hint == "did you mean 'tip'?"


def test_loops_are_placed_on_moving_links(tmp_path: Path) -> None:
    """An end on a fixed joint's child is moved to the link that carries it, with its offset."""
    (pin,) = load(tmp_path, GOOD).loops

    assert (pin.name, pin.kind) == ("pin", "point")
    assert (pin.first.name, pin.first.link, pin.first.pose.translation) == ("tip", 2, (1, 0, 0))
    assert (pin.second.name, pin.second.link, pin.second.pose.translation) == (
        "three",
        1,
        (2, 0, 0),
    )
    assert pin.second.pose.rotation[0] == pytest.approx(0.0707372, abs=1e-6)


def test_the_contract_tells_of_loops(tmp_path: Path) -> None:
    """Closed, left out, or not there at all: the contract says which."""
    assert load(tmp_path, GOOD).contract["loops"] == "closed: pin (point: 'tip' on 'three')"
    assert load(tmp_path, GOOD, open_loops=True).contract["loops"] == "open as requested: pin"
    assert "loops" not in robolin.load("two-link").contract


def test_locking_keeps_loops_that_still_move(tmp_path: Path) -> None:
    """A locked joint leaves the loop closure to the others."""
    (pin,) = load(tmp_path, GOOD, lock={"c": 0.0}).loops
    assert pin.second.link == 3


def test_a_loop_without_moving_joints_is_dropped_with_a_note(tmp_path: Path) -> None:
    """If all joints are locked where the loop is closed, the constraint is redundant."""
    text = GOOD.replace("loops:", "  - {name: four, mass: 1}\nloops:").replace(
        "links:",
        "  - {name: d, type: revolute, parent: base, child: four, axis: [0, 0, 1]}\nlinks:",
    )
    arm = load(tmp_path, text, lock={"a": 0.0, "b": 0.0, "c": 0.0})
    assert arm.loops == ()
    assert "closed by locked joints" in arm.contract["loops"]
    with pytest.raises(robolin.RobolinError, match=r"violation of 0\.959"):
        load(tmp_path, text, lock={"a": 0.0, "b": 1.0, "c": 0.0})


@pytest.mark.parametrize("option", [{"tip": "two"}, {"base": "one"}])
def test_a_loop_cut_by_base_or_tip_is_refused(tmp_path: Path, option: dict[str, str]) -> None:
    """A chain that omits joints of a loop requires that the loop is opened."""
    with pytest.raises(robolin.UsageError, match="contains") as caught:
        load(tmp_path, GOOD, **option)
    assert "--open-loops" in caught.value.hint
    assert load(tmp_path, GOOD, open_loops=True, **option).loops == ()


@pytest.mark.parametrize("name", ["four-bar", "five-bar"])
def test_bundled_linkages_are_closed_at_zero(name: str) -> None:
    """The numbers of the files close the loops as written, and its bars are uniform rods."""
    arm = robolin.load(name)
    assert abs(robolin.loop_constraints(arm, 0.0).open_by).max() < 1e-15
    for link in arm.links_tip_to_base:
        x, y, _ = (2 * c for c in link.inertia.com)
        length = (x * x + y * y) ** 0.5
        rod = [link.inertia.mass / 12 * value for value in (y * y, -x * y, 0, x * x, 0, length**2)]
        assert link.inertia.mass == pytest.approx(length)
        assert link.inertia.rotary == pytest.approx(rod)
