"""Read and validate the provenance that is stored with a result."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from robolin.core.arrays import Numbers
from robolin.core.results.number_kind import NUMBER_KINDS, REAL, NumberKind, stored_values
from robolin.core.results.result import Array
from robolin.errors import FileError, RobolinError
from robolin.io.format_table import with_companion
from robolin.io.provenance_writer import EXTENDED_FORMAT, FORMAT, JOINTS_AXIS, meta_digest

Meta = Mapping[str, Any]
Blocks = Iterator[Mapping[str, Numbers]]


@dataclass(frozen=True)
class ArrayMeta:
    """Description of one array in the provenance; `shape` begins with the rows, if any.

    axes: the kind of each axis, empty if all have the default kind
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
        """An Array with these values and this description."""
        return Array(self.name, values, self.labels, self.unit, self.column, self.axes)

    def column_names(self) -> list[str]:
        """The names of the array's columns in a table; complex entries have two columns."""
        return self._unread.column_names()

    def entry_names(self) -> list[str]:
        """The names of the array's entries."""
        return self._unread.entry_names()

    @property
    def _unread(self) -> Array:
        return self.array(np.empty(0, self.numbers.dtype))


def open_bytes(path: str | Path) -> BinaryIO:
    """Open a stored file for reading."""
    try:
        return open(path, "rb")
    except FileNotFoundError as error:
        raise FileError("no such file", where=str(path), hint="check the path") from error
    except OSError as error:
        raise FileError(f"could not read: {error.strerror or error}", where=str(path)) from error


def corrupt_file_error(where: str, message: str) -> RobolinError:
    """The error for a stored result that was changed or damaged."""
    return RobolinError(message, where=where, hint="compute the file again from its inputs")


def provenance(text: str | bytes, where: str, what: str = "its 'meta'") -> dict[str, Any]:
    """Parse and validate the provenance in a JSON text; `what` names it in messages."""
    try:
        return require_intact(json.loads(text), where, what)
    except (ValueError, RecursionError) as error:
        raise corrupt_file_error(where, f"{what} is not JSON") from error


def require_intact(meta: Any, where: str, what: str = "its 'meta'") -> dict[str, Any]:
    """Return the provenance if its format version is known and its checksum is correct."""
    if not isinstance(meta, dict) or not (
        isinstance(meta.get("arrays"), dict) and isinstance(meta.get("joints"), list)
    ):
        raise corrupt_file_error(where, f"{what} does not describe the arrays")
    if meta.get("format") not in (FORMAT, EXTENDED_FORMAT):
        version, known = meta.get("format"), f"formats {FORMAT} and {EXTENDED_FORMAT}"
        message = f"stored in format {version!r}; robolin here reads {known}"
        raise RobolinError(message, where=where, hint="compute the file again with this robolin")
    if meta.get("sha256") != meta_digest(meta):
        raise corrupt_file_error(where, f"{what} was changed after it was stored")
    if problem := schema_problem(meta):
        raise corrupt_file_error(where, f"{what} was not written by robolin: {problem}")
    return meta


def entries_of(meta: Meta) -> tuple[ArrayMeta, ...]:
    """The arrays in the order they are stored."""
    joints = tuple(meta["joints"])
    return tuple(
        ArrayMeta(
            name=name,
            labels=tuple(_labels(axis, joints) for axis in spec["axes"]),
            unit=spec["unit"],
            column=spec["column"],
            shape=tuple(spec["shape"]),
            sha256=spec["sha256"],
            numbers=NUMBER_KINDS[spec.get("numbers", REAL.name)],
            axes=_axis_kinds(spec["axes"]),
        )
        for name, spec in meta["arrays"].items()
    )


def _labels(axis: Any, joints: tuple[str, ...]) -> tuple[str, ...]:
    names = axis["labels"] if isinstance(axis, dict) else axis
    return joints if names == JOINTS_AXIS else tuple(names)


def _axis_kinds(axes: list[Any]) -> tuple[str, ...]:
    """The kinds of the axes; empty if all have the default kind."""
    kinds = tuple(axis["kind"] if isinstance(axis, dict) else "" for axis in axes)
    return kinds if any(kinds) else ()


def verified(blocks: Blocks, meta: Meta, where: str) -> Blocks:
    """Yield the blocks and hash them; changed data raises an error after the last block."""
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
        raise corrupt_file_error(where, message + companion(where))
    changed = [e.name for e in entries if digests[e.name].hexdigest() != e.sha256]
    if changed:
        message = f"the array '{changed[0]}' was changed after it was stored"
        raise corrupt_file_error(where, message + companion(where))


def companion(where: str) -> str:
    """Text for messages: the provenance file, if separate, may belong to another file."""
    file, *companions = map(Path, with_companion(where))
    reason = f"belongs to another {file.suffix[1:].upper()} file"
    return "".join(f", or '{each.name}' {reason}" for each in companions)


_SHA256 = re.compile("[0-9a-f]{64}")
_DEEPEST = 8
# no array has more entries than memory has bytes
_LARGEST = 1 << 48

# model parameters that are vectors, and those that are names
_VECTORS = {"com": 3, "axis": 3, "origin": 3, "gravity": 3, "inertia": 6, "rotation": 9}
_NAMES = ("type", "parent", "child", "mimic", "link", "name", "root")

FieldCheck = Callable[[Any], bool]


def schema_problem(meta: Mapping[str, Any]) -> str:
    """The first violation of the schema of a provenance, '' if there is none."""
    for key, check in _PARTS.items():
        if key not in meta or not check(meta[key]):
            return f"'{key}' is missing or is not what it should be"
    if meta["role"] == "reference":
        for key, check in _REFERENCE.items():
            if key not in meta or not check(meta[key]):
                return f"'{key}' is missing or is not what it should be"
    if not meta["arrays"]:
        return "it names no array"
    return next(_array_problems(meta), "")


def _array_problems(meta: Mapping[str, Any]) -> Iterator[str]:
    rows = meta["rows"]
    for name, spec in meta["arrays"].items():
        if not isinstance(spec, dict) or not all(
            key in spec and check(spec[key]) for key, check in _ARRAY.items()
        ):
            yield f"the array '{name}' is not described"
            continue
        if spec.get("numbers", REAL.name) not in list(NUMBER_KINDS):
            yield f"the array '{name}' holds numbers of no known kind"
        labels = [axis["labels"] if isinstance(axis, dict) else axis for axis in spec["axes"]]
        shape = [len(meta["joints"] if axis == JOINTS_AXIS else axis) for axis in labels]
        if spec["shape"] != (shape if rows is None else [rows, *shape]):
            yield f"the shape of the array '{name}' is not that of its labels"


def is_utf8(value: Any) -> bool:
    """Return whether the value is a text that can be encoded as UTF-8."""
    return isinstance(value, str) and _encodes(value)


def _encodes(text: str) -> bool:
    """Return whether a text can be encoded; half of a surrogate pair cannot."""
    return text.isascii() or not any("\ud800" <= letter <= "\udfff" for letter in text)


def _number(value: Any) -> bool:
    """Return whether the value is a finite number; booleans are not numbers."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    return abs(value) < _LARGEST if isinstance(value, int) else math.isfinite(value)


def is_size(value: Any) -> bool:
    """Return whether the value is a count or a size in bytes; booleans are not."""
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < _LARGEST


def is_digest(value: Any) -> bool:
    """Return whether the value is a SHA-256 in hexadecimal digits."""
    return isinstance(value, str) and _SHA256.fullmatch(value) is not None


def are_texts(value: Any) -> bool:
    """Return whether the value is a list of texts."""
    return isinstance(value, list) and all(map(is_utf8, value))


def _different_texts(value: Any) -> bool:
    return are_texts(value) and len(set(value)) == len(value)


def _each(check: FieldCheck) -> FieldCheck:
    """A check for mappings from names to values that pass the check."""

    def checked(value: Any) -> bool:
        return isinstance(value, dict) and all(
            is_utf8(key) and check(item) for key, item in value.items()
        )

    return checked


def _plain(value: Any, depth: int = 0) -> bool:
    """Return whether the value consists of JSON types and finite numbers, not nested too deeply."""
    if depth > _DEEPEST:
        return False
    if isinstance(value, list):
        return all(_plain(item, depth + 1) for item in value)
    if isinstance(value, dict):
        return all(is_utf8(key) and _plain(item, depth + 1) for key, item in value.items())
    return value is None or isinstance(value, bool) or is_utf8(value) or _number(value)


def _option(value: Any) -> bool:
    """Return whether the value is a valid option: a scalar, or a list of scalars."""
    values = value if isinstance(value, list) else [value]
    return all(_plain(item) and not isinstance(item, (list, dict)) for item in values)


def are_options(value: Any) -> bool:
    """Return whether the value maps option names to their values."""
    return _each(_option)(value) and is_utf8(value.get("arm", ""))


def _parameters(value: Any) -> bool:
    return isinstance(value, dict) and all(_parameter(key, item) for key, item in value.items())


def _parameter(key: str, value: Any) -> bool:
    """Check a model parameter by the last word of its key: a vector, a name, or one number."""
    kind = key.rpartition(" ")[2]
    if kind in _VECTORS:
        many = isinstance(value, list) and len(value) == _VECTORS[kind]
        return many and all(map(_number, value))
    return is_utf8(value) if kind in _NAMES else _number(value)


def _model(value: Any) -> bool:
    if value is None or value == {}:
        return True
    parts = ("links", "joints", "loops")
    return (
        isinstance(value, dict)
        and set(value) == {"arm", *parts}
        and _parameters(value["arm"])
        and all(_each(_parameters)(value[key]) for key in parts)
    )


def _tolerance(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and set(value) <= {"rtol", "atol"}
        and all(_number(each) and each >= 0 for each in value.values())
    )


def _axes(value: Any) -> bool:
    return isinstance(value, list) and all(map(_axis, value))


def _axis(value: Any) -> bool:
    """Return whether the value is a list of labels, or a mapping with labels and kind."""
    if isinstance(value, dict):
        return (
            set(value) == {"kind", "labels"} and is_utf8(value["kind"]) and _names(value["labels"])
        )
    return _names(value)


def _names(value: Any) -> bool:
    return value == JOINTS_AXIS or are_texts(value)


_PARTS: dict[str, FieldCheck] = {
    "robolin": is_utf8,
    "role": lambda value: value in ("result", "reference"),
    "verb": is_utf8,
    "options": are_options,
    "inputs": _each(is_utf8),
    "contract": _each(_plain),
    "model": _model,
    "joints": _different_texts,
    "rows": lambda value: value is None or is_size(value),
    "arrays": _each(lambda _: True),
}
_REFERENCE: dict[str, FieldCheck] = {"tolerances": _each(_tolerance), "files": _each(is_utf8)}
_ARRAY: dict[str, FieldCheck] = {
    "unit": is_utf8,
    "axes": _axes,
    "column": lambda value: value is None or is_utf8(value),
    "shape": lambda value: isinstance(value, list) and all(map(is_size, value)),
    "sha256": is_digest,
}
