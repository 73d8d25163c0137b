"""Messages on stderr: errors, warnings, notes and hints, one line each."""

from __future__ import annotations

import sys

from robolin.core.text import printable


def say(kind: str, text: str) -> None:
    """Print `kind: text` on one line of stderr, if stderr is open."""
    if sys.stderr is None:
        return
    try:
        sys.stderr.write(f"{kind}: {printable(text)}\n")
        sys.stderr.flush()
    except OSError:
        # stderr itself has failed
        return
