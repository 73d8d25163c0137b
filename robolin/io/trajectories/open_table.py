"""A file or a folder with a motion as a table, whatever its format."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import BinaryIO, cast

from robolin.errors import FileError
from robolin.io.compressed import opened_compressed
from robolin.io.format_table import (
    FORMATS,
    PIPED,
    RECORDINGS,
    extensions,
    recording_opener,
    require_known_format,
    trajectory_formats,
)
from robolin.io.formats.line_reader import WithCommas
from robolin.io.paths import (
    PACKED,
    compression,
    is_stored,
    place_and_part,
    uncompressed_name,
)
from robolin.io.table_file import KnownTable, TableFile, TableSource, file_stamp

_BUFFER = 1 << 20

# what a table of numbers in text may be called besides .csv
TEXT_ENDINGS = (".tsv", ".txt", ".tab")


@contextmanager
def opened_table(
    path: str,
    file: str,
    joints: Sequence[str],
    known: KnownTable | None = None,
    live: bool = False,
) -> Iterator[TableFile]:
    """The table in a file, a recording or a part of one, while it is open.

    known: what has been found out about it before
    live:  whether rows are wanted as they arrive
    """
    if is_stored(path):
        with _stored_table(path, file, joints, known) as table:
            yield table
        return
    place, part = place_and_part(path)
    opener = recording_opener(place)
    if opener is not None:
        with ExitStack() as stack:
            with read_errors(file):
                if not os.path.exists(place):
                    raise FileError("no such file", where=file, hint="check the path")
                table = stack.enter_context(opener(place, part, file, joints))
            yield table
        return
    _require_no_folder(place, file)
    form = _format(path)
    with _opened(path, file, form) as (stream, regular):
        opened = file_stamp(os.fstat(stream.fileno())) if regular else ""
        yield _table(form, TableSource(stream, path, file, regular, joints, known, live, opened))


@contextmanager
def _stored_table(
    path: str, file: str, joints: Sequence[str], known: KnownTable | None
) -> Iterator[TableFile]:
    """The table in an object, which is the same from the first row to the last."""
    from robolin.io.locations import local_copy
    from robolin.io.stores import objects
    from robolin.io.stores.store_path import StorePath

    form, version = _format(path), objects.present(path)
    known = known or KnownTable(version.text)
    with ExitStack() as stack:
        if FORMATS[form].read_in_parts and (FORMATS[form].text or objects.is_read_by_polars(path)):
            stream, regular = stack.enter_context(_opened(path, file, form))
            yield _table(form, TableSource(stream, path, file, regular, joints, known))
        else:
            # what is read here and there has to lie on a disk
            here = stack.enter_context(local_copy(StorePath(path)))
            stream = stack.enter_context(open(here, "rb"))
            yield _table(form, TableSource(stream, str(here), file, True, joints, known))
    objects.require_same_version(path, version)


def _require_no_folder(place: str, file: str) -> None:
    """Refuse a folder that is not there, or that no other program wrote as a recording."""
    if os.path.isdir(place):
        hint = "a bag has metadata.yaml, a LeRobot dataset meta/info.json"
        raise FileError("this folder is no recording", where=file, hint=hint)
    if place.endswith(("/", os.sep)):
        raise FileError("no such folder", where=file, hint="check the path")


def is_text(path: str) -> bool:
    """Whether a recording is a table in text, packed or not."""
    return not is_other_programs(path) and FORMATS[_format(path)].text


def is_other_programs(path: str) -> bool:
    """Whether a recording is a bag or a dataset, which other programs write."""
    return not is_stored(path) and recording_opener(place_and_part(path)[0]) is not None


@contextmanager
def recording_bytes(path: str) -> Iterator[BinaryIO]:
    """The bytes of a recording as they are digested: those of text unpacked, with commas."""
    with read_errors(path), _opened(path, path, _format(path)) as (stream, _):
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
        f"use one of {', '.join(['.csv', *TEXT_ENDINGS])} (also packed: {', '.join(PACKED)}), "
        f"{others}, or - for {PIPED.upper()} on stdin"
    )
    if is_stored(path):
        hint = f"use one of {extensions(known, ', ')}; copy a bag or a dataset to a disk first"
    return require_known_format(name, known, "trajectory format", hint, where=path)


def _object(path: str) -> BinaryIO:
    """An object in a store, opened; whoever has files alone needs no store."""
    from robolin.io.stores.objects import open_object

    return open_object(path)


@contextmanager
def _opened(path: str, file: str, form: str) -> Iterator[tuple[BinaryIO, bool]]:
    """The bytes of a file from their beginning, and whether it can be read again as they are."""
    if path == "-":
        held = sys.stdin.buffer
        # without a buffer, so that nothing is locked while a thread waits for more to come
        yield getattr(held, "raw", held), False
        return
    with ExitStack() as stack:
        try:
            packed = bool(compression(path))
            stored = stack.enter_context(_object(path)) if is_stored(path) else None
            if packed:
                stream = stack.enter_context(opened_compressed(path, stored))
            else:
                stream = stored or stack.enter_context(open(path, "rb", buffering=_BUFFER))
            regular = not packed and (stored is not None or _is_file(stream))
        except FileNotFoundError as error:
            raise FileError("no such file", where=file, hint="check the path") from error
        except OSError as error:
            raise FileError(f"could not read: {error.strerror or error}", where=file) from error
        if form == "csv" and (regular or packed):
            commas = WithCommas(stream, file)
            if regular and not commas.translates:
                stream.seek(0)
            else:
                stream, regular = cast(BinaryIO, commas), False
        yield stream, regular


def _is_file(stream: BinaryIO) -> bool:
    return stat.S_ISREG(os.fstat(stream.fileno()).st_mode)


def _table(form: str, source: TableSource) -> TableFile:
    with read_errors(source.file):
        if not (source.regular or FORMATS[form].read_piped):
            piped = " and ".join(n.upper() for n, each in FORMATS.items() if each.read_piped)
            hint = f"only {piped} can be piped or compressed"
            raise FileError("this is a pipe or a device", where=source.file, hint=hint)
        return FORMATS[form].open_table(source)


@contextmanager
def read_errors(file: str) -> Iterator[None]:
    """What the system says of a file that cannot be read, as our error."""
    try:
        yield
    except OSError as error:
        raise FileError(f"could not read: {error.strerror or error}", where=file) from error
