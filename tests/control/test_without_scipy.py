"""Functions that need only NumPy, and messages of those that need more packages."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.batch.sample_recordings import write_recordings
from tests.cli.command import robolin

ALONE = """
import sys
sys.modules["scipy"] = None
sys.modules["control"] = None
import numpy as np, robolin
arm = robolin.load("acrobot")
point = robolin.trim(arm, [3.0, 0.0], passive="shoulder")
model = robolin.state_space(arm, point.q, passive="shoulder")
assert model.poles().stability.tolist().count("unstable") == 2
assert model.controllability().dimension == 4 and model.observability().complete
assert model.discretize(0.01).step_response(0.1).y.shape == (11, 4, 1)
for ask in (
    lambda: robolin.lqr(model),
    lambda: robolin.kalman(model),
    lambda: robolin.place_poles(model, [-1, -2, -3, -4]),
    lambda: model.frequency_response([1.0]),
    lambda: model.to_scipy(),
    lambda: model.to_control(),
    lambda: model.to_mat("never.mat"),
):
    try:
        ask()
    except robolin.RobolinError as error:
        assert "which is not installed" in error.message, error
        assert error.hint == "pip install scipy", error
    else:
        raise AssertionError(ask)
print("ok")
"""


def test_numpy_alone_is_enough_for_models_and_poles() -> None:
    """Without SciPy, models, poles and controllability work, and the rest names the package."""
    done = subprocess.run(
        [sys.executable, "-c", ALONE], capture_output=True, text=True, check=False
    )
    assert done.stdout == "ok\n", done.stderr


def test_a_missing_package_is_not_a_bad_row(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is reported once, before the first part, and never replaced by NaN."""
    write_recordings(tmp_path / "logs")
    monkeypatch.setitem(sys.modules, "scipy.linalg", None)
    ask = ("lqr", "two-link", "--trajectory", str(tmp_path / "logs" / "run_*"), "--part-rows", "40")
    for more in ((), ("--on-bad-row", "nan")):
        ran = robolin(*ask, "-o", str(tmp_path / "out"), *more)
        message = "error: a Riccati equation needs SciPy, which is not installed\n"
        assert (ran.code, ran.err) == (3, f"{message}hint: pip install scipy\n")
    assert not (tmp_path / "out").exists()
