"""Some arrays of an answer, chosen by name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from robolin.core.results.result import Result, ResultStream
from robolin.core.results.swept_verbs import is_swept
from robolin.errors import UsageError


def only_arrays(answer: Result | ResultStream, names: Sequence[str]) -> Result | ResultStream:
    """The answer with the arrays of these names alone, in the order they had."""
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
