"""Messages that native libraries print on standard error by themselves.

Polars reports every damaged page on standard error before robolin reports the damaged file.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress

STANDARD_ERROR = 2
# True in a command, whose own messages use another file descriptor; a program that uses the
# library keeps its standard error
_own_messages_separate = False


def separate_own_messages() -> None:
    """Use a separate descriptor for robolin's messages, so that library output can be closed."""
    global _own_messages_separate
    with suppress(OSError, ValueError):
        if sys.stderr is not None and sys.stderr.fileno() == STANDARD_ERROR:
            encoding, errors = sys.stderr.encoding, sys.stderr.errors
            sys.stderr = os.fdopen(os.dup(STANDARD_ERROR), "w", 1, encoding, errors)
            _own_messages_separate = True


def mute_native_stderr() -> None:
    """Discard what libraries print on standard error, if robolin's own messages do not use it."""
    if _own_messages_separate:
        with suppress(OSError):
            discard_output(STANDARD_ERROR)


def discard_output(descriptor: int) -> None:
    """Redirect a file descriptor to the null device."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, descriptor)
    os.close(nowhere)
