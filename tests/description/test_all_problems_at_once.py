"""`validate` reports every problem of a file in one run, also on and behind a broken link."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from robolin.description.building.keywords import ModelOptions
from robolin.description.inspection import file_findings
from robolin.description.load import read

LINKS = 7
LIMIT = {
    "urdf": '<limit lower="-1" upper="1" effort="10" velocity="2"/>',
    "sdf": "<limit><lower>-1</lower><upper>1</upper><effort>10</effort><velocity>2</velocity>"
    "</limit>",
}


def urdf_inertial(mass: object, ixx: object) -> str:
    entries = f'ixx="{ixx}" ixy="0" ixz="0" iyy="0.01" iyz="0" izz="0.01"'
    return f'<inertial><mass value="{mass}"/><inertia {entries}/></inertial>'


def sdf_inertial(mass: object, ixx: object) -> str:
    entries = f"<ixx>{ixx}</ixx><iyy>0.01</iyy><izz>0.01</izz>"
    return f"<inertial><mass>{mass}</mass><inertia>{entries}</inertia></inertial>"


INERTIAL = {"urdf": urdf_inertial, "sdf": sdf_inertial}


def link(form: str, k: int, mass: object = None, ixx: object = 0.01) -> str:
    """Link k, with an inertia of its own."""
    mass = 1.0 + 0.01 * k if mass is None else mass
    pose = f"<pose>0 0 {0.3 * k:.1f} 0 0 0</pose>" if form == "sdf" else ""
    return f'<link name="l{k}">{pose}{INERTIAL[form](mass, ixx)}</link>\n'


def joint(form: str, k: int, kind: str = "revolute", axis: str = "0 1 0", **more: str) -> str:
    """The joint between links k - 1 and k."""
    parent, child = more.get("parent", f"l{k - 1}"), more.get("child", f"l{k}")
    name, limit, inside = (
        more.get("name", f"j{k}"),
        more.get("limit", LIMIT[form]),
        more.get("dyn", ""),
    )
    if form == "sdf":
        ends = f"<parent>{parent}</parent><child>{child}</child>"
        parts = f"{ends}<axis><xyz>{axis}</xyz>{limit}{inside}</axis>"
    else:
        ends = f'<parent link="{parent}"/><child link="{child}"/><origin xyz="0 0 0.3"/>'
        parts = f'{ends}<axis xyz="{axis}"/>{limit}{inside}'
    return f'<joint name="{name}" type="{kind}">{parts}</joint>\n'


def damping(form: str, value: object) -> str:
    if form == "sdf":
        return f"<dynamics><damping>{value}</damping></dynamics>"
    return f'<dynamics damping="{value}"/>'


def problem(form: str, what: str, k: int) -> str:
    """Link k and its joint, with one problem."""
    plain, limit = link(form, k), LIMIT[form]
    swapped = limit.replace("-1", "3")
    wrong_links = {
        "negative-mass": link(form, k, mass=-1),
        "number-malformed": link(form, k, mass="two"),
        "inertia-not-positive": link(form, k, ixx=-1),
        "triangle-inequality": link(form, k, ixx=0.9),
        "duplicate-link": plain + link(form, k),
        "xml-malformed": f'{plain}<link name="m{k}"><inertial></link>\n',
    }
    wrong_joints = {
        "axis-not-unit": {"axis": "0 2 0"},
        "zero-axis": {"axis": "0 0 0"},
        "wrong-count": {"axis": "0 1"},
        "limits-inverted": {"limit": swapped},
        "negative-damping": {"dyn": damping(form, -1)},
        "damping-malformed": {"dyn": damping(form, "x")},
        "unknown-joint-type": {"kind": "revolut"},
        "unknown-parent": {"parent": "nowhere"},
        "unknown-child": {"child": "nothing"},
        "joint-to-itself": {"parent": f"l{k}"},
    }
    own = joint(form, k, **wrong_joints.get(what, {}))
    text = wrong_links.get(what, plain) + own
    if what == "two-parents":
        text += joint(form, k, name=f"k{k}", parent="l0")
    elif what == "duplicate-joint":
        text += link(form, 20 + k) + joint(form, k, child=f"l{20 + k}", axis="0 3 0")
    elif what == "no-inertia-at-joint":
        empty = INERTIAL[form](0, 0).replace("0.01", "0")
        text += f'<link name="e{k}">{empty}</link>' + joint(
            form, k, name=f"i{k}", parent=f"l{k}", child=f"e{k}"
        )
    return text


PROBLEMS = [
    *("negative-mass", "number-malformed", "inertia-not-positive", "triangle-inequality"),
    *("duplicate-link", "xml-malformed", "axis-not-unit", "zero-axis", "wrong-count"),
    *("limits-inverted", "negative-damping", "damping-malformed", "unknown-joint-type"),
    *("unknown-parent", "unknown-child", "joint-to-itself", "two-parents", "duplicate-joint"),
    "no-inertia-at-joint",
]


def robot(form: str, problems: Mapping[int, str], links: int = LINKS) -> str:
    """A chain of links with a problem at some of them."""
    parts = [
        problem(form, problems[k], k) if k in problems else link(form, k) + joint(form, k)
        for k in range(1, links + 1)
    ]
    inside = link(form, 0) + "".join(parts)
    if form == "urdf":
        return f'<robot name="r">{inside}</robot>'
    fixed = '<joint name="fixed" type="fixed"><parent>world</parent><child>l0</child></joint>'
    return f'<sdf version="1.11"><model name="r">{fixed}{inside}</model></sdf>'


Findings = set[tuple[str, frozenset[str]]]


def findings(form: str, problems: Mapping[int, str], folder: Path, links: int = LINKS) -> Findings:
    """Ids of the findings, with the links and joints that the messages name."""
    path = folder / f"robot.{form}"
    path.write_text(robot(form, problems, links))
    reading = read(str(path), ModelOptions())
    return {
        (each.id, frozenset(re.findall(r"(?:link|joint) '[^']*'", each.message)))
        for each in file_findings(reading, str(path))
    }


def is_listed(one: tuple[str, frozenset[str]], listed: Findings) -> bool:
    return any(one[0] == id_ and one[1] <= names for id_, names in listed)


@pytest.mark.parametrize("form", ["urdf", "sdf"])
def test_problems_behind_a_broken_link_are_reported(form: str, tmp_path: Path) -> None:
    """A problem at link 2 hides no problem at link 5, and vice versa."""
    # the size of a link is not known at a broken joint
    unknown = "radius-of-gyration"
    single = {(what, k): findings(form, {k: what}, tmp_path) for what in PROBLEMS for k in (2, 5)}
    assert all(listed for listed in single.values())
    for first in PROBLEMS:
        for second in PROBLEMS:
            both = findings(form, {2: first, 5: second}, tmp_path)
            for each in single[first, 2] | single[second, 5]:
                assert each[0] == unknown or is_listed(each, both), (first, second, each)


@pytest.mark.parametrize("form", ["urdf", "sdf"])
def test_all_problems_of_a_file_are_reported_at_once(form: str, tmp_path: Path) -> None:
    """A file with every problem on a link of its own has the findings of all of them."""
    problems = {2 * i: what for i, what in enumerate(PROBLEMS, start=1)}
    links = 2 * len(PROBLEMS) + 1
    listed = findings(form, problems, tmp_path, links)
    for k, what in problems.items():
        expected = findings(form, {k: what}, tmp_path, links)
        assert all(is_listed(each, listed) for each in expected), (what, expected - listed)


def test_an_unknown_sdf_version_hides_no_problem(tmp_path: Path) -> None:
    path = tmp_path / "robot.sdf"
    path.write_text(robot("sdf", {2: "negative-mass", 5: "unknown-parent"}).replace("1.11", "9.9"))
    ids = {each.id for each in file_findings(read(str(path), ModelOptions()), str(path))}
    assert ids == {"format-version", "negative-mass", "unknown-link"}
