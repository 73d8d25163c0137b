"""`inspect` shows the complete arm, with numbers that add up."""

from __future__ import annotations

import json

import pytest

from robolin.core.arm import Inertia, Limits, Mimic
from robolin.description.building.build_arm import build
from robolin.description.building.keywords import ModelOptions
from robolin.description.inspection import inspection, tree_lines
from robolin.description.load import load, read
from robolin.description.model import Finding, Reading, SourceLocation
from robolin.errors import RobolinError
from tests.description.hand_made import describe, joint, random_tree

BODY = Inertia(1.5, (0.1, 0.0, 0.0), (0.01, 0.0, 0.0, 0.01, 0.0, 0.01))

HAND = describe(
    [
        joint("turn", "base", "hand", axis=(0.0, 0.0, 2.0), limits=Limits(-1.0, 1.0, 2.0, 40.0)),
        joint("f1", "hand", "left", "prismatic"),
        joint("mount", "left", "pad", "fixed"),
        joint("f2", "hand", "right", "prismatic", mimic=Mimic("f1", -1.0), damping=0.5),
    ],
    {"base": BODY, "hand": BODY, "pad": BODY},
)


def test_the_tree_shows_every_link_once():
    """The tree names each link, how it hangs on the one before, and its mass."""
    assert tree_lines(HAND, build(HAND)) == [
        "base 1.5 kg",
        "└─ hand 1.5 kg  (turn: revolute about 0, 0, 1)",
        "   ├─ left  (f1: prismatic along 1, 0, 0)",
        "   │  └─ pad 1.5 kg  (fixed)",
        "   └─ right  (f2: prismatic along 1, 0, 0, mimics f1)",
    ]


def test_locked_joints_are_distinguished_from_fixed_ones():
    """A joint that could move but is locked is marked in the tree."""
    lines = tree_lines(HAND, build(HAND, ModelOptions(lock={"turn": 0.5})))
    assert lines[1] == "└─ hand 1.5 kg  (turn: revolute, locked)"


def test_the_joint_table_is_in_public_order():
    """Moving joints, also mimic joints, are listed base to tip with unit axes and parameters."""
    rows = inspection(Reading(HAND, []), build(HAND))["joints"]
    assert [(row["name"], row["number"]) for row in rows] == [("turn", 3), ("f1", 2), ("f2", 1)]
    turn, _, follower = rows
    assert turn["axis"] == [0.0, 0.0, 1.0]
    assert [turn[key] for key in ("parent", "child", "lower", "upper")] == ["base", "hand", -1, 1]
    assert (turn["velocity"], turn["effort"], turn["mimic"]) == (2.0, 40.0, None)
    assert follower["mimic"] == {"leader": "f1", "ratio": -1.0, "offset": 0.0}
    assert follower["damping"] == 0.5


@pytest.mark.parametrize("seed", range(5))
def test_masses_add_up(seed):
    """Moving mass and base mass together are the mass in the description."""
    description, clouds = random_tree(seed)
    mass = inspection(Reading(description, []), build(description))["mass"]
    total = sum(m for points in clouds.values() for m, _ in points)
    assert mass["total"] == pytest.approx(total, rel=1e-14)
    assert mass["total"] == mass["moving"] + mass["base"]


def test_payload_counts_as_moving_mass():
    """A payload is part of the moving mass."""
    plain = inspection(read("panda"), load("panda"))["mass"]
    loaded = inspection(read("panda"), load("panda", payload=("panda_hand", 2.0)))["mass"]
    assert loaded["moving"] == pytest.approx(plain["moving"] + 2.0, rel=1e-14)


def test_an_inspection_is_json():
    """Every part survives JSON unchanged, contract and finding counts included."""
    shown = inspection(Reading(HAND, []), build(HAND))
    assert json.loads(json.dumps(shown)) == shown
    assert shown["contract"]["joints"] == ["turn", "f1"]
    # two of the notes: other programs ignore damping and mimic joints
    assert shown["findings"] == {"error": 0, "warning": 1, "note": 3}
    assert shown["links"][1]["merged"] == ["pad"]


def test_a_broken_reading_is_no_inspection():
    """A reading with errors raises them."""
    error = Finding("cycle", "error", SourceLocation("a.urdf", 3), "closed")
    with pytest.raises(RobolinError, match="closed"):
        inspection(Reading(None, [error]), build(HAND))
