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
import time
import warnings
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

LARGEST_FOLDER = 64 * 1024 * 1024
_SUFFIX, _PART = ".kernel", ".part"
_DIGEST_BYTES = 32

# seconds after which a temporary file counts as abandoned: its writer was killed
ABANDONED = 3600

_warned: set[str] = set()


def folder() -> Path | None:
    """Folder of the kernels, in ROBOLIN_CACHE or the user's caches; None without a home folder."""
    cache = _absolute("ROBOLIN_CACHE")
    if cache is None:
        base = _absolute("XDG_CACHE_HOME") or ((home := _home()) and home / ".cache")
        cache = base and base / "robolin"
    return cache and cache / "kernels"


def read_kernel(key: str) -> bytes | None:
    """The kernel stored under this key; None if it is missing, damaged or not private."""
    cache = folder()
    if cache is None:
        return None
    path = cache / (key + _SUFFIX)
    try:
        inode = _private_inode(cache)
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
    cache = folder()
    try:
        if cache is None:
            raise PermissionError("the user has no home folder")
        cache.parent.mkdir(parents=True, exist_ok=True)
        cache.mkdir(mode=0o700, exist_ok=True)
        digest = _digest(_private_inode(cache), key, content)
        _write_atomically(cache / (key + _SUFFIX), digest + content)
        _remove_old_files(cache)
    except OSError as error:
        reason = error.strerror or str(error)
        where = f" in {cache}" if cache else ""
        hint = "set ROBOLIN_CACHE to a writable folder"
        _warn_once("not kept", f"compiled kernels cannot be cached{where} ({reason}); {hint}")


def _absolute(variable: str) -> Path | None:
    """Folder in an environment variable; relative paths are ignored with a warning."""
    path = os.environ.get(variable)
    if not path:
        return None
    if os.path.isabs(path):
        return Path(path)
    _warn_once(variable, f"{variable} is ignored: '{path}' is not an absolute path")
    return None


def _home() -> Path | None:
    """The user's home folder, or None; an empty HOME would mean the root folder."""
    try:
        home = Path.home()
    except RuntimeError:
        return None
    named = os.environ.get("HOME") != ""
    return home if named and home.is_absolute() and home.is_dir() else None


def _private_inode(cache: Path) -> int:
    """Inode number of the folder, which must be the user's and closed to others."""
    info = os.lstat(cache)
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


def _remove_old_files(cache: Path) -> None:
    """Remove abandoned temporary files, and the least recently used kernels beyond the limit."""
    kernels = []
    for path in cache.iterdir():
        with suppress(OSError):
            info = path.stat()
            if path.suffix == _SUFFIX:
                kernels.append((info.st_mtime, info.st_size, path))
            elif path.suffix == _PART and time.time() - info.st_mtime > ABANDONED:
                path.unlink()
    total = sum(size for _, size, _ in kernels)
    for _, size, path in sorted(kernels):
        if total <= LARGEST_FOLDER:
            return
        with suppress(OSError):
            path.unlink()
        total -= size


def _warn_once(what: str, message: str) -> None:
    """Warn once per kind of problem."""
    if what not in _warned:
        _warned.add(what)
        warnings.warn(message, RuntimeWarning, stacklevel=2)
