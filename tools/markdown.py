"""Fenced blocks and links of the documentation pages."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"

_FENCE = re.compile(r"^(`{3,})(\w*)\s*$")
_MARK = re.compile(r"^<!-- (.+?) -->\s*$")
_LINK = re.compile(r"\[[^\]]*\]\(([^()\s]+)\)")


@dataclass(frozen=True)
class Block:
    """A fenced block: language, text, first line, and the mark above it."""

    page: Path
    line: int
    language: str
    text: str
    mark: str = ""

    def __str__(self) -> str:
        return f"{self.page.name}:{self.line}"


def pages() -> list[Path]:
    """README and docs pages that exist."""
    return [page for page in (ROOT / "README.md", *sorted(DOCS.rglob("*.md"))) if page.exists()]


def blocks(page: Path) -> Iterator[Block]:
    """The fenced blocks of a page in order."""
    mark, opened = "", None
    inside: list[str] = []
    for number, line in enumerate(page.read_text("utf-8").splitlines(), start=1):
        fence = _FENCE.match(line)
        if opened:
            if fence and fence[1] == opened[0] and not fence[2]:
                text = "\n".join(inside) + "\n"
                yield Block(page, opened[2], opened[1], text, mark)
                mark, opened = "", None
            else:
                inside.append(line)
        elif fence:
            opened, inside = (fence[1], fence[2], number + 1), []
        elif match := _MARK.match(line):
            mark = match[1]
        elif line.strip():
            mark = ""
    assert not opened, f"{page.name}: the block opened before line {opened[2]} is never closed"


def examples(page: Path, language: str) -> list[Block]:
    """Blocks of a language that can be run here."""
    matching = (block for block in blocks(page) if block.language == language)
    return [block for block in matching if not block.mark.startswith("command:")]


def given_files(page: Path) -> dict[str, str]:
    """Files for the commands of a page: blocks marked `given: NAME`."""
    marked = (block for block in blocks(page) if block.mark.startswith("given: "))
    return {block.mark.removeprefix("given: "): block.text for block in marked}


def links(page: Path) -> Iterator[tuple[int, str]]:
    """Every link outside fenced blocks, with its line."""
    for number, line in _prose(page):
        for link in _LINK.findall(line):
            yield number, link


def anchors(page: Path) -> set[str]:
    """Anchor names of the headings of a page."""
    return {_slug(line.lstrip("#").strip()) for _, line in _prose(page) if line.startswith("#")}


def _prose(page: Path) -> Iterator[tuple[int, str]]:
    """The lines outside fenced blocks, with their numbers."""
    fenced = {
        line
        for block in blocks(page)
        for line in range(block.line, block.line + block.text.count("\n"))
    }
    for number, line in enumerate(page.read_text("utf-8").splitlines(), start=1):
        if number not in fenced:
            yield number, line


def _slug(heading: str) -> str:
    """Anchor of a heading: lower case, words joined by hyphens, no punctuation."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def cell(text: str) -> str:
    """Text for a table cell, with angle brackets and bars escaped."""
    return text.replace("<", "&lt;").replace(">", "&gt;").replace("|", "\\|")
