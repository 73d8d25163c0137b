"""A process forked at any time keeps working, in every state of the other threads."""

from __future__ import annotations

import os

import pytest

from tests.cli.command import forked

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork on this system")

# an alarm ends a process that hangs, and the exit status shows it
FORKED = """
import os, signal, sys, threading, time, warnings
warnings.simplefilter("ignore")
import robolin
from robolin.engine.compiled import kernels, plan
from robolin.core.threads import prefetch

def child_of(work):
    child = os.fork()
    if child == 0:
        signal.alarm(20)
        work()
        os._exit(0)
    return os.waitpid(child, 0)[1]

arm = robolin.load("two-link")
states = [[0.1, 0.2]] * 100
"""


@pytest.mark.slow
def test_a_fork_while_another_thread_compiles() -> None:
    """The child compiles and runs kernels though a thread of its parent was compiling one."""
    ran = forked(
        FORKED + "begun = threading.Event()\n"
        "compile_it = kernels._compiled\n"
        "def slowly(recipe):\n"
        "    begun.set(); time.sleep(0.3)\n"
        "    return compile_it(recipe)\n"
        "kernels._compiled, os.environ['ROBOLIN_CACHE'] = slowly, '/dev/null/none'\n"
        "thread = threading.Thread(target=lambda: robolin.mass_matrix(arm, states))\n"
        "thread.start(); begun.wait()\n"
        "status = child_of(lambda: robolin.inverse(arm, states, states, states))\n"
        "thread.join()\n"
        "print(status, robolin.mass_matrix(arm, states).shape)"
    )
    assert (ran.code, ran.out) == (0, "0 (100, 2, 2)\n"), ran.err


@pytest.mark.slow
def test_a_fork_by_the_thread_that_compiles() -> None:
    """A signal handler may fork, or request a kernel, while its own thread compiles one."""
    ran = forked(
        FORKED + "compile_it, statuses = kernels._compiled, []\n"
        "def interrupted(recipe):\n"
        "    kernels._compiled = compile_it\n"
        "    statuses.append(child_of(lambda: robolin.mass_matrix(arm, states)))\n"
        "    return compile_it(recipe)\n"
        "kernels._compiled = interrupted\n"
        "os.environ['ROBOLIN_CACHE'] = '/dev/null/none'\n"
        "robolin.mass_matrix(arm, states)\n"
        "print(statuses)"
    )
    assert (ran.code, ran.out) == (0, "[0]\n"), ran.err


def test_a_fork_while_another_thread_looks_for_memory() -> None:
    """The child gets memory for its results though a thread of its parent was getting some."""
    ran = forked(
        FORKED + "robolin.mass_matrix(arm, states)\n"
        "begun = threading.Event()\n"
        "def hold():\n"
        "    with plan._lock:\n"
        "        begun.set(); time.sleep(0.3)\n"
        "thread = threading.Thread(target=hold)\n"
        "thread.start(); begun.wait()\n"
        "status = child_of(lambda: robolin.mass_matrix(arm, states))\n"
        "thread.join()\n"
        "print(status, robolin.mass_matrix(arm, states).shape)"
    )
    assert (ran.code, ran.out) == (0, "0 (100, 2, 2)\n"), ran.err


@pytest.mark.slow
def test_a_stream_prefetched_by_the_parent_is_an_error_in_the_child() -> None:
    """A child that continues its parent's stream gets an error and does not wait forever."""
    ran = forked(
        FORKED + "stream = prefetch(iter([1, 2, 3]))\n"
        "first = next(stream)\n"
        "time.sleep(0.3)\n"
        "def child():\n"
        "    try:\n"
        "        list(stream)\n"
        "    except RuntimeError as error:\n"
        "        if 'forked' in str(error): return\n"
        "    os._exit(1)\n"
        "print(child_of(child), [first, *stream])"
    )
    assert (ran.code, ran.out) == (0, "0 [1, 2, 3]\n"), ran.err
