"""Memory that a long job has freed is kept for its next rows, not given back and fetched anew."""

from __future__ import annotations

import sys

# glibc's words: what is freed at the end of the heap stays there up to so many bytes, pieces of up
# to so many bytes are taken from the heap, and all threads share one of them
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD, _M_ARENA_MAX = -1, -3, -8
_WORDS = {_M_TRIM_THRESHOLD: 1 << 28, _M_MMAP_THRESHOLD: 1 << 25, _M_ARENA_MAX: 1}


def keep_memory() -> None:
    """Have this process keep what it frees, where the system's library can be told so."""
    if not sys.platform.startswith("linux"):
        return
    import ctypes

    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        for word, value in _WORDS.items():
            mallopt(word, value)
