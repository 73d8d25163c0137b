"""Poles, their frequency, damping and stability, and the joints that move."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.linalg import eigh

import robolin
from tests.cli.command import answered
from tests.control.octave import octave


@pytest.mark.parametrize("name", ["two-link", "acrobot", "panda", "ur10"])
def test_undamped_arms_swing_at_their_natural_frequencies(name: str) -> None:
    """λ² are the eigenvalues of -M⁻¹ ∂τ/∂q, which a symmetric solver gives."""
    arm = robolin.load(name, damping=False)
    q = np.linspace(0.2, 0.7, arm.n)
    poles = robolin.state_space(arm, q).poles()

    stiffness = robolin.linearize_inverse(arm, q).dtau_dq
    squares = -eigh(0.5 * (stiffness + stiffness.T), robolin.mass_matrix(arm, q))[0]
    found = np.sort_complex(poles.values**2).real
    true = np.sort(np.repeat(squares, 2))
    # double poles at 0 are known to half the digits, their squares to all
    assert np.abs(found - true).max() <= 1e-9 * np.abs(true).max()


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


def test_bounds_hold_for_models_that_rounding_could_be() -> None:
    """Poles of the model with every entry rounded anew stay within the bound."""
    arm = robolin.load("panda")
    model = robolin.state_space(arm, np.linspace(0.1, 0.7, 7))
    poles = model.poles()
    rng = np.random.default_rng(0)
    for _ in range(20):
        noise = 1.0 + 1.1e-16 * rng.choice([-1.0, 1.0], size=model.A.shape)
        moved = np.linalg.eigvals(model.A * noise)
        gaps = np.abs(poles.values[:, None] - moved[None, :]).min(axis=1)
        assert (gaps <= poles.bound).all()


def test_octave_says_the_same(tmp_path: Path) -> None:
    """Frequency and damping are those of Octave's damp, in a discrete model too."""
    model = robolin.state_space(robolin.load("acrobot"), [0.0, 0.0], passive="shoulder")
    script = (
        "[r.w, r.z] = damp(ss(s.A, s.B, s.C, s.D)); "
        "[r.wd, r.zd] = damp(ss(s.Ad, s.Bd, s.C, s.D, 0.01))"
    )
    sampled = model.discretize(0.01)
    given = {"A": model.A, "B": model.B, "C": model.C, "D": model.D}
    found = octave(script, tmp_path, **given, Ad=sampled.A, Bd=sampled.B)
    for poles, w, z in ((model.poles(), "w", "z"), (sampled.poles(), "wd", "zd")):
        assert np.allclose(poles.frequency, np.sort(found[w]), rtol=1e-9)
        order = np.argsort(found[w], kind="stable")
        assert np.allclose(poles.damping, found[z][order], rtol=1e-7, atol=1e-9)


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
    """A hinge whose pole -1/s is sampled to 0 by Euler's rule has finite figures in a file."""
    (tmp_path / "one.yaml").write_text(ONE_HINGE)
    path = tmp_path / "poles.json"
    answered("poles", tmp_path / "one.yaml", "--dt", "1", "--discretize", "euler", "-o", path)
    found = robolin.read_result(path)
    assert found.arrays["poles"].tolist() == [1.0, 0.0]
    assert found.arrays["damping"].tolist() == [-1.0, 1.0]
    assert found.arrays["stability"].tolist() == [0, 1]
    assert found.arrays["frequency"].tolist() == [0.0, -np.log(np.finfo(float).tiny)]
    assert found.arrays["decay"].tolist() == found.arrays["frequency"].tolist()
    assert "2 stable, gone after one sample: hinge" in found.meta["contract"]["modes"]
