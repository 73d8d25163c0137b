"""Entry point: until `main` is imported, Ctrl-C ends the process with exit code 130.

The imports take longer than the start of the interpreter.  Python handles an interrupt before
these lines: with a traceback, and with the exit code 130 that a shell reports for SIGINT, or 1.
"""

from __future__ import annotations

# `signal` would take one millisecond to import, time in which an interrupt is not handled
import _signal  # type: ignore[import-not-found]
import os

# type checkers assume that it is true
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn


INTERRUPTED = 130


def end_interrupted(*_: object) -> NoReturn:
    """End the process immediately: no file needs to be removed yet."""
    os._exit(INTERRUPTED)


def run() -> NoReturn:
    """Run the command line this process was started with."""
    # a background process may have to ignore the signal
    if _signal.getsignal(_signal.SIGINT) is _signal.default_int_handler:
        _signal.signal(_signal.SIGINT, end_interrupted)

    from robolin.cli.main import run

    run()
