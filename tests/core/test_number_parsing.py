"""Parsing of typed numbers."""

from __future__ import annotations

from math import pi, radians

import pytest

from robolin.core.number_parsing import FlagText, number, parse_number
from robolin.errors import UsageError

TYPED = FlagText("--q", "…")

RIGHT = [
    ("0.5", 0.5, False),
    (" -1.2e-3 ", -1.2e-3, False),
    ("30deg", radians(30), True),
    ("30 deg", radians(30), True),
    ("-45°", radians(-45), True),
    ("pi", pi, True),
    ("-pi/2", -pi / 2, True),
    ("3*pi/4", 3 * pi / 4, True),
    ("2pi", 2 * pi, True),
    ("0.5π", pi / 2, True),
    ("+pi / 6", pi / 6, True),
]


@pytest.mark.parametrize(("text", "value", "angle"), RIGHT, ids=[text for text, *_ in RIGHT])
def test_a_number_is_what_it_says(text, value, angle):
    """Degrees and parts of π are angles in rad, to the last bit of the arithmetic they spell."""
    assert parse_number(TYPED, text) == (value, angle)


WRONG = ["", "one", "1_000", "nan", "١٢", "deg", "°", "pi/0", "pi/", "pi*2", "pipi", "1/2", "1e999"]
WRONG += ["1e308pi", "--pi", "pi deg", "30deg°", "30°deg", "²"]


@pytest.mark.parametrize("text", WRONG)
def test_invalid_numbers_are_rejected(text):
    """A text that does not have one of these forms is an error."""
    with pytest.raises(UsageError):
        parse_number(TYPED, text)


def test_angles_are_rejected_for_plain_numbers():
    """Where the value is not an angle, π and degrees are rejected."""
    for text in ("pi/2", "30deg"):
        with pytest.raises(UsageError, match="is not an angle"):
            number(TYPED, text)
