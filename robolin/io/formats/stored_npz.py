"""Read stored results from NPZ files, and detect any damage."""

from __future__ import annotations

import os
import re
import struct
import zipfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from math import prod
from pathlib import Path
from typing import IO, Any, BinaryIO

import numpy as np

from robolin.core.arrays import NumberKind, Numbers
from robolin.errors import RobolinError
from robolin.io.formats.npz_reader import ARCHIVE_ERRORS
from robolin.io.formats.npz_writer import ZipMember, directory, local_header
from robolin.io.provenance import (
    ArrayMeta,
    Blocks,
    corrupt_file_error,
    entries_of,
    open_bytes,
    provenance,
)
from robolin.io.stored import StoredFile

_MAGIC = b"\x93NUMPY\x01\x00"
_HEADER = re.compile(
    r"\{'descr': '(<f8|<f4|<c16|<i8|<M8\[(?:s|ms|us|ns)\]|<U\d{1,9})', "
    r"'fortran_order': False, 'shape': \(([\d, ]*)\), \}"
)


@contextmanager
def open_npz(path: Path) -> Iterator[StoredFile]:
    """Open a stored result and verify its provenance; its numbers are not read yet."""
    with open_bytes(path) as stream:
        archive = NpzArchive(stream, str(path))
        yield StoredFile(archive.where, archive.meta, archive.blocks)


class NpzArchive:
    """An archive whose arrays are those that its `meta` describes."""

    def __init__(self, stream: BinaryIO, where: str) -> None:
        self.where = where
        self._stream = stream
        with self.errors():
            if stream.read(len(_MAGIC)) == _MAGIC:
                raise corrupt_file_error(where, "must be an NPZ archive, got a single array")
            self._archive = zipfile.ZipFile(stream)
            names = self._archive.namelist()
            if len(set(names)) < len(names):
                raise corrupt_file_error(where, "the archive has two arrays with the same name")
            self._require_as_they_are()
            self.meta: dict[str, Any] = provenance(self._meta_text(), where)
            self._require_joints()
            self._require_arrays([name.removesuffix(".npy") for name in names])

    @contextmanager
    def errors(self, what: str = "not a valid NPZ archive") -> Iterator[None]:
        """Raise errors of zipfile in an archive as an error about a damaged file."""
        try:
            yield
        except RobolinError:
            raise
        except ARCHIVE_ERRORS as error:
            raise corrupt_file_error(self.where, what) from error

    def read_array(self, entry: ArrayMeta) -> Numbers:
        """Read one complete array."""
        with self.errors(f"array '{entry.name}' is damaged"), self._opened(entry) as stream:
            return np.frombuffer(stream.read(), entry.numbers.dtype).reshape(entry.shape)

    def blocks(self, rows: int) -> Blocks:
        """All arrays in blocks of `rows` rows; one block for a single state."""
        entries = entries_of(self.meta)
        total = self.meta["rows"]
        if total is None:
            yield {entry.name: self.read_array(entry) for entry in entries}
            self.require_layout()
            return
        with ExitStack() as opened, self.errors("an array is damaged"):
            streams = [opened.enter_context(self._opened(entry)) for entry in entries]
            for first in range(0, total, rows):
                count = min(rows, total - first)
                yield {
                    entry.name: _next(stream, (count, *entry.shape[1:]), entry.numbers)
                    for entry, stream in zip(entries, streams, strict=True)
                }
            for stream in streams:
                # zipfile verifies its checksum at the end of a member
                stream.read(1)
        self.require_layout()

    def require_layout(self) -> None:
        """Reject an archive whose bytes outside its arrays differ from what robolin writes."""
        members: list[ZipMember] = []
        end = 0
        with self.errors():
            for info in self._archive.infolist():
                header = local_header(info.filename, info.file_size, info.CRC)
                self._stream.seek(end)
                if info.header_offset != end or self._stream.read(len(header)) != header:
                    raise corrupt_file_error(
                        self.where, f"'{info.filename}' is not at its stored offset"
                    )
                start, end = end, end + len(header) + info.file_size
                members.append(ZipMember(info.filename, info.file_size, info.CRC, start, end))
            self._stream.seek(end)
            if self._stream.read() != directory(members, end):
                raise corrupt_file_error(
                    self.where, "the list of arrays was changed after it was stored"
                )

    @contextmanager
    def _opened(self, entry: ArrayMeta) -> Iterator[IO[bytes]]:
        with self._archive.open(f"{entry.name}.npy") as stream:
            kind, shape = _header(stream)
            if kind != entry.numbers.dtype or shape != entry.shape:
                message = f"array '{entry.name}' does not have its stored shape"
                raise corrupt_file_error(self.where, message)
            yield stream

    def _meta_text(self) -> str:
        text = self._words("meta")
        if text is None and "covariance.npy" in self._archive.namelist():
            raise RobolinError(
                "a result of `robolin identify` has no rows to compare or print",
                where=self.where,
                hint=f"run `robolin check {self.where}` to identify again and compare",
            )
        if text is None or len(text) != 1:
            raise RobolinError(
                "not a robolin result: 'meta' is missing",
                where=self.where,
                hint="write a result with -o FILE.npz",
            )
        return text[0]

    def _words(self, name: str) -> list[str] | None:
        """An array of texts, None if it is missing."""
        if f"{name}.npy" not in self._archive.namelist():
            return None
        with self._archive.open(f"{name}.npy") as stream:
            kind, shape = _header(stream)
            if not kind.startswith("<U"):
                return None
            values = np.frombuffer(stream.read(), kind, prod(shape))
        return [str(value) for value in values]

    def _require_as_they_are(self) -> None:
        """Reject compressed or overlapping arrays, which need more memory than the file's size."""
        infos = self._archive.infolist()
        size = self._stream.seek(0, os.SEEK_END)
        as_they_are = all(info.compress_type == zipfile.ZIP_STORED for info in infos)
        if not as_they_are or sum(info.file_size for info in infos) > size:
            raise corrupt_file_error(
                self.where, "arrays must not be compressed and must not overlap"
            )

    def _require_joints(self) -> None:
        if self._words("joints") != self.meta["joints"]:
            raise corrupt_file_error(self.where, "joint names do not match the provenance")

    def _require_arrays(self, names: list[str]) -> None:
        expected = self.meta["arrays"]
        for name in expected:
            if name not in names:
                raise corrupt_file_error(self.where, f"array '{name}' is missing")
        for name in names:
            if name not in (*expected, "joints", "meta"):
                raise corrupt_file_error(self.where, f"array '{name}' is not in the provenance")


def _header(stream: IO[bytes]) -> tuple[str, tuple[int, ...]]:
    """The type and the shape of an array; ('', ()) for a type that results do not use.

    Only the exact form that robolin writes is parsed, so that nothing is evaluated.
    """
    if stream.read(len(_MAGIC)) != _MAGIC:
        raise ValueError("the array is not in version 1 of the NPY format")
    (length,) = struct.unpack("<H", stream.read(2))
    match = _HEADER.fullmatch(stream.read(length).decode("latin-1").rstrip())
    if match is None:
        return "", ()
    return match[1], tuple(int(size) for size in match[2].split(",") if size.strip())


def _next(stream: IO[bytes], shape: tuple[int, ...], kind: NumberKind) -> Numbers:
    size = kind.size * prod(shape)
    data = stream.read(size)
    while len(data) < size:
        more = stream.read(size - len(data))
        if not more:
            raise EOFError
        data += more
    return np.frombuffer(data, kind.dtype).reshape(shape)
