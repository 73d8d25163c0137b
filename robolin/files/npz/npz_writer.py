"""Writing NPZ: every array grows in a room of its own, and all of them end up in one archive."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from functools import cache
from io import BytesIO
from math import prod
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from robolin.arrays import Floats
from robolin.background import from_item, prefetch
from robolin.errors import FileError
from robolin.files.atomic import is_stream, replacing
from robolin.files.meta import Digests
from robolin.files.npz.zip_archive import Member, crc, crc_of_both, directory, local_header
from robolin.results.result import Result, ResultStream

_NUMBER = 8
_COPIED_AT_ONCE = 1 << 22

# below this, checking bytes takes less time than waking another thread for it
_WORTH_A_THREAD = 1 << 18


def write_npz(flow: ResultStream, path: str | Path) -> None:
    """Write every array, `joints` and `meta` into one uncompressed archive."""
    with replacing(path) as stream:
        if is_stream(path):
            # what is written last stands first, which a pipe does not allow
            with tempfile.TemporaryFile() as held:
                write_npz_to(flow, held)
                held.seek(0)
                shutil.copyfileobj(held, stream, _COPIED_AT_ONCE)
        else:
            write_npz_to(flow, stream, Path(path).parent)


def write_npz_to(flow: ResultStream, stream: IO[bytes], folder: Path | None = None) -> None:
    """Write the archive into an empty file; arrays of unknown length grow in `folder` first."""
    digests = Digests()
    rooms: list[Room] = []
    members: list[Member] = []
    with ExitStack() as opened:

        def spool() -> IO[bytes]:
            # a file without a name: whatever happens, nothing of it stays
            return opened.enter_context(tempfile.TemporaryFile(dir=folder))

        with closing(prefetch(digests.passing(flow.parts), from_item(3))) as parts:
            for part in parts:
                rooms = rooms or _rooms(part, flow.most_rows(), stream, spool)
                for room, (_, values) in zip(rooms, part.stored(), strict=True):
                    room.add(values)
        for room in rooms:
            place = members[-1].end if members else 0
            members.append(room.settled(stream, place, digests.shapes[room.name]))
    for name, array in (
        ("joints", np.array(digests.last.joints, dtype=str)),
        ("meta", np.array(digests.meta_text(flow))),
    ):
        members.append(_whole(stream, name, array, members[-1].end))
    stream.seek(members[-1].end)
    stream.write(directory(members, members[-1].end))
    stream.truncate()


@cache
def _beside() -> ThreadPoolExecutor:
    """A thread that checks bytes while they are written."""
    return ThreadPoolExecutor(1, thread_name_prefix="robolin-crc")


class Room:
    """Where an array grows: at its place in the archive if its length is known, else apart."""

    def __init__(self, name: str, file: IO[bytes], start: int, most: int | None) -> None:
        self.name = name
        self._file, self._start, self._most = file, start, most
        self._size = self._crc = 0

    def add(self, values: Floats) -> None:
        """Some more rows."""
        data = np.ascontiguousarray(values, dtype="<f8").reshape(-1).view(np.uint8).data
        if self._most is not None and self._size + len(data) > self._most:
            raise FileError("the trajectory grew while it was read", hint="try again")
        self._file.seek(self._start + self._size)
        if len(data) < _WORTH_A_THREAD:
            self._crc = crc(data, self._crc)
            self._file.write(data)
        else:
            checked = _beside().submit(crc, data, self._crc)
            self._file.write(data)
            self._crc = checked.result()
        self._size += len(data)

    def settled(self, stream: IO[bytes], place: int, shape: tuple[int, ...]) -> Member:
        """The array as a member that begins at `place`, moved there if it grew elsewhere."""
        name, header = f"{self.name}.npy", _header(shape)
        size = len(header) + self._size
        total = crc_of_both(crc(header), self._crc, self._size)
        begin = local_header(name, size, total) + header
        if self._file is not stream or self._start != place + len(begin):
            _move(self._file, self._start, stream, place + len(begin), self._size)
        stream.seek(place)
        stream.write(begin)
        return Member(name, size, total, place, place + len(begin) + self._size)


def _rooms(
    part: Result, most_rows: int | None, stream: IO[bytes], spool: Callable[[], IO[bytes]]
) -> list[Room]:
    """A room for every array of the result that this is the first part of."""
    if part.batch is not None and most_rows is None:
        return [Room(name, spool(), 0, None) for name, _ in part.stored()]
    rooms = []
    place = 0
    for name, values in part.stored():
        shape = values.shape if part.batch is None else (most_rows or 0, *values.shape[1:])
        start = place + len(local_header(f"{name}.npy", 0, 0) + _header(shape))
        place = start + _NUMBER * prod(shape)
        rooms.append(Room(name, stream, start, place - start))
    return rooms


def _header(shape: tuple[int, ...]) -> bytes:
    held = BytesIO()
    said = {"descr": "<f8", "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(held, said)
    return held.getvalue()


def _whole(stream: IO[bytes], name: str, array: npt.NDArray[Any], place: int) -> Member:
    held = BytesIO()
    np.lib.format.write_array(held, array, allow_pickle=False)
    data, name = held.getvalue(), f"{name}.npy"
    total = crc(data)
    begin = local_header(name, len(data), total)
    stream.seek(place)
    stream.write(begin + data)
    return Member(name, len(data), total, place, place + len(begin) + len(data))


def _move(source: IO[bytes], start: int, target: IO[bytes], place: int, size: int) -> None:
    """Copy from front to back, which is safe within one file because arrays only move forward."""
    for done in range(0, size, _COPIED_AT_ONCE):
        source.seek(start + done)
        data = source.read(min(_COPIED_AT_ONCE, size - done))
        target.seek(place + done)
        target.write(data)
