"""What a result must be to be written and read again, whoever made it."""

from __future__ import annotations

from robolin.errors import UsageError
from robolin.results.result import Array, Result

# real, complex, whole and true or false, and moments
_NUMBERS = "fciubM"


def require_sound_result(result: Result) -> None:
    """Arrays of different names with as many rows as each other and as there are times."""
    names = [name for name, _ in result.stored()]
    if not result.arrays:
        raise UsageError("the result has no array")
    if len(set(names)) < len(names):
        raise UsageError(f"there are two arrays of one name among {', '.join(names)}")
    for array in result.arrays:
        _require_sound_array(array)
    counts = {array.name: array.batch for array in result.arrays}
    if result.time is not None:
        counts["time"] = len(result.time)
    if len(set(counts.values())) > 1:
        told = ", ".join(f"{name}: {rows}" for name, rows in counts.items())
        hint = "every array has a row for every state, or none where there is one state"
        raise UsageError(f"the arrays have different numbers of rows: {told}", hint=hint)


def _require_sound_array(array: Array) -> None:
    """Numbers in the shape that the labels say, with one axis of rows before them or none."""
    where, values = f"array '{array.name}'", array.values
    if values.dtype.kind not in _NUMBERS:
        raise UsageError(f"the values are no numbers but {values.dtype}", where=where)
    labelled = tuple(map(len, array.labels))
    rows = values.ndim - len(labelled)
    if rows not in (0, 1) or values.shape[rows:] != labelled:
        message = f"the shape is {values.shape}, and the labels are for {labelled}"
        hint = "one axis of rows may come before those with labels"
        raise UsageError(message, where=where, hint=hint)
