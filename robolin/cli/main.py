"""Process setup of every command, and the only conversion of exceptions to exit codes.

0 fine · 1 a validation found something · 2 wrong usage · 3 input rejected · 4 could not read or
write · 70 a bug of ours · 130 interrupted · 143 terminated
"""

from __future__ import annotations

import errno
import gc
import os
import signal
import sys
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, NoReturn

from robolin import __version__
from robolin.cli.entry_point import INTERRUPTED, end_interrupted
from robolin.core.progress import discard_output, separate_own_messages
from robolin.core.text import TIE, printable, tie_commands
from robolin.errors import FileError, RobolinError

if TYPE_CHECKING:
    from types import FrameType

BUG = 70

# signals received: later failures, such as an aborted import, are caused by them
_signals: list[int] = []

# not empty: the option --quiet of a command without other use for it
_silent: list[bool] = []

# Python's messages if the system starts no thread, or memory ends while it creates an exception
_NO_THREAD = "can't start new thread"
_NO_MEMORY = ("without setting an exception", "error return without exception set")
# no space for more output
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def run() -> NoReturn:
    """Run the command line this process was started with."""
    # saves 5 of the 90 ms of --help: no collection while modules are imported
    gc.set_threshold(150_000, *gc.get_threshold()[1:])
    separate_own_messages()
    # saves 40 ms: no large matrix products are needed, so BLAS needs no threads
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    code = INTERRUPTED
    # another Ctrl-C while the first one is reported
    with suppress(KeyboardInterrupt):
        _install_signal_handlers()
        code = main(sys.argv[1:])
    if signal.getsignal(signal.SIGINT) is _stop:
        # nothing is left to clean up
        signal.signal(signal.SIGINT, end_interrupted)
    for stream in (sys.stdout, sys.stderr):
        # write errors have already been reported
        with suppress(OSError, ValueError):
            if stream is not None:
                stream.flush()
    # saves 16 ms (--help) to 65 ms (inverse) of shutdown, which would also wait for threads
    os._exit(code)


def _install_signal_handlers() -> None:
    sys.unraisablehook = _unraisable
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        # keep signals ignored that the parent ignores (nohup, a background process)
        if number is not None and signal.getsignal(number) not in (signal.SIG_IGN, None):
            signal.signal(number, _stop)


def _stop(number: int, frame: FrameType | None) -> NoReturn:
    """Raise an exception instead of ending immediately, so that partial files are removed."""
    _signals.append(number)
    if number == signal.SIGINT:
        raise KeyboardInterrupt
    raise SystemExit(128 + number)


def _unraisable(unraised: sys.UnraisableHookArgs) -> None:
    """End the process if a signal arrived where Python ignores exceptions.

    A partial file that this leaves is removed by the next write into its folder.
    """
    if not isinstance(unraised.exc_value, (KeyboardInterrupt, SystemExit)):
        sys.__unraisablehook__(unraised)
        return
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os._exit(_report(unraised.exc_value))


def main(args: Sequence[str]) -> int:
    """Run a command line and return its exit code; no exception escapes."""
    _silent.clear()
    with warnings.catch_warnings():
        # one line, without the source location
        warnings.showwarning = lambda message, *_, **__: say("warning", str(message))
        return run_to_exit_code(lambda: _invoked(args))


def _invoked(args: Sequence[str]) -> int:
    if list(args) == ["--version"] and sys.stdout is not None:
        # saves 45 ms: click is not imported
        sys.stdout.write(f"robolin {__version__}\n")
        return 0
    from robolin.cli.group import group, invoke

    if "_ROBOLIN_COMPLETE" in os.environ:
        group.main(prog_name="robolin")
    return invoke(args)


def run_to_exit_code(action: Callable[[], int]) -> int:
    """Exit code of an action; exceptions are reported on stderr."""
    try:
        code = action()
        # output has been delivered only after a flush
        if sys.stdout is not None:
            sys.stdout.flush()
        return code
    except BaseException as error:
        if _signals and not isinstance(error, (KeyboardInterrupt, SystemExit)):
            # libraries, and Python itself while it creates a class, turn it into other exceptions
            stopped = SystemExit(128 + _signals[0])
            error = KeyboardInterrupt() if signal.SIGINT in _signals else stopped
        return _report(error)


def _report(error: BaseException) -> int:
    """Print an exception on stderr and return its exit code."""
    match error:
        case SystemExit(code=int() | None as code):
            return code or 0
        case KeyboardInterrupt():
            say("error", "interrupted")
            return INTERRUPTED
        case BrokenPipeError():
            # the reader of the pipe has closed it
            discard_stdout()
            return 0
    if isinstance(error, OSError):
        discard_stdout()
    problem = _as_robolin_error(error)
    if problem is None:
        if os.environ.get("ROBOLIN_DEBUG"):
            from traceback import print_exception

            print_exception(error)
        text = f"{type(error).__name__}: {error}".removesuffix(": ")
        say("error", f"this is a bug in robolin: {text}")
        say("hint", "run the command again with ROBOLIN_DEBUG=1, and report the traceback")
        return BUG
    for part in problem.parts:
        say("error", f"{part.where}: {part.message}" if part.where else part.message)
        if part.hint:
            say("hint", part.hint)
    codes = {part.exit_code for part in problem.parts}
    return codes.pop() if len(codes) == 1 else problem.exit_code


def _as_robolin_error(error: BaseException) -> RobolinError | None:
    """The error for users that an exception means; None for a bug."""
    text = str(error)
    out_of_memory = isinstance(error, SystemError) and any(each in text for each in _NO_MEMORY)
    if isinstance(error, RobolinError):
        return error
    if isinstance(error, MemoryError) or out_of_memory:
        hint = "split the trajectory into shorter files, or request fewer arrays"
        return RobolinError("not enough memory", hint=hint)
    if isinstance(error, RuntimeError) and _NO_THREAD in text:
        hint = "raise the limit on processes and threads (ulimit -u), or on memory (ulimit -v)"
        return FileError("cannot start another thread", hint=hint)
    if isinstance(error, OSError) and error.errno is not None:
        # writers of files name their file
        full = error.filename is None and error.errno in _FULL
        where = "standard output" if full else str(error.filename or "")
        return FileError(error.strerror or text, where=where)
    # an OSError without a number is raised by a library that misses its own files
    foreign = isinstance(error, ImportError) and (error.name or "").split(".")[0] != "robolin"
    if isinstance(error, OSError) or foreign:
        # libraries begin with advice and end with the reason
        reason = [type(error).__name__, *(line for line in text.splitlines() if line.strip())][-1]
        hint = "reinstall the library, and check the memory limit (ulimit -v)"
        return FileError(f"cannot load a library: {reason}", hint=hint)
    # anything else, also a panic of a library, which does not derive from Exception
    return None


def silence() -> None:
    """Hide the warnings and notes of this command."""
    _silent.append(True)


def say(kind: str, text: str) -> None:
    """Print `kind: text` on stderr, if it is open: wrapped on a terminal, else on one line."""
    # OSError: stderr itself has failed
    with suppress(OSError):
        if sys.stderr is None or (_silent and kind in ("note", "warning")):
            return
        line = f"{kind}: {printable(text)}"
        if sys.stderr.isatty():
            line = wrapped_message(line, message_width())
        sys.stderr.write(f"{line}\n")
        sys.stderr.flush()


def message_width() -> int:
    """Columns of the terminal, at least 40."""
    from shutil import get_terminal_size

    return max(get_terminal_size().columns, 40)


def wrapped_message(line: str, width: int) -> str:
    """A message on several lines; commands to copy are not broken, the terminal wraps them."""
    import textwrap

    return textwrap.fill(
        tie_commands(line),
        width,
        subsequent_indent="  ",
        break_long_words=False,
        break_on_hyphens=False,
    ).replace(TIE, " ")


def discard_stdout() -> None:
    """Discard buffered output, which the interpreter would otherwise report at exit."""
    # without a real stdout nothing is buffered
    with suppress(AttributeError, OSError, ValueError):
        discard_output(sys.stdout.fileno())
