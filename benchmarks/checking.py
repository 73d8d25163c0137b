"""Checking stored results: a long trajectory compared with computing it, and a suite."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.commands import ROBOLIN, timed
from benchmarks.end_to_end import write_trajectory
from benchmarks.timing import Effort, progress, spread
from robolin.description.robot_source import bundled_path
from robolin.engine.compiled.plan import cores

VERB = "linearize-forward"
FORMATS = ("npz", "csv", "parquet")
ROUNDS = 3
BUNDLED = (
    *("iiwa14", "j2s6s200", "panda", "panda-fingers", "puma560"),
    *("two-link", "ur10", "ur5", "xarm7"),
)
STATES = 100


def measured(effort: Effort) -> dict[str, Any]:
    """Seconds to compute and to check a trajectory in each format, and to check a suite."""
    rows, rounds = (20_000, 1) if effort.quick else (1_000_000, ROUNDS)
    with TemporaryDirectory() as temporary:
        folder = Path(temporary)
        progress(f"writing a trajectory of {rows} rows")
        write_trajectory(folder / "long.csv", rows)
        _warm_up(folder)
        formats = {form: _trajectory(form, folder, rounds) for form in FORMATS}
        suite = _suite(folder, rounds)
    return {"arm": "panda", "verb": VERB, "rows": rows, "formats": formats, "suite": suite}


def _recorded(source: Path, target: Path) -> list[str]:
    words = ["record", VERB, "panda", "--trajectory", str(source), "-o", str(target)]
    return [*ROBOLIN, *words]


def _warm_up(folder: Path) -> None:
    """Create the kernel and all bytecode."""
    source, target = folder / "short.csv", folder / "short.npz"
    write_trajectory(source, 1000)
    timed([*_recorded(source, target), "-q"], folder)
    timed([*ROBOLIN, "check", str(target)], folder)


def _trajectory(form: str, folder: Path, rounds: int) -> dict[str, Any]:
    """Record and check alternately."""
    target = folder / f"result.{form}"
    words = _recorded(folder / "long.csv", target)
    computed, checked = [], []
    for turn in range(rounds):
        progress(f"{form}, round {turn + 1} of {rounds}")
        computed.append(timed([*words, "--jobs", str(cores()), "-q"], folder))
        checked.append(timed([*ROBOLIN, "check", str(target)], folder))
    for file in folder.glob(f"{target.name}*"):
        file.unlink()
    pairs = zip(checked, computed, strict=True)
    return {
        "compute": asdict(spread([seconds for seconds, _ in computed])),
        "check": asdict(spread([seconds for seconds, _ in checked])),
        "ratio": asdict(spread([ours[0] / theirs[0] for ours, theirs in pairs])),
        "peak bytes": max(memory for _, memory in checked),
    }


def _suite(folder: Path, rounds: int) -> dict[str, Any]:
    """A hundred states over ten robots, including process start."""
    own = folder / "own.yaml"
    source = bundled_path("two-link")
    assert source is not None
    own.write_bytes(source.read_bytes())
    arms = (*BUNDLED, own.name)
    verbs = ("inverse", "mass-matrix", "linearize-inverse", "linearize-forward", "forward")
    cases = []
    for i in range(STATES):
        arm, verb = arms[i % len(arms)], verbs[i // len(arms) % len(verbs)]
        gravity = 9.81 + i
        cases.append(
            f'[[case]]\nname = "{i}"\nverb = "{verb}"\narm = "{arm}"\n'
            f'options = {{ gravity = {gravity!r} }}\nstored = "stored/{i}.npz"\n'
        )
    (folder / "robolin.toml").write_text("\n".join(cases), "utf-8")
    timed([*ROBOLIN, "record", "--suite"], folder)
    durations = [timed([*ROBOLIN, "check"], folder)[0] for _ in range(rounds)]
    return {"arms": len(arms), "states": STATES, "check": asdict(spread(durations))}
