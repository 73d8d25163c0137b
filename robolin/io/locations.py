"""Files that lie on a disk or in a store, complete or absent in either."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from robolin.errors import FileError
from robolin.io.atomic import as_file_error, atomic_write, new_name, remove_leftovers
from robolin.io.format_table import with_companion
from robolin.io.paths import is_stored
from robolin.io.stores import objects
from robolin.io.stores.objects import StorePath

FilePlace = Path | StorePath


def parse_location(text: str) -> FilePlace:
    """What a text names: a place in a store, else a path."""
    return StorePath(text.rstrip("/")) if is_stored(text) else Path(text)


def exists(place: FilePlace) -> bool:
    """Whether there is such a file."""
    if isinstance(place, StorePath):
        return objects.found(str(place)) is not None
    try:
        return place.exists()
    except OSError as error:
        raise _unread(place, error) from error


def size_of(place: FilePlace) -> int:
    """How many bytes a file has."""
    if isinstance(place, StorePath):
        return objects.require_exists(str(place)).size
    return place.stat().st_size


def content(place: FilePlace) -> bytes | None:
    """The bytes of a small file, None if there is none."""
    if isinstance(place, StorePath):
        return objects.content(str(place))
    try:
        return place.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _unread(place, error) from error


def _unread(place: Path, error: OSError) -> FileError:
    return FileError(f"could not read: {error.strerror or error}", where=str(place))


def write_place(place: FilePlace, data: bytes) -> None:
    """Let a file be these bytes."""
    if isinstance(place, StorePath):
        objects.put(str(place), data)
        return
    with atomic_write(place) as stream:
        stream.write(data)


def make_folder(place: FilePlace) -> None:
    """Have a folder, and nothing in it that somebody left who is gone; a store needs none."""
    if isinstance(place, StorePath):
        remove_leftovers(Path(tempfile.gettempdir()))
        return
    with as_file_error(place):
        place.mkdir(parents=True, exist_ok=True)
    remove_leftovers(place)


@contextmanager
def local_copy(place: FilePlace) -> Iterator[Path]:
    """A file on this machine's disk with the same bytes, and what lies beside a CSV."""
    if not isinstance(place, StorePath):
        yield place
        return
    with _room() as folder:
        for name in with_companion(place.name):
            url = f"{str(place)[: -len(place.name)]}{name}"
            if name == place.name or objects.found(url):
                with as_file_error(folder / name):
                    objects.download(url, folder / name)
        yield folder / place.name


@contextmanager
def local_target(place: FilePlace) -> Iterator[Path]:
    """A path to be written to; what stands there at the end becomes the file.

    Beside a CSV its provenance is put before: the file itself tells that all is there.
    """
    if not isinstance(place, StorePath):
        yield place
        return
    with _room() as folder:
        yield folder / place.name
        for name in reversed(with_companion(place.name)):
            objects.put(f"{str(place)[: -len(place.name)]}{name}", folder / name)


@contextmanager
def _room() -> Iterator[Path]:
    """A folder for a while; one that is left by a process that was killed is removed by others."""
    folder = Path(tempfile.gettempdir(), new_name())
    with as_file_error(folder):
        folder.mkdir(mode=0o700)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
