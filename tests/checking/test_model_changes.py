"""Differences between two models, by name."""

from __future__ import annotations

import copy
from math import cos, sin
from typing import Any

import pytest

from robolin.checking.model_changes import model_changes
from robolin.core.arm_parts import rotation_from_rpy
from robolin.description.load import read
from robolin.description.model import model_dict_of


def figures(source: str = "panda") -> dict[str, Any]:
    description = read(source).description
    assert description is not None
    return model_dict_of(description)


def changes(old: dict[str, Any], new: dict[str, Any]) -> list[str]:
    return [str(change) for change in model_changes(old, new)]


@pytest.fixture
def old() -> dict[str, Any]:
    return figures()


@pytest.fixture
def new(old: dict[str, Any]) -> dict[str, Any]:
    return copy.deepcopy(old)


def test_a_model_is_itself(old: dict[str, Any], new: dict[str, Any]) -> None:
    """Nothing differs between a model and its copy."""
    assert changes(old, new) == []


def test_changes_have_unit_and_percentage(old: dict[str, Any], new: dict[str, Any]) -> None:
    """Every component that differs has a line with both values, unit and relative change."""
    new["links"]["panda_link3"]["mass"] *= 1.05
    new["links"]["panda_link3"]["com"][1] = 0.05
    new["joints"]["panda_joint2"]["damping"] = 0.006
    new["joints"]["panda_joint2"]["upper limit"] = 1.9
    assert changes(old, new) == [
        "link panda_link3: mass 3.2286 → 3.39 kg (+5 %)",
        "link panda_link3: com y 0.039252 → 0.05 m (+27 %)",
        "joint panda_joint2: damping 0.003 → 0.006 N·m·s/rad (+100 %)",
        "joint panda_joint2: upper limit 1.7628 → 1.9 rad (+7.8 %)",
    ]


def test_what_was_zero_or_absent(old: dict[str, Any], new: dict[str, Any]) -> None:
    """A damping that was not there was 0; a limit that was not there was none."""
    del new["joints"]["panda_joint1"]["damping"]
    del new["joints"]["panda_joint1"]["upper limit"]
    assert changes(old, new) == [
        "joint panda_joint1: damping 0.003 → 0 N·m·s/rad (-100 %)",
        "joint panda_joint1: upper limit 2.8973 → none",
    ]


def test_rotated_origins_are_reported_as_angles(old: dict[str, Any]) -> None:
    """A slightly rotated frame is reported with its angle."""
    other = figures("panda")
    rotation = other["joints"]["panda_joint2"]["rotation"]
    # 1 part in a million of -π/2 about x
    turned = rotation_from_rpy(-1.5707963267948966 * (1 + 1e-6), 0.0, 0.0)
    assert list(turned) != rotation
    other["joints"]["panda_joint2"]["rotation"] = list(turned)
    (change,) = model_changes(old, other)
    assert (change.part, change.name, change.quantity) == ("joint", "panda_joint2", "origin roll")
    assert change.relative == pytest.approx(-1e-6, rel=1e-6)


def test_angles_at_gimbal_lock_are_reported(old: dict[str, Any], new: dict[str, Any]) -> None:
    """At a pitch of 90 degrees only the sum of the others is defined; roll contains it."""
    for model, roll in ((old, 0.2), (new, 0.5)):
        s, c = sin(roll), cos(roll)
        model["joints"]["panda_joint2"]["rotation"] = [0.0, s, c, 0.0, c, -s, -1.0, 0.0, 0.0]
    assert changes(old, new) == ["joint panda_joint2: origin roll 0.2 → 0.5 rad (+150 %)"]


def test_prismatic_joints_have_their_own_units(old: dict[str, Any], new: dict[str, Any]) -> None:
    """Damping and limits of a prismatic joint have units of force and length."""
    for model, damping in ((old, 1.0), (new, 2.0)):
        joint = {"type": "prismatic", "damping": damping, "lower limit": -damping}
        model["joints"]["panda_joint2"] |= joint
    assert changes(old, new) == [
        "joint panda_joint2: damping 1 → 2 N·s/m (+100 %)",
        "joint panda_joint2: lower limit -1 → -2 m (-100 %)",
    ]


def renamed(parts: dict[str, Any], name: str, other: str) -> None:
    items = [(other if key == name else key, value) for key, value in parts.items()]
    parts.clear()
    parts.update(items)


def test_renamed_parts_are_recognized_by_their_numbers(
    old: dict[str, Any], new: dict[str, Any]
) -> None:
    """A renamed part with the same numbers is one line; references to it are not listed."""
    renamed(new["links"], "panda_link3", "upper_arm")
    renamed(new["joints"], "panda_joint3", "elbow")
    new["joints"]["elbow"]["child"] = new["joints"]["panda_joint4"]["parent"] = "upper_arm"
    assert changes(old, new) == [
        "link panda_link3: renamed to upper_arm",
        "joint panda_joint3: renamed to elbow",
    ]


def test_a_new_name_with_other_numbers_is_another_part(
    old: dict[str, Any], new: dict[str, Any]
) -> None:
    """Parts that share no numbers were added and removed."""
    renamed(new["links"], "panda_link3", "upper_arm")
    new["links"]["upper_arm"]["mass"] = 9.0
    new["joints"]["panda_joint3"]["child"] = "upper_arm"
    lines = changes(old, new)
    assert "link panda_link3: removed" in lines
    assert "link upper_arm: added" in lines
    assert "joint panda_joint3: child panda_link3 → upper_arm" in lines


def test_a_changed_parent_is_reported(old: dict[str, Any], new: dict[str, Any]) -> None:
    """A changed parent and a changed type are reported as words, not numbers."""
    new["joints"]["panda_joint7"] |= {"parent": "panda_link5", "type": "continuous"}
    assert changes(old, new) == [
        "joint panda_joint7: type revolute → continuous",
        "joint panda_joint7: parent panda_link6 → panda_link5",
    ]


def test_gravity_of_the_description() -> None:
    """A YAML file's own gravity is part of the model."""
    two = figures("two-link")
    other = copy.deepcopy(two)
    other["arm"]["gravity"][1] = -9.80665
    (change,) = model_changes(two, other)
    assert (change.part, change.quantity, change.unit) == ("arm", "gravity y", "m/s²")
    assert (change.old, change.new) == (-9.81, -9.80665)


def test_parts_with_the_same_numbers_are_renamed_one_by_one(
    old: dict[str, Any], new: dict[str, Any]
) -> None:
    """Two equal links that both have new names are two renamings, and nothing was added."""
    for model, names in ((old, ("pad1", "pad2")), (new, ("left", "right"))):
        model["links"] |= {name: {"mass": 0.1} for name in names}
    assert changes(old, new) == ["link pad1: renamed to left", "link pad2: renamed to right"]


def test_a_fixed_joint_that_becomes_prismatic_has_its_units(
    old: dict[str, Any], new: dict[str, Any]
) -> None:
    """New parameters of a joint that becomes prismatic are in newtons and metres."""
    old["joints"]["panda_joint1"]["type"] = "fixed"
    del old["joints"]["panda_joint1"]["damping"]
    new["joints"]["panda_joint1"]["type"] = "prismatic"
    assert "joint panda_joint1: damping 0 → 0.003 N·s/m" in changes(old, new)


def test_default_gravity_is_the_standard_one() -> None:
    """An arm without gravity in its file equals one with -9.81, and no other."""
    explicit, default = figures("two-link"), figures("two-link")
    del default["arm"]["gravity"]
    assert changes(default, explicit) == [
        "arm two-link: gravity y 0 → -9.81 m/s²",
        "arm two-link: gravity z -9.81 → 0 m/s² (+100 %)",
    ]
    explicit["arm"]["gravity"] = [0.0, 0.0, -9.81]
    assert changes(default, explicit) == changes(explicit, default) == []
    explicit["arm"]["gravity"] = [0.0, 0.0, 0.0]
    assert changes(explicit, default) == ["arm two-link: gravity z 0 → -9.81 m/s²"]
