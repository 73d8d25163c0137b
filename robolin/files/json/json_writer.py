"""JSON: names, nested lists, units and provenance in one document."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, closing
from math import prod
from pathlib import Path
from typing import IO, Any, BinaryIO

import numpy as np

from robolin.arrays import Floats
from robolin.background import from_item, prefetch
from robolin.files.atomic import replacing
from robolin.files.meta import Digests
from robolin.results.result import ResultStream

_HELD_IN_MEMORY = 1 << 24
_NUMBERS_AT_ONCE = 1 << 16


def write_json(flow: ResultStream, path: str | Path) -> None:
    """Write the document as a file."""
    with replacing(path) as stream:
        write_json_to(flow, stream)


def write_json_to(flow: ResultStream, stream: BinaryIO) -> None:
    """Write the document into an open stream, as UTF-8.

    It has one array after the other, all rows of each, so they wait until the last row is there.
    """
    digests = Digests()
    spools: dict[str, IO[bytes]] = {}
    with ExitStack() as opened:
        with closing(prefetch(digests.passing(flow.parts), from_item(3))) as parts:
            for part in parts:
                for name, values in part.stored():
                    if name not in spools:
                        spools[name] = opened.enter_context(
                            tempfile.SpooledTemporaryFile(_HELD_IN_MEMORY)
                        )
                    spools[name].write(np.ascontiguousarray(values).tobytes())
        for text in _document(flow, digests, spools):
            stream.write(text.encode())


def _document(flow: ResultStream, digests: Digests, spools: dict[str, IO[bytes]]) -> Iterator[str]:
    part = digests.last
    yield f'{{\n  "joints": {_compact(list(part.joints))},\n'
    if "time" in spools:
        yield '  "time": '
        yield from _list(spools["time"], digests.shapes["time"], "  ")
        yield ",\n"
    yield '  "results": {'
    for i, array in enumerate(part.arrays):
        yield f"{',' if i else ''}\n    {_compact(array.name)}: "
        yield from _list(spools[array.name], digests.shapes[array.name], "    ")
    units = {array.name: array.unit for array in part.arrays}
    yield f'\n  }},\n  "units": {laid_out(units, "  ")},\n'
    yield f'  "meta": {laid_out(digests.meta(flow), "  ")}\n}}\n'


def _list(spool: IO[bytes], shape: tuple[int, ...], indent: str) -> Iterator[str]:
    """The array in the spool, laid out as if it had been there as nested lists."""
    spool.seek(0)
    if not shape:
        yield _compact(np.frombuffer(spool.read()).item())
        return
    rows, row_shape = shape[0], shape[1:]
    begin, between, end = ("[\n", ",\n", f"\n{indent}]") if row_shape else ("[", ", ", "]")
    deeper = f"{indent}  " if row_shape else ""
    at_once = max(_NUMBERS_AT_ONCE // max(prod(row_shape), 1), 1)
    yield begin
    for first in range(0, rows, at_once):
        count = min(at_once, rows - first)
        values = _read(spool, (count, *row_shape))
        texts = (deeper + laid_out(row, deeper) for row in values.tolist())
        yield (between if first else "") + between.join(texts)
    yield end


def _read(spool: IO[bytes], shape: tuple[int, ...]) -> Floats:
    return np.frombuffer(spool.read(8 * prod(shape))).reshape(shape)


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
