"""An arm is data: it is hashable, it pickles its fields, and caches stay with the object."""

from __future__ import annotations

import copy
import pickle
from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest

import robolin
from robolin.core.arm import Arm, cached_on_arm


def _arm_with_caches() -> Arm:
    """Return an arm with all caches filled."""
    arm = robolin.load("panda")
    robolin.inverse(arm, np.zeros((100, arm.n)))
    robolin.jacobian(arm, np.zeros(arm.n), frame="panda_hand")
    assert arm.joints
    assert hash(arm) == hash(arm)
    return arm


def test_equal_arms_have_equal_hashes() -> None:
    """An arm is a dictionary key, and an equal arm finds the same entry."""
    arm, same, other = robolin.load("ur5"), robolin.load("ur5"), robolin.load("ur5", gravity=0)

    assert arm == same
    assert {arm: "found"}[same] == "found"
    assert other not in {arm}


@pytest.mark.parametrize("duplicate", [lambda arm: pickle.loads(pickle.dumps(arm)), copy.copy])
def test_pickles_and_copies_contain_only_the_fields(duplicate) -> None:
    """Cached values are not copied with an arm, and the copy is equal."""
    arm = _arm_with_caches()
    copied = duplicate(arm)

    assert copied.__dict__.keys() == {field.name for field in fields(Arm)}
    assert copied == arm
    assert np.array_equal(robolin.inverse(copied, 0.3), robolin.inverse(arm, 0.3))


def test_arms_that_no_file_makes_again_can_be_pickled() -> None:
    """An arm made by `replace` can be sent to another process."""
    changed = replace(robolin.load("two-link"), gravity=(0.0, 0.0, 0.0))

    assert pickle.loads(pickle.dumps(changed)) == changed


def test_replaced_arms_do_not_inherit_caches() -> None:
    """Results of an arm made by `replace` do not come from caches of the original."""
    arm = _arm_with_caches()
    weightless = replace(arm, gravity=(0.0, 0.0, 0.0))

    assert np.any(robolin.inverse(arm, 0.3))
    assert not np.any(robolin.inverse(weightless, 0.3))


def test_values_are_cached_once() -> None:
    """`make` is called on the first access only; None is a cached value too."""
    arm, calls = robolin.load("two-link"), []

    for _ in range(3):
        assert cached_on_arm(arm, "answer", calls.append) is None
    assert calls == [arm]


@pytest.mark.parametrize("name", ["panda", "four-bar", "two-link"])
def test_loading_builds_one_arm(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The validated arm is the arm that is returned, with or without warnings."""
    built: list[str] = []

    made = Arm.__init__

    def counting(arm: Arm, **options: Any) -> None:
        made(arm, **options)
        built.append(arm.name)

    monkeypatch.setattr(Arm, "__init__", counting)
    arm = robolin.load(name)

    assert built == [arm.name]
    assert arm.source == name
    assert arm.contract["arm"].startswith(f"{arm.name} (")


@pytest.mark.parametrize(
    ("name", "options"),
    [("panda", {}), ("panda-fingers", {}), ("four-bar", {}), ("ur5", {"floating_base": True})],
)
def test_links_and_joints_go_from_base_to_tip(name: str, options: dict[str, Any]) -> None:
    """Every link comes after its parent, and its joint at the same position among the joints."""
    arm = robolin.load(name, **options)
    seen = [arm.base]
    for link in arm.links:
        assert link.parent in seen
        seen.append(arm.links_tip_to_base.index(link) + 1)
    moved = [link.joint.name for link in arm.links if link.joint.mimic is None]
    # the coordinates of one joint have their own order, independent of which is inboard
    base = [name for name in moved if name.startswith("base:")]
    assert sorted(base) == sorted(arm.joint_names[: len(base)])
    assert moved[len(base) :] == [joint.name for joint in arm.joints[len(base) :]]
    bodies = [link.name for link in arm.links if link.name in arm.link_names]
    assert tuple(bodies) == arm.link_names


@pytest.mark.parametrize("number", [-1, 0, 8])
def test_link_numbers_out_of_range_are_rejected(number: int) -> None:
    """Links are numbered from 1 to 7; 0 and -1 do not count from the end as in Python."""
    arm = robolin.load("panda")
    for method in (arm.link, arm.joint_of):
        with pytest.raises(robolin.UsageError, match=f"no moving link {number}"):
            method(number)


def test_replace_requires_the_stored_link_order() -> None:
    """`replace` takes the links in the stored order; the old name is rejected."""
    arm = robolin.load("panda")
    heavier = [replace(link, inertia=replace(link.inertia, mass=9.0)) for link in arm.links]
    changed = replace(arm, links_tip_to_base=tuple(reversed(heavier)))

    assert [link.name for link in changed.links] == [link.name for link in arm.links]
    assert {link.inertia.mass for link in changed.links} == {9.0}
    with pytest.raises(TypeError, match="links"):
        replace(arm, links=arm.links)  # type: ignore[call-arg]


def test_pickles_of_links_from_tip_to_base_are_read() -> None:
    """An arm pickled when the field was called `links` loads as the same arm."""
    arm = robolin.load("panda")
    state = arm.__getstate__()
    old = Arm.__new__(Arm)
    old.__setstate__({"links": state.pop("links_tip_to_base"), **state})

    assert old == arm
    assert old.links == arm.links
