"""Count work: unlike times, counts do not depend on the load of the machine."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType, ModuleType
from typing import Any

import pytest

# seconds until a test gives up on a thread or process; a working one never takes that long
TIMEOUT = 120.0


def count_lines(act: Callable[[], object]) -> int:
    """Number of Python lines that `act` executes in this thread."""
    count = 0

    def trace(_frame: FrameType, event: str, _: Any) -> Any:
        nonlocal count
        count += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        act()
    finally:
        sys.settrace(before)
    return count


def count_calls(patch: pytest.MonkeyPatch, owner: ModuleType | type, name: str) -> list[str]:
    """Return a list that gets one entry per call of a function of a module or class."""
    calls: list[str] = []
    function = getattr(owner, name)

    def counted(*args: Any, **kwargs: Any) -> Any:
        calls.append(name)
        return function(*args, **kwargs)

    patch.setattr(owner, name, counted)
    return calls


class CountedName(str):
    """A string that counts how often instances are hashed or compared."""

    __slots__ = ()
    comparisons = 0

    def __eq__(self, other: object) -> bool:
        CountedName.comparisons += 1
        return str.__eq__(self, other)

    def __hash__(self) -> int:
        CountedName.comparisons += 1
        return str.__hash__(self)
