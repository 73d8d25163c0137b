"""JSON: names, nested lists, units and provenance in one document."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, BinaryIO

from robolin.output.meta import meta
from robolin.output.replacing import replacing
from robolin.output.result import Result


def write_json(result: Result, path: str | Path) -> None:
    """Write the document as a file."""
    with replacing(path) as stream:
        write_json_to(result, stream)


def write_json_to(result: Result, stream: BinaryIO) -> None:
    """Write the document into an open stream, as UTF-8."""
    stream.write(f"{laid_out(document(result))}\n".encode())


def document(result: Result) -> dict[str, Any]:
    """The result in plain JSON types."""
    time = {} if result.time is None else {"time": result.time.tolist()}
    return {
        "joints": list(result.joints),
        **time,
        "results": {array.name: array.values.tolist() for array in result.arrays},
        "units": {array.name: array.unit for array in result.arrays},
        "meta": meta(result),
    }


def laid_out(value: Any, indent: str = "") -> str:
    """JSON text with one line per entry of an object and per row of a matrix."""
    deeper = indent + "  "
    if isinstance(value, dict) and value:
        items = [f"{_compact(key)}: {laid_out(item, deeper)}" for key, item in value.items()]
        return "{\n" + ",\n".join(deeper + item for item in items) + f"\n{indent}}}"
    if isinstance(value, list) and any(isinstance(item, (list, dict)) for item in value):
        rows = [deeper + laid_out(item, deeper) for item in value]
        return "[\n" + ",\n".join(rows) + f"\n{indent}]"
    return _compact(value)


def _compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)
