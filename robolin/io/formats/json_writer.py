"""JSON: names, nested lists, units and provenance in one document."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from functools import partial
from math import prod
from operator import attrgetter
from pathlib import Path
from typing import IO, Any, BinaryIO

import numpy as np

from robolin.core.arrays import (
    COMPLEX,
    DATETIMES,
    INTEGER,
    NumberKind,
    Numbers,
    format_datetimes,
    kind_of,
    stored_values,
    with_shortest_digits,
)
from robolin.core.quantity_table import QUANTITIES, Quantity
from robolin.core.result import ResultStream
from robolin.core.text import printable_json
from robolin.core.threads import after_short_answer, prefetch
from robolin.errors import RobolinError
from robolin.io.atomic import atomic_write
from robolin.io.provenance import (
    EXTENDED_FORMAT,
    FORMAT,
    JOINTS_AXIS,
    ArrayMeta,
    Blocks,
    Digests,
    Meta,
    corrupt_file_error,
    entries_of,
    open_bytes,
    require_intact,
)
from robolin.io.stored import StoredFile

_HELD_IN_MEMORY = 1 << 24
_NUMBERS_AT_ONCE = 1 << 16


def write_json(result: ResultStream, path: str | Path) -> None:
    """Write the document as a file."""
    with atomic_write(path) as stream:
        write_json_to(result, stream)


def write_json_to(result: ResultStream, stream: BinaryIO) -> None:
    """Write the document into an open stream, as UTF-8.

    The arrays follow each other, each with all rows, so they are spooled until the last row.
    """
    # import here: the companion of a CSV needs other parts of this module
    from tempfile import SpooledTemporaryFile

    digests = Digests()
    spools: dict[str, IO[bytes]] = {}
    with ExitStack() as opened:
        start_when = after_short_answer(attrgetter("size"))
        with closing(prefetch(digests.passing(result.parts), start_when)) as parts:
            for part in parts:
                for name, values in part.stored():
                    if name not in spools:
                        spools[name] = opened.enter_context(SpooledTemporaryFile(_HELD_IN_MEMORY))
                    spools[name].write(stored_values(values).tobytes())
        for text in _document(result, digests, spools):
            stream.write(printable_json(text).encode())


def _document(
    result: ResultStream, digests: Digests, spools: dict[str, IO[bytes]]
) -> Iterator[str]:
    part = digests.last
    kinds = {name: kind_of(values) for name, values in part.stored()}
    yield f'{{\n  "joints": {_compact(list(part.joints))},\n'
    if "time" in spools:
        yield '  "time": '
        yield from _list(spools["time"], digests.shapes["time"], kinds["time"], "  ")
        yield ",\n"
    yield '  "results": {'
    for i, array in enumerate(part.arrays):
        yield f"{',' if i else ''}\n    {_compact(array.name)}: "
        kind, shape = kinds[array.name], digests.shapes[array.name]
        write = _parts if kind is COMPLEX else _list
        yield from write(spools[array.name], shape, kind, "    ")
    units = {array.name: array.unit for array in part.arrays}
    yield f'\n  }},\n  "units": {dumps_indented(units, "  ")},\n'
    yield f'  "meta": {dumps_indented(digests.meta(result), "  ")}\n}}\n'


def _parts(
    spool: IO[bytes], shape: tuple[int, ...], kind: NumberKind, indent: str
) -> Iterator[str]:
    """Complex numbers as an object with two arrays."""
    deeper = f"{indent}  "
    for begin, part in (("{", "re"), (",", "im")):
        yield f"{begin}\n{deeper}{_compact(part)}: "
        yield from _list(spool, shape, kind, deeper, part)
    yield f"\n{indent}}}"


def _list(
    spool: IO[bytes], shape: tuple[int, ...], kind: NumberKind, indent: str, part: str = "re"
) -> Iterator[str]:
    """The array in the spool as nested lists."""
    spool.seek(0)
    if not shape:
        yield _compact(_read(spool, (), kind, part).item())
        return
    rows, row_shape = shape[0], shape[1:]
    begin, between, end = ("[\n", ",\n", f"\n{indent}]") if row_shape else ("[", ", ", "]")
    deeper = f"{indent}  " if row_shape else ""
    at_once = max(_NUMBERS_AT_ONCE // max(prod(row_shape), 1), 1)
    yield begin
    for first in range(0, rows, at_once):
        count = min(at_once, rows - first)
        values = _read(spool, (count, *row_shape), kind, part)
        plain = format_datetimes(values) if values.dtype.kind == "M" else values.tolist()
        texts = (deeper + dumps_indented(row, deeper) for row in plain)
        yield (between if first else "") + between.join(texts)
    yield end


def _read(spool: IO[bytes], shape: tuple[int, ...], kind: NumberKind, part: str) -> Numbers:
    values = np.frombuffer(spool.read(kind.size * prod(shape)), kind.dtype).reshape(shape)
    return with_shortest_digits(values.imag if part == "im" else values.real)


def dumps_indented(value: Any, indent: str = "") -> str:
    """JSON text with one line per entry of an object and per row of a matrix."""
    deeper = indent + "  "
    if isinstance(value, dict) and value:
        items = [f"{_compact(key)}: {dumps_indented(item, deeper)}" for key, item in value.items()]
        return "{\n" + ",\n".join(deeper + item for item in items) + f"\n{indent}}}"
    if isinstance(value, list) and any(isinstance(item, (list, dict)) for item in value):
        rows = [deeper + dumps_indented(item, deeper) for item in value]
        return "[\n" + ",\n".join(rows) + f"\n{indent}]"
    return _compact(value)


def _compact(value: Any) -> str:
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False)
    except ValueError as error:
        raise RobolinError("JSON cannot represent NaN", hint="write CSV, NPZ or Parquet") from error


_SECTIONS = {"joints", "results", "units", "meta"}


@contextmanager
def open_json(path: Path) -> Iterator[StoredFile]:
    """Open a JSON document with joints, results, units and meta."""
    where = str(path)
    with open_bytes(path) as stream:
        text = stream.read()
    document = _stored_json_document(text, where)
    meta = require_intact(document["meta"], where)
    entries = entries_of(meta)
    _require_words(document, meta, entries, where)
    arrays = {entry.name: _array(document, entry, where) for entry in entries}
    yield StoredFile(where, meta, partial(_blocks, arrays, meta))


def _stored_json_document(text: bytes, where: str) -> dict[str, Any]:
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        line = f":{error.lineno}" if isinstance(error, json.JSONDecodeError) else ""
        raise corrupt_file_error(f"{where}{line}", "not a valid JSON document") from error
    if not isinstance(document, dict) or "meta" not in document:
        raise RobolinError(
            "not a robolin result: key 'meta' is missing",
            where=where,
            hint="write a result with -o FILE.json",
        )
    return document


def _require_words(
    document: Mapping[str, Any], meta: Meta, entries: tuple[ArrayMeta, ...], where: str
) -> None:
    """Reject a document whose names and units differ from its provenance."""
    timed = {"time"} & set(meta["arrays"])
    if set(document) != _SECTIONS | timed:
        odd = ", ".join(sorted(set(document) ^ (_SECTIONS | timed)))
        raise corrupt_file_error(where, f"missing or unexpected keys: {odd}")
    if document["joints"] != meta["joints"]:
        raise corrupt_file_error(where, "joint names do not match the provenance")
    if document["units"] != {e.name: e.unit for e in entries if e.name != "time"}:
        raise corrupt_file_error(where, "units do not match the provenance")
    results = document["results"]
    if not isinstance(results, dict) or set(results) != set(meta["arrays"]) - timed:
        raise corrupt_file_error(where, "arrays do not match the provenance")


def _array(document: Mapping[str, Any], entry: ArrayMeta, where: str) -> Numbers:
    data = document["time"] if entry.name == "time" else document["results"][entry.name]
    for unit, kind in DATETIMES.items():
        if entry.numbers is kind:
            return _datetimes(data, entry, unit, where)
    if entry.numbers is not COMPLEX:
        return _numbers(data, entry, where)
    if not isinstance(data, dict) or set(data) != {"re", "im"}:
        raise corrupt_file_error(where, f"array '{entry.name}' must have real and imaginary parts")
    values = np.empty(entry.shape, np.complex128)
    values.real, values.imag = (_numbers(data[part], entry, where) for part in ("re", "im"))
    return values


def _datetimes(data: Any, entry: ArrayMeta, unit: str, where: str) -> Numbers:
    # import here: few results have dates
    from robolin.io.formats.csv_records import parse_datetimes

    texts = data if isinstance(data, list) else []
    values = parse_datetimes(texts, unit) if all(isinstance(each, str) for each in texts) else None
    if values is None or values.shape != entry.shape:
        message = f"array '{entry.name}' does not have its stored shape"
        raise corrupt_file_error(where, message)
    return values.view(entry.numbers.dtype)


def _numbers(data: Any, entry: ArrayMeta, where: str) -> Numbers:
    try:
        values = np.array(data)
    except ValueError as error:
        raise corrupt_file_error(
            where, f"array '{entry.name}' has rows of different lengths"
        ) from error
    integer = entry.numbers is INTEGER
    if values.dtype.kind not in ("i" if integer else "fi") or values.shape != entry.shape:
        message = f"array '{entry.name}' does not have its stored shape"
        raise corrupt_file_error(where, message)
    return values.astype(
        entry.numbers.dtype if entry.numbers is not COMPLEX else np.float64, copy=False
    )


def _blocks(arrays: Mapping[str, Numbers], meta: Meta, rows: int) -> Blocks:
    total = meta["rows"]
    if total is None:
        yield arrays
        return
    for first in range(0, total, rows):
        yield {name: values[first : first + rows] for name, values in arrays.items()}


def result_schema() -> dict[str, Any]:
    """The JSON schema of a result, for tools that read documents of `--format json`."""
    text, texts, numbers = {"type": "string"}, {"$ref": "#/$defs/texts"}, {"$ref": "#/$defs/array"}
    size = {"type": "integer", "minimum": 0}
    named = {name: _described_array(each) for name, each in QUANTITIES.items() if name != "time"}
    meta = {
        "format": {"enum": [FORMAT, EXTENDED_FORMAT]},
        "robolin": {**text, "description": "version that computed the result"},
        "role": {"enum": ["result", "reference"]},
        "verb": {**text, "description": "command"},
        "options": {"type": "object", "description": "options of the command line"},
        "inputs": _map_of({"$ref": "#/$defs/sha256"}, "SHA-256 of each input file"),
        "contract": {"type": "object", "description": "model assumptions"},
        "model": {"type": ["object", "null"], "description": "parameters of links and joints"},
        "joints": texts,
        "rows": {"anyOf": [{"type": "null"}, size], "description": "null for one state"},
        "arrays": _map_of({"$ref": "#/$defs/entry"}, "unit, axes and shape of each array"),
        "sha256": {"$ref": "#/$defs/sha256"},
    }
    axis = {"anyOf": [{"const": JOINTS_AXIS}, texts]}
    kind_axis = _object({"kind": text, "labels": axis})
    entry = {
        "unit": text,
        "axes": {"type": "array", "items": {"anyOf": [*axis["anyOf"], kind_axis]}},
        "column": {"type": ["string", "null"]},
        "shape": {"type": "array", "items": size},
        "sha256": {"$ref": "#/$defs/sha256"},
    }
    reference = {"tolerances": {"type": "object"}, "files": _map_of(text), "plan": {}}
    array = [{"type": "number"}, text, {"type": "array", "items": numbers}]
    document = {
        "joints": {**texts, "description": "movable joints, in the order of all arrays"},
        "time": {**numbers, "description": "s, or date-times; one value per row"},
        "results": {"type": "object", "properties": named, "additionalProperties": numbers},
        "units": _map_of(text, "SI unit of each result"),
        "meta": _object(meta, reference),
    }
    required = {key: document[key] for key in ("joints", "results", "units", "meta")}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "robolin result",
        **_object(required, {"time": document["time"]}),
        "$defs": {
            "sha256": {**text, "pattern": "^[0-9a-f]{64}$"},
            "texts": {"type": "array", "items": text},
            "array": {"anyOf": [*array, _object({"re": numbers, "im": numbers})]},
            "entry": _object(entry, {"numbers": text}),
        },
    }


def _described_array(quantity: Quantity) -> dict[str, Any]:
    axes = ", ".join(["rows if any", *(str(axis) for axis in quantity.axes)])
    return {"$ref": "#/$defs/array", "description": f"{quantity.symbol}; axes: {axes}"}


def _map_of(values: Mapping[str, Any], description: str = "") -> dict[str, Any]:
    about = {"description": description} if description else {}
    return {"type": "object", "additionalProperties": values, **about}


def _object(
    required: Mapping[str, Any], optional: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {**required, **(optional or {})},
        "required": list(required),
        "additionalProperties": False,
    }
