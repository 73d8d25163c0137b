"""The page of the house draws the rooms that there are."""

from __future__ import annotations

from tools.rooms import PAGE, rooms_page


def test_the_table_of_rooms_is_current() -> None:
    """docs/architecture.md is what `python -m tools.pages` would write."""
    assert PAGE.read_text("utf-8") == rooms_page()
