"""Pictures of the docs that commands of the same page draw.

A page that shows `pictures/NAME.svg` below a console block with `-o NAME.svg` has the picture that
the block makes; `python -m tools.pages` draws it anew.
"""

from __future__ import annotations

import re
import shutil
import xml.etree.ElementTree as ET
from pathlib import Path

from tools.markdown import DOCS

PICTURES = DOCS / "pictures"
_SHOWN = re.compile(r"!\[[^\]]+\]\((?:docs/)?pictures/([\w-]+\.(?:svg|png))\)")
# what stands at ticks, which another version of the library that draws may put elsewhere
_NUMBER = re.compile(r"[-−+]?[\d.]+(?:e[-+]?\d+)?")


def pictures_of(page: Path) -> list[str]:
    """The pictures that a page shows."""
    return _SHOWN.findall(page.read_text("utf-8"))


def drawn_in(page: Path, folder: Path) -> dict[str, Path]:
    """Those of them that commands have just drawn into a folder, by name."""
    return {name: folder / name for name in pictures_of(page) if (folder / name).is_file()}


def keep_pictures(page: Path, folder: Path) -> None:
    """Put what commands of a page have drawn beside the docs."""
    for name, file in drawn_in(page, folder).items():
        shutil.copy(file, PICTURES / name)


def words_of(picture: Path) -> list[str]:
    """Titles, names and units in a picture, without the numbers at its axes."""
    texts = (
        "".join(each.itertext()).strip() for each in ET.parse(picture).iter() if _is_text(each)
    )
    return [text for text in texts if not _NUMBER.fullmatch(text)]


def _is_text(element: ET.Element) -> bool:
    return element.tag.endswith("}text")
