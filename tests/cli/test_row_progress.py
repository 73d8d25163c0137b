"""The progress bar appears on terminals only."""

from __future__ import annotations

import io
import sys

import pytest

from robolin.cli import query_command
from robolin.cli.query_command import RowProgress, stderr_is_terminal


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """A terminal as stderr; not a fixture, because pytest captures stderr again for each test."""
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    return stream


def driven(size: int | None, shown: bool) -> None:
    with RowProgress(shown) as bar:
        bar.begin(size)
        for step in range(1, 5):
            bar.add(250, 100 * step)


@pytest.mark.parametrize("size", [400, None])
def test_a_long_run_shows_rows_and_speed(monkeypatch: pytest.MonkeyPatch, size: int | None) -> None:
    """Rows and rows per second are shown, with or without a known end."""
    stream = terminal(monkeypatch)
    monkeypatch.setattr(query_command, "_PATIENCE", 0.0)
    driven(size, stderr_is_terminal())

    assert "1,000 rows, " in stream.getvalue()
    assert "rows/s" in stream.getvalue()


def test_a_short_run_shows_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """A short run shows no bar."""
    stream = terminal(monkeypatch)
    driven(400, stderr_is_terminal())

    assert stream.getvalue() == ""


def test_a_pipe_gets_no_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    """A stderr that is not a terminal gets no bar."""
    monkeypatch.setattr(query_command, "_PATIENCE", 0.0)
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    driven(400, stderr_is_terminal())

    assert stream.getvalue() == ""
