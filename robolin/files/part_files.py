"""Files and folders still being written: whose they are, and which nobody will complete."""

from __future__ import annotations

import hashlib
import os
import platform
import re
import secrets
import shutil
import stat
from contextlib import suppress
from functools import cache
from pathlib import Path

# system, process, when it was started (not in names of older versions), and a number of its own
_NAME = re.compile(r"\.robolin-([0-9a-f]{8})-([0-9]{1,10})-(?:([0-9a-f]{1,16})-)?[0-9a-f]{8}\.part")
# what tells one numbering of processes from another: a start of the system, and a container
_NUMBERINGS = ("/proc/sys/kernel/random/boot_id", "/proc/self/ns/pid")


def new_name() -> str:
    """A name for a part that says on which system and by which process it is written."""
    process = os.getpid()
    begun = _begun(process)
    told = f"{process}" if begun is None else f"{process}-{begun:x}"
    return f".robolin-{_system()}-{told}-{secrets.token_hex(4)}.part"


def remove_leftovers(folder: Path) -> None:
    """Remove what processes of this user and system that are gone have left in a folder."""
    if not hasattr(os, "getuid") or not os.path.exists(_NUMBERINGS[0]):
        # nobody can say whether a process lives, or which system a number is of
        return
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            found = _NAME.fullmatch(entry.name)
            if found and found[1] == _system() and not _lives(int(found[2]), found[3]):
                _remove(Path(entry.path))


def _remove(path: Path) -> None:
    with suppress(OSError):
        info = path.lstat()
        if info.st_uid != os.getuid():
            return
        if stat.S_ISREG(info.st_mode):
            path.unlink()
        elif stat.S_ISDIR(info.st_mode):
            shutil.rmtree(path, ignore_errors=True)


def _lives(process: int, begun: str | None) -> bool:
    """Whether the process is still there; numbers of processes are given away again."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        # it is somebody else's, or no number of a process
        pass
    now = _begun(process)
    return begun is None or now is None or now == int(begun, 16)


def _begun(process: int) -> int | None:
    """When a process was started, in ticks of this system's clock; None if nobody says."""
    try:
        text = Path(f"/proc/{process}/stat").read_bytes()
        # the name, in parentheses, may hold anything; the state behind it is the third entry
        return int(text.rpartition(b")")[2].split()[19])
    except (OSError, IndexError, ValueError):
        return None


@cache
def _system() -> str:
    """The system as it runs now: another start or another container numbers processes anew."""
    told = [platform.node()]
    for place in _NUMBERINGS:
        with suppress(OSError):
            told.append(os.readlink(place) if os.path.islink(place) else Path(place).read_text())
    return hashlib.sha256("\0".join(told).encode()).hexdigest()[:8]
