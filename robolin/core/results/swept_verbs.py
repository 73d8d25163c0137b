"""Names of results that were computed for several values: `sweep VERB`.

Nothing here needs NumPy, so that the list of commands can use it.
"""

from __future__ import annotations

SWEEP = "sweep"


def is_swept(verb: str) -> bool:
    """True for a sweep, whose first array has the swept values."""
    return verb.partition(" ")[0] == SWEEP


def base_verb(verb: str) -> str:
    """The verb without the prefix of a sweep."""
    return verb.removeprefix(f"{SWEEP} ")
