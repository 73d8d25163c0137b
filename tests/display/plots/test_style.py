"""Styles of plots: each is complete, readable, and fits its medium."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import numpy as np
import pytest

import robolin
from robolin.core.choices import PLOT_STYLES
from robolin.display.plots.style import STYLES, PlotStyle, text_of_name
from tests.cli.command import robolin as command
from tests.cli.command import run_ok


def _light(colour: str) -> float:
    """Relative luminance of a colour, as in WCAG 2."""
    parts = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255.0
    linear = np.where(parts <= 0.03928, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])


def _contrast(style: PlotStyle, colour: str) -> float:
    paper = style.settings.get("figure.facecolor", "#ffffff")
    dark, light = sorted((_light(colour), _light(paper)))
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("name", PLOT_STYLES)
def test_text_and_curves_have_contrast(name: str) -> None:
    """Text has the contrast of WCAG AA, 4.5; curves at least 1.9, and dashes."""
    style = STYLES[name]
    for colour in (*style.levels, style.faint):
        # amber is used for short texts only
        assert _contrast(style, colour) > 4.0, colour
    assert min(_contrast(style, colour) for colour in style.curves) > 1.9
    assert len(set(style.curves)) == 8


@pytest.mark.slow
def test_every_kind_of_panel_is_drawn_in_every_style() -> None:
    """Curves, bars, matrices and poles are drawn; only the paper has a fixed width."""
    pytest.importorskip("matplotlib", reason="pictures need the extra 'plot'")
    arm = robolin.load("two-link")
    motion = robolin.answer(arm, robolin.Question("simulate", duration="0.02"))
    results = [motion, robolin.answer(arm, "mass-matrix"), robolin.answer(arm, "poles")]
    for name, result in product(PLOT_STYLES, results):
        figure = result.plot(style=name)
        paper = STYLES[name].settings.get("figure.facecolor", "#ffffff")
        shade = "".join(f"{round(255 * x):02x}" for x in figure.get_facecolor()[:3])
        assert f"#{shade}" == paper
        if name == "paper":
            assert (
                figure.get_size_inches()[0] == pytest.approx(3.5)
                or pytest.approx(7.16) == figure.get_size_inches()[0]
            )


def test_the_style_of_the_command(tmp_path: Path) -> None:
    """The command draws the style of Python; an unknown style is rejected by both."""
    pytest.importorskip("matplotlib", reason="pictures need the extra 'plot'")
    file, picture = str(tmp_path / "mass.npz"), tmp_path / "dark.svg"
    run_ok("mass-matrix", "two-link", "-o", file)
    run_ok("plot", file, "--style", "dark", "-o", str(picture))
    assert "fill: #15181c" in picture.read_text()
    assert command("plot", file, "--style", "noir", "-o", str(picture)).code == 2
    with pytest.raises(robolin.UsageError, match="unknown style 'noir'"):
        robolin.read_result(file).plot(style="noir")


def test_long_names_keep_both_ends() -> None:
    """Joint names that differ only at the end stay different."""
    names = [f"{'arm_' * 30}joint_{i}" for i in range(3)]
    texts = [text_of_name(name, 30) for name in names]
    assert len(set(texts)) == 3
    assert {len(text) for text in texts} == {30}
    assert text_of_name("_hidden") == " _hidden"
