"""The arms that come with robolin: their names, files, and where their figures are from."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

SUFFIXES = (".urdf", ".yaml")
HEADER_KEYS = ("title", "source", "licence", "options", "notes")

# enough for any header; the figures below it are not needed to tell what the file is
_HEADER_BYTES = 16_384


@dataclass(frozen=True, slots=True)
class About:
    """What a bundled file says of itself in its header comment; '' where it says nothing."""

    name: str
    title: str = ""
    source: str = ""
    licence: str = ""
    options: str = ""
    notes: str = ""


def bundled_names() -> tuple[str, ...]:
    """The bare names of the bundled arms, sorted."""
    return tuple(sorted(_files_in(_folder())))


def bundled_path(name: str) -> Path | None:
    """The file of a bundled arm, None if there is none of that name."""
    return _files_in(_folder()).get(name)


def bundled_about(path: Path) -> About:
    """The header of a bundled file: `key: value` lines, a line without a key goes on the last."""
    entries: dict[str, list[str]] = {}
    key = ""
    for line in _header(path):
        word, colon, rest = line.partition(":")
        if colon and word.strip() in HEADER_KEYS:
            key, line = word.strip(), rest
        if key and line.strip():
            entries.setdefault(key, []).append(line.strip())
    return About(path.stem, **{key: " ".join(lines) for key, lines in entries.items()})


@cache
def _files_in(folder: Path) -> dict[str, Path]:
    return {path.stem: path for path in folder.glob("*") if path.suffix in SUFFIXES}


def _folder() -> Path:
    """Beside the package's modules once installed, at the top of a source checkout otherwise."""
    package = Path(__file__).parents[1]
    installed = package / "models"
    return installed if installed.is_dir() else package.parent / "models"


def _header(path: Path) -> list[str]:
    """The lines of the first XML comment, or of the comment that a YAML file starts with."""
    with path.open("rb") as stream:
        text = stream.read(_HEADER_BYTES).decode("utf-8", "replace")
    if path.suffix == ".urdf":
        return text.partition("<!--")[2].partition("-->")[0].splitlines()
    lines = text.splitlines()
    end = next((i for i, line in enumerate(lines) if not line.startswith("#")), len(lines))
    return [line.removeprefix("#") for line in lines[:end]]
