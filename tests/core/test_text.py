"""Text of messages: lists, plurals, suggestions and printable characters."""

from __future__ import annotations

import doctest

import pytest

from robolin.core import text as wording
from robolin.core.text import (
    closest_match,
    did_you_mean,
    join_and,
    pluralize,
    printable,
    quote_list,
)
from robolin.description.model import Finding, SourceLocation


def test_examples_are_as_shown() -> None:
    """Every example in the docstrings gives the result shown below it."""
    tested = doctest.testmod(wording)

    assert tested.attempted > 0
    assert tested.failed == 0


@pytest.mark.parametrize("count, text", [(0, "0 rows"), (1, "1 row"), (2, "2 rows")])
def test_one_alone_is_singular(count: int, text: str) -> None:
    """Only one of something goes without an s."""
    assert pluralize(count, "row") == text


def test_lists_end_with_and() -> None:
    """Words are joined by commas, the last by 'and'."""
    assert [join_and(["a", "b", "c"][:n]) for n in range(4)] == ["", "a", "a and b", "a, b and c"]


def test_long_lists_of_names_are_cut() -> None:
    """Names beyond the most that are shown appear as a count."""
    assert quote_list(list("abc")) == "'a', 'b', 'c'"
    assert quote_list(list("abc"), at_most=1) == "'a' and 2 more"


def test_the_nearest_name_is_suggested() -> None:
    """Without a similar name, the hint is the other advice or the list of names."""
    assert closest_match("sholder", ["elbow", "shoulder"]) == "shoulder"
    assert did_you_mean("x", ["elbow"], "look there") == "look there"
    assert did_you_mean("x", []) == ""


@pytest.mark.parametrize("text", ["\x1b[31m", "a\nb", "\u202e", "\udc80", "\x00", "\x9b1m"])
def test_control_characters_are_escaped(text: str) -> None:
    """Escapes, line breaks, bidirectional marks and stray bytes are escaped; other text is not."""
    assert printable(text).isprintable()
    assert printable(f"Größe {text}").startswith("Größe ")


def test_findings_are_printable() -> None:
    """Text of a robot file is made printable when a finding is created."""
    finding = Finding(
        "bad-text", "error", SourceLocation("arm.urdf", 3), "link '\x1b[2J'", "not \n this"
    )

    assert finding.message == r"link '\x1b[2J'"
    assert finding.error().hint == r"not \n this"
