"""What libraries say by themselves: straight to standard error, where only commands speak.

Polars tells of every damaged page in words for whoever wrote polars, before we can say ours.
"""

from __future__ import annotations

import os
from contextlib import suppress

STANDARD_ERROR = 2
# whether this process's own messages go another way, which commands see to: whoever only uses the
# library keeps its standard error
own_messages_separate = False


def silence_libraries() -> None:
    """Let what libraries say by themselves go nowhere, if nothing else is said that way."""
    if not own_messages_separate:
        return
    with suppress(OSError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, STANDARD_ERROR)
        os.close(nowhere)
