"""Background threads keep the order of items, forward errors, and stop when unused."""

import os
import threading
from contextlib import closing

import pytest

from robolin.core.threads import close_generator, in_background, prefetch
from tests.cli.command import forked
from tests.work import TIMEOUT


def wait_for_threads():
    """Wait until all our threads have ended."""
    for thread in threading.enumerate():
        if thread.name.startswith("robolin-a"):
            thread.join(TIMEOUT)
            assert not thread.is_alive(), "a thread stayed behind"


def test_items_come_in_order():
    """Two chained threads change neither items nor order."""
    assert list(prefetch(prefetch(range(100)))) == list(range(100))
    wait_for_threads()


def test_the_next_item_is_made_while_the_last_one_is_used():
    """When the first item arrives, the second one is under way."""
    second = threading.Event()

    def items():
        yield 1
        second.set()
        yield 2

    with closing(prefetch(items())) as fetched:
        assert next(fetched) == 1
        assert second.wait(TIMEOUT)
    wait_for_threads()


def test_errors_arrive_in_order():
    """An error of the other thread is raised here, after the items before it."""

    def items():
        yield 1
        raise LookupError("here")

    fetched = prefetch(items())
    assert next(fetched) == 1
    with pytest.raises(LookupError, match="here"):
        next(fetched)
    wait_for_threads()


def test_leaving_early_closes_the_source():
    """The source is closed through any number of threads."""
    closed = threading.Event()

    def items():
        try:
            while True:
                yield 1
        finally:
            closed.set()

    with closing(prefetch(prefetch(items()))) as fetched:
        next(fetched)
    assert closed.wait(TIMEOUT)
    wait_for_threads()


def test_background_work_forwards_its_error():
    """The error of background work is raised in the waiting thread."""

    def work():
        raise LookupError("there")

    with pytest.raises(LookupError, match="there"):
        in_background(work, threading.Event())
    wait_for_threads()


# each waits for work that interrupts the waiting thread and then never ends
WAITING = {
    "for an item": "from robolin.core.threads import prefetch; next(prefetch(map(work, [1])))",
    "for work apart": "from robolin.core.threads import in_background; "
    "in_background(work, threading.Event())",
    "for checks": "from robolin.checking.check_results import check_in_parallel; "
    "check_in_parallel([work], 1)",
}


@pytest.mark.skipif(os.name == "nt", reason="signals are different there")
@pytest.mark.parametrize("waiting", WAITING.values(), ids=WAITING)
def test_a_signal_ends_the_wait_even_if_system_calls_restart(waiting):
    """Libraries with signal handlers, such as polars, restart interrupted system calls."""
    done = forked(
        "import os, signal, threading, time\n"
        "from robolin.core import threads\n"
        "threads._END_TIMEOUT = 0.1\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "signal.siginterrupt(signal.SIGINT, False)\n"
        "def work(*_):\n"
        "    time.sleep(0.3)  # whoever waits has begun to\n"
        "    os.kill(os.getpid(), signal.SIGINT)\n"
        "    threading.Event().wait()\n"
        "try:\n"
        f"    {waiting}\n"
        "except KeyboardInterrupt:\n"
        "    print('interrupted', flush=True)\n"
        "    os._exit(0)"
    )
    assert (done.code, done.out) == (0, "interrupted\n"), done.err


def test_a_generator_that_another_thread_waits_for_is_left_to_it():
    entered, go = threading.Event(), threading.Event()

    def items():
        entered.set()
        go.wait(TIMEOUT)
        yield 1

    source = items()
    received = []
    waiting = threading.Thread(target=lambda: received.append(next(source)))
    waiting.start()
    assert entered.wait(TIMEOUT)
    close_generator(source)
    go.set()
    waiting.join(TIMEOUT)
    assert received == [1]
    close_generator(source)
    assert list(source) == []
