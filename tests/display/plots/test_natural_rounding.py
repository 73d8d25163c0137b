"""Values that are rounding of an arm's natural scales are drawn as zero, and no others."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import robolin
from robolin.core.result import Result
from robolin.display.plots.panels import BarPanel, CurvePanel
from robolin.display.plots.result_panels import panels_of
from robolin.display.terminal.text_plot import text_plot

STARTS = {
    "two-link": [1.0, -0.5],
    "panda": [0.0, -0.8, 0.0, -2.4, 0.0, 1.6, 0.8],
    "ur10": [0.3, -1.0, 1.2, 0.4, 0.9, 0.1],
    "puma560": [0.3, 0.5, 0.2, 0.4, 0.9, 0.1],
}


def fallen(name: str, **options: object) -> tuple[robolin.Arm, Result]:
    """Torques of inverse dynamics along a motion that no torque drives."""
    arm = robolin.load(name, **options)
    motion = robolin.simulate(arm, STARTS[name], 0.2, duration=0.3, every=10)
    states = robolin.States(q=motion.q, qd=motion.qd, qdd=motion.qdd)
    return arm, robolin.answer(arm, "inverse", states)


def covered(panel: object) -> bool:
    assert isinstance(panel, CurvePanel)
    return panel.rounding.covers(float(max(np.abs(curve.y).max() for curve in panel.curves)))


@pytest.mark.slow
@pytest.mark.parametrize("name", STARTS)
def test_torques_of_a_free_fall_are_zero(name: str) -> None:
    """Torques of 1e-13 N·m that are rounding are drawn as zero on the scale of weight."""
    arm, torques = fallen(name)
    assert 0.0 < np.abs(torques["tau"]).max() < 1e-9
    panels = panels_of(torques)
    zero = [not panel.curves[0].y.any() for panel in panels if isinstance(panel, CurvePanel)]
    assert all(covered(panel) or nothing for panel, nothing in zip(panels, zero, strict=True))
    held = np.abs(robolin.inverse(arm, STARTS[name])).max()
    for panel in panels:
        assert panel.rounding.reference >= held
    assert "e-1" not in text_plot(panels, 80)


def test_pictures_of_a_free_fall_have_the_scale_of_weight() -> None:
    """The axis of matplotlib extends to weight times reach, and its label states it."""
    pytest.importorskip("matplotlib", reason="pictures need the extra 'plot'")
    _, torques = fallen("two-link")
    for axes in torques.plot().axes:
        # 2 kg, 9.81 m/s² and a reach of 2.5 m
        assert axes.get_ylim() == pytest.approx((-49.05, 49.05))
        assert any("~0: round-off" in text.get_text() for text in axes.texts)


def test_a_free_motion_without_gravity_has_its_own_scale() -> None:
    """In the result of a simulation, accelerations take the place of gravity that is off."""
    arm = robolin.load("two-link", gravity=0)
    motion = robolin.simulate(arm, [1.0, -0.5], [2.0, -3.0], duration=0.1, every=10)
    question = robolin.Question("simulate", duration=0.1, every=10)
    result = robolin.answer(arm, question, robolin.States(q=[1.0, -0.5], qd=[2.0, -3.0]))
    noise = robolin.inverse(arm, motion.q, motion.qd, motion.qdd)
    assert 0.0 < np.abs(noise).max() < 1e-12
    arrays = [
        replace(array, values=noise) if array.name == "tau" else array for array in result.arrays
    ]
    (panel,) = panels_of(replace(result, arrays=tuple(arrays)), ["tau"])
    assert covered(panel)


def test_an_arm_at_rest_has_flat_curves() -> None:
    """Velocities, accelerations and energies that rounding leaves of rest are drawn as zero."""
    question = robolin.Question("simulate", duration=0.1, every=10, tau="hold")
    still = robolin.answer(robolin.load("panda"), question, robolin.States(q=STARTS["panda"]))
    names = ("qd", "qdd", "kinetic_energy", "work", "energy_error")
    for name in names:
        assert 0.0 < np.abs(still[name]).max() < 1e-9, name
        assert all(covered(panel) for panel in panels_of(still, [name]) if panel.curves[0].y.any())


@pytest.mark.parametrize("share", [1e-9, 1e-6, 1e-3])
def test_small_values_that_are_not_rounding_are_drawn(share: float) -> None:
    """Torques, velocities and energies of a slow motion keep their own scale."""
    question = robolin.Question("simulate", duration=0.1, every=10, tau=f"hold+{share},0")
    slow = robolin.answer(robolin.load("two-link", gravity=[0, 0, -9.81]), question)
    # work is the product of a small torque and a small way
    names = ("tau", "qd", "qdd", "kinetic_energy", *(["work"] if share > 1e-4 else []))
    for name in names:
        assert slow[name].any()
        panels = [panel for panel in panels_of(slow, [name]) if isinstance(panel, CurvePanel)]
        assert not any(covered(panel) for panel in panels), name


def test_one_state_is_judged_as_rows_are() -> None:
    """Torques that hold an arm hanging down are bars of zero height at the scale of weight."""
    arm = robolin.load("two-link")
    result = robolin.answer(arm, "inverse", robolin.States(q=[-np.pi / 2.0, 0.0]))
    (panel,) = panels_of(result)
    assert isinstance(panel, BarPanel)
    assert panel.rounding.covers(float(np.abs(panel.values).max()))
    assert panel.rounding.reference == pytest.approx(49.05)
