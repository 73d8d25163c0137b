"""Validate results before they are written: names, shapes, rows and finite values."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from robolin.core.results.result import Array, Result, ResultStream
from robolin.core.results.swept_verbs import is_swept
from robolin.errors import RobolinError, UsageError

# dtype kinds of arrays and of times
_NUMBERS, _TIMES = "fciubM", "fiuM"
# names that files use for other entries
RESERVED_NAMES = ("time", "joints", "meta")


def validate_result(result: Result) -> None:
    """Reject a result whose arrays have invalid names or shapes, or different numbers of rows."""
    if not result.arrays:
        raise UsageError("the result has no array")
    arrays: Iterable[object] = result.arrays
    for each in arrays:
        if not isinstance(each, Array):
            hint = "robolin.Array(name, values, labels, unit)"
            raise UsageError(f"{each!r} is no robolin.Array", hint=hint)
    _require_times(result)
    names = [name for name, _ in result.stored()]
    for text in (result.verb, *names, *result.joints):
        if not isinstance(text, str) or not text:
            raise UsageError(f"{text!r} is no name", hint="verb, arrays and joints have names")
    for name in RESERVED_NAMES:
        if any(array.name == name for array in result.arrays):
            raise UsageError(f"no array may be called '{name}'", hint="files say that of the whole")
    if len(set(names)) < len(names):
        raise UsageError(f"there are two arrays of one name among {', '.join(names)}")
    for array in result.arrays:
        _require_sound_array(array)
    counts = {array.name: array.batch for array in result.arrays}
    if result.time is not None:
        counts["time"] = len(result.time)
    if 0 in counts.values():
        raise UsageError("the result has no rows", hint="there is nothing to write")
    if len(set(counts.values())) > 1:
        rows_by_name = ", ".join(f"{name}: {rows}" for name, rows in counts.items())
        hint = "every array has a row for every state, or none where there is one state"
        raise UsageError(f"the arrays have different numbers of rows: {rows_by_name}", hint=hint)


def _require_times(result: Result) -> None:
    time = result.time
    if time is not None and not (
        isinstance(time, np.ndarray) and time.ndim == 1 and time.dtype.kind in _TIMES
    ):
        message = f"the times are {type(time).__name__}, not an array of numbers with one axis"
        raise UsageError(message, hint="numpy.array([0.0, 0.1, …])")


def _require_sound_array(array: Array) -> None:
    """Reject an array whose shape does not match its labels."""
    where, values = f"array '{array.name}'", array.values
    texts = [*(label for axis in array.labels for label in axis), array.unit]
    if wrong := [text for text in texts if not isinstance(text, str)]:
        raise UsageError(f"{wrong[0]!r} is no text", where=where, hint="labels and units are texts")
    if values.dtype.kind not in _NUMBERS:
        raise UsageError(f"the values are no numbers but {values.dtype}", where=where)
    labelled = tuple(map(len, array.labels))
    rows = values.ndim - len(labelled)
    if rows not in (0, 1) or values.shape[rows:] != labelled:
        message = f"the shape is {values.shape}, and the labels are for {labelled}"
        hint = "one axis of rows may come before those with labels"
        raise UsageError(message, where=where, hint=hint)


def require_finite(result: Result) -> None:
    """Reject a result with NaN or infinity; the error names the entry."""
    for array in result.arrays:
        finite = np.isfinite(array.values)
        if finite.all():
            continue
        index = tuple(int(i) for i in np.argwhere(~finite)[0])
        where = [array.name]
        if array.batch is not None:
            where.append(f"row {index[0] + 1}")
            index = index[1:]
        where += [names[i] for i, names in zip(index, array.labels, strict=True)]
        raise RobolinError(
            f"{result.verb} has no finite answer here: the numbers overflow",
            where=", ".join(where),
            hint="look for a state or a parameter many orders of magnitude away from the others",
        )


def only_arrays(answer: Result | ResultStream, names: Sequence[str]) -> Result | ResultStream:
    """The result with only the arrays of these names, in their original order."""
    if isinstance(answer, Result):
        return _chosen(answer, names)
    return replace(answer, parts=(_chosen(part, names) for part in answer.parts))


def _chosen(result: Result, names: Sequence[str]) -> Result:
    known = [array.name for array in result.arrays]
    for name in names:
        if name not in known:
            hint = f"arrays here are {', '.join(known)}"
            raise UsageError(f"there is no array '{name}'", where="--only", hint=hint)
    axis = result.arrays[:1] if is_swept(result.verb) else ()
    chosen = (a for a in result.arrays[len(axis) :] if a.name in names)
    return replace(result, arrays=(*axis, *chosen))
