"""A motion, row by row, with every column in the arm's joint order."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from robolin.arrays import Floats, Mask, Numbers


@dataclass(frozen=True, eq=False)
class Trajectory:
    """Positions, velocities, accelerations and efforts, each of shape (rows, n), or None.

    time:   shape (rows,), if the file has it; int64 or datetime64 where all of it is
    notes:  what the reader assumed or left aside, for stderr
    digest: SHA-256 of the file
    """

    rows: int
    q: Floats | None = None
    qd: Floats | None = None
    qdd: Floats | None = None
    tau: Floats | None = None
    time: Numbers | None = None
    notes: tuple[str, ...] = ()
    digest: str = ""


@dataclass(frozen=True, eq=False)
class Chunk:
    """Some consecutive rows of a trajectory.

    columns: 'q', 'qd', 'qdd', 'tau', as far as the file has them, each of shape (rows, n)
    place:   where a row of the chunk stands, for messages
    gaps:    the rows with a cell that is no finite number, where these were let through
    reach:   from where to where in the file, in the units of the stream's `size`
    """

    rows: int
    columns: Mapping[str, Floats]
    time: Numbers | None
    place: Callable[[int], str]
    gaps: Mask | None
    reach: tuple[int, int]
