"""The row index is the same whether every line is parsed or only the line ends are counted."""

from __future__ import annotations

from io import BytesIO

import pytest

from robolin.io.formats import row_index as counted_text
from robolin.io.formats.row_index import counted_by_lines, index_plain_text

ROWS = b"".join(b"%d,%d\n" % (i, i * i) for i in range(50))
PLAIN = {
    "rows": b"a,b\n" + ROWS,
    "no end of the last line": b"a,b\n" + ROWS[:-1],
    "a header alone": b"a,b\n",
    "a header without its end": b"a,b",
    "a mark before the header": b"\xef\xbb\xbfa,b\n" + ROWS,
    "lines of spaces": b"a,b\n1,2\n \n3,4\n",
}
ODD = {
    "a blank line": b"a,b\n1,2\n\n3,4\n",
    "a blank line at the end": b"a,b\n" + ROWS + b"\n",
    "quotes": b'a,b\n"1",2\n',
    "returns": b"a,b\r\n1,2\r\n",
}


@pytest.mark.parametrize("text", PLAIN.values(), ids=PLAIN)
@pytest.mark.parametrize("at_once", [1, 7, 1 << 20])
def test_line_ends_give_the_row_index(
    text: bytes, at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In pieces of any size, rows, offsets and checksum equal those of parsing every line."""
    monkeypatch.setattr(counted_text, "_PLAINLY_AT_ONCE", at_once)
    plainly = index_plain_text(BytesIO(text), 7, 3)
    by_lines = counted_by_lines(BytesIO(text), 7, 3, "m.csv")
    assert plainly is not None
    *marks, end = plainly.marks
    assert (plainly.digest, plainly.rows) == (by_lines.digest, by_lines.rows)
    assert tuple(marks) == by_lines.marks
    assert (end.row, end.byte) == (plainly.rows, len(text))
    assert all(text[: mark.byte].count(b"\n") == mark.line - 1 for mark in marks)


@pytest.mark.parametrize("text", ODD.values(), ids=ODD)
@pytest.mark.parametrize("at_once", [1, 1 << 20])
def test_quoted_texts_need_the_csv_parser(
    text: bytes, at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If lines need not be rows, counting line ends is not used."""
    monkeypatch.setattr(counted_text, "_PLAINLY_AT_ONCE", at_once)
    assert index_plain_text(BytesIO(text), 7, 0) is None
    assert index_plain_text(BytesIO(text), None, 0) is not None


@pytest.mark.parametrize(
    "text, even",
    [
        (b"a,b\n" + ROWS, True),
        (b"a,b\n" + ROWS[:-1], True),
        (b"a,b\n" + ROWS + b"1\n", False),
        (b"a,b\n" + ROWS + b"1", False),
        (b"a,b\n1,2,3\n4\n" + ROWS, False),
        (b"a,b\n \n" + ROWS, False),
        ("a,b\n1,٢\n".encode() + ROWS, False),
        (b"\xef\xbb\xbfa,b\n" + ROWS, False),
    ],
)
def test_only_rows_of_equal_length_are_rectangular(text: bytes, even: bool) -> None:
    """A rectangular text is not checked for row lengths again when numbers are read."""
    index = index_plain_text(BytesIO(text), 7, 0)
    assert index is not None
    assert index.even == even
    piecewise = index_plain_text(_Slowly(text), 7, 0)
    assert piecewise is not None
    assert piecewise.even == even


class _Slowly(BytesIO):
    """A text that arrives in pieces of a few bytes, the header in the first of them."""

    def read(self, size: int | None = -1) -> bytes:
        return super().read(5)
