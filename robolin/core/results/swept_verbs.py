"""What an answer for several values is called: `sweep VERB`, after the verb that was asked."""

from __future__ import annotations

SWEEP = "sweep"


def is_swept(verb: str) -> bool:
    """Whether the first array has the values that the others are answers for."""
    return verb.partition(" ")[0] == SWEEP


def asked_verb(verb: str) -> str:
    """The verb that was asked, once or for several values."""
    return verb.removeprefix(f"{SWEEP} ")
