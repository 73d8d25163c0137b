"""Compiled kernels on disk: complete or absent, checked before use, bounded in size.

A cache file begins with the SHA-256 of its name and what follows.  Machine code is run only from
files that belong to the user, that nobody else may write, and whose digest is right; anything
else is compiled again.
"""

from __future__ import annotations

import hashlib
import os
import stat
import tempfile
import time
import warnings
from contextlib import suppress
from pathlib import Path

LARGEST_FOLDER = 64 * 1024 * 1024
_SUFFIX = ".kernel"

# a file being written is nobody's after this many seconds: whoever wrote it was killed
_PART, ABANDONED = ".part", 3600
_DIGEST_BYTES = 32

_warned = False


def folder() -> Path:
    """ROBOLIN_CACHE, or robolin's place among the user's caches."""
    chosen = os.environ.get("ROBOLIN_CACHE")
    if chosen:
        return Path(chosen)
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "robolin"


def read(key: str) -> bytes | None:
    """The kernel stored under this key, or None if there is none to be trusted."""
    path = folder() / (key + _SUFFIX)
    try:
        if not _trusted(os.lstat(path)):
            return None
        with open(path, "rb") as stream:
            if not _trusted(os.fstat(stream.fileno())):
                return None
            data = stream.read()
    except OSError:
        return None
    digest, content = data[:_DIGEST_BYTES], data[_DIGEST_BYTES:]
    if _digest(key, content) != digest:
        return None
    with suppress(OSError):
        os.utime(path)  # the kernels used last are the last to go
    return content


def write(key: str, content: bytes) -> None:
    """Store a kernel; a folder that cannot be written is mentioned once and otherwise ignored."""
    place = folder()
    try:
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not _trusted_folder(place.stat()):
            raise PermissionError(f"others may write to {place.name}")
        handle, part = tempfile.mkstemp(dir=place, prefix=".", suffix=_PART)
        try:
            with os.fdopen(handle, "wb") as stream:
                stream.write(_digest(key, content) + content)
            os.replace(part, place / (key + _SUFFIX))
        finally:
            with suppress(OSError):
                os.unlink(part)
        _sweep(place)
        _make_room(place)
    except OSError as error:
        _warn(place, error)


def _digest(key: str, content: bytes) -> bytes:
    """Of the name as well: a sound file under another kernel's name is not that kernel."""
    return hashlib.sha256(key.encode() + content).digest()


def _trusted(info: os.stat_result) -> bool:
    return stat.S_ISREG(info.st_mode) and _trusted_folder(info)


def _trusted_folder(info: os.stat_result) -> bool:
    if not hasattr(os, "getuid"):
        return True
    return info.st_uid == os.getuid() and not info.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def _sweep(place: Path) -> None:
    """Remove what was left behind half written."""
    for path in place.glob(".*" + _PART):
        with suppress(OSError):
            if time.time() - path.stat().st_mtime > ABANDONED:
                path.unlink()


def _make_room(place: Path) -> None:
    """Forget the kernels that were not used for longest until the folder is small enough."""
    files = []
    for path in place.glob("*" + _SUFFIX):
        with suppress(OSError):
            info = path.stat()
            files.append((info.st_mtime, info.st_size, path))
    total = sum(size for _, size, _ in files)
    for _, size, path in sorted(files):
        if total <= LARGEST_FOLDER:
            return
        with suppress(OSError):
            path.unlink()
        total -= size


def _warn(place: Path, error: OSError) -> None:
    global _warned
    if not _warned:
        _warned = True
        reason = error.strerror or str(error)
        warnings.warn(
            f"compiled kernels cannot be kept in {place} ({reason}); "
            "set ROBOLIN_CACHE to a folder of yours",
            RuntimeWarning,
            stacklevel=2,
        )
