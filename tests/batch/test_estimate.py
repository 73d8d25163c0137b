"""What many recordings will take is worked out from a sample, and nothing is kept of it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from robolin.batch.batch_plan import Division
from robolin.batch.estimate import ARITHMETIC, DIGITS_SHARE, DISK, NETWORK, Estimate, estimated_cost
from robolin.batch.recordings import recordings
from robolin.errors import RobolinError
from tests.batch.some_recordings import ROWS, all_of, question, write_recordings
from tests.cli.command import robolin

FLEET = Estimate(
    recordings=10,
    rows=10**9,
    exact=True,
    parts=1000,
    part_rows=10**6,
    bytes_in=10**11,
    bytes_out=10**10,
    sample=10**5,
    seconds={DIGITS_SHARE: 2e-6, ARITHMETIC: 1e-6},
    way=DISK,
    carried=1e-7,
    per_part=0.02,
    per_byte=1e-9,
    start=1.0,
)


def test_time_follows_the_formula() -> None:
    """Parts are shared, the plan is made once, and a disk is no quicker for many."""
    look = 1.0 + 100.0
    assert FLEET.time(1) == pytest.approx(look + 1000 * 3.02)
    assert FLEET.time(16) == pytest.approx(look + 63 * 3.02)
    assert (FLEET.bottleneck(1), FLEET.bottleneck(64)) == (DIGITS_SHARE, DISK)
    # a thousand workers wait for the disk
    assert FLEET.time(1000) == pytest.approx(look + 1e9 * 1e-7)
    far = replace(FLEET, way=NETWORK, carried=1e-5)
    assert far.time(1000) == pytest.approx(look + 1e6 * 1e-5)
    assert far.bottleneck() == NETWORK


def test_a_sample_is_measured_and_rows_are_counted(tmp_path: Path) -> None:
    """Rows of texts are worked out from their length, those of others counted."""
    write_recordings(tmp_path / "logs")
    found = all_of(tmp_path / "logs")
    inquiry, arm = question(found)
    whole = estimated_cost(inquiry, arm, found, Division(40, "csv"))
    # lines of one text differ in length by some per cent
    assert whole.rows == pytest.approx(ROWS, rel=0.1)
    assert (whole.exact, whole.parts, whole.way) == (False, 8, DISK)
    assert (whole.sample, whole.part_rows) == (40, 40)
    assert min(whole.per_row, whole.per_part, whole.per_byte, whole.bytes_out) > 0
    alone = recordings([str(tmp_path / "logs" / "c.npz")])
    counted = estimated_cost(*question(alone), alone, Division(None, None))
    assert (counted.rows, counted.exact, counted.parts) == (70, True, 1)
    # a part is never longer than the longest recording
    long = estimated_cost(*question(alone), alone, Division(10_000, None))
    assert (long.part_rows, long.parts, long.sample) == (70, 1, 70)
    (tmp_path / "a.csv.gz").write_bytes(b"")
    with pytest.raises(RobolinError, match="not estimated"):
        estimated_cost(inquiry, arm, recordings([str(tmp_path / "a.csv.gz")]), Division(None, None))


def test_a_plan_is_made_before_its_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`plan` before the words of a command writes its plan, and with --estimate nothing."""
    monkeypatch.chdir(tmp_path)
    write_recordings(tmp_path / "logs")
    ask = ["inverse", "two-link", "--trajectory", "logs/run_*/*.csv", "--part-rows", "50"]
    told = robolin("plan", *ask, "--estimate", "--workers=3")
    assert told.code == 0, told.err
    assert "bottleneck" in told.out
    before = robolin("plan", "--workers", "3", "--estimate", *ask)
    assert before.out.splitlines()[-1].startswith("      3  "), before.err
    assert [*tmp_path.iterdir()] == [tmp_path / "logs"]
    assert "5 parts of 3 recordings" in robolin("plan", *ask, "-o", "out").err
    assert robolin("status", "out").code == 1
    monkeypatch.setattr("robolin.batch.batch_plan.surveyed_recording", None)
    assert "5 parts written" in robolin(*ask, "-o", "out").err


def test_the_help_page_has_the_options() -> None:
    """What `plan` takes beside the words of the other command is listed."""
    told = robolin("plan", "--help").out
    assert "--estimate " in told
    assert "--workers N " in told


@pytest.mark.parametrize(
    "words, told",
    [
        ([], "which VERB"),
        (["check", "two-link"], "which VERB"),
        (["inverse", "two-link"], "is about parts"),
        (["inverse", "two-link", "--trajectory", "a.csv", "-o", "b.csv"], "is about parts"),
        (
            ["inverse", "two-link", "--estimate", "--workers", "many"],
            "'many' is not a whole number",
        ),
        (["inverse", "two-link", "--estimate", "--workers=2", "--workers", "3"], "given 2 times"),
        (["inverse", "two-link", "--workers", "2"], "goes with --estimate"),
        (["inverse", "two-link", "--workers"], "'' is not a whole number"),
        (["inverse", "two-link", "--estimte"], "did you mean --estimate?"),
        (["--estimte", "inverse", "two-link"], "did you mean --estimate?"),
        (["--estimate"], "which VERB"),
    ],
)
def test_what_is_no_plan_is_refused(words: list[str], told: str) -> None:
    """A plan is that of a command with parts."""
    ran = robolin("plan", *words)
    assert ran.code == 2
    assert told in ran.err
