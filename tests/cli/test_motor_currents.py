"""Motor currents are efforts after multiplication by torque constants."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import robolin as library
from tests.cli.command import CommandRun, robolin

# powers of two, so that the product with a current has the bits of the effort
CONSTANTS = (8.0, -0.5)
TIME = np.arange(60) * 0.01
Q = np.c_[np.sin(3 * TIME), np.cos(2 * TIME)]
EFFORT = np.random.default_rng(0).normal(size=(60, 2))
POSITIONS = "time,shoulder/position,elbow/position"
FLAGS = ("--residual", "--differentiate", "savgol", "--torque-constants", "8,-0.5")


def written(name: str, head: str, efforts: np.ndarray) -> str:
    rows = np.c_[TIME, Q, efforts]
    lines = [",".join(map(repr, map(float, row))) for row in rows]
    Path(name).write_text("\n".join([f"{POSITIONS},{head}", *lines]) + "\n")
    return name


def run(path: str, *flags: str) -> CommandRun:
    return robolin("inverse", "two-link", "--format", "csv", "--trajectory", path, *flags)


@pytest.fixture(autouse=True)
def truth(tmp_path, monkeypatch) -> str:
    """The residuals of the same recording with efforts."""
    monkeypatch.chdir(tmp_path)
    written("effort.csv", "shoulder/effort,elbow/effort", EFFORT)
    written("current.csv", "shoulder/current,elbow/current", EFFORT / CONSTANTS)
    written("amps.csv", "I1,I2", EFFORT / CONSTANTS)
    return run("effort.csv", *FLAGS[:3]).out


def test_currents_are_efforts(truth):
    """Columns by their own name, by a pattern and by index have the same residuals."""
    assert run("current.csv", *FLAGS).out == truth
    assert run("current.csv", *FLAGS[:-1], "elbow=-0.5,shoulder=8").out == truth
    positions = ("--columns", "position={joint}/position")
    for rule in ("current=I{number}", "current=3:5"):
        assert run("amps.csv", *FLAGS, *positions, "--columns", rule).out == truth
    each = ("--columns", "shoulder/current=I1", "--columns", "elbow/current=I2")
    assert run("amps.csv", *FLAGS, *positions, *each).out == truth


def test_python_and_contract():
    """`States` has the option, and the contract states the constants."""
    states = library.States(
        trajectory="current.csv", differentiate="savgol", torque_constants=list(CONSTANTS)
    )
    question = library.Question("inverse", residual=True)
    result = library.answer(library.load("two-link"), question, states)
    assert np.array_equal(result["tau_measured"], EFFORT)
    assert result.contract["efforts"] == "motor currents times 8, -0.5 N·m per A or N per A"


REFUSED = [
    ("current.csv", FLAGS[:3], 3, "--torque-constants"),
    ("amps.csv", (*FLAGS[:3], "--columns", "current=3:5"), 2, "add --torque-constants"),
    ("effort.csv", FLAGS, 2, "--columns current=PATTERN"),
    ("current.csv", ("--torque-constants", "1,2"), 2, "add --residual"),
    ("current.csv", (*FLAGS[:-1], "8"), 2, "joint order: shoulder, elbow"),
    ("current.csv", (*FLAGS[:-1], "elbow=8"), 2, "joint 'shoulder' has no torque constant"),
    (
        "amps.csv",
        (*FLAGS, "--columns", "current=3:5", "--columns", "effort=1:3"),
        *(2, "currents and efforts"),
    ),
    ("both.csv", FLAGS, 3, "are in the same file"),
]


@pytest.mark.parametrize(("path", "flags", "code", "message"), REFUSED, ids=range(len(REFUSED)))
def test_wrong_currents_are_rejected(path, flags, code, message):
    """The error names the flag that helps."""
    head = "shoulder/current,elbow/current,shoulder/effort,elbow/effort"
    written("both.csv", head, np.c_[EFFORT, EFFORT])
    ran = run(path, *flags)
    assert (ran.code, message in ran.err) == (code, True), ran.err
