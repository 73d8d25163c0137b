"""MAT-files: equal bytes, MATLAB's words, and what Octave makes of them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.io import loadmat

import robolin
from robolin.files.mat.mat_writer import mat_bytes
from tests.control.octave import octave

WRITE = (
    "import numpy, robolin, sys; arm = robolin.load('acrobot'); "
    "model = robolin.state_space(arm, [numpy.pi, 0.0], passive='shoulder'); "
    "robolin.lqr(model, 1.0).to_mat(sys.argv[1])"
)


@pytest.mark.slow
def test_equal_commands_give_equal_bytes(tmp_path: Path) -> None:
    """Two processes write the same file, which tells no date."""
    for name in ("a.mat", "b.mat"):
        subprocess.run([sys.executable, "-c", WRITE, str(tmp_path / name)], check=True)
    first, second = ((tmp_path / name).read_bytes() for name in ("a.mat", "b.mat"))
    assert first == second
    assert first.startswith(b"MATLAB 5.0 MAT-file, written by robolin ")


def test_models_are_written_in_matlabs_words(tmp_path: Path) -> None:
    """A batch has its axis last, names are cells, and Offsets are the operating point."""
    arm = robolin.load("two-link")
    q = np.random.default_rng(0).uniform(-1.0, 1.0, (3, 2))
    model = robolin.state_space(arm, q, dt=0.01)
    model.to_mat(tmp_path / "model.mat")
    found = loadmat(tmp_path / "model.mat", simplify_cells=True)
    assert found["A"].shape == (4, 4, 3)
    assert np.array_equal(found["A"][:, :, 1], model.A[1])
    assert found["Ts"] == found["dt"] == 0.01
    assert list(found["StateName"]) == list(model.states)
    assert list(found["InputUnit"]) == ["N·m", "N·m"]
    assert np.array_equal(found["Offsets"]["x"][:2], q.T)
    assert np.array_equal(found["Offsets"]["u"], model.tau.T)
    assert np.array_equal(found["OperatingPoint"]["qdd"], np.zeros((2, 3)))


def test_octave_opens_them(tmp_path: Path) -> None:
    """`ss(A, B, C, D, Ts)` is the model with its names, and its regulator has the same gain."""
    arm = robolin.load("acrobot")
    model = robolin.state_space(arm, [np.pi, 0.0], passive="shoulder", outputs=("q", "tip/vx"))
    regulator = robolin.lqr(model, [10.0, 10.0, 1.0, 1.0])
    regulator.to_mat(tmp_path / "gains.mat")
    script = (
        f"m = load('{tmp_path}/gains.mat'); "
        "sys = ss(m.A, m.B, m.C, m.D, m.Ts, 'inputname', m.InputName, "
        "'outputname', m.OutputName, 'statename', m.StateName); "
        "r.K = lqr(sys, m.Q, m.R); r.inputs = get(sys, 'inputname'); "
        "r.outputs = get(sys, 'outputname'); r.unit = m.StateUnit{3}; r.gap = norm(r.K - m.K)"
    )
    found = octave(script, tmp_path)
    assert np.allclose(found["K"], regulator.K[0], rtol=1e-10)
    assert list(found["outputs"]) == list(model.outputs)
    assert np.ravel(found["inputs"]).tolist() == ["elbow/effort"]
    assert found["unit"] == "rad/s"


def test_variables_that_do_not_fit_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Level 5 has sizes of 32 bits, and more is refused before anything is written."""
    monkeypatch.setattr("robolin.files.mat.mat_writer.LARGEST_VARIABLE", 100)
    with pytest.raises(robolin.FileError, match="'A' has"):
        mat_bytes({"A": np.zeros((10, 10))})
