"""Kill processes at random times while they write, and check the files they leave.

Two command lines in turn write one target with different contents. After each kill the target is
absent or complete, as written by one of the two, or a new companion of an old table, which is
refused. The next write removes partial files. python -m tests.fuzz --kills 1000 is the long run.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from robolin.cli.main import main
from robolin.errors import RobolinError
from robolin.io.stored import read_result

ROWS = 4000
MOTION = "mass-matrix two-link --trajectory t.csv -o out"
# two command lines for one target each, and where that is
WRITERS: dict[str, tuple[str, str, str]] = {
    **{
        f"rows {ext}": (f"out.{ext}", f"{MOTION}.{ext}", f"{MOTION}.{ext} --payload lower:2")
        for ext in ("csv", "json", "npz", "parquet", "mat")
    },
    "record csv": ("out.csv", "record inverse two-link -o out.csv", f"record {MOTION}.csv"),
    "record json": ("out.json", "record inverse two-link -o out.json", f"record {MOTION}.json"),
    "gains": ("out.npz", "lqr two-link -o out.npz", "lqr two-link --q elbow=1 -o out.npz"),
    "motion": (
        "out.csv",
        "simulate two-link --duration 0.1 --q elbow=1 -o out.csv",
        "simulate two-link --duration 0.1 --q elbow=2 -o out.csv",
    ),
    "report": ("out.xml", "validate panda -o out.xml", "validate ur5 -o out.xml"),
    "diff": ("out.md", "diff two-link panda -o out.md", "diff two-link ur5 -o out.md"),
    "program": (
        "out",
        "generate two-link inverse --prefix a -o out",
        "generate two-link forward --prefix a -o out",
    ),
}
WRITERS["new program"] = WRITERS["program"]
# targets that do not exist when a write begins
MADE_ANEW = ("new program",)
# number of kills before one write may finish
BETWEEN = 8
KILLED = "killed"

Contents = dict[str, bytes]


@dataclass
class Kills:
    """How writes ended, and the promises that were broken."""

    ended: Counter[str] = field(default_factory=Counter)
    broken: list[str] = field(default_factory=list)


def killed(what: str, kills: int, rng: random.Random, tally: Kills) -> None:
    """Kill `kills` writes of one kind in the current folder."""
    rows = (f"{i},{1e-4 * i!r},{-2e-4 * i!r}\n" for i in range(ROWS))
    Path("t.csv").write_text("time,shoulder/position,elbow/position\n" + "".join(rows))
    out, *lines = WRITERS[what]
    truths, seconds = [], 0.0
    for line in lines:
        # the first one compiles
        assert _ended(_started(line)), line
        begin = time.monotonic()
        assert _ended(_started(line)), line
        seconds = max(seconds, time.monotonic() - begin)
        truths.append(_contents(out))
    before, k = tally.ended[KILLED], 0
    while tally.ended[KILLED] - before < kills:
        fraction = rng.uniform(0.0, 1.0) if k % 2 else rng.uniform(0.4, 1.0)
        if what in MADE_ANEW:
            shutil.rmtree(out, ignore_errors=True)
        _one_kill(what, lines[k % 2], truths, fraction * seconds, tally)
        k += 1
        if k % BETWEEN == 0:
            _next_write(what, lines[k % 2], truths[k % 2], tally)
    _next_write(what, lines[0], truths[0], tally)


def _one_kill(what: str, line: str, truths: list[Contents], delay: float, tally: Kills) -> None:
    process = _started(line)
    time.sleep(delay)
    os.kill(process, signal.SIGKILL)
    late = _ended(process)
    tally.ended["came too late" if late else KILLED] += 1
    tally.ended["left a part behind"] += bool(_parts())
    try:
        there = _contents(WRITERS[what][0])
    except Exception as error:
        if isinstance(error, RobolinError) and "belongs to another CSV" in error.message:
            tally.ended["a new companion of an old table, refused"] += 1
        else:
            tally.broken.append(f"{what}: {type(error).__name__}: {error}")
        return
    names = {name for truth in truths for name in truth}
    for name in there:
        if name not in names or all(there[name] != truth.get(name) for truth in truths):
            tally.broken.append(f"{what}: {name} is neither the old one nor the new one")


def _next_write(what: str, line: str, truth: Contents, tally: Kills) -> None:
    """Run a write to its end and check that it repairs everything."""
    if not _ended(_started(line)):
        tally.broken.append(f"{what}: the next write fails")
    tally.ended["written in full after kills"] += 1
    if _parts():
        tally.broken.append(f"{what}: {len(_parts())} parts are left after the next write")
    if _contents(WRITERS[what][0]) != truth:
        tally.broken.append(f"{what}: the next write is not complete")


def _started(line: str) -> int:
    child = os.fork()
    if child == 0:
        code = 70
        try:
            nowhere = os.open(os.devnull, os.O_RDWR)
            for stream in (1, 2):
                os.dup2(nowhere, stream)
            code = main(line.split())
            sys.stdout.flush()
        finally:
            # exit code 1 reports findings or differences: the command itself succeeded
            os._exit(code if code > 1 else 0)
    return child


def _ended(process: int) -> bool:
    """Return whether the process exited with code 0."""
    _, status = os.waitpid(process, 0)
    return os.WIFEXITED(status) and os.WEXITSTATUS(status) == 0


def _parts() -> list[str]:
    return [str(path) for path in Path().rglob(".robolin-*")]


def _contents(out: str) -> Contents:
    """Contents by file name; the numbers of a table and its companion count as one."""
    path = Path(out)
    if path.is_dir():
        inside = (file for file in path.rglob("*") if file.is_file())
        return {file.name: file.read_bytes() for file in inside if file.suffix != ".part"}
    if not path.exists():
        return {}
    if path.suffix == ".csv":
        stored = read_result(path)
        numbers = b"".join(values.tobytes() for values in stored.arrays.values())
        return {out: path.read_bytes() + numbers + repr(stored.meta).encode()}
    return {out: path.read_bytes()}


def campaign(kills: int, folder: Path, seed: int) -> Kills:
    """Run `count` kills, divided among all kinds of files."""
    rng, tally = random.Random(seed), Kills()
    for k, what in enumerate(WRITERS):
        own_folder = folder / what.replace(" ", "-")
        own_folder.mkdir()
        os.chdir(own_folder)
        before = tally.ended.copy()
        killed(what, kills // len(WRITERS) + (k < kills % len(WRITERS)), rng, tally)
        sys.stdout.write(f"{what:12} {dict(tally.ended - before)}\n")
        sys.stdout.flush()
    return tally
