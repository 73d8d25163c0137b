"""Lines of a block that are rows asked for, told apart without reading a number."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from robolin.io.formats.line_reader import Lines


def cells_decide(data: bytes) -> bool:
    """Whether only a look at the cells tells where rows end: quotes, or returns without feeds."""
    return b'"' in data or (b"\r" in data and data.count(b"\r") != data.count(b"\r\n"))


def row_begins(data: bytes) -> npt.NDArray[np.int64]:
    """Where in a text its rows begin; blank lines are none."""
    text = np.frombuffer(data, np.uint8)
    ends = np.flatnonzero(text == ord("\n"))
    begins: npt.NDArray[np.int64] = np.concatenate([[0], ends + 1]).astype(np.int64)
    begins = begins[begins < len(text)]
    if b"\r" not in data:
        filled: npt.NDArray[np.bool_] = text[begins] != ord("\n")
        return begins[filled]
    behind = text[np.minimum(begins + 1, len(text) - 1)]
    blank: npt.NDArray[np.bool_] = (text[begins] == ord("\n")) | (
        (text[begins] == ord("\r")) & (behind == ord("\n"))
    )
    # a return that ends the text ends a blank line
    blank |= (text[begins] == ord("\r")) & (begins == len(text) - 1)
    return begins[~blank]


def chosen_lines(lines: Lines, skip: int, keep: int | None) -> tuple[Lines, int]:
    """The lines of some rows, behind so many others, and how many rows were passed over."""
    if skip <= 0 and keep is None:
        return lines, 0
    begins = row_begins(lines.data)
    skip = min(max(skip, 0), len(begins))
    if skip == len(begins):
        return replace(lines, data=b""), skip
    start = int(begins[skip])
    stop = len(lines.data)
    if keep is not None and skip + keep < len(begins):
        stop = int(begins[skip + keep])
    first = lines.first + lines.data.count(b"\n", 0, start)
    return replace(lines, data=lines.data[start:stop], first=first), skip
