"""Threads appear when there is work for them: counted, not timed."""

from __future__ import annotations

import threading
from pathlib import Path

import numpy as np
import pytest

from robolin import load
from tests.cli.command import answered

WORDS = ("position", "velocity", "effort")


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of all threads started from here on."""
    names: list[str] = []
    start = threading.Thread.start

    def counted(thread: threading.Thread) -> None:
        names.append(thread.name)
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", counted)
    # helpers that other tests left standing ready are not counted on
    monkeypatch.setattr("robolin.engine.compiled.thread_pool._idle", [])
    monkeypatch.setattr("robolin.engine.compiled.plan.cores", lambda: 8)
    return names


def trajectory(folder: Path, rows: int) -> Path:
    arm = load("panda")
    names = [f"{joint}/{word}" for word in WORDS for joint in arm.joint_names]
    values = np.random.default_rng(0).uniform(-1, 1, (rows, len(names)))
    path = folder / f"{rows}.csv"
    np.savetxt(path, values, delimiter=",", header=",".join(names), comments="")
    return path


@pytest.mark.parametrize("extension", ["npz", "csv", "json", "parquet"])
@pytest.mark.parametrize("verb", ["inverse", "linearize-forward", "mass-matrix"])
def test_short_trajectories_start_two_threads_at_most(
    verb: str, extension: str, tmp_path: Path, started: list[str]
) -> None:
    """500 rows are read, computed and written by the main thread and two others at most."""
    path = trajectory(tmp_path, 500)
    answered(verb, "panda", "--trajectory", path, "-o", tmp_path / f"out.{extension}")

    assert len(started) <= 2, started


def test_long_trajectories_are_read_computed_and_written_side_by_side(
    tmp_path: Path, started: list[str]
) -> None:
    """20000 rows have a thread that computes ahead of the writer, and helpers for the engine."""
    path = trajectory(tmp_path, 20000)
    answered("linearize-forward", "panda", "--trajectory", path, "-o", tmp_path / "out.npz")

    assert started.count("robolin-prefetch") >= 3
    assert "robolin-pool" in started
