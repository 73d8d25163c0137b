"""`plan` before a command writes its plan, which the command and its shards then follow."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.batch.sample_recordings import write_recordings
from tests.cli.command import robolin


def test_a_plan_is_made_before_its_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Recordings that `plan` has surveyed are not surveyed again."""
    monkeypatch.chdir(tmp_path)
    write_recordings(tmp_path / "logs")
    ask = ["inverse", "two-link", "--trajectory", "logs/run_*/*.csv", "--part-rows", "50"]
    assert "5 parts of 3 recordings" in robolin("plan", *ask, "-o", "out").err
    assert robolin("status", "out").code == 1
    monkeypatch.setattr("robolin.batch.batch_plan.surveyed_recording", None)
    assert "5 parts written" in robolin(*ask, "-o", "out").err


@pytest.mark.parametrize(
    "words, message",
    [
        ([], "requires a COMMAND"),
        (["check", "two-link"], "requires a COMMAND"),
        (["inverse", "two-link"], "requires recordings and a folder"),
        (
            ["inverse", "two-link", "--trajectory", "a.csv", "-o", "b.csv"],
            "requires recordings and a folder",
        ),
        (["inverse", "two-link", "--estimate"], "robolin inverse: no such option '--estimate'"),
    ],
)
def test_invalid_plans_are_rejected(words: list[str], message: str) -> None:
    """A plan requires a command with parts."""
    ran = robolin("plan", *words)
    assert ran.code == 2
    assert message in ran.err
