"""Recordings named one by one, by patterns and by folders, in an order that is always the same."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import PurePath

from robolin.errors import FileError, UsageError
from robolin.io.format_table import RECORDINGS, extensions, format_named, trajectory_formats
from robolin.io.paths import (
    is_stored,
    require_utf8_name,
    split_part,
    uncompressed_name,
)
from robolin.io.stores.objects import list_objects
from robolin.io.trajectories.open_table import TEXT_ENDINGS, is_other_programs


@dataclass(frozen=True)
class NamedRecording:
    """A file to be read, and what it is called among the others."""

    path: str
    name: str


def names_several(text: str) -> bool:
    """Whether a text stands for whatever files there are: a pattern, or a folder of recordings."""
    if is_stored(text):
        return text.endswith("/") or glob.has_magic(text)
    if os.path.isdir(text):
        return not is_other_programs(text)
    return glob.has_magic(text) and not os.path.exists(text)


def recordings(texts: Sequence[str], left_out: Collection[str] = ()) -> tuple[NamedRecording, ...]:
    """All files that are named, each once: as given, those of a pattern or folder by their names.

    They are called by their paths below the folder that is common to all of them, a part of a
    bag or dataset as if it were a file in it.

    left_out: what no pattern and no folder stands for, as `real_name` tells it
    """
    paths = list(dict.fromkeys(path for text in texts for path in _paths(text, left_out)))
    for path in paths:
        require_utf8_name(path)
    if "-" in paths and len(paths) > 1:
        hint = "name the files, or pipe all rows as one"
        raise UsageError("standard input goes alone", where="--trajectory -", hint=hint)
    whole = [_with_part(path) for path in paths]
    root = os.path.commonpath([os.path.dirname(path) for path in whole])
    named = [PurePath(os.path.relpath(path, root)).as_posix() for path in whole]
    return tuple(map(NamedRecording, paths, named))


def _with_part(path: str) -> str:
    """Where a recording lies; 'set/3' for 'set/:3', 'run.mcap/arm' for 'run.mcap:/arm'.

    Stores are folders beside those of this machine.
    """
    if is_stored(path):
        return f"/{path.replace('://', ':/', 1)}"
    place, part = split_part(path)
    below = [word for word in part.split("/") if word not in ("", ".", "..")]
    return os.path.join(os.path.abspath(place), *below)


def real_name(path: str) -> str:
    """Where a file lies, the same through links and other ways to it."""
    return path if is_stored(path) else os.path.realpath(path)


def _paths(text: str, left_out: Collection[str]) -> list[str]:
    if not names_several(text):
        return [text]
    found = _found_in_store(text) if is_stored(text) else _found_on_disk(text)
    if left_out:
        found = [path for path in found if real_name(path) not in left_out]
    if not found:
        raise _none_found(text)
    return sorted(found)


def _found_on_disk(text: str) -> list[str]:
    """Files that a pattern means, also in folders it finds, or those directly in a folder."""
    folder = os.path.isdir(text)
    found = glob.glob(os.path.join(glob.escape(text), "*") if folder else text, recursive=True)
    files = [path for path in found if _is_recording(path)]
    for path in found:
        if not folder and names_several(path):
            files += _found_on_disk(path)
    return files


def _found_in_store(text: str) -> list[str]:
    """Objects that a pattern means, or those directly below a name that ends in /."""
    begin = re.split(r"[*?[]", text, maxsplit=1)[0]
    meant = f"{text}*".split("/") if text.endswith("/") else text.split("/")
    files = [url for url in list_objects(begin) if _is_meant(url.split("/"), meant)]
    return [url for url in files if _is_recording(url)]


def _is_meant(names: Sequence[str], pattern: Sequence[str]) -> bool:
    """Whether names match as they do on a disk: ** is any number of them, a dot has to be said."""
    if not pattern:
        return not names
    if pattern[0] == "**":
        return any(_is_meant(names[i:], pattern[1:] or ["*"]) for i in range(len(names) + 1))
    if not names or (names[0].startswith(".") and not pattern[0].startswith(".")):
        return False
    return fnmatchcase(names[0], pattern[0]) and _is_meant(names[1:], pattern[1:])


def _none_found(text: str) -> FileError:
    hint = f"recordings end in {extensions([*trajectory_formats(), *RECORDINGS], ', ')}"
    return FileError("there is no recording of this name", where=f"--trajectory={text}", hint=hint)


def _is_recording(path: str) -> bool:
    if not is_stored(path) and os.path.isdir(path):
        return not names_several(path)
    name = uncompressed_name(path).lower()
    known = (*trajectory_formats(), *RECORDINGS)
    return name.endswith(TEXT_ENDINGS) or format_named(name) in known


def require_outside(folder: str, found: Sequence[NamedRecording]) -> None:
    """Refuse recordings inside the folder that results go to: the next run would read those."""
    for recording in recordings_inside(folder, found):
        message = f"the recording '{recording.path}' lies in the folder that results go to"
        raise UsageError(message, where=folder, hint="write to another folder")


def recordings_inside(folder: str, found: Sequence[NamedRecording]) -> Iterator[NamedRecording]:
    """The recordings that lie in a folder, or in one below it."""
    root = real_name(folder).rstrip("/")
    for recording in found:
        if is_stored(recording.path) == is_stored(folder):
            path = real_name(recording.path)
            if path.startswith((f"{root}/", f"{root}{os.sep}")):
                yield recording
