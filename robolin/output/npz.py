"""Reading stored results back: NPZ, exact and self-describing, with damage found out."""

from __future__ import annotations

import json
import struct
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from robolin.errors import FileError, RobolinError
from robolin.output.meta import array_digest
from robolin.output.result import Floats

_DAMAGE = (
    *(zipfile.BadZipFile, zlib.error, struct.error, EOFError, MemoryError, OSError),
    *(ValueError, LookupError, RuntimeError, ArithmeticError),
)


@dataclass(frozen=True, eq=False)
class Stored:
    """A result read back: arrays by name, the joints in their order, and the provenance."""

    arrays: Mapping[str, Floats]
    joints: tuple[str, ...]
    meta: Mapping[str, Any]


def read_npz(path: str | Path) -> Stored:
    """Read a stored result and verify every array against its SHA-256."""
    contents = _load(path)
    where = str(path)
    provenance = _provenance(contents, where)
    joints = contents.pop("joints", None)
    if joints is None or joints.tolist() != provenance["joints"]:
        raise _damaged(where, "its joint names are not the ones its provenance states")
    expected: dict[str, Any] = provenance["arrays"]
    for name in expected:
        if name not in contents:
            raise _damaged(where, f"the array '{name}' is missing")
    for name, values in contents.items():
        if name not in expected:
            raise _damaged(where, f"the array '{name}' is not in its provenance")
        _verify(name, values, expected[name], where)
    return Stored(contents, tuple(provenance["joints"]), provenance)


def _load(path: str | Path) -> dict[str, npt.NDArray[Any]]:
    try:
        with open(path, "rb") as stream:
            return _arrays(stream, str(path))
    except OSError as error:
        raise FileError(f"could not read: {error.strerror or error}", where=str(path)) from error


def _arrays(stream: BinaryIO, where: str) -> dict[str, npt.NDArray[Any]]:
    """Every array of the archive; objects that would need unpickling are refused."""
    try:
        archive = np.load(stream, allow_pickle=False)
        if isinstance(archive, np.lib.npyio.NpzFile):
            return {name: archive[name] for name in archive.files}
    except _DAMAGE as error:
        raise _damaged(where, "not an NPZ archive, or a damaged one") from error
    raise _damaged(where, "this is a single array, not an NPZ archive")


def _provenance(contents: dict[str, npt.NDArray[Any]], where: str) -> dict[str, Any]:
    text = contents.pop("meta", None)
    if text is None or text.shape != () or text.dtype.kind != "U":
        raise RobolinError(
            "not a robolin result: it has no 'meta'",
            where=where,
            hint="robolin writes such files with -o FILE.npz",
        )
    try:
        provenance = json.loads(str(text))
    except ValueError as error:
        raise _damaged(where, "its 'meta' is not JSON") from error
    if not isinstance(provenance, dict) or not (
        isinstance(provenance.get("arrays"), dict) and isinstance(provenance.get("joints"), list)
    ):
        raise _damaged(where, "its 'meta' does not describe the arrays")
    return provenance


def _verify(name: str, values: npt.NDArray[Any], expected: Any, where: str) -> None:
    if not isinstance(expected, dict):
        raise _damaged(where, f"its 'meta' does not describe the array '{name}'")
    if values.dtype != np.float64 or list(values.shape) != expected.get("shape"):
        raise _damaged(where, f"the array '{name}' has another shape than it was stored with")
    if array_digest(values) != expected.get("sha256"):
        raise _damaged(where, f"the array '{name}' was changed after it was stored")


def _damaged(where: str, message: str) -> RobolinError:
    return RobolinError(message, where=where, hint="compute the file again from its inputs")
