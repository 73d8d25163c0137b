"""The frame that is used if none, or one by name, is given."""

from __future__ import annotations

import pickle
from dataclasses import replace
from typing import Any

import pytest

import robolin
from robolin.core.arm import Frame, Pose, cached_on_arm
from robolin.evaluation.frames import MAX_CACHED_FRAMES, at_frame, default_frame, joints_to_frame
from tests.robots import random_arm


def test_the_only_end_of_a_description_is_the_tip() -> None:
    """A fixed link at the end counts."""
    assert default_frame(robolin.load("two-link")).name == "tip"


@pytest.mark.parametrize("name", ["ur5", "panda", "ur10"])
def test_several_frames_on_the_last_link_are_ambiguous(name: str) -> None:
    """If the last link has frames at different poses, none is chosen by default."""
    arm = robolin.load(name)
    on_last = {frame.name for frame in arm.frames.values() if frame.link == 1}
    with pytest.raises(robolin.UsageError, match="frames and no default frame") as caught:
        robolin.jacobian(arm, 0.0)
    assert all(f"'{frame}'" in caught.value.hint for frame in on_last)
    for frame in on_last:
        assert robolin.jacobian(arm, 0.0, frame=frame).frame == frame


def test_every_result_about_a_frame_names_it() -> None:
    """Results name their frame, also if it is the default."""
    arm = robolin.load("two-link")
    for function in (
        robolin.jacobian,
        robolin.frame_motion,
        robolin.frame_derivatives,
        robolin.operational_space,
    ):
        assert function(arm, [0.3, -0.7]).frame == "tip"
        assert function(arm, [0.3, -0.7], frame="lower").frame == "lower"


def test_the_tip_that_an_arm_was_loaded_with() -> None:
    """tip= selects the chain and the default frame."""
    arm = robolin.load("ur5", tip="tool0")

    assert default_frame(arm) == arm.frames["tool0"]
    assert joints_to_frame(at_frame(arm)) == 6


def test_arms_made_by_hand_have_their_last_link() -> None:
    """Without a description the default is the link without children."""
    arm = random_arm(1, 4)
    assert default_frame(replace(arm, frames={})) == Frame("link3", 1)
    with pytest.raises(robolin.UsageError, match="has 2 frames and no default frame"):
        default_frame(arm)


def test_several_ends_have_to_be_chosen_from() -> None:
    """A branched arm has no default, and the error lists its ends."""
    with pytest.raises(
        robolin.RobolinError, match="has several end links and no default frame"
    ) as caught:
        robolin.jacobian(robolin.load("panda-fingers"), 0.0)
    assert "'panda_leftfinger', 'panda_rightfinger'" in caught.value.hint
    assert caught.value.hint.startswith("choose a frame with --frame (frame= in Python): ")
    with pytest.raises(
        robolin.RobolinError, match="has several end links and no default frame"
    ) as caught:
        at_frame(robolin.load("panda-fingers"), flag="--tip-acceleration LINK")
    assert caught.value.hint.startswith(
        "choose a frame with --tip-acceleration LINK (frame= in Python):"
    )


def test_a_mistyped_frame_is_recognized() -> None:
    """The closest name is suggested."""
    with pytest.raises(robolin.RobolinError, match="frame: link 'tool_0' not found") as caught:
        robolin.jacobian(robolin.load("ur5"), 0.0, frame="tool_0")
    assert caught.value.hint == "did you mean 'tool0'?"


@pytest.mark.parametrize("frame", [3, ["tool0"]])
def test_a_frame_is_given_by_name(frame: Any) -> None:
    """Anything else is wrong usage."""
    with pytest.raises(robolin.UsageError, match="frame: must be the name of a link, got"):
        robolin.jacobian(robolin.load("ur5"), 0.0, frame=frame)


@pytest.mark.parametrize("point", [(1.0, 2.0), "abc", (1.0, 2.0, float("nan")), 3.0])
def test_a_point_is_three_finite_numbers(point: Any) -> None:
    """Anything else is wrong usage."""
    with pytest.raises(robolin.UsageError, match="point: must be"):
        robolin.jacobian(robolin.load("ur5"), 0.0, point=point)


def test_a_point_is_in_the_axes_of_its_frame() -> None:
    """The tip's pose is the frame's, moved along its own axes."""
    turned = (0.0, -1.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0)
    tool = Frame("tool", 1, Pose(turned, (1.0, 2.0, 3.0)))
    placed = at_frame(replace(random_arm(2, 3), frames={"tool": tool}), "tool", (0.5, 0.0, 0.25))

    assert placed.tip == Frame("tool", 1, Pose(turned, (1.0, 2.5, 3.25)))
    assert placed.contract["frame"] == "'tool' at 0.5, 0.0, 0.25 m"


def test_frame_objects_are_cached_and_the_cache_is_bounded() -> None:
    """The same point is the same object; a sweep over many points does not fill the memory."""
    arm = robolin.load("ur5")

    assert at_frame(arm, "tool0") is at_frame(arm, "tool0")
    for i in range(3 * MAX_CACHED_FRAMES):
        at_frame(arm, "tool0", (0.0, 0.0, float(i)))
    assert len(cached_on_arm(arm, "at_frame", lambda _: {})) <= MAX_CACHED_FRAMES
    assert cached_on_arm(pickle.loads(pickle.dumps(arm)), "at_frame", lambda _: None) is None
