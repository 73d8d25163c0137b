"""Documentation site: `python -m tools.site` builds docs/ into site/, strictly and offline.

Formulas become MathML, which browsers display without scripts and fonts.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from html import unescape
from pathlib import Path

from tools.markdown import ROOT
from tools.playground import write_playground

_FILES = Path(__file__).parent / "site_files"
# search script for local pages, which the builder would load from the network
_ELSEWHERE = "https://unpkg.com/iframe-worker/shim"
_SHIM = "iframe-worker.js"
_BRACKETS = re.compile(
    r"<mo>&#x0005B;</mo><mtable>((?:(?!<mtable>).)*?)</mtable><mo>&#x0005D;</mo>"
)
_BORDERS = "border: solid; border-width: 0 1px; border-radius: .3em; padding: 0 .2em"
_FORMULA = re.compile(r'<(span|div) class="arithmatex">\\[(\[](.+?)\\[)\]]</\1>', re.DOTALL)


def build(verify_states: int = 2) -> Path:
    """Build the site; warnings of the builder are errors.

    verify_states: number of states in which the reports of the playground verify the robot
    """
    subprocess.run(
        [sys.executable, "-m", "zensical", "build", "--strict", "--clean"], cwd=ROOT, check=True
    )
    site = ROOT / "site"
    for file in (_SHIM, "iframe-worker-LICENSE.txt"):
        shutil.copy(_FILES / file, site / "assets" / file)
    pages = sorted(site.rglob("*.html"))
    for name in write_playground(site, verify_states):
        print(f"playground/{name}.html")
    for page in pages:
        up = "../" * (len(page.relative_to(site).parts) - 1)
        text = page.read_text("utf-8").replace(_ELSEWHERE, f"{up}assets/{_SHIM}")
        page.write_text(_FORMULA.sub(_mathml, text), "utf-8")
    return site


def _mathml(formula: re.Match[str]) -> str:
    """A formula as MathML: inline in a span, displayed in a div."""
    from latex2mathml.converter import convert

    display = "inline" if formula[1] == "span" else "block"
    text = str(convert(unescape(formula[2]), display=display))
    # brackets that grow with the matrix need a font for formulas, which many systems lack
    return _BRACKETS.sub(rf'<mtable style="{_BORDERS}">\1</mtable>', text)


def main() -> None:
    try:
        import latex2mathml  # noqa: F401
        import zensical  # noqa: F401
    except ImportError:
        sys.exit("the site needs what `pip install -e '.[docs]'` brings")
    build()


if __name__ == "__main__":
    main()
