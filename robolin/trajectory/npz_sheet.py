"""NPZ files with arrays q, qd, qdd, tau of shape (rows, n), and optionally `joints` and `time`."""

from __future__ import annotations

import io
import struct
import zipfile
import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from robolin.errors import RobolinError, raise_all
from robolin.trajectory.columns import WORDS, native
from robolin.trajectory.sheet import Sheet, require_finite
from robolin.trajectory.trajectory import Floats

Arrays = dict[str, npt.NDArray[Any]]

_DAMAGE = (
    *(zipfile.BadZipFile, zlib.error, struct.error, EOFError, MemoryError, OSError),
    *(ValueError, LookupError, RuntimeError, ArithmeticError),
)


def npz_sheet(data: bytes, file: str, joints: Sequence[str]) -> Sheet:
    """Name every column as a CSV would: by its joint, or by its number without `joints`."""
    arrays = _load(data, file)
    named = _joint_names(arrays, file)
    parts = {name: arrays[name] for name in (*WORDS, "time") if name in arrays}
    width = len(joints) if named is None else len(named)
    _require_shapes(parts, width, file)

    names: list[str] = []
    for name, values in parts.items():
        if name == "time":
            names.append(name)
        elif named is None:
            names += [f"{name}[{i}]" for i in range(values.shape[1])]
        else:
            names += [native(name, joint) for joint in named]

    def numbers(indices: Sequence[int]) -> Floats:
        table = np.column_stack(list(parts.values()))
        values: Floats = table[:, list(indices)].astype(np.float64)
        require_finite(values, [names[i] for i in indices], file)
        return values

    return Sheet(names, numbers)


def _load(data: bytes, file: str) -> Arrays:
    try:
        with np.load(io.BytesIO(data), allow_pickle=False) as archive:
            # a lone .npy array has no names
            return {name: archive[name] for name in archive.files}
    except (*_DAMAGE, AttributeError, TypeError) as error:
        raise RobolinError(
            "not an NPZ archive of plain arrays, or a damaged one",
            where=file,
            hint="write it with numpy.savez(file, q=…, qd=…, joints=[…])",
        ) from error


def _joint_names(arrays: Arrays, file: str) -> list[str] | None:
    joints = arrays.get("joints")
    if joints is None:
        return None
    if joints.ndim != 1 or joints.dtype.kind != "U":
        raise RobolinError(
            "'joints' has to be a list of names",
            where=file,
            hint="one name per column of q, as text",
        )
    return [str(name) for name in joints]


def _require_shapes(parts: Arrays, width: int, file: str) -> None:
    problems = [
        RobolinError(f"'{name}' {problem}", where=file, hint=f"expected shape (rows, {width})")
        for name, values in parts.items()
        if (problem := _shape_problem(name, values, width))
    ]
    raise_all(problems)
    lengths = {name: len(values) for name, values in parts.items()}
    if len(set(lengths.values())) > 1:
        listed = ", ".join(f"{name} has {rows}" for name, rows in lengths.items())
        raise RobolinError(f"the arrays differ in their number of rows: {listed}", where=file)


def _shape_problem(name: str, values: npt.NDArray[Any], width: int) -> str:
    if values.dtype.kind not in "iuf":
        return f"holds {values.dtype}, not real numbers"
    if name == "time":
        return "" if values.ndim == 1 else f"has shape {values.shape} instead of (rows,)"
    if values.ndim != 2 or values.shape[1] != width:
        return f"has shape {values.shape}"
    return ""
