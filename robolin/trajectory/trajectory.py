"""A motion, row by row, with every column in the arm's joint order."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Trajectory:
    """Positions, velocities, accelerations and efforts, each of shape (rows, n), or None.

    time:   shape (rows,), in seconds, if the file has it
    notes:  what the reader assumed or left aside, for stderr
    digest: SHA-256 of the file
    """

    rows: int
    q: Floats | None = None
    qd: Floats | None = None
    qdd: Floats | None = None
    tau: Floats | None = None
    time: Floats | None = None
    notes: tuple[str, ...] = ()
    digest: str = ""
