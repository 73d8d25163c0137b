"""Difference of two results."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from robolin.core.arrays import Numbers
from robolin.core.notebook import equal_values
from robolin.errors import UsageError

if TYPE_CHECKING:
    from robolin.core.results.result import Result


def difference_of(one: Result, other: Any) -> Result:
    """Subtract results array by array; their labels, shapes and times must be equal."""
    # unwrap a result that was read from a file
    other = getattr(other, "result", other)
    if not isinstance(other, type(one)):
        raise UsageError(f"{other!r} is no result", hint="take one result from another")
    mine, others = ({a.name: a for a in each.arrays} for each in (one, other))
    shared = [name for name in mine if name in others]
    if not shared:
        raise UsageError("the results have no array in common", hint=f"{one!r}, {other!r}")
    arrays, largest = [], {}
    for name in shared:
        left, right = mine[name], others[name]
        if left.labels != right.labels or left.values.shape != right.values.shape:
            where, hint = f"array '{name}'", "take results of the same joints and rows"
            raise UsageError("names or shapes differ", where=where, hint=hint)
        arrays.append(replace(left, values=left.values - right.values))
        largest[name] = max(_largest(left.values), _largest(right.values))
    if (one.time is None) != (other.time is None) or not equal_values(one.time, other.time):
        raise UsageError("the times differ", hint="take results of the same rows")
    return replace(one, arrays=tuple(arrays), compared=largest)


def _largest(values: Numbers) -> float:
    return float(np.abs(values[np.isfinite(values)]).max(initial=0.0))
