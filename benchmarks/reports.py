"""Reports about a long motion: time to write, size, and response time.

The page is opened in Chromium, if available.  It is interactive once its script has finished;
a new time is shown when two frames have been drawn after a move of the slider.
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
# size budget of a page, and per number that it shows
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
    """Seconds to write a page, its bytes and its size budget, and seconds until it responds."""
    rows, rounds = (2_000, 1) if effort.quick else (100_000, ROUNDS)
    with TemporaryDirectory() as temporary:
        folder = Path(temporary)
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
    match = _DATA.search(page.read_text("utf-8"))
    assert match is not None, "a page has its data"
    return int(json.loads(match[1])["count"])


def _opened(page: Path, rounds: int) -> dict[str, Any]:
    """Seconds in a browser, empty without a browser."""
    try:
        from playwright.sync_api import Error, sync_playwright
    except ImportError:
        return {}
    browser_path = shutil.which("chromium") or shutil.which("google-chrome")
    ready, moved = [], []
    with sync_playwright() as started:
        try:
            browser = started.chromium.launch(executable_path=browser_path, args=["--no-sandbox"])
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
