"""Documentation site: `python -m tools.site` builds docs/ into site/, strictly and offline."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

from tools.markdown import ROOT

_FILES = Path(__file__).parent / "site_files"
# search script for local pages, which the builder would load from the network
_ELSEWHERE = "https://unpkg.com/iframe-worker/shim"
_SHIM = "iframe-worker.js"


def build() -> Path:
    """Build the site; warnings of the builder are errors."""
    subprocess.run(
        [sys.executable, "-m", "zensical", "build", "--strict", "--clean"], cwd=ROOT, check=True
    )
    site = ROOT / "site"
    for file in (_SHIM, "iframe-worker-LICENSE.txt"):
        shutil.copy(_FILES / file, site / "assets" / file)
    for page in sorted(site.rglob("*.html")):
        up = "../" * (len(page.relative_to(site).parts) - 1)
        text = page.read_text("utf-8")
        page.write_text(text.replace(_ELSEWHERE, f"{up}assets/{_SHIM}"), "utf-8")
    return site


def main() -> None:
    try:
        import zensical  # noqa: F401
    except ImportError:
        sys.exit("the site needs what `pip install -e '.[docs]'` brings")
    build()


if __name__ == "__main__":
    main()
