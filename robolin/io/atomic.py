"""Atomic file writes: a file appears complete or not at all, even if the process is killed."""

from __future__ import annotations

import errno
import os
import stat
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from pathlib import Path
from threading import Event, Thread
from time import monotonic, sleep
from typing import BinaryIO

from robolin.errors import FileError

# seconds between calls of fsync while a file is written
_SECONDS_BETWEEN = 0.25

# above this size in bytes, written pages are dropped from the page cache: while the system
# searches for free memory, a file of 4 GB takes four times as long
_TOO_LARGE_TO_KEEP = 1 << 30

_HINTS = {
    errno.EACCES: "write permission is missing; choose another folder with -o",
    errno.EPERM: "write permission is missing; choose another folder with -o",
    errno.EROFS: "the file system is read-only; choose another folder with -o",
    errno.ENOSPC: "the disk is full; the file was not changed",
    errno.EDQUOT: "the disk quota is exceeded; the file was not changed",
    errno.ENAMETOOLONG: "choose a shorter file name",
}

# seconds to wait for a lock of another process, and between two attempts
_LOCK_TIMEOUT, _LOCK_POLL_INTERVAL = 5.0, 0.005

# a short name: a suffix could make the name of the target too long
_PART, _DIGITS = ".robolin-{}.part", 16


# the last complete files, in order, for the message at the end of a command
written_paths: deque[Path] = deque(maxlen=16)


@contextmanager
def atomic_write(target: str | Path) -> Iterator[BinaryIO]:
    """Open a stream whose content replaces `target` only once it is complete."""
    with atomic_write_all([target]) as (stream,):
        yield stream


@contextmanager
def atomic_write_all(targets: Sequence[str | Path]) -> Iterator[tuple[BinaryIO, ...]]:
    """Open one stream per target; once all are complete, the targets are replaced in this order."""
    parts: dict[Path, Path] = {}
    with ExitStack() as locks:
        with ExitStack() as opened:
            streams = tuple(_open(Path(target), parts, opened, locks) for target in targets)
            with _background_fsync(streams):
                yield streams
            for stream, target in zip(streams, targets, strict=True):
                stream.flush()
                if not is_stream(target):
                    os.fsync(stream.fileno())
        _put_in_place(parts)
        written_paths.extend(Path(target) for target in targets if not is_stream(target))


def _put_in_place(parts: dict[Path, Path]) -> None:
    """Rename temporary files to their targets; if one rename fails, undo those before it."""
    last = next(reversed(parts), Path())
    # only small files such as provenance come before the last one
    former: dict[Path, bytes | None] = {}
    with folder_lock(last.parent) if len(parts) > 1 else nullcontext():
        try:
            for target, part in parts.items():
                with as_file_error(target):
                    if target != last:
                        former[target] = target.read_bytes() if target.exists() else None
                    os.replace(part, target)
        except BaseException:
            # an interruption after the last rename leaves all of them in place
            if parts[last].exists():
                for target, content in former.items():
                    with suppress(OSError):
                        target.unlink() if content is None else target.write_bytes(content)
            raise


@contextmanager
def folder_lock(folder: Path, *, shared: bool = False) -> Iterator[None]:
    """Lock a folder, so that files replaced together are never mixed.

    Without locks, and after a timeout, readers detect mixed files: `flock FOLDER robolin …` keeps
    the lock on the folder until robolin ends.
    """
    with ExitStack() as opened:
        # a folder can be used without the right to list it
        with suppress(OSError):
            descriptor = os.open(folder, os.O_RDONLY)
            opened.callback(os.close, descriptor)
            _lock(descriptor, _LOCK_TIMEOUT, shared=shared)
        yield


def _lock(descriptor: int, seconds: float = 0.0, *, shared: bool = False) -> bool:
    """Lock an open file until it is closed; False if the system cannot, or another one has it."""
    end = monotonic() + seconds
    while True:
        try:
            import fcntl

            kind = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
            fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
        except BlockingIOError:
            if monotonic() >= end:
                return False
            sleep(_LOCK_POLL_INTERVAL)
        except (ImportError, OSError):
            return False
        else:
            return True


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
        target, _ = _resolved(target)
        if not os.access(target.parent, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))


def _open(target: Path, parts: dict[Path, Path], opened: ExitStack, locks: ExitStack) -> BinaryIO:
    opened.enter_context(as_file_error(target))
    if is_stream(target):
        return opened.enter_context(open(target, "wb"))
    target, mode = _resolved(target)
    if not parts:
        remove_leftovers(target.parent)
    # no other user may read a private file while it is replaced
    part = _new_part(target.parent, 0o666 if mode is None else 0o600, locks)
    if mode is not None:
        opened.callback(os.chmod, part, mode)
    parts[target] = part
    return opened.enter_context(open(part, "r+b"))


def _resolved(target: Path) -> tuple[Path, int | None]:
    """The target with links followed, and the permissions of a file that exists there."""
    target = Path(os.path.realpath(target))
    if not target.parent.is_dir():
        raise FileError(
            f"folder '{target.parent}' does not exist",
            where=str(target),
            hint="create the folder, or check its spelling",
        )
    try:
        mode = target.stat().st_mode
    except FileNotFoundError:
        return target, None
    if stat.S_ISDIR(mode):
        raise FileError(
            "must be a file, got a folder", where=str(target), hint="append a file name to the path"
        )
    if not os.access(target, os.W_OK):
        raise FileError(
            "the file is read-only", where=str(target), hint="choose another name with -o"
        )
    return target, stat.S_IMODE(mode)


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
                    sync(file := stream.fileno())
                    large = 512 * os.fstat(file).st_blocks > _TOO_LARGE_TO_KEEP
                    if large and hasattr(os, "posix_fadvise"):
                        os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)

    thread = Thread(target=push, name="robolin-disk", daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


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


def _new_part(folder: Path, mode: int, locks: ExitStack) -> Path:
    """Create a temporary file that stays locked until `locks` is closed and then removed."""
    while True:
        path = folder / _PART.format(os.urandom(_DIGITS // 2).hex())
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, mode)
        locks.callback(path.unlink, missing_ok=True)
        if not _lock(descriptor, _LOCK_TIMEOUT):
            # Windows renames no open file
            os.close(descriptor)
            return path
        locks.callback(os.close, descriptor)
        # another process may have removed it before it was locked
        if path.exists():
            return path


@contextmanager
def temporary_folder(parent: Path) -> Iterator[Path]:
    """A private folder; if the process is killed, another process removes it."""
    remove_leftovers(parent)
    with ExitStack() as locks:
        with as_file_error(parent):
            folder = _new_part(parent, 0o600, locks).with_suffix(".folder")
            locks.callback(_remove_folder, folder)
            folder.mkdir(mode=0o700)
        yield folder


def _open_regular(path: str, flags: int) -> int:
    """Open a file without following a link or waiting for a pipe."""
    return os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK)


def _remove_folder(folder: Path) -> None:
    # import here: writing one file does not need `shutil`, which loads the compression libraries
    from shutil import rmtree

    rmtree(folder, ignore_errors=True)


def remove_leftovers(folder: Path) -> None:
    """Remove temporary files and folders that are not locked: their process has terminated."""
    if os.name == "nt":
        # without locks, a file in use cannot be recognized
        return
    with suppress(OSError):
        for path in folder.glob(_PART.format("[0-9a-f]" * _DIGITS)):
            with suppress(OSError), open(path, "rb+", opener=_open_regular) as stream:
                if _lock(stream.fileno()):
                    _remove_folder(path.with_suffix(".folder"))
                    path.unlink()
