"""Compiled kernels on disk: complete or absent, checked before use, bounded in size.

A cache file begins with a digest of its name and what follows, under a key that is the user's
own.  Machine code is run only from files that nobody but the user can have put where they are, and
whose digest is right; anything else is compiled again.  The key is what tells kernels from files
that came with somebody's sources: those belong to the user too, once checked out.

A file is trusted if it is a regular one, belongs to the user, has no second name and may be
written by nobody else, and if the same holds for every folder and link on the way to it; folders
on the way may also belong to the system.  A folder that everybody may write is no danger if it
keeps its entries for their owners, as /tmp does: what stands in it is looked at in turn.
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

# a file being written is nobody's after this many seconds: whoever wrote it was killed
ABANDONED = 3600
_DIGEST_BYTES = 32
_KEY_BYTES = 32

_PART = ".part"
_MOST_LINKS = 40
_SYSTEM = 0
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH

_said: set[str] = set()


def folder() -> Path | None:
    """ROBOLIN_CACHE, or robolin's place among the user's caches; None for a user without home."""
    return _absolute("ROBOLIN_CACHE") or _of_user("XDG_CACHE_HOME", ".cache")


def key_file() -> Path | None:
    """Where the key is that kernels are signed with: beside the user's settings, not the cache."""
    place = _of_user("XDG_CONFIG_HOME", ".config")
    return place and place / "kernels.key"


def read_kernel(key: str) -> bytes | None:
    """The kernel stored under this key, or None if there is none to be trusted."""
    place, secret = folder(), _secret()
    if place is None or secret is None:
        return None
    path = place / (key + _SUFFIX)
    try:
        _require_private_folder(place)
        data = _read_private(path, LARGEST_FOLDER)
    except OSError:
        return None
    if data is None:
        return None
    digest, content = data[:_DIGEST_BYTES], data[_DIGEST_BYTES:]
    if not hmac.compare_digest(_digest(secret, key, content), digest):
        return None
    with suppress(OSError):
        os.utime(path)  # the kernels used last are the last to go
    return content


def write_kernel(key: str, content: bytes) -> None:
    """Store a kernel; a folder that cannot be written is mentioned once and otherwise ignored."""
    place = folder()
    try:
        if place is None:
            raise PermissionError("you have no home folder")
        secret = _secret() or _new_secret()
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
        _require_private_folder(place)
        _write_private(place / (key + _SUFFIX), _digest(secret, key, content) + content)
        _sweep(place)
        _evict_lru(place)
    except OSError as error:
        reason = error.strerror or str(error)
        where = f" in {place}" if place else ""
        # without a home there is no place for the key either
        needed = "ROBOLIN_CACHE" if key_file() else "HOME, or XDG_CONFIG_HOME and ROBOLIN_CACHE,"
        help_ = f"set {needed} to a folder of yours"
        _say("not kept", f"compiled kernels cannot be kept{where} ({reason}); {help_}")


def _absolute(variable: str) -> Path | None:
    """The folder a variable names, unless what it means depends on where one happens to be."""
    path = os.environ.get(variable)
    if not path:
        return None
    if os.path.isabs(path):
        return Path(path)
    _say(variable, f"{variable} is ignored: '{path}' is not an absolute path")
    return None


def _of_user(variable: str, usual: str) -> Path | None:
    base = _absolute(variable)
    if base is None:
        home = _home()
        base = home and home / usual
    return base and base / "robolin"


def _home() -> Path | None:
    """The user's home, if there is one; an empty name would be taken for the root."""
    try:
        home = Path.home()
    except RuntimeError:
        return None
    named = os.environ.get("HOME") != ""
    return home if named and home.is_absolute() and home.is_dir() else None


def _secret() -> bytes | None:
    """The user's key, None if there is none that can be trusted."""
    path = key_file()
    if path is None:
        return None
    try:
        _require_private_folder(path.parent)
        found = _read_private(path, _KEY_BYTES)
    except OSError:
        return None
    return found if found is not None and len(found) == _KEY_BYTES else None


def _new_secret() -> bytes:
    """A key made now; of several made at once the last one counts, and the others are forgotten."""
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
    """Of the name as well: a sound file under another kernel's name is not that kernel."""
    return hmac.digest(secret, key.encode() + content, "sha256")


def _sweep(place: Path) -> None:
    """Remove what was left behind half written."""
    for path in place.glob(".*" + _PART):
        with suppress(OSError):
            if time.time() - path.stat().st_mtime > ABANDONED:
                path.unlink()


def _evict_lru(place: Path) -> None:
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


def _say(what: str, message: str) -> None:
    """Warn, once for each thing that can be wrong."""
    if what not in _said:
        _said.add(what)
        warnings.warn(message, RuntimeWarning, stacklevel=2)


def _require_private_folder(folder: Path) -> None:
    """Refuse, by a PermissionError, a folder that somebody else may have put something into."""
    if not hasattr(os, "getuid"):
        return
    me = os.getuid()
    info = None
    for path, info in _path_components(folder):
        if info.st_uid not in (me, _SYSTEM):
            raise PermissionError(f"{path} belongs to another user")
        if not stat.S_ISLNK(info.st_mode) and _shared(info) and not info.st_mode & stat.S_ISVTX:
            raise PermissionError(f"others may write to {path}")
    if info is None or info.st_uid != me:
        raise PermissionError(f"{folder} belongs to another user")
    if _shared(info):
        raise PermissionError(f"others may write to {folder}")


def _read_private(path: Path, most: int) -> bytes | None:
    """What is in a file of the user's own, None if there is none to be trusted.

    The folder has been found to be private.
    """
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
    """Put a file that nobody else can read or write in its place, complete or not at all."""
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
    # a second name may stand where others can see to what the file holds
    alone = info.st_nlink <= 1
    return alone and info.st_uid == os.getuid() and not info.st_mode & _OTHERS_WRITE


def _shared(info: os.stat_result) -> bool:
    """Whether anybody but the owner may write."""
    if info.st_mode & stat.S_IWOTH:
        return True
    return bool(info.st_mode & stat.S_IWGRP) and not _is_private_group(info)


def _is_private_group(info: os.stat_result) -> bool:
    """Whether the group is the one that a user has to himself on many systems."""
    import grp
    import pwd

    try:
        account, group = pwd.getpwuid(info.st_uid), grp.getgrgid(info.st_gid)
    except KeyError:
        return False
    own = account.pw_gid == info.st_gid and group.gr_name == account.pw_name
    return own and set(group.gr_mem) <= {account.pw_name}


def _path_components(path: Path) -> Iterator[tuple[Path, os.stat_result]]:
    """Every folder and link between the root and an absolute path, itself the last of them."""
    here = Path(path.anchor)
    yield here, os.lstat(here)
    ahead, links = list(reversed(path.parts[1:])), 0
    while ahead:
        part = ahead.pop()
        if part == "..":
            here = here.parent
            continue
        found = here / part
        info = os.lstat(found)
        if stat.S_ISLNK(info.st_mode):
            links += 1
            if links > _MOST_LINKS:
                raise PermissionError(f"{path} has too many links on the way to it")
            target = Path(os.readlink(found))
            here = Path(target.anchor) if target.is_absolute() else here
            ahead += reversed(target.parts[1:] if target.is_absolute() else target.parts)
        else:
            here = found
        yield found, info
