"""Work that is counted: what a clock would tell only while the machine is quiet."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType, ModuleType
from typing import Any

import pytest

# seconds after which a thread or a process that should have answered is given up; nothing that
# works takes so long, however busy the machine is
PATIENCE = 120.0


def lines_run(act: Callable[[], object]) -> int:
    """How many lines of Python run in this thread while `act` does."""
    count = 0

    def seen(_frame: FrameType, event: str, _: Any) -> Any:
        nonlocal count
        count += event == "line"
        return seen

    before = sys.gettrace()
    sys.settrace(seen)
    try:
        act()
    finally:
        sys.settrace(before)
    return count


def calls_counted(patch: pytest.MonkeyPatch, owner: ModuleType | type, name: str) -> list[str]:
    """A list that gets an entry whenever a function of a module or class is called."""
    calls: list[str] = []
    function = getattr(owner, name)

    def counted(*args: Any, **how: Any) -> Any:
        calls.append(name)
        return function(*args, **how)

    patch.setattr(owner, name, counted)
    return calls


class CountedName(str):
    """A name that counts how often any such name is hashed or compared."""

    __slots__ = ()
    looked_at = 0

    def __eq__(self, other: object) -> bool:
        CountedName.looked_at += 1
        return str.__eq__(self, other)

    def __hash__(self) -> int:
        CountedName.looked_at += 1
        return str.__hash__(self)
