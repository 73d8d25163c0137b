"""Disk cache of compiled kernels: atomic writes, authenticated reads, bounded size.

A cache file starts with an HMAC of its name and content under a secret key of the user.  Machine
code is loaded only from files that only the user can have written and whose HMAC is valid; other
kernels are compiled again.  The key is needed because files checked out from a foreign repository
also belong to the user.

A file is trusted if it is a regular file, belongs to the user, has one hard link, and only the
user may write to it.  The same applies to every folder and symbolic link of its path, which may
also belong to root.  World-writable folders with the sticky bit, such as /tmp, are accepted,
because their entries are checked as well.
"""

from __future__ import annotations

import hmac
import os
import secrets
import stat
import tempfile
import time
import warnings
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

LARGEST_FOLDER = 64 * 1024 * 1024
_SUFFIX = ".kernel"

# seconds after which a temporary file counts as abandoned: its writer was killed
ABANDONED = 3600
_DIGEST_BYTES = 32
_KEY_BYTES = 32

_PART = ".part"
_MAX_LINKS = 40
_ROOT_UID = 0
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH

_warned: set[str] = set()


def folder() -> Path | None:
    """Cache folder: ROBOLIN_CACHE, or robolin in the user's caches; None without a home folder."""
    return _absolute("ROBOLIN_CACHE") or _of_user("XDG_CACHE_HOME", ".cache")


def key_file() -> Path | None:
    """Path of the secret key for the HMAC: in the user's settings, not in the cache."""
    config = _of_user("XDG_CONFIG_HOME", ".config")
    return config and config / "kernels.key"


def read_kernel(key: str) -> bytes | None:
    """The kernel stored under this key; None if it is missing or not trusted."""
    cache, secret = folder(), _secret()
    if cache is None or secret is None:
        return None
    path = cache / (key + _SUFFIX)
    try:
        _require_private_folder(cache)
        data = _read_private(path, LARGEST_FOLDER)
    except OSError:
        return None
    if data is None:
        return None
    digest, content = data[:_DIGEST_BYTES], data[_DIGEST_BYTES:]
    if not hmac.compare_digest(_digest(secret, key, content), digest):
        return None
    with suppress(OSError):
        os.utime(path)  # mark as recently used
    return content


def write_kernel(key: str, content: bytes) -> None:
    """Store a kernel; warn once if the folder cannot be written."""
    cache = folder()
    try:
        if cache is None:
            raise PermissionError("you have no home folder")
        secret = _secret() or _new_secret()
        cache.mkdir(mode=0o700, parents=True, exist_ok=True)
        _require_private_folder(cache)
        _write_private(cache / (key + _SUFFIX), _digest(secret, key, content) + content)
        _sweep(cache)
        _evict_lru(cache)
    except OSError as error:
        reason = error.strerror or str(error)
        where = f" in {cache}" if cache else ""
        # without a home folder, the key has no folder either
        needed = "ROBOLIN_CACHE" if key_file() else "HOME, or XDG_CONFIG_HOME and ROBOLIN_CACHE,"
        help_ = f"set {needed} to a folder of yours"
        _warn_once("not kept", f"compiled kernels cannot be kept{where} ({reason}); {help_}")


def _absolute(variable: str) -> Path | None:
    """Folder in an environment variable; relative paths are ignored with a warning."""
    path = os.environ.get(variable)
    if not path:
        return None
    if os.path.isabs(path):
        return Path(path)
    _warn_once(variable, f"{variable} is ignored: '{path}' is not an absolute path")
    return None


def _of_user(variable: str, usual: str) -> Path | None:
    base = _absolute(variable)
    if base is None:
        home = _home()
        base = home and home / usual
    return base and base / "robolin"


def _home() -> Path | None:
    """The user's home folder, or None; an empty HOME would mean the root folder."""
    try:
        home = Path.home()
    except RuntimeError:
        return None
    named = os.environ.get("HOME") != ""
    return home if named and home.is_absolute() and home.is_dir() else None


def _secret() -> bytes | None:
    """The user's secret key; None if it is missing or not trusted."""
    path = key_file()
    if path is None:
        return None
    try:
        _require_private_folder(path.parent)
        secret = _read_private(path, _KEY_BYTES)
    except OSError:
        return None
    return secret if secret is not None and len(secret) == _KEY_BYTES else None


def _new_secret() -> bytes:
    """Create the secret key; if several processes do so concurrently, the last one wins."""
    path = key_file()
    if path is None:
        raise PermissionError("you have no home folder")
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    _require_private_folder(path.parent)
    _write_private(path, secrets.token_bytes(_KEY_BYTES))
    secret = _secret()
    if secret is None:
        raise PermissionError(f"{path} cannot be trusted")
    return secret


def _digest(secret: bytes, key: str, content: bytes) -> bytes:
    """HMAC of name and content, so that a file renamed to another kernel is invalid."""
    return hmac.digest(secret, key.encode() + content, "sha256")


def _sweep(cache: Path) -> None:
    """Remove abandoned temporary files."""
    for path in cache.glob(".*" + _PART):
        with suppress(OSError):
            if time.time() - path.stat().st_mtime > ABANDONED:
                path.unlink()


def _evict_lru(cache: Path) -> None:
    """Delete the least recently used kernels until the folder is small enough."""
    files = []
    for path in cache.glob("*" + _SUFFIX):
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


def _warn_once(what: str, message: str) -> None:
    """Warn once per kind of problem."""
    if what not in _warned:
        _warned.add(what)
        warnings.warn(message, RuntimeWarning, stacklevel=2)


def _require_private_folder(folder: Path) -> None:
    """Raise PermissionError for a folder that other users may write to."""
    if not hasattr(os, "getuid"):
        return
    me = os.getuid()
    info = None
    for path, info in _path_components(folder):
        if info.st_uid not in (me, _ROOT_UID):
            raise PermissionError(f"{path} belongs to another user")
        if not stat.S_ISLNK(info.st_mode) and _shared(info) and not info.st_mode & stat.S_ISVTX:
            raise PermissionError(f"others may write to {path}")
    if info is None or info.st_uid != me:
        raise PermissionError(f"{folder} belongs to another user")
    if _shared(info):
        raise PermissionError(f"others may write to {folder}")


def _read_private(path: Path, most: int) -> bytes | None:
    """Content of a file in a private folder; None if it is missing or not trusted."""
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    try:
        handle = os.open(path, flags | getattr(os, "O_BINARY", 0))
    except OSError:
        return None
    with open(handle, "rb") as stream:
        info = os.fstat(handle)
        if not _trusted(info) or info.st_size > most:
            return None
        return stream.read(most)


def _write_private(path: Path, content: bytes) -> None:
    """Write a file atomically that only the user can read and write."""
    handle, part = tempfile.mkstemp(dir=path.parent, prefix=".", suffix=_PART)
    try:
        with open(handle, "wb") as stream:
            stream.write(content)
        os.replace(part, path)
    finally:
        with suppress(OSError):
            os.unlink(part)


def _trusted(info: os.stat_result) -> bool:
    if not stat.S_ISREG(info.st_mode):
        return False
    if not hasattr(os, "getuid"):
        return True
    # another hard link may be in a folder where other users can change it
    alone = info.st_nlink <= 1
    return alone and info.st_uid == os.getuid() and not info.st_mode & _OTHERS_WRITE


def _shared(info: os.stat_result) -> bool:
    """True if others than the owner may write."""
    if info.st_mode & stat.S_IWOTH:
        return True
    return bool(info.st_mode & stat.S_IWGRP) and not _is_private_group(info)


def _is_private_group(info: os.stat_result) -> bool:
    """True for the private group that many systems create for each user."""
    import grp
    import pwd

    try:
        account, group = pwd.getpwuid(info.st_uid), grp.getgrgid(info.st_gid)
    except KeyError:
        return False
    own = account.pw_gid == info.st_gid and group.gr_name == account.pw_name
    return own and set(group.gr_mem) <= {account.pw_name}


def _path_components(path: Path) -> Iterator[tuple[Path, os.stat_result]]:
    """Every folder and symbolic link from the root to an absolute path, including the path."""
    here = Path(path.anchor)
    yield here, os.lstat(here)
    ahead, links = list(reversed(path.parts[1:])), 0
    while ahead:
        part = ahead.pop()
        if part == "..":
            here = here.parent
            continue
        entry = here / part
        info = os.lstat(entry)
        if stat.S_ISLNK(info.st_mode):
            links += 1
            if links > _MAX_LINKS:
                raise PermissionError(f"{path} has too many links on the way to it")
            target = Path(os.readlink(entry))
            here = Path(target.anchor) if target.is_absolute() else here
            ahead += reversed(target.parts[1:] if target.is_absolute() else target.parts)
        else:
            here = entry
        yield entry, info
