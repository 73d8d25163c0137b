"""Which rows of a motion have an answer, where those without one are let through as NaN."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from robolin.core.arrays import Floats, Integers, Mask
from robolin.core.results.result import Array
from robolin.errors import RobolinError, UsageError
from robolin.queries.model_work import ModelArrays, ModelWork, Values


def answered_rows(
    work: ModelWork, values: Values, whole: Mask
) -> list[tuple[Integers, ModelArrays]]:
    """The answers of rows that have one, each with the rows it is of."""
    rows = np.flatnonzero(whole)
    if not len(rows):
        return []
    try:
        return [(rows, work.arrays(_some(values, rows)))]
    except UsageError:
        raise
    except RobolinError:
        rows = rows[work.wanted.bearable(_some(values, rows))]
        return list(_halved(work, values, rows))


def _halved(
    work: ModelWork, values: Values, rows: Integers
) -> Iterator[tuple[Integers, ModelArrays]]:
    """The same by halves, down to rows that have no answer even by themselves."""
    if not len(rows):
        return
    try:
        yield rows, work.arrays(_some(values, rows))
    except UsageError:
        raise
    except RobolinError:
        middle = len(rows) // 2
        if middle:
            yield from _halved(work, values, rows[:middle])
            yield from _halved(work, values, rows[middle:])


def blank_rows(like: ModelArrays, rows: int) -> ModelArrays:
    """As many rows of NaN, of the shape and kind of others; whole numbers become real ones."""
    return tuple(
        replace(array, values=np.full((rows, *array.values.shape[1:]), _none(array)))
        for array in like
    )


def _none(array: Array) -> complex:
    """No number: one without an imaginary part either, where there are such."""
    return complex(np.nan, np.nan) if np.iscomplexobj(array.values) else np.nan


def _some(values: Values, rows: Integers) -> dict[str, Floats]:
    return {name: each[rows] for name, each in values.items()}
