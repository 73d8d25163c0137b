"""Disk cache of compiled kernels: a private folder, atomic writes, bounded size.

Machine code is loaded only from the folder `kernels` that robolin creates in the cache: a real
folder of the user that no other user may enter.  A cache file starts with a digest of that folder's
inode number, the file's name and its content.  Damaged files are compiled again, and so are files
of a folder that was copied, unpacked or checked out from elsewhere.
"""

from __future__ import annotations

import os
import stat
import tempfile
import warnings
from contextlib import suppress
from functools import cache
from hashlib import sha256
from pathlib import Path

LARGEST_FOLDER = 64 * 1024 * 1024
_SUFFIX, _PART = ".kernel", ".part"
_DIGEST_BYTES = 32


def folder() -> Path | None:
    """Folder of the kernels, in ROBOLIN_CACHE or the user's caches; None without a home folder."""
    # an empty HOME would mean the root folder
    home = os.path.expanduser("~") if os.environ.get("HOME") != "" else ""
    for variable, path, below in (
        ("ROBOLIN_CACHE", os.environ.get("ROBOLIN_CACHE"), ""),
        ("XDG_CACHE_HOME", os.environ.get("XDG_CACHE_HOME"), "robolin"),
        ("HOME", home if os.path.isdir(home) else "", ".cache/robolin"),
    ):
        if path and os.path.isabs(path):
            return Path(path, below, "kernels")
        if path:
            _warn_once(f"{variable} is ignored: '{path}' is not an absolute path")
    return None


def read_kernel(key: str) -> bytes | None:
    """The kernel stored under this key; None if it is missing, damaged or not private."""
    kernels = folder()
    if kernels is None:
        return None
    path = kernels / (key + _SUFFIX)
    try:
        inode = _private_inode(kernels)
        data = _read_own(path)
    except OSError:
        return None
    digest, content = data[:_DIGEST_BYTES], data[_DIGEST_BYTES:]
    if _digest(inode, key, content) != digest:
        return None
    with suppress(OSError):
        os.utime(path)  # mark as recently used
    return content


def write_kernel(key: str, content: bytes) -> None:
    """Store a kernel; warn once if the folder cannot be written."""
    kernels = folder()
    try:
        if kernels is None:
            raise PermissionError("the user has no home folder")
        kernels.parent.mkdir(parents=True, exist_ok=True)
        kernels.mkdir(mode=0o700, exist_ok=True)
        digest = _digest(_private_inode(kernels), key, content)
        _write_atomically(kernels / (key + _SUFFIX), digest + content)
        _remove_old_files(kernels)
    except OSError as error:
        reason = error.strerror or str(error)
        where = f" in {kernels}" if kernels else ""
        hint = "set ROBOLIN_CACHE to a writable folder"
        _warn_once(f"compiled kernels cannot be cached{where} ({reason}); {hint}")


def _private_inode(kernels: Path) -> int:
    """Inode number of the folder, which must be the user's and closed to others."""
    info = os.lstat(kernels)
    if not stat.S_ISDIR(info.st_mode):
        raise PermissionError("it is a symbolic link or a file, not a folder")
    if hasattr(os, "getuid"):
        if info.st_uid != os.getuid():
            raise PermissionError("it belongs to another user")
        if info.st_mode & 0o077:
            raise PermissionError("other users have access; run chmod 700 on it")
    return info.st_ino


def _read_own(path: Path) -> bytes:
    """Content of a regular file; the owner is checked again in case the folder was exchanged."""
    flags = (getattr(os, name, 0) for name in ("O_NOFOLLOW", "O_NONBLOCK", "O_BINARY"))
    handle = os.open(path, os.O_RDONLY | sum(flags))
    with open(handle, "rb") as stream:
        info = os.fstat(handle)
        # a file that another process has just replaced has no link left
        own = not hasattr(os, "getuid") or (info.st_uid == os.getuid() and info.st_nlink <= 1)
        if not own or not stat.S_ISREG(info.st_mode) or info.st_size > LARGEST_FOLDER:
            raise PermissionError("it is not a kernel file")
        return stream.read()


def _digest(inode: int, key: str, content: bytes) -> bytes:
    return sha256(f"{inode} {key}\n".encode() + content).digest()


def _write_atomically(path: Path, content: bytes) -> None:
    handle, part = tempfile.mkstemp(dir=path.parent, prefix=".", suffix=_PART)
    try:
        with open(handle, "wb") as stream:
            stream.write(content)
        os.replace(part, path)
    finally:
        with suppress(OSError):
            os.unlink(part)


def _remove_old_files(kernels: Path) -> None:
    """Remove the least recently used files beyond the limit, also temporary ones."""
    files = []
    for path in kernels.iterdir():
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


@cache
def _warn_once(message: str) -> None:
    warnings.warn(message, RuntimeWarning, stacklevel=2)
