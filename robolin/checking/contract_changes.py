"""What a contract says otherwise than it did, a short line for each quantity."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from robolin.checking.distinguishing_digits import distinguishing_digits
from robolin.checking.rounding import rounding_of


def changed_lines(key: str, old: Any, new: Any, joints: Sequence[str]) -> Iterator[str]:
    """Both texts of a line; of a table the lines that changed, of a list how far its numbers did.

    joints: what the numbers of lists are called, where there are as many
    """
    if isinstance(old, dict) and isinstance(new, dict):
        for name in dict.fromkeys([*old, *new]):
            if old.get(name) != new.get(name):
                yield from changed_lines(f"{key}: {name}", old.get(name), new.get(name), joints)
    elif _are_numbers(old) and _are_numbers(new) and len(old) == len(new):
        if not _differ_by_rounding(old, new):
            yield f"{key} {_largest_change(old, new, joints)}"
    else:
        yield f"{key}: {shown_value(old)} → {shown_value(new)}"


def shown_value(value: Any) -> str:
    """A value as one would say it."""
    if value is None or value is False:
        return "not given"
    if isinstance(value, list):
        return " and ".join(map(str, value))
    return "given" if value is True else str(value)


def _are_numbers(values: Any) -> bool:
    return isinstance(values, list) and all(type(each) in (int, float) for each in values)


def _differ_by_rounding(old: Sequence[float], new: Sequence[float]) -> bool:
    gap = max((abs(after - before) for before, after in zip(old, new, strict=True)), default=0.0)
    return gap <= rounding_of(max(map(abs, old), default=0.0))


def _largest_change(old: Sequence[float], new: Sequence[float], joints: Sequence[str]) -> str:
    """How many of the numbers changed, and the one that did most."""
    gaps = [abs(after - before) for before, after in zip(old, new, strict=True)]
    worst = gaps.index(max(gaps))
    name = joints[worst] if len(joints) == len(old) else f"number {worst + 1}"
    before, after = distinguishing_digits(old[worst], new[worst])
    moved = sum(gap > 0.0 for gap in gaps)
    return f"moved by up to {gaps[worst]:.2g}, {name}: {before} → {after} ({moved} of {len(old)})"
