"""Small files that stand for much are refused by name, with little memory and in little time."""

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
    """What it takes of memory is bounded, and so is what is said of it.

    The system ends a process that takes more than its share of the processor.
    """
    found = measured(bomb, tmp_path)
    assert found.code == bomb.code, found.said[:1000]
    assert bomb.said in found.said
    assert bomb.name in found.said
    assert 0 < found.megabytes < MOST_MEGABYTES
    assert len(found.said) < 200_000
