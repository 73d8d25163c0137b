"""Table of file formats with the functions that implement them, and the parts of a path.

A new format is a module with its functions and one entry here.  Functions are named by module,
so that the table can be read without importing any of them.
A path names a file, possibly compressed, an object in a store (s3://bucket/key), a part of
a recording (run.mcap:/joint_states, dataset/:3), or several files that are one recording
(positions.csv+efforts.csv).
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from importlib import import_module
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any, BinaryIO

from robolin.core.records import dataclass
from robolin.errors import UsageError

if TYPE_CHECKING:
    from robolin.core.result import ResultStream
    from robolin.io.provenance import Meta
    from robolin.io.stored import StoredFile
    from robolin.io.table_file import TableFile, TableSource


@dataclass(frozen=True)
class Format:
    """One format; every function is written 'module:function'.

    writer:        (ResultStream, path) writes a file, complete or not at all
    result_opener: (path) opens a stored result as a StoredFile, within a `with`
    stream_writer: (ResultStream, binary stream) writes into a pipe, if supported
    table_opener:  (TableSource) opens a trajectory as a TableFile, if supported
    read_piped:    whether a trajectory can be read from a pipe
    read_in_parts: whether a part of a trajectory can be read without the rest, as from a store
    holds_nan:     whether NaN can be written
    holds_infinity: whether infinity can be written
    text:          whether numbers are written as decimal text
    sealed:        whether the end of a file shows that the file is complete
    companion:     suffix of the second file that holds the provenance, '' if there is none
    provenance_reader: (binary stream, name for messages) reads the provenance alone
    """

    writer: str
    result_opener: str
    stream_writer: str | None = None
    table_opener: str | None = None
    read_piped: bool = False
    read_in_parts: bool = False
    holds_nan: bool = True
    holds_infinity: bool = True
    text: bool = False
    sealed: bool = False
    companion: str = ""
    provenance_reader: str | None = None

    def write(self, result: ResultStream, path: str | Path) -> None:
        """Write a result as a file."""
        _function(self.writer)(result, path)

    def write_to(self, result: ResultStream, stream: BinaryIO) -> None:
        """Write a result into an open stream."""
        assert self.stream_writer is not None, "the format supports streams"
        _function(self.stream_writer)(result, stream)

    def companion_path(self, path: str | Path) -> Path:
        """The path of the second file, which holds the provenance."""
        return Path(f"{path}{self.companion}")

    def open_result(self, path: Path) -> AbstractContextManager[StoredFile]:
        """Open a stored result and verify its provenance."""
        opened: AbstractContextManager[StoredFile] = _function(self.result_opener)(path)
        return opened

    def read_provenance(self, stream: BinaryIO, where: str) -> Meta:
        """Read the provenance from an open file without its numbers."""
        assert self.provenance_reader is not None, (
            "the format supports reading the provenance without the arrays"
        )
        meta: Meta = _function(self.provenance_reader)(stream, where)
        return meta

    def open_table(self, source: TableSource) -> TableFile:
        """Open a trajectory and read its column names."""
        assert self.table_opener is not None, "the format supports trajectories"
        table: TableFile = _function(self.table_opener)(source)
        return table


# by the extension of the file
FORMATS: dict[str, Format] = {
    "csv": Format(
        writer="robolin.io.formats.csv_writer:write_csv",
        stream_writer="robolin.io.formats.csv_writer:write_csv_to",
        result_opener="robolin.io.formats.csv_reader:open_csv",
        table_opener="robolin.io.formats.csv_reader:csv_table",
        read_piped=True,
        read_in_parts=True,
        holds_infinity=False,
        text=True,
        companion=".meta.json",
    ),
    "json": Format(
        writer="robolin.io.formats.json_writer:write_json",
        stream_writer="robolin.io.formats.json_writer:write_json_to",
        result_opener="robolin.io.formats.json_writer:open_json",
        holds_nan=False,
        holds_infinity=False,
        text=True,
    ),
    "npz": Format(
        writer="robolin.io.formats.npz_writer:write_npz",
        result_opener="robolin.io.formats.stored_npz:open_npz",
        table_opener="robolin.io.formats.npz_reader:npz_table",
        sealed=True,
    ),
    "parquet": Format(
        writer="robolin.io.formats.parquet_writer:write_parquet",
        result_opener="robolin.io.formats.parquet_writer:open_parquet",
        table_opener="robolin.io.formats.parquet_reader:parquet_table",
        read_in_parts=True,
        sealed=True,
        provenance_reader="robolin.io.formats.parquet_writer:parquet_provenance",
    ),
    "mat": Format(
        writer="robolin.io.formats.mat_results:write_mat_result",
        result_opener="robolin.io.formats.mat_results:open_mat",
    ),
}

# recordings of other programs, which are only read: (location, part, file, joints) opens one of
# them as a TableFile, within a `with`
RECORDINGS: dict[str, str] = {
    **dict.fromkeys(("bag", "mcap", "db3"), "robolin.io.formats.bag_reader:open_bag"),
    "npy": "robolin.io.formats.array_readers:open_npy",
    "mat": "robolin.io.formats.mat_reader:open_mat_recording",
    **dict.fromkeys(("arrow", "feather"), "robolin.io.formats.array_readers:open_arrow"),
    **dict.fromkeys(("h5", "hdf5"), "robolin.io.formats.array_readers:open_hdf5"),
}

# folders that are recordings: a function of the path that recognizes one, and its opener
RECORDED_FOLDERS: dict[str, str] = {
    "robolin.io.formats.bag_reader:is_bag_folder": "robolin.io.formats.bag_reader:open_bag",
    "robolin.io.formats.lerobot_episodes:is_dataset": (
        "robolin.io.formats.lerobot_episodes:open_dataset"
    ),
}

# folders that contain several recordings: a function of the path that returns their paths
RECORDED_PARTS: dict[str, str] = {
    "robolin.io.formats.lerobot_episodes:is_dataset": (
        "robolin.io.formats.lerobot_episodes:episode_paths"
    ),
}

# the format for people on a terminal; it has no file extension
TABLE = "table"

# the default format in a pipe
PIPED = "csv"


def format_named(path: str | Path) -> str:
    """The file extension of a path without its dot, which need not be a known format."""
    return Path(path).suffix.lower().removeprefix(".")


def with_companion(path: str | Path) -> list[str]:
    """The file, and its provenance file if the format has one."""
    known = FORMATS.get(format_named(path))
    return [str(path), f"{path}{known.companion}"] if known and known.companion else [str(path)]


def trajectory_formats() -> list[str]:
    """The formats in which trajectories can be read."""
    return [name for name, each in FORMATS.items() if each.table_opener]


def recording_opener(
    location: str,
) -> Callable[[str, str, str, Sequence[str]], AbstractContextManager[TableFile]] | None:
    """The function that opens a recording of another program as a table, or None."""
    path = Path(location)
    if not path.is_dir():
        opener = RECORDINGS.get(format_named(location))
        return None if opener is None else _function(opener)
    for recognizes, opener in RECORDED_FOLDERS.items():
        if _function(recognizes)(path):
            return _function(opener)
    return None


def recordings_in_folder(path: str) -> list[str]:
    """The paths of all recordings in a folder of another program; [] for a single recording."""
    for recognizes, lists in RECORDED_PARTS.items():
        if _function(recognizes)(Path(path)):
            paths: list[str] = _function(lists)(path)
            return paths
    return []


def stream_formats() -> list[str]:
    """The formats that can be written into a pipe."""
    return [name for name, each in FORMATS.items() if each.stream_writer]


def with_nan() -> list[str]:
    """The formats that can hold NaN."""
    return [name for name, each in FORMATS.items() if each.holds_nan]


def extensions(names: Iterable[str], last: str = " or ") -> str:
    """File extensions as text, such as '.csv, .json or .npz'."""
    *first, end = (f".{name}" for name in names)
    return f"{', '.join(first)}{last}{end}" if first else end


def require_known_format(
    path: str | Path, names: Iterable[str], what: str, hint: str, where: str = ""
) -> str:
    """The format of a path; an error that names `what` the formats are if it is not in `names`."""
    name = format_named(path)
    if name not in names:
        problem = (
            f"'.{name}' is not a supported {what}" if name else "the file name has no extension"
        )
        raise UsageError(problem, where=where or str(path), hint=hint)
    return name


def _function(reference: str) -> Callable[..., Any]:
    module, _, name = reference.partition(":")
    function: Callable[..., Any] = getattr(import_module(module), name)
    return function


def format_of(path: str, fmt: str | None) -> str:
    """The format in which a file is written."""
    extension = format_named(path)
    if extension not in FORMATS:
        if fmt is not None:
            return fmt
        problem = (
            f"unknown file extension '.{extension}'"
            if extension
            else "the file name has no extension"
        )
        raise UsageError(
            problem,
            where=path,
            hint=f"use one of {extensions(FORMATS, ', ')}",
        )
    if fmt is not None and fmt != extension:
        raise UsageError(
            f"--format {fmt} contradicts the file extension .{extension}",
            where=path,
            hint="omit --format; the extension sets the format",
        )
    return extension


SCHEMES = ("s3", "gs", "az", "hf")

_BEGINNINGS = tuple(f"{scheme}://" for scheme in SCHEMES)

# extensions of compressed files
PACKED = (".gz", ".zst")

# device and inode number, which identify a file under any name
FileIdentity = tuple[int, int]


def is_stored(path: str) -> bool:
    """Return whether a path is the URL of an object in a store."""
    return path.startswith(_BEGINNINGS)


def split_part(path: str) -> tuple[str, str]:
    """The path of the file or folder, and the part of it that is named; '' for all of it."""
    if is_stored(path):
        return path, ""
    location, colon, part = path.rpartition(":")
    if not colon or not location or os.path.exists(path) or not os.path.exists(location):
        return path, ""
    return location, part


JOIN = "+"


def split_files(path: str) -> list[str]:
    """The files of one recording, joined by +; a path without a second file is one file.

    A name may contain + itself: each of several files exists, or has an extension.
    """
    if JOIN not in path or is_stored(path) or os.path.exists(location_of(path)):
        return [path]
    files, first = [], 0
    pieces = path.split(JOIN)
    for end in range(1, len(pieces) + 1):
        # the shortest name that exists, so that a folder may contain + too
        name = JOIN.join(pieces[first:end])
        if os.path.isfile(location_of(name)) or recording_opener(location_of(name)):
            files.append(name)
            first = end
    if first < len(pieces):
        files = pieces
    named = all(os.path.exists(location_of(each)) or PurePath(each).suffix for each in files)
    return files if named and all(files) else [path]


def location_of(path: str) -> str:
    """The path of the file or folder, without the part of it that is named."""
    return split_part(path)[0]


def base_name(path: str) -> str:
    """The name in messages and results: without folders, with the part."""
    if len(files := split_files(path)) > 1:
        return JOIN.join(map(base_name, files))
    location, part = split_part(path)
    return f"{PurePath(location).name}:{part}" if part else PurePath(path).name


def compression(path: str) -> str:
    """'.gz' or '.zst' if the path has this extension, else ''."""
    suffix = PurePath(path).suffix.lower()
    return suffix if suffix in PACKED else ""


def uncompressed_name(path: str) -> str:
    """The path without the extension of its compression."""
    return path[: -len(ending)] if (ending := compression(path)) else path


def require_utf8_name(name: str) -> None:
    """Reject a file name that cannot be stored with a result."""
    try:
        name.encode()
    except UnicodeEncodeError:
        hint = "rename the file: results store file names as UTF-8"
        raise UsageError("the file name must be valid UTF-8", where=name, hint=hint) from None


def require_target(path: str, fmt: str | None) -> None:
    """Reject a file that could not be written, before anything is computed."""
    format_of(path, fmt)
    if is_stored(path):
        hint = "write parts with -o FOLDER/ --part-rows N, or write a local file and copy it"
        raise UsageError(
            "single files in an object store are not supported as output", where=path, hint=hint
        )
    # imported late: commands without an output file use this module too
    from robolin.io.atomic import require_writable

    require_writable(Path(path))


def require_output_is_no_input(output: str | Path | None, inputs: Iterable[str | Path]) -> None:
    """Reject an output that is one of the inputs, which it would overwrite.

    output: a file, or None for standard output
    inputs: files, or '-' for standard input; names that are not files are ignored
    """
    targets = {identity: name for name in _written(output) if (identity := _identity(name, 1))}
    if not targets:
        return
    for source in _each_file(inputs):
        for name in with_companion(source):
            written = targets.get(_identity(name, 0) or (-1, -1))
            if written is not None:
                raise _overwritten(written, name)


def require_outputs_are_no_inputs(
    outputs: Iterable[str | Path], inputs: Iterable[str | Path]
) -> None:
    """Reject any of several outputs that is one of the inputs."""
    names = (name for source in _each_file(inputs) for name in with_companion(source))
    read = {identity: name for name in names if (identity := _identity(name, 0))}
    for output in outputs:
        for name in with_companion(output):
            if (identity := _identity(name, 1)) in read:
                raise _overwritten(name, read[identity])


def _each_file(paths: Iterable[str | Path]) -> Iterator[str]:
    for path in paths:
        yield from split_files(str(path))


def _overwritten(written: str, read: str) -> UsageError:
    where = "standard output" if written == "-" else written
    source = "standard input" if read == "-" else f"'{read}'"
    message = f"the output must not be the input {source}"
    return UsageError(message, where=where, hint="use another file name")


def _written(output: str | Path | None) -> list[str]:
    return ["-"] if output is None else with_companion(output)


def _identity(name: str, standard: int) -> FileIdentity | None:
    """Device and inode of a regular file; None for pipes, devices and missing files."""
    try:
        status = os.fstat(_number(standard)) if name == "-" else os.stat(location_of(name))
    except (OSError, ValueError):
        return None
    return (status.st_dev, status.st_ino) if stat.S_ISREG(status.st_mode) else None


def _number(standard: int) -> int:
    """The file descriptor of standard input or output."""
    stream = (sys.stdin, sys.stdout)[standard]
    if stream is None:
        raise OSError("it is closed")
    return stream.fileno()


def file_stamp(status: os.stat_result) -> str:
    """A text that changes when a file is modified or replaced.

    The time of the last change of the inode (ctime) is set by the system alone.  The device is not
    included, because machines that share a file system number their devices differently.
    """
    return f"{status.st_size}-{status.st_mtime_ns}-{status.st_ctime_ns}-{status.st_ino}"
