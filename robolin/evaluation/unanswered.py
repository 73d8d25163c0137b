"""Which rows have no answer, and why: one word for it, whatever is asked and whoever answers.

Whoever works out rows also says, for each, a number that is 0 if nothing seemed wrong with it.
What is wrong is found out afterwards, by running the row again by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from robolin.core.arm import Arm
from robolin.core.arrays import AnyArray, Arrays
from robolin.dynamics.algebra.trigonometry import LARGEST_ANGLE
from robolin.errors import RobolinError


def unsound_rows(arm: Arm, arrays: Mapping[str, AnyArray], batch: tuple[int, ...]) -> AnyArray:
    """Which rows have values that are not finite, or angles that may be too large."""
    found = np.zeros(batch, dtype=bool)
    for name, array in arrays.items():
        doubtful = ~np.isfinite(array)
        if name == "q":
            doubtful |= np.abs(array) > LARGEST_ANGLE / _largest_ratio(arm)
        found |= doubtful.any(axis=-1)
    return found.ravel()


def infinite_rows(results: Mapping[str, AnyArray], batch: tuple[int, ...]) -> AnyArray:
    """Which rows have results that do not fit in a double."""
    found = np.zeros(int(np.prod(batch)), dtype=bool)
    for values in results.values():
        own = tuple(range(len(batch), values.ndim))
        found |= ~np.isfinite(values).all(axis=own).ravel()
    return found


def require_answers(unanswered: AnyArray, why: Callable[[int], RobolinError | None]) -> None:
    """Raise what is wrong with the first row that something is wrong with."""
    if unanswered[0] if unanswered.size == 1 else unanswered.any():
        for row in np.flatnonzero(unanswered):
            error = why(int(row))
            if error is not None:
                raise error


def row_of(arm: Arm, arrays: Mapping[str, AnyArray], batch: tuple[int, ...], row: int) -> Arrays:
    """The values (n,) of one row."""
    return {
        name: np.broadcast_to(array, (*batch, arm.n)).reshape(-1, arm.n)[row]
        for name, array in arrays.items()
    }


def error_in(row: int, batch: tuple[int, ...], require: Callable[[], None]) -> RobolinError | None:
    """What `require` raises about a row, told with its number; None if it raises nothing."""
    try:
        require()
    except RobolinError as error:
        prefix = f"state {row}: " if batch else ""
        return RobolinError(prefix + error.message, where=error.where, hint=error.hint)
    return None


def _largest_ratio(arm: Arm) -> float:
    """How far a joint that mimics another may turn for each radian of it, at the most."""
    mimics = (link.joint.mimic for link in arm.links if link.joint.mimic)
    return max([1.0, *(abs(mimic.ratio) + abs(mimic.offset) for mimic in mimics)])
