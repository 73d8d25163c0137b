"""What is worked out of an arm once, and kept with it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from robolin.arm import Arm

T = TypeVar("T")


def kept_with(arm: Arm, name: str, make: Callable[[Arm], T]) -> T:
    """What `make` works out of an arm: once, kept with it, and gone when the arm goes.

    An arm made from this one by `replace`, copied or pickled starts with nothing kept.  Where two
    threads ask for the first time at once, both may work it out, and both get the same one.
    """
    kept: dict[str, Any] = arm.__dict__.get("_kept") or arm.__dict__.setdefault("_kept", {})
    if name not in kept:
        kept.setdefault(name, make(arm))
    found: T = kept[name]
    return found
