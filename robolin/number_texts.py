"""Numbers as people type them, `0,0.5,-1.2` or `elbow=30deg,wrist=-1.2`, and back into text."""

from __future__ import annotations

import re
from collections.abc import Mapping
from math import isfinite, radians
from typing import Any, NamedTuple

from robolin.errors import UsageError

# plain decimal notation: Python's float() would also take 1_000, nan and ٣
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)


class Figure(NamedTuple):
    """A number, already in rad if it was typed in degrees."""

    value: float
    degrees: bool = False


class FlagText(NamedTuple):
    """What stands after a flag, for messages that repeat it."""

    flag: str
    text: str

    def wrong(self, message: str, hint: str = "") -> UsageError:
        return UsageError(message, where=f"{self.flag}={self.text}", hint=hint)


def figure(typed: FlagText, item: str) -> Figure:
    """One number, with or without `deg` behind it."""
    item = item.strip()
    plain = item.removesuffix("deg").rstrip()
    if not _NUMBER.fullmatch(plain):
        what = f"'{item}' is not a number" if item else "a number is missing"
        raise typed.wrong(what, "numbers look like 0.5, -1.2 or 1e-3, separated by commas")
    value = float(plain)
    if not isfinite(value):
        raise typed.wrong(f"'{item}' is too large a number")
    return Figure(radians(value), True) if plain != item else Figure(value)


def number(typed: FlagText, item: str) -> float:
    """One number that cannot be an angle."""
    value, degrees = figure(typed, item)
    if degrees:
        raise typed.wrong(f"'{item.strip()}' is not an angle", "leave out 'deg'")
    return value


def numbers(typed: FlagText, text: str, count: int, what: str) -> list[float]:
    """Exactly so many numbers with commas between them; `what` names them."""
    values = [number(typed, item) for item in text.split(",")]
    if len(values) != count:
        raise typed.wrong(f"{len(values)} numbers, not {count}", f"it takes {what}")
    return values


def named(typed: FlagText, form: str = "JOINT=VALUE") -> dict[str, Figure]:
    """`name=number` entries with commas between them; `form` tells what they look like."""
    entries: dict[str, Figure] = {}
    for item in typed.text.split(","):
        # a name may contain '=', a number may not
        name, equals, value = item.rpartition("=")
        name = name.strip()
        if not equals or not name:
            raise typed.wrong(f"'{item.strip()}' is not {form}")
        if name in entries:
            raise typed.wrong(f"'{name}' is there twice", "keep one of them")
        entries[name] = figure(typed, value)
    return entries


def text_of(value: Any) -> str:
    """A plain value as it would be typed: floats in as few digits as bring back the same bits."""
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping):
        return ",".join(f"{name}={text_of(item)}" for name, item in value.items())
    if hasattr(value, "tolist"):
        # an array or a number of NumPy's
        return text_of(value.tolist())
    if isinstance(value, (list, tuple)):
        return ",".join(map(text_of, value))
    return repr(value) if isinstance(value, float) else str(value)
