"""Numbers from 0 and another case of joint names are understood if nothing is ambiguous."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.cli.command import CommandRun, robolin

VALUES = np.random.default_rng(0).uniform(-1, 1, (5, 4))
NATIVE = ["shoulder/position", "elbow/position", "shoulder/velocity", "elbow/velocity"]


def written(names: list[str], values: np.ndarray = VALUES) -> str:
    rows = [",".join(map(repr, map(float, row))) for row in values]
    Path("r.csv").write_text("\n".join([",".join(names), *rows]) + "\n")
    return "r.csv"


def run(path: str, *flags: str) -> CommandRun:
    return robolin("inverse", "two-link", "--format", "csv", "--trajectory", path, *flags)


@pytest.fixture(autouse=True)
def native(tmp_path, monkeypatch) -> str:
    monkeypatch.chdir(tmp_path)
    return run(written(NATIVE)).out


@pytest.mark.parametrize(
    "names, note",
    [
        (["q0", "q1", "qd0", "qd1"], "numbered from 0; joint order: shoulder, elbow"),
        (["q_0", "q_1", "qd_0", "qd_1"], "numbered from 0"),
        (["q0", "q1", "qd1", "qd2"], "numbered from 0"),
        (["Shoulder/position", "Elbow/position", "Shoulder/velocity", "Elbow/velocity"], "case"),
        (["q_SHOULDER", "q_ELBOW", "qd_SHOULDER", "qd_ELBOW"], "case of joint names is ignored"),
        (
            [f"/js/{name.title()}".replace("/V", "/v").replace("/P", "/p") for name in NATIVE],
            "'/js/'",
        ),
    ],
)
def test_other_spellings(native, names, note):
    """The result is that of the native names, and a note reports the spelling."""
    ran = run(written(names))
    assert (ran.code, ran.out) == (0, native), ran.err
    assert note in ran.err


def test_columns_named_after_joints_in_another_case():
    """Positions in columns that are only named after joints."""
    expected = run(written(NATIVE[:2], VALUES[:, :2])).out
    assert run(written(["Shoulder", "ELBOW"], VALUES[:, :2])).out == expected


@pytest.mark.parametrize(
    "names",
    [
        # three numbers from 0 for two joints
        ["q0", "q1", "q2", "qd0"],
        # a name in the robot's case decides the case of all names
        ["shoulder/position", "Elbow/position", "Shoulder/velocity", "Elbow/velocity"],
        # two columns would have the same name
        ["Shoulder/position", "SHOULDER/position", "Elbow/position", "ELBOW/position"],
        # part of another word
        ["Shoulders/position", "Elbows/position", "x", "y"],
    ],
)
def test_ambiguous_spellings_are_rejected(names):
    """Nothing is guessed."""
    ran = run(written(names))
    assert (ran.code, "hint:" in ran.err) == (3, True), ran.err
