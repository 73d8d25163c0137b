"""Times of a recording in seconds, whatever they are counted in."""

from __future__ import annotations

import numpy as np

from robolin.core.arrays import Floats, Numbers
from robolin.errors import RobolinError

# how many of them make a second
PER_SECOND = {"ns": 10**9, "us": 10**6, "ms": 10**3, "s": 1}


def from_first_row(time: Numbers, unit: str | None, first: Numbers | None = None) -> Numbers:
    """Seconds since the first row if it is known what the time counts, else the time itself.

    unit:  'ns', 'us', 'ms', 's', or None if nobody said
    first: the time of the first row, where `time` begins later
    """
    if unit is None:
        return time
    since: Floats = np.asarray(time - (time[0] if first is None else first))
    return np.asarray(since, dtype=np.float64) / PER_SECOND[unit]


def rising_seconds(time: Numbers | None, unit: str | None, file: str) -> Floats:
    """Seconds since the first row, each more than the one before."""
    if time is None:
        hint = "--time COLUMN says which column is the time"
        raise RobolinError("derivatives need a time, and there is none", where=file, hint=hint)
    if time.dtype.kind == "M":
        since = (time - time[0]) / np.timedelta64(1, "s")
    elif unit is None and time.dtype.kind in "iu":
        hint = "--time-unit ns, us, ms or s"
        message = f"the time is whole numbers such as {time[0]}, and nobody said of what"
        raise RobolinError(message, where=file, hint=hint)
    else:
        since = from_first_row(time, unit or "s")
    seconds: Floats = np.asarray(since, dtype=np.float64)
    if (falls := np.flatnonzero(~(np.diff(seconds) > 0.0))).size:
        row = int(falls[0])
        message = f"time does not go on from row {row + 1} to row {row + 2}"
        raise RobolinError(message, where=file, hint="derivatives need rising times")
    return seconds
