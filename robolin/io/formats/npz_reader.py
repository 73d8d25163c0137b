"""NPZ files with arrays q, qd, qdd, tau of shape (rows, n), and optionally `joints` and `time`.

Without any of these, every vector is a column with its own name, such as `elbow/position`, and
every matrix with as many rows has the columns NAME[0], NAME[1], …
"""

from __future__ import annotations

import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from math import prod
from tokenize import TokenError
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from robolin.core.arrays import Floats, Integers, datetime_unit
from robolin.core.quantity_table import COLUMN_WORDS, column_name
from robolin.core.records import dataclass
from robolin.errors import RobolinError, raise_all
from robolin.io.table_file import (
    ReadRequest,
    TableBlock,
    TableFile,
    TableSource,
    reject_decompression_bomb,
    require_finite_cells,
    row_location,
)

# what zipfile, its decompression and NumPy's parser of headers raise for a damaged archive
ARCHIVE_ERRORS = (
    *(zipfile.BadZipFile, zlib.error, struct.error, EOFError, OSError, ValueError),
    # an unknown version, encryption; a header that is not Python
    *(RuntimeError, SyntaxError, TokenError),
)

# bytes; more joints than any robot has
_LARGEST_NAMES = 1 << 22
# of a matrix that is not named after a quantity
_MOST_COLUMNS = 10_000
# half the ratio for zeros, of which no recording consists
_LARGEST_RATIO = 500


def npz_table(source: TableSource) -> TableFile:
    """Name every column as in a CSV: by its joint, or by its index without `joints`."""
    file = source.file
    with archive_errors(file):
        arrays = members(zipfile.ZipFile(source.stream), skip_objects=True)
        joint_names = _joint_names(arrays, file)
    parts = {name: arrays[name] for name in (*COLUMN_WORDS, "time") if name in arrays}
    others = _matrices(arrays)
    if others and not any(len(each.shape) == 2 for each in parts.values()):
        # quantities have other names
        parts = _by_rows(arrays, others)
    elif not parts.keys() & COLUMN_WORDS.keys():
        parts.update({name: each for name, each in arrays.items() if _is_column(each)})
    width = len(source.joints) if joint_names is None else len(joint_names)
    _require_shapes(parts, width, file)
    columns, names = _columns(parts, joint_names, width)
    rows = next((member.rows for member in parts.values()), 0)

    def blocks(request: ReadRequest) -> Iterator[TableBlock]:
        _require_motion({columns[i][0].name: columns[i][0] for i in request.indices}, file)
        for block in _blocks(columns, rows, request, file):
            if not request.allow_nan:
                require_finite_cells(block, names, request, file, rows)
            yield block

    return TableFile(
        names,
        blocks,
        size=rows,
        most_rows=lambda: rows,
        digest=source.digest,
        supports_slicing=True,
        # matrices contain joint quantities, which are floats
        is_integer=lambda i: columns[i][0].is_vector and columns[i][0].holds_integers,
        datetime_unit=lambda i: columns[i][0].unit if columns[i][0].is_vector else None,
    )


def _columns(
    parts: Mapping[str, NpzMember], joint_names: Sequence[str] | None, width: int
) -> tuple[list[tuple[NpzMember, int]], list[str]]:
    """The array and index of each column, and its name."""
    columns: list[tuple[NpzMember, int]] = []
    names: list[str] = []
    for name, member in parts.items():
        many = 1 if member.is_vector else member.shape[1]
        columns += [(member, i) for i in range(many)]
        if member.is_vector:
            names.append(name)
        elif joint_names is None or name not in COLUMN_WORDS:
            names += [f"{name}[{i}]" for i in range(many)]
        else:
            names += [column_name(name, joint) for joint in joint_names]
    return columns, names


def _blocks(
    columns: Sequence[tuple[NpzMember, int]], rows: int, request: ReadRequest, file: str
) -> Iterator[TableBlock]:
    chosen = [columns[i] for i in request.indices]
    at_once = request.rows
    with ExitStack() as opened, archive_errors(file):
        integer_readers = {i: columns[i][0].integer_reader(opened) for i in request.integers}
        chosen_members = {member.name: member for member, _ in chosen}
        readers = {name: member.reader(opened) for name, member in chosen_members.items()}
        within = request.within(rows)
        for first in range(0, within.start, at_once):
            for read in (*readers.values(), *integer_readers.values()):
                read(min(at_once, within.start - first))
        for first in within[::at_once]:
            count = min(at_once, within.stop - first)
            parts = {name: read(count) for name, read in readers.items()}
            values = np.stack([parts[member.name][:, i] for member, i in chosen], axis=1)
            integers = {i: read(count) for i, read in integer_readers.items()}
            yield TableBlock(values, row_location(file, first), first + count, integers)


def _is_column(member: NpzMember) -> bool:
    """Return whether an array can be a column: a vector of numbers or of date and time."""
    return member.is_vector and (member.dtype.kind in "iuf" or member.unit is not None)


def _matrices(arrays: Mapping[str, NpzMember]) -> dict[str, NpzMember]:
    """Matrices of numbers that are not named q, qd, qdd or tau, with as many rows as most."""
    matrices = {
        name: each
        for name, each in arrays.items()
        if name not in COLUMN_WORDS
        and len(each.shape) == 2
        and each.dtype.kind in "iuf"
        and 0 < each.shape[1] <= _MOST_COLUMNS
    }
    lengths = [each.rows for each in matrices.values()]
    rows = max(lengths, key=lengths.count, default=0)
    return {name: each for name, each in matrices.items() if each.rows == rows}


def _by_rows(
    arrays: Mapping[str, NpzMember], matrices: Mapping[str, NpzMember]
) -> dict[str, NpzMember]:
    """Vectors and matrices with the same number of rows: that of all vectors, or of the matrices.

    Vectors of several lengths are not all columns: some are settings.
    """
    vectors = {name: each for name, each in arrays.items() if _is_column(each)}
    lengths = {each.rows for each in vectors.values()}
    rows = lengths.pop() if len(lengths) == 1 else next(iter(matrices.values())).rows
    return {name: each for name, each in {**vectors, **matrices}.items() if each.rows == rows}


def _require_motion(chosen: Mapping[str, NpzMember], file: str) -> None:
    packed = sum(member.packed for member in chosen.values())
    reject_decompression_bomb(
        sum(prod(member.shape) * 8 for member in chosen.values()), packed, _LARGEST_RATIO, file
    )


def _joint_names(arrays: Mapping[str, NpzMember], file: str) -> list[str] | None:
    joints = arrays.get("joints")
    if joints is None:
        return None
    if len(joints.shape) != 1 or joints.dtype.kind != "U":
        raise RobolinError(
            "'joints' must be a list of names",
            where=file,
            hint="store one joint name (text) per column of q",
        )
    if joints.shape[0] * joints.dtype.itemsize > _LARGEST_NAMES:
        raise RobolinError(
            f"'joints' is too large: {joints.shape[0]} names of "
            f"{joints.dtype.itemsize // 4} characters",
            where=file,
            hint="store one name per joint",
        )
    return [str(name) for name in joints.read()]


def _require_shapes(parts: Mapping[str, NpzMember], width: int, file: str) -> None:
    problems = [
        RobolinError(
            f"'{name}' {problem}",
            where=file,
            hint=f"store arrays of shape (rows, {width}), and time as (rows,)",
        )
        for name, member in parts.items()
        if name in (*COLUMN_WORDS, "time") and (problem := _shape_problem(member, width))
    ]
    raise_all(problems)
    lengths = {name: member.rows for name, member in parts.items()}
    if len(set(lengths.values())) > 1:
        listed = ", ".join(f"{name} has {rows}" for name, rows in lengths.items())
        message = f"all arrays must have the same number of rows: {listed}"
        raise RobolinError(
            message, where=file, hint="store arrays of other lengths in another file"
        )


def _shape_problem(member: NpzMember, width: int) -> str:
    shape = member.shape
    is_datetime = member.name == "time" and member.unit is not None
    if member.dtype.kind not in "iuf" and not is_datetime:
        return f"must contain real numbers, got {member.dtype}"
    if member.name == "time" and member.dtype.itemsize > 8:
        return f"must contain at most 64-bit numbers, got {member.dtype}"
    if member.name == "time":
        return "" if len(shape) == 1 else f"must have shape (rows,), got {shape}"
    if len(shape) != 2 or shape[1] != width:
        return f"must have shape (rows, {width}), got {shape}"
    return ""


# the ratio that the deflate algorithm achieves for zeros
_LARGEST_DEFLATE_RATIO = 1032
_HEADERS: dict[tuple[int, int], Any] = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}


@dataclass(frozen=True)
class NpzMember:
    """An array that has not been read yet: its type, its shape and its archive."""

    archive: zipfile.ZipFile
    name: str
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    fortran_order: bool

    @property
    def rows(self) -> int:
        return self.shape[0]

    @property
    def is_vector(self) -> bool:
        return len(self.shape) == 1

    @property
    def packed(self) -> int:
        """Size in the archive in bytes."""
        return self.archive.getinfo(f"{self.name}.npy").compress_size

    def reader(self, opened: ExitStack) -> Callable[[int], Floats]:
        """A function that returns the next rows as float64, of shape (rows, columns)."""
        width = 1 if len(self.shape) == 1 else self.shape[1]
        if not self.fortran_order or width == 1:
            stream = self._opened(opened)
            return lambda rows: self._next(stream, rows * width).reshape(rows, width)
        # one stream per column, each positioned at the start of its column
        streams = [self._opened(opened) for _ in range(width)]
        for i, stream in enumerate(streams):
            _skip(stream, i * self.rows * self.dtype.itemsize)
        return lambda rows: np.column_stack([self._next(stream, rows) for stream in streams])

    @property
    def holds_integers(self) -> bool:
        return self.dtype.kind in "iu"

    @property
    def unit(self) -> str | None:
        """The unit of date and time, None for other types."""
        return datetime_unit(np.empty(0, self.dtype))

    def integer_reader(self, opened: ExitStack) -> Callable[[int], Integers]:
        """A function that returns the next numbers of a vector as int64."""
        stream = self._opened(opened)
        return lambda rows: _as_int64(self._raw(stream, rows))

    def read(self) -> npt.NDArray[Any]:
        """Read the complete array, for small arrays."""
        with self.archive.open(f"{self.name}.npy") as stream:
            return np.lib.format.read_array(stream, allow_pickle=False)

    def _opened(self, opened: ExitStack) -> IO[bytes]:
        stream = opened.enter_context(self.archive.open(f"{self.name}.npy"))
        _header(stream)
        return stream

    def _next(self, stream: IO[bytes], count: int) -> Floats:
        return self._raw(stream, count).astype(np.float64, copy=False)

    def _raw(self, stream: IO[bytes], count: int) -> npt.NDArray[Any]:
        return np.frombuffer(stream.read(count * self.dtype.itemsize), self.dtype, count)


def members(archive: zipfile.ZipFile, *, skip_objects: bool = False) -> dict[str, NpzMember]:
    """Every array of the archive by name; only the headers are read.

    skip_objects: leave out Python objects that do not have the name of a quantity
    """
    arrays = {}
    for entry in archive.namelist():
        info = archive.getinfo(entry)
        _require_plausible(info)
        # open every member: a damaged directory may differ from the local header
        with archive.open(entry) as stream:
            if not entry.endswith(".npy"):
                continue
            shape, fortran_order, dtype = _header(stream)
            size = info.file_size - stream.tell()
        name = entry.removesuffix(".npy")
        if dtype.hasobject:
            if not skip_objects or name in (*COLUMN_WORDS, "time", "joints"):
                raise ValueError(f"array '{name}' contains Python objects instead of numbers")
            continue
        if min(shape, default=0) < 0 or prod(shape) * dtype.itemsize != size:
            raise ValueError("the size of an array differs from its header")
        arrays[name] = NpzMember(archive, name, dtype, shape, fortran_order)
    return arrays


def _require_plausible(info: zipfile.ZipInfo) -> None:
    """Reject another compression than NumPy's, and impossible compression ratios."""
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise ValueError("the archive uses a compression method that NumPy does not write")
    ratio = 1 if info.compress_type == zipfile.ZIP_STORED else _LARGEST_DEFLATE_RATIO
    if info.file_size > ratio * info.compress_size + (1 << 16):
        raise ValueError("the declared size of a member is impossible")


@contextmanager
def archive_errors(file: str) -> Iterator[None]:
    """Raise errors of zipfile and NumPy in an archive as RobolinError about a damaged file."""
    try:
        yield
    except RobolinError:
        raise
    except ARCHIVE_ERRORS as error:
        raise RobolinError(
            "not a valid NPZ archive of plain arrays",
            where=file,
            hint="write the file with numpy.savez(file, q=…, qd=…, joints=[…])",
        ) from error


def _header(stream: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    version = np.lib.format.read_magic(stream)
    if version not in _HEADERS:
        raise ValueError("the format version is for structured arrays, which are not supported")
    shape, fortran_order, dtype = _HEADERS[version](stream)
    return shape, fortran_order, dtype


def _as_int64(values: npt.NDArray[Any]) -> Integers:
    if values.dtype.kind == "M":
        if np.isnat(values).any():
            raise RobolinError("'time' contains NaT", hint="remove the row")
        return values.astype(values.dtype.newbyteorder("=")).view(np.int64)
    if values.dtype.kind == "u" and values.max(initial=0) > np.iinfo(np.int64).max:
        raise ValueError("a number does not fit in 64 bits")
    return values.astype(np.int64, copy=False)


def _skip(stream: IO[bytes], size: int) -> None:
    while size > 0:
        size -= len(stream.read(min(size, 1 << 20))) or size
