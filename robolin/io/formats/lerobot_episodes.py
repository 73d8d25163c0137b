"""Which episode of a LeRobot dataset is meant, and its rows.

Version 2 has a file for each episode and lists them in meta/episodes.jsonl; version 3 has many
in a file and lists them in meta/episodes/*/*.parquet.  The list says which file to read and how
many rows there have to be; which rows they are is told by their episode_index alone.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from robolin.core.text import counted
from robolin.errors import FileError, RobolinError, UsageError
from robolin.io.formats.parquet_reader import damaged_parquet, sound_footer
from robolin.io.library_messages import silence_libraries
from robolin.io.polars_memory import require_polars_memory
from robolin.io.table_file import require_plausible

if TYPE_CHECKING:
    from polars import DataFrame, DataType, LazyFrame

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
    silence_libraries()
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
        raise UsageError(f"it has {counted(len(found), 'episode')}", where=file, hint=hint)
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
        footer = sound_footer(stream, file)
        size = os.fstat(stream.fileno()).st_size
    lazy = polars.scan_parquet(path, glob=False, hive_partitioning=False)
    kinds = lazy.collect_schema()
    chosen = [n for n in kinds.names() if _of_numbers(kinds[n]) and (names is None or n in names)]
    chunks = [each for group in footer.groups for each in group.chunks]
    values = sum(each.values for each in chunks if each.name[0] in chosen)
    require_plausible(8 * values, size, _LARGEST_RATIO, file)
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
