"""Another thread does the work: in order, with its errors, and it stops when nobody waits."""

import threading
import time
from contextlib import closing

import pytest

from robolin.ahead import ahead, apart


def settled():
    """Wait until all our threads are gone."""
    deadline = time.monotonic() + 5
    while any(t.name.startswith("robolin-a") for t in threading.enumerate()):
        assert time.monotonic() < deadline, "a thread stayed behind"
        time.sleep(0.001)


def test_items_come_in_order():
    """Two threads one behind the other change neither items nor order."""
    assert list(ahead(ahead(range(100)))) == list(range(100))
    settled()


def test_the_next_item_is_made_while_the_last_one_is_used():
    """When the first item arrives, the second one is under way."""
    second = threading.Event()

    def items():
        yield 1
        second.set()
        yield 2

    with closing(ahead(items())) as found:
        assert next(found) == 1
        assert second.wait(5)
    settled()


def test_errors_arrive_where_the_item_would_have():
    """What goes wrong in the other thread goes wrong here, after the items before it."""

    def items():
        yield 1
        raise LookupError("here")

    found = ahead(items())
    assert next(found) == 1
    with pytest.raises(LookupError, match="here"):
        next(found)
    settled()


def test_leaving_early_closes_the_source():
    """A source further up is closed, through any number of threads."""
    closed = threading.Event()

    def items():
        try:
            while True:
                yield 1
        finally:
            closed.set()

    with closing(ahead(ahead(items()))) as found:
        next(found)
    assert closed.wait(5)
    settled()


def test_work_apart_hands_its_error_over():
    """The error of work done elsewhere is raised here."""

    def work():
        raise LookupError("there")

    with pytest.raises(LookupError, match="there"):
        apart(work, threading.Event())
    settled()
