"""Which episode of a LeRobot dataset is meant, and its rows.

Version 2 has a file for each episode and lists them in meta/episodes.jsonl; version 3 has many
in a file and lists them in meta/episodes/*/*.parquet.  The list says which file to read and how
many rows there have to be; which rows they are is told by their episode_index alone.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from robolin.core.arrays import Floats, Numbers
from robolin.core.quantity_table import COLUMN_WORDS, column_name
from robolin.core.text import pluralize
from robolin.errors import FileError, RobolinError, UsageError
from robolin.io.formats.parquet_reader import damaged_parquet, validated_footer
from robolin.io.table_file import (
    ReadRequest,
    TableBlock,
    TableFile,
    digest_of,
    mute_native_stderr,
    reject_decompression_bomb,
    require_finite_cells,
    require_polars_memory,
    row_location,
)

if TYPE_CHECKING:
    from polars import DataFrame, DataType, LazyFrame, Series


_NUMBER, _LENGTH, _CHUNK, _FILE = "episode_index", "length", "data/chunk_index", "data/file_index"
_LARGEST_LIST = 1 << 26
# as of any Parquet file with numbers
_LARGEST_RATIO = 1000


@dataclass(frozen=True)
class ListedEpisode:
    """What the list says of an episode: its rows, and the end of its file's path if it says so."""

    rows: int
    file: str


def episode_rows(folder: Path, part: str, file: str) -> tuple[DataFrame, list[Path]]:
    """The columns of numbers of an episode, and the files they were read from.

    part: its number, as 3 or episode_000003; '' is the only one
    """
    require_polars_memory(file)
    mute_native_stderr()
    files = sorted((folder / "data").glob("*/*.parquet"))
    if not files:
        raise FileError("it has no data/*/*.parquet", where=file, hint="is it all there?")
    with _parquet_errors(file):
        listed = _list(folder, file)
        number = _chosen(part, sorted(listed) or _numbers(files, file), file)
        about = listed.get(number)
        ending = about.file if about and about.file else f"episode_{number:06d}.parquet"
        files = [path for path in files if path.as_posix().endswith(f"/{ending}")] or files
        frame = _rows(files, number, file)
    if about is not None and len(frame) != about.rows:
        message = f"data/ has {len(frame)} of the {about.rows} rows of episode {number}"
        raise FileError(message, where=file, hint="is it all there?")
    return frame, files


def _list(folder: Path, file: str) -> dict[int, ListedEpisode]:
    """What the dataset says of its episodes, by their numbers; empty where it has no list."""
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
            yield json.loads(line)


def _listed(rows: Iterable[Any], file: str, page: str) -> Iterator[tuple[int, ListedEpisode]]:
    try:
        for row in rows:
            ending = ""
            if _CHUNK in row and _FILE in row:
                ending = f"chunk-{int(row[_CHUNK]):03d}/file-{int(row[_FILE]):03d}.parquet"
            yield int(row[_NUMBER]), ListedEpisode(int(row[_LENGTH]), ending)
    except (ValueError, LookupError, TypeError, RecursionError) as error:
        hint = f"each episode has its '{_NUMBER}' and its '{_LENGTH}' there"
        raise RobolinError(f"{page} is not understood", where=file, hint=hint) from error


def _numbers(files: Sequence[Path], file: str) -> list[int]:
    """The episodes that there are rows of."""
    found: set[int] = set()
    for path in files:
        lazy = _scanned(path, file, (_NUMBER,))
        _require_numbered(lazy, file)
        found.update(lazy.unique().collect()[_NUMBER].drop_nulls().cast(int).to_list())
    return sorted(found)


def _chosen(part: str, found: Sequence[int], file: str) -> int:
    """Which episode is meant."""
    if not part and len(found) == 1:
        return found[0]
    if not part:
        hint = f"{file.removesuffix('/')}/:{found[0] if found else 0} is the first one"
        raise UsageError(f"it has {pluralize(len(found), 'episode')}", where=file, hint=hint)
    number = part.removeprefix("episode_")
    if not (number.isdecimal() and number.isascii()) or int(number) not in found:
        hint = f"they go from {found[0]} to {found[-1]}" if found else "it has none at all"
        raise UsageError(f"there is no episode '{part}'", where=file, hint=hint)
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
        raise RobolinError(f"there is no column '{_NUMBER}'", where=file)


def _scanned(path: Path, file: str, names: Sequence[str] | None = None) -> LazyFrame:
    """A file whose columns of numbers, or those among these names, are all that is read."""
    import polars

    with path.open("rb") as stream:
        footer = validated_footer(stream, file)
        size = os.fstat(stream.fileno()).st_size
    lazy = polars.scan_parquet(path, glob=False, hive_partitioning=False)
    kinds = lazy.collect_schema()
    chosen = [n for n in kinds.names() if _of_numbers(kinds[n]) and (names is None or n in names)]
    chunks = [each for group in footer.groups for each in group.chunks]
    values = sum(each.values for each in chunks if each.name[0] in chosen)
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


# what the lists of a dataset are, where they are called as usual
FEATURES = {"observation.state": "q", "observation.velocity": "qd", "observation.effort": "tau"}
# how LeRobot's own robots end the names of what they measure
ENDINGS = {"q": ("pos", "q"), "qd": ("vel", "dq"), "tau": ("torque", "tau", "effort")}
_LARGEST_PAGE = 1 << 24


def feature_names(folder: Path, file: str) -> dict[str, list[str]]:
    """The names in the lists, by feature."""
    page = folder / "meta" / "info.json"
    try:
        with page.open("rb") as stream:
            info: Any = json.loads(stream.read(_LARGEST_PAGE))
        features: Any = info["features"]
        return {
            name: _lerobot_names_listed(each.get("names")) for name, each in dict(features).items()
        }
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        hint = "it has to say 'features', each with its 'names'"
        raise RobolinError("meta/info.json is not understood", where=file, hint=hint) from error


def _lerobot_names_listed(names: Any) -> list[str]:
    """Names of a list, which some write under another name, in a list of one, or with places."""
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
    """What the entries of a list are called: as columns here, where all joints are among them.

    elsewhere: quantities that have a list of their own
    """
    quantity = FEATURES.get(feature)
    if len(names) != width or len(set(names)) != width:
        if quantity is not None and width == len(joints):
            return [f"{COLUMN_WORDS[quantity]}[{i}]" for i in range(width)]
        return [f"{feature}[{i}]" for i in range(width)]
    plain = [f"{feature}/{name}" for name in names]
    if quantity is None or not joints:
        return plain
    found = [_column(quantity, name, joints, elsewhere) for name in names]
    columns = [one or other for one, other in zip(found, plain, strict=True)]
    wanted = {column_name(quantity, joint) for joint in joints}
    return columns if wanted <= set(columns) and len(set(columns)) == width else plain


def _column(
    quantity: str, name: str, joints: Collection[str], elsewhere: Collection[str]
) -> str | None:
    """The column of a joint that an entry is; None for what belongs to no joint."""
    if name in joints:
        return column_name(quantity, name)
    joint, _, ending = name.rpartition(".")
    told = next((each for each, endings in ENDINGS.items() if ending in endings), None)
    if joint not in joints or told is None:
        return None
    if quantity != "q":
        return column_name(quantity, joint)
    return None if told in elsewhere else column_name(told, joint)


def is_dataset(path: Path) -> bool:
    """Whether a folder is a dataset of LeRobot."""
    return (path / "meta" / "info.json").is_file()


@contextmanager
def open_dataset(place: str, part: str, file: str, joints: Sequence[str]) -> Iterator[TableFile]:
    """One episode as a table; `part` is its number, '' that of the only one."""
    folder = Path(place)
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
            found = [columns[known[i]][some] for i in request.indices]
            values = np.column_stack(found).astype(np.float64)
            whole = {i: columns[known[i]][some].astype(np.int64) for i in request.whole}
            block = TableBlock(values, row_location(file, first), first + len(values), whole)
            if not request.gaps:
                require_finite_cells(block, known, request, file, rows)
            yield block

    def whole(index: int) -> bool:
        return columns[known[index]].dtype.kind == "i"

    return TableFile(known, blocks, rows, lambda: rows, digest=str, whole=whole, units_known=False)


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
    """A column of int64, or of float64 where it has fractions, gaps or larger numbers."""
    import polars

    whole = series.dtype.is_integer() and series.dtype != polars.UInt64 and not series.null_count()
    return series.cast(polars.Int64 if whole else polars.Float64).to_numpy()


def _matrix(frame: DataFrame, name: str) -> Floats | None:
    """The numbers of lists that are all of one length; None for anything else."""
    import polars

    series = frame[name]
    if series.dtype.is_numeric():
        # LeRobot writes lists of one as numbers
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
    """SHA-256 of all files of the dataset that were looked at, one after the other."""
    digest = hashlib.sha256()
    for path in files:
        with path.open("rb") as stream:
            digest.update(digest_of(stream).encode())
    return digest.hexdigest()
