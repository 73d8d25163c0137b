"""Frequency, step and impulse responses."""

from __future__ import annotations

import numpy as np
import pytest

import robolin


def models() -> robolin.StateSpace:
    arm = robolin.load("puma560")
    q = np.random.default_rng(0).uniform(-1.0, 1.0, (2, 6))
    return robolin.state_space(arm, q, outputs=("q", "qdd"))


@pytest.mark.parametrize("dt", [None, 0.002])
def test_frequency_responses_are_solutions(dt: float | None) -> None:
    """C (s - A)⁻¹ B + D by the Schur form is the one by solving for each frequency."""
    model = models() if dt is None else models().discretize(dt)
    omega = np.array([0.1, 1.0, 7.0, 100.0])
    response = model.frequency_response(omega)
    assert response.shape == (2, 4, 12, 6)
    s = 1j * omega if dt is None else np.exp(1j * omega * dt)
    shifted = s[:, None, None] * np.eye(12) - model.A[:, None]
    true = model.C[:, None] @ np.linalg.solve(shifted, model.B[:, None]) + model.D[:, None]
    assert np.abs(response - true).max() <= 1e-11 * np.abs(true).max()


def test_a_pole_on_the_frequency_grid_is_reported() -> None:
    """At a pole the response is infinite, and the error names the frequency."""
    model = robolin.state_space(robolin.load("cart-pole"), 0.0)
    with pytest.raises(robolin.RobolinError, match="because the model has a pole at 0 rad/s"):
        model.frequency_response([1.0, 0.0])
    with pytest.raises(
        robolin.UsageError, match="omega: must be a one-dimensional array of finite numbers"
    ):
        model.frequency_response([np.nan])


def test_responses_agree_with_python_control() -> None:
    """Step and impulse responses are those of python-control at the same times."""
    control = pytest.importorskip("control")
    model = robolin.state_space(robolin.load("acrobot"), 0.0)
    for ours, theirs in (
        (model.step_response(3.0, 61), control.step_response),
        (model.impulse_response(3.0, 61), control.impulse_response),
    ):
        true = theirs(model.to_control(), ours.time)
        assert np.allclose(ours.y, np.moveaxis(true.outputs, -1, 0), rtol=1e-8, atol=1e-8)
    sampled = model.discretize(0.05)
    for ours, theirs in (
        (sampled.step_response(3.0), control.step_response),
        (sampled.impulse_response(3.0), control.impulse_response),
    ):
        true = theirs(sampled.to_control(), ours.time)
        scale = 1.0 if theirs is control.step_response else 0.05
        assert np.allclose(ours.y, scale * np.moveaxis(true.outputs, -1, 0), rtol=1e-8, atol=1e-9)


def test_names_reach_python_control_and_scipy() -> None:
    """States, inputs and outputs keep their names in python-control; SciPy gets the matrices."""
    control = pytest.importorskip("control")
    model = robolin.state_space(robolin.load("two-link"), 0.0)
    theirs = model.to_control()
    assert isinstance(theirs, control.StateSpace)
    assert theirs.state_labels == list(model.states)
    assert theirs.input_labels == list(model.inputs)
    assert theirs.output_labels == list(model.outputs)
    assert model.discretize(0.1).to_control().dt == 0.1
    assert np.array_equal(model.to_scipy().A, model.A)
    assert model.discretize(0.1).to_scipy().dt == 0.1
    with pytest.raises(robolin.UsageError, match="select one model by its index: model"):
        models().to_control()


@pytest.mark.parametrize("method", ["zoh", "tustin", "euler"])
def test_sampled_responses_are_sums_over_samples(method: str) -> None:
    """One sample of 1 gives D, then C Aᵏ B; a step gives the sum of these up to each row."""
    arm = robolin.load("two-link")
    model = robolin.state_space(arm, [0.3, -0.7], outputs=("q", "qdd"))
    model = model.discretize(0.05, method)
    assert np.abs(model.D[2:]).min() > 0.1, "accelerations follow torques at once"
    impulse, step = (respond(0.5) for respond in (model.impulse_response, model.step_response))
    power, expected = np.eye(4), [model.D]
    for _ in range(10):
        expected.append(model.C @ power @ model.B)
        power = model.A @ power
    size = np.abs(expected).max()
    assert np.allclose(impulse.time, 0.05 * np.arange(11), rtol=1e-15)
    assert np.allclose(impulse.y, expected, rtol=0, atol=1e-13 * size)
    assert np.allclose(step.y, np.cumsum(expected, axis=0), rtol=0, atol=1e-12 * size)
