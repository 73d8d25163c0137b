"""A file and its companion, replaced as one, whatever ends the process in between.

    1  the new companion waits under a name of its own
    2  the new file takes the place of the old one: from here on the pair is the new one
    3  the new companion takes the place of the old one

After a process that ended between two of these, the companion that waits is the file's own if the
file is as it says.  Readers look there first, and the next writer completes what was begun.
"""

from __future__ import annotations

import errno
import hashlib
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import BinaryIO

from robolin.io.atomic import (
    UnfinishedFile,
    as_file_error,
    give_permissions,
    put_in_place,
    replacing_all,
)

# whether a file is the one that a companion describes
Belongs = Callable[[Path, Path], bool]

# how long to wait for others at the same step, each of which takes a few milliseconds
_MOST_SECONDS, _SECONDS_BETWEEN = 5.0, 0.005


def waiting_place(companion: Path) -> Path:
    """Where a new companion waits for its file; the name has room whatever the other's length."""
    folder, name = os.path.split(os.path.realpath(companion))
    digest = hashlib.sha256(os.fsencode(name)).hexdigest()
    return Path(folder, f".robolin-{digest[:16]}.next")


@contextmanager
def replacing_pair(
    companion: str | Path, file: str | Path, belongs: Belongs
) -> Iterator[tuple[BinaryIO, ...]]:
    """Open a stream for each; both show up at once, and only when both are complete."""
    # an error is told of the last one, which is the one that fills the disk
    with replacing_all([companion, file], partial(_put_pair_in_place, belongs)) as streams:
        yield streams


def _put_pair_in_place(belongs: Belongs, files: Sequence[UnfinishedFile]) -> None:
    if len(files) < 2:
        # one of them is a pipe or a device, which has got its bytes already
        put_in_place(files)
        return
    give_permissions(files)
    companion, file = files
    waits = waiting_place(companion.target)
    with _others_waiting(file.target.parent):
        with as_file_error(companion.target):
            _settle(file.target, companion.target, waits, belongs)
            os.replace(companion.path, waits)
        try:
            with as_file_error(file.target):
                _reach_the_disk(waits.parent)
                os.replace(file.path, file.target)
        finally:
            if file.path.exists():
                # it was not to be, so that nobody is to look for it
                waits.unlink(missing_ok=True)
        told = f"'{file.target.name}' is new, and what belongs to it is read from '{waits.name}'"
        with as_file_error(companion.target, hint=f"{told} until the next run has put it in place"):
            os.replace(waits, companion.target)


def _settle(file: Path, companion: Path, waits: Path, belongs: Belongs) -> None:
    """Complete what a process that is gone has begun, or forget it if it came to nothing."""
    if not waits.exists():
        return
    if file.exists() and belongs(file, waits):
        os.replace(waits, companion)
    else:
        waits.unlink(missing_ok=True)


def _reach_the_disk(folder: Path) -> None:
    """Have a new name on the disk before the next one: power that fails keeps their order."""
    with _opened(folder) as number:
        if number is None:
            return
        try:
            os.fsync(number)
        except OSError as error:
            # a file system that cannot do this for folders keeps an order of its own
            if error.errno != errno.EINVAL:
                raise


@contextmanager
def _others_waiting(folder: Path) -> Iterator[None]:
    """One process at a time, so that of two that write a pair each puts both halves in place.

    Whoever waits in vain goes on: readers name halves that are of two pairs.
    """
    with _opened(folder) as number:
        end = time.monotonic() + _MOST_SECONDS
        while number is not None and not _locked(number) and time.monotonic() < end:
            time.sleep(_SECONDS_BETWEEN)
        yield


def _locked(number: int) -> bool:
    """Whether nobody else has it, or nobody can tell."""
    try:
        import fcntl
    except ImportError:
        # a system without such locks
        return True
    try:
        fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        # a file system without locks
        return True
    return True


@contextmanager
def _opened(folder: Path) -> Iterator[int | None]:
    """The folder itself, None where that cannot be opened."""
    try:
        number = os.open(folder, os.O_RDONLY)
    except OSError:
        yield None
        return
    try:
        yield number
    finally:
        os.close(number)
