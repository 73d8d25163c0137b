"""Hash every result, so that a change of the code that must not change results can be checked.

    python -m tools.freeze before.json             # hash the results of this version
    python -m tools.freeze --compare before.json   # exit 1 if any hash differs

Each command runs on every bundled arm, for one state and for 500 rows, into CSV, JSON, NPZ and
Parquet.  The hash of a file covers its bytes; an NPZ also gets one hash per array, so that a
difference in numbers is distinct from one in metadata.  A command that is rejected is recorded
with its exit code.  Results of LAPACK (LQR gains, poles) are the same only on one machine.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import chdir, redirect_stderr, redirect_stdout
from pathlib import Path
from zipfile import ZipFile

import numpy as np

from robolin import load
from robolin.cli.main import main as run_command
from robolin.description.robot_source import bundled_names

ARMS = bundled_names()
FORMATS = ("csv", "json", "npz", "parquet")
ROWS = 500

# command -> flags of the state it reads; from our own kernels, so the same on every machine
KERNEL_COMMANDS = {
    "inverse": "q qd qdd",
    "forward": "q qd tau",
    "mass-matrix --inverse --factor --derivative --coriolis": "q qd",
    "linearize-inverse": "q qd qdd",
    "linearize-forward": "q qd tau",
    "diagonalize": "q qd tau",
    "jacobian --derivatives": "q qd qdd",
    "momentum": "q qd",
    "regressor": "q qd qdd",
}
COMMANDS = {
    **KERNEL_COMMANDS,
    "linearize-forward --method conventional": "q qd tau",
    "jacobian --operational-space": "q qd",
    "sensitivity --matrices": "",
    "state-space --dt 0.01": "q",
    "poles": "q",
    "lqr": "q",
    "response --duration 1": "q",
    "simulate --duration 0.05 --dt 0.01": "q qd",
}
PARTS = {"q": "position", "qd": "velocity", "qdd": "acceleration", "tau": "effort"}
# commands of one state, and of a whole recording
ONE_STATE_ONLY = ("response", "simulate")
RECORDING_ONLY = ("sensitivity",)
# commands that keep closed loops; the others compute the tree without its closures
KEEP_LOOPS = ("forward", "linearize-forward", "simulate --duration 0.05 --dt 0.01")


def frozen(
    arms: Iterable[str] = ARMS,
    commands: Mapping[str, str] = COMMANDS,
    formats: Iterable[str] = FORMATS,
    row_counts: Iterable[int] = (1, ROWS),
) -> dict[str, str]:
    """Run the commands and hash what they write.

    Returns:
        'COMMAND ARM STATES.FORMAT' -> SHA-256 of the file or 'exit CODE';
        'COMMAND ARM STATES.npz:ARRAY' -> SHA-256 of the array
    """
    hashes: dict[str, str] = {}
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        for arm in arms:
            motions = {count: _write_motion(arm, count) for count in row_counts}
            for command, inputs in commands.items():
                for count, motion in motions.items():
                    line = _command_line(command, inputs, arm, motion, count)
                    for format_name in formats if line else ():
                        name = f"{command} {arm} {count}.{format_name}"
                        hashes.update(_hashes_of(name, line, format_name))
    return hashes


def _write_motion(arm: str, rows: int) -> Path:
    """A recording of smooth random states with as many rows as requested."""
    model = load(arm)
    rng = np.random.default_rng(7)
    steps = np.linspace(0.0, 1.0, rows)[:, None]
    phase, rate = rng.uniform(-1.0, 1.0, (2, model.n))
    angle = phase + 3.0 * rate * steps
    # a loop-closing arm stays near its assembled position
    size = 0.0 if model.loops else 1.0
    columns = {
        "position": size * np.sin(angle),
        "velocity": size * 3.0 * rate * np.cos(angle),
        "acceleration": -size * (3.0 * rate) ** 2 * np.sin(angle),
        "effort": 5.0 * np.cos(2.0 * angle),
    }
    header = ["time", *(f"{name}/{part}" for part in columns for name in model.joint_names)]
    table = np.hstack([steps, *columns.values()])
    lines = [",".join(map(repr, row)) for row in table.tolist()]
    path = Path(f"{arm}-{rows}.csv")
    path.write_text("\n".join([",".join(header), *lines]) + "\n")
    return path


def _command_line(command: str, inputs: str, arm: str, motion: Path, count: int) -> list[str]:
    """The words of a command, or none where the command does not read as many states."""
    verb, *flags = command.split()
    if verb in (RECORDING_ONLY if count == 1 else ONE_STATE_ONLY):
        return []
    if verb == "jacobian":
        flags += ["--frame", load(arm).link_names[-1]]
    if load(arm).loops and command not in KEEP_LOOPS:
        flags += ["--open-loops"]
    states = _state_flags(motion, inputs) if count == 1 else ["--trajectory", motion.name]
    return [verb, arm, *states, *flags]


def _state_flags(motion: Path, inputs: str) -> list[str]:
    """The first row of a recording as flags."""
    header, row = (line.split(",") for line in motion.read_text().splitlines()[:2])
    values = dict(zip(header, row, strict=True))
    flags = []
    for word in inputs.split():
        columns = [column for column in header if column.endswith(f"/{PARTS[word]}")]
        assignments = [f"{column.split('/')[0]}={values[column]}" for column in columns]
        flags += [f"--{word}", ",".join(assignments)]
    return flags


def _hashes_of(name: str, line: list[str], format_name: str) -> Iterator[tuple[str, str]]:
    target = Path(f"result.{format_name}")
    with open(os.devnull, "w") as nowhere, redirect_stdout(nowhere), redirect_stderr(nowhere):
        code = run_command([*line, "-o", str(target), "--quiet"])
    if code != 0:
        yield name, f"exit {code}"
        return
    yield name, hashlib.sha256(target.read_bytes()).hexdigest()
    if format_name == "npz":
        with ZipFile(target) as archive:
            for member in archive.namelist():
                yield f"{name}:{member}", hashlib.sha256(archive.read(member)).hexdigest()
    for path in Path().glob("result.*"):
        path.unlink()


def differences(before: dict[str, str], after: dict[str, str]) -> list[str]:
    """One line for each result that changed, appeared or is missing."""
    names = sorted({*before, *after})
    return [
        f"{name}: {before.get(name, 'absent')[:12]} -> {after.get(name, 'absent')[:12]}"
        for name in names
        if before.get(name) != after.get(name)
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("file", type=Path, help="JSON file with one hash per result")
    parser.add_argument("--compare", action="store_true", help="compare with FILE")
    options = parser.parse_args()
    hashes = frozen()
    if not options.compare:
        options.file.write_text(json.dumps(hashes, indent=1, sort_keys=True) + "\n")
        print(f"{len(hashes)} hashes of {len(ARMS)} arms written to {options.file}")
        return 0
    changed = differences(json.loads(options.file.read_text()), hashes)
    print("\n".join([*changed, f"{len(changed)} of {len(hashes)} hashes differ"]))
    return 1 if changed else 0


if __name__ == "__main__":
    sys.exit(main())
