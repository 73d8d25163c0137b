"""Results without infinities: a number that overflowed is nobody's answer."""

from __future__ import annotations

import numpy as np

from robolin.core.results.result import Result
from robolin.errors import RobolinError


def require_finite(result: Result) -> None:
    """Refuse to hand out a number that is not one, naming where it would have stood."""
    for array in result.arrays:
        finite = np.isfinite(array.values)
        if finite.all():
            continue
        place = tuple(int(i) for i in np.argwhere(~finite)[0])
        where = [array.name]
        if array.batch is not None:
            where.append(f"row {place[0] + 1}")
            place = place[1:]
        where += [names[i] for i, names in zip(place, array.labels, strict=True)]
        raise RobolinError(
            f"{result.verb} has no finite answer here: the numbers overflow",
            where=", ".join(where),
            hint="look for a state or a parameter many orders of magnitude away from the others",
        )
