"""The picture of a report in the docs: a page in Chromium, at one time of its motion.

`python -m tools.report_picture` takes the picture; it needs the packages of
`pip install -e '.[browser-test]'` and Chromium.  Browsers render text differently, so no test
compares it.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from tempfile import TemporaryDirectory

from tools.console_blocks import environment, printed
from tools.page_pictures import PICTURES

COMMANDS = (
    "robolin simulate panda --q home --control computed-torque --kp 16 "
    "--goal panda_joint1=20deg,panda_joint2=30deg,panda_joint4=-120deg,panda_joint6=90deg "
    "--duration 2 --every 10 -o motion.csv",
    "robolin report panda --trajectory motion.csv -o report.html",
)
INSTANT, WIDTH, HEIGHT = 40, 1280, 1080


def main() -> None:
    from playwright.sync_api import sync_playwright

    with TemporaryDirectory() as name, sync_playwright() as started:
        folder = Path(name)
        for command in COMMANDS:
            printed(command, folder, environment(folder))
        browser_path = shutil.which("chromium") or shutil.which("google-chrome")
        browser = started.chromium.launch(executable_path=browser_path, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT})
        page.goto((folder / "report.html").as_uri())
        page.evaluate(f"robolinReport.curves.makeAll(); robolinReport.choose({INSTANT})")
        page.screenshot(path=PICTURES / "report.png")
        browser.close()


if __name__ == "__main__":
    main()
