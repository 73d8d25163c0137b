"""Run a robolin command with a sampling profiler and report its time by stage.

usage: python -m benchmarks.stages REPORT.json VERB ARM [OPTIONS]

Each sample records the current function of every thread.  A thread counts for its innermost
robolin function, unless it waits for another thread.  Threads run in parallel, so shares refer to
the elapsed time and may add up to more than one.
"""

from __future__ import annotations

import json
import sys
import threading
from collections import Counter
from pathlib import Path
from types import FrameType

PACKAGE = Path(__file__).resolve().parents[1] / "robolin"
INTERVAL = 0.003

# functions in which a thread waits for another one
WAITING = {"threading.py", "queue.py", "_base.py", "thread.py", "selectors.py"}

# functions that pass work between threads, which count as waiting
HANDING_ON = ("core/threads.py",)

READING = "reading: text to numbers"

# prefix of a location -> stage; the first match counts
STEPS = (
    ("io/trajectories/", READING),
    ("engine/csv_scanner.py", READING),
    ("engine/", "computing"),
    ("evaluation/", "computing"),
    ("api/", "computing"),
    ("io/provenance.py:Digests", "SHA-256 of every array"),
    ("io/formats/npz_writer.py:crc", "CRC-32 of every member"),
    ("io/formats/npz_writer.py", "copying bytes to the file system"),
    ("io/formats/csv_writer.py", "writing: numbers to text"),
    ("io/formats/parquet_writer.py", "writing: compressing columns"),
    ("io/formats/csv_", READING),
    ("io/formats/line_reader.py", READING),
    ("io/formats/parquet_", "reading: columns"),
    ("io/formats/npz_reader.py", "reading: arrays"),
    ("io/atomic.py", "waiting for the disk"),
    ("cli/", "start-up, imports, distribution of rows"),
)
OTHER = "start-up, imports, distribution of rows"


def main() -> int:
    report, *arguments = sys.argv[1:]
    looks: Counter[str] = Counter()
    done = threading.Event()
    watcher = threading.Thread(target=_watch, args=(looks, done), daemon=True)
    watcher.start()
    from robolin.cli.main import main as robolin

    code = robolin(arguments)
    done.set()
    watcher.join()
    Path(report).write_text(json.dumps(_shares(looks)), encoding="utf-8")
    return code


def _watch(looks: Counter[str], done: threading.Event) -> None:
    own, main_thread = threading.get_ident(), threading.main_thread().ident
    while not done.wait(INTERVAL):
        looks["all"] += 1
        for thread, frame in sys._current_frames().items():
            if thread != own and not _waits(frame):
                location = _location(frame)
                if location.startswith(HANDING_ON):
                    continue
                if location or thread == main_thread:
                    looks[location or "outside"] += 1


def _waits(frame: FrameType) -> bool:
    return Path(frame.f_code.co_filename).name in WAITING


def _location(frame: FrameType | None) -> str:
    """package/file.py:function of the innermost robolin frame."""
    while frame is not None:
        path = Path(frame.f_code.co_filename)
        if path.is_relative_to(PACKAGE):
            return f"{path.relative_to(PACKAGE).as_posix()}:{frame.f_code.co_qualname}"
        frame = frame.f_back
    return ""


def _shares(looks: Counter[str]) -> dict[str, dict[str, float]]:
    total = max(looks.pop("all", 0), 1)
    steps: Counter[str] = Counter()
    for location, times in looks.items():
        steps[next((step for start, step in STEPS if location.startswith(start)), OTHER)] += times
    return {
        "steps": {step: times / total for step, times in steps.most_common()},
        "functions": {location: times / total for location, times in looks.most_common(12)},
    }


if __name__ == "__main__":
    sys.exit(main())
