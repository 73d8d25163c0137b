"""An arm is data: it can be a key, it pickles what it says, and what is kept stays with it."""

from __future__ import annotations

import copy
import pickle
from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest

import robolin
from robolin.core.arm import Arm, cached_on_arm


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
        assert cached_on_arm(arm, "answer", calls.append) is None
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


@pytest.mark.parametrize(
    ("name", "how"),
    [("panda", {}), ("panda-fingers", {}), ("four-bar", {}), ("ur5", {"floating_base": True})],
)
def test_links_and_joints_go_from_base_to_tip(name: str, how: dict[str, Any]) -> None:
    """Every link comes after the one it sits on, and its joint where that stands among joints."""
    arm = robolin.load(name, **how)
    seen = [arm.base]
    for link in arm.links:
        assert link.parent in seen
        seen.append(arm.links_tip_to_base.index(link) + 1)
    moved = [link.joint.name for link in arm.links if link.joint.mimic is None]
    # the freedoms of one joint are told in their own order, whichever of them is inboard
    base = [name for name in moved if name.startswith("base:")]
    assert sorted(base) == sorted(arm.joint_names[: len(base)])
    assert moved[len(base) :] == [joint.name for joint in arm.joints[len(base) :]]
    bodies = [link.name for link in arm.links if link.name in arm.link_names]
    assert tuple(bodies) == arm.link_names


@pytest.mark.parametrize("number", [-1, 0, 8])
def test_numbers_that_no_link_has_are_refused(number: int) -> None:
    """Links are counted from 1 to 7: 0 is not the last of them, as Python would count."""
    arm = robolin.load("panda")
    for asked in (arm.link, arm.joint_of):
        with pytest.raises(robolin.UsageError, match=f"no link {number}"):
            asked(number)


def test_links_can_be_replaced_by_either_order() -> None:
    """The order that is kept is named where it is set, and the old name is refused there."""
    arm = robolin.load("panda")
    heavier = [replace(link, inertia=replace(link.inertia, mass=9.0)) for link in arm.links]
    changed = replace(arm, links_tip_to_base=tuple(reversed(heavier)))

    assert [link.name for link in changed.links] == [link.name for link in arm.links]
    assert {link.inertia.mass for link in changed.links} == {9.0}
    with pytest.raises(TypeError, match="links"):
        replace(arm, links=arm.links)  # type: ignore[call-arg]


def test_pickles_of_links_from_tip_to_base_are_read() -> None:
    """An arm pickled while `links` was the name of what is kept is the same arm."""
    arm = robolin.load("panda")
    state = arm.__getstate__()
    old = Arm.__new__(Arm)
    old.__setstate__({"links": state.pop("links_tip_to_base"), **state})

    assert old == arm
    assert old.links == arm.links
