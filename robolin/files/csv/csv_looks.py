"""What a column of a CSV text is from the first row to the last: whole numbers, moments, a word."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain

import numpy as np
import numpy.typing as npt

from robolin.errors import RobolinError
from robolin.files.csv.csv_records import lines_of, records, whole_number
from robolin.files.csv.line_reader import Lines
from robolin.files.moments import decimals_of, is_in_utc, unit_for

Bytes = npt.NDArray[np.uint8]

# a number of so many digits fits into 64 bits, if the first of them is no 9
_DIGITS = 19


def all_whole(blocks: Iterable[Lines], column: int, file: str) -> bool:
    """Whether every row that has such a cell has a whole number there; what is wrong waits."""
    rest = iter(blocks)
    for lines in rest:
        if column == 0 and _plainly_whole(lines.data):
            continue
        # what is quoted may contain line ends, so that blocks cannot be told apart
        looked = chain([lines], rest) if b'"' in lines.data else [lines]
        try:
            texts = chain.from_iterable(lines_of(each.data, file, each.first) for each in looked)
            rows = (cells for _, cells in records(texts, file) if column < len(cells))
            if not all(whole_number(cells[column]) is not None for cells in rows):
                return False
        except RobolinError:
            continue
    return True


def unit_of_all(blocks: Iterable[Lines], column: int, file: str) -> str | None:
    """The unit that holds the moments of all rows; None if one has none, or another zone."""
    texts = chain.from_iterable(lines_of(each.data, file, each.first) for each in blocks)
    decimals, zones = -1, set[bool]()
    try:
        for _, cells in records(texts, file):
            if column < len(cells):
                found = decimals_of(cells[column])
                zones.add(is_in_utc(cells[column]))
                if found is None or len(zones) > 1:
                    return None
                decimals = max(decimals, found)
    except RobolinError:
        pass
    return None if decimals < 0 else unit_for(decimals)


def same_texts(
    blocks: Iterable[Lines], columns: Sequence[int], file: str
) -> tuple[str, ...] | None:
    """What these columns say in every row that has them all; None if rows differ, or are none."""
    texts = chain.from_iterable(lines_of(each.data, file, each.first) for each in blocks)
    found: set[tuple[str, ...]] = set()
    try:
        for _, cells in records(texts, file):
            if max(columns) < len(cells):
                found.add(tuple(cells[i].strip() for i in columns))
                if len(found) > 1:
                    return None
    except RobolinError:
        pass
    return found.pop() if found else None


def _plainly_whole(data: bytes) -> bool:
    """Whether every line begins with digits and a comma; False if it takes a closer look."""
    text = np.frombuffer(data, np.uint8)
    ends = np.flatnonzero(text == ord("\n"))
    begins = np.concatenate([[0], ends + 1])
    begins = begins[begins < len(text)]
    # a line that is empty is no row
    begins = begins[~np.isin(text[begins], list(b"\r\n"))]
    signed = np.isin(text[begins], list(b"+-"))
    return _digits_then_comma(text, begins + signed)


def _digits_then_comma(text: Bytes, begins: npt.NDArray[np.int64]) -> bool:
    last = len(text) - 1
    # one of so many digits may be too large if the first is a 9
    largest = (text[np.minimum(begins, last)] == ord("9")).any()
    most = _DIGITS - 1 if largest else _DIGITS
    for place in range(most + 1):
        found = text[np.minimum(begins + place, last)]
        ended = found == ord(",")
        if (ended.any() and not place) or not (ended | _is_digit(found)).all():
            return False
        begins = begins[~ended]
        if not len(begins):
            return True
    return False


def _is_digit(letters: Bytes) -> npt.NDArray[np.bool_]:
    return (letters >= ord("0")) & (letters <= ord("9"))
