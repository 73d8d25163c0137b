"""Tasks report their progress to a listener, and cost nothing without one."""

from __future__ import annotations

from robolin.core.progress import listening, running, track


class Recorder:
    """Listener that records all calls."""

    def __init__(self) -> None:
        self.calls: list[object] = []

    def begin(self, task: str) -> None:
        self.calls.append(task)

    def update(self, fraction: float) -> None:
        self.calls.append(fraction)

    def end(self) -> None:
        self.calls.append(None)


def test_without_a_listener_items_are_returned_unchanged() -> None:
    """A loop without a listener iterates over the items themselves."""
    items = [1, 2, 3]
    assert track("task", items, 3) is items
    with running("task") as update:
        update(0.5)


def test_a_listener_receives_nested_tasks() -> None:
    """Fractions of a loop and a task inside it arrive in order, and both tasks end."""
    recorder = Recorder()
    with listening(recorder):
        for item in track("outer", "ab", 2):
            if item == "b":
                with running("inner") as update:
                    update(0.25)
    assert recorder.calls == ["outer", 0.0, 0.5, "inner", 0.25, None, None]
    assert track("task", recorder.calls, 1) is recorder.calls


def test_a_task_that_is_left_early_ends() -> None:
    """A loop that breaks off, or fails, does not leave its task open."""
    recorder = Recorder()
    with listening(recorder):
        loop = iter(track("loop", "ab", 2))
        next(loop)
        del loop
    assert recorder.calls == ["loop", 0.0, None]
