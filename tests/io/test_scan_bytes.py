"""The scan of a text, compiled or not, gives the same as plain Python line by line."""

from __future__ import annotations

import random
from itertools import product

import pytest

from robolin.engine.compiled import kernels
from robolin.engine.csv_scanner import NOTHING_YET, ScannedText, scan_bytes
from tests.cases import for_each

LETTERS = b'0123456789.,,,,\n\n"\r- \xc3\x80\xff\x00'


@pytest.fixture(params=[True, False], ids=["compiled", "python"], autouse=True)
def _compiler(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run every test with the compiled scan, and with the one used without llvmlite."""
    monkeypatch.setattr(kernels, "has_compiler", lambda: request.param)


def _plainly(text: bytes, commas: int, inside: bool) -> ScannedText:
    """Scan in plain Python, line by line."""
    lines = text.split(b"\n")
    ended = lines[:-1]
    begun_here = ended[1:] if inside else ended
    return ScannedText(
        len(ended),
        quotes=b'"' in text,
        returns=b"\r" in text,
        ascii=text.isascii(),
        blank_lines=b"" in begun_here,
        even=all(line.count(b",") == commas for line in ended),
        commas=lines[-1].count(b","),
        at_end=text.endswith(b"\n") if text else not inside,
    )


@pytest.mark.parametrize("inside", [False, True])
@pytest.mark.parametrize("size", [0, 1, 2, 63, 64, 65, 127, 128, 129, 1000])
def test_random_texts(size: int, inside: bool) -> None:
    after = NOTHING_YET._replace(at_end=not inside)
    chance = random.Random(size)
    for letters in (LETTERS, b"1,\n", b"12345,\n", b"1\n", b"12345678" * 8 + b",\n"):
        for _ in range(40):
            text = bytes(chance.choices(letters, k=size))
            commas = chance.randrange(3)
            assert scan_bytes(text, commas, after) == _plainly(text, commas, inside)


@for_each(
    "letter,offset",
    product([b'"', b"\r", b"\x80", b"\n\n", b",", b"\n"], [0, 1, 62, 63, 64, 65, 127, 128, 200]),
)
def test_one_sign_is_seen_wherever_it_is(letter: bytes, offset: int) -> None:
    even = b"1,2\n" * 64
    text = even[:offset] + letter + even[offset:]
    assert scan_bytes(text, 1) == _plainly(text, 1, False)


@pytest.mark.parametrize("cut", [1, 3, 4, 63, 64, 65, 100, 256])
def test_a_text_in_two_pieces_is_the_same_text(cut: int) -> None:
    chance = random.Random(cut)
    for letters in (LETTERS, b"1,\n"):
        text = bytes(chance.choices(letters, k=257))
        first = scan_bytes(text[:cut], 1)
        second, full = scan_bytes(text[cut:], 1, first), scan_bytes(text, 1)
        assert first.ends + second.ends == full.ends
        assert (first.even and second.even) == full.even
        assert (first.blank_lines or second.blank_lines) == full.blank_lines
        assert (second.commas, second.at_end) == (full.commas, full.at_end)


def test_rows_of_many_cells_are_counted_beyond_one_block() -> None:
    row = b",".join([b"1"] * 1001) + b"\n"
    assert scan_bytes(row * 3, 1000).even
    assert not scan_bytes(row * 2 + row.replace(b"1,", b"", 1), 1000).even
    # one line has a cell too many, the next one a cell too few
    assert not scan_bytes(row[:-1] + b",1\n" + row[2:], 1000).even
