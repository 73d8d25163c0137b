"""Pole maps: far poles are arrows, so that the others stay readable."""

from __future__ import annotations

import numpy as np
import pytest

from robolin.display.plots.draw_panels import drawn_panels
from robolin.display.plots.draw_planes import near_reach
from robolin.display.plots.panels import PlanePanel

pytest.importorskip("matplotlib", reason="pictures need the extra 'plot'")


@pytest.mark.parametrize(
    ("poles", "reach"),
    [
        ([-1.0, -2.0, 1.5 + 2.0j, 1.5 - 2.0j], 2.5),
        ([-1.0, -2.0, -900.0], 2.0),
        ([-1.0, -2.0, -900.0, -9000.0], 2.0),
        # half of the poles are always in the frame
        ([-1.0, -900.0, -900.0], 900.0),
        # poles at 0 do not make the others far
        ([0.0, 0.0, -5.0], 5.0),
        ([0.0, 0.0], 0.0),
        ([], 0.0),
        ([np.nan, -1.0], 1.0),
    ],
)
def test_the_frame_has_the_near_poles(poles: list[complex], reach: float) -> None:
    """A pole more than four times as far as the others is beyond the frame."""
    assert near_reach(np.array(poles, np.complex128)) == pytest.approx(reach)


def test_far_poles_are_arrows_with_values() -> None:
    """Every far pole has a value at the edge; conjugate poles share one."""
    poles = np.array([-1.0, -2.0, -1.5 + 1.0j, -1.5 - 1.0j, -900.0, -700 + 70j, -700 - 70j])
    panel = PlanePanel("poles", "1/s", poles, names=tuple("abcdefg"))
    axes = drawn_panels([panel], "").axes[0]
    assert axes.get_xlim()[1] < 3.0
    texts = [text.get_text() for text in axes.texts]
    assert {"-900", "-700 ± 70i"} <= set(texts)
    assert not {"e", "f"} & set(texts)
    assert sum(len(each.get_offsets()) for each in axes.collections) == 4


def test_a_table_lists_the_poles() -> None:
    """Right of the plane: pole, frequency, damping ratio and time constant; conjugates once."""
    poles = np.array([0.0, 2.0, -3.0 + 4.0j, -3.0 - 4.0j])
    axes = drawn_panels([PlanePanel("poles", "1/s", poles)], "").axes[0]
    (text,) = [each.get_text() for each in axes.texts if "rad/s" in each.get_text()]
    rows = [line.split() for line in text.splitlines()[1:]]
    assert rows == [
        ["2", "2", "-1.000", "0.5"],
        ["~0"],
        ["-3", "±", "4i", "5", "0.600", "0.333"],
    ]
    discrete = drawn_panels([PlanePanel("poles", "1", poles)], "").axes[0]
    assert not any("rad/s" in each.get_text() for each in discrete.texts)
