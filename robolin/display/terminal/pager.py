"""Texts longer than the terminal, for a person who can turn pages."""

from __future__ import annotations

import os
import shutil
import signal
import sys
from contextlib import suppress
from typing import TextIO

# quit if it fits after all, keep colours, leave the text on the screen
_LESS = "FRX"


def paged(text: str, stream: TextIO) -> bool:
    """Show the text page by page; False where nobody turns pages, or it fits on the screen."""
    if not _somebody_watches(stream):
        return False
    if text.count("\n") < shutil.get_terminal_size().lines:
        return False
    program = _program()
    if not program:
        return False
    import subprocess

    try:
        pager = subprocess.Popen(
            program,
            stdin=subprocess.PIPE,
            stdout=stream.fileno(),
            env={"LESS": _LESS, **os.environ},
        )
    except OSError:
        return False
    # Ctrl-C is for the pager as long as it runs
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with suppress(OSError):
            pager.communicate(text.encode(stream.encoding or "utf-8", errors="replace"))
        pager.wait()
    finally:
        signal.signal(signal.SIGINT, before)
    return True


def _somebody_watches(stream: TextIO) -> bool:
    if os.environ.get("TERM") == "dumb" or sys.stdin is None or not sys.stdin.isatty():
        return False
    try:
        # streams that stand in for a terminal have none behind them
        return stream.isatty() and os.isatty(stream.fileno())
    except OSError:
        return False


def _program() -> list[str]:
    """What PAGER says, else less; nothing for an empty PAGER or cat."""
    import shlex

    given = os.environ.get("ROBOLIN_PAGER", os.environ.get("PAGER", "less"))
    try:
        words = shlex.split(given)
    except ValueError:
        return []
    return words if words != ["cat"] and words and shutil.which(words[0]) else []
