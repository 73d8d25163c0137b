"""Threads appear when there is work for them: counted, not timed."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from _pytest.mark import ParameterSet

from robolin import load
from robolin.io.format_table import FORMATS
from robolin.queries.verbs import VERBS
from tests.cli.command import run_ok

WORDS = ("position", "velocity", "effort")

QUICK = ("inverse", "linearize-forward", "state-space")
TIP = "panda_hand_tcp"

# number of rows; fewer for queries that solve equations for each, or compute 40 states between two
ROWS, FEW_ROWS = 500, {("poles",): 100, ("lqr",): 100, ("retime",): 20}

# every command that takes a trajectory, with the options that give most arrays
WIDEST = (
    ("inverse",),
    ("forward", "--links", "--tip-acceleration", TIP),
    ("jacobian", "--frame", TIP, "--derivatives", "--operational-space"),
    ("momentum",),
    ("mass-matrix", "--inverse", "--factor", "--derivative", "--coriolis"),
    ("linearize-inverse",),
    ("linearize-forward",),
    ("diagonalize",),
    ("sensitivity", "--matrices"),
    ("retime",),
    ("simulate", "--duration", "0.05", "--every", "1"),
    ("regressor",),
    ("regressor", "--geometry"),
    ("state-space",),
    ("state-space", "--dt", "0.01"),
    ("poles",),
    ("lqr",),
    ("lqr", "--time-varying", "--dt", "0.01"),
)


def verbs_and_formats() -> Iterator[ParameterSet]:
    """Every command with a format in turn, so that each format is used by three or more."""
    for turn, words in enumerate(WIDEST):
        extension = [*FORMATS][turn % len(FORMATS)]
        marks = () if words[0] in QUICK else pytest.mark.slow
        yield pytest.param(words, extension, id=f"{' '.join(words)}-{extension}", marks=marks)


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of all threads started from here on."""
    names: list[str] = []
    start = threading.Thread.start

    def counted(thread: threading.Thread) -> None:
        names.append(thread.name)
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", counted)
    # idle helper threads of other tests do not count
    monkeypatch.setattr("robolin.core.threads._idle", [])
    monkeypatch.setattr("robolin.engine.compiled.plan.cores", lambda: 8)
    return names


def trajectory(folder: Path, rows: int) -> Path:
    arm = load("panda")
    names = ["time", *(f"{joint}/{word}" for word in WORDS for joint in arm.joint_names)]
    values = np.random.default_rng(0).uniform(-1, 1, (rows, len(names)))
    values[:, 0] = np.arange(rows) / 100
    path = folder / f"{rows}.csv"
    np.savetxt(path, values, delimiter=",", header=",".join(names), comments="")
    return path


def straight_path(folder: Path, rows: int) -> Path:
    """Positions within the limits, without a corner."""
    arm = load("panda")
    names = [f"{joint}/position" for joint in arm.joint_names]
    values = np.array(arm.poses["home"]) + np.linspace(0.0, 0.3, rows)[:, None]
    path = folder / "path.csv"
    np.savetxt(path, values, delimiter=",", header=",".join(names), comments="")
    return path


@pytest.mark.parametrize(("words", "extension"), list(verbs_and_formats()))
def test_short_trajectories_start_two_threads_at_most(
    words: tuple[str, ...], extension: str, tmp_path: Path, started: list[str]
) -> None:
    """Few rows are read, computed and written by the main thread and two others at most."""
    write = straight_path if words[0] == "retime" else trajectory
    path = write(tmp_path, FEW_ROWS.get(words, ROWS))
    verb, *options = words
    run_ok(verb, "panda", "--trajectory", path, *options, "-o", tmp_path / f"out.{extension}")

    assert len(started) <= 2, started


def test_every_verb_that_takes_trajectories_is_counted() -> None:
    """The table above contains every command with rows."""
    commands = {
        name for name, verb in VERBS.items() if verb.answers and "trajectory" in verb.options
    }
    assert commands == {words[0] for words in WIDEST}


@pytest.mark.slow
def test_long_trajectories_are_read_computed_and_written_side_by_side(
    tmp_path: Path, started: list[str]
) -> None:
    """20000 rows have a thread that computes ahead of the writer, and helpers for the engine."""
    path = trajectory(tmp_path, 20000)
    run_ok("linearize-forward", "panda", "--trajectory", path, "-o", tmp_path / "out.npz")

    assert started.count("robolin-prefetch") >= 3
    assert "robolin-pool" in started
