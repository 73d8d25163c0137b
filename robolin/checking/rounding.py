"""Results whose last digits are not robolin's own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from robolin.answering.verbs import VERBS

LIBRARY_NOTE = (
    "a linear-algebra library takes part in these numbers, and its last digits differ between "
    "machines; --rtol and --atol allow for that"
)


def from_a_library(verb: str, options: Mapping[str, Any], model: Mapping[str, Any] | None) -> bool:
    """Whether matrix products or solvers of NumPy or SciPy had a part in a result.

    They answer for closed loops, adapted steps and ranks; all else is robolin's own arithmetic,
    with the same bits everywhere.
    """
    closed = bool((model or {}).get("loops")) and not options.get("open-loops")
    known = VERBS.get(verb)
    fitted = options.get("differentiate") == "savgol"
    return closed or fitted or (known is not None and known.by_library(options))
