"""The line with the current task appears after two seconds and is removed at its end."""

from __future__ import annotations

import io
import sys

import pytest

from robolin.display.terminal import task_line
from robolin.display.terminal.task_line import TaskLine


class Clock:
    """Time that only tests advance."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(task_line, "now", clock)
    # the thread would draw at times of its own
    monkeypatch.setattr(task_line, "INTERVAL", 3600.0)
    return clock


def test_the_line_has_fraction_and_time_left(clock: Clock) -> None:
    """Before two seconds the line is empty; then it has the fraction and an estimate."""
    with TaskLine() as line:
        line.begin("simulating")
        line.update(0.25)
        assert line.text(1.9) == ""
        assert line.text(10.0) == "simulating: 25%, about 30 s left"
        line.end()
        assert line.text(10.0) == ""


def test_a_nested_task_without_a_fraction_shows_seconds(clock: Clock) -> None:
    """A kernel that is compiled inside a simulation is shown with its own time."""
    with TaskLine() as line:
        line.begin("simulating")
        clock.now = 3.0
        line.begin("compiling forward")
        assert line.text(7.0) == "compiling forward: 4 s"
        line.end()
        assert line.text(7.0) == "simulating: 7 s"


def test_the_fraction_never_decreases(clock: Clock) -> None:
    """Adaptive integrators evaluate the rate at earlier times after a rejected step."""
    with TaskLine() as line:
        line.begin("simulating")
        for fraction in (0.5, 0.75, 0.25):
            line.update(fraction)
        line.begin("compiling energy")
        line.end()
        line.update(0.3)
        assert line.text(6.0) == "simulating: 75%, about 2 s left"


def test_the_line_is_removed_at_the_end(monkeypatch: pytest.MonkeyPatch, clock: Clock) -> None:
    """The line is drawn over itself and erased when the task ends."""
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    with TaskLine() as line:
        line.begin("verifying")
        line.draw(1.0)
        assert stream.getvalue() == ""
        line.draw(2.5)
        assert stream.getvalue() == "\r\x1b[2Kverifying: 2 s"
        line.end()
    assert stream.getvalue().endswith("\r\x1b[2K")


def test_parts_of_a_task_share_its_start(clock: Clock) -> None:
    """A task in two parts has the time left of both, and short tasks together get a line."""
    with TaskLine() as line:
        line.begin("simulating")
        line.update(0.25)
        line.end()
        clock.now = 5.0
        line.begin("simulating")
        line.update(0.5)
        assert line.text(6.0) == "simulating: 50%, about 6 s left"
        line.end()
        clock.now = 6.0
        line.begin("compiling forward")
        assert line.text(6.5) == "compiling forward: 0 s"
        line.end()
