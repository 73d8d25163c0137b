"""Where in a TOML text a key stands: the parser that comes with Python does not say."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

Path = tuple[str | int, ...]

_TABLE = re.compile(r"^\s*(\[\[?)\s*(.+?)\s*\]\]?\s*(?:#.*)?$")
_NAME = r"""(?:[\w-]+|"[^"]*"|'[^']*')"""
_KEY = re.compile(rf"^\s*({_NAME}(?:\s*\.\s*{_NAME})*)\s*=")
_PART = re.compile(_NAME)


def line_of(text: str, path: Sequence[str | int]) -> int:
    """The line of a key, given from the top: names of tables, places in lists, its own name.

    A key inside braces is looked for from the line of what the braces belong to; 0 if nothing
    is found.
    """
    wanted = tuple(path)
    places = _all_places(text)
    if wanted in places:
        return places[wanted]
    for length in range(len(wanted) - 1, 0, -1):
        start = places.get(wanted[:length], 0)
        if start:
            name = re.compile(rf"(?<![\w-])[\"']?{re.escape(str(wanted[length]))}[\"']?\s*=")
            lines = text.splitlines()[start - 1 :]
            return next((start + i for i, line in enumerate(lines) if name.search(line)), start)
    return 0


@lru_cache(maxsize=2)
def _all_places(text: str) -> dict[Path, int]:
    return dict(_places(text))


def _places(text: str) -> Iterator[tuple[Path, int]]:
    """Every table and every key at the beginning of a line, with its line."""
    table: Path = ()
    counts: dict[Path, int] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        if found := _TABLE.match(line):
            table = _known(_names(found[2]), counts)
            if found[1] == "[[":
                counts[table] = counts.get(table, -1) + 1
                table = (*table, counts[table])
            yield table, number
        elif found := _KEY.match(line):
            yield (*table, *_names(found[1])), number


def _known(names: Path, counts: dict[Path, int]) -> Path:
    """The names with the place of the last entry behind every list among them but the last."""
    path: Path = ()
    for i, name in enumerate(names):
        path = (*path, name)
        if i < len(names) - 1 and path in counts:
            path = (*path, counts[path])
    return path


def _names(text: str) -> Path:
    return tuple(part.strip("\"'") for part in _PART.findall(text))
