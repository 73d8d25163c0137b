"""Shapes have the inertias of the solids they name."""

from __future__ import annotations

from math import pi

import numpy as np
import pytest

import robolin
from robolin.description.load import read
from robolin.errors import RobolinError

ARM = """\
robolin: 1
name: one
joints:
  - {name: turn, type: continuous, parent: base, child: body, axis: [0, 0, 1]}
links:
  - {name: body, %s}
"""


def inertia(text: str):
    (body,) = [link for link in read(ARM % text).description.links if link.name == "body"]
    return body.inertia


def by_sampling(inside, bounds, mass):
    """Inertias of a uniform solid, from a fine grid of points in it."""
    steps = [(np.arange(80) + 0.5) / 80 * 2 * b - b for b in bounds]
    points = np.stack(np.meshgrid(*steps, indexing="ij"), -1).reshape(-1, 3)
    points = points[inside(points)]
    square = points.T @ points * mass / len(points)
    return np.trace(square) * np.eye(3) - square


SOLIDS = [
    ("shape: {box: [0.2, 0.4, 0.6]}", lambda p: p[:, 0] < 1, (0.1, 0.2, 0.3)),
    (
        "shape: {cylinder: {radius: 0.2, length: 0.6}}",
        lambda p: np.hypot(p[:, 0], p[:, 1]) < 0.2,
        (0.2, 0.2, 0.3),
    ),
    ("shape: {sphere: 0.2}", lambda p: np.linalg.norm(p, axis=1) < 0.2, (0.2, 0.2, 0.2)),
]


@pytest.mark.parametrize(("text", "inside", "bounds"), SOLIDS, ids=["box", "cylinder", "sphere"])
def test_a_shape_has_the_inertia_of_its_points(text, inside, bounds):
    """Inertias of a solid equal those of a grid of points in it, to the width of the grid."""
    computed = inertia(f"mass: 3, com: [1, 2, 3], {text}")
    assert (computed.mass, computed.com) == (3.0, (1.0, 2.0, 3.0))
    expected = by_sampling(inside, bounds, 3.0)
    xx, xy, xz, yy, yz, zz = computed.rotary
    full = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    # 80 points along each edge: about (1/80)² for flat walls, less than 1/200 for round ones
    assert np.abs(full - expected).max() < 0.005 * np.abs(expected).max()


def test_a_rod_is_a_thin_cylinder_in_any_direction():
    """A rod of length L has inertia m L²/12 across its axis and none along it."""
    assert inertia("mass: 3, shape: {rod: 2}").rotary == (1.0, 0.0, 0.0, 1.0, 0.0, 0.0)
    lying = inertia("mass: 3, shape: {rod: 2, rpy: [0, 90deg, 0]}").rotary
    assert lying == pytest.approx((0.0, 0.0, 0.0, 1.0, 0.0, 1.0), abs=1e-15)


@pytest.mark.parametrize(
    ("shape", "volume"),
    [
        ("{box: [1, 2, 3]}", 6.0),
        ("{sphere: 2}", 32 * pi / 3),
        ("{cylinder: {radius: 2, length: 3}}", 12 * pi),
    ],
)
def test_a_density_fills_the_shape(shape, volume):
    """The mass of a shape with a density is that times its volume."""
    assert inertia(f"density: 2, shape: {shape}").mass == pytest.approx(2 * volume, rel=1e-15)


WRONG = [
    ("mass: 1, shape: {rpy: [0, 0, 0]}", "shape-twice"),
    ("mass: 1, shape: {rod: 1, sphere: 1}", "shape-twice"),
    ("mass: 1, density: 1, shape: {sphere: 1}", "shape-twice"),
    ("mass: 1, shape: {sphere: 1}, inertia: {ixx: 1, iyy: 1, izz: 1}", "shape-twice"),
    ("density: 1, shape: {rod: 1}", "shape-size"),
    ("mass: 1, shape: {sphere: 0}", "shape-size"),
    ("mass: 1, shape: {box: [1, -1, 1]}", "shape-size"),
    ("mass: 1, shape: {cylinder: {radius: 1}}", "missing-key"),
    ("mass: 1, shape: {cube: 1}", "unknown-key"),
    ("shape: {sphere: 1}", "missing-key"),
    ("density: 1", "missing-key"),
]


@pytest.mark.parametrize(("text", "finding"), WRONG, ids=range(len(WRONG)))
def test_invalid_shapes_are_reported(text, finding):
    """Two shapes, none, an invalid size, a mass given twice: each is an error."""
    assert finding in [each.id for each in read(ARM % text).findings]
    with pytest.raises(RobolinError):
        robolin.load(ARM % text)


def test_units_of_angles():
    """Rotations and limits of revolute joints may be in degrees or multiples of π, not lengths."""
    text = ARM.replace("axis:", "limits: {velocity: 180deg}, origin: {rpy: [pi, 0, 90deg]}, axis:")
    (joint,) = read(text % "mass: 1").description.joints
    assert joint.limits.velocity == pi
    assert joint.pose.rotation == pytest.approx((0, 1, 0, 1, 0, 0, 0, 0, -1), abs=1e-15)
    sliding = text.replace("continuous", "prismatic")
    assert "number-malformed" in [finding.id for finding in read(sliding % "mass: 1").findings]
