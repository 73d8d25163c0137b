"""What benchmarks compare with peers before they time it."""

from __future__ import annotations

from dataclasses import asdict

import numpy as np
import pytest

import robolin
from benchmarks.verbs import VERBS, robolin_answer
from tests.robots import random_states


@pytest.mark.parametrize("verb", VERBS)
def test_answers_that_are_compared_are_arrays_row_by_row(verb: str) -> None:
    """Every result of a verb is an array of as many rows as were asked for, and nothing else is."""
    arm = robolin.load("two-link")
    states = asdict(random_states(arm, 4, 7))
    states["tau"] = states["qdd"]
    answer = robolin_answer(arm, verb, states, jobs=1, engine="python")(3)

    assert answer
    for values in answer.values():
        assert isinstance(values, np.ndarray)
        assert len(values) == 3
