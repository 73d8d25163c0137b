"""A compiled call that is handed anything wrong says so, and computes as ever afterwards."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.fuzz.wrong_calls import campaign, subject

# one with a single result, one with several
QUICK = ("inverse", "energy")


def test_a_short_campaign_of_wrong_calls() -> None:
    """Every wrong argument is a TypeError, a ValueError or a RobolinError, and all three occur."""
    ended = Counter(campaign(1_500, 1, QUICK))
    assert set(ended) == {"TypeError", "ValueError", "RobolinError"}
    assert sum(ended.values()) == 1_500


@pytest.mark.slow
@pytest.mark.parametrize("seed", [2, 3])
def test_a_longer_campaign_of_wrong_calls(seed: int) -> None:
    """The same for four times as many, of all commands."""
    assert set(Counter(campaign(6_000, seed))) == {"TypeError", "ValueError", "RobolinError"}


@pytest.mark.parametrize("verb", QUICK)
def test_subjects_are_valid(verb: str) -> None:
    """The valid calls give the same bits, with new output arrays and with given ones."""
    assert subject(verb).is_unchanged()
