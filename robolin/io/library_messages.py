"""Messages that native libraries print on standard error by themselves.

Polars reports every damaged page on standard error before robolin reports the damaged file.
"""

from __future__ import annotations

import os
from contextlib import suppress

STANDARD_ERROR = 2
# True in a command, whose own messages use another file descriptor; a program that uses the
# library keeps its standard error
own_messages_separate = False


def mute_native_stderr() -> None:
    """Redirect standard error to the null device if robolin's own messages do not use it."""
    if not own_messages_separate:
        return
    with suppress(OSError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, STANDARD_ERROR)
        os.close(nowhere)
