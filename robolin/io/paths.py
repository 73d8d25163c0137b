"""What a path names, and whether results may be written there.

It names a file, packed or not, a part of what lies there, or an object in a store: a part as in
run.mcap:/joint_states and dataset/:3, an object as in s3://bucket/key.
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Callable, Iterable
from pathlib import Path, PurePath

from robolin.errors import UsageError
from robolin.io.format_table import format_of, with_companion

SCHEMES = ("s3", "gs", "az", "hf")
_BEGINNINGS = tuple(f"{scheme}://" for scheme in SCHEMES)
# the endings of files that are unpacked
PACKED = (".gz", ".zst")

# what a file is, whatever it is called: its device and its number there
FileIdentity = tuple[int, int]


def is_stored(path: str) -> bool:
    """Whether a path is that of an object in a store."""
    return path.startswith(_BEGINNINGS)


def split_part(path: str) -> tuple[str, str]:
    """Where the file or folder is, and which part of it is meant; '' for all of it."""
    if is_stored(path):
        return path, ""
    place, colon, part = path.rpartition(":")
    if not colon or not place or os.path.exists(path) or not os.path.exists(place):
        return path, ""
    return place, part


def place_of(path: str) -> str:
    """Where the file or folder is that a path names, or names a part of."""
    return split_part(path)[0]


def base_name(path: str) -> str:
    """What messages and results call it: the last name of the place, and the part."""
    place, part = split_part(path)
    return f"{PurePath(place).name}:{part}" if part else PurePath(path).name


def shared_name(path: str) -> str:
    """What documents that are passed on call a file: no folder outside the working directory.

    A file below the working directory keeps its path from there, as annotations of repositories
    need it; any other keeps its last name.
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
    """The text with the name of each of these paths that has folders."""
    for path in sorted({*paths}, key=len, reverse=True):
        if os.sep in path or "/" in path:
            text = text.replace(path, name(path))
    return text


def compression(path: str) -> str:
    """'.gz' or '.zst' if the path ends so, else ''."""
    suffix = PurePath(path).suffix.lower()
    return suffix if suffix in PACKED else ""


def uncompressed_name(path: str) -> str:
    """The path without the ending that says how it was compressed."""
    return path[: -len(ending)] if (ending := compression(path)) else path


def require_utf8_name(name: str) -> None:
    """Reject a file name that cannot be stored with a result."""
    try:
        name.encode()
    except UnicodeEncodeError:
        hint = "rename the file: results carry its name, as UTF-8"
        raise UsageError("the file name is not text", where=name, hint=hint) from None


def require_target(path: str, fmt: str | None) -> None:
    """Refuse a file that could not be written, before anything is computed for it."""
    format_of(path, fmt)
    if is_stored(path):
        hint = "-o FOLDER/ --part-rows N writes parts into a store; copy a file there otherwise"
        raise UsageError("one file is not written into a store", where=path, hint=hint)
    # commands without a file to write look at their inputs here too
    from robolin.io.atomic import require_writable

    require_writable(Path(path))


def require_output_is_no_input(output: str | Path | None, inputs: Iterable[str | Path]) -> None:
    """Refuse an output that is one of the inputs, so that nothing is lost that is read.

    output: a file, or None for standard output
    inputs: files, or '-' for standard input; what is no file, such as a bundled name, is passed by
    """
    targets = {found: name for name in _written(output) if (found := _identity(name, 1))}
    if not targets:
        return
    for given in inputs:
        for name in with_companion(given):
            written = targets.get(_identity(name, 0) or (-1, -1))
            if written is not None:
                raise _overwritten(written, name)


def require_outputs_are_no_inputs(
    outputs: Iterable[str | Path], inputs: Iterable[str | Path]
) -> None:
    """Refuse any of many outputs that is one of the inputs, each of which is looked at once."""
    named = (name for given in inputs for name in with_companion(given))
    read = {found: name for name in named if (found := _identity(name, 0))}
    for output in outputs:
        for name in with_companion(output):
            if (found := _identity(name, 1)) in read:
                raise _overwritten(name, read[found])


def _overwritten(written: str, read: str) -> UsageError:
    where = "standard output" if written == "-" else written
    source = "standard input" if read == "-" else f"'{read}'"
    message = f"it is the same file as {source}, which is read here"
    return UsageError(message, where=where, hint="write to another file")


def _written(output: str | Path | None) -> list[str]:
    return ["-"] if output is None else with_companion(output)


def _identity(name: str, standard: int) -> FileIdentity | None:
    """Which file it is; None for none, and for pipes and devices, which nothing overwrites."""
    try:
        found = os.fstat(_number(standard)) if name == "-" else os.stat(place_of(name))
    except (OSError, ValueError):
        return None
    return (found.st_dev, found.st_ino) if stat.S_ISREG(found.st_mode) else None


def _number(standard: int) -> int:
    """The number of standard input or output, as the process has them now."""
    stream = (sys.stdin, sys.stdout)[standard]
    if stream is None:
        raise OSError("it is closed")
    return stream.fileno()
