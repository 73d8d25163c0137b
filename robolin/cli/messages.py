"""What goes to stderr: errors, warnings, notes and hints, one line each."""

from __future__ import annotations

import sys


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


def printable(text: str) -> str:
    """The text without anything that would steer a terminal or break the line."""
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)
