"""Read one episode of a LeRobot dataset.

Version 2 has one file per episode and lists them in meta/episodes.jsonl; version 3 has many
episodes per file and lists them in meta/episodes/*/*.parquet.  The list names the file and the
number of rows; the column episode_index selects the rows.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from robolin.core.arrays import Floats, Numbers
from robolin.core.progress import mute_native_stderr
from robolin.core.quantity_table import COLUMN_WORDS, column_name
from robolin.core.records import dataclass
from robolin.core.text import pluralize
from robolin.errors import FileError, RobolinError, UsageError
from robolin.io.formats.parquet_reader import damaged_parquet, validated_chunks
from robolin.io.provenance import matches
from robolin.io.table_file import (
    ReadRequest,
    TableBlock,
    TableFile,
    digest_of,
    reject_decompression_bomb,
    require_finite_cells,
    require_polars,
    row_location,
)

if TYPE_CHECKING:
    from polars import DataFrame, DataType, LazyFrame, Series


_NUMBER, _LENGTH, _CHUNK, _FILE = "episode_index", "length", "data/chunk_index", "data/file_index"
_LARGEST_LIST = 1 << 26
# as for any Parquet file with numbers
_LARGEST_RATIO = 1000


@dataclass(frozen=True)
class ListedEpisode:
    """Entry of the episode list: number of rows, and the end of the file's path or ''."""

    rows: int
    file: str


def episode_rows(folder: Path, part: str, file: str) -> tuple[DataFrame, list[Path]]:
    """The numeric columns of an episode, and the files they were read from.

    part: the episode number, as 3 or episode_000003; '' for the only episode
    """
    require_polars(file)
    mute_native_stderr()
    files = sorted((folder / "data").glob("*/*.parquet"))
    if not files:
        raise FileError(
            "the dataset has no file data/*/*.parquet",
            where=file,
            hint="download the complete dataset",
        )
    with _parquet_errors(file):
        listed = _list(folder, file)
        number = _chosen(part, sorted(listed) or _numbers(files, file), file)
        about = listed.get(number)
        ending = about.file if about and about.file else f"episode_{number:06d}.parquet"
        files = [path for path in files if path.as_posix().endswith(f"/{ending}")] or files
        frame = _rows(files, number, file)
    if about is not None and len(frame) != about.rows:
        message = f"episode {number} must have {about.rows} rows, got {len(frame)} in data/"
        raise FileError(message, where=file, hint="download the complete dataset")
    return frame, files


def episode_paths(path: str) -> list[str]:
    """The paths of all episodes of a dataset, in order: dataset/:0, dataset/:1, …"""
    folder = Path(path)
    require_polars(path)
    mute_native_stderr()
    with _parquet_errors(path):
        listed = sorted(_list(folder, path))
        numbers = listed or _numbers(sorted((folder / "data").glob("*/*.parquet")), path)
    return [f"{path.rstrip('/')}/:{number}" for number in numbers]


def _list(folder: Path, file: str) -> dict[int, ListedEpisode]:
    """The entries of the episode list by number; empty if the dataset has no list."""
    pages = sorted((folder / "meta" / "episodes").glob("*/*.parquet"))
    if pages:
        return dict(_listed(_listed_rows(pages, file), file, "meta/episodes"))
    lines = folder / "meta" / "episodes.jsonl"
    if not lines.is_file():
        return {}
    with lines.open("rb") as stream:
        text = stream.read(_LARGEST_LIST)
    return dict(_listed(_parsed(text), file, lines.name))


def _listed_rows(pages: Sequence[Path], file: str) -> Iterator[Mapping[str, Any]]:
    for page in pages:
        lazy = _scanned(page, file, (_NUMBER, _LENGTH, _CHUNK, _FILE))
        yield from lazy.collect().iter_rows(named=True)


def _parsed(text: bytes) -> Iterator[Any]:
    for line in text.splitlines():
        if line.strip():
            try:
                yield json.loads(line)
            except (ValueError, RecursionError):
                # rejected with the rows that lack a number
                yield None


def _listed(rows: Iterable[Any], file: str, page: str) -> Iterator[tuple[int, ListedEpisode]]:
    for row in rows:
        ending, needed = "", {_NUMBER: int, _LENGTH: int}
        placed = isinstance(row, dict) and _CHUNK in row and _FILE in row
        if not matches(row, needed | ({_CHUNK: int, _FILE: int} if placed else {})):
            hint = f"each episode must have the keys '{_NUMBER}' and '{_LENGTH}'"
            raise RobolinError(f"{page} is invalid", where=file, hint=hint)
        if placed:
            ending = f"chunk-{row[_CHUNK]:03d}/file-{row[_FILE]:03d}.parquet"
        yield row[_NUMBER], ListedEpisode(row[_LENGTH], ending)


def _numbers(files: Sequence[Path], file: str) -> list[int]:
    """The episode numbers that occur in the data."""
    numbers: set[int] = set()
    for path in files:
        lazy = _scanned(path, file, (_NUMBER,))
        _require_numbered(lazy, file)
        numbers.update(lazy.unique().collect()[_NUMBER].drop_nulls().cast(int).to_list())
    return sorted(numbers)


def _chosen(part: str, numbers: Sequence[int], file: str) -> int:
    """The selected episode number."""
    if not part and len(numbers) == 1:
        return numbers[0]
    if not part:
        hint = (
            "select an episode, for example "
            f"{file.removesuffix('/')}/:{numbers[0] if numbers else 0}; "
            "most commands compute all episodes with --trajectory; "
            "in Python, robolin.recording_paths lists the episodes"
        )
        raise UsageError(
            f"the dataset has {pluralize(len(numbers), 'episode')}, so one episode must be "
            "selected",
            where=file,
            hint=hint,
        )
    number = part.removeprefix("episode_")
    if not (number.isdecimal() and number.isascii()) or int(number) not in numbers:
        hint = (
            f"choose an episode from {numbers[0]} to {numbers[-1]}"
            if numbers
            else "the dataset has no episodes"
        )
        raise UsageError(f"unknown episode '{part}'", where=file, hint=hint)
    return int(number)


def _rows(files: Sequence[Path], number: int, file: str) -> DataFrame:
    import polars

    frames = []
    for path in files:
        lazy = _scanned(path, file)
        _require_numbered(lazy, file)
        frames.append(lazy.filter(polars.col(_NUMBER) == number).collect())
    some = [frame for frame in frames if len(frame)]
    return polars.concat(some) if len(some) > 1 else (some or frames)[0]


def _require_numbered(lazy: LazyFrame, file: str) -> None:
    if _NUMBER not in lazy.collect_schema().names():
        raise RobolinError(f"column '{_NUMBER}' is missing", where=file)


def _scanned(path: Path, file: str, names: Sequence[str] | None = None) -> LazyFrame:
    """A lazy frame of the numeric columns of a file, or of those among `names`."""
    import polars

    with path.open("rb") as stream:
        chunks = validated_chunks(stream, file)
        size = os.fstat(stream.fileno()).st_size
    lazy = polars.scan_parquet(path, glob=False, hive_partitioning=False)
    kinds = lazy.collect_schema()
    chosen = [n for n in kinds.names() if _of_numbers(kinds[n]) and (names is None or n in names)]
    paths = {(name.encode(),) for name in chosen}
    values = sum(each.values for each in chunks if each.name[:1] in paths)
    reject_decompression_bomb(8 * values, size, _LARGEST_RATIO, file)
    return lazy.select(chosen)


def _of_numbers(kind: DataType) -> bool:
    inner = getattr(kind, "inner", None)
    return kind.is_numeric() or (inner is not None and inner.is_numeric())


@contextmanager
def _parquet_errors(file: str) -> Iterator[None]:
    import polars

    try:
        yield
    except (polars.exceptions.PolarsError, polars.exceptions.PanicException) as error:
        raise damaged_parquet(file) from error


# quantities of features with standard names
FEATURES = {"observation.state": "q", "observation.velocity": "qd", "observation.effort": "tau"}
# suffixes that LeRobot's own robots use for measured quantities
ENDINGS: dict[str, tuple[str, ...]] = {
    "q": ("pos", "q"),
    "qd": ("vel", "dq"),
    "tau": ("torque", "tau", "effort"),
}
_LARGEST_PAGE = 1 << 24


def feature_names(folder: Path, file: str) -> dict[str, list[str]]:
    """The names of the entries of each feature."""
    with (folder / "meta" / "info.json").open("rb") as stream:
        text = stream.read(_LARGEST_PAGE)
    try:
        info: Any = json.loads(text)
    except (ValueError, RecursionError):
        info = None
    if not matches(info, {"features": {str: dict}}):
        hint = "the file must contain 'features', each with 'names'"
        raise RobolinError("meta/info.json is invalid", where=file, hint=hint)
    return {
        name: _lerobot_names_listed(each.get("names")) for name, each in info["features"].items()
    }


def _lerobot_names_listed(names: Any) -> list[str]:
    """Names of a feature's entries, which may be nested or mapped to their indices."""
    if isinstance(names, Mapping):
        if names and sorted(map(str, names.values())) == sorted(map(str, range(len(names)))):
            return sorted(map(str, names), key=lambda name: int(names[name]))
        lists = [each for each in names.values() if isinstance(each, list)]
        names = lists[0] if len(lists) == 1 else None
    if isinstance(names, list) and len(names) == 1 and isinstance(names[0], list):
        names = names[0]
    return [str(name) for name in names] if isinstance(names, list) else []


def columns_of(
    feature: str,
    names: Sequence[str],
    width: int,
    joints: Sequence[str],
    elsewhere: Collection[str],
) -> list[str]:
    """Column names for the entries of a feature: standard names if all joints are among them.

    elsewhere: quantities that have a feature of their own
    """
    quantity = FEATURES.get(feature)
    if len(names) != width or len(set(names)) != width:
        if quantity is not None and width == len(joints):
            return [f"{COLUMN_WORDS[quantity]}[{i}]" for i in range(width)]
        return [f"{feature}[{i}]" for i in range(width)]
    plain = [f"{feature}/{name}" for name in names]
    if quantity is None or not joints:
        return plain
    standard = [_column(quantity, name, joints, elsewhere) for name in names]
    columns = [one or other for one, other in zip(standard, plain, strict=True)]
    required = {column_name(quantity, joint) for joint in joints}
    return columns if required <= set(columns) and len(set(columns)) == width else plain


def _column(
    quantity: str, name: str, joints: Collection[str], elsewhere: Collection[str]
) -> str | None:
    """The standard column name of an entry; None if it does not belong to a joint."""
    if name in joints:
        return column_name(quantity, name)
    joint, _, ending = name.rpartition(".")
    measured = next((each for each, endings in ENDINGS.items() if ending in endings), None)
    if joint not in joints or measured is None:
        return None
    if quantity != "q":
        return column_name(quantity, joint)
    return None if measured in elsewhere else column_name(measured, joint)


def is_dataset(path: Path) -> bool:
    """Return whether a folder is a LeRobot dataset."""
    return (path / "meta" / "info.json").is_file()


@contextmanager
def open_dataset(location: str, part: str, file: str, joints: Sequence[str]) -> Iterator[TableFile]:
    """One episode as a table; `part` is its number, '' for the only one."""
    folder = Path(location)
    names = feature_names(folder, file)
    frame, files = episode_rows(folder, part, file)
    table = _table(frame, names, joints, file)
    yield replace(table, digest=lambda: _digest([folder / "meta" / "info.json", *files]))


def _table(
    frame: DataFrame, names: Mapping[str, Sequence[str]], joints: Sequence[str], file: str
) -> TableFile:
    columns = _columns(frame, names, joints)
    known, rows = list(columns), len(frame)

    def blocks(request: ReadRequest) -> Iterator[TableBlock]:
        for first in range(0, rows, request.rows):
            some = slice(first, first + request.rows)
            selected = [columns[known[i]][some] for i in request.indices]
            values = np.column_stack(selected).astype(np.float64)
            integers = {i: columns[known[i]][some].astype(np.int64) for i in request.integers}
            block = TableBlock(values, row_location(file, first), first + len(values), integers)
            if not request.allow_nan:
                require_finite_cells(block, known, request, file, rows)
            yield block

    def is_integer(index: int) -> bool:
        return columns[known[index]].dtype.kind == "i"

    return TableFile(
        known, blocks, rows, lambda: rows, digest=str, is_integer=is_integer, units_known=False
    )


def _columns(
    frame: DataFrame, names: Mapping[str, Sequence[str]], joints: Sequence[str]
) -> dict[str, Numbers]:
    columns: dict[str, Numbers] = {}
    elsewhere = {FEATURES[name] for name in frame.columns if FEATURES.get(name, "q") != "q"}
    for name in frame.columns:
        if frame.schema[name].is_numeric() and name not in FEATURES:
            columns[name] = _lerobot_reader_numbers(frame[name])
        elif (values := _matrix(frame, name)) is not None:
            entries = columns_of(name, names.get(name, ()), values.shape[1], joints, elsewhere)
            columns.update(zip(entries, values.T, strict=True))
    return columns


def _lerobot_reader_numbers(series: Series) -> Numbers:
    """A column as int64, or as float64 if it has fractions, nulls or larger integers."""
    import polars

    fits_int64 = (
        series.dtype.is_integer() and series.dtype != polars.UInt64 and not series.null_count()
    )
    return series.cast(polars.Int64 if fits_int64 else polars.Float64).to_numpy()


def _matrix(frame: DataFrame, name: str) -> Floats | None:
    """A column of lists of equal length as a matrix; None for any other column."""
    import polars

    series = frame[name]
    if series.dtype.is_numeric():
        # LeRobot writes lists of length 1 as numbers
        return series.cast(polars.Float64).to_numpy().reshape(-1, 1)
    if not len(frame):
        return None
    series = series.arr.to_list() if isinstance(series.dtype, polars.Array) else series
    lengths = series.list.len()
    if series.null_count() or lengths.n_unique() != 1 or not lengths[0]:
        return None
    flat = series.explode().cast(polars.Float64).to_numpy()
    return np.asarray(flat, dtype=np.float64).reshape(len(frame), -1)


def _digest(files: Sequence[Path]) -> str:
    """SHA-256 of the hashes of all files that were read."""
    digest = hashlib.sha256()
    for path in files:
        with path.open("rb") as stream:
            digest.update(digest_of(stream).encode())
    return digest.hexdigest()
