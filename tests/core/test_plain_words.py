"""Errors about values of a wrong type use plain words and have a hint."""

from __future__ import annotations

import re

import numpy as np
import pytest

import robolin

VALUES = [
    (None, "got None\nhint: pass numbers, or 0 for zero values"),
    ([0.1, None], "got None among the values\nhint: replace None by a number"),
    ({0.1, 0.2}, "got a set\nhint: pass a list or an array: a set has no order"),
    (["0.1", "0"], "got text\nhint: convert the text to numbers: numpy.asarray(values"),
]


@pytest.mark.parametrize(("value", "text"), VALUES)
def test_values_that_are_not_numbers(value: object, text: str) -> None:
    with pytest.raises(robolin.RobolinError, match=re.escape(text)):
        robolin.inverse(robolin.load("two-link"), value)


def test_shapes_and_arms_have_hints() -> None:
    arm = robolin.load("two-link")
    with pytest.raises(robolin.RobolinError, match="hint: pass the same number of rows, or one"):
        robolin.inverse(arm, np.zeros((5, 2)), np.zeros((4, 2)))
    with pytest.raises(robolin.UsageError, match="got None\nhint: pass an arm from"):
        robolin.inverse(None, 0.0)
    with pytest.raises(robolin.UsageError, match="required\nhint: pass goal="):
        robolin.optimize(arm)
    with pytest.raises(robolin.UsageError, match="hint: set the output file with path="):
        robolin.report(arm, "x.html")


def test_types_of_numpy_are_dtypes() -> None:
    arm, q = robolin.load("two-link"), np.full((5, 2), 0.3)
    tau = robolin.inverse(arm, q, dtype=np.float32)
    assert tau.dtype == np.float32
    assert np.array_equal(tau, robolin.inverse(arm, q, dtype="float32"))
    assert np.array_equal(robolin.inverse(arm, q, dtype=np.float64), robolin.inverse(arm, q))
    with pytest.raises(robolin.UsageError, match="unknown dtype 'float16'"):
        robolin.inverse(arm, q, dtype=np.float16)


def test_unknown_attributes_have_a_suggestion() -> None:
    with pytest.raises(AttributeError, match="did you mean linearize_forward"):
        _ = robolin.linearise_forward
    with pytest.raises(AttributeError, match="robolin validate FILE"):
        _ = robolin.validate
