"""Process setup of every command, and the only conversion of exceptions to exit codes.

0 fine · 1 a validation found something · 2 wrong usage · 3 input rejected · 4 could not read or
write · 70 a bug of ours · 130 interrupted · 143 terminated
"""

from __future__ import annotations

import atexit
import gc
import os
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, NoReturn

from robolin.cli.entry_point import INTERRUPTED, end_interrupted
from robolin.cli.messages import say
from robolin.errors import FileError, RobolinError
from robolin.io import library_messages
from robolin.version import __version__

if TYPE_CHECKING:
    from types import FrameType

# above the number of objects that the imports of most commands create
_OBJECTS_AT_START = 150_000

BUG = 70

# seconds after which a function that ignores exceptions has returned
_REPEATED_AFTER = 0.01
# set by Ctrl-C: later failures, such as an aborted import, are caused by it
_interrupts: list[int] = []

# Python's message if the system cannot start a thread
_NO_THREAD = "can't start new thread"
# Python's message if memory is exhausted while it creates an exception
_NO_MEMORY = ("without setting an exception", "error return without exception set")


def run() -> NoReturn:
    """Run the command line this process was started with."""
    defer_gc()
    detach_stderr()
    # no large matrix products are needed, and starting the BLAS threads takes 0.1 s
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    code = INTERRUPTED
    # the second one handles another Ctrl-C during the first
    with suppress(KeyboardInterrupt), suppress(KeyboardInterrupt):
        try:
            install_signal_handlers()
            code = main(sys.argv[1:])
        finally:
            # nothing is left to interrupt
            _quiet_interrupts()
    _quiet_interrupts()
    exit_without_teardown(code)


def defer_gc() -> None:
    """Delay the first garbage collection until after the imports.

    This saves five per cent of the time of a short command.
    """
    usual = gc.get_threshold()

    def begin(*_: object) -> None:
        gc.callbacks.remove(begin)
        gc.set_threshold(*usual)

    gc.callbacks.append(begin)
    gc.set_threshold(_OBJECTS_AT_START, *usual[1:])


def install_signal_handlers() -> None:
    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        # keep signals ignored that the parent ignores (nohup)
        if number is not None and signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _terminate)
    # a background process ignores the signal
    if signal.getsignal(signal.SIGINT) not in (signal.SIG_IGN, None):
        sys.unraisablehook = _unraisable
        signal.signal(signal.SIGINT, _interrupt)


def _interrupt(number: int, frame: FrameType | None) -> NoReturn:
    """Raise KeyboardInterrupt and store that it was raised."""
    _interrupts.append(number)
    raise KeyboardInterrupt


def _unraisable(unraised: sys.UnraisableHookArgs) -> None:
    """Raise an interrupt again that arrived where exceptions are ignored."""
    if isinstance(unraised.exc_value, KeyboardInterrupt):
        threading.Timer(_REPEATED_AFTER, signal.raise_signal, [signal.SIGINT]).start()
    else:
        sys.__unraisablehook__(unraised)


def detach_stderr() -> None:
    """Use a separate descriptor for robolin's messages, so that library output can be closed."""
    if sys.stderr is None:
        return
    with suppress(OSError, ValueError):
        number = library_messages.STANDARD_ERROR
        if sys.stderr.fileno() == number:
            encoding, errors = sys.stderr.encoding, sys.stderr.errors
            sys.stderr = os.fdopen(os.dup(number), "w", 1, encoding, errors)
            library_messages.own_messages_separate = True


def _quiet_interrupts() -> None:
    if signal.getsignal(signal.SIGINT) is _interrupt:
        signal.signal(signal.SIGINT, end_interrupted)


def exit_without_teardown(code: int) -> NoReturn:
    """Exit immediately: results are written, or partial files removed.

    Interpreter shutdown takes a tenth of the time of a short command and stops threads at any
    point,
    which crashes some libraries.
    """
    if threading.active_count() == 1:
        # run exit handlers, for example of coverage tools
        atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        # write errors have already been reported
        with suppress(OSError, ValueError):
            if stream is not None:
                stream.flush()
    os._exit(code)


def main(args: Sequence[str]) -> int:
    """Run a command line and return its exit code; no exception escapes."""
    with warnings.catch_warnings():
        warnings.showwarning = _warn
        return run_to_exit_code(lambda: _invoked(args))


def _invoked(args: Sequence[str]) -> int:
    if list(args) == ["--version"] and sys.stdout is not None:
        # fast path for --version without other imports
        sys.stdout.write(f"robolin {__version__}\n")
        return 0
    from robolin.cli.group import group, invoke

    if "_ROBOLIN_COMPLETE" in os.environ:
        group.main(prog_name="robolin")
    return invoke(args)


def _warn(message: Warning | str, *_: object, **__: object) -> None:
    """Print a library warning as one line, without its source location."""
    say("warning", str(message))


def _terminate(number: int, frame: FrameType | None) -> NoReturn:
    """Raise an exception instead of ending immediately, so that partial files are removed."""
    raise SystemExit(128 + number)


def run_to_exit_code(action: Callable[[], int]) -> int:
    """Exit code of an action; exceptions are reported on stderr."""
    try:
        code = action()
        # output has been delivered only after a flush
        if sys.stdout is not None:
            sys.stdout.flush()
        return code
    except BaseException as error:
        if _interrupts and not isinstance(error, (KeyboardInterrupt, SystemExit)):
            # libraries may convert it to other exceptions
            error = KeyboardInterrupt()
        return _code_of(error)


def _code_of(error: BaseException) -> int:
    """Report an exception on stderr and return its exit code."""
    try:
        raise error
    except BrokenPipeError:
        # the reader of the pipe has closed it
        discard_stdout()
        return 0
    except RobolinError as error:
        return _rejected(error)
    except KeyboardInterrupt:
        say("error", "interrupted")
        return INTERRUPTED
    except SystemExit as stop:
        if stop.code is None or isinstance(stop.code, int):
            return stop.code or 0
        # libraries exit with a text instead of a number
        return _bug(stop)
    except MemoryError:
        return _rejected(_too_large())
    except OSError as error:
        discard_stdout()
        return _rejected(_unusable(error))
    except ImportError as error:
        ours = (error.name or "").partition(".")[0] == "robolin"
        return _bug(error) if ours else _rejected(_unloaded(error))
    except RuntimeError as error:
        return _rejected(_no_threads()) if _NO_THREAD in str(error) else _bug(error)
    except SystemError as error:
        out_of_memory = any(text in str(error) for text in _NO_MEMORY)
        return _rejected(_too_large()) if out_of_memory else _bug(error)
    except BaseException as error:
        # a panic in a library does not derive from Exception; its exit code would mean "differs"
        return _bug(error)


def _rejected(error: RobolinError) -> int:
    for part in error.parts:
        say("error", f"{part.where}: {part.message}" if part.where else part.message)
        if part.hint:
            say("hint", part.hint)
    codes = {part.exit_code for part in error.parts}
    return codes.pop() if len(codes) == 1 else error.exit_code


def _too_large() -> RobolinError:
    return RobolinError(
        "there is not enough memory for this",
        hint="split the trajectory into shorter files, or ask for fewer arrays",
    )


def _no_threads() -> RobolinError:
    hint = "raise the limit on processes and threads (ulimit -u), or on memory (ulimit -v)"
    return FileError("the system lets no more threads start", hint=hint)


def _unloaded(error: ImportError | OSError) -> RobolinError:
    lines = [line for line in str(error).splitlines() if line.strip()]
    # libraries begin with advice and end with the reason
    message = f"a library could not be loaded: {lines[-1] if lines else type(error).__name__}"
    hint = "is it installed whole, and is there enough memory (ulimit -v)?"
    return FileError(message, hint=hint)


def _unusable(error: OSError) -> RobolinError:
    if error.errno is None:
        # raised by a library that misses its own files, not by the system
        return _unloaded(error)
    return FileError(error.strerror or str(error), where=str(error.filename or ""))


def _bug(error: BaseException) -> int:
    if os.environ.get("ROBOLIN_DEBUG"):
        from traceback import print_exception

        print_exception(error)
    text = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    say("error", f"this is a bug in robolin: {text}")
    say("hint", "please report it; the same command after ROBOLIN_DEBUG=1 shows the traceback")
    return BUG


def discard_stdout() -> None:
    """Discard buffered output, which the interpreter would otherwise report at exit."""
    try:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
    except (AttributeError, OSError, ValueError):
        # without a real stdout nothing is buffered
        return
