"""A folder of generated files: complete or absent, and never at the cost of somebody's work.

The first line of every file says that robolin made it, with a digest of the rest: a file that was
changed since, or that robolin did not make, is never replaced.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Mapping
from hashlib import sha256
from pathlib import Path

from robolin.errors import FileError
from robolin.io.atomic import new_name, put_in_place, remove_leftovers, replacing_all

_MARK = "made by robolin generate, SHA-256 of the rest"
_COMMENTS = {".c": ("/* ", " */"), ".h": ("/* ", " */"), ".cpp": ("// ", "")}
_COMMENTS |= {".xml": ("<!-- ", " -->"), ".m": ("% ", "")}


def file_bytes(name: str, lines: Iterable[str]) -> bytes:
    """A file with its first line."""
    rest = "".join(f"{line}\n" for line in lines).encode()
    begin, end = _COMMENTS.get(Path(name).suffix, ("# ", ""))
    return f"{begin}{_MARK}: {sha256(rest).hexdigest()}{end}\n".encode() + rest


def write_folder(folder: Path, files: Mapping[str, bytes]) -> None:
    """Put the files into the folder, which is made if it is not there."""
    try:
        if folder.exists() or folder.is_symlink():
            _require_ours(folder, files)
            _replace(folder, files)
        else:
            _make(folder, files)
    except OSError as error:
        message = f"could not write: {error.strerror or error}"
        raise FileError(message, where=str(folder), hint="choose another folder with -o") from error


def _require_ours(folder: Path, files: Mapping[str, bytes]) -> None:
    if not folder.is_dir():
        raise FileError("is a file, not a folder", where=str(folder), hint="choose another name")
    for name in files:
        there = folder / name
        if (there.exists() or there.is_symlink()) and not _is_ours(there):
            raise FileError(
                "robolin did not write this file, or it was changed since",
                where=str(there),
                hint="move it away, or choose another folder with -o",
            )
    # what builds a program has the same name for all of them
    for test in sorted(folder.glob("*_test.c")):
        if test.name not in files and _is_ours(test):
            raise FileError(
                f"another program is built here, '{test.name.removesuffix('_test.c')}'",
                where=str(folder),
                hint="choose another folder with -o: a folder has one program and its Makefile",
            )


def _is_ours(file: Path) -> bool:
    if file.is_symlink() or not file.is_file():
        return False
    first, _, rest = file.read_bytes().partition(b"\n")
    return f"{_MARK}: {sha256(rest).hexdigest()}".encode() in first


def _replace(folder: Path, files: Mapping[str, bytes]) -> None:
    with replacing_all([folder / name for name in files], put_in_place) as streams:
        for stream, content in zip(streams, files.values(), strict=True):
            stream.write(content)


def _make(folder: Path, files: Mapping[str, bytes]) -> None:
    if not folder.parent.is_dir():
        raise FileError(
            f"there is no folder '{folder.parent}' to write to",
            where=str(folder),
            hint="create it first, or check its spelling",
        )
    remove_leftovers(folder.parent)
    made = folder.parent / new_name()
    made.mkdir(mode=0o700)
    try:
        _replace(made, files)
        # a folder made for one user alone until it is complete, then as others are
        mask = os.umask(0)
        os.umask(mask)
        made.chmod(0o777 & ~mask)
        made.rename(folder)
    finally:
        shutil.rmtree(made, ignore_errors=True)
