"""python -m benchmarks.parts: what a plan costs beside one plain run, and two workers beside one.

A long recording is answered as one result, as parts by one process, and as parts by two that share
them.  Every process has one core of its own, as SLURM and Kubernetes give them: with more, polars
uses them for one process as well.  Programs take turns, and are compared within each round.
"""

from __future__ import annotations

import argparse
import os
import shutil
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from benchmarks.commands import ROBOLIN, Run, watched
from benchmarks.end_to_end import write_trajectory
from benchmarks.timing import progress, spread

PARTS = 10


def recording(folder: Path, rows: int, form: str) -> Path:
    """A motion of so many rows in this format; one that is there already is taken."""
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
    """A folder for what is only run once."""
    below = folder / "few"
    below.mkdir(exist_ok=True)
    return below


class Turn:
    """One recording answered in several ways, one after the other."""

    def __init__(self, folder: Path, source: Path, rows: int) -> None:
        self._folder, self._out = folder, folder / "out"
        self._ask = ["inverse", "panda", "--trajectory", str(source), "--jobs", "1", "--quiet"]
        self._parts = ["-o", f"{self._out}/", "--part-rows", str(-(-rows // PARTS))]

    def plain(self) -> Run:
        """All rows as one result."""
        return self._run([*self._ask, "-o", str(self._folder / "plain.parquet")])

    def planned(self) -> Run:
        """All rows as parts, with all that a plan takes."""
        self._forget()
        return self._run([*self._ask, *self._parts])

    def shared(self, workers: int) -> tuple[float, int]:
        """Seconds until so many processes have made the parts of a plan, and the most memory."""
        self._forget()
        self._run(["plan", *self._ask, *self._parts])
        shards = [
            [*self._ask, *self._parts, "--shard", f"{number}/{workers}"]
            for number in range(1, workers + 1)
        ]
        with ThreadPoolExecutor(workers) as pool:
            runs = list(pool.map(self._run, shards, sorted(os.sched_getaffinity(0))))
        return max(run.seconds for run in runs), max(run.memory for run in runs)

    def _run(self, words: Sequence[str], core: int = 0) -> Run:
        return watched(["taskset", "-c", str(core), *ROBOLIN, *words], self._folder)

    def _forget(self) -> None:
        shutil.rmtree(self._out, ignore_errors=True)


def measured(folder: Path, rows: int, form: str, rounds: int) -> list[str]:
    """Lines about one format."""
    turn = Turn(folder, recording(folder, rows, form), rows)
    # bytecode and kernels are there from now on
    Turn(folder, recording(_below(folder), PARTS, form), PARTS).planned()
    overhead, work, gain, memory = [], [], [], 0
    for number in range(rounds):
        progress(f"{form}, {number + 1} of {rounds}")
        plain, planned = turn.plain(), turn.planned()
        one, two = turn.shared(1), turn.shared(2)
        overhead.append(planned.seconds / plain.seconds)
        work.append(planned.processor_seconds / plain.processor_seconds)
        gain.append(one[0] / two[0])
        memory = max(memory, planned.memory, one[1], two[1])
    return [
        f"{form}: parts of a plan beside one plain run: {spread(overhead):.3f} of its time, "
        f"{spread(work):.3f} of its work",
        f"{form}: two workers beside one: {spread(gain):.2f} times as fast",
        f"{form}: a worker has {memory / 1e6:.0f} MB at the most",
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=5_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--form", choices=["csv", "parquet"], action="append")
    parser.add_argument("--folder", type=Path, help="where recordings are kept for the next time")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        folder = given.folder or Path(place)
        folder.mkdir(exist_ok=True)
        for form in given.form or ["csv", "parquet"]:
            print("\n".join(measured(folder, given.rows, form, given.rounds)), flush=True)


if __name__ == "__main__":
    main()
