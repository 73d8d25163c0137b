"""The bundled URDF arms: headers, plain content, and published parameters."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.published import URDF, needs_published_files

ROOT = Path(__file__).resolve().parents[2]
MODELS = ROOT / "models"

SOURCES = {
    "ur5": "ur5_robot.urdf",
    "ur10": "ur10_robot.urdf",
    "panda": "panda.urdf",
    "panda-fingers": "panda.urdf",
    "iiwa14": "kuka_iiwa_model.urdf",
    "j2s6s200": "kinova.urdf",
    "xarm7": "xarm7.urdf",
}
JOINTS = {
    "ur5": 6,
    "ur10": 6,
    "panda": 7,
    "panda-fingers": 8,
    "iiwa14": 7,
    "j2s6s200": 6,
    "xarm7": 7,
}
FINGERS = ("panda_finger_joint1", "panda_finger_joint2")

# the one parameter that differs from its source on purpose; the file's notes say why
BASE_MASS = {("iiwa14", "lbr_iiwa_link_0"): 5.0}

MECHANICS = {"robot", "link", "inertial", "mass", "inertia", "joint", "origin"}
MECHANICS |= {"parent", "child", "axis", "limit", "dynamics", "mimic"}

every_urdf = pytest.mark.parametrize("name", SOURCES)


def bundled(name: str) -> Path:
    return MODELS / f"{name}.urdf"


def published(name: str) -> Path:
    return URDF / SOURCES[name]


def numbers(element: ET.Element | None, key: str, default: str) -> tuple[float, ...]:
    """The numbers of an attribute, or the default's when element or attribute is absent."""
    text = default if element is None else element.get(key, default)
    return tuple(float(word) for word in text.split())


def inertial(link: ET.Element) -> dict[str, tuple[float, ...]]:
    """Mass, centre of mass and inertia of a link; zeros throughout for a massless frame."""
    element = link.find("inertial")
    if element is None:
        element = ET.Element("inertial")
    origin, tensor = element.find("origin"), element.find("inertia")
    return {
        "mass": numbers(element.find("mass"), "value", "0"),
        "xyz": numbers(origin, "xyz", "0 0 0"),
        "rpy": numbers(origin, "rpy", "0 0 0"),
        **{key: numbers(tensor, key, "0") for key in ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")},
    }


def placement(joint: ET.Element) -> dict[str, Any]:
    """The links a joint connects, and its pose."""
    origin = joint.find("origin")
    ends = {end: element.get("link") for end in ("parent", "child") for element in joint.iter(end)}
    return {
        **ends,
        "xyz": numbers(origin, "xyz", "0 0 0"),
        "rpy": numbers(origin, "rpy", "0 0 0"),
    }


def motion(joint: ET.Element) -> dict[str, Any]:
    """Type, axis, limits, damping and friction of a moving joint."""
    limit, dynamics, mimic = (joint.find(tag) for tag in ("limit", "dynamics", "mimic"))
    # a continuous joint has no position limits, even if its <limit> prints some
    bounds = () if joint.get("type") == "continuous" else ("lower", "upper")
    return {
        "type": joint.get("type"),
        "axis": numbers(joint.find("axis"), "xyz", "1 0 0"),
        **{key: numbers(limit, key, "0") for key in (*bounds, "velocity", "effort")},
        **{key: numbers(dynamics, key, "0") for key in ("damping", "friction")},
        "mimic": None if mimic is None else sorted(mimic.items()),
    }


def named(path: Path, tag: str) -> dict[str, ET.Element]:
    return {element.attrib["name"]: element for element in ET.parse(path).getroot().findall(tag)}


@pytest.mark.parametrize("path", sorted(MODELS.iterdir()), ids=lambda path: path.name)
def test_every_model_names_its_source_and_licence(path: Path) -> None:
    """The first lines of every bundled file have its title, source and licence."""
    header = "\n".join(path.read_text(encoding="utf-8").splitlines()[:12])

    for key in ("title", "source", "licence"):
        assert re.search(rf"^[#\s]*{key}: \S", header, re.MULTILINE), f"{path.name} lacks {key}:"


@every_urdf
def test_urdf_holds_mechanics_and_nothing_else(name: str) -> None:
    """A bundled URDF has no shapes, meshes, simulator settings or transmissions."""
    assert {element.tag for element in ET.parse(bundled(name)).iter()} <= MECHANICS


@every_urdf
def test_title_counts_the_independent_joints(name: str) -> None:
    """The number of joints in the title is the number that move by themselves."""
    joints = named(bundled(name), "joint").values()
    moving = [j for j in joints if j.get("type") != "fixed" and j.find("mimic") is None]

    assert len(moving) == JOINTS[name]
    assert re.search(rf"title: .*, {len(moving)} joints$", bundled(name).read_text(), re.MULTILINE)


@every_urdf
def test_links_follow_their_joints_from_base_to_tip(name: str) -> None:
    """Each joint is right before its child link, and after its parent link."""
    base, *rest = ET.parse(bundled(name)).getroot()
    assert base.tag == "link"
    seen = {base.get("name")}

    for joint, link in zip(rest[::2], rest[1::2], strict=True):
        assert (joint.tag, link.tag) == ("joint", "link")
        assert placement(joint)["parent"] in seen
        assert placement(joint)["child"] == link.get("name")
        seen.add(link.get("name"))


@needs_published_files
@every_urdf
def test_link_figures_are_the_published_ones(name: str) -> None:
    """Every mass, centre and inertia is the published number, to the last digit."""
    ours, theirs = named(bundled(name), "link"), named(published(name), "link")
    assert ours.keys() == theirs.keys()

    for link, element in ours.items():
        expected = inertial(theirs[link])
        if (name, link) in BASE_MASS:
            expected["mass"] = (BASE_MASS[name, link],)
        assert inertial(element) == expected, link


@needs_published_files
@every_urdf
def test_joint_parameters_are_the_published_ones(name: str) -> None:
    """Every placement, axis, limit, damping and friction is the published number."""
    ours, theirs = named(bundled(name), "joint"), named(published(name), "joint")
    assert ours.keys() == theirs.keys()

    for joint, element in ours.items():
        assert placement(element) == placement(theirs[joint]), joint
        if name == "panda" and joint in FINGERS:
            assert element.get("type") == "fixed"
        elif element.get("type") == "fixed":
            assert theirs[joint].get("type") == "fixed", joint
        else:
            assert motion(element) == motion(theirs[joint]), joint


@needs_published_files
@every_urdf
def test_dynamics_are_those_of_the_published_file(name: str) -> None:
    """Pinocchio computes the same mass matrix and bias forces from our file and from theirs."""
    pin = pytest.importorskip("pinocchio")
    ours = pin.buildModelFromXML(bundled(name).read_text())
    theirs = pin.buildModelFromXML(published(name).read_text())
    if name == "panda":
        locked = [theirs.getJointId(finger) for finger in FINGERS]
        theirs = pin.buildReducedModel(theirs, locked, pin.neutral(theirs))
    assert list(ours.names) == list(theirs.names)

    rng = np.random.default_rng(14)
    for _ in range(5):
        q = pin.integrate(ours, pin.neutral(ours), rng.uniform(-3, 3, ours.nv))
        qd = rng.uniform(-2, 2, ours.nv)
        mass = [np.triu(pin.crba(model, model.createData(), q)) for model in (ours, theirs)]
        bias = [pin.nle(model, model.createData(), q, qd) for model in (ours, theirs)]

        # rigid links may be merged in another order, which moves the last digit
        np.testing.assert_allclose(*mass, rtol=0, atol=1e-13 * np.abs(mass[1]).max())
        np.testing.assert_allclose(*bias, rtol=0, atol=1e-13 * np.abs(bias[1]).max())
