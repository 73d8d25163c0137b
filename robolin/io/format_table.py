"""Table of file formats: the capabilities of each, and the functions that implement them.

A new format is a module with its functions and one entry here.  Functions are named by module,
so that the table can be read without importing any of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from robolin.errors import UsageError

if TYPE_CHECKING:
    from robolin.core.results.result import ResultStream
    from robolin.io.provenance_reader import Meta
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
        assert self.stream_writer is not None, "the format can be streamed"
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
        assert self.provenance_reader is not None, "the format can return the provenance alone"
        meta: Meta = _function(self.provenance_reader)(stream, where)
        return meta

    def open_table(self, source: TableSource) -> TableFile:
        """Open a trajectory and read its column names."""
        assert self.table_opener is not None, "the format has trajectories"
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
    "npy": "robolin.io.formats.npy_reader:open_npy",
    "mat": "robolin.io.formats.mat_reader:open_mat_recording",
    **dict.fromkeys(("arrow", "feather"), "robolin.io.formats.arrow_reader:open_arrow"),
    **dict.fromkeys(("h5", "hdf5"), "robolin.io.formats.hdf5_reader:open_hdf5"),
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
            found: list[str] = _function(lists)(path)
            return found
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
