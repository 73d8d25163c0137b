"""Atomic file writes: a file appears complete or not at all, even if the process is killed."""

from __future__ import annotations

import errno
import os
import re
import secrets
import shutil
import stat
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Event, Thread
from time import monotonic, sleep
from typing import BinaryIO

from robolin.errors import FileError

# seconds between calls of fsync while a file is written
_SECONDS_BETWEEN = 0.25

# above this size in bytes, written pages are dropped from the page cache
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

_LEFTOVER = re.compile(r"\.robolin-[0-9a-f]{16}\.part")


@dataclass(frozen=True, slots=True)
class UnfinishedFile:
    """A file being written, the target it will become, and the permissions it will get."""

    path: Path
    target: Path
    mode: int | None


@contextmanager
def atomic_write(target: str | Path) -> Iterator[BinaryIO]:
    """Open a stream whose content replaces `target` only once it is complete."""
    with atomic_write_all([target]) as (stream,):
        yield stream


@contextmanager
def atomic_write_all(targets: Sequence[str | Path]) -> Iterator[tuple[BinaryIO, ...]]:
    """Open one stream per target; once all are complete, the targets are replaced in this order."""
    files: list[UnfinishedFile] = []
    with ExitStack() as locks:
        try:
            with ExitStack() as opened:
                streams = tuple(_open(Path(target), files, opened, locks) for target in targets)
                with _background_fsync(streams):
                    yield streams
                for stream, target in zip(streams, targets, strict=True):
                    _finish(stream, Path(target))
            _put_in_place(files)
        finally:
            for file in files:
                file.path.unlink(missing_ok=True)


def _put_in_place(files: Sequence[UnfinishedFile]) -> None:
    """Rename every file to its target; pipes and devices are not among the files."""
    for file in files:
        with as_file_error(file.target):
            if file.mode is not None:
                os.chmod(file.path, file.mode)
    with ExitStack() as locked:
        if len(files) > 1:
            with as_file_error(files[-1].target):
                locked.enter_context(folder_lock(files[-1].target.parent))
        # small files such as provenance come first and are restored if a later one fails
        former: list[tuple[UnfinishedFile, bytes | None]] = []
        try:
            for file in files:
                with as_file_error(file.target):
                    if file is not files[-1]:
                        former.append((file, _content(file.target)))
                    os.replace(file.path, file.target)
        except BaseException:
            # an interruption after the last rename leaves all of them in place
            if files[-1].path.exists():
                for file, content in reversed(former):
                    _restore(file, content)
            raise


def _content(path: Path) -> bytes | None:
    """The bytes of a file; None if it does not exist."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None


def _restore(file: UnfinishedFile, content: bytes | None) -> None:
    """Undo the rename of a file; an error here is not reported, but the one that led here is."""
    if file.path.exists():
        # it was not renamed
        return
    with suppress(OSError):
        if content is None:
            file.target.unlink()
            return
        file.path.write_bytes(content)
        if file.mode is not None:
            os.chmod(file.path, file.mode)
        os.replace(file.path, file.target)


@contextmanager
def folder_lock(folder: Path, *, shared: bool = False) -> Iterator[None]:
    """Lock a folder, so that files replaced together are never mixed.

    Without locks, and after a timeout, readers detect mixed files: `flock FOLDER robolin …` keeps
    the lock of the folder until robolin ends.
    """
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except OSError as error:
        # a folder can be used without the right to list it; readers report a missing one themselves
        if not shared and not isinstance(error, PermissionError):
            raise
        yield
        return
    try:
        _lock(descriptor, _LOCK_TIMEOUT, shared=shared)
        yield
    finally:
        os.close(descriptor)


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
        target = _resolved(target)
        _mode_to_keep(target)
        if not os.access(target.parent, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))


def _open(
    target: Path, files: list[UnfinishedFile], opened: ExitStack, locks: ExitStack
) -> BinaryIO:
    opened.enter_context(as_file_error(target))
    if is_stream(target):
        return opened.enter_context(open(target, "wb"))
    target = _resolved(target)
    mode = _mode_to_keep(target)
    if not any(file.target.parent == target.parent for file in files):
        remove_leftovers(target.parent)
    # no other user may read a private file while it is replaced
    path = _new_part(target.parent, 0o666 if mode is None else 0o600, locks)
    files.append(UnfinishedFile(path, target, mode))
    return opened.enter_context(open(path, "r+b"))


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
        raise FileError(
            "must be a file, got a folder", where=str(target), hint="append a file name to the path"
        )
    if not target.parent.is_dir():
        raise FileError(
            f"folder '{target.parent}' does not exist",
            where=str(target),
            hint="create the folder, or check its spelling",
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


def _new_part(folder: Path, mode: int, locks: ExitStack) -> Path:
    """Create a temporary file that stays locked as long as `locks` is open.

    Its name is short: a suffix could make the name of the target too long.
    """
    while True:
        path = folder / f".robolin-{secrets.token_hex(8)}.part"
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, mode)
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
            part = _new_part(parent, 0o600, locks)
        folder = part.with_suffix(".folder")
        try:
            with as_file_error(parent):
                folder.mkdir(mode=0o700)
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)
            part.unlink(missing_ok=True)


def remove_leftovers(folder: Path) -> None:
    """Remove temporary files of this user that are not locked: their process has terminated."""
    if not hasattr(os, "getuid"):
        return
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if _LEFTOVER.fullmatch(entry.name):
                with suppress(OSError):
                    _remove_leftover(Path(entry.path))


def _remove_leftover(path: Path) -> None:
    descriptor = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        info = os.fstat(descriptor)
        ours = stat.S_ISREG(info.st_mode) and info.st_uid == os.getuid()
        if ours and _lock(descriptor):
            shutil.rmtree(path.with_suffix(".folder"), ignore_errors=True)
            path.unlink()
    finally:
        os.close(descriptor)
