"""The first rows of a result that comes in parts: as much of it as a table shows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from robolin.core.results.result import Result, ResultStream

SHOWN = 10


def top_rows(result: ResultStream) -> tuple[Result, int | None]:
    """The first rows, and how many there were altogether; None for one state."""
    held: list[Result] = []
    rows = 0
    for part in result.parts:
        if part.batch is None:
            return part, None
        if rows < SHOWN:
            held.append(part.rows(0, SHOWN - rows))
        rows += part.batch
    ending = result.ending(rows)
    return replace(_joined(held), contract=ending.contract, inputs=ending.inputs), rows


def _joined(parts: list[Result]) -> Result:
    first = parts[0]
    stored = [dict(part.stored()) for part in parts]
    # copies, so that the other rows of the parts need not be kept
    values = {name: np.concatenate([part[name] for part in stored]) for name in stored[0]}
    arrays = tuple(replace(array, values=values[array.name]) for array in first.arrays)
    return replace(first, arrays=arrays, time=values.get("time"))


def some_rows(result: Result) -> Result:
    """Some rows, evenly spread from the first to the last."""
    total = result.batch or 0
    if total <= SHOWN:
        return result
    picked = np.unique(np.linspace(0, total - 1, SHOWN).round().astype(int))
    arrays = tuple(replace(array, values=array.values[picked]) for array in result.arrays)
    time = None if result.time is None else result.time[picked]
    shown = {"shown": f"{len(picked)} of {total} rows; -o FILE keeps them all"}
    return replace(result, arrays=arrays, time=time, contract={**result.contract, **shown})
