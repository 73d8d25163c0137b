"""Margins to joint limits, against values computed by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import robolin
from robolin.analysis.limits import ClosestApproach
from robolin.core.arm import Arm, Limits, Mimic
from tests.robots import random_arm


def limited(*limits: Limits) -> Arm:
    """A chain of turning joints, named base to tip, with these limits."""
    arm = random_arm(2, len(limits), prismatic=False)
    names = tuple(f"joint{i}" for i in range(len(limits)))
    by_name = dict(zip(names, limits, strict=True))
    links = tuple(
        replace(link, joint=replace(link.joint, limits=by_name[link.joint.name]))
        for link in arm.links_tip_to_base
    )
    return replace(arm, links_tip_to_base=links, joint_names=names)


ARM = limited(Limits(-1.0, 3.0, 2.0, 10.0), Limits(velocity=5.0), Limits())


def margins_of(arm: Arm, *motion: object, **more: object) -> dict[tuple[str, str], object]:
    margins = robolin.limits(arm, *motion, **more).margins
    return {(margin.joint, margin.quantity): margin for margin in margins}


def test_the_worst_row_is_reported_with_its_limit() -> None:
    """The nearer limit counts, by its distance; efforts and velocities by their size."""
    q = [[0.0, 0.0, 0.0], [2.5, 9.0, 9.0], [-0.8, 0.0, 0.0]]
    qd = [[1.0, -1.0, 0.0], [-1.5, 0.0, 0.0], [0.0, 4.0, 0.0]]
    tau = [[9.0, 0.0, 0.0], [0.0, 0.0, 0.0], [-12.0, 1e9, 0.0]]
    margins = margins_of(ARM, q, qd, tau, time=[0.0, 0.1, 0.2])

    position = margins["joint0", "position"]
    assert (position.row, position.time, position.value, position.limit) == (2, 0.2, -0.8, -1.0)
    assert position.margin == pytest.approx(0.2)
    assert position.share == pytest.approx(0.2 / 4.0)
    assert not position.exceeded

    velocity = margins["joint0", "velocity"]
    assert (velocity.row, velocity.value, velocity.limit) == (1, -1.5, -2.0)
    assert velocity.share == pytest.approx(0.25)
    assert margins["joint1", "velocity"].margin == pytest.approx(1.0)

    effort = margins["joint0", "effort"]
    assert (effort.row, effort.value, effort.limit, effort.margin) == (2, -12.0, -10.0, -2.0)
    assert effort.exceeded
    assert effort.unit == "N·m"
    assert robolin.limits(ARM, q, qd, tau).exceeded[0].quantity == "effort"


def test_ends_of_different_size_compare_by_the_share_that_is_left() -> None:
    """For [-30, 40], 4.06 uses 10.15 % of 40; -6 uses 20 % of 30, more than 7 does of 40."""
    arm = limited(Limits(effort=40.0, effort_lower=-30.0))
    one = margins_of(arm, [0.0], 0.0, [4.06])["joint0", "effort"]
    assert (one.limit, one.margin) == (40.0, pytest.approx(35.94))
    assert one.share == pytest.approx(1.0 - 4.06 / 40.0)
    many = margins_of(arm, np.zeros((3, 1)), 0.0, [[7.0], [-6.0], [0.0]])["joint0", "effort"]
    assert (many.row, many.limit, many.share) == (1, -30.0, pytest.approx(0.8))
    over = margins_of(arm, np.zeros((3, 1)), 0.0, [[40.3], [-30.3], [0.0]])["joint0", "effort"]
    assert (over.row, over.limit, over.share) == (1, -30.0, pytest.approx(-0.01))
    assert over.exceeded


def test_a_range_that_begins_at_zero_is_the_scale_of_its_margins() -> None:
    """A motor that only pulls: 4 N·m of [0, 40] are 10 % from its lower end."""
    arm = limited(Limits(effort=40.0, effort_lower=0.0))
    one = margins_of(arm, [0.0], 0.0, [4.0])["joint0", "effort"]
    assert (one.limit, one.margin, one.share) == (0.0, 4.0, pytest.approx(0.1))
    assert margins_of(arm, [0.0], 0.0, [-1.0])["joint0", "effort"].exceeded


def test_missing_limits_are_reported() -> None:
    """A joint without a limit of some kind is named, and has no margin of that kind."""
    result = robolin.limits(ARM, [0.0, 1e3, 1e3], 1e-3, 1e6)

    assert result.unlimited == {
        "joint1": ("position", "effort"),
        "joint2": ("position", "velocity", "effort"),
    }
    assert {margin.joint for margin in result.margins} == {"joint0", "joint1"}


def test_a_limit_that_is_touched_is_not_exceeded() -> None:
    """Exactly at the limit the margin is 0 and the limit is not exceeded."""
    margins = margins_of(ARM, [3.0, 0.0, 0.0], [2.0, 0.0, 0.0], [-10.0, 0.0, 0.0])
    assert all(margin.margin == 0.0 for key, margin in margins.items() if key[0] == "joint0")
    assert not any(margin.exceeded for margin in margins.values())


def test_chunks_give_the_margins_of_all_rows() -> None:
    """Rows processed in chunks give the same margins, row numbers and times."""
    rng = np.random.default_rng(0)
    motion, time = rng.normal(size=(3, 100, 3)) * 3.0, np.arange(100) * 0.01
    approach = ClosestApproach(ARM)
    for start in range(0, 100, 7):
        part = slice(start, start + 7)
        approach.add(*motion[:, part], time[part])

    assert approach.result() == robolin.limits(ARM, *motion, time=time)


def test_nan_rows_are_skipped() -> None:
    """NaN is neither the worst nor the first."""
    approach = ClosestApproach(ARM)
    rows = np.array([[np.nan] * 3, [1.0, 0.0, 0.0], [0.5, 0.0, 0.0]])
    approach.add(rows, 0.0 * rows, rows)
    margins = approach.result()

    assert margins.rows == 3
    assert {margin.row for margin in margins.margins} == {1, 2}


def test_followers_keep_to_their_own_limits() -> None:
    """A mimic joint may reach its limit before the joint that it follows; it has no motor."""
    arm = limited(Limits(-1.0, 1.0, 2.0, 10.0), Limits(-1.0, 1.0, 2.0, 10.0))
    follower = replace(arm.links_tip_to_base[0].joint, mimic=Mimic("joint0", -2.0, 0.5))
    links = (replace(arm.links_tip_to_base[0], joint=follower), arm.links_tip_to_base[1])
    tied = replace(arm, links_tip_to_base=links, joint_names=("joint0",))
    margins = margins_of(tied, [0.9], [0.4], [3.0])

    assert margins["joint1", "position"].value == pytest.approx(-1.3)
    assert margins["joint1", "position"].exceeded
    assert margins["joint1", "velocity"].margin == pytest.approx(1.2)
    assert ("joint1", "effort") not in margins


def test_a_limit_of_zero_has_no_share() -> None:
    """A percentage of 0 is undefined; the limit itself applies."""
    margins = margins_of(limited(Limits(effort=0.0)), [0.0], 0.0, [0.5])
    assert margins["joint0", "effort"].share is None
    assert margins["joint0", "effort"].exceeded


def test_continuous_joints_have_no_ends() -> None:
    """A continuous joint has only its velocity limit."""
    arm = limited(Limits(-1.0, 1.0, 2.0))
    joint = replace(arm.links_tip_to_base[0].joint, kind="continuous")
    free = replace(arm, links_tip_to_base=(replace(arm.links_tip_to_base[0], joint=joint),))
    assert set(margins_of(free, [50.0])) == {("joint0", "velocity")}


def test_wrong_input_is_refused() -> None:
    """An arm's name, and a wrong number of joints or times, are RobolinErrors."""
    with pytest.raises(robolin.UsageError):
        robolin.limits("panda", 0.0)  # type: ignore[arg-type]
    with pytest.raises(
        robolin.RobolinError,
        match="q: must have 3 values along its last axis, one per joint of 'chain-3-2', got 2",
    ):
        robolin.limits(ARM, [0.0, 1.0])
    with pytest.raises(
        robolin.RobolinError, match=r"time: must have one value per row \(1\), got 2"
    ):
        robolin.limits(ARM, [0.0, 1.0, 2.0], time=[0.0, 1.0])
