from __future__ import annotations

from tools.picture import PICTURE, drawn


def test_the_picture_shows_what_the_command_prints():
    """The README's picture is the output of the command written above it."""
    assert PICTURE.read_text(encoding="utf-8") == drawn()
