"""What libraries say by themselves: straight to standard error, where only commands speak.

Polars tells of every damaged page in words for whoever wrote polars, before we can say ours.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress

_STANDARD_ERROR = 2
_own_messages_separate = False


def separate_own_messages() -> None:
    """Have this process's own messages go their own way, so that those of libraries can end.

    For a process that is ours alone: whoever only uses the library keeps its standard error.
    """
    global _own_messages_separate
    if sys.stderr is None:
        return
    with suppress(OSError, ValueError):
        if sys.stderr.fileno() == _STANDARD_ERROR:
            encoding, errors = sys.stderr.encoding, sys.stderr.errors
            sys.stderr = os.fdopen(os.dup(_STANDARD_ERROR), "w", 1, encoding, errors)
            _own_messages_separate = True


def silence_libraries() -> None:
    """Let what libraries say by themselves go nowhere, if nothing else is said that way."""
    if not _own_messages_separate:
        return
    with suppress(OSError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, _STANDARD_ERROR)
        os.close(nowhere)
