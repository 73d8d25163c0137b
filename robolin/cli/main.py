"""What surrounds every command line, and the one place where an exception becomes an exit code.

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

# more than most commands make of their modules
_OBJECTS_AT_START = 150_000

BUG = 70

# seconds, in which a function that ignores exceptions returns
_REPEATED_AFTER = 0.01
# whether Ctrl-C was pressed: what fails afterwards, an import for example, fails because of it
_interrupts: list[int] = []

# what Python says where the system refuses a thread
_NO_THREAD = "can't start new thread"
# and what it says where there is no memory left even for the exception that would say so
_NO_MEMORY = "without setting an exception"


def run() -> NoReturn:
    """Run the command line this process was started with."""
    defer_gc()
    detach_stderr()
    # nothing here multiplies large matrices, and starting NumPy's pool of threads takes 0.1 s
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    code = INTERRUPTED
    # the second one is for another Ctrl-C while the first is being answered
    with suppress(KeyboardInterrupt), suppress(KeyboardInterrupt):
        try:
            install_signal_handlers()
            code = main(sys.argv[1:])
        finally:
            # there is nothing left that Ctrl-C could stop
            _quiet_interrupts()
    _quiet_interrupts()
    exit_without_teardown(code)


def defer_gc() -> None:
    """Have nobody look for garbage among modules while they are imported, and as usual after that.

    A twentieth of the time of a short command would go into it.
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
        # whoever started us with nohup does not want us to hear about it
        if number is not None and signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _terminate)
    # a process that was started in the background ignores the signal
    if signal.getsignal(signal.SIGINT) not in (signal.SIG_IGN, None):
        sys.unraisablehook = _unraisable
        signal.signal(signal.SIGINT, _interrupt)


def _interrupt(number: int, frame: FrameType | None) -> NoReturn:
    """Unwind, and remember why."""
    _interrupts.append(number)
    raise KeyboardInterrupt


def _unraisable(unraised: sys.UnraisableHookArgs) -> None:
    """Repeat an interrupt that arrived where exceptions are ignored, once that place is left."""
    if isinstance(unraised.exc_value, KeyboardInterrupt):
        threading.Timer(_REPEATED_AFTER, signal.raise_signal, [signal.SIGINT]).start()
    else:
        sys.__unraisablehook__(unraised)


def detach_stderr() -> None:
    """Have our own messages go their own way, so that those of libraries can end."""
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


def run_to_exit_code(action: Callable[[], int]) -> int:
    """The exit code of an action, or of what stopped it; stderr has then been told."""
    try:
        code = action()
        # only now is it certain that the answer has arrived
        if sys.stdout is not None:
            sys.stdout.flush()
        return code
    except BaseException as error:
        if _interrupts and not isinstance(error, (KeyboardInterrupt, SystemExit)):
            # libraries make other exceptions of it
            error = KeyboardInterrupt()
        return _code_of(error)


def _code_of(error: BaseException) -> int:
    """The exit code for an exception, which stderr is told of."""
    try:
        raise error
    except BrokenPipeError:
        # whoever was reading has seen enough
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
        # words instead of a number are how libraries give up
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
        return _rejected(_too_large()) if _NO_MEMORY in str(error) else _bug(error)
    except BaseException as error:
        # a panic inside a library is no Exception, and its exit code would say "differs"
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
    # libraries put their advice first, and the reason last
    message = f"a library could not be loaded: {lines[-1] if lines else type(error).__name__}"
    hint = "is it installed whole, and is there enough memory (ulimit -v)?"
    return FileError(message, hint=hint)


def _unusable(error: OSError) -> RobolinError:
    if error.errno is None:
        # not the system says so, but a library that looked for its own parts
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
    """Let what is still buffered go nowhere, or the interpreter would complain on its way out."""
    try:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
    except (AttributeError, OSError, ValueError):
        # no real stdout: nothing is buffered for it
        return
