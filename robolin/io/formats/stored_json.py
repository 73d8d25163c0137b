"""Stored results that are JSON documents; a document is read at once."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from robolin.core.arrays import Numbers
from robolin.core.results.number_kind import COMPLEX, INTEGER, MOMENTS, moments_of
from robolin.errors import RobolinError
from robolin.io.provenance_reader import (
    Blocks,
    Entry,
    Meta,
    damaged,
    entries_of,
    open_bytes,
    require_intact,
)
from robolin.io.stored_file import StoredFile

_SECTIONS = {"joints", "results", "units", "meta"}


@contextmanager
def open_json(path: Path) -> Iterator[StoredFile]:
    """A JSON document with joints, results, units and meta."""
    where = str(path)
    with open_bytes(path) as stream:
        text = stream.read()
    document = _document(text, where)
    meta = require_intact(document["meta"], where)
    entries = entries_of(meta)
    _require_words(document, meta, entries, where)
    arrays = {entry.name: _array(document, entry, where) for entry in entries}
    yield StoredFile(where, meta, partial(_blocks, arrays, meta))


def _document(text: bytes, where: str) -> dict[str, Any]:
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        line = f":{error.lineno}" if isinstance(error, json.JSONDecodeError) else ""
        raise damaged(f"{where}{line}", "not a JSON document, or a damaged one") from error
    if not isinstance(document, dict) or "meta" not in document:
        raise RobolinError(
            "not a robolin result: it has no 'meta'",
            where=where,
            hint="robolin writes such files with -o FILE.json",
        )
    return document


def _require_words(
    document: Mapping[str, Any], meta: Meta, entries: tuple[Entry, ...], where: str
) -> None:
    """Everything around the numbers says what the provenance says."""
    timed = {"time"} & set(meta["arrays"])
    if set(document) != _SECTIONS | timed:
        odd = ", ".join(sorted(set(document) ^ (_SECTIONS | timed)))
        raise damaged(where, f"its parts are not those of a result: {odd}")
    if document["joints"] != meta["joints"]:
        raise damaged(where, "its joint names are not the ones its provenance states")
    if document["units"] != {e.name: e.unit for e in entries if e.name != "time"}:
        raise damaged(where, "its units are not the ones its provenance states")
    results = document["results"]
    if not isinstance(results, dict) or set(results) != set(meta["arrays"]) - timed:
        raise damaged(where, "its arrays are not the ones its provenance states")


def _array(document: Mapping[str, Any], entry: Entry, where: str) -> Numbers:
    found = document["time"] if entry.name == "time" else document["results"][entry.name]
    for unit, kind in MOMENTS.items():
        if entry.numbers is kind:
            return _moments(found, entry, unit, where)
    if entry.numbers is not COMPLEX:
        return _numbers(found, entry, where)
    if not isinstance(found, dict) or set(found) != {"re", "im"}:
        raise damaged(where, f"the array '{entry.name}' has not both parts of complex numbers")
    values = np.empty(entry.shape, np.complex128)
    values.real, values.imag = (_numbers(found[part], entry, where) for part in ("re", "im"))
    return values


def _moments(found: Any, entry: Entry, unit: str, where: str) -> Numbers:
    texts = found if isinstance(found, list) else []
    values = moments_of(texts, unit) if all(isinstance(each, str) for each in texts) else None
    if values is None or values.shape != entry.shape:
        message = f"the array '{entry.name}' has another shape than it was stored with"
        raise damaged(where, message)
    return values.view(entry.numbers.dtype)


def _numbers(found: Any, entry: Entry, where: str) -> Numbers:
    try:
        values = np.array(found)
    except ValueError as error:
        raise damaged(where, f"the array '{entry.name}' has rows of different lengths") from error
    whole = entry.numbers is INTEGER
    if values.dtype.kind not in ("i" if whole else "fi") or values.shape != entry.shape:
        message = f"the array '{entry.name}' has another shape than it was stored with"
        raise damaged(where, message)
    return values.astype(np.int64 if whole else np.float64, copy=False)


def _blocks(arrays: Mapping[str, Numbers], meta: Meta, rows: int) -> Blocks:
    total = meta["rows"]
    if total is None:
        yield arrays
        return
    for first in range(0, total, rows):
        yield {name: values[first : first + rows] for name, values in arrays.items()}
