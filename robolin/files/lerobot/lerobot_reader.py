"""Episodes of LeRobot datasets as tables: Parquet files, and meta/info.json with their names.

The names of joints are told there, their units are not: whoever reads an angle must be told.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from robolin.arrays import Floats
from robolin.errors import FileError, RobolinError, UsageError
from robolin.files.library_words import hush_libraries
from robolin.files.parquet.parquet_reader import damaged_parquet, sound_footer
from robolin.files.polars_room import require_polars_room
from robolin.files.table_file import (
    ReadRequest,
    TableBlock,
    TableFile,
    counted_place,
    digest_of,
    require_finite,
)
from robolin.quantities import COLUMN_WORDS, column_name
from robolin.wording import counted

if TYPE_CHECKING:
    from polars import DataFrame

# what the lists of a dataset are, where they are called as usual
FEATURES = {"observation.state": "q", "observation.velocity": "qd", "observation.effort": "tau"}
_EPISODE, _TIME = "episode_index", "timestamp"
_LARGEST_PAGE = 1 << 24


def is_dataset(path: Path) -> bool:
    """Whether a folder is a dataset of LeRobot."""
    return (path / "meta" / "info.json").is_file()


@contextmanager
def open_dataset(place: str, part: str, file: str, joints: Sequence[str]) -> Iterator[TableFile]:
    """One episode as a table; `part` is its number, '' that of the only one."""
    folder = Path(place)
    names = _names(folder, file)
    files = sorted((folder / "data").glob("*/*.parquet"))
    if not files:
        raise FileError("it has no data/*/*.parquet", where=file, hint="is it all there?")
    frame = _episode(files, part, file)
    table = _table(frame, names, joints, file)
    yield replace(table, digest=lambda: _digest([folder / "meta" / "info.json", *files]))


def _names(folder: Path, file: str) -> dict[str, list[str]]:
    """The names in the lists, by feature."""
    page = folder / "meta" / "info.json"
    try:
        with page.open("rb") as stream:
            info: Any = json.loads(stream.read(_LARGEST_PAGE))
        features: Any = info["features"]
        return {name: _listed(each.get("names")) for name, each in dict(features).items()}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        hint = "it has to say 'features', each with its 'names'"
        raise RobolinError("meta/info.json is not understood", where=file, hint=hint) from error


def _listed(names: Any) -> list[str]:
    """Names of a list, which some write under another name, such as 'motors'."""
    if isinstance(names, Mapping):
        lists = [each for each in names.values() if isinstance(each, list)]
        names = lists[0] if len(lists) == 1 else None
    return [str(name) for name in names] if isinstance(names, list) else []


def _episode(files: Sequence[Path], part: str, file: str) -> DataFrame:
    require_polars_room(file)
    hush_libraries()
    import polars

    for path in files:
        with path.open("rb") as stream:
            sound_footer(stream, file)
    try:
        lazy = polars.scan_parquet(list(files), glob=False, hive_partitioning=False)
        if _EPISODE not in lazy.collect_schema().names():
            raise RobolinError(f"there is no column '{_EPISODE}'", where=file)
        found = lazy.select(polars.col(_EPISODE).unique().sort()).collect()[_EPISODE].to_list()
        number = _number(part, found, file)
        return lazy.filter(polars.col(_EPISODE) == number).collect()
    except (polars.exceptions.PolarsError, polars.exceptions.PanicException) as error:
        raise damaged_parquet(file) from error


def _number(part: str, found: Sequence[Any], file: str) -> int:
    """Which episode is meant."""
    if not part and len(found) == 1:
        return int(found[0])
    hint = f"{file.removesuffix('/')}/:{found[0] if found else 0} is the first one"
    if not part:
        raise UsageError(f"it has {counted(len(found), 'episode')}", where=file, hint=hint)
    if not part.isdecimal() or int(part) not in found:
        raise UsageError(f"there is no episode '{part}'", where=file, hint=hint)
    return int(part)


def _table(
    frame: DataFrame, names: Mapping[str, Sequence[str]], joints: Sequence[str], file: str
) -> TableFile:
    columns: dict[str, Floats] = {}
    for name in frame.columns:
        if frame.schema[name].is_numeric():
            columns[name] = frame[name].cast(float).to_numpy()
        elif (values := _matrix(frame, name)) is not None:
            entries = _entries(name, names.get(name, ()), values.shape[1], joints)
            columns.update(zip(entries, values.T, strict=True))
    known, rows = list(columns), len(frame)

    def blocks(request: ReadRequest) -> Iterator[TableBlock]:
        for first in range(0, rows, request.rows):
            some = [columns[known[i]][first : first + request.rows] for i in request.indices]
            values = np.column_stack(some)
            block = TableBlock(values, counted_place(file, first), first + len(values))
            if not request.gaps:
                require_finite(block, [known[i] for i in request.indices], file, None)
            yield block

    return TableFile(
        known, blocks, rows, lambda: rows, digest=str, whole=lambda _: False, units_known=False
    )


def _matrix(frame: DataFrame, name: str) -> Floats | None:
    """The numbers of lists that are all of one length; None for anything else."""
    import polars

    kind = frame.schema[name]
    inner = getattr(kind, "inner", None)
    if inner is None or not inner.is_numeric() or not len(frame):
        return None
    series = frame[name]
    series = series.arr.to_list() if isinstance(kind, polars.Array) else series
    lengths = series.list.len()
    if series.null_count() or lengths.n_unique() != 1 or not lengths[0]:
        return None
    flat = series.explode().cast(polars.Float64).to_numpy()
    return np.asarray(flat, dtype=np.float64).reshape(len(frame), -1)


def _entries(feature: str, names: Sequence[str], width: int, joints: Sequence[str]) -> list[str]:
    """What the entries of a list are called: as columns here, where all joints are among them."""
    quantity = FEATURES.get(feature)
    plain = [name.removesuffix(".pos") for name in names]
    if len(names) != width or len(set(names)) != width:
        if quantity is not None and width == len(joints):
            return [f"{COLUMN_WORDS[quantity]}[{i}]" for i in range(width)]
        return [f"{feature}[{i}]" for i in range(width)]
    if quantity is not None and joints and set(joints) <= set(plain):
        return [column_name(quantity, name) for name in plain]
    return [f"{feature}/{name}" for name in names]


def _digest(files: Sequence[Path]) -> str:
    """SHA-256 of all files of the dataset that were looked at, one after the other."""
    digest = hashlib.sha256()
    for path in files:
        with path.open("rb") as stream:
            digest.update(digest_of(stream).encode())
    return digest.hexdigest()
