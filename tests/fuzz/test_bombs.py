"""Small files that expand to very much data are rejected with bounded memory and CPU time."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fuzz.bombs import BOMBS, MOST_MEGABYTES, Bomb, measured

QUICK = ("anchors.yaml", "endless.csv")


@pytest.mark.parametrize(
    "bomb",
    [
        pytest.param(bomb, id=bomb.name, marks=[] if bomb.name in QUICK else pytest.mark.slow)
        for bomb in BOMBS
    ],
)
def test_a_bomb(tmp_path: Path, bomb: Bomb) -> None:
    """Memory use and the length of the message are bounded.

    The system ends a process that exceeds its CPU time limit.
    """
    outcome = measured(bomb, tmp_path)
    assert outcome.code == bomb.code, outcome.message[:1000]
    assert bomb.message in outcome.message
    assert bomb.name in outcome.message
    assert 0 < outcome.megabytes < MOST_MEGABYTES
    assert len(outcome.message) < 200_000
