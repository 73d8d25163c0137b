"""The entry point of the `robolin` command: what surrounds every command line."""

from __future__ import annotations

import atexit
import gc
import os
import signal
import sys
import threading
import warnings
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, NoReturn

from robolin.cli.exit_codes import INTERRUPTED, run_to_exit_code
from robolin.cli.messages import say
from robolin.files.library_messages import separate_own_messages
from robolin.version import __version__

if TYPE_CHECKING:
    from types import FrameType

# more than most commands make of their modules
_OBJECTS_AT_START = 150_000


def run() -> NoReturn:
    """Run the command line this process was started with."""
    _collect_later()
    _hear_signals()
    separate_own_messages()
    # nothing here multiplies large matrices, and starting NumPy's pool of threads takes 0.1 s
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    try:
        try:
            code = main(sys.argv[1:])
        finally:
            # there is nothing left that Ctrl-C could stop
            _quiet_interrupts()
    except KeyboardInterrupt:
        # a second one, while the first was being answered
        code = INTERRUPTED
    _leave(code)


def _collect_later() -> None:
    """Have nobody look for garbage among modules while they are imported, and as usual after that.

    A twentieth of the time of a short command would go into it.
    """
    usual = gc.get_threshold()

    def begin(*_: object) -> None:
        gc.callbacks.remove(begin)
        gc.set_threshold(*usual)

    gc.callbacks.append(begin)
    gc.set_threshold(_OBJECTS_AT_START, *usual[1:])


def _hear_signals() -> None:
    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        # whoever started us with nohup does not want us to hear about it
        if number is not None and signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _terminate)
    if signal.getsignal(signal.SIGINT) is signal.SIG_DFL:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _quiet_interrupts() -> None:
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)


def _leave(code: int) -> NoReturn:
    """End the process at once: results have been written, or what there was of them removed.

    The interpreter would take every module apart, which is a tenth of the time of a short command,
    and stop threads wherever they are, which not all libraries survive.
    """
    if threading.active_count() == 1:
        # whoever asked to be told of the end, as programs that measure coverage do
        atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        # what cannot be written any more has been told already
        with suppress(OSError, ValueError):
            if stream is not None:
                stream.flush()
    os._exit(code)


def main(args: Sequence[str]) -> int:
    """Run one command line and return its exit code; no exception gets out."""
    with warnings.catch_warnings():
        warnings.showwarning = _warn
        return run_to_exit_code(lambda: _invoked(args))


def _invoked(args: Sequence[str]) -> int:
    if list(args) == ["--version"] and sys.stdout is not None:
        # the shortest question does not wait for the machinery behind the others
        sys.stdout.write(f"robolin {__version__}\n")
        return 0
    from robolin.cli.group import group, invoke

    if "_ROBOLIN_COMPLETE" in os.environ:
        group.main(prog_name="robolin")
    return invoke(args)


def _warn(message: Warning | str, *_: object, **__: object) -> None:
    """A warning of the library as one line, without the place in our sources."""
    say("warning", str(message))


def _terminate(number: int, frame: FrameType | None) -> NoReturn:
    """Unwind instead of dying on the spot, so that half-written files are removed."""
    raise SystemExit(128 + number)
