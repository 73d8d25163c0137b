"""An algorithm on many states at once, in chunks that bound the memory it takes."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from robolin.arm import Arm
from robolin.errors import RobolinError
from robolin.evaluate import Method, evaluate

Floats = npt.NDArray[np.float64]

CHUNK_ROWS = 4096


def evaluated(
    arm: Arm,
    algorithm: str,
    values: Mapping[str, Floats],
    method: Method = "auto",
    where: str = "",
) -> dict[str, Floats]:
    """The algorithm's arrays for values of shape (n,), or (rows, n) chunk by chunk.

    where: the file the rows come from, for errors
    """
    rows = max((len(value) for value in values.values() if value.ndim == 2), default=0)
    if rows <= CHUNK_ROWS:
        return _chunk(arm, algorithm, values, method, where)
    parts = []
    for first in range(0, rows, CHUNK_ROWS):
        stop = min(first + CHUNK_ROWS, rows)
        part = {k: value[first:stop] if value.ndim == 2 else value for k, value in values.items()}
        parts.append(_chunk(arm, algorithm, part, method, f"{where}, rows from {first + 1}"))
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def _chunk(
    arm: Arm, algorithm: str, values: Mapping[str, Floats], method: Method, where: str
) -> dict[str, Floats]:
    try:
        return evaluate(arm, algorithm, values, method=method)
    except RobolinError as error:
        if error.where or not where:
            raise
        raise RobolinError(error.message, where=where, hint=error.hint) from error
