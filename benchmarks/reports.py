"""Pages about a long motion: how long one takes to write, how large it is, how soon it answers.

The page is opened in Chromium where there is one; it is interactive when its program has run to
the end, and an instant is shown when two frames have been drawn after the slider moved.
"""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.commands import ROBOLIN, Run, watched
from benchmarks.motion_models import write_swing
from benchmarks.timing import Effort, progress, spread

ROUNDS = 5
# what a page may take, and what for every number that it shows
BUDGET, PER_NUMBER = 150_000, 16 / 3
_DATA = re.compile(r'<script type="application/json" id="data">(.*?)</script>', re.DOTALL)
_READY = "performance.getEntriesByType('navigation')[0].domInteractive"
_MOVED = """async () => {
    const start = performance.now(), frame = () => new Promise(requestAnimationFrame);
    robolinReport.choose(300);
    await frame(); await frame();
    return performance.now() - start;
}"""


def measured(effort: Effort) -> dict[str, Any]:
    """Seconds to write a page, its bytes beside its budget, and seconds until it answers."""
    rows, rounds = (2_000, 1) if effort.quick else (100_000, ROUNDS)
    with TemporaryDirectory() as place:
        folder = Path(place)
        progress(f"writing a motion of {rows} rows")
        write_swing(folder / "swing.csv", rows)
        write_swing(folder / "few.csv", 100)
        _written(folder, "few.csv")
        runs = [_written(folder, "swing.csv") for _ in range(rounds)]
        page = folder / "page.html"
        size, numbers = page.stat().st_size, _count(page)
        opened = _opened(page, rounds)
    return {
        "arm": "panda",
        "rows": rows,
        "seconds": asdict(spread([run.seconds for run in runs])),
        "processor seconds": asdict(spread([run.processor_seconds for run in runs])),
        "peak bytes": max(run.memory for run in runs),
        "page bytes": size,
        "numbers": numbers,
        "of budget": size / (BUDGET + PER_NUMBER * numbers),
        **opened,
    }


def _written(folder: Path, source: str) -> Run:
    progress(f"report of {source}")
    words = ["report", "panda", "--trajectory", source, "-q", "-o", "page.html"]
    return watched([*ROBOLIN, *words], folder)


def _count(page: Path) -> int:
    found = _DATA.search(page.read_text("utf-8"))
    assert found is not None, "a page has its data"
    return int(json.loads(found[1])["count"])


def _opened(page: Path, rounds: int) -> dict[str, Any]:
    """Seconds in a browser, nothing where there is none."""
    try:
        from playwright.sync_api import Error, sync_playwright
    except ImportError:
        return {}
    place = shutil.which("chromium") or shutil.which("google-chrome")
    ready, moved = [], []
    with sync_playwright() as started:
        try:
            browser = started.chromium.launch(executable_path=place, args=["--no-sandbox"])
        except Error:
            return {}
        for _ in range(rounds):
            tab = browser.new_page()
            tab.goto(page.as_uri())
            ready.append(tab.evaluate(_READY) / 1000)
            moved.append(tab.evaluate(_MOVED) / 1000)
            tab.close()
        browser.close()
    return {"interactive": asdict(spread(ready)), "instant": asdict(spread(moved))}
