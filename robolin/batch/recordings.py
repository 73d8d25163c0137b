"""Recordings given by file, pattern or folder, in a reproducible order."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import PurePath

from robolin.errors import FileError, UsageError
from robolin.io.format_table import (
    RECORDINGS,
    base_name,
    extensions,
    format_named,
    is_stored,
    recordings_in_folder,
    require_utf8_name,
    split_files,
    split_part,
    trajectory_formats,
    uncompressed_name,
)
from robolin.io.stores.objects import list_objects
from robolin.io.trajectories.open_table import TEXT_ENDINGS, is_other_programs


@dataclass(frozen=True)
class NamedRecording:
    """A file to read, and its name among the others."""

    path: str
    name: str


def names_several(text: str) -> bool:
    """True if a text is a pattern or a folder of recordings."""
    if is_stored(text):
        return text.endswith("/") or glob.has_magic(text)
    if os.path.isdir(text):
        return not is_other_programs(text) or len(recordings_in_folder(text)) > 1
    return glob.has_magic(text) and not os.path.exists(text)


def recording_paths(source: str | os.PathLike[str]) -> list[str]:
    """Paths of all recordings of a pattern, a folder or a LeRobot dataset.

    Args:
        source: a pattern such as 'logs/**/*.csv', a folder, a dataset, or one recording

    Returns:
        each recording once, for `States(trajectory=…)`; those of a folder or pattern sorted by
        name, the episodes of a dataset in order ('dataset/:0', 'dataset/:1', …)

    Raises:
        FileError: a pattern, folder or dataset without recordings

    Example:
        >>> arm = robolin.load("two-link")
        >>> fall = robolin.answer(arm, robolin.Question("simulate", duration=0.1, dt=0.01))
        >>> robolin.write(fall, "fall.csv")
        >>> for path in robolin.recording_paths("fall*.csv"):
        ...     print(path, robolin.answer(arm, "inverse", robolin.States(trajectory=path)))
        fall.csv <Result of inverse: tau (11, 2) [N·m]>
    """
    return [each.path for each in recordings([os.fspath(source)])]


def recordings(texts: Sequence[str], left_out: Collection[str] = ()) -> tuple[NamedRecording, ...]:
    """All named files once: in the given order, those of a pattern or folder sorted by name.

    Names are paths relative to the common folder; a part of a bag or dataset is treated as a file
    inside it.

    left_out: files that patterns and folders skip, as returned by `real_name`
    """
    paths = list(dict.fromkeys(path for text in texts for path in _paths(text, left_out)))
    for path in paths:
        require_utf8_name(path)
    if "-" in paths and len(paths) > 1:
        hint = "name the files, or pipe all rows as one recording"
        raise UsageError("cannot be used with other recordings", where="--trajectory -", hint=hint)
    full_paths = [_with_part(path) for path in paths]
    root = os.path.commonpath([os.path.dirname(path) for path in full_paths])
    named = [PurePath(os.path.relpath(path, root)).as_posix() for path in full_paths]
    return tuple(map(NamedRecording, paths, named))


def _with_part(path: str) -> str:
    """Path of a recording with its part: 'set/3' for 'set/:3', 'run.mcap/arm' for 'run.mcap:/arm'.

    Object stores are treated as additional folders.
    """
    if is_stored(path):
        return f"/{path.replace('://', ':/', 1)}"
    if len(files := split_files(path)) > 1:
        return os.path.join(os.path.dirname(_with_part(files[0])), base_name(path))
    base, part = split_part(path)
    below = [word for word in part.split("/") if word not in ("", ".", "..")]
    return os.path.join(os.path.abspath(base), *below)


def real_name(path: str) -> str:
    """Resolved path of a file, the same through all symbolic links."""
    return path if is_stored(path) else os.path.realpath(path)


def _paths(text: str, left_out: Collection[str]) -> list[str]:
    if not names_several(text):
        return [text]
    matches = _match_in_store(text) if is_stored(text) else _match_on_disk(text)
    if left_out:
        matches = [path for path in matches if real_name(path) not in left_out]
    if not matches:
        raise _none_found(text)
    return matches if os.path.isdir(text) and is_other_programs(text) else sorted(matches)


def _match_on_disk(text: str) -> list[str]:
    """Files that match a pattern, also in matching folders, or files directly in a folder."""
    folder = os.path.isdir(text)
    if folder and (parts := recordings_in_folder(text)):
        return parts
    matches = glob.glob(os.path.join(glob.escape(text), "*") if folder else text, recursive=True)
    files = [path for path in matches if _is_recording(path)]
    for path in matches:
        if not folder and names_several(path):
            files += _match_on_disk(path)
    return files


def _match_in_store(text: str) -> list[str]:
    """Objects that match a pattern, or objects directly below a name that ends in /."""
    begin = re.split(r"[*?[]", text, maxsplit=1)[0]
    pattern = f"{text}*".split("/") if text.endswith("/") else text.split("/")
    files = [url for url in list_objects(begin) if _matches(url.split("/"), pattern)]
    return [url for url in files if _is_recording(url)]


def _matches(names: Sequence[str], pattern: Sequence[str]) -> bool:
    """Match names as on a disk: ** is any number of them, a leading dot must be explicit."""
    if not pattern:
        return not names
    if pattern[0] == "**":
        return any(_matches(names[i:], pattern[1:] or ["*"]) for i in range(len(names) + 1))
    if not names or (names[0].startswith(".") and not pattern[0].startswith(".")):
        return False
    return fnmatchcase(names[0], pattern[0]) and _matches(names[1:], pattern[1:])


def _none_found(text: str) -> FileError:
    hint = (
        "check the path; recordings end in "
        f"{extensions([*trajectory_formats(), *RECORDINGS], ', ')}"
    )
    return FileError("no recording found", where=f"--trajectory={text}", hint=hint)


def _is_recording(path: str) -> bool:
    if not is_stored(path) and os.path.isdir(path):
        return not names_several(path)
    name = uncompressed_name(path).lower()
    known = (*trajectory_formats(), *RECORDINGS)
    return name.endswith(TEXT_ENDINGS) or format_named(name) in known


def require_outside(folder: str, named: Sequence[NamedRecording]) -> None:
    """Reject recordings inside the output folder: the next run would read its results."""
    for recording in recordings_inside(folder, named):
        message = f"the recording '{recording.path}' is in the output folder"
        raise UsageError(message, where=folder, hint="write to another folder")


def recordings_inside(folder: str, named: Sequence[NamedRecording]) -> Iterator[NamedRecording]:
    """Recordings in a folder or below it."""
    root = real_name(folder).rstrip("/")
    for recording in named:
        if is_stored(recording.path) == is_stored(folder):
            path = real_name(recording.path)
            if path.startswith((f"{root}/", f"{root}{os.sep}")):
                yield recording
