"""Whether polars can be loaded: without room for its threads it would take the process with it."""

from __future__ import annotations

import os

from robolin.errors import RobolinError

# what it reserves of a limited address space, in all and for each of its threads
_RESERVED, _RESERVED_PER_THREAD = 1 << 30, 1 << 26


def memory_suffices_for_polars() -> bool:
    """Whether the limit on memory, if there is one, leaves enough for polars."""
    left = _left()
    threads = os.cpu_count() or 1
    return left is None or left > _RESERVED + threads * _RESERVED_PER_THREAD


def require_polars_memory(file: str) -> None:
    """Refuse a file that only polars reads and writes where it cannot be loaded."""
    if not memory_suffices_for_polars():
        message = "the limit on memory leaves too little for Parquet"
        raise RobolinError(message, where=file, hint="raise it (ulimit -v), or use CSV or NPZ")


def _left() -> int | None:
    """How many bytes of address space are left, None if nothing limits them or says so."""
    try:
        import resource
    except ImportError:
        # there are no such limits on this system
        return None
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    if limit == resource.RLIM_INFINITY:
        return None
    try:
        with open("/proc/self/statm", encoding="ascii") as text:
            used = int(text.read().split()[0]) * resource.getpagesize()
    except OSError:
        used = 0
    return limit - used
