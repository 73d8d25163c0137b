"""python -m benchmarks.parts: cost of a plan compared with a plain run, and of two workers.

A long recording is computed as one result, as parts by one process, and as parts by two processes:
commands, whose time includes their start, and running workers of a Dask cluster.  Every process is
pinned to one core, as under SLURM and Kubernetes; otherwise polars would use more cores for one
process.  Programs run alternately and are compared within each round.  The speedup of a second
core for plain arithmetic and for copying memory is measured for comparison.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from benchmarks.commands import ROBOLIN, Run, watched
from benchmarks.dask_workers import dask_workers, seconds_of_parts
from benchmarks.end_to_end import write_trajectory
from benchmarks.timing import progress, spread

PARTS = 10
# programs limited by a core only, and by memory only
ARITHMETIC = "for i in range(20_000_000): i * i % 7"
COPYING = (
    "import numpy as np; a, b = np.ones((2, 40_000_000))\nfor _ in range(10): b[:] = a; a[:] = b"
)


def cores_gain(program: str, folder: Path) -> float:
    """Speedup of running a program twice on two cores."""
    cores = sorted(os.sched_getaffinity(0))

    def run(core: int) -> float:
        return watched(["taskset", "-c", str(core), sys.executable, "-c", program], folder).seconds

    run(cores[0])
    alone = run(cores[0])
    with ThreadPoolExecutor(2) as pool:
        return 2 * alone / max(pool.map(run, cores[:2]))


def recording(folder: Path, rows: int, form: str) -> Path:
    """A motion with `rows` rows in this format; an existing file is reused."""
    path = folder / f"motion.{form}"
    if not path.exists():
        progress(f"writing {path.name} of {rows} rows")
        text = folder / "motion.csv"
        if not text.exists():
            write_trajectory(text, rows)
        if form == "parquet":
            import polars

            polars.scan_csv(text).sink_parquet(path, row_group_size=100_000)
    return path


def _below(folder: Path) -> Path:
    """A folder for results of a single run."""
    below = folder / "few"
    below.mkdir(exist_ok=True)
    return below


class Turn:
    """Runs one recording in several ways, one after the other."""

    def __init__(self, folder: Path, source: Path, rows: int) -> None:
        self._folder, self._out, self._source = folder, folder / "out", source
        self._part_rows = -(-rows // PARTS)
        self._ask = ["inverse", "panda", "--trajectory", str(source), "--jobs", "1", "--quiet"]
        self._parts = ["-o", f"{self._out}/", "--part-rows", str(self._part_rows)]
        self.looked = Run(0.0, 0, 0.0)

    def plain(self) -> Run:
        """All rows as one result."""
        return self._run([*self._ask, "-o", str(self._folder / "plain.parquet")])

    def planned(self) -> Run:
        """All rows as parts, including planning."""
        self._forget()
        return self._run([*self._ask, *self._parts])

    def shared(self, workers: int) -> tuple[float, int]:
        """Seconds of `workers` processes for the parts of a plan, and the peak memory."""
        self._plan()
        shards = [
            [*self._ask, *self._parts, "--shard", f"{number}/{workers}"]
            for number in range(1, workers + 1)
        ]
        with ThreadPoolExecutor(workers) as pool:
            runs = list(pool.map(self._run, shards, sorted(os.sched_getaffinity(0))))
        return max(run.seconds for run in runs), max(run.memory for run in runs)

    def on_cluster(self, client: Any) -> float:
        """Seconds of the workers of a cluster for the parts of a plan."""
        self._plan()
        return seconds_of_parts(client, self._source, self._out, self._part_rows)

    def _plan(self) -> None:
        self._forget()
        self.looked = self._run(["plan", *self._ask, *self._parts])

    def _run(self, words: Sequence[str], core: int = 0) -> Run:
        return watched(["taskset", "-c", str(core), *ROBOLIN, *words], self._folder)

    def _forget(self) -> None:
        shutil.rmtree(self._out, ignore_errors=True)


def clustered(turn: Turn, few: Turn, workers: int) -> float:
    """Better of two times of a new cluster, after a warm-up."""
    with dask_workers(sorted(os.sched_getaffinity(0))[:workers]) as client:
        few.on_cluster(client)
        return min(turn.on_cluster(client) for _ in range(2))


def measured(folder: Path, rows: int, form: str, rounds: int) -> list[str]:
    """Result lines for one format."""
    source = recording(folder, rows, form)
    turn, few = Turn(folder, source, rows), Turn(folder, recording(_below(folder), PARTS, form), 1)
    # bytecode and kernels are cached from here on
    few.plain()
    start = few.plain().seconds
    overhead, work, gain, started, memory = [], [], [], [], 0
    row, look = [], []
    for number in range(rounds):
        progress(f"{form}, {number + 1} of {rounds}")
        plain, planned = turn.plain(), turn.planned()
        one, two = turn.shared(1), turn.shared(2)
        overhead.append(planned.seconds / plain.seconds)
        work.append(planned.processor_seconds / plain.processor_seconds)
        gain.append(one[0] / two[0])
        row.append(1e6 * (one[0] - start) / rows)
        look.append((turn.looked.seconds - start) / source.stat().st_size * 1e9)
        memory = max(memory, planned.memory, one[1], two[1])
        workers = [clustered(turn, few, count) for count in (1, 2)]
        started.append(workers[0] / workers[1])
    return [
        f"{form}: parts of a plan beside one plain run: {spread(overhead):.3f} of its time, "
        f"{spread(work):.3f} of its work",
        f"{form}: two shards beside one: {spread(gain):.2f} times as fast, start and all",
        f"{form}: two workers of a cluster beside one: {spread(started):.2f} times as fast",
        f"{form}: a process has {memory / 1e6:.0f} MB at the most",
        f"{form}: start {start:.2f} s, a row {spread(row):.2f} µs, a look {spread(look):.2f} s/GB",
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=5_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--form", choices=["csv", "parquet"], action="append")
    parser.add_argument("--folder", type=Path, help="where recordings are kept for the next time")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or Path(temporary)
        folder.mkdir(exist_ok=True)
        bare = [f"{cores_gain(each, folder):.2f}" for each in (ARITHMETIC, COPYING)]
        print(f"a second core itself: {bare[0]} times for arithmetic, {bare[1]} for copying")
        for form in options.form or ["csv", "parquet"]:
            print("\n".join(measured(folder, options.rows, form, options.rounds)), flush=True)


if __name__ == "__main__":
    main()
