"""NPZ files with arrays q, qd, qdd, tau of shape (rows, n), and optionally `joints` and `time`.

Without any of these, every vector is a column under its own name, such as `elbow/position`.
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from math import prod

import numpy as np

from robolin.core.quantity_table import COLUMN_WORDS, column_name
from robolin.errors import RobolinError, raise_all
from robolin.io.formats.npz_member import NpzMember, archive_errors, members
from robolin.io.table_file import (
    ReadRequest,
    TableBlock,
    TableFile,
    TableSource,
    counted_place,
    require_finite_cells,
    require_plausible,
)

# bytes; as many joints as no arm has
_LARGEST_NAMES = 1 << 22
# half of what becomes of zeros, which no motion consists of
_LARGEST_RATIO = 500


def npz_table(source: TableSource) -> TableFile:
    """Name every column as a CSV would: by its joint, or by its number without `joints`."""
    file = source.file
    with archive_errors(file):
        found = members(zipfile.ZipFile(source.stream))
        named = _joint_names(found, file)
    parts = {name: found[name] for name in (*COLUMN_WORDS, "time") if name in found}
    if not parts.keys() & COLUMN_WORDS.keys():
        parts.update({name: each for name, each in found.items() if _is_column(each)})
    width = len(source.joints) if named is None else len(named)
    _require_shapes(parts, width, file)
    columns, names = _columns(parts, named, width)
    rows = next((member.rows for member in parts.values()), 0)

    def blocks(request: ReadRequest) -> Iterator[TableBlock]:
        _require_motion({columns[i][0].name: columns[i][0] for i in request.indices}, file)
        for block in _blocks(columns, rows, request, file):
            if not request.gaps:
                require_finite_cells(block, names, request, file, rows)
            yield block

    return TableFile(
        names,
        blocks,
        size=rows,
        most_rows=lambda: rows,
        digest=source.digest,
        chooses=True,
        # what is not a vector is of joints, and need not stay whole
        whole=lambda i: columns[i][0].is_vector and columns[i][0].holds_integers,
        moments=lambda i: columns[i][0].unit if columns[i][0].is_vector else None,
    )


def _columns(
    parts: Mapping[str, NpzMember], named: Sequence[str] | None, width: int
) -> tuple[list[tuple[NpzMember, int]], list[str]]:
    """Where each column stands, and its name."""
    columns: list[tuple[NpzMember, int]] = []
    names: list[str] = []
    for name, member in parts.items():
        many = 1 if member.is_vector else width
        columns += [(member, i) for i in range(many)]
        if member.is_vector:
            names.append(name)
        elif named is None:
            names += [f"{name}[{i}]" for i in range(width)]
        else:
            names += [column_name(name, joint) for joint in named]
    return columns, names


def _blocks(
    columns: Sequence[tuple[NpzMember, int]], rows: int, request: ReadRequest, file: str
) -> Iterator[TableBlock]:
    chosen = [columns[i] for i in request.indices]
    at_once = request.rows
    with ExitStack() as opened, archive_errors(file):
        exactly = {i: columns[i][0].integer_reader(opened) for i in request.whole}
        wanted = {member.name: member for member, _ in chosen}
        readers = {name: member.reader(opened) for name, member in wanted.items()}
        within = request.within(rows)
        for first in range(0, within.start, at_once):
            for read in (*readers.values(), *exactly.values()):
                read(min(at_once, within.start - first))
        for first in within[::at_once]:
            count = min(at_once, within.stop - first)
            parts = {name: read(count) for name, read in readers.items()}
            values = np.stack([parts[member.name][:, i] for member, i in chosen], axis=1)
            whole = {i: read(count) for i, read in exactly.items()}
            yield TableBlock(values, counted_place(file, first), first + count, whole)


def _is_column(member: NpzMember) -> bool:
    """Whether an array can be a column of a table: a vector of numbers or moments."""
    return member.is_vector and (member.dtype.kind in "iuf" or member.unit is not None)


def _require_motion(chosen: Mapping[str, NpzMember], file: str) -> None:
    packed = sum(member.packed for member in chosen.values())
    require_plausible(
        sum(prod(member.shape) * 8 for member in chosen.values()), packed, _LARGEST_RATIO, file
    )


def _joint_names(found: Mapping[str, NpzMember], file: str) -> list[str] | None:
    joints = found.get("joints")
    if joints is None:
        return None
    if len(joints.shape) != 1 or joints.dtype.kind != "U":
        raise RobolinError(
            "'joints' has to be a list of names",
            where=file,
            hint="one name per column of q, as text",
        )
    if joints.shape[0] * joints.dtype.itemsize > _LARGEST_NAMES:
        raise RobolinError(
            f"'joints' holds {joints.shape[0]} names of {joints.dtype.itemsize // 4} letters",
            where=file,
            hint="one name per joint",
        )
    return [str(name) for name in joints.at_once()]


def _require_shapes(parts: Mapping[str, NpzMember], width: int, file: str) -> None:
    problems = [
        RobolinError(f"'{name}' {problem}", where=file, hint=f"expected shape (rows, {width})")
        for name, member in parts.items()
        if name in (*COLUMN_WORDS, "time") and (problem := _shape_problem(member, width))
    ]
    raise_all(problems)
    lengths = {name: member.rows for name, member in parts.items()}
    if len(set(lengths.values())) > 1:
        listed = ", ".join(f"{name} has {rows}" for name, rows in lengths.items())
        message = f"the arrays differ in their number of rows: {listed}"
        raise RobolinError(message, where=file, hint="store arrays of other lengths elsewhere")


def _shape_problem(member: NpzMember, width: int) -> str:
    shape = member.shape
    moments = member.name == "time" and member.unit is not None
    if member.dtype.kind not in "iuf" and not moments:
        return f"holds {member.dtype}, not real numbers"
    if member.name == "time" and member.dtype.itemsize > 8:
        return f"holds {member.dtype}, which has more digits than float64"
    if member.name == "time":
        return "" if len(shape) == 1 else f"has shape {shape} instead of (rows,)"
    if len(shape) != 2 or shape[1] != width:
        return f"has shape {shape}"
    return ""
