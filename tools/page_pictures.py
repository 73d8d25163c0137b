"""Pictures of the docs that console blocks of the same page draw.

If a page shows `pictures/NAME.svg` below a console block with `-o NAME.svg`, the block draws the
picture; `python -m tools.pages` updates it.
"""

from __future__ import annotations

import re
import shutil
import xml.etree.ElementTree as ET
from pathlib import Path

from tools.markdown import DOCS

PICTURES = DOCS / "pictures"
_SHOWN = re.compile(r"!\[[^\]]+\]\((?:docs/|../)?pictures/([\w-]+\.(?:svg|png))\)")
# tick labels, which differ between versions of matplotlib
_NUMBER = re.compile(r"[-−+]?[\d.]+(?:e[-+]?\d+)?")


def pictures_of(page: Path) -> list[str]:
    """Pictures that a page shows."""
    return _SHOWN.findall(page.read_text("utf-8"))


def drawn_in(page: Path, folder: Path) -> dict[str, Path]:
    """Pictures of a page that its commands have drawn into a folder, by name."""
    return {name: folder / name for name in pictures_of(page) if (folder / name).is_file()}


def keep_pictures(page: Path, folder: Path) -> None:
    """Copy the pictures that commands of a page have drawn into the docs."""
    for name, file in drawn_in(page, folder).items():
        shutil.copy(file, PICTURES / name)


def words_of(picture: Path) -> list[str]:
    """Titles, names and units in a picture, without tick labels."""
    texts = (
        "".join(each.itertext()).strip() for each in ET.parse(picture).iter() if _is_text(each)
    )
    return [text for text in texts if not _NUMBER.fullmatch(text)]


def _is_text(element: ET.Element) -> bool:
    return element.tag.endswith("}text")
