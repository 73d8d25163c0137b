"""Poles, their frequency, damping and stability, and the joints that move."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.linalg import eigh

import robolin
from robolin.control.poles import slowest_first
from tests.cli.command import run_ok
from tests.control.octave import octave


@pytest.mark.parametrize("name", ["two-link", "acrobot", "panda", "ur10"])
def test_undamped_arms_swing_at_their_natural_frequencies(name: str) -> None:
    """λ² are the eigenvalues of -M⁻¹ ∂τ/∂q, which a symmetric solver gives."""
    arm = robolin.load(name, damping=False)
    q = np.linspace(0.2, 0.7, arm.n)
    poles = robolin.state_space(arm, q, actuated="all").poles()

    stiffness = robolin.linearize_inverse(arm, q).dtau_dq
    squares = -eigh(0.5 * (stiffness + stiffness.T), robolin.mass_matrix(arm, q))[0]
    poles_squared = np.sort_complex(poles.values**2).real
    true = np.sort(np.repeat(squares, 2))
    # double poles at 0 are known to half the digits, their squares to all
    assert np.abs(poles_squared - true).max() <= 1e-9 * np.abs(true).max()


def test_a_vertical_axis_has_poles_at_zero() -> None:
    """Two poles at 0 are on the edge, of damping -1, and nothing is NaN."""
    arm = robolin.load("ur5", damping=False)
    poles = robolin.state_space(arm, np.linspace(0.1, 0.6, 6)).poles()
    assert list(poles.stability[:2]) == ["edge", "edge"]
    assert list(poles.damping[:2]) == [-1.0, -1.0]
    assert poles.joints(0)[0] == arm.joint_names[0]
    for values in (poles.frequency, poles.damping, poles.time_constant):
        assert not np.isnan(values).any()


def test_a_hanging_pendulum_is_stable_and_an_upright_one_is_not() -> None:
    """The Acrobot with its damping: stable below, two unstable poles above."""
    arm = robolin.load("acrobot")
    below, above = robolin.state_space(arm, [[0.0, 0.0], [np.pi, 0.0]]).poles().stability
    assert (below == "stable").all()
    assert sorted(above) == ["stable", "stable", "unstable", "unstable"]
    free = robolin.load("acrobot", damping=False)
    assert (robolin.state_space(free, 0.0).poles().stability == "edge").all()


def test_error_bounds_hold_for_perturbed_models() -> None:
    """Poles of a model with round-off in every entry stay within the bound."""
    arm = robolin.load("panda")
    model = robolin.state_space(arm, np.linspace(0.1, 0.7, 7))
    poles = model.poles()
    rng = np.random.default_rng(0)
    for _ in range(20):
        noise = 1.0 + 1.1e-16 * rng.choice([-1.0, 1.0], size=model.A.shape)
        moved = np.linalg.eigvals(model.A * noise)
        gaps = np.abs(poles.values[:, None] - moved[None, :]).min(axis=1)
        assert (gaps <= poles.bound).all()


def test_poles_agree_with_octave(tmp_path: Path) -> None:
    """Frequency and damping are those of Octave's damp, in a discrete model too."""
    model = robolin.state_space(robolin.load("acrobot"), [0.0, 0.0], passive="shoulder")
    script = (
        "[r.w, r.z] = damp(ss(s.A, s.B, s.C, s.D)); "
        "[r.wd, r.zd] = damp(ss(s.Ad, s.Bd, s.C, s.D, 0.01))"
    )
    sampled = model.discretize(0.01)
    matrices = {"A": model.A, "B": model.B, "C": model.C, "D": model.D}
    by_octave = octave(script, tmp_path, **matrices, Ad=sampled.A, Bd=sampled.B)
    for poles, w, z in ((model.poles(), "w", "z"), (sampled.poles(), "wd", "zd")):
        assert np.allclose(poles.frequency, np.sort(by_octave[w]), rtol=1e-9)
        order = np.argsort(by_octave[w], kind="stable")
        assert np.allclose(poles.damping, by_octave[z][order], rtol=1e-7, atol=1e-9)


def test_a_pole_at_the_origin_of_z_is_as_fast_as_can_be() -> None:
    """A deadbeat mode has infinite frequency, damping 1 and is stable."""
    from dataclasses import replace

    model = robolin.state_space(robolin.load("two-link"), 0.0).discretize(0.01)
    gone = replace(model, A=np.diag([0.0, 0.5, 0.9, 1.0])).poles()
    assert gone.frequency[-1] == np.inf
    assert gone.damping[-1] == 1.0
    assert gone.stability[-1] == "stable"
    assert gone.stability[0] == "edge"


ONE_HINGE = """
robolin: 1
name: one
joints:
  - {name: hinge, type: continuous, parent: base, child: bar, axis: [0, 0, 1], damping: 1}
links:
  - {name: bar, mass: 1, com: [0, 0, 0], inertia: {ixx: 1, iyy: 1, izz: 1}}
"""


def test_files_hold_deadbeat_poles(tmp_path: Path) -> None:
    """A hinge whose pole -1/s is sampled to 0 by Euler's rule has finite values in a file."""
    (tmp_path / "one.yaml").write_text(ONE_HINGE)
    path = tmp_path / "poles.json"
    run_ok("poles", tmp_path / "one.yaml", "--dt", "1", "--discretize", "euler", "-o", path)
    stored = robolin.read_result(path)
    assert stored.arrays["poles"].tolist() == [1.0, 0.0]
    assert stored.arrays["damping"].tolist() == [-1.0, 1.0]
    assert stored.arrays["stability"].tolist() == [0, 1]
    assert stored.arrays["frequency"].tolist() == [0.0, -np.log(np.finfo(float).tiny)]
    assert stored.arrays["decay"].tolist() == stored.arrays["frequency"].tolist()
    assert "2 stable, vanishes after one sample: hinge" in stored.meta["contract"]["modes"]


def test_rounding_does_not_order_poles_as_fast_as_each_other() -> None:
    """Undamped arms have poles ±p: the one that decays is first along all rows of a motion."""
    arm = robolin.load("two-link", damping=False)
    q = np.random.default_rng(0).uniform(-3.0, 3.0, (60, 2))
    rates = robolin.state_space(arm, q).poles().rates
    first, second = rates[:, :2], rates[:, 2:]
    for pair in (first, second):
        real = np.abs(pair.real).min(axis=-1) > 1e-3
        assert real.sum() > 15
        assert (pair.real[real, 0] < 0.0).all()
        # p and -p to some roundings of A
        assert np.abs(pair.sum(axis=-1)).max() <= 1e-10
    assert (np.abs(second).min(axis=-1) >= np.abs(first).max(axis=-1)).all()


def test_poles_are_ordered_by_size_then_decay_with_conjugates_adjacent() -> None:
    """Last digits change nothing, a billionth more does, and poles at infinity are last."""
    tiny = 4e-15
    expected = np.array([0.0, -1.0 - 2.0j, -1.0 + 2.0j, 1.0 - 2.0j, 1.0 + 2.0j, -3.0, 3.0])
    rng = np.random.default_rng(1)
    for _ in range(50):
        noisy = expected * (1.0 + tiny * rng.integers(-1, 2, 7)[[0, 1, 1, 3, 3, 5, 6]])
        shuffled = noisy[rng.permutation(7)]
        ordered = shuffled[slowest_first(shuffled)]
        assert np.abs(ordered - expected).max() <= 1e-13
    assert slowest_first(np.array([3.0 + 0j, -3.0 - 1e-8])).tolist() == [0, 1]
    twice = np.array([-1.0 + 2.0j, -1.0 + 2.0j, -1.0 - 2.0j, -1.0 - 2.0j])
    assert twice[slowest_first(twice)].imag.tolist() == [-2.0, 2.0, -2.0, 2.0]
    assert slowest_first(np.array([-np.inf + 0j, 5.0, -np.inf])).tolist()[0] == 1
