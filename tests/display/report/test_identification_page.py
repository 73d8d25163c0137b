"""Report and plots of an identification: all numbers of the result are in them."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import robolin
from robolin.analysis.identify.identification_result import Identification
from robolin.display.plots.panels import CurvePanel
from robolin.display.plots.result_panels import held_out_time, identification_panels
from robolin.display.report.identification_page import identification_page, parameter_texts

ARM = robolin.load("two-link")


@cache
def identification() -> Identification:
    """An identification of an arm with another mass and an offset, from two recordings."""
    recordings = []
    for phase in (0.0, 0.5):
        time = np.arange(0.0, 6.0, 0.02)
        angle = np.array([1.1, 1.7]) * time[:, None] + [phase, 1.0]
        q, qd = np.sin(angle), np.array([1.1, 1.7]) * np.cos(angle)
        qdd = -(np.array([1.1, 1.7]) ** 2) * np.sin(angle)
        arm = ARM.with_parameters({"lower/mx": 0.7})
        tau = robolin.inverse(arm, q, qd, qdd, engine="python") + np.array([0.0, 0.5])
        recordings.append(robolin.Recording(time, q, tau, qd, qdd))
    return robolin.identify(ARM, recordings)


@pytest.mark.slow
def test_the_page_has_errors_parameters_and_shares() -> None:
    """Every parameter, stage and joint is in the page, with its value, deviation and share."""
    result = identification()
    page = identification_page("arm <b>.yaml", ARM, result)
    assert page.startswith("<!doctype html>")
    assert "arm &lt;b&gt;.yaml" in page
    cells = re.findall(r"<th>([^<]*)</th>|<td[^>]*>([^<]*)</td>", page)
    texts = {one or other for one, other in cells}
    assert set(result.names) <= texts
    # smaller values are round-off
    assert {f"{value:.6g}" for value in result.values if abs(value) > 1e-12} <= texts
    assert {f"{share:.2f}" for share in result.share} <= texts
    for stage in result.stages:
        assert f">{stage.name}<" in page
        assert f"{100.0 * stage.score.moving[0]:.3g} %" in page
    # torques and residuals of both joints
    assert page.count('class="plot"') == 4
    labels = (
        "Determined by the data",
        "Determined only in linear combinations",
        "Not determined by the data",
    )
    for label, count in zip(labels, result.determined, strict=True):
        assert f'<dt>{label}</dt><dd class="value">{count}</dd>' in page


def test_rounding_is_not_a_parameter() -> None:
    """A moment of inertia of 1e-17 is round-off of the others; the same friction is a value."""
    result = identification()
    names = ["upper/ixx", "upper/ixy", "upper/mass", "elbow/friction", "lower/mz"]
    rounded = replace(
        result,
        names=names,
        before=np.array([0.1, 0.0, 1.0, 2e-17, 0.0]),
        values=np.array([0.2, -4.1e-17, 1.0, 1e-17, 3e-17]),
        deviations=np.array([0.01, np.nan, 2e-17, 1e-18, 0.0]),
    )
    assert list(parameter_texts(rounded, 4)) == [
        ("0.1", "0.2", "0.01"),
        ("0", "~0", "nan"),
        ("1", "1", "~0"),
        ("2e-17", "1e-17", "1e-18"),
        ("0", "3e-17", "0"),
    ]


def test_recordings_are_drawn_without_gaps() -> None:
    """Recordings are drawn one after the other, with the time steps of each."""
    result = identification()
    assert np.diff(result.time).max() > 1.0
    time = held_out_time(result)
    assert len(time) == len(result.time)
    np.testing.assert_allclose(np.diff(time), 0.02, rtol=1e-9)


def test_panels_are_the_torques_of_the_result() -> None:
    """Two panels per joint: torques before, after and measured, and both residuals."""
    result = identification()
    panels = identification_panels(ARM, result)
    assert [panel.title for panel in panels] == [
        *("tau, shoulder", "tau_residual, shoulder"),
        *("tau, elbow", "tau_residual, elbow"),
    ]
    torques, residuals = panels[2:]
    assert isinstance(torques, CurvePanel)
    assert isinstance(residuals, CurvePanel)
    assert [curve.name for curve in torques.curves] == ["file", "identified", "measured"]
    np.testing.assert_array_equal(torques.curves[2].y, result.measured[:, 1])
    np.testing.assert_array_equal(
        residuals.curves[0].y, result.measured[:, 1] - result.predicted_before[:, 1]
    )


def test_panels_share_one_legend() -> None:
    """Residuals have the first two of three curves, so one legend serves all panels."""
    pytest.importorskip("matplotlib")
    from robolin.display.plots.draw_panels import drawn_panels

    figure = drawn_panels(identification_panels(ARM, identification()), "two-link")
    assert len(figure.legends) == 1
    names = [text.get_text() for text in figure.legends[0].get_texts()]
    assert names == ["file", "identified", "measured"]
