"""python -m benchmarks.recordings: time to read a motion, by format.

CPU seconds, the minimum over several rounds of all formats, so that other load affects all formats
equally.
"""

from __future__ import annotations

import argparse
import gzip
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from robolin.io.trajectories.read import open_trajectory
from tests.ros_bags import Motion, write_bag, write_bag2

JOINTS = tuple(f"joint{i}" for i in range(1, 8))


def motion(rows: int) -> Motion:
    """Rows of seven joints, one millisecond apart."""
    q, qd = np.random.default_rng(0).uniform(-3, 3, (2, rows, len(JOINTS)))
    stamps = 1_700_000_000_000_000_001 + 1_000_000 * np.arange(rows)
    return Motion(stamps, q, qd, JOINTS)


def written(folder: Path, rows: int) -> dict[str, Path]:
    """The same motion in every format."""
    moved = motion(rows)
    names = [f"{joint}/{word}" for word in ("position", "velocity") for joint in JOINTS]
    lines = [",".join(["time", *names])]
    values = np.c_[moved.q, moved.qd].tolist()
    lines += [",".join([repr(0.001 * i), *map(repr, row)]) for i, row in enumerate(values)]
    plain = folder / "m.csv"
    plain.write_text("\n".join(lines) + "\n")
    packed = folder / "m.csv.gz"
    packed.write_bytes(gzip.compress(plain.read_bytes(), 6))
    np.savez(folder / "m.npz", q=moved.q, qd=moved.qd, time=moved.time, joints=np.array(JOINTS))
    return {
        "csv": plain,
        "csv.gz": packed,
        "npz": folder / "m.npz",
        "mcap": write_bag2(folder / "m", moved, ".mcap"),
        "mcap zstd": write_bag2(folder / "z", moved, ".mcap", "storage"),
        "db3": write_bag2(folder / "d", moved, ".db3"),
        "ROS 1 bag": write_bag(folder / "m.bag", moved),
    }


def seconds(path: Path) -> tuple[float, float]:
    """CPU time and elapsed time for reading all rows in chunks, as a command does."""
    used, passed = time.process_time(), time.perf_counter()
    with open_trajectory(path, JOINTS, ("q",), ("qd",)) as stream:
        assert sum(chunk.rows for chunk in stream.chunks())
    return time.process_time() - used, time.perf_counter() - passed


def main() -> None:
    """Print the results of every format."""
    parser = argparse.ArgumentParser(prog="benchmarks.recordings", description=__doc__)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--turns", type=int, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        files = written(Path(temporary), options.rows)
        turns = [
            {name: seconds(path) for name, path in files.items()} for _ in range(options.turns)
        ]
    best = {name: [min(t[name][i] for t in turns) for i in (0, 1)] for name in files}
    for name, (used, passed) in best.items():
        ratio = used / best["csv"][0]
        sys.stdout.write(f"{name:10} {used:7.3f} s CPU {passed:7.3f} s  {ratio:5.2f} x csv\n")


if __name__ == "__main__":
    main()
