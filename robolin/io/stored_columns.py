"""Stored results that are tables: arrays put together again from columns."""

from __future__ import annotations

from functools import partial

import numpy as np

from robolin.core.arrays import Numbers
from robolin.core.results.number_kind import COMPLEX, INTEGER, MOMENTS
from robolin.io.provenance_reader import Blocks, Entry, Meta, companion, damaged, entries_of
from robolin.io.stored_file import StoredFile
from robolin.io.table_file import ReadRequest, TableBlock, TableFile


def stored_table(table: TableFile, meta: Meta, where: str) -> StoredFile:
    """The result in a table whose columns are the ones its provenance states."""
    expected = [name for entry in entries_of(meta) for name in entry.column_names()]
    if list(table.names) != expected:
        odd = next(
            (name for name, other in zip(table.names, expected, strict=False) if name != other),
            f"number {min(len(table.names), len(expected)) + 1}",
        )
        message = f"its columns are not the ones its provenance states, from column '{odd}' on"
        raise damaged(where, message + companion(where))
    return StoredFile(where, meta, partial(_blocks, table, meta, where))


def _blocks(table: TableFile, meta: Meta, where: str, rows: int) -> Blocks:
    """The columns of each array put together again."""
    entries = entries_of(meta)
    widths = [len(entry.column_names()) for entry in entries]
    starts = [sum(widths[:i]) for i in range(len(widths))]
    places = {
        entry.name: range(start, start + width)
        for entry, start, width in zip(entries, starts, widths, strict=True)
    }
    units = {kind: unit for unit, kind in MOMENTS.items()}
    moments = {i: units[e.numbers] for e in entries if e.numbers in units for i in places[e.name]}
    whole = [i for e in entries if e.numbers is INTEGER for i in places[e.name]]
    request = ReadRequest(
        range(len(table.names)), rows, gaps=True, whole=[*whole, *moments], moments=moments
    )
    one_state, seen = meta["rows"] is None, 0
    for block in table.blocks(request):
        seen += len(block.values)
        if one_state and seen > 1:
            message = f"it has {seen} rows or more, and was stored with one state"
            raise damaged(where, message + companion(where))
        yield {e.name: _array(e, block, places[e.name], one_state) for e in entries}
    if one_state and not seen:
        raise damaged(where, "it has no row, and was stored with one state")


def _array(entry: Entry, block: TableBlock, places: range, one_state: bool) -> Numbers:
    values: Numbers
    if entry.numbers is INTEGER or entry.numbers in MOMENTS.values():
        values = np.stack([block.whole[i] for i in places], axis=1).view(entry.numbers.dtype)
    else:
        values = block.values[:, places.start : places.stop]
        # every gap in the same bits
        values = np.where(np.isnan(values), np.nan, values)
    if entry.numbers is COMPLEX:
        values = np.ascontiguousarray(values).view(np.complex128)
    return values.reshape(entry.shape if one_state else (len(values), *entry.shape[1:]))
