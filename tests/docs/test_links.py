"""Links between pages lead somewhere."""

from __future__ import annotations

from pathlib import Path

from tests.cases import for_each
from tools.markdown import anchors, links, pages


@for_each("page", pages())
def test_relative_links_resolve(page: Path) -> None:
    """Every relative link names a file of the project and, after #, a heading of that page."""
    broken = [
        f"{page.name}:{line}: {link}"
        for line, link in links(page)
        if "://" not in link and not link.startswith("mailto:") and not _resolves(page, link)
    ]
    assert not broken, "\n".join(broken)


def _resolves(page: Path, link: str) -> bool:
    name, _, heading = link.partition("#")
    target = (page.parent / name).resolve() if name else page
    return target.exists() and (not heading or heading in anchors(target))
