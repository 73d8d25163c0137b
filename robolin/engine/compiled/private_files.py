"""Files that nobody but the user can have put where they are.

A file is trusted if it is a regular one, belongs to the user, has no second name and may be
written by nobody else, and if the same holds for every folder and link on the way to it; folders
on the way may also belong to the system.  A folder that everybody may write is no danger if it
keeps its entries for their owners, as /tmp does: what stands in it is looked at in turn.
"""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

PART = ".part"

_MOST_LINKS = 40
_SYSTEM = 0
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH


def require_private_folder(folder: Path) -> None:
    """Refuse, by a PermissionError, a folder that somebody else may have put something into."""
    if not hasattr(os, "getuid"):
        return
    me = os.getuid()
    info = None
    for path, info in _way_to(folder):
        if info.st_uid not in (me, _SYSTEM):
            raise PermissionError(f"{path} belongs to another user")
        if not stat.S_ISLNK(info.st_mode) and _shared(info) and not info.st_mode & stat.S_ISVTX:
            raise PermissionError(f"others may write to {path}")
    if info is None or info.st_uid != me:
        raise PermissionError(f"{folder} belongs to another user")
    if _shared(info):
        raise PermissionError(f"others may write to {folder}")


def read_private(path: Path, most: int) -> bytes | None:
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


def write_private(path: Path, content: bytes) -> None:
    """Put a file that nobody else can read or write in its place, complete or not at all."""
    handle, part = tempfile.mkstemp(dir=path.parent, prefix=".", suffix=PART)
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
    return bool(info.st_mode & stat.S_IWGRP) and not _group_of_one(info)


def _group_of_one(info: os.stat_result) -> bool:
    """Whether the group is the one that a user has to himself on many systems."""
    import grp
    import pwd

    try:
        account, group = pwd.getpwuid(info.st_uid), grp.getgrgid(info.st_gid)
    except KeyError:
        return False
    own = account.pw_gid == info.st_gid and group.gr_name == account.pw_name
    return own and set(group.gr_mem) <= {account.pw_name}


def _way_to(path: Path) -> Iterator[tuple[Path, os.stat_result]]:
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
