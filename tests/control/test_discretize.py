"""Discrete-time models: exact, and equal to those of other programs."""

from __future__ import annotations

from pathlib import Path

import mpmath as mp
import numpy as np
import pytest

import robolin
from robolin.control.responses import exponential
from tests.control.octave import octave
from tests.robots import random_states

METHODS = ("zoh", "foh", "tustin", "euler")


def model_of(name: str, row: int = 0) -> robolin.StateSpace:
    arm = robolin.load(name)
    s = random_states(arm, row + 1)
    return robolin.state_space(arm, s.q[row], s.qd[row], s.qdd[row], outputs=("q", "qdd"))


@pytest.mark.parametrize("name", ["two-link", "puma560", "panda", "iiwa14"])
def test_held_torques_are_exact(name: str) -> None:
    """Zero-order hold, drift included, agrees with matrix exponentials of 50 digits."""
    model = model_of(name)
    sampled = model.discretize(0.01)
    N, m = model.B.shape
    with mp.workdps(50):
        augmented = mp.zeros(N + m + 1)
        for i in range(N):
            for j, value in enumerate([*model.A[i], *model.B[i], model.drift[i]]):
                augmented[i, j] = mp.mpf(float(value)) * mp.mpf("0.01")
        true = np.array(mp.expm(augmented, method="taylor").tolist(), dtype=float)
    for computed, expected in (
        (sampled.A, true[:N, :N]),
        (sampled.B, true[:N, N:-1]),
        (sampled.drift, true[:N, -1]),
    ):
        # a few roundings of the largest entry
        assert np.abs(computed - expected).max() <= 1e-14 * np.abs(true).max()


def test_exponentials_do_not_depend_on_their_neighbours() -> None:
    """A matrix has the same exponential, to the bit, alone and among larger ones."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(5, 6, 6)) * np.array([0.01, 0.3, 2.0, 30.0, 300.0])[:, None, None]
    together = exponential(X)
    assert all(np.array_equal(together[i], exponential(X[i])) for i in range(5))


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
def test_discretization_agrees_with_python_control(method: str) -> None:
    """A, B, C and D are those of control.c2d, to rounding."""
    control = pytest.importorskip("control")
    model = model_of("puma560")
    sampled, true = model.discretize(0.005, method), control.c2d(model.to_control(), 0.005, method)
    for name in "ABCD":
        expected = getattr(true, name)
        assert np.abs(getattr(sampled, name) - expected).max() <= 1e-12 * max(
            1.0, np.abs(expected).max()
        )


def test_discretization_agrees_with_octave(tmp_path: Path) -> None:
    """zoh, foh and tustin are those of Octave's c2d: the same from input to output."""
    model = model_of("two-link")
    script = (
        "sys = ss(s.A, s.B, s.C, s.D); w = s.w;"
        "r.zoh = freqresp(c2d(sys, 0.02, 'zoh'), w); r.foh = freqresp(c2d(sys, 0.02, 'foh'), w);"
        "r.tustin = freqresp(c2d(sys, 0.02, 'tustin'), w)"
    )
    w = np.array([0.3, 2.0, 11.0, 60.0])
    matrices = {name: getattr(model, name) for name in "ABCD"}
    by_octave = octave(script, tmp_path, **matrices, w=w)
    for method in ("zoh", "foh", "tustin"):
        ours = model.discretize(0.02, method).frequency_response(w)
        true = np.moveaxis(by_octave[method], -1, 0)
        assert np.abs(ours - true).max() <= 1e-9 * np.abs(true).max(), method


@pytest.mark.parametrize("method", METHODS)
def test_short_samples_become_rates(method: str) -> None:
    """(A' - 1)/dt, B'/dt and drift'/dt go to A, B and drift."""
    model, dt = model_of("two-link"), 1e-7
    sampled = model.discretize(dt, method)
    rate = (sampled.A - np.eye(4)) / dt
    # what is left is dt |A|²/2
    size = dt * np.linalg.norm(model.A) ** 2
    assert np.abs(rate - model.A).max() <= size
    assert np.abs(sampled.drift / dt - model.drift).max() <= size * (1 + np.abs(model.drift).max())


def test_a_discrete_model_is_not_discretized_again() -> None:
    """A model with a sample time is rejected."""
    with pytest.raises(robolin.UsageError, match=r"already discrete, with dt = 0\.01 s"):
        model_of("two-link").discretize(0.01).discretize(0.01)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["zoh", "tustin", "euler"])
def test_outputs_at_a_moving_point_are_those_of_scipy(method: str) -> None:
    """About a point with drift, y(x = 0, u = 0) includes the drift, as an input of 1 in SciPy."""
    signal = pytest.importorskip("scipy.signal")
    model, dt = model_of("two-link"), 0.02
    assert np.abs(model.drift).min() > 0.1, "every state drifts"
    B = np.column_stack([model.B, model.drift])
    D = np.column_stack([model.D, model.y])
    reference = signal.cont2discrete(
        (model.A, B, model.C, D), dt, "bilinear" if method == "tustin" else method
    )
    sampled = model.discretize(dt, method)
    ours = (
        sampled.A,
        np.column_stack([sampled.B, sampled.drift]),
        sampled.C,
        np.column_stack([sampled.D, sampled.y]),
    )
    for mine, true in zip(ours, reference[:4], strict=True):
        # a few roundings of the largest entry
        assert np.abs(mine - true).max() <= 1e-13 * np.abs(true).max()


def test_tustin_outputs_follow_the_trapezoidal_rule() -> None:
    """From a moving point, outputs are those of x' - x = dt (ẋ + ẋ')/2, solved step by step."""
    model, dt, steps = model_of("two-link"), 0.02, 5
    sampled = model.discretize(dt, "tustin")
    u = np.random.default_rng(0).normal(size=(steps, 2))
    one, half = np.eye(4), 0.5 * dt * model.A
    x = np.zeros(4)
    z = (one - half) @ x - 0.5 * dt * (model.B @ u[0] + model.drift)
    for k in range(steps):
        assert np.allclose(
            sampled.C @ z + sampled.D @ u[k] + sampled.y,
            model.C @ x + model.D @ u[k] + model.y,
            rtol=0,
            atol=1e-12 * np.abs(model.y).max(),
        )
        z = sampled.A @ z + sampled.B @ u[k] + sampled.drift
        if k + 1 < steps:
            rates = model.B @ (u[k] + u[k + 1]) + 2.0 * model.drift
            x = np.linalg.solve(one - half, (one + half) @ x + 0.5 * dt * rates)


def test_held_torques_give_the_same_outputs_by_zoh_and_foh() -> None:
    """Both are exact for constant torques, drift included; foh starts at x - Γ u."""
    model, dt, u = model_of("two-link"), 0.02, np.array([0.4, -0.7])
    held, lines = model.discretize(dt, "zoh"), model.discretize(dt, "foh")
    x = np.array([0.1, -0.2, 0.3, 0.1])
    # C of this model has full rank, so D' - D = C Γ determines Γ
    gamma = np.linalg.lstsq(model.C, lines.D - model.D, rcond=None)[0]
    xi = x - gamma @ u
    for _ in range(5):
        held_y = held.C @ x + held.D @ u + held.y
        lines_y = lines.C @ xi + lines.D @ u + lines.y
        assert np.allclose(held_y, lines_y, rtol=0, atol=1e-12 * np.abs(held_y).max())
        x = held.A @ x + held.B @ u + held.drift
        xi = lines.A @ xi + lines.B @ u + lines.drift
