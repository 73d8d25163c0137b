"""Trajectory files in, arrays in the arm's joint order out."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from robolin.errors import FileError, RobolinError, UsageError
from robolin.trajectory.columns import Matched, match
from robolin.trajectory.csv_sheet import csv_sheet
from robolin.trajectory.npz_sheet import npz_sheet
from robolin.trajectory.parquet_sheet import parquet_sheet
from robolin.trajectory.sheet import Sheet
from robolin.trajectory.trajectory import Floats, Trajectory

EXTENSIONS = (".csv", ".parquet", ".npz")


def read_trajectory(
    path: str | Path,
    joints: Sequence[str],
    needs: Sequence[str],
    optional: Sequence[str] = (),
) -> Trajectory:
    """Read the quantities ('q', 'qd', 'qdd', 'tau') of these joints; '-' is CSV on stdin.

    needs:    a missing column is an error
    optional: None if the file has no such column, 0 for the joints it leaves out
    """
    file = "<stdin>" if str(path) == "-" else str(path)
    extension = _extension(str(path))
    data = _bytes(str(path), file)
    sheet = _sheet(extension, data, file, joints)
    matched = match(sheet.names, joints, needs, optional, where=file)
    return _assembled(sheet, matched, file, hashlib.sha256(data).hexdigest())


def _extension(path: str) -> str:
    extension = ".csv" if path == "-" else Path(path).suffix.lower()
    if extension not in EXTENSIONS:
        raise UsageError(
            f"'{extension}' is no trajectory format" if extension else "the name has no extension",
            where=path,
            hint=f"use one of {', '.join(EXTENSIONS)}, or - for CSV on stdin",
        )
    return extension


def _bytes(path: str, file: str) -> bytes:
    try:
        return sys.stdin.buffer.read() if path == "-" else Path(path).read_bytes()
    except FileNotFoundError as error:
        raise FileError("no such file", where=file, hint="check the path") from error
    except OSError as error:
        raise FileError(f"could not read: {error.strerror or error}", where=file) from error


def _sheet(extension: str, data: bytes, file: str, joints: Sequence[str]) -> Sheet:
    if extension == ".csv":
        return csv_sheet(data, file)
    if extension == ".parquet":
        return parquet_sheet(data, file)
    return npz_sheet(data, file, joints)


def _assembled(sheet: Sheet, matched: Matched, file: str, digest: str) -> Trajectory:
    """Read each matched column once and put it where its joint stands."""
    read = [i for places in matched.columns.values() for i in places if i is not None]
    if matched.time is not None:
        read.append(matched.time)
    if not read:
        raise RobolinError("none of its columns can be used", where=file, hint="look at the header")
    values = sheet.numbers(read)
    rows = len(values)
    if rows == 0:
        raise RobolinError("there is no row below the header", where=file)
    position = {i: place for place, i in enumerate(read)}

    def gathered(places: Sequence[int | None]) -> Floats:
        table = np.zeros((rows, len(places)))
        for joint, i in enumerate(places):
            if i is not None:
                table[:, joint] = values[:, position[i]]
        return table

    quantities = {name: gathered(places) for name, places in matched.columns.items()}
    time = None if matched.time is None else gathered([matched.time])[:, 0]
    return Trajectory(rows, **quantities, time=time, notes=matched.notes, digest=digest)
