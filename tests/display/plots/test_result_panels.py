"""Panels that are drawn for results."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import robolin
from robolin.core.result import Array, Result
from robolin.display.plots.panels import (
    NO_BOUNDS,
    BarPanel,
    Bounds,
    Curve,
    CurvePanel,
    MatrixPanel,
    PlanePanel,
    Rounding,
    overlaid,
    utilization,
)
from robolin.display.plots.result_panels import MOST_PANELS, panels_of
from robolin.display.terminal.text_plot import text_plot

ROWS = 1_000_000


@pytest.fixture(scope="module")
def arm() -> robolin.Arm:
    return robolin.load("panda")


def along(arm: robolin.Arm, rows: int, **more: np.ndarray) -> Result:
    """Torques along a motion with this number of rows."""
    tau = np.random.default_rng(rows).standard_normal((rows, arm.n))
    array = Array("tau", more.get("tau", tau), (arm.joint_names,), "N·m", "effort")
    still = robolin.answer(arm, "inverse")
    return replace(still, arrays=(array,), time=np.arange(rows) * 1e-3)


def test_every_number_of_a_curve_is_the_result_s(arm: robolin.Arm) -> None:
    """A point of a curve is a row of the result, in time and value, bit by bit."""
    result = along(arm, 30_000)
    assert result.time is not None
    panels = panels_of(result)
    assert len(panels) == 7
    for i, panel in enumerate(panels):
        assert isinstance(panel, CurvePanel)
        (curve,) = panel.curves
        rows = np.searchsorted(result.time, curve.x)
        assert np.array_equal(result.time[rows], curve.x)
        assert np.array_equal(result["tau"][rows, i], curve.y)
        assert len(curve.x) <= 2_000


@pytest.mark.slow
def test_one_sample_in_a_million_is_seen(arm: robolin.Arm) -> None:
    """A peak of a single row beyond the limit is among the drawn data and named."""
    tau = np.zeros((ROWS, 7), np.float64)
    tau[654_321, 1] = 90.5
    panel = panels_of(along(arm, ROWS, tau=tau))[1]
    assert isinstance(panel, CurvePanel)
    assert panel.curves[0].y.max() == 90.5
    assert panel.closest is not None
    assert panel.closest.margin == pytest.approx(-3.5)
    assert panel.closest_x == pytest.approx(654.321)
    assert "EXCEEDED by 3.5" in text_plot((panel,), 80)
    assert "█" in text_plot((panel,), 80).splitlines()[1]


def test_a_plot_of_text_shows_the_used_part_of_the_limit(arm: robolin.Arm) -> None:
    """Below a curve is |value| / |limit| of its nearest row, as in tables and reports."""
    tau = np.zeros((5, 7), np.float64)
    tau[3, 1] = -43.5
    panel = panels_of(along(arm, 5, tau=tau))[1]
    assert "50 % of limit used at 0.003" in text_plot((panel,), 80)


def test_each_kind_of_array_has_its_kind_of_panel(arm: robolin.Arm) -> None:
    """Vectors are bars, matrices heat maps, poles points of the plane, responses curves."""
    two = robolin.load("two-link")
    (bars,) = panels_of(robolin.answer(arm, "inverse"))
    assert isinstance(bars, BarPanel)
    assert [each.upper for each in bars.bounds] == [87.0] * 4 + [12.0] * 3
    (matrix,) = panels_of(robolin.answer(arm, "mass-matrix"))
    assert isinstance(matrix, MatrixPanel)
    assert matrix.rows == arm.joint_names
    poles = robolin.answer(two, "poles")
    plane = panels_of(poles)[0]
    assert isinstance(plane, PlanePanel)
    assert np.array_equal(plane.values, poles["poles"])
    largest = np.abs(poles["mode_shape"]).argmax(axis=-1)
    assert plane.names == tuple(two.joint_names[i] for i in largest)
    bode = robolin.answer(two, robolin.Question("response", frequencies="0.1:10:5"))
    size, angle = panels_of(bode)[:2]
    assert isinstance(size, CurvePanel)
    assert isinstance(angle, CurvePanel)
    gain = np.abs(bode["frequency_response"][:, 1, 0])
    assert np.array_equal(size.curves[1].y, 20.0 * np.log10(gain))
    assert size.y_label == "dB"
    assert np.array_equal(size.curves[1].x, bode["omega"])
    assert angle.y_label == "°"


def test_a_joint_has_its_own_unit() -> None:
    """A panel of one joint has its unit, also on arms with revolute and prismatic joints."""
    arm = robolin.load("panda-fingers")
    result = robolin.answer(arm, "inverse")
    (tau,) = result.arrays
    assert " or " in tau.unit
    panels = panels_of(replace(result, arrays=(replace(tau, values=np.ones((3, arm.n))),)))
    slides = [joint.kind == "prismatic" for joint in arm.joints]
    assert any(slides)
    for panel, slide in zip(panels, slides, strict=True):
        assert isinstance(panel, CurvePanel)
        assert panel.y_label == ("N" if slide else "N·m")


def test_a_difference_has_no_limits(arm: robolin.Arm) -> None:
    """The difference of two results is not compared with limits."""
    still, motion = robolin.answer(arm, "inverse"), along(arm, 50)
    (bars,) = panels_of(still - still)
    assert isinstance(bars, BarPanel)
    assert not any(each.exist for each in bars.bounds)
    for panel in panels_of(motion - motion):
        assert isinstance(panel, CurvePanel)
        assert panel.closest is None


def test_results_are_overlaid(arm: robolin.Arm) -> None:
    """Curves and bars of two results share a panel; their matrices are side by side."""
    still, one, two = robolin.answer(arm, "inverse"), along(arm, 50), along(arm, 60)
    for panel, i in zip(overlaid([panels_of(one), panels_of(two)], "ab"), range(7), strict=True):
        assert isinstance(panel, CurvePanel)
        assert [curve.name for curve in panel.curves] == ["a", "b"]
        assert np.array_equal(panel.curves[1].y, two["tau"][:, i])
        worst = max(np.abs(each["tau"][:, i]).max() for each in (one, two))
        assert panel.utilization == pytest.approx(worst / panel.bounds.upper)
    (bars,) = overlaid([panels_of(still), panels_of(still)], "ab")
    assert isinstance(bars, BarPanel)
    assert (bars.series, bars.others[0][0]) == ("a", "b")
    matrices = panels_of(robolin.answer(arm, "mass-matrix"))
    assert [panel.title for panel in overlaid([matrices, matrices], "ab")] == [
        "mass_matrix, a",
        "mass_matrix, b",
    ]


@pytest.mark.parametrize(
    "value, bounds, share",
    [
        (43.5, Bounds(-87.0, 87.0), 0.5),
        (-2.0, Bounds(-4.0, 87.0), 0.5),
        (5.0, Bounds(4.0, 8.0), 0.5),
        (1.0, Bounds(0.0, 4.0, by_range=True), 0.5),
        (3.0, Bounds(), None),
    ],
)
def test_utilization_is_1_at_the_limit(value: float, bounds: Bounds, share: float | None) -> None:
    """Torques are relative to their limit, positions to the middle of their range."""
    assert utilization(value, bounds) == share


def test_dates_count_from_the_first(arm: robolin.Arm) -> None:
    """Times that are dates are drawn in seconds since the first, which is named."""
    dates = np.array(["2026-01-01T00:00:00", "2026-01-01T00:00:02"], "M8[ms]")
    panel = panels_of(replace(along(arm, 2), time=dates))[0]
    assert isinstance(panel, CurvePanel)
    assert panel.curves[0].x.tolist() == [0.0, 2.0]
    assert "2026-01-01" in panel.x_label


def test_unsupported_arrays_are_rejected(arm: robolin.Arm) -> None:
    """Unknown arrays, too many panels and single numbers are rejected with a hint."""
    many = Array("x", np.zeros((3, 8 * MOST_PANELS + 8)), (tuple(map(str, range(488))),), "1")
    one = Array("mass", np.array(3.0), (), "kg")
    still = robolin.answer(arm, "inverse")
    with pytest.raises(robolin.UsageError, match="choose one of tau") as caught:
        panels_of(still, ["tua"])
    assert "--" not in str(caught.value)
    with pytest.raises(robolin.UsageError, match="at most 60 panels"):
        panels_of(replace(still, arrays=(many,)))
    with pytest.raises(robolin.UsageError, match="cannot be plotted"):
        panels_of(replace(still, arrays=(one,)))


@pytest.mark.parametrize("width", [60, 80, 200])
def test_a_text_plot_fits_the_terminal(arm: robolin.Arm, width: int) -> None:
    """No line of a text plot is wider than the terminal, for any names."""
    hostile = tuple(f"\x1b[31m<b>{'x' * 500}{i}" for i in range(7))
    results = [robolin.answer(arm, verb) for verb in ("inverse", "mass-matrix", "poles")]
    results.append(along(arm, 50))
    for result in results:
        arrays = tuple(
            replace(
                a,
                labels=tuple(
                    hostile[: len(names)] if len(names) <= 7 else names for names in a.labels
                ),
            )
            for a in result.arrays
        )
        for shown in (result, replace(result, arrays=arrays)):
            text = text_plot(panels_of(shown), width)
            assert max(map(len, text.splitlines())) <= width
            assert "\x1b" not in text


def test_many_curves_have_a_line_each() -> None:
    """Eight curves take ten lines with title and axis, three take ten each."""
    x = np.linspace(0.0, 1.0, 50)
    curves = tuple(Curve(f"joint{i}", x, x**i) for i in range(8))
    many = text_plot((CurvePanel("q", "time [s]", "rad", curves),), 80).splitlines()
    assert [line.split()[0] for line in many] == ["q", *(each.name for each in curves), "0"]
    assert "0 to 1" in many[2]
    assert many[2].endswith("█")
    few = text_plot((CurvePanel("q", "time [s]", "rad", curves[:3]),), 80)
    assert len(few.splitlines()) == 30


def test_a_quick_look_shows_rounding_as_tables_do() -> None:
    """Numbers that are only rounding are ~0, and drawn as the level line they are."""
    rounding, values = Rounding(1.0, 1e-15), np.array([1.0, 2e-17])
    bars = BarPanel("tau", "N·m", ("a", "b"), values, (NO_BOUNDS,) * 2, rounding)
    assert text_plot((bars,), 80).splitlines()[2].split() == ["b", "~0"]
    x, noise = np.arange(4.0), np.array([1e-17, 2e-17, 3e-17, 2e-17])
    panel = CurvePanel("tau", "row", "N·m", (Curve("b", x, noise),), rounding=rounding)
    lines = text_plot((panel,), 40).splitlines()
    assert (lines[1].split(), lines[8].split()[0]) == (["~0"], "~0")
    assert set(lines[8].split()[1]) == {"▁"}
    matrix = MatrixPanel("M", "1", ("a",), ("b", "c"), noise[None, :2], rounding)
    assert "█ is 1" in text_plot((matrix,), 40)


def test_gains_of_an_optimal_motion_are_curves_over_time() -> None:
    """Each motor has a panel for positions and one for velocities, with the numbers of K."""
    K = np.random.default_rng(0).normal(size=(5, 1, 4))
    states = ("a/position", "b/position", "a/velocity", "b/velocity")
    array = Array("K", K, (("b/effort",), states), "N·m per rad or rad/s")
    result = Result("optimize", (array,), ("a", "b"), {}, {}, {}, time=np.arange(5.0))
    panels = panels_of(result, ["K"])
    assert [panel.title for panel in panels] == ["K, b/effort"] * 2
    curves = [curve for panel in panels if isinstance(panel, CurvePanel) for curve in panel.curves]
    assert [curve.name for curve in curves] == list(states)
    assert np.array_equal(np.stack([curve.y for curve in curves], axis=1), K[:, 0])


def test_an_optimal_motion_has_the_limits_that_were_used(arm: robolin.Arm) -> None:
    """Scaled, replaced and ignored limits are drawn as `optimize` used them."""
    tau = Array("tau", np.zeros((3, arm.n)), (arm.joint_names,), "N·m")

    def upper(**options: object) -> list[float]:
        named = {name.replace("_", "-"): value for name, value in options.items()}
        result = Result("optimize", (tau,), arm.joint_names, {}, named, {}, model=arm.model_dict)
        panels = panels_of(result, ["tau"])
        return [panel.bounds.upper for panel in panels if isinstance(panel, CurvePanel)]

    file = upper()
    assert np.isfinite(file).all()
    assert upper(limit_scale="0.5") == [0.5 * each for each in file]
    assert upper(max_effort="3") == [3.0] * arm.n
    assert np.isinf(upper(ignore_limits=True)).all()
    assert np.isinf(upper(max_effort=f"{arm.joint_names[0]}=3")).all()


@pytest.mark.slow
def test_optimal_motions_show_the_cost_by_iteration() -> None:
    """The result has the costs of `robolin.optimize`, and its plot ends with their curve."""
    arm = robolin.load("two-link")
    question = robolin.Question("optimize", goal="1,-0.5", duration=1.0, dt=0.02)
    *_, panel = panels_of(robolin.answer(arm, question))
    assert isinstance(panel, CurvePanel)
    optimum = robolin.optimize(arm, [1.0, -0.5], duration=1.0, dt=0.02)
    assert (panel.title, panel.x_label) == ("cost", "iteration")
    np.testing.assert_allclose(panel.curves[0].y, optimum.costs, rtol=1e-5)
    assert panel.curves[0].x.tolist() == list(range(len(optimum.costs)))


def test_a_disturbance_is_an_event() -> None:
    """The interval of a disturbance torque is marked above every curve of a simulated motion."""
    question = robolin.Question(
        "simulate", duration=0.4, dt=0.1, control="rate", disturb="elbow=1@0.1:0.3"
    )
    result = robolin.answer(robolin.load("two-link"), question)
    for panel in panels_of(result, ["q"]):
        assert isinstance(panel, CurvePanel)
        marked = [each for each in panel.events if each.kind == "disturbance"]
        assert [(each.start, each.end) for each in marked] == [(0.1, 0.3)]
