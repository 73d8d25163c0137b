"""Parts of a path, and checks that results may be written there.

A path names a file, possibly compressed, an object in a store (s3://bucket/key), a part of
a recording (run.mcap:/joint_states, dataset/:3), or several files that are one recording
(positions.csv+efforts.csv).
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path, PurePath

from robolin.errors import UsageError
from robolin.io.format_table import format_of, with_companion

SCHEMES = ("s3", "gs", "az", "hf")
_BEGINNINGS = tuple(f"{scheme}://" for scheme in SCHEMES)
# extensions of compressed files
PACKED = (".gz", ".zst")

# device and inode number, which identify a file under any name
FileIdentity = tuple[int, int]


def is_stored(path: str) -> bool:
    """Return whether a path is the URL of an object in a store."""
    return path.startswith(_BEGINNINGS)


def split_part(path: str) -> tuple[str, str]:
    """The path of the file or folder, and the part of it that is named; '' for all of it."""
    if is_stored(path):
        return path, ""
    location, colon, part = path.rpartition(":")
    if not colon or not location or os.path.exists(path) or not os.path.exists(location):
        return path, ""
    return location, part


JOIN = "+"


def split_files(path: str) -> list[str]:
    """The files of one recording, joined by +; a path without a second file is one file.

    A name may contain + itself: each of several files exists, or has an extension.
    """
    if JOIN not in path or is_stored(path) or os.path.exists(location_of(path)):
        return [path]
    files = path.split(JOIN)
    named = all(os.path.exists(location_of(each)) or PurePath(each).suffix for each in files)
    return files if named and all(files) else [path]


def location_of(path: str) -> str:
    """The path of the file or folder, without the part of it that is named."""
    return split_part(path)[0]


def base_name(path: str) -> str:
    """The name in messages and results: without folders, with the part."""
    if len(files := split_files(path)) > 1:
        return JOIN.join(map(base_name, files))
    location, part = split_part(path)
    return f"{PurePath(location).name}:{part}" if part else PurePath(path).name


def shared_name(path: str) -> str:
    """The name of a file in shared documents: no folder outside the working directory.

    A file below the working directory keeps its relative path, which annotations of repositories
    need; any other file keeps its name without folders.
    """
    if is_stored(path) or path == "-":
        return path
    if not os.path.isabs(path) and os.pardir not in PurePath(path).parts:
        return path
    inside, here = os.path.relpath(path), Path.cwd()
    if inside.startswith(os.pardir) or here == here.parent:
        return base_name(path)
    return PurePath(inside).as_posix()


def shared_text(text: str, paths: Iterable[str], name: Callable[[str], str] = shared_name) -> str:
    """Replace each of these paths in a text by its name, if the path contains folders."""
    for path in sorted({*paths}, key=len, reverse=True):
        if os.sep in path or "/" in path:
            text = text.replace(path, name(path))
    return text


def compression(path: str) -> str:
    """'.gz' or '.zst' if the path has this extension, else ''."""
    suffix = PurePath(path).suffix.lower()
    return suffix if suffix in PACKED else ""


def uncompressed_name(path: str) -> str:
    """The path without the extension of its compression."""
    return path[: -len(ending)] if (ending := compression(path)) else path


def require_utf8_name(name: str) -> None:
    """Reject a file name that cannot be stored with a result."""
    try:
        name.encode()
    except UnicodeEncodeError:
        hint = "rename the file: results store its name as UTF-8"
        raise UsageError("the file name must be valid UTF-8", where=name, hint=hint) from None


def require_target(path: str, fmt: str | None) -> None:
    """Reject a file that could not be written, before anything is computed."""
    format_of(path, fmt)
    if is_stored(path):
        hint = "write parts with -o FOLDER/ --part-rows N, or write a local file and copy it"
        raise UsageError(
            "single files in an object store are not supported as output", where=path, hint=hint
        )
    # imported late: commands without an output file use this module too
    from robolin.io.atomic import require_writable

    require_writable(Path(path))


def require_output_is_no_input(output: str | Path | None, inputs: Iterable[str | Path]) -> None:
    """Reject an output that is one of the inputs, which it would overwrite.

    output: a file, or None for standard output
    inputs: files, or '-' for standard input; names that are not files are ignored
    """
    targets = {identity: name for name in _written(output) if (identity := _identity(name, 1))}
    if not targets:
        return
    for source in _each_file(inputs):
        for name in with_companion(source):
            written = targets.get(_identity(name, 0) or (-1, -1))
            if written is not None:
                raise _overwritten(written, name)


def require_outputs_are_no_inputs(
    outputs: Iterable[str | Path], inputs: Iterable[str | Path]
) -> None:
    """Reject any of several outputs that is one of the inputs."""
    names = (name for source in _each_file(inputs) for name in with_companion(source))
    read = {identity: name for name in names if (identity := _identity(name, 0))}
    for output in outputs:
        for name in with_companion(output):
            if (identity := _identity(name, 1)) in read:
                raise _overwritten(name, read[identity])


def _each_file(paths: Iterable[str | Path]) -> Iterator[str]:
    for path in paths:
        yield from split_files(str(path))


def _overwritten(written: str, read: str) -> UsageError:
    where = "standard output" if written == "-" else written
    source = "standard input" if read == "-" else f"'{read}'"
    message = f"the output must not be the input {source}"
    return UsageError(message, where=where, hint="write to another file")


def _written(output: str | Path | None) -> list[str]:
    return ["-"] if output is None else with_companion(output)


def _identity(name: str, standard: int) -> FileIdentity | None:
    """Device and inode of a regular file; None for pipes, devices and missing files."""
    try:
        status = os.fstat(_number(standard)) if name == "-" else os.stat(location_of(name))
    except (OSError, ValueError):
        return None
    return (status.st_dev, status.st_ino) if stat.S_ISREG(status.st_mode) else None


def _number(standard: int) -> int:
    """The file descriptor of standard input or output."""
    stream = (sys.stdin, sys.stdout)[standard]
    if stream is None:
        raise OSError("it is closed")
    return stream.fileno()


def file_stamp(status: os.stat_result) -> str:
    """A text that changes when a file is modified or replaced.

    The time of the last change of the inode (ctime) is set by the system alone.  The device is not
    included, because machines that share a file system number their devices differently.
    """
    return f"{status.st_size}-{status.st_mtime_ns}-{status.st_ctime_ns}-{status.st_ino}"
