"""Files on a disk or objects in an object store, each complete or absent."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path, PurePath

from robolin.errors import FileError
from robolin.io import object_stores
from robolin.io.atomic import as_file_error, atomic_write, remove_leftovers, temporary_folder
from robolin.io.format_table import base_name, is_stored, with_companion
from robolin.io.object_stores import StorePath

FileLocation = Path | StorePath


def parse_location(text: str) -> FileLocation:
    """Parse a text as the URL of an object in a store, else as a path."""
    return StorePath(text.rstrip("/")) if is_stored(text) else Path(text)


def exists(location: FileLocation) -> bool:
    """Return whether the file or object exists."""
    if isinstance(location, StorePath):
        return object_stores.stat(str(location)) is not None
    try:
        return location.exists()
    except OSError as error:
        raise _unread(location, error) from error


def size_of(location: FileLocation) -> int:
    """Size of a file in bytes."""
    if isinstance(location, StorePath):
        return object_stores.require_exists(str(location)).size
    return location.stat().st_size


def content(location: FileLocation) -> bytes | None:
    """The bytes of a small file, None if it does not exist."""
    if isinstance(location, StorePath):
        return object_stores.content(str(location))
    try:
        return location.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _unread(location, error) from error


def _unread(location: Path, error: OSError) -> FileError:
    return FileError(f"could not read: {error.strerror or error}", where=str(location))


def write_file(location: FileLocation, data: bytes) -> None:
    """Replace the content of a file atomically."""
    if isinstance(location, StorePath):
        object_stores.put(str(location), data)
        return
    with atomic_write(location) as stream:
        stream.write(data)


def make_folder(location: FileLocation) -> None:
    """Create a folder and remove temporary files of terminated processes."""
    if isinstance(location, StorePath):
        remove_leftovers(Path(tempfile.gettempdir()))
        return
    with as_file_error(location):
        location.mkdir(parents=True, exist_ok=True)
    remove_leftovers(location)


@contextmanager
def local_copy(location: FileLocation) -> Iterator[Path]:
    """A copy on the local disk, together with the provenance file of a CSV."""
    if not isinstance(location, StorePath):
        yield location
        return
    with temporary_folder(Path(tempfile.gettempdir())) as folder:
        for name in with_companion(location.name):
            url = f"{str(location)[: -len(location.name)]}{name}"
            if name == location.name or object_stores.stat(url):
                with as_file_error(folder / name):
                    object_stores.download(url, folder / name)
        yield folder / location.name


@contextmanager
def local_target(location: FileLocation) -> Iterator[Path]:
    """A local path to write to; its content becomes the file when the block ends.

    The provenance of a CSV is uploaded first, so that the file itself marks completion.
    """
    if not isinstance(location, StorePath):
        yield location
        return
    with temporary_folder(Path(tempfile.gettempdir())) as folder:
        yield folder / location.name
        for name in reversed(with_companion(location.name)):
            object_stores.put(f"{str(location)[: -len(location.name)]}{name}", folder / name)


def shared_name(path: str) -> str:
    """The name of a file in shared documents: no folder outside the working directory.

    A file below the working directory keeps its relative path, which annotations of repositories
    need; any other file keeps its name without folders.
    """
    if is_stored(path) or path == "-":
        return path
    if not os.path.isabs(path) and os.pardir not in PurePath(path).parts:
        return path
    inside, here = os.path.relpath(path), Path.cwd()
    if inside.startswith(os.pardir) or here == here.parent:
        return base_name(path)
    return PurePath(inside).as_posix()


def shared_text(text: str, paths: Iterable[str], name: Callable[[str], str] = shared_name) -> str:
    """Replace each of these paths in a text by its name, if the path contains folders."""
    for path in sorted({*paths}, key=len, reverse=True):
        if os.sep in path or "/" in path:
            text = text.replace(path, name(path))
    return text
