"""Plots as files."""

from __future__ import annotations

import pickle
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import robolin
from robolin.core.choices import PICTURE_FORMATS
from robolin.display.plots.draw_panels import drawn_panels, figure_of, picture_bytes
from robolin.display.plots.result_panels import panels_of
from tests.cli.command import robolin as command
from tests.cli.command import run_ok

pytest.importorskip("matplotlib", reason="pictures need the extra 'plot'")

HOSTILE = ("$x^{", "_hidden", "<script>", "\x1b[31m", "关节\u202e", "'\"&", "y" * 10_000)


@pytest.mark.parametrize("form", PICTURE_FORMATS)
def test_the_same_data_give_the_same_bytes(form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A plot drawn twice is the same file, independent of the user's matplotlib settings."""
    import matplotlib

    result = robolin.answer(robolin.load("two-link"), "mass-matrix")
    first = picture_bytes(figure_of(result), form)
    monkeypatch.setitem(matplotlib.rcParams, "font.size", 23.0)
    assert picture_bytes(figure_of(result), form) == first
    assert not [word for word in (b"2026", b"matplotlib v", b"Matplotlib v") if word in first]


def test_names_are_escaped() -> None:
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


def test_a_figure_shows_itself_in_a_notebook() -> None:
    """A notebook gets a PNG without any setup, also of a pickled plot."""
    figure = robolin.answer(robolin.load("two-link"), "mass-matrix").plot()
    for each in (figure, pickle.loads(pickle.dumps(figure))):
        assert each._repr_png_().startswith(b"\x89PNG")


def test_lines_have_the_numbers_of_the_result() -> None:
    """The lines of a plot have exactly the numbers of the result."""
    arm = robolin.load("two-link")
    motion = robolin.answer(arm, robolin.Question("simulate", duration="0.05"))
    axes = motion.plot("q").axes
    for i, line in enumerate(axes[0].lines):
        assert np.array_equal(np.asarray(line.get_ydata()), motion["q"][:, i])
        assert np.array_equal(np.asarray(line.get_xdata()), motion.time)
    assert axes[0].get_xlabel() == "time [s]"
    assert axes[0].get_ylabel() == "[rad]"


def test_rounding_is_labelled_and_not_drawn() -> None:
    """Differences and joint values that are only round-off are drawn as zero."""
    still = robolin.answer(robolin.load("panda"), "inverse")
    tau = np.arange(1.0, 15.0).reshape(2, 7)
    rows = replace(still, arrays=(replace(still.arrays[0], values=tau),))
    other = replace(still, arrays=(replace(still.arrays[0], values=np.nextafter(tau, 0.0)),))
    (axes,) = (rows - other).plot().axes
    assert axes.get_ylim()[1] > 10.0
    # two neighbours between 8 and 16 are 2⁻⁴⁹ apart
    assert [text.get_text() for text in axes.texts] == [
        "~0: round-off, at most 1.8e-15 relative to 14"
    ]
    noisy = tau.copy()
    noisy[:, 6] = 3.09e-18, 3.1e-18
    noisy[:, 5] = 0.7, 0.7 + 1e-16
    swept = replace(still, arrays=(replace(still.arrays[0], values=noisy),))
    level, nothing = swept.plot().axes[5:7]
    assert nothing.get_ylim()[1] > 10.0
    assert any("~0: round-off" in text.get_text() for text in nothing.texts)
    assert level.get_ylim()[1] - level.get_ylim()[0] > 0.05


def test_signed_matrices_are_centred_on_zero() -> None:
    """Zero has the neutral colour of a diverging map, and no number; other cells have one."""
    still = robolin.answer(robolin.load("panda"), "linearize-forward")
    values = np.diag([-3.0, 1.0, 2.0, 0.5, 0.5, 0.5, 0.5])
    array = next(each for each in still.arrays if each.name == "dqdd_dq")
    (axes, _) = replace(still, arrays=(replace(array, values=values),)).plot().axes
    assert axes.images[0].get_clim() == (-3.0, 3.0)
    written = [text.get_text() for text in axes.texts]
    assert [text for text in written if text] == ["-3", "1", "2", "0.5", "0.5", "0.5", "0.5"]


def test_poles_have_equal_axes_and_names() -> None:
    """The plane has one scale, and every cluster of poles the name of its joint."""
    arm = robolin.load("acrobot")
    poles = robolin.answer(arm, "poles", robolin.States(q=[np.pi, 0.0]))
    axes = poles.plot("poles").axes[0]
    assert axes.get_aspect() == 1.0
    assert axes.get_xlim() == axes.get_ylim()
    assert set(arm.joint_names) & {text.get_text() for text in axes.texts}


def test_magnitude_stands_above_phase() -> None:
    """A Bode plot has one frequency axis for magnitude and phase of an input."""
    question = robolin.Question("response", frequencies="0.1:10:5")
    figure = robolin.answer(robolin.load("two-link"), question).plot()
    labels = [axes.get_ylabel() for axes in figure.axes]
    assert labels == ["magnitude [dB]", "magnitude [dB]", "phase [°]", "phase [°]"]
    for above, below in zip(figure.axes[:2], figure.axes[2:], strict=True):
        assert above.get_shared_x_axes().joined(above, below)


def test_a_motion_has_a_row_per_joint_and_a_column_per_quantity() -> None:
    """The joint nearest to a limit is in the first row."""
    arm = robolin.load("panda")
    states = robolin.States(q="home")
    motion = robolin.answer(arm, robolin.Question("simulate", duration=0.02, dt=0.01), states)
    titles = [axes.get_title(loc="left") for axes in figure_of(motion).axes]
    rows = [titles[i : i + 3] for i in range(0, len(titles), 3)]
    assert len(rows) == 7
    for row in rows:
        assert [title.partition(", ")[0] for title in row] == ["q", "qd", "tau"]
        assert len({title.partition(", ")[2] for title in row}) == 1


def test_many_inputs_are_drawn_with_their_own_positions() -> None:
    """A Bode plot of seven joints has two panels of seven curves; of two joints all pairs."""
    for name, panels, curves in (("panda", 2, 7), ("two-link", 4, 4)):
        question = robolin.Question("response", frequencies="1:10:5")
        figure = figure_of(robolin.answer(robolin.load(name), question))
        assert len(figure.axes) == panels
        assert all(len(axes.get_lines()) == curves for axes in figure.axes)


def test_poles_have_a_verdict_and_short_names() -> None:
    """The line under the title is the verdict of the terminal with the legend of the joints."""
    poles = robolin.answer(robolin.load("panda"), "poles", robolin.States(q="home"))
    figure = figure_of(poles)
    assert "4 of 14 poles unstable, fastest mode grows at 5.849 1/s" in figure.get_suptitle()
    assert "j1..j7 = panda_joint1..panda_joint7" in figure.get_suptitle()
    assert any(text.get_text() == "j6" for text in figure.axes[0].texts)


def test_the_main_array_is_first_and_zeros_are_left_out() -> None:
    """The accelerations at rest have no panel next to the derivatives."""
    result = robolin.answer(robolin.load("panda"), "linearize-forward", robolin.States(q="home"))
    titles = [panel.title for panel in panels_of(result)]
    assert titles == ["dqdd_dq", "dqdd_dtau", "dqdd_dqd"]
    assert [panel.title for panel in panels_of(result, ["qdd"])] == ["qdd"]


def test_a_legend_fits_the_figure() -> None:
    """Long names take several lines of the legend."""
    motion = robolin.answer(
        robolin.load("panda"),
        robolin.Question("simulate", duration=0.05, dt=0.01),
        robolin.States(q="home"),
    )
    figure = figure_of(motion - motion, ["tau"])
    figure.canvas.draw()
    (legend,) = figure.legends
    box = legend.get_window_extent()
    assert box.x0 >= 0.0
    assert box.x1 <= figure.bbox.width


def test_panels_of_one_unit_share_a_scale() -> None:
    """The joint nearest to its limit comes first, and all torques have the same scale."""
    still = robolin.answer(robolin.load("panda"), "inverse")
    tau = np.zeros((3, 7))
    tau[1, 4], tau[2, 1] = 11.0, 20.0
    moved = replace(still, arrays=(replace(still.arrays[0], values=tau),))
    figure = moved.plot()
    assert [axes.get_title("left") for axes in figure.axes[:2]] == [
        "tau, panda_joint5",
        "tau, panda_joint2",
    ]
    assert len({axes.get_ylim() for axes in figure.axes[:7]}) == 1
    assert "smallest margin: panda_joint5 effort, 91.7 % used at 2" in figure.get_suptitle()
    assert figure.get_suptitle().startswith("panda: joint torques")
    own = drawn_panels(panels_of(moved), "", own_scales=True)
    assert len({axes.get_ylim() for axes in own.axes[:7]}) > 1


@pytest.mark.slow
def test_names_do_not_overlap() -> None:
    """The names of many joints have enough space next to bars and matrices."""
    names = tuple(f"left_shoulder_pitch_{i}_joint" for i in range(29))
    still = robolin.answer(robolin.load("panda"), "inverse")
    bars = replace(still.arrays[0], values=np.ones(29), labels=(names,))
    matrix = replace(bars, name="mass_matrix", values=np.eye(29), labels=(names, names))
    figure = replace(still, arrays=(bars, matrix)).plot()
    figure.draw_without_rendering()
    for axis in (figure.axes[0].xaxis, figure.axes[1].xaxis, figure.axes[1].yaxis):
        labels = axis.get_ticklabels()
        places = [label.get_window_extent() for label in labels]
        middles = np.array([(box.x0 + box.x1, box.y0 + box.y1) for box in places]) / 2.0
        # names side by side: turned by 60 degrees they are closer than their ticks
        turned = np.radians(labels[0].get_rotation())
        apart = np.diff(middles, axis=0) @ (np.sin(turned), -np.cos(turned))
        assert np.abs(apart).min() > labels[0].get_fontsize() * figure.dpi / 72.0


@pytest.mark.slow
def test_a_stored_result_has_the_same_picture(tmp_path: Path) -> None:
    """A result read from a file gives the same plot as before it was written."""
    arm = robolin.load("two-link")
    motion = robolin.answer(arm, robolin.Question("simulate", duration="0.05"))
    swept = robolin.sweep(arm, "inverse", payload="tip:0,1")
    for result, names in ((motion, ("q", "energy_error")), (swept, ())):
        robolin.write(result, tmp_path / "stored.npz")
        figure = robolin.read_result(tmp_path / "stored.npz").plot(*names)
        assert picture_bytes(figure, "svg") == picture_bytes(result.plot(*names), "svg")


@pytest.mark.slow
def test_files_and_arms_are_drawn(tmp_path: Path) -> None:
    """`plot` draws a stored result, the difference of two, and an arm; and writes it whole."""
    one, other = tmp_path / "one.npz", tmp_path / "other.json"
    run_ok("inverse", "two-link", "--q", "0.3,0.1", "-o", one)
    run_ok("inverse", "two-link", "--q", "0.2,0.1", "-o", other)
    both = (one, other)
    for args in ((one,), both, (*both, "--difference"), ("two-link",), ("five-bar",)):
        run_ok("plot", *args, "-o", tmp_path / "picture.svg")
        assert ET.parse(tmp_path / "picture.svg").getroot().tag.endswith("svg")


def test_an_arm_is_drawn_at_one_pose(tmp_path: Path) -> None:
    """--q sets the pose; torques without gravity are zeros, which the panel states in words."""
    picture = tmp_path / "picture.svg"
    run_ok("plot", "two-link", "--q", "0.4,-30deg", "-o", picture)
    drawn = picture.read_bytes()
    run_ok("plot", "two-link", "-o", picture)
    assert picture.read_bytes() != drawn
    weightless = robolin.load("two-link", gravity=0.0)
    axes = figure_of(robolin.answer(weightless, "inverse")).axes[0]
    assert [text.get_text() for text in axes.texts] == ["all values are 0"]


def test_a_linkage_that_does_not_close_is_reported(tmp_path: Path) -> None:
    """The hint names an input that `plot` accepts instead."""
    text = (Path(__file__).parents[3] / "models" / "four-bar.yaml").read_text("utf-8")
    (tmp_path / "far.yaml").write_text(text.replace("[0, 1, 0]", "[0, 9, 0]"), "utf-8")
    ran = command("plot", tmp_path / "far.yaml", "-o", tmp_path / "x.svg")
    assert ran.code == robolin.RobolinError.exit_code
    assert "cannot be closed from this position: the constraint violation is" in ran.err
    assert "plot x.npz" in ran.err
    assert not (tmp_path / "x.svg").exists()


@pytest.mark.parametrize(
    "args, message",
    [
        (("two-link", "-o", "x.jpg"), "use .svg, .png, .pdf"),
        (("two-link", "ur5", "-o", "x.svg"), "robolin diff"),
        (("two-link", "--only", "tua", "-o", "x.svg"), "use one of tau, mass_matrix"),
        (("missing.npz", "-o", "x.svg"), "missing.npz"),
        (("missing.npz", "--q", "0", "-o", "x.svg"), "--q: cannot be used with a stored result"),
        (("two-link", "--q", "knee=1", "-o", "x.svg"), "'knee'"),
        (("two-link", "--difference", "-o", "x.svg"), "requires two stored results"),
    ],
)
def test_invalid_arguments_are_rejected(
    args: tuple[str, ...], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Invalid arguments are reported, and no file is left."""
    monkeypatch.chdir(tmp_path)
    ran = command("plot", *args)
    assert ran.code in (robolin.UsageError.exit_code, robolin.FileError.exit_code)
    assert message in ran.err
    assert not list(tmp_path.iterdir())
