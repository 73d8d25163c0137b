"""One question for several values."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import robolin as library
from tests.cli.command import answered, robolin

MASSES = (0.0, 1.0, 2.5)


@pytest.mark.parametrize("joined", [True, False])
def test_rows_are_the_answers_to_each_value(joined: bool) -> None:
    """Each row of a sweep has the bits of the answer to its value alone."""
    given = ["--payload", "lower:0,1,2.5@0.1,0,0"]
    flags = ["=".join(given)] if joined else given
    swept = answered("sweep", "inverse", "two-link", *flags, "--q", "0.3,-0.7")
    assert swept.rows[0] == ["payload", "shoulder/effort", "elbow/effort"]
    for mass, row in zip(MASSES, swept.numbers, strict=True):
        alone = answered(
            "inverse", "two-link", "--payload", f"lower:{mass}@0.1,0,0", "--q", "0.3,-0.7"
        )
        assert row == [mass, *alone.numbers[0]]


@pytest.mark.parametrize(
    "flags, values, unit",
    [
        (("--armature", "elbow=0,0.5"), [0.0, 0.5], "kg·m²"),
        (("--lock", "elbow=0,90deg"), [0.0, np.pi / 2], "rad"),
        (("--friction-velocity", "0.01,0.1"), [0.01, 0.1], "rad/s"),
    ],
)
def test_other_options_can_be_swept(
    flags: tuple[str, ...], values: list[float], unit: str, tmp_path: Path
) -> None:
    """Armatures, locked joints and friction take several values too, with their units."""
    file = tmp_path / "swept.json"
    answered("sweep", "mass-matrix", "two-link", *flags, "-o", file)
    stored = library.read_result(file)
    name = flags[0].removeprefix("--").replace("-", "_")
    assert stored.arrays[name].tolist() == values
    assert stored.meta["arrays"][name]["unit"] == unit
    assert robolin("check", file).code != 0


@pytest.mark.parametrize(
    "args, message",
    [
        ((), "which VERB"),
        (("inspect", "two-link"), "which VERB"),
        (("inverse", "two-link"), "no option has several values"),
        (
            ("inverse", "two-link", "--payload", "lower:0,1", "--armature", "elbow=0,1"),
            "more than one option is swept",
        ),
        (("inverse", "two-link", "--payload", "lower:0,x"), "'x' is not a number"),
        (
            ("simulate", "two-link", "--duration", "0.01", "--payload", "lower:0,1"),
            "a sweep is about one state",
        ),
    ],
)
def test_wrong_wishes_are_refused(args: tuple[str, ...], message: str) -> None:
    """A sweep of nothing, of two things or of many rows is refused with what helps."""
    ran = robolin("sweep", *args)
    assert ran.code == library.UsageError.exit_code
    assert message in ran.err


def test_a_sweep_is_drawn_over_its_values(tmp_path: Path) -> None:
    """The picture of a sweep has the swept values along its axis."""
    pytest.importorskip("matplotlib", reason="pictures need the extra 'plot'")
    file = tmp_path / "swept.svg"
    answered("sweep", "inverse", "two-link", "--payload", "lower:0,1,2", "-o", file)
    assert "payload [kg]" in file.read_text("utf-8")
