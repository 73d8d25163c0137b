"""Atomic file writes: a file appears complete or not at all, even if the process is killed."""

from __future__ import annotations

import errno
import hashlib
import os
import platform
import re
import secrets
import shutil
import stat
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from threading import Event, Thread
from typing import BinaryIO

from robolin.errors import FileError

# seconds between calls of fsync while a file is written
_SECONDS_BETWEEN = 0.25

# above this size in bytes, written pages are dropped from the page cache
_TOO_LARGE_TO_KEEP = 1 << 30

_HINTS = {
    errno.EACCES: "you may not write there; choose another folder with -o",
    errno.EPERM: "you may not write there; choose another folder with -o",
    errno.EROFS: "that file system is read-only; choose another folder with -o",
    errno.ENOSPC: "the disk is full; the file was not changed",
    errno.EDQUOT: "your disk quota is used up; the file was not changed",
    errno.ENAMETOOLONG: "choose a shorter file name",
}

# boot id, process id, start time of the process (not in names of older versions), random number
_NAME = re.compile(r"\.robolin-([0-9a-f]{8})-([0-9]{1,10})-(?:([0-9a-f]{1,16})-)?[0-9a-f]{8}\.part")
# a process id is unique within one boot of the system and one container
_NUMBERINGS = ("/proc/sys/kernel/random/boot_id", "/proc/self/ns/pid")


@dataclass(frozen=True, slots=True)
class UnfinishedFile:
    """A file being written, the target it will become, and the permissions it will get."""

    path: Path
    target: Path
    mode: int | None


@contextmanager
def atomic_write(target: str | Path) -> Iterator[BinaryIO]:
    """Open a stream whose content replaces `target` only once it is complete."""
    with atomic_write_all([target], put_in_place) as (stream,):
        yield stream


@contextmanager
def atomic_write_all(
    targets: Sequence[str | Path], put: Callable[[Sequence[UnfinishedFile]], None]
) -> Iterator[tuple[BinaryIO, ...]]:
    """Open one stream per target; no target changes before all of them are complete.

    put: renames the finished files to their targets
    """
    files: list[UnfinishedFile] = []
    try:
        with ExitStack() as opened:
            streams = tuple(_open(Path(target), files, opened) for target in targets)
            with _background_fsync(streams):
                yield streams
            for stream, target in zip(streams, targets, strict=True):
                _finish(stream, Path(target))
        put(files)
    finally:
        for file in files:
            file.path.unlink(missing_ok=True)


def put_in_place(files: Sequence[UnfinishedFile]) -> None:
    """Rename every file to its target; pipes and devices are not among the files."""
    give_permissions(files)
    for file in files:
        with as_file_error(file.target):
            os.replace(file.path, file.target)


def give_permissions(files: Sequence[UnfinishedFile]) -> None:
    """Give every file the permissions of the file that it replaces."""
    for file in files:
        with as_file_error(file.target):
            if file.mode is not None:
                os.chmod(file.path, file.mode)


def is_stream(target: str | Path) -> bool:
    """Return whether the target is a pipe or a device, which is written directly."""
    try:
        mode = os.stat(target).st_mode
    except OSError:
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def require_writable(target: Path) -> None:
    """Reject a target that cannot be written, before anything is computed."""
    if is_stream(target):
        return
    with as_file_error(target):
        target = _resolved(target)
        _mode_to_keep(target)
        if not os.access(target.parent, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))


def _open(target: Path, files: list[UnfinishedFile], opened: ExitStack) -> BinaryIO:
    opened.enter_context(as_file_error(target))
    if is_stream(target):
        return opened.enter_context(open(target, "wb"))
    target = _resolved(target)
    mode = _mode_to_keep(target)
    remove_leftovers(target.parent)
    # a short temporary name: a suffix could make the target's name too long
    path = target.with_name(new_name())
    files.append(UnfinishedFile(path, target, mode))
    # no other user may read a private file while it is replaced
    initial_mode = 0o666 if mode is None else 0o600
    return opened.enter_context(open(path, "x+b", opener=lambda p, f: os.open(p, f, initial_mode)))


def _resolved(target: Path) -> Path:
    """The path of a file with symbolic links followed."""
    try:
        return target.resolve()
    except RuntimeError as error:
        # Python's error for a link that leads to itself
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP)) from error


def _mode_to_keep(target: Path) -> int | None:
    """The permissions of the file to be replaced; None for a new file."""
    if target.is_dir():
        raise FileError("is a folder, not a file", where=str(target), hint="add a file name to it")
    if not target.parent.is_dir():
        raise FileError(
            f"there is no folder '{target.parent}' to write to",
            where=str(target),
            hint="create it first, or check its spelling",
        )
    if not target.exists():
        return None
    if not os.access(target, os.W_OK):
        raise FileError(
            "the file is read-only", where=str(target), hint="choose another name with -o"
        )
    return stat.S_IMODE(target.stat().st_mode)


def _finish(stream: BinaryIO, target: Path) -> None:
    stream.flush()
    if not is_stream(target):
        os.fsync(stream.fileno())


@contextmanager
def _background_fsync(streams: Sequence[BinaryIO]) -> Iterator[None]:
    """Flush to the disk while writing, so that the final fsync is short."""
    done = Event()
    sync = getattr(os, "fdatasync", os.fsync)

    def push() -> None:
        while not done.wait(_SECONDS_BETWEEN):
            for stream in streams:
                # a pipe cannot be synced, and the final fsync reports errors of a disk
                with suppress(OSError, ValueError):
                    sync(stream.fileno())
                    _drop_page_cache(stream.fileno())

    thread = Thread(target=push, name="robolin-disk", daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def _drop_page_cache(file: int) -> None:
    """Drop the pages of a large file that are already on the disk from the page cache.

    Otherwise the kernel keeps searching for free memory, which is slower than writing, and
    evicts pages that other programs need.
    """
    if hasattr(os, "posix_fadvise") and 512 * os.fstat(file).st_blocks > _TOO_LARGE_TO_KEEP:
        os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)


@contextmanager
def as_file_error(target: Path, hint: str = "") -> Iterator[None]:
    """Raise errors while a target is written as FileError; `hint` overrides the default hint."""
    try:
        yield
    except BrokenPipeError:
        # the reader closed the pipe; the command line exits quietly
        raise
    except OSError as error:
        if error.errno is None:
            # not an error of the system, so it is not about writing
            raise
        message = f"could not write: {error.strerror or error}"
        hint = hint or _HINTS.get(error.errno, "")
        raise FileError(message, where=str(target), hint=hint) from error


def new_name() -> str:
    """A temporary file name that identifies the system and the process that writes the file."""
    process = os.getpid()
    start = _start_time(process)
    owner = f"{process}" if start is None else f"{process}-{start:x}"
    return f".robolin-{_system()}-{owner}-{secrets.token_hex(4)}.part"


def remove_leftovers(folder: Path) -> None:
    """Remove temporary files of this user that terminated processes of this system left behind."""
    if not hasattr(os, "getuid") or not os.path.exists(_NUMBERINGS[0]):
        # without user ids or /proc, the process that owns a file cannot be identified
        return
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            match = _NAME.fullmatch(entry.name)
            if match and match[1] == _system() and not _is_alive(int(match[2]), match[3]):
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


def _is_alive(process: int, start: str | None) -> bool:
    """Return whether the process is still running; process ids are reused."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        # the process belongs to another user, or the number is not a valid process id
        pass
    now = _start_time(process)
    return start is None or now is None or now == int(start, 16)


def _start_time(process: int) -> int | None:
    """Start time of a process in clock ticks since boot, None if unknown."""
    try:
        text = Path(f"/proc/{process}/stat").read_bytes()
        # the process name, in parentheses, may hold any characters; the state after it is field 3
        return int(text.rpartition(b")")[2].split()[19])
    except (OSError, IndexError, ValueError):
        return None


@cache
def _system() -> str:
    """A hash that identifies this boot and container, within which process ids are unique."""
    parts = [platform.node()]
    for path in _NUMBERINGS:
        with suppress(OSError):
            parts.append(os.readlink(path) if os.path.islink(path) else Path(path).read_text())
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:8]


# returns whether a file is the one that a companion describes
Belongs = Callable[[Path, Path], bool]

# seconds to wait for other processes that replace a pair, which takes each a few milliseconds
_LOCK_TIMEOUT, _LOCK_POLL_INTERVAL = 5.0, 0.005


def pending_path(companion: Path) -> Path:
    """Where a new companion is kept until its file is replaced; the name has a fixed length."""
    folder, name = os.path.split(os.path.realpath(companion))
    digest = hashlib.sha256(os.fsencode(name)).hexdigest()
    return Path(folder, f".robolin-{digest[:16]}.next")


@contextmanager
def replacing_pair(
    companion: str | Path, file: str | Path, belongs: Belongs
) -> Iterator[tuple[BinaryIO, ...]]:
    """Open a stream for each file; both are replaced together once both are complete."""
    # errors name the last file, which is the large one
    with atomic_write_all([companion, file], partial(_put_pair_in_place, belongs)) as streams:
        yield streams


def _put_pair_in_place(belongs: Belongs, files: Sequence[UnfinishedFile]) -> None:
    if len(files) < 2:
        # one of them is a pipe or a device and has been written already
        put_in_place(files)
        return
    give_permissions(files)
    companion, file = files
    pending = pending_path(companion.target)
    with _folder_lock(file.target.parent):
        with as_file_error(companion.target):
            _recover(file.target, companion.target, pending, belongs)
            os.replace(companion.path, pending)
        try:
            with as_file_error(file.target):
                _fsync_folder(pending.parent)
                os.replace(file.path, file.target)
        finally:
            if file.path.exists():
                # the file was not replaced, so the new companion must not be used
                pending.unlink(missing_ok=True)
        message = (
            f"'{file.target.name}' is new, and what belongs to it is read from '{pending.name}'"
        )
        with as_file_error(
            companion.target, hint=f"{message} until the next run has put it in place"
        ):
            os.replace(pending, companion.target)


def _recover(file: Path, companion: Path, pending: Path, belongs: Belongs) -> None:
    """Complete or discard the replacement that a terminated process has begun."""
    if not pending.exists():
        return
    if file.exists() and belongs(file, pending):
        os.replace(pending, companion)
    else:
        pending.unlink(missing_ok=True)


def _fsync_folder(folder: Path) -> None:
    """Sync a folder, so that renames reach the disk in order even if the power fails."""
    with _opened(folder) as descriptor:
        if descriptor is None:
            return
        try:
            os.fsync(descriptor)
        except OSError as error:
            # this file system cannot sync folders and orders renames by itself
            if error.errno != errno.EINVAL:
                raise


@contextmanager
def _folder_lock(folder: Path) -> Iterator[None]:
    """Lock a folder, so that each process that writes a pair replaces both files.

    After a timeout the lock is ignored: readers detect two files that do not match.
    """
    with _opened(folder) as descriptor:
        end = time.monotonic() + _LOCK_TIMEOUT
        while descriptor is not None and not _locked(descriptor) and time.monotonic() < end:
            time.sleep(_LOCK_POLL_INTERVAL)
        yield


def _locked(descriptor: int) -> bool:
    """Try to lock; True also if the system does not support locks."""
    try:
        import fcntl
    except ImportError:
        # a system without such locks
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        # a file system without locks
        return True
    return True


@contextmanager
def _opened(folder: Path) -> Iterator[int | None]:
    """The file descriptor of a folder, None if it cannot be opened."""
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except OSError:
        yield None
        return
    try:
        yield descriptor
    finally:
        os.close(descriptor)
