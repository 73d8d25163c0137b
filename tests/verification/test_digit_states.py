"""Digits are counted in states that have an answer, the worst conditioned always among them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from robolin.verification.digits import SMALL, _rows

CONDITION = np.array([1.0, 5.0, 3.0, 2.0])


def _subject(unanswered: list[int], links: int) -> Any:
    values = np.ones((4, 2, 2))
    values[unanswered, 0, 1] = np.nan
    ran = SimpleNamespace(arrays={"x": values, "y": np.ones(4)})
    arm = SimpleNamespace(links=[None] * links, sliding_base=())
    return SimpleNamespace(q=np.zeros((4, 2)), condition=CONDITION, arm=arm, ran=lambda _: ran)


@pytest.mark.parametrize(
    ("unanswered", "links", "rows"),
    [
        ([], 2, [0, 1]),
        ([0], 2, [1]),
        ([1], 2, [0, 2]),
        ([0, 1], 2, [2]),
        ([0, 1, 2, 3], 2, []),
        ([], SMALL + 1, [1]),
        ([1], SMALL + 1, [2]),
    ],
)
def test_states_without_an_answer_are_passed_over(
    unanswered: list[int], links: int, rows: list[int]
) -> None:
    """A result that is missing in one state is looked at in another, on large arms too."""
    assert _rows(_subject(unanswered, links), "any") == rows
