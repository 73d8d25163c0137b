"""Provenance of a result: everything that is needed to check and to recompute it.

It does not depend on when, where or by whom the result was computed.
The provenance that is stored with a result is read and validated here, too.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path, PurePath
from typing import Any, BinaryIO

import numpy as np

from robolin import __version__
from robolin.core.arrays import NUMBER_KINDS, REAL, NumberKind, Numbers, kind_of, stored_values
from robolin.core.former_names import with_current_names
from robolin.core.quantity_table import unit_of
from robolin.core.records import dataclass
from robolin.core.result import Array, Footer, Result, ResultStream
from robolin.core.text import path_hint
from robolin.core.threads import close_generator
from robolin.errors import FileError, RobolinError
from robolin.io.format_table import with_companion

# format 3 is for results with complex numbers, integers or axes of special kinds
FORMAT, EXTENDED_FORMAT = 2, 3
# stands for the joint names in the labels of an axis
JOINTS_AXIS = "joints"


class Digests:
    """Row count, shapes and SHA-256 hashes of a result, accumulated part by part."""

    def __init__(self) -> None:
        self.rows: int | None = None
        self.shapes: dict[str, tuple[int, ...]] = {}
        self._digests: dict[str, Any] = {}
        self._last: Result | None = None

    @property
    def last(self) -> Result:
        """The last part added: names and labels are the same in all parts."""
        assert self._last is not None, "a result has at least one part"
        return self._last

    def passing(self, parts: Iterable[Result]) -> Iterator[Result]:
        """Yield the parts and add each of them to the hashes."""
        try:
            for part in parts:
                self.add(part)
                yield part
        finally:
            close_generator(parts)

    def add(self, part: Result) -> None:
        """Add a part to the hashes."""
        self._last = part
        if part.batch is not None:
            self.rows = (self.rows or 0) + part.batch
        for name, values in part.stored():
            shape = values.shape if part.batch is None else (self.rows or 0, *values.shape[1:])
            self.shapes[name] = shape
            self._digests.setdefault(name, hashlib.sha256()).update(stored_values(values).data)

    def meta(self, result: ResultStream) -> dict[str, Any]:
        """The provenance of all parts that were added, in JSON types."""
        digests = {name: digest.hexdigest() for name, digest in self._digests.items()}
        return _meta(self, result.ending(self.rows or 1), digests)

    def meta_text(self, result: ResultStream) -> str:
        """The provenance as one line of JSON, identical for identical results."""
        return json.dumps(self.meta(result), ensure_ascii=False, allow_nan=False)


def _meta(passed: Digests, ending: Footer, digests: Mapping[str, str]) -> dict[str, Any]:
    part = passed.last
    described = {array.name: _described(array, part.joints) for array in part.arrays}
    if part.time is not None:
        time = Array("time", part.time, (), unit_of("time", ()))
        described["time"] = _described(time, part.joints)
    return with_checksum(
        {
            "format": EXTENDED_FORMAT if any(map(_extended, described.values())) else FORMAT,
            "robolin": __version__,
            **_role(ending),
            **({} if ending.plan is None else {"plan": to_json_types(ending.plan)}),
            "verb": part.verb,
            "options": to_json_types(dict(sorted(part.options.items()))),
            "inputs": _inputs(ending.inputs),
            "contract": to_json_types(ending.contract),
            "model": to_json_types(ending.model),
            "joints": list(part.joints),
            "rows": passed.rows,
            "arrays": {
                name: {**described[name], "shape": list(shape), "sha256": digests[name]}
                for name, shape in passed.shapes.items()
            },
        }
    )


def _inputs(digests: Mapping[str, str]) -> dict[str, str]:
    """Input files by name without folders; with folders where two names are equal."""
    shared = Counter(map(_last_name, digests))
    return {
        name if shared[last := _last_name(name)] > 1 else last: digest
        for name, digest in sorted(digests.items())
    }


def _role(ending: Footer) -> dict[str, Any]:
    """The role of the result; a reference also has tolerances and files."""
    if ending.reference is None:
        return {"role": "result"}
    reference = ending.reference
    tolerances, files = to_json_types(reference.tolerances), to_json_types(reference.files)
    return {"role": "reference", "tolerances": tolerances, "files": files}


def _described(array: Array, joints: tuple[str, ...]) -> dict[str, Any]:
    """Unit, labels and column of an array, and its kind of numbers unless real.

    An axis with the joints as labels does not repeat them; an axis of a special kind names it.
    """
    axes: list[Any] = []
    for i, labels in enumerate(array.labels):
        names = JOINTS_AXIS if labels == joints else list(labels)
        kind = array.axis_kind(i)
        axes.append({"kind": kind, "labels": names} if kind else names)
    numbers = kind_of(array.values)
    more = {} if numbers is REAL else {"numbers": numbers.name}
    return {"unit": array.unit, "axes": axes, "column": array.column, **more}


def _extended(spec: Mapping[str, Any]) -> bool:
    """Return whether the description of an array needs the extended format."""
    return "numbers" in spec or any(isinstance(axis, dict) for axis in spec["axes"])


def with_checksum(meta: Mapping[str, Any]) -> dict[str, Any]:
    """The provenance with its own SHA-256 as the last entry."""
    return {**meta, "sha256": meta_digest(meta)}


def meta_digest(meta: Mapping[str, Any], *, strict: bool = False) -> str:
    """SHA-256 of the provenance without its own hash, independent of the layout of the JSON.

    Args:
        strict: raise ValueError for NaN, infinity and half of a surrogate pair
    """
    content = {key: value for key, value in meta.items() if key != "sha256"}
    layout: dict[str, Any] = {"ensure_ascii": False, "separators": (",", ":")}
    text = json.dumps(content, sort_keys=True, allow_nan=not strict, **layout)
    return hashlib.sha256(text.encode(errors="strict" if strict else "surrogatepass")).hexdigest()


def to_json_types(value: Any) -> Any:
    """Convert a value to JSON types; a path keeps only its name, infinity becomes text."""
    if isinstance(value, Mapping):
        return {str(key): to_json_types(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [to_json_types(item) for item in value]
    if isinstance(value, (set, frozenset)):
        return sorted(to_json_types(item) for item in value)
    if isinstance(value, (np.ndarray, np.generic)):
        return to_json_types(value.tolist())
    if isinstance(value, PurePath):
        return value.name
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if value is None or isinstance(value, (str, bool, int, float)):
        return value
    kind = type(value).__name__
    raise TypeError(f"cannot store a value of type '{kind}' in the provenance of the result")


def _last_name(name: str) -> str:
    """The name without folders, but with the part of a recording."""
    path, colon, _ = name.partition(":")
    return name if colon and "/" not in path else PurePath(name).name


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
        raise FileError("no such file", where=str(path), hint=path_hint(str(path))) from error
    except OSError as error:
        raise FileError(f"could not read: {error.strerror or error}", where=str(path)) from error


def corrupt_file_error(where: str, message: str) -> RobolinError:
    """The error for a stored result that was changed or damaged."""
    return RobolinError(message, where=where, hint="repeat the command that wrote the file")


def provenance(text: str | bytes, where: str, what: str = "'meta'") -> dict[str, Any]:
    """Parse and validate the provenance in a JSON text; `what` names it in messages."""
    try:
        meta = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise corrupt_file_error(where, f"{what} is not JSON") from error
    return require_intact(meta, where, what)


def require_intact(meta: Any, where: str, what: str = "'meta'") -> dict[str, Any]:
    """Return the provenance if its format version is known and its checksum is correct."""
    if not isinstance(meta, dict) or not isinstance(meta.get("arrays"), dict):
        raise corrupt_file_error(where, f"{what} does not describe the arrays")
    if meta.get("format") not in (FORMAT, EXTENDED_FORMAT):
        version, known = meta.get("format"), f"formats {FORMAT} and {EXTENDED_FORMAT}"
        message = f"format {version!r} is not supported; this version of robolin reads {known}"
        raise RobolinError(
            message, where=where, hint="compute the file again with this version of robolin"
        )
    try:
        intact = meta.get("sha256") == meta_digest(meta, strict=True)
    except (ValueError, RecursionError):
        intact = False
    if not intact:
        raise corrupt_file_error(where, f"{what} was changed after it was stored")
    if not _is_provenance(meta):
        raise corrupt_file_error(where, f"{what} was not written by robolin")
    return with_current_names(meta)


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
        message = f"has {rows} rows, but had {meta['rows']} rows when it was stored"
        raise corrupt_file_error(where, message + companion(where))
    changed = [e.name for e in entries if digests[e.name].hexdigest() != e.sha256]
    if changed:
        message = f"array '{changed[0]}' was changed after it was stored"
        raise corrupt_file_error(where, message + companion(where))


def companion(where: str) -> str:
    """Text for messages: the provenance file, if separate, may belong to another file."""
    file, *companions = map(Path, with_companion(where))
    reason = f"belongs to another {file.suffix[1:].upper()} file"
    return "".join(f", or '{each.name}' {reason}" for each in companions)


# no array has more entries than memory has bytes
_LARGEST = 1 << 48

# model parameters that are vectors, and those that are names
_VECTORS = {"com": 3, "axis": 3, "origin": 3, "gravity": 3, "inertia": 6, "rotation": 9}
_NAMES = ("type", "parent", "child", "mimic", "link", "name", "root")


def matches(value: Any, pattern: Any) -> bool:
    """Return whether a JSON value has the structure of a pattern.

    pattern: a type, a function that checks a value, a tuple of alternatives, a list with the
        pattern of its items, {str: pattern} for any names, or patterns by the names that are needed
    """
    if isinstance(pattern, tuple):
        return any(matches(value, each) for each in pattern)
    if isinstance(pattern, list):
        return type(value) is list and all(matches(item, pattern[0]) for item in value)
    if not isinstance(pattern, dict):
        return type(value) is pattern if isinstance(pattern, type) else pattern(value)
    if type(value) is not dict:
        return False
    if str in pattern:
        return all(matches(item, pattern[str]) for item in value.values())
    return all(key in value and matches(value[key], each) for key, each in pattern.items())


def is_size(value: Any) -> bool:
    """Return whether the value is a count or a size in bytes; booleans are not."""
    return type(value) is int and 0 <= value < _LARGEST


def _is_number(value: Any) -> bool:
    return type(value) is float or (type(value) is int and abs(value) < _LARGEST)


def are_options(value: Any) -> bool:
    """Return whether the value maps option names to scalars or lists of scalars."""
    return matches(value, {str: (*_SCALARS, [_SCALARS])}) and type(value.get("arm", "")) is str


def _is_provenance(meta: Mapping[str, Any]) -> bool:
    """Return whether a verified provenance has the structure of those that robolin writes."""
    if not matches({"tolerances": {}, "files": {}, **meta}, _PROVENANCE) or not meta["arrays"]:
        return False
    rows = () if meta["rows"] is None else (meta["rows"],)
    shaped = all(e.shape == (*rows, *map(len, e.labels)) for e in entries_of(meta))
    return shaped and len(set(meta["joints"])) == len(meta["joints"])


def _is_array(value: Any) -> bool:
    return matches(value, _ARRAY) and value.get("numbers", REAL.name) in list(NUMBER_KINDS)


def _are_parameters(value: Any) -> bool:
    """Check model parameters by the last word of their names: a vector, a text, or one number."""
    return type(value) is dict and all(
        matches(each, [_is_number]) and len(each) == _VECTORS[kind]
        if (kind := name.rpartition(" ")[2]) in _VECTORS
        else matches(each, str if kind in _NAMES else _is_number)
        for name, each in value.items()
    )


_SCALARS = (str, bool, type(None), _is_number)
_LABELS = (lambda value: value == JOINTS_AXIS, [str])
_ARRAY = {
    "unit": str,
    "axes": [(*_LABELS, {"kind": str, "labels": _LABELS})],
    "column": (str, type(None)),
    "shape": [is_size],
    "sha256": str,
}
_MODEL = {
    "arm": _are_parameters,
    **{key: {str: _are_parameters} for key in ("links", "joints", "loops")},
}
_PROVENANCE = {
    **dict.fromkeys(("robolin", "role", "verb"), str),
    "options": are_options,
    "inputs": {str: str},
    "contract": dict,
    "model": (lambda value: value in (None, {}), _MODEL),
    "joints": [str],
    "rows": (type(None), is_size),
    "arrays": {str: _is_array},
    "tolerances": {str: {str: _is_number}},
    "files": {str: str},
}
