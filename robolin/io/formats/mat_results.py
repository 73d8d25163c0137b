"""Results as MAT-files: arrays with rows as the last axis, names as cells, and the provenance."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from robolin.core.arrays import Numbers, stored_values
from robolin.core.result import Result, ResultStream
from robolin.errors import FileError, RobolinError
from robolin.io.atomic import atomic_write
from robolin.io.provenance import (
    ArrayMeta,
    Blocks,
    Digests,
    corrupt_file_error,
    open_bytes,
    provenance,
)
from robolin.io.stored import StoredFile

META = "meta"
# bytes of all arrays together; writing them takes about three times as much memory
LARGEST_RESULT = 1 << 29


def write_mat_result(result: ResultStream, path: str | Path) -> None:
    """Write every array, `JointName` and `meta`; for a linear model also MATLAB's fields.

    All rows are held in memory, so the size is limited.
    """
    digests = Digests()
    parts: dict[str, list[Numbers]] = {}
    size = 0
    for part in digests.passing(result.parts):
        for name, values in part.stored():
            parts.setdefault(name, []).append(stored_values(values))
            size += values.nbytes
        if size > LARGEST_RESULT:
            raise _too_large(str(path))
    variables: dict[str, Any] = {}
    for name in list(parts):
        pieces = parts.pop(name)
        array = pieces[0] if digests.rows is None else np.concatenate(pieces)
        variables[name] = array if digests.rows is None else np.moveaxis(array, 0, -1)
    words = model_words(digests.last, variables, digests.rows)
    write_mat(path, {**variables, **words, META: digests.meta_text(result)})


def _too_large(path: str) -> FileError:
    return FileError(
        f"a MAT-file must be at most {LARGEST_RESULT >> 20} MB",
        where=path,
        hint="write fewer rows, fewer arrays (--only, only=), or write an NPZ file, which has no "
        "size limit",
    )


@contextmanager
def open_mat(path: Path) -> Iterator[StoredFile]:
    """Open a stored result and read all arrays into memory."""
    where = str(path)
    with open_bytes(path) as stream:
        variables = _variables(stream.read(), where)
    if META not in variables:
        hint = "write a result with -o FILE.mat"
        raise RobolinError("not a robolin result: 'meta' is missing", where=where, hint=hint)
    meta = provenance("".join(np.atleast_1d(variables[META]).astype(str)), where)

    def blocks(rows: int) -> Blocks:
        arrays = {entry.name: _values(entry, variables, meta, where) for entry in stored.entries}
        total = meta["rows"]
        if total is None:
            yield arrays
            return
        for first in range(0, total, rows):
            yield {name: values[first : first + rows] for name, values in arrays.items()}

    stored = StoredFile(where, meta, blocks)
    yield stored


def _variables(content: bytes, where: str) -> Mapping[str, Any]:
    try:
        from scipy.io import loadmat
    except ImportError as error:
        message = "MAT-files require SciPy, which is not installed"
        raise RobolinError(message, hint="pip install scipy") from error
    if not content.startswith(HEADER.encode()):
        hint = "write a result with -o FILE.mat"
        raise RobolinError("not a MAT-file written by robolin", where=where, hint=hint)
    # SciPy may crash on damaged bytes, so verify the hash first
    if content[:HEADER_TEXT] != header(content[HEADER_TEXT:]):
        raise corrupt_file_error(where, "the file was changed after it was stored")
    loaded: dict[str, Any] = loadmat(BytesIO(content), chars_as_strings=True)
    return loaded


def _values(entry: ArrayMeta, variables: Mapping[str, Any], meta: Any, where: str) -> Numbers:
    """An array with its rows first again; MATLAB stores vectors and scalars as matrices."""
    array = variables.get(entry.name)
    shape = entry.shape if meta["rows"] is None else (*entry.shape[1:], entry.shape[0])
    if not isinstance(array, np.ndarray) or array.size != int(np.prod(shape)):
        raise corrupt_file_error(where, f"array '{entry.name}' is missing or has the wrong shape")
    values = np.asarray(array, dtype=entry.numbers.dtype).reshape(shape)
    return values if meta["rows"] is None else np.moveaxis(values, -1, 0)


# MATLAB's fields for the names along an axis
MATLAB_NAME_FIELDS = {"state": "StateName", "input": "InputName", "output": "OutputName"}
USUAL_METHOD = "zoh"


def model_words(part: Result, variables: Mapping[str, Any], rows: int | None) -> dict[str, Any]:
    """The variables of a MAT-file besides the arrays, whose rows are their last axis."""
    fields: dict[str, Any] = {"JointName": list(part.joints)}
    for array in part.arrays:
        for axis, labels in enumerate(array.labels):
            if array.axis_kind(axis) in MATLAB_NAME_FIELDS:
                fields[MATLAB_NAME_FIELDS[array.axis_kind(axis)]] = list(labels)
    if "StateName" not in fields:
        return fields
    fields["Ts"] = float(part.options.get("dt", 0.0))
    method = str(part.options.get("discretize", USUAL_METHOD)) if fields["Ts"] else ""
    fields |= discretization(fields["Ts"], method) | sampling_grid(rows, variables.get("time"))
    if {"drift", "y", "q", "qd", "tau"} <= set(variables) and "basis" not in variables:
        fields["Offsets"] = _offsets(part, variables, fields["InputName"])
    return fields


def discretization(dt: float, method: str) -> dict[str, Any]:
    """Discretization method and step; empty for a continuous model."""
    return {"Discretization": {"method": method, "dt": dt}} if dt else {}


def sampling_grid(rows: int | None, time: Any = None) -> dict[str, Any]:
    """Row and time of each model of a model array, in the form of `sys.SamplingGrid`."""
    if rows is None:
        return {}
    grid = {"row": np.arange(1.0, rows + 1.0)}
    if time is not None:
        grid["time"] = np.asarray(time, dtype=float).reshape(-1)
    return {"SamplingGrid": grid}


def _offsets(part: Result, variables: Mapping[str, Any], inputs: list[str]) -> dict[str, Any]:
    """The operating point: dx, x, u and y, in the form of `sys.Offsets`."""
    driven = [part.joints.index(name.removesuffix("/effort")) for name in inputs]
    return {
        "dx": variables["drift"],
        "x": np.concatenate([variables["q"], variables["qd"]], axis=0),
        "u": variables["tau"][driven],
        "y": variables["y"],
    }


# the first bytes are free text: SciPy writes the date, robolin the hash of the other bytes
HEADER_TEXT = 116
HEADER = "MATLAB 5.0 MAT-file, written by robolin"
# a level 5 MAT-file stores the size of a variable in 32 bits
LARGEST_VARIABLE = 2**31 - 1


def write_mat(target: str | Path, variables: Mapping[str, Any]) -> None:
    """Write a MAT-file with these variables atomically.

    Arrays stay arrays, text stays text, lists of text become cell columns, mappings structs.
    """
    content = mat_bytes(variables)
    with atomic_write(target) as stream:
        stream.write(content)


def mat_bytes(variables: Mapping[str, Any]) -> memoryview:
    """The bytes of a MAT-file with these variables."""
    try:
        from scipy.io import savemat
    except ImportError as error:
        message = "MAT-files require SciPy, which is not installed"
        raise RobolinError(message, hint="pip install scipy") from error
    stream = BytesIO()
    converted = {name: _value(name, value) for name, value in variables.items()}
    savemat(stream, converted, format="5", long_field_names=True, oned_as="column")
    content = stream.getbuffer()
    content[:HEADER_TEXT] = header(content[HEADER_TEXT:])
    return content


def header(body: bytes | memoryview) -> bytes:
    """The header of a file with this body."""
    return f"{HEADER} {sha256(body).hexdigest()}".encode().ljust(HEADER_TEXT)


def _value(name: str, value: Any) -> Any:
    """Convert a value to the type that SciPy writes."""
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping):
        return {key: _value(f"{name}.{key}", each) for key, each in value.items()}
    if isinstance(value, Sequence) and all(isinstance(each, str) for each in value):
        cells = np.empty((len(value), 1), dtype=object)
        cells[:, 0] = list(value)
        return cells
    array = np.asarray(value)
    if array.nbytes > LARGEST_VARIABLE:
        size = f"{array.nbytes / 1e9:.1f} GB"
        hint = "write fewer rows, or write an NPZ file"
        raise FileError(f"'{name}' is too large for a MAT-file: {size}", hint=hint)
    return array
