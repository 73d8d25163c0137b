"""Text of messages: close matches, plurals, lists and printable text; numbers in a text."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import islice
from math import isfinite, pi, radians
from typing import NamedTuple

# smallest similarity of a typing error, and how much lower than the best others may be
SLIP, NEARLY = 0.75, 0.1
SHORTEST_BEGINNING = 3
# a longer list of names keeps its order: to compare texts takes long
MOST_SORTED = 100

# files of a folder that are compared with a missing one
_MOST_FILES = 2000

# plain decimal notation: Python's float() would also take 1_000, nan and ٣
_DIGITS = r"(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
_NUMBER = rf"[+-]?{_DIGITS}"
# pi, -pi/2, 3*pi/4, 2pi, 0.5π
_PI = rf"([+-]?)(?:({_DIGITS})\s*\*?)?\s*(?:pi|π)(?:\s*/\s*({_DIGITS}))?"
_DEGREES = ("deg", "°")


def closest_match(name: str, known: Iterable[str], cutoff: float = 0.6) -> str | None:
    """The known name most similar to this one; None if none is similar."""
    from difflib import get_close_matches

    matches = get_close_matches(name, list(dict.fromkeys(known)), n=1, cutoff=cutoff)
    return matches[0] if matches else None


def did_you_mean(name: str, known: Iterable[str], otherwise: str | None = None) -> str:
    """Hint with the known names that contain this one, or else with the closest one.

    Without such a name, the hint is `otherwise` or the list of names, most similar first.

    >>> did_you_mean("elbwo", ["shoulder", "elbow"])
    "did you mean 'elbow'?"
    >>> did_you_mean("hand", ["panda_link1", "panda_hand", "panda_hand_tcp"])
    "did you mean 'panda_hand' or 'panda_hand_tcp'?"
    >>> did_you_mean("knee", ["shoulder", "elbow"])
    "choose one of 'elbow', 'shoulder'"
    """
    names = list(dict.fromkeys(known))
    near = _containing(name, names) or [closest_match(name, names)]
    if near[0] is not None:
        return "did you mean " + " or ".join(f"'{each}'" for each in near) + "?"
    if otherwise is not None:
        return otherwise
    if len(names) <= MOST_SORTED:
        names = by_similarity(name, names)
    return f"choose one of {quote_list(names)}" if names else ""


def path_hint(path: str) -> str:
    """Hint for a file that does not exist: the most similar one of the same kind in its folder."""
    folder, name = os.path.split(path)
    stem, kind = os.path.splitext(name)[0], os.path.splitext(name)[1].lower()
    try:
        with os.scandir(folder or ".") as entries:
            names = [each.name for each in islice(entries, _MOST_FILES)]
    except (OSError, ValueError):
        return "check the path"
    # a broken link has the name itself, and names with control characters cannot be copied
    names = [each for each in names if each != name and each.isprintable()]
    # a common extension makes no names similar
    stems = {each[: len(each) - len(kind)]: each for each in names if each.lower().endswith(kind)}
    near = closest_match(stem, stems, SLIP)
    return f"did you mean '{os.path.join(folder, stems[near])}'?" if near else "check the path"


def _containing(name: str, known: Sequence[str]) -> list[str | None]:
    """At most three names that contain this one, the shortest first; none for short names."""
    part = name.casefold()
    if len(part) < SHORTEST_BEGINNING:
        return []
    return [*sorted((each for each in known if part in each.casefold()), key=len)[:3]]


def by_similarity(name: str, known: Iterable[str]) -> list[str]:
    """The known names, most similar to this one first; equally similar ones keep their order.

    >>> by_similarity("knee", ["shoulder", "elbow", "ankle"])
    ['ankle', 'elbow', 'shoulder']
    """
    from difflib import SequenceMatcher

    return sorted(known, key=lambda other: -SequenceMatcher(None, other, name).ratio())


def suggest(name: str, known: Iterable[str]) -> list[str]:
    """At most three known names similar to this one or starting with it, most similar first.

    >>> suggest("dur", ["disturb", "duration"]), suggest("foo", ["format"])
    (['duration'], [])
    """
    from difflib import SequenceMatcher

    def similarity(other: str) -> float:
        begins = other[: len(name)] if len(name) >= SHORTEST_BEGINNING else other
        return max(SequenceMatcher(None, name, text).ratio() for text in (other, begins))

    scores = {other: similarity(other) for other in dict.fromkeys(known)}
    minimum = max(SLIP, max(scores.values(), default=0.0) - NEARLY)
    return sorted((x for x in scores if scores[x] >= minimum), key=lambda x: -scores[x])[:3]


def pluralize(count: int, noun: str) -> str:
    """A count with its noun, in the plural unless the count is 1.

    >>> pluralize(1, "row"), pluralize(2, "row")
    ('1 row', '2 rows')
    """
    return f"{count} {noun}{'s' * (count != 1)}"


def join_and(words: Sequence[str]) -> str:
    """Join words with commas and a final "and".

    >>> join_and(["a", "b", "c"]), join_and(["a"])
    ('a, b and c', 'a')
    """
    return " and ".join(part for part in (", ".join(words[:-1]), *words[-1:]) if part)


def range_text(value: float | Sequence[float]) -> str:
    """Text of a number, or of the two ends of a range.

    >>> range_text(4.0), range_text([-3.0, 4.0])
    ('4', '-3 … 4')
    """
    ends = [value] if isinstance(value, (int, float)) else value
    return " … ".join(f"{end:.6g}" for end in ends)


def quote_list(names: Sequence[str], at_most: int = 8) -> str:
    """Quoted names separated by commas; names after `at_most` are counted only.

    >>> quote_list(["a", "b", "c"], at_most=2)
    "'a', 'b' and 1 more"
    """
    shown = ", ".join(f"'{name}'" for name in names[:at_most])
    return shown if len(names) <= at_most else f"{shown} and {len(names) - at_most} more"


def time_digits(seconds: float) -> str:
    """A time with seven digits, or with milliseconds if it counts from 1970.

    >>> time_digits(1.23456789), time_digits(1749033516.7909052)
    ('1.234568', '1749033516.791')
    """
    return f"{seconds:.7g}" if abs(seconds) < 1e6 else f"{seconds:.3f}"


def list_some(names: Sequence[str], at_most: int = 3) -> str:
    """'a, b, c and 4 more': names without quotes, for messages that must stay short.

    One name more than allowed is listed, too: it is as short as its number.

    >>> list_some(["a", "b", "c", "d", "e"])
    'a, b, c and 2 more'
    """
    if len(names) <= at_most + 1:
        return ", ".join(names)
    return f"{', '.join(names[:at_most])} and {len(names) - at_most} more"


def printable(text: str) -> str:
    r"""Escape control characters and line breaks.

    >>> print(printable("red \x1b[31m\n"))
    red \x1b[31m\n
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


# a space at which no line ends
TIE = "\0"
_COPIED = (
    r"`[^`]*`|(?<=for example: )robolin .*|(?<=\s)--[a-z][a-z-]* (?:[A-Z][A-Z_]*|\S+[=:.,]\S+)"
)


def tie_commands(line: str) -> str:
    """The line with ties in commands and in options with a value: a reader copies them."""
    return re.sub(_COPIED, lambda match: match[0].replace(" ", TIE), line)


def printable_lines(text: str) -> str:
    r"""Escape control characters in a text of several lines.

    >>> printable_lines("one\ntwo\a")
    'one\ntwo\\x07'
    """
    return "\n".join(map(printable, text.split("\n")))


def printable_json(text: str) -> str:
    r"""An equivalent JSON document with unprintable characters escaped.

    >>> printable_json('["\x9b"]')
    '["\\u009b"]'
    """
    if text.replace("\n", "").isprintable():
        return text
    from json import dumps

    return "".join(c if c.isprintable() or c == "\n" else dumps(c)[1:-1] for c in text)


class ParsedNumber(NamedTuple):
    """A number, converted to rad if typed in degrees; `angle` is True if it must be an angle."""

    value: float
    angle: bool = False


def is_number(text: str) -> bool:
    """True if the text is a number, as `parse_number` accepts it."""
    return isinstance(number_or_problem(text.strip()), ParsedNumber)


def number_or_problem(item: str) -> ParsedNumber | str:
    """The number in a text without spaces around it, or what is wrong with the text."""
    if part := re.fullmatch(_PI, item, re.ASCII):
        sign, times, over = part.groups()
        if not float(over or 1):
            return f"'{item}' divides by zero"
        parsed = ParsedNumber(float(f"{sign}{times or 1}") * pi / float(over or 1), True)
    else:
        unit = next((unit for unit in _DEGREES if item.endswith(unit)), "")
        plain = item.removesuffix(unit)
        if not re.fullmatch(_NUMBER, plain.rstrip(), re.ASCII):
            return f"'{item}' is not a number" if item else "a number is missing"
        parsed = ParsedNumber(radians(float(plain)) if unit else float(plain), bool(unit))
    return parsed if isfinite(parsed.value) else f"'{item}' is too large"


def resembled(name: str, known: Sequence[str]) -> str | None:
    """The known name of which this one is a likely misspelling, None if there is none."""
    return next((word for word in known if _misspelt(name, word)), None)


@lru_cache(maxsize=1024)
def _misspelt(name: str, word: str) -> bool:
    """Return True if a name is a word in another case or with swapped, added or missing letters."""
    name, word = name.lower(), word.lower()
    if abs(len(name) - len(word)) > len(word) // 2:
        return False
    if sorted(name) == sorted(word):
        return True
    from difflib import SequenceMatcher

    return SequenceMatcher(None, name, word).ratio() >= 0.8


def quote_value(text: str, longest: int = 60) -> str:
    """A value for messages: quoted, shortened, with control characters escaped."""
    if not text.isprintable():
        text = text.encode("unicode_escape").decode("ascii")
    return f"'{text}'" if len(text) <= longest else f"'{text[:longest]}…'"
