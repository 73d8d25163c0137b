"""Files that appear complete or not at all, whatever becomes of who writes them."""

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

# how often a file that takes long to write is brought to the disk
_SECONDS_BETWEEN = 0.25

# of a file with more bytes than this, what has reached the disk need not stay in memory
_TOO_LARGE_TO_KEEP = 1 << 30

_HINTS = {
    errno.EACCES: "you may not write there; choose another folder with -o",
    errno.EPERM: "you may not write there; choose another folder with -o",
    errno.EROFS: "that file system is read-only; choose another folder with -o",
    errno.ENOSPC: "the disk is full; the file was not changed",
    errno.EDQUOT: "your disk quota is used up; the file was not changed",
    errno.ENAMETOOLONG: "choose a shorter file name",
}

# system, process, when it was started (not in names of older versions), and a number of its own
_NAME = re.compile(r"\.robolin-([0-9a-f]{8})-([0-9]{1,10})-(?:([0-9a-f]{1,16})-)?[0-9a-f]{8}\.part")
# what tells one numbering of processes from another: a start of the system, and a container
_NUMBERINGS = ("/proc/sys/kernel/random/boot_id", "/proc/self/ns/pid")


@dataclass(frozen=True, slots=True)
class UnfinishedFile:
    """A file being written, the target it will become, and the permissions it will get."""

    path: Path
    target: Path
    mode: int | None


@contextmanager
def atomic_write(target: str | Path) -> Iterator[BinaryIO]:
    """Open a stream whose content shows up as `target` only once it is complete."""
    with atomic_write_all([target], put_in_place) as (stream,):
        yield stream


@contextmanager
def atomic_write_all(
    targets: Sequence[str | Path], put: Callable[[Sequence[UnfinishedFile]], None]
) -> Iterator[tuple[BinaryIO, ...]]:
    """Open one stream per target; no target changes before all of them are complete.

    put: then lets the files become their targets
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
    """Let every file become its target; of pipes and devices there are none."""
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
    """Whether the target is a pipe or a device, which is written directly."""
    try:
        mode = os.stat(target).st_mode
    except OSError:
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def require_writable(target: Path) -> None:
    """Refuse a target that is sure to fail, before any work is done for it."""
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
    # a short name of our own: the target's may leave no room for a suffix
    path = target.with_name(new_name())
    files.append(UnfinishedFile(path, target, mode))
    # nobody reads along while a private file is being replaced
    at_first = 0o666 if mode is None else 0o600
    return opened.enter_context(open(path, "x+b", opener=lambda p, f: os.open(p, f, at_first)))


def _resolved(target: Path) -> Path:
    """Where a file is to stand, links followed."""
    try:
        return target.resolve()
    except RuntimeError as error:
        # Python's own word for a link that leads to itself
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP)) from error


def _mode_to_keep(target: Path) -> int | None:
    """The permissions of the file about to be replaced; a new file gets the usual ones."""
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
    """Have what is written go to the disk on the way, so that in the end little is left to do."""
    done = Event()
    sync = getattr(os, "fdatasync", os.fsync)

    def push() -> None:
        while not done.wait(_SECONDS_BETWEEN):
            for stream in streams:
                # a pipe has no disk, and what is wrong with a disk is told at the end
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
    """Give back the memory of what is on the disk already, where a file takes much of it.

    The system would look for more and more new memory, which takes longer than writing, and
    forget what other programs will read again.
    """
    if hasattr(os, "posix_fadvise") and 512 * os.fstat(file).st_blocks > _TOO_LARGE_TO_KEEP:
        os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)


@contextmanager
def as_file_error(target: Path, hint: str = "") -> Iterator[None]:
    """Errors of the system while a target is written as ours; `hint` says what is so by now."""
    try:
        yield
    except BrokenPipeError:
        # whoever was reading has left; the command line ends quietly
        raise
    except OSError as error:
        if error.errno is None:
            # not the system says so, and writing has no part in it
            raise
        message = f"could not write: {error.strerror or error}"
        hint = hint or _HINTS.get(error.errno, "")
        raise FileError(message, where=str(target), hint=hint) from error


def new_name() -> str:
    """A name for a file that tells on which system and by which process it is written."""
    process = os.getpid()
    begun = _start_time(process)
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
            if found and found[1] == _system() and not _is_alive(int(found[2]), found[3]):
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


def _is_alive(process: int, begun: str | None) -> bool:
    """Whether the process is still there; numbers of processes are given away again."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        # it is somebody else's, or no number of a process
        pass
    now = _start_time(process)
    return begun is None or now is None or now == int(begun, 16)


def _start_time(process: int) -> int | None:
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


# whether a file is the one that a companion describes
Belongs = Callable[[Path, Path], bool]

# how long to wait for others at the same step, each of which takes a few milliseconds
_MOST_SECONDS, _paired_files_SECONDS_BETWEEN = 5.0, 0.005


def pending_path(companion: Path) -> Path:
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
    with atomic_write_all([companion, file], partial(_put_pair_in_place, belongs)) as streams:
        yield streams


def _put_pair_in_place(belongs: Belongs, files: Sequence[UnfinishedFile]) -> None:
    if len(files) < 2:
        # one of them is a pipe or a device, which has got its bytes already
        put_in_place(files)
        return
    give_permissions(files)
    companion, file = files
    waits = pending_path(companion.target)
    with _folder_lock(file.target.parent):
        with as_file_error(companion.target):
            _recover(file.target, companion.target, waits, belongs)
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


def _recover(file: Path, companion: Path, waits: Path, belongs: Belongs) -> None:
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
def _folder_lock(folder: Path) -> Iterator[None]:
    """One process at a time, so that of two that write a pair each puts both halves in place.

    Whoever waits in vain goes on: readers name halves that are of two pairs.
    """
    with _opened(folder) as number:
        end = time.monotonic() + _MOST_SECONDS
        while number is not None and not _locked(number) and time.monotonic() < end:
            time.sleep(_paired_files_SECONDS_BETWEEN)
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
