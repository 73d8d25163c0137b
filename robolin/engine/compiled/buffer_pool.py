"""Memory for results, used again when nobody has a result in it any more.

The system clears new memory before it hands it out, which takes as long as filling it: for large
results of cheap algorithms that is half of the time.  So the pieces last handed out are kept in
mind, and a piece that only this list knows of is handed out again.
"""

from __future__ import annotations

import os
import sys
from threading import Lock
from typing import Any

import numpy as np

Array = Any

# how many pieces are kept, and how many numbers in all of them together: 256 MB
MOST_PIECES, MOST_NUMBERS = 4, 1 << 25

# a small result must not keep a large piece from going: it may be this much larger
ROOMY = 4


def _references_when_free() -> int:
    """How many there are to a piece that nobody has: they differ between Pythons."""
    pieces = [np.empty(1)]
    for piece in pieces:
        return sys.getrefcount(piece)
    raise AssertionError


UNUSED = _references_when_free()

# where threads run without a common lock, references are not all counted in one place
COUNTED = getattr(sys, "_is_gil_enabled", lambda: True)()


# one for all pools: nobody has it for longer than it takes to look through a list
_lock = Lock()

if hasattr(os, "register_at_fork"):
    # a process forked off while another thread has it would wait for that thread for ever
    os.register_at_fork(
        before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_lock.release
    )


class SpareMemory:
    """The pieces last handed out, the latest last."""

    def __init__(self) -> None:
        self._pieces: list[Array] = []

    def piece(self, size: int) -> Array:
        """At least `size` doubles that nobody else looks at."""
        if not COUNTED:
            return np.empty(size)
        with _lock:
            for piece in self._pieces:
                if size <= piece.size <= ROOMY * size and sys.getrefcount(piece) <= UNUSED:
                    return piece
            piece = np.empty(size)
            self._keep(piece)
            return piece

    def _keep(self, piece: Array) -> None:
        """Keep the piece in mind, and forget the oldest ones that are too many or too large."""
        pieces = [*self._pieces, piece]
        while len(pieces) > MOST_PIECES or sum(each.size for each in pieces) > MOST_NUMBERS:
            pieces.pop(0)
            if not pieces:
                break
        self._pieces = pieces
