"""Pictures as files."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import robolin
from robolin.pictures.draw import PICTURE_FORMATS, figure_of, picture_bytes
from tests.cli.command import answered
from tests.cli.command import robolin as command

pytest.importorskip("matplotlib", reason="pictures need the extra 'plot'")

HOSTILE = ("$x^{", "_hidden", "<script>", "\x1b[31m", "关节\u202e", "'\"&", "y" * 10_000)


@pytest.mark.parametrize("form", PICTURE_FORMATS)
def test_the_same_data_give_the_same_bytes(form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A picture drawn twice is the same file, whatever a user has set up for other pictures."""
    import matplotlib

    result = robolin.answer(robolin.load("two-link"), "mass-matrix")
    first = picture_bytes(figure_of(result), form)
    monkeypatch.setitem(matplotlib.rcParams, "font.size", 23.0)
    assert picture_bytes(figure_of(result), form) == first
    assert not [word for word in (b"2026", b"matplotlib v", b"Matplotlib v") if word in first]


def test_names_are_shown_and_not_obeyed() -> None:
    """Names with markup, mathematics or no letters of the font are text in a sound file."""
    still = robolin.answer(robolin.load("panda"), "inverse")
    rows = np.arange(14.0).reshape(2, 7)
    for values in (still["tau"], rows):
        array = replace(still.arrays[0], values=values, labels=(HOSTILE,), name="qdd")
        page = picture_bytes(figure_of(replace(still, arrays=(array,))), "svg")
        texts = "".join(ET.fromstring(page).itertext())
        for name in ("$x^{", "_hidden", "<script>", "\\x1b[31m"):
            assert name in texts
        assert b"<script" not in page


def test_a_figure_has_the_numbers_of_the_result() -> None:
    """The lines of a figure have the result's own numbers."""
    arm = robolin.load("two-link")
    motion = robolin.answer(arm, robolin.Question("simulate", duration="0.05"))
    axes = motion.plot("q").axes
    for i, line in enumerate(axes[0].lines):
        assert np.array_equal(np.asarray(line.get_ydata()), motion["q"][:, i])
        assert np.array_equal(np.asarray(line.get_xdata()), motion.time)
    assert axes[0].get_xlabel() == "time [s]"
    assert axes[0].get_ylabel() == "[rad]"


@pytest.mark.slow
def test_a_stored_result_has_the_same_picture(tmp_path: Path) -> None:
    """What is read from a file is drawn as it was before it was written."""
    arm = robolin.load("two-link")
    motion = robolin.answer(arm, robolin.Question("simulate", duration="0.05"))
    for result in (motion, robolin.sweep(arm, "inverse", payload="tip:0,1")):
        robolin.write(result, tmp_path / "stored.npz")
        figure = robolin.read_result(tmp_path / "stored.npz").plot()
        assert picture_bytes(figure, "svg") == picture_bytes(result.plot(), "svg")


def test_files_and_arms_are_drawn(tmp_path: Path) -> None:
    """`plot` draws a stored result, the difference of two, and an arm; and writes it whole."""
    one, other = tmp_path / "one.npz", tmp_path / "other.json"
    answered("inverse", "two-link", "--q", "0.3,0.1", "-o", one)
    answered("inverse", "two-link", "--q", "0.2,0.1", "-o", other)
    for args in ((one,), (one, other), ("two-link",)):
        answered("plot", *args, "-o", tmp_path / "picture.svg")
        assert ET.parse(tmp_path / "picture.svg").getroot().tag.endswith("svg")


@pytest.mark.parametrize(
    "args, message",
    [
        (("two-link", "-o", "x.jpg"), "use .svg, .png, .pdf"),
        (("two-link", "ur5", "-o", "x.svg"), "robolin diff"),
        (("two-link", "--only", "tua", "-o", "x.svg"), "arrays here are tau, mass_matrix"),
        (("missing.npz", "-o", "x.svg"), "missing.npz"),
    ],
)
def test_wrong_wishes_are_refused(
    args: tuple[str, ...], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What cannot be drawn is said, and no file is left."""
    monkeypatch.chdir(tmp_path)
    ran = command("plot", *args)
    assert ran.code in (robolin.UsageError.exit_code, robolin.FileError.exit_code)
    assert message in ran.err
    assert not list(tmp_path.iterdir())
