"""A DH table gives the link poses of the product of its matrices, in both conventions."""

from __future__ import annotations

from collections.abc import Sequence
from math import cos, sin
from typing import Any, NamedTuple

import numpy as np
import pytest

from robolin.core.arm import Inertia
from robolin.description.building.build_arm import build
from robolin.description.model import Description, JointEntry
from robolin.description.yaml.yaml_arm import read_yaml

Matrix = np.ndarray[Any, np.dtype[np.float64]]


class Row(NamedTuple):
    """A row of a random table."""

    kind: str
    a: float
    alpha: float
    d: float
    theta: float


def turn(axis: str, angle: float) -> Matrix:
    """Rotation about x or z as a 4 by 4 matrix."""
    T, (c, s) = np.eye(4), (cos(angle), sin(angle))
    i, j = {"x": (1, 2), "z": (0, 1)}[axis]
    T[i, i], T[i, j], T[j, i], T[j, j] = c, -s, s, c
    return T


def shift(axis: str, distance: float) -> Matrix:
    """A shift along x or z as a 4 by 4 matrix."""
    T = np.eye(4)
    T["xyz".index(axis), 3] = distance
    return T


def product(row: Row, convention: str, q: float) -> Matrix:
    """The row's matrix as the conventions define it, with q added where the joint moves."""
    theta = row.theta + (q if row.kind in ("revolute", "continuous") else 0.0)
    d = row.d + (q if row.kind == "prismatic" else 0.0)
    if convention == "standard":
        return turn("z", theta) @ shift("z", d) @ shift("x", row.a) @ turn("x", row.alpha)
    return turn("x", row.alpha) @ shift("x", row.a) @ turn("z", theta) @ shift("z", d)


def table(rows: Sequence[Row], convention: str, extra: str = "") -> str:
    """The rows as a file; link i has mass i + 1 and a centre of mass off all axes."""
    lines = [
        f"    - {{name: j{i}, type: {r.kind}, a: {r.a!r}, alpha: {r.alpha!r}, d: {r.d!r}, "
        f"theta: {r.theta!r}, link: l{i}}}"
        for i, r in enumerate(rows)
    ]
    links = [
        f"  - {{name: l{i}, mass: {i + 1}, com: [0.1, 0.2, 0.3], "
        "inertia: {ixx: 1, iyy: 1.2, izz: 1.4}}"
        for i in range(len(rows))
    ]
    head = ["robolin: 1", "name: table", "dh:", f"  convention: {convention}"]
    return "\n".join([*head, extra, "  rows:", *lines, "links:", *links, ""])


def described(text: str) -> Description:
    reading = read_yaml(text.encode(), "table.yaml")
    assert not reading.findings
    assert reading.description is not None
    return reading.description


def joint_motion(joint: JointEntry, q: float) -> Matrix:
    """How a joint has moved its child from where the pose puts it."""
    x, y, z = unit = np.array(joint.axis) / np.linalg.norm(joint.axis)
    T = np.eye(4)
    if joint.kind == "prismatic":
        T[:3, 3] = q * unit
    elif joint.kind != "fixed":
        cross = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
        T[:3, :3] += sin(q) * cross + (1 - cos(q)) * cross @ cross
    return T


def link_frames(arm: Description, q: dict[str, float]) -> dict[str, Matrix]:
    """Every link's frame in the root's, from parent to child along the joints as listed."""
    frames = {arm.root: np.eye(4)}
    for joint in arm.joints:
        pose = np.eye(4)
        pose[:3, :3] = np.reshape(joint.pose.rotation, (3, 3))
        pose[:3, 3] = joint.pose.translation
        moved = pose @ joint_motion(joint, q.get(joint.name, 0.0))
        frames[joint.child] = frames[joint.parent] @ moved
    return frames


def random_rows(rng: np.random.Generator, count: int) -> list[Row]:
    """Rows of every kind, each with its parameters often exactly zero."""
    rows = []
    for _ in range(count):
        kind = str(
            rng.choice(["revolute", "continuous", "prismatic", "fixed"], p=[0.5, 0.1, 0.3, 0.1])
        )
        numbers = rng.uniform(-2, 2, 4) * (rng.random(4) < 0.7)
        rows.append(Row(kind, *map(float, numbers)))
    return rows


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("convention", ["standard", "modified"])
def test_links_are_where_the_product_of_matrices_puts_them(convention: str, seed: int) -> None:
    """Frame i is A(1) … A(i) for random tables at random positions.

    The tolerance is a few roundings of eight products of numbers of size ten.
    """
    rng = np.random.default_rng(seed)
    rows = random_rows(rng, 8)
    arm = described(table(rows, convention))
    for positions in rng.uniform(-3, 3, (5, len(rows))):
        frames = link_frames(arm, {f"j{i}": q for i, q in enumerate(positions)})
        expected = np.eye(4)
        for i, (row, q) in enumerate(zip(rows, positions, strict=True)):
            expected = expected @ product(row, convention, q)
            np.testing.assert_allclose(frames[f"l{i}"], expected, rtol=0, atol=1e-13)


@pytest.mark.parametrize("convention", ["standard", "modified"])
def test_mass_is_given_in_the_frame_of_the_row(convention: str) -> None:
    """A link's inertia is the file's, unturned, at the frame that carries the link's name."""
    rows = [Row("revolute", 0.3, 0.5, 0.2, 0.1), Row("prismatic", 0.4, -1.0, 0.1, 0.7)]
    links = {link.name: link.inertia for link in described(table(rows, convention)).links}

    rotary = (1.0, 0.0, 0.0, 1.2, 0.0, 1.4)
    assert links["l0"] == Inertia(1.0, (0.1, 0.2, 0.3), rotary)
    assert links["l1"] == Inertia(2.0, (0.1, 0.2, 0.3), rotary)


def test_only_a_revolute_joint_off_its_axis_needs_a_hinge() -> None:
    """A massless frame is added for `a` of a standard revolute row and for nothing else."""
    rows = [
        Row("revolute", 0.0, 1.0, 0.5, 0.2),
        Row("revolute", 0.4, 1.0, 0.5, 0.2),
        Row("prismatic", 0.4, 1.0, 0.5, 0.2),
    ]
    standard = described(table(rows, "standard"))
    modified = described(table(rows, "modified"))

    assert {link.name for link in standard.links} == {"base", "l0", "l1", "l2", "l1@hinge"}
    assert {link.name for link in modified.links} == {"base", "l0", "l1", "l2"}


def test_the_arm_moves_by_the_rows_alone() -> None:
    """Hinges and tool merge away: as many joints as rows, and every row's link is a frame."""
    rows = [Row("revolute", 0.4, 1.0, 0.5, 0.2), Row("revolute", 0.3, 0.0, 0.0, 0.0)]
    text = table(
        rows, "standard", "  base: floor\n  tool: {link: hand, origin: {xyz: [0, 0, 0.1]}}"
    )
    arm = build(described(text))

    assert arm.joint_names == ("j0", "j1")
    assert {"floor", "l0", "l1", "hand"} <= set(arm.frames)
    assert sum(link.inertia.mass for link in arm.links_tip_to_base) == 3.0


def test_the_tool_sits_on_the_last_row() -> None:
    """`tool:` is a fixed frame, turned by rpy and shifted by xyz from the last link."""
    rows = [Row("revolute", 0.4, 1.0, 0.5, 0.2)]
    origin = "{xyz: [0.1, 0.2, 0.3], rpy: [0.4, 0, 0]}"
    frames = link_frames(described(table(rows, "modified", f"  tool: {{origin: {origin}}}")), {})
    expected = turn("x", 0.4)
    expected[:3, 3] = [0.1, 0.2, 0.3]

    np.testing.assert_allclose(frames["tool"], frames["l0"] @ expected, rtol=0, atol=1e-15)


def test_a_row_takes_the_fields_of_a_joint() -> None:
    """Limits, losses, rotor and mimic of a row arrive at the joint that moves."""
    text = """\
robolin: 1
name: geared
dh:
  convention: standard
  rows:
    - {name: lead, type: revolute, a: 1, alpha: 0, d: 0, limits: {lower: -1}, damping: 2}
    - {name: geared, type: revolute, a: 1, alpha: 0, d: 0, friction: 3, rotor_inertia: 0.5,
       gear_ratio: 4, mimic: {joint: lead}}
links: [{name: link1, mass: 1}, {name: link2, mass: 1}]
"""
    joints = {joint.name: joint for joint in described(text).joints}

    assert (joints["lead"].limits.lower, joints["lead"].damping) == (-1.0, 2.0)
    assert (joints["geared"].friction, joints["geared"].armature) == (3.0, 8.0)
    assert joints["geared"].mimic is not None
    assert all(joint.damping == 0 for joint in joints.values() if joint.kind == "fixed")
