"""From file to file: a long CSV trajectory through the command line, beside a Pinocchio script.

The script holds everything in memory and loops in Python.  It is run on 50 000 rows and on one,
and what the difference says of one row is extended to all rows.  Command and script take turns.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from dataclasses import asdict
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

import robolin
from benchmarks.agreement import checked
from benchmarks.subjects import SEED, panda
from benchmarks.timing import Effort, progress, spread
from robolin.description.bundled import bundled_path
from robolin.engine.compiled import cores

ROOT = Path(__file__).resolve().parents[1]
FORMATS = ("npz", "csv", "parquet")
VERB = "linearize-forward"

# enough rows for a rate, few enough to wait for
SCRIPT_ROWS = 50_000
ROUNDS = 3
ROBOLIN = "import sys; from robolin.cli.main import run; run()"


def measured(effort: Effort, rows: int = 0) -> dict[str, Any]:
    """Seconds, rows per second and peak memory for each output format, and where the time goes."""
    rows = rows or (20_000 if effort.quick else 1_000_000)
    script_rows, rounds = min(rows, SCRIPT_ROWS), 1 if effort.quick else ROUNDS
    with TemporaryDirectory() as place:
        folder = Path(place)
        progress(f"writing a trajectory of {rows} rows")
        for name, count in (("long", rows), ("short", script_rows), ("one", 1)):
            write_trajectory(folder / f"{name}.csv", count)
        gap = _agree(folder)
        formats = {form: _through(form, folder, rows, script_rows, rounds) for form in FORMATS}
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
    """Random states of Panda, written piece by piece."""
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
    """The largest gap between both programs' files; this also puts the kernel into the cache."""
    ours, theirs = folder / "ours.npz", folder / "theirs.npz"
    _run([sys.executable, "-c", ROBOLIN, *_robolin(folder / "short.csv", ours)])
    if find_spec("pinocchio") is None:
        return None
    _run(_script(folder / "short.csv", theirs))
    with np.load(ours, allow_pickle=False) as a, np.load(theirs) as b:
        found, expected = ({name: x[name][:500] for name in b.files} for x in (a, b))
    condition = np.linalg.cond(expected["dqdd_dtau"])
    return checked("Pinocchio", VERB, found, expected, condition)


def _through(form: str, folder: Path, rows: int, script_rows: int, rounds: int) -> dict[str, Any]:
    """One format: the command and the script in turn, and the command once more being watched."""
    target, report = folder / f"result.{form}", folder / "stages.json"
    command = _robolin(folder / "long.csv", target)
    ours, theirs = [], []
    for turn in range(rounds):
        progress(f"CSV → {form}, {turn + 1} of {rounds}")
        ours.append(_run([sys.executable, "-c", ROBOLIN, *command]))
        size = target.stat().st_size
        _forget(target)
        if find_spec("pinocchio") is not None:
            theirs.append(_script_run(folder, target, rows / script_rows))
            _forget(target)
    progress(f"CSV → {form}, watched")
    _run([sys.executable, "-m", "benchmarks.stages", str(report), *command])
    _forget(target)
    taken = spread([seconds for seconds, _ in ours])
    entry: dict[str, Any] = {
        "seconds": asdict(taken),
        "rows/s": rows / taken.median,
        "peak bytes": max(memory for _, memory in ours),
        "output bytes": size,
        **json.loads(report.read_text("utf-8")),
    }
    if theirs:
        entry["script"] = asdict(spread([seconds for seconds, _ in theirs]))
        entry["script peak bytes, short"] = max(memory for _, memory in theirs)
        pairs = zip(theirs, ours, strict=True)
        entry["ratio"] = asdict(spread([script[0] / our[0] for script, our in pairs]))
    return entry


def _script_run(folder: Path, target: Path, times: float) -> tuple[float, int]:
    """What the script would take for all rows, and its memory for the rows it was given."""
    start, _ = _run(_script(folder / "one.csv", target))
    short, memory = _run(_script(folder / "short.csv", target))
    return (short if times == 1.0 else start + (short - start) * times), memory


def _forget(target: Path) -> None:
    """Remove a result with whatever was written beside it."""
    for file in target.parent.glob(f"{target.name}*"):
        file.unlink()


def _run(command: list[str]) -> tuple[float, int]:
    """Seconds from start to end, and the most memory the process had."""
    environment = {**os.environ, "PYTHONPATH": str(Path(robolin.__file__).parents[1])}
    start = time.perf_counter()
    process = subprocess.Popen(command, env=environment, cwd=ROOT, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    taken = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"exit code {process.returncode}: {' '.join(command)}")
    scale = 1 if sys.platform == "darwin" else 1024
    return taken, usage.ru_maxrss * scale
