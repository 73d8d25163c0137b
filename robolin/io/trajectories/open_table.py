"""Open a trajectory file or folder of any format as a table."""

from __future__ import annotations

import io
import os
import stat
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from importlib import import_module
from typing import Any, BinaryIO, cast

from robolin.core.quantity_table import COLUMN_WORDS
from robolin.core.text import did_you_mean, path_hint
from robolin.errors import FileError, RobolinError, UsageError
from robolin.io.format_table import (
    FORMATS,
    PACKED,
    PIPED,
    RECORDINGS,
    compression,
    extensions,
    file_stamp,
    is_stored,
    recording_opener,
    require_known_format,
    split_files,
    split_part,
    trajectory_formats,
    uncompressed_name,
)
from robolin.io.formats.line_reader import DelimiterTranslator
from robolin.io.table_file import FileIndex, TableFile, TableSource
from robolin.io.trajectories.columns import time_index
from robolin.io.trajectories.joined_files import open_joined
from robolin.io.trajectories.read_options import AS_IT_IS, ReadOptions

_BUFFER = 1 << 20

# further extensions of numeric text tables
TEXT_ENDINGS = (".tsv", ".txt", ".tab", ".dat")


@contextmanager
def open_table(
    path: str,
    file: str,
    joints: Sequence[str],
    known: FileIndex | None = None,
    live: bool = False,
    rules: ReadOptions = AS_IT_IS,
) -> Iterator[TableFile]:
    """Open a file, a recording, a part of one or several files as a table.

    known: properties known from an earlier scan
    live:  whether each row is returned as soon as it arrives
    rules: whether a text has column names, and how several files are joined
    """
    header = rules.header
    if len(files := split_files(path)) > 1:
        with open_joined(
            files,
            lambda each: open_table(each, each, joints, rules=rules),
            lambda table: time_index(table.names, rules),
            rules.join,
        ) as table:
            yield table
        return
    if is_stored(path):
        with _stored_table(path, file, joints, known, header) as table:
            yield table
        return
    location, part = split_part(path)
    opener = recording_opener(location)
    if opener is not None:
        with ExitStack() as stack:
            with read_errors(file):
                if not os.path.exists(location):
                    raise FileError("no such file", where=file, hint=path_hint(location))
                table = stack.enter_context(opener(location, part, file, joints))
            yield table
        return
    _require_no_folder(location, file)
    form = _format(path)
    _require_text_without_header(form, header, file)
    with _opened(path, file, form, header) as (stream, regular, origin):
        opened = file_stamp(os.fstat(stream.fileno())) if regular else ""
        arguments = (path, file, regular, joints, known, live, opened, header, origin)
        yield _table(form, TableSource(stream, *arguments))


@contextmanager
def _stored_table(
    path: str, file: str, joints: Sequence[str], known: FileIndex | None, header: bool
) -> Iterator[TableFile]:
    """Open an object in a store, and check that it is not replaced while it is read."""
    from robolin.io import object_stores
    from robolin.io.locations import local_copy
    from robolin.io.object_stores import StorePath

    form, version = _format(path), object_stores.require_exists(path)
    _require_text_without_header(form, header, file)
    known = known or FileIndex(version.text)
    with ExitStack() as stack:
        if FORMATS[form].read_in_parts and (
            FORMATS[form].text or object_stores.is_read_by_polars(path)
        ):
            stream, regular, _ = stack.enter_context(_opened(path, file, form, header))
            source = TableSource(stream, path, file, regular, joints, known, header=header)
            yield _table(form, source)
        else:
            # random access requires a local file
            here = stack.enter_context(local_copy(StorePath(path)))
            stream = stack.enter_context(open(here, "rb"))
            yield _table(form, TableSource(stream, str(here), file, True, joints, known))
    object_stores.require_same_version(path, version)


def _require_no_folder(location: str, file: str) -> None:
    """Reject a folder that does not exist or is not a recording of another program."""
    if os.path.isdir(location):
        hint = (
            "use a folder that contains metadata.yaml (ROS bag) or meta/info.json (LeRobot dataset)"
        )
        raise FileError("the folder is not a recording", where=file, hint=hint)
    if location.endswith(("/", os.sep)):
        raise FileError("no such folder", where=file, hint="check the path")


def _require_text_without_header(form: str, header: bool, file: str) -> None:
    if not (header or FORMATS[form].text):
        message = f"--no-header applies only to text files; .{form} files contain column names"
        raise UsageError(message, where=file, hint="remove --no-header")


def is_text(path: str) -> bool:
    """Return whether a recording is a text table, compressed or not."""
    return not is_other_programs(path) and FORMATS[_format(path)].text


def is_other_programs(path: str) -> bool:
    """Return whether a recording is a bag, a dataset of another program, or several files."""
    if is_stored(path):
        return False
    return len(split_files(path)) > 1 or recording_opener(split_part(path)[0]) is not None


def can_be_reopened(path: str) -> bool:
    """Return whether a recording can be read twice: not a pipe or a device."""
    if len(files := split_files(path)) > 1:
        return all(map(can_be_reopened, files))
    if path == "-" or is_stored(path) or is_other_programs(path):
        return path != "-"
    return os.path.isfile(path)


@contextmanager
def recording_bytes(path: str, header: bool = True) -> Iterator[BinaryIO]:
    """The bytes of a recording that are hashed: text uncompressed and comma-separated."""
    with read_errors(path), _opened(path, path, _format(path), header) as (stream, *_):
        yield stream


def _format(path: str) -> str:
    if path == "-":
        return PIPED
    known = trajectory_formats()
    name = uncompressed_name(path)
    if name.lower().endswith(TEXT_ENDINGS):
        return "csv"
    others = extensions([*(each for each in known if each != "csv"), *RECORDINGS], ", ")
    hint = (
        f"use one of {', '.join(['.csv', *TEXT_ENDINGS])} (also compressed: {', '.join(PACKED)}), "
        f"{others}, or - for {PIPED.upper()} on stdin"
    )
    if is_stored(path):
        hint = f"use one of {extensions(known, ', ')}; copy bags and datasets to a local disk first"
    return require_known_format(name, known, "trajectory format", hint, where=path)


def _object(path: str) -> BinaryIO:
    """Open an object in a store; imported late, because files do not need the store packages."""
    from robolin.io.object_stores import open_object

    return open_object(path)


@contextmanager
def _opened(
    path: str, file: str, form: str, header: bool
) -> Iterator[tuple[BinaryIO, bool, BinaryIO | None]]:
    """The bytes of a file, and whether they can be read again unchanged from its path.

    The third value is the file on a disk, if its bytes are decompressed or translated.
    """
    if path == "-":
        held = sys.stdin.buffer
        # unbuffered, so that no lock is held while a thread waits for input
        yield getattr(held, "raw", held), False, None
        return
    with ExitStack() as stack:
        try:
            stored = stack.enter_context(_object(path)) if is_stored(path) else None
            held = stored or stack.enter_context(open(path, "rb", buffering=_BUFFER))
            packed, on_disk = bool(compression(path)), not stored and _is_file(held)
            stream = stack.enter_context(opened_compressed(path, held)) if packed else held
        except FileNotFoundError as error:
            raise FileError("no such file", where=file, hint=path_hint(path)) from error
        except OSError as error:
            raise FileError(f"could not read: {error.strerror or error}", where=file) from error
        regular = not packed and (stored is not None or on_disk)
        if form == "csv" and (regular or packed):
            commas = DelimiterTranslator(stream, file, header)
            if regular and not commas.translates:
                stream.seek(0)
            else:
                stream, regular = cast(BinaryIO, commas), False
        yield stream, regular, held if on_disk and not regular else None


def _is_file(stream: BinaryIO) -> bool:
    return stat.S_ISREG(os.fstat(stream.fileno()).st_mode)


def _table(form: str, source: TableSource) -> TableFile:
    with read_errors(source.file):
        if not (source.regular or FORMATS[form].read_piped):
            piped = " and ".join(n.upper() for n, each in FORMATS.items() if each.read_piped)
            hint = f"use an uncompressed file: only {piped} can be compressed or read from a pipe"
            raise FileError(
                "must be a regular file, not a pipe, a device or a compressed file",
                where=source.file,
                hint=hint,
            )
        return FORMATS[form].open_table(source)


@contextmanager
def read_errors(file: str) -> Iterator[None]:
    """Raise errors of the system while a file is read as FileError."""
    try:
        yield
    except OSError as error:
        raise FileError(f"could not read: {error.strerror or error}", where=file) from error


def passthrough_columns(names: Sequence[str], rules: ReadOptions, where: str) -> dict[str, int]:
    """The indices of the columns to copy to the result, by name."""
    indices: dict[str, int] = {}
    for name in rules.carry:
        if name not in names:
            hint = did_you_mean(
                name, list(names), "check the column names in the first line of the file"
            )
            raise RobolinError(f"unknown column '{name}'", where=where, hint=hint)
        if list(names).count(name) > 1:
            message = f"column '{name}' occurs more than once"
            raise RobolinError(message, where=where, hint="keep only one of these columns")
        indices[name] = names.index(name)
    return indices


def require_units(rules: ReadOptions, where: str) -> None:
    """Reject a dataset without a known angle unit, unless an option states it."""
    if not (rules.degrees or rules.radians):
        message = "the unit of the angles is unknown"
        hint = (
            "add --degrees or --radians; if the values are normalized, convert them to angles first"
        )
        raise UsageError(message, where=where, hint=hint)


def derivable(
    names: Sequence[str], quantities: Sequence[str], rules: ReadOptions
) -> tuple[str, ...]:
    """Required velocities and accelerations that the file has no columns for."""
    if rules.free_turns:
        message = "velocities of ball and free joints are not derivatives of their angles"
        hint = "add velocity columns"
        raise UsageError(message, where=f"--differentiate={rules.differentiate}", hint=hint)
    present = {
        short
        for short, word in COLUMN_WORDS.items()
        if any(_means(name, short, word) for name in names)
    }
    # torques determine accelerations
    decided = "tau" in present and "tau" in quantities and not rules.measured
    missing = ("qd",) if decided else ("qd", "qdd")
    return tuple(name for name in missing if name in quantities and name not in present)


def _means(name: str, short: str, word: str) -> bool:
    """Return whether a column has a name of this quantity, for any joint."""
    styles = (f"/{word}", f".{short}")
    numbered = name.removeprefix(short)
    return (
        name.endswith(styles)
        or name.startswith(f"{short}_")
        or (numbered != name and numbered.strip("[]").isdigit())
    )


_PACKED_AT_ONCE = 1 << 10


@contextmanager
def opened_compressed(path: str, file: BinaryIO) -> Iterator[BinaryIO]:
    """The decompressed bytes of an open file as a stream; damage raises FileError."""
    with _OPENERS[compression(path)](file, path) as stream:
        yield cast(BinaryIO, _Checked(stream, path))


class _Checked(io.RawIOBase):
    """A stream that raises errors of decompression as FileError."""

    def __init__(self, stream: Any, path: str) -> None:
        self._stream, self._path = stream, path

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        try:
            data: bytes = self._stream.read(size)
        except (EOFError, ValueError, OSError) as error:
            hint = "the file is truncated or damaged; copy it again"
            message = f"decompression failed: {error}"
            raise FileError(message, where=self._path, hint=hint) from error
        except Exception as error:
            if type(error).__name__ not in ("error", "ZstdError"):
                raise
            message, hint = f"decompression failed: {error}", "the file is damaged; copy it again"
            raise FileError(message, where=self._path, hint=hint) from error
        return data


def _gzip(file: BinaryIO, path: str) -> Any:
    import gzip

    return gzip.open(file, "rb")


def _zstandard(file: BinaryIO, path: str) -> Any:
    try:
        zstandard: Any = import_module("zstandard")
    except ImportError:
        hint = "pip install zstandard, or decompress the file: unzstd FILE"
        raise RobolinError(
            ".zst files require the package zstandard", where=path, hint=hint
        ) from None
    return _Zstandard(file, zstandard.ZstdDecompressor().decompressobj)


class _Zstandard(io.RawIOBase):
    """Decompresses frame by frame; zstandard's own reader takes a truncated file for complete."""

    def __init__(self, file: BinaryIO, frame: Callable[[], Any]) -> None:
        self._file = file
        self._frame, self._current = frame, None
        self._packed, self._ready = b"", bytearray()

    def read(self, size: int = -1) -> bytes:
        while (size < 0 or len(self._ready) < size) and self._unpack():
            pass
        size = len(self._ready) if size < 0 else size
        data = bytes(self._ready[:size])
        del self._ready[:size]
        return data

    def _unpack(self) -> bool:
        """Decompress some more bytes; False at the end of the file."""
        # small steps, because they may expand to much data
        packed = self._packed or self._file.read(_PACKED_AT_ONCE)
        if not packed and self._current is not None:
            raise EOFError("the file ends inside a compressed frame")
        if not packed:
            return False
        current = self._current or self._frame()
        self._ready += current.decompress(packed)
        self._packed = current.unused_data if current.eof else b""
        self._current = None if current.eof else current
        return True


_OPENERS: dict[str, Callable[[BinaryIO, str], Any]] = dict(
    zip(PACKED, (_gzip, _zstandard), strict=True)
)
