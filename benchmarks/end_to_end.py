"""Complete commands: a long CSV trajectory, compared with a Pinocchio script.

Command and script run alternately.  The script keeps everything in memory, so it runs on at most
a million rows; for more rows its time and memory are extrapolated.
"""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from benchmarks.agreement import checked
from benchmarks.commands import ROBOLIN, timed
from benchmarks.subjects import SEED, panda
from benchmarks.timing import Effort, progress, spread
from robolin.description.robot_source import bundled_path
from robolin.engine.compiled.plan import cores

ROOT = Path(__file__).resolve().parents[1]
FORMATS = ("npz", "csv", "parquet")
VERB = "linearize-forward"

SCRIPT_ROWS, COMPARED_ROWS = 1_000_000, 1_000
ROUNDS = 3


def measured(effort: Effort, rows: int = 0) -> dict[str, Any]:
    """Seconds, rows per second and peak memory for each output format, and a time profile."""
    rows = rows or (20_000 if effort.quick else 1_000_000)
    script_rows, rounds = min(rows, SCRIPT_ROWS), 1 if effort.quick else ROUNDS
    with TemporaryDirectory() as path:
        folder = Path(path)
        progress(f"writing a trajectory of {rows} rows")
        for name, count in (("long", rows), ("few", COMPARED_ROWS)):
            write_trajectory(folder / f"{name}.csv", count)
        if script_rows == rows:
            (folder / "script.csv").symlink_to(folder / "long.csv")
        else:
            write_trajectory(folder / "script.csv", script_rows)
        gap = _agree(folder)
        formats = {
            form: _through(form, folder, rows, rows / script_rows, rounds) for form in FORMATS
        }
        size = (folder / "long.csv").stat().st_size
    return {
        "arm": "panda",
        "verb": VERB,
        "rows": rows,
        "input bytes": size,
        "script rows": script_rows,
        "gap": gap,
        "jobs": cores(),
        "formats": formats,
    }


def write_trajectory(path: Path, rows: int) -> None:
    """Random states of Panda, written in blocks."""
    import polars as pl

    joints = panda().arm.joint_names
    names = [f"{joint}/{what}" for what in ("position", "velocity", "effort") for joint in joints]
    rng = np.random.default_rng(SEED)
    with open(path, "wb") as stream:
        for first in range(0, rows, 100_000):
            count = min(100_000, rows - first)
            values = rng.uniform(-1.5, 1.5, (count, len(names)))
            time_column = (first + np.arange(count)) * 1e-3
            table = pl.DataFrame({"time": time_column} | dict(zip(names, values.T, strict=True)))
            table.write_csv(stream, include_header=first == 0)


def _robolin(source: Path, target: Path) -> list[str]:
    words = [VERB, "panda", "--no-damping", "--trajectory", str(source), "-o", str(target)]
    return [*words, "--jobs", str(cores()), "--quiet"]


def _script(source: Path, target: Path) -> list[str]:
    script = Path(__file__).with_name("pinocchio_script.py")
    return [sys.executable, str(script), str(bundled_path("panda")), str(source), str(target)]


def _agree(folder: Path) -> float | None:
    """Largest difference between the files of both programs; also fills the kernel cache."""
    ours, theirs = folder / "ours.npz", folder / "theirs.npz"
    timed([*ROBOLIN, *_robolin(folder / "few.csv", ours)], ROOT)
    if find_spec("pinocchio") is None:
        return None
    timed(_script(folder / "few.csv", theirs), ROOT)
    with np.load(ours, allow_pickle=False) as a, np.load(theirs) as b:
        computed, expected = ({name: x[name] for name in b.files} for x in (a, b))
    condition = np.linalg.cond(expected["dqdd_dtau"])
    return checked("Pinocchio", VERB, computed, expected, condition)


def _through(form: str, folder: Path, rows: int, times: float, rounds: int) -> dict[str, Any]:
    """One format: command and script alternately, then the command with a profiler."""
    target, report = folder / f"result.{form}", folder / "stages.json"
    command = _robolin(folder / "long.csv", target)
    ours, theirs = [], []
    for turn in range(rounds):
        progress(f"CSV → {form}, {turn + 1} of {rounds}")
        ours.append(timed([*ROBOLIN, *command], ROOT))
        size = target.stat().st_size
        _forget(target)
        if find_spec("pinocchio") is not None:
            theirs.append(_extended(folder, target, times))
            _forget(target)
    progress(f"CSV → {form}, watched")
    timed([sys.executable, "-m", "benchmarks.stages", str(report), *command], ROOT)
    _forget(target)
    all_in_all = spread([seconds for seconds, _ in ours])
    entry: dict[str, Any] = {
        "seconds": asdict(all_in_all),
        "rows/s": rows / all_in_all.median,
        "peak bytes": max(memory for _, memory in ours),
        "output bytes": size,
        **json.loads(report.read_text("utf-8")),
    }
    if theirs:
        entry["script"] = asdict(spread([seconds for seconds, _ in theirs]))
        entry["script peak bytes"] = max(memory for _, memory in theirs)
        pairs = zip(theirs, ours, strict=True)
        entry["ratio"] = asdict(spread([script[0] / our[0] for script, our in pairs]))
    return entry


def _extended(folder: Path, target: Path, times: float) -> tuple[float, float]:
    """Seconds and memory of the script, extrapolated for more rows."""
    elapsed, memory = timed(_script(folder / "script.csv", target), ROOT)
    if times == 1.0:
        return elapsed, memory
    start, least = timed(_script(folder / "few.csv", target), ROOT)
    return start + (elapsed - start) * times, least + (memory - least) * times


def _forget(target: Path) -> None:
    """Remove a result and its companion files."""
    for file in target.parent.glob(f"{target.name}*"):
        file.unlink()
