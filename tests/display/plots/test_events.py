"""Events above the curves: limits exceeded or reached, and rows without a result."""

from __future__ import annotations

import numpy as np
import pytest

import robolin
from robolin.display.plots.draw_panels import drawn_panels
from robolin.display.plots.panels import (
    AT_LIMIT,
    BEYOND_LIMIT,
    NO_BOUNDS,
    NO_RESULT,
    Bounds,
    CurvePanel,
    Event,
    events_of,
    overlaid,
)
from robolin.display.plots.result_panels import panels_of


def _kinds(values: list[float], bounds: Bounds) -> tuple[Event, ...]:
    x = np.arange(len(values), dtype=np.float64)
    return events_of(x, np.array(values)[:, None], bounds)


def test_intervals_start_and_end_at_their_rows() -> None:
    """Consecutive rows of one kind are one event; round-off does not exceed a limit."""
    just = 2.0 * (1.0 + 1e-15)
    values = [0.0, 2.0, just, 3.0, 3.0, 0.0, np.nan, -2.5, -1.0]
    assert set(_kinds(values, Bounds(-1.0, 2.0))) == {
        Event(AT_LIMIT, 1.0, 2.0),
        Event(BEYOND_LIMIT, 3.0, 4.0),
        Event(NO_RESULT, 6.0, 6.0),
        Event(BEYOND_LIMIT, 7.0, 7.0),
        Event(AT_LIMIT, 8.0, 8.0),
    }
    assert _kinds([0.0, 5.0], NO_BOUNDS) == ()
    assert _kinds([0.0, 5.0], Bounds(upper=4.0)) == (Event(BEYOND_LIMIT, 1.0, 1.0),)


def test_an_optimal_motion_at_its_limits_does_not_exceed_them() -> None:
    """`optimize` meets velocity limits to 1e-6 of the limit, far below what a picture shows."""
    at = _kinds([0.0, 2.0 * (1.0 + 1e-6), 2.0 * (1.0 + 1e-5)], Bounds(-2.0, 2.0))
    assert set(at) == {Event(AT_LIMIT, 1.0, 1.0), Event(BEYOND_LIMIT, 2.0, 2.0)}


def test_saturated_torques_are_marked() -> None:
    """A controller that reaches the effort limit has strips above its curve, and a text."""
    pytest.importorskip("matplotlib", reason="pictures need the extra 'plot'")
    arm = robolin.load("panda")
    question = robolin.Question(
        "simulate", control="pd", kp="9000", kd="10", goal="panda_joint1=2", duration="0.02"
    )
    with pytest.warns(robolin.RobolinWarning, match="exceeded|saturated"):
        motion = robolin.answer(arm, question, robolin.States(q="home"))
    panels = [panel for panel in panels_of(motion, ["tau"]) if isinstance(panel, CurvePanel)]
    marked = [panel for panel in panels if panel.events]
    limits = np.array([joint.limits.effort for joint in arm.joints])
    reached = (np.abs(motion["tau"]) >= limits * (1.0 - 1e-12)).any(axis=0)
    assert {panel.title for panel in marked} == {
        f"tau, {joint.name}" for joint, at in zip(arm.joints, reached, strict=True) if at
    }
    assert marked
    figure = drawn_panels(marked[:1], "")
    assert figure.axes[0].get_title(loc="right").startswith("at the limit from 0 s")
    both = overlaid([marked[:1], marked[:1]], ["one", "other"])[0]
    assert isinstance(both, CurvePanel)
    assert len(both.events) == 2 * len(marked[0].events)
