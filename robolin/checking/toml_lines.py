"""Line numbers of keys in TOML text; `tomllib` does not report them."""

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
    """Line of a key; `path` holds table names, list indices and the key itself.

    A key of an inline table is searched from the line of that table. Returns 0 if not found.
    """
    keys = tuple(path)
    lines_by_key = _line_by_key(text)
    if keys in lines_by_key:
        return lines_by_key[keys]
    for length in range(len(keys) - 1, 0, -1):
        start = lines_by_key.get(keys[:length], 0)
        if start:
            name = re.compile(rf"(?<![\w-])[\"']?{re.escape(str(keys[length]))}[\"']?\s*=")
            lines = text.splitlines()[start - 1 :]
            return next((start + i for i, line in enumerate(lines) if name.search(line)), start)
    return 0


@lru_cache(maxsize=2)
def _line_by_key(text: str) -> dict[Path, int]:
    return dict(_keys_with_lines(text))


def _keys_with_lines(text: str) -> Iterator[tuple[Path, int]]:
    """Every table and every key at the start of a line, with its line number."""
    table: Path = ()
    counts: dict[Path, int] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        if match := _TABLE.match(line):
            table = _with_list_indices(_names(match[2]), counts)
            if match[1] == "[[":
                counts[table] = counts.get(table, -1) + 1
                table = (*table, counts[table])
            yield table, number
        elif match := _KEY.match(line):
            yield (*table, *_names(match[1])), number


def _with_list_indices(names: Path, counts: dict[Path, int]) -> Path:
    """The names, with the index of the current entry after every list except the last."""
    path: Path = ()
    for i, name in enumerate(names):
        path = (*path, name)
        if i < len(names) - 1 and path in counts:
            path = (*path, counts[path])
    return path


def _names(text: str) -> Path:
    return tuple(part.strip("\"'") for part in _PART.findall(text))
