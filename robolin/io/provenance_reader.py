"""What a stored result says of itself, read back and found to be as it was written."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from robolin.core.arrays import Numbers
from robolin.core.results.number_kind import NUMBER_KINDS, REAL, NumberKind, stored_values
from robolin.core.results.result import Array
from robolin.errors import FileError, RobolinError
from robolin.io.format_table import with_companion
from robolin.io.meta_schema import schema_problem
from robolin.io.provenance_writer import EXTENDED_FORMAT, FORMAT, JOINTS_AXIS, meta_digest

Meta = Mapping[str, Any]
Blocks = Iterator[Mapping[str, Numbers]]


@dataclass(frozen=True)
class Entry:
    """One array as the provenance describes it; `shape` has the rows first where there are any.

    axes: what each axis counts, where one of them is of a kind of its own
    """

    name: str
    labels: tuple[tuple[str, ...], ...]
    unit: str
    column: str | None
    shape: tuple[int, ...]
    sha256: str
    numbers: NumberKind = REAL
    axes: tuple[str, ...] = ()

    def array(self, values: Numbers) -> Array:
        """The array with some of its rows."""
        return Array(self.name, values, self.labels, self.unit, self.column, self.axes)

    def column_names(self) -> list[str]:
        """The names of its columns in a table; complex entries have two."""
        return self._unread.column_names()

    def entry_names(self) -> list[str]:
        """The names of its entries."""
        return self._unread.entry_names()

    @property
    def _unread(self) -> Array:
        return self.array(np.empty(0, self.numbers.dtype))


def open_bytes(path: str | Path) -> BinaryIO:
    """A stored file, open for reading."""
    try:
        return open(path, "rb")
    except FileNotFoundError as error:
        raise FileError("no such file", where=str(path), hint="check the path") from error
    except OSError as error:
        raise FileError(f"could not read: {error.strerror or error}", where=str(path)) from error


def damaged(where: str, message: str) -> RobolinError:
    """The error for a stored result that is not as it was written."""
    return RobolinError(message, where=where, hint="compute the file again from its inputs")


def provenance(text: str | bytes, where: str, what: str = "its 'meta'") -> dict[str, Any]:
    """The provenance in a JSON text; `what` names it in messages."""
    try:
        return require_intact(json.loads(text), where, what)
    except (ValueError, RecursionError) as error:
        raise damaged(where, f"{what} is not JSON") from error


def require_intact(meta: Any, where: str, what: str = "its 'meta'") -> dict[str, Any]:
    """The provenance, if it is of a format we know and has not been changed."""
    if not isinstance(meta, dict) or not (
        isinstance(meta.get("arrays"), dict) and isinstance(meta.get("joints"), list)
    ):
        raise damaged(where, f"{what} does not describe the arrays")
    if meta.get("format") not in (FORMAT, EXTENDED_FORMAT):
        found, known = meta.get("format"), f"formats {FORMAT} and {EXTENDED_FORMAT}"
        message = f"stored in format {found!r}; robolin here reads {known}"
        raise RobolinError(message, where=where, hint="compute the file again with this robolin")
    if meta.get("sha256") != meta_digest(meta):
        raise damaged(where, f"{what} was changed after it was stored")
    if problem := schema_problem(meta):
        raise damaged(where, f"{what} was not written by robolin: {problem}")
    return meta


def entries_of(meta: Meta) -> tuple[Entry, ...]:
    """The arrays in the order they are stored."""
    joints = tuple(meta["joints"])
    return tuple(
        Entry(
            name=name,
            labels=tuple(_labels(axis, joints) for axis in said["axes"]),
            unit=said["unit"],
            column=said["column"],
            shape=tuple(said["shape"]),
            sha256=said["sha256"],
            numbers=NUMBER_KINDS[said.get("numbers", REAL.name)],
            axes=_axis_kinds(said["axes"]),
        )
        for name, said in meta["arrays"].items()
    )


def _labels(axis: Any, joints: tuple[str, ...]) -> tuple[str, ...]:
    names = axis["labels"] if isinstance(axis, dict) else axis
    return joints if names == JOINTS_AXIS else tuple(names)


def _axis_kinds(axes: list[Any]) -> tuple[str, ...]:
    """What the axes count; nothing where all of them go without saying."""
    kinds = tuple(axis["kind"] if isinstance(axis, dict) else "" for axis in axes)
    return kinds if any(kinds) else ()


def verified(blocks: Blocks, meta: Meta, where: str) -> Blocks:
    """The same blocks, digested as they pass; what was changed is an error after the last one."""
    entries = entries_of(meta)
    digests = {entry.name: hashlib.sha256() for entry in entries}
    rows = 0
    for block in blocks:
        for name, values in block.items():
            digests[name].update(stored_values(values).data)
        rows += 0 if meta["rows"] is None else len(next(iter(block.values())))
        yield block
    if meta["rows"] not in (None, rows):
        message = f"it has {rows} rows, and was stored with {meta['rows']}"
        raise damaged(where, message + companion(where))
    changed = [e.name for e in entries if digests[e.name].hexdigest() != e.sha256]
    if changed:
        message = f"the array '{changed[0]}' was changed after it was stored"
        raise damaged(where, message + companion(where))


def companion(where: str) -> str:
    """What else may be behind a file that is not what its provenance says, if that lies beside."""
    file, *beside = map(Path, with_companion(where))
    told = f"belongs to another {file.suffix[1:].upper()} file"
    return "".join(f", or '{each.name}' {told}" for each in beside)
