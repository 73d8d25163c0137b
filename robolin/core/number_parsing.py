"""Parse numbers typed by users, `0,0.5,pi/2` or `elbow=30deg,wrist=-1.2`, and format them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from math import isfinite, pi, radians
from typing import Any, NamedTuple

from robolin.errors import UsageError

# plain decimal notation: Python's float() would also take 1_000, nan and ٣
_DIGITS = r"(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
_NUMBER = re.compile(rf"[+-]?{_DIGITS}", re.ASCII)
# pi, -pi/2, 3*pi/4, 2pi, 0.5π
_PI = re.compile(rf"([+-]?)(?:({_DIGITS})\s*\*?)?\s*(?:pi|π)(?:\s*/\s*({_DIGITS}))?", re.ASCII)
_DEGREES = ("deg", "°")


class ParsedNumber(NamedTuple):
    """A number, converted to rad if typed in degrees; `angle` is True if it must be an angle."""

    value: float
    angle: bool = False


class FlagText(NamedTuple):
    """A flag and the text of its value, for error messages."""

    flag: str
    text: str

    def wrong(self, message: str, hint: str = "") -> UsageError:
        return UsageError(message, where=f"{self.flag}={self.text}", hint=hint)


def parse_number(typed: FlagText, item: str) -> ParsedNumber:
    """Parse a number with an optional suffix `deg` or `°`, or a fraction of π such as `-pi/2`."""
    item = item.strip()
    if part := _PI.fullmatch(item):
        sign, times, over = part.groups()
        return _finite(typed, item, float(f"{sign}{times or 1}") * pi, float(over or 1))
    unit = next((unit for unit in _DEGREES if item.endswith(unit)), "")
    plain = item.removesuffix(unit)
    if not _NUMBER.fullmatch(plain.rstrip()):
        what = f"'{item}' is not a number" if item else "a number is missing"
        hint = "numbers look like 0.5, -1.2, 1e-3, 30deg or pi/2, separated by commas"
        raise typed.wrong(what, hint)
    parsed = _finite(typed, item, float(plain))
    return ParsedNumber(radians(parsed.value), True) if unit else ParsedNumber(parsed.value)


def _finite(typed: FlagText, item: str, value: float, over: float = 1.0) -> ParsedNumber:
    if not over:
        raise typed.wrong(f"'{item}' divides by 0")
    if not isfinite(value / over):
        raise typed.wrong(f"'{item}' is too large a number")
    return ParsedNumber(value / over, True)


def number(typed: FlagText, item: str) -> float:
    """Parse a number that is not an angle."""
    value, angle = parse_number(typed, item)
    if angle:
        raise typed.wrong(f"'{item.strip()}' is not an angle", "a plain number is needed here")
    return value


def numbers(typed: FlagText, text: str, count: int, what: str) -> list[float]:
    """Parse exactly `count` comma-separated numbers; `what` describes them in the hint."""
    values = [number(typed, item) for item in text.split(",")]
    if len(values) != count:
        raise typed.wrong(f"{len(values)} numbers, not {count}", f"it takes {what}")
    return values


def parse_named_numbers(typed: FlagText, form: str = "JOINT=VALUE") -> dict[str, ParsedNumber]:
    """Parse comma-separated `name=number` entries; `form` describes one in error messages."""
    entries: dict[str, ParsedNumber] = {}
    for item in typed.text.split(","):
        # a name may contain '=', a number may not
        name, equals, value = item.rpartition("=")
        name = name.strip()
        if not equals or not name:
            raise typed.wrong(f"'{item.strip()}' is not {form}")
        if name in entries:
            raise typed.wrong(f"'{name}' is there twice", "keep one of them")
        entries[name] = parse_number(typed, value)
    return entries


def text_of(value: Any) -> str:
    """Format a value as users type it; floats use the fewest digits that round-trip."""
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
