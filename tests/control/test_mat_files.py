"""MAT-files: reproducible bytes, MATLAB's names, and reading by Octave."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.io import loadmat

import robolin
from robolin.io.formats.mat_results import mat_bytes
from tests.cli.command import robolin as command_line
from tests.cli.command import run_ok
from tests.control.octave import octave

JOINTS = ("shoulder", "elbow")

WRITE = (
    "import numpy, robolin, sys; arm = robolin.load('acrobot'); "
    "model = robolin.state_space(arm, [numpy.pi, 0.0], passive='shoulder'); "
    "robolin.lqr(model, 1.0).to_mat(sys.argv[1])"
)


@pytest.mark.slow
def test_equal_commands_give_equal_bytes(tmp_path: Path) -> None:
    """Another process writes the same file as this one, without a date."""
    subprocess.run([sys.executable, "-c", WRITE, str(tmp_path / "a.mat")], check=True)
    model = robolin.state_space(robolin.load("acrobot"), [np.pi, 0.0], passive="shoulder")
    robolin.lqr(model, 1.0).to_mat(tmp_path / "b.mat")
    first, second = ((tmp_path / name).read_bytes() for name in ("a.mat", "b.mat"))
    assert first == second
    assert first.startswith(b"MATLAB 5.0 MAT-file, written by robolin ")


def test_models_are_written_in_matlabs_words(tmp_path: Path) -> None:
    """A batch has its axis last, names are cells, and Offsets are the operating point."""
    arm = robolin.load("two-link")
    q = np.random.default_rng(0).uniform(-1.0, 1.0, (3, 2))
    model = robolin.state_space(arm, q, dt=0.01)
    model.to_mat(tmp_path / "model.mat")
    loaded = loadmat(tmp_path / "model.mat", simplify_cells=True)
    assert loaded["A"].shape == (4, 4, 3)
    assert np.array_equal(loaded["A"][:, :, 1], model.A[1])
    assert loaded["Ts"] == loaded["dt"] == 0.01
    assert list(loaded["StateName"]) == list(model.states)
    assert list(loaded["InputUnit"]) == ["N·m", "N·m"]
    assert np.array_equal(loaded["Offsets"]["x"][:2], q.T)
    assert np.array_equal(loaded["Offsets"]["u"], model.tau.T)
    assert np.array_equal(loaded["OperatingPoint"]["qdd"], np.zeros((2, 3)))


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
    by_octave = octave(script, tmp_path)
    assert np.allclose(by_octave["K"], regulator.K[0], rtol=1e-10)
    assert list(by_octave["outputs"]) == list(model.outputs)
    assert np.ravel(by_octave["inputs"]).tolist() == ["elbow/effort"]
    assert by_octave["unit"] == "rad/s"


def test_octave_opens_models_along_a_motion(tmp_path: Path) -> None:
    """`-o FILE.mat` along a motion has one model per row with its time, offsets and method."""
    t = np.arange(3) * 0.1
    rows = np.column_stack([t, np.sin(t), np.cos(t), np.cos(t), -np.sin(t)])
    words = [f"{joint}/{word}" for word in ("position", "velocity") for joint in JOINTS]
    header = ",".join(["time", *words])
    np.savetxt(tmp_path / "way.csv", rows, delimiter=",", header=header, comments="")
    ask = ("state-space", "two-link", "--trajectory", tmp_path / "way.csv", "--dt", "0.01")
    path = tmp_path / "way.mat"
    run_ok(*ask, "--discretize", "tustin", "--joints", "elbow,shoulder", "-o", path)
    model = robolin.state_space(
        robolin.load("two-link"), rows[:, 1:3], rows[:, 3:], dt=0.01, method="tustin"
    )
    script = (
        f"m = load('{tmp_path}/way.mat'); k = 2; "
        "sys = ss(m.A(:,:,k), m.B(:,:,k), m.C(:,:,k), m.D(:,:,k), m.Ts, "
        "'inputname', m.InputName, 'outputname', m.OutputName); "
        "r.A = sys.a; r.grid = m.SamplingGrid; r.how = m.Discretization; r.u = m.Offsets.u; "
        "r.x = m.Offsets.x(:, k); r.ts = get(sys, 'tsam')"
    )
    by_octave = octave(script, tmp_path)
    back = [1, 0, 3, 2]
    assert np.allclose(by_octave["A"][np.ix_(back, back)], model.A[1], rtol=1e-12, atol=1e-14)
    assert by_octave["grid"]["time"].tolist() == t.tolist()
    assert by_octave["grid"]["row"].tolist() == [1, 2, 3]
    assert by_octave["how"] == {"method": "tustin", "dt": 0.01}
    assert by_octave["ts"] == 0.01
    assert np.allclose(by_octave["x"][back], rows[1, 1:], atol=1e-15)
    assert np.allclose(by_octave["u"][::-1].T, model.tau, rtol=1e-12)


def test_results_too_large_for_memory_are_rejected(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Too many rows for a MAT-file are rejected with a hint, and nothing is written."""
    monkeypatch.setattr("robolin.io.formats.mat_results.LARGEST_RESULT", 1 << 20)
    np.savez(tmp_path / "way.npz", q=np.zeros((4000, 2)))
    ask = ("state-space", "two-link", "--trajectory", tmp_path / "way.npz")
    ran = command_line(*ask, "-o", tmp_path / "way.mat")
    assert ran.code == 4
    assert "at most 1 MB" in ran.err
    assert "NPZ" in ran.err
    assert not (tmp_path / "way.mat").exists()
    run_ok(*ask, "--only", "D", "-o", tmp_path / "way.mat")


def test_too_large_variables_are_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    """Level 5 has sizes of 32 bits; larger variables are rejected before writing."""
    monkeypatch.setattr("robolin.io.formats.mat_results.LARGEST_VARIABLE", 100)
    with pytest.raises(robolin.FileError, match="'A' is too large for a MAT-file"):
        mat_bytes({"A": np.zeros((10, 10))})
