"""What goes to stderr: errors, warnings, notes and hints, one line each."""

from __future__ import annotations

import sys

from robolin.core.text import printable


def say(kind: str, text: str) -> None:
    """Write `kind: text` on one line of stderr, if anybody is listening."""
    if sys.stderr is None:
        return
    try:
        sys.stderr.write(f"{kind}: {printable(text)}\n")
        sys.stderr.flush()
    except OSError:
        # there is nowhere left to complain to
        return
