"""An arm is data: it can be a key, it pickles what it says, and what is kept stays with it."""

from __future__ import annotations

import copy
import pickle
from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest

import robolin
from robolin.arm import Arm
from robolin.kept_with import kept_with


def _used() -> Arm:
    """An arm about which everything was asked that is remembered."""
    arm = robolin.load("panda")
    robolin.inverse(arm, np.zeros((100, arm.n)))
    robolin.jacobian(arm, np.zeros(arm.n), frame="panda_hand")
    assert arm.joints
    assert hash(arm) == hash(arm)
    return arm


def test_equal_arms_hash_alike() -> None:
    """An arm is a key, and an equal arm finds what is kept under it."""
    arm, same, other = robolin.load("ur5"), robolin.load("ur5"), robolin.load("ur5", gravity=0)

    assert arm == same
    assert {arm: "found"}[same] == "found"
    assert other not in {arm}


@pytest.mark.parametrize("made", [lambda arm: pickle.loads(pickle.dumps(arm)), copy.copy])
def test_pickles_and_copies_hold_the_fields_alone(made) -> None:
    """What was worked out about an arm does not travel with it, and the arm is equal."""
    arm = _used()
    travelled = made(arm)

    assert travelled.__dict__.keys() == {field.name for field in fields(Arm)}
    assert travelled == arm
    assert np.array_equal(robolin.inverse(travelled, 0.3), robolin.inverse(arm, 0.3))


def test_arms_that_no_file_makes_again_can_be_pickled() -> None:
    """An arm made by `replace` goes to another process as well."""
    changed = replace(robolin.load("two-link"), gravity=(0.0, 0.0, 0.0))

    assert pickle.loads(pickle.dumps(changed)) == changed


def test_a_changed_arm_keeps_nothing_of_the_old_one() -> None:
    """An arm made by `replace` answers for itself, not from what was worked out before."""
    arm = _used()
    weightless = replace(arm, gravity=(0.0, 0.0, 0.0))

    assert np.any(robolin.inverse(arm, 0.3))
    assert not np.any(robolin.inverse(weightless, 0.3))


def test_things_are_kept_once() -> None:
    """`make` is called for the first who asks; None is an answer too."""
    arm, calls = robolin.load("two-link"), []

    for _ in range(3):
        assert kept_with(arm, "answer", calls.append) is None
    assert calls == [arm]


@pytest.mark.parametrize("name", ["panda", "four-bar", "two-link"])
def test_loading_builds_one_arm(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The arm that is validated is the arm that is given out, warnings or none."""
    built: list[str] = []

    made = Arm.__init__

    def counting(arm: Arm, **given: Any) -> None:
        made(arm, **given)
        built.append(arm.name)

    monkeypatch.setattr(Arm, "__init__", counting)
    arm = robolin.load(name)

    assert built == [arm.name]
    assert arm.source == name
    assert arm.contract["arm"].startswith(f"{arm.name} (")
