"""The first lines of every command: until `main` is imported, Ctrl-C ends the process with 130.

The imports take longer than the start of the interpreter.  An interrupt before these lines, while
the interpreter itself starts, is answered by Python: with its traceback, and with the exit code
130 that a shell reports for a process ended by SIGINT, or 1.
"""

from __future__ import annotations

# what is beneath `signal`, which takes a millisecond to name its numbers: one of those at stake
import _signal  # type: ignore[import-not-found]
import os

# type checkers take it to be true
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn


INTERRUPTED = 130


def end_interrupted(*_: object) -> NoReturn:
    """End the process at once: nothing has been written that would have to be removed."""
    os._exit(INTERRUPTED)


def run() -> NoReturn:
    """Run the command line this process was started with."""
    # a process that was started in the background may have to ignore the signal
    if _signal.getsignal(_signal.SIGINT) is _signal.default_int_handler:
        _signal.signal(_signal.SIGINT, end_interrupted)

    from robolin.cli.main import run

    run()
