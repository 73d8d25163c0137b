"""Run a robolin command and say where its time went, by looking at it a few hundred times a second.

usage: python -m benchmarks.stages REPORT.json VERB ARM [OPTIONS]

Each look counts for the innermost function of robolin that the main thread is in.
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

# the room of the package -> the step of the work
STEPS = {
    "trajectory": "reading",
    "engine": "computing",
    "evaluate": "computing",
    "api": "computing",
    "algebra": "computing",
    "dynamics": "computing",
    "output": "writing",
}


def main() -> int:
    report, *arguments = sys.argv[1:]
    looks: Counter[str] = Counter()
    done = threading.Event()
    watcher = threading.Thread(
        target=_watch, args=(threading.get_ident(), looks, done), daemon=True
    )
    watcher.start()
    from robolin.cli.main import main as robolin

    code = robolin(arguments)
    done.set()
    watcher.join()
    Path(report).write_text(json.dumps(_shares(looks)), encoding="utf-8")
    return code


def _watch(thread: int, looks: Counter[str], done: threading.Event) -> None:
    while not done.wait(INTERVAL):
        frame = sys._current_frames().get(thread)
        looks[_place(frame)] += 1


def _place(frame: FrameType | None) -> str:
    """room/file.py:function of the innermost frame that is robolin's."""
    while frame is not None:
        path = Path(frame.f_code.co_filename)
        if path.is_relative_to(PACKAGE):
            return f"{path.relative_to(PACKAGE).as_posix()}:{frame.f_code.co_qualname}"
        frame = frame.f_back
    return ""


def _shares(looks: Counter[str]) -> dict[str, dict[str, float]]:
    total = max(looks.total(), 1)
    steps: Counter[str] = Counter()
    for place, times in looks.items():
        room = place.partition(":")[0].partition("/")[0].removesuffix(".py")
        steps[STEPS.get(room, "starting and the rest")] += times
    return {
        "steps": {step: times / total for step, times in steps.most_common()},
        "functions": {place or "outside": times / total for place, times in looks.most_common(8)},
    }


if __name__ == "__main__":
    sys.exit(main())
