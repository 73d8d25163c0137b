"""Buffers for results, used again when nobody has a result in them any more.

The system clears new memory before it hands it out, which takes as long as filling it: for large
results of cheap algorithms that is half of the time.  So the buffers last handed out are kept in
a list, and one that only this list refers to is handed out again.
"""

from __future__ import annotations

import os
import sys
from threading import Lock

import numpy as np

from robolin.core.arrays import AnyArray

# how many buffers are kept, and how many numbers in all of them together: 256 MB
MOST_BUFFERS, MOST_POOLED_NUMBERS = 4, 1 << 25

# a small result must not keep a large buffer from going: it may be this much larger
MOST_TOO_LARGE = 4


def _references_when_free() -> int:
    """How many there are to a buffer that nobody has: they differ between Pythons."""
    buffers = [np.empty(1)]
    for buffer in buffers:
        return sys.getrefcount(buffer)
    raise AssertionError


UNUSED = _references_when_free()

# where threads run without a common lock, references are not all counted in one place
REFERENCES_COUNTED = getattr(sys, "_is_gil_enabled", lambda: True)()


# one for all pools: nobody has it for longer than it takes to look through a list
_lock = Lock()

if hasattr(os, "register_at_fork"):
    # a process forked off while another thread has it would wait for that thread for ever
    os.register_at_fork(
        before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_lock.release
    )


class BufferPool:
    """The buffers last handed out, the latest last."""

    def __init__(self) -> None:
        self._buffers: list[AnyArray] = []

    def take(self, size: int) -> AnyArray:
        """At least `size` doubles that nobody else looks at."""
        if not REFERENCES_COUNTED:
            return np.empty(size)
        with _lock:
            for buffer in self._buffers:
                if (
                    size <= buffer.size <= MOST_TOO_LARGE * size
                    and sys.getrefcount(buffer) <= UNUSED
                ):
                    return buffer
            buffer = np.empty(size)
            self._keep(buffer)
            return buffer

    def _keep(self, buffer: AnyArray) -> None:
        """Remember the buffer, and forget the oldest ones that are too many or too large."""
        buffers = [*self._buffers, buffer]
        while (
            len(buffers) > MOST_BUFFERS or sum(each.size for each in buffers) > MOST_POOLED_NUMBERS
        ):
            buffers.pop(0)
            if not buffers:
                break
        self._buffers = buffers
