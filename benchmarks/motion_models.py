"""Linear models and LQR gains along long trajectories, with complete commands.

A and B of every row are stored alternately with the results of `linearize-forward`; the
time-varying LQR runs backwards over another file.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from benchmarks.commands import ROBOLIN, Run, watched
from benchmarks.end_to_end import write_trajectory
from benchmarks.subjects import panda
from benchmarks.timing import Effort, progress, spread
from robolin.engine.compiled.plan import cores

ROUNDS = 3
DT = 0.001
# stored arrays of every row, and their command options
LINEARIZED, MODELS, GAINS = "linearize-forward", "A and B", "time-varying gains"
WORDS = {
    LINEARIZED: ("linearize-forward", "panda"),
    MODELS: ("state-space", "panda", "--only", "A,B"),
    GAINS: ("lqr", "panda", "--time-varying", "--dt", str(DT), "--weight", "q=100"),
}


def measured(effort: Effort) -> dict[str, Any]:
    """Seconds and peak memory of each, and the ratio of models to linearization."""
    rows, swing, rounds = (5_000, 1_000, 1) if effort.quick else (1_000_000, 100_000, ROUNDS)
    with TemporaryDirectory() as temporary:
        folder = Path(temporary)
        progress(f"writing motions of {rows} and {swing} rows")
        write_trajectory(folder / "long.csv", rows)
        write_swing(folder / "swing.csv", swing)
        write_swing(folder / "few.csv", 100)
        for words in WORDS.values():
            _run(words, folder, "few.csv")
        runs: dict[str, list[Run]] = {name: [] for name in WORDS}
        for _ in range(rounds):
            for name, words in WORDS.items():
                source = "swing.csv" if name == GAINS else "long.csv"
                runs[name].append(_run(words, folder, source))
    answers = {name: _entry(swing if name == GAINS else rows, runs[name]) for name in WORDS}
    answers[MODELS] |= _ratio(runs[MODELS], runs[LINEARIZED])
    return {"arm": "panda", "jobs": cores(), "answers": answers}


def write_swing(path: Path, rows: int) -> None:
    """A smooth motion of Panda: every joint oscillates at its own frequency."""
    joints = panda().arm.joint_names
    words = ("position", "velocity", "acceleration")
    t, w = DT * np.arange(rows)[:, None], np.linspace(1.0, 2.0, len(joints))
    motion = [np.sin(w * t), w * np.cos(w * t), -(w**2) * np.sin(w * t)]
    header = ",".join(["time", *(f"{joint}/{word}" for word in words for joint in joints)])
    table = np.column_stack([t, *motion])
    np.savetxt(path, table, delimiter=",", header=header, comments="", fmt="%.17g")


def _run(words: Sequence[str], folder: Path, source: str) -> Run:
    target = folder / "result.npz"
    options = ["--trajectory", source, "-o", str(target), "--jobs", str(cores()), "--quiet"]
    progress(" ".join(words))
    run = watched([*ROBOLIN, *words, *options], folder)
    target.unlink()
    return run


def _entry(rows: int, runs: Sequence[Run]) -> dict[str, Any]:
    return {
        "rows": rows,
        "seconds": asdict(spread([run.seconds for run in runs])),
        "processor seconds": asdict(spread([run.processor_seconds for run in runs])),
        "peak bytes": max(run.memory for run in runs),
    }


def _ratio(runs: Sequence[Run], others: Sequence[Run]) -> dict[str, Any]:
    """Ratio of the durations, round by round."""
    pairs = list(zip(runs, others, strict=True))
    work = [run.processor_seconds / other.processor_seconds for run, other in pairs]
    return {
        "ratio": asdict(spread([run.seconds / other.seconds for run, other in pairs])),
        "processor ratio": asdict(spread(work)),
    }
