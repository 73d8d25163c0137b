"""Trajectories and chunks of rows, with every column in the robot's joint order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field

from robolin.core.arrays import Floats, Mask, Numbers, np
from robolin.core.records import dataclass
from robolin.errors import RobolinError
from robolin.io.trajectories.column_layouts import Orientation


@dataclass(frozen=True, eq=False)
class Trajectory:
    """Positions, velocities, accelerations and efforts, each of shape (rows, n), or None.

    time:   shape (rows,), if the file has it; int64 or datetime64 if all values are
    notes:  what the reader assumed or ignored, for stderr
    digest: SHA-256 of the file
    time_unit: the unit of the time, if known
    lines:  lines for the contract about how the file was read
    """

    rows: int
    q: Floats | None = None
    qd: Floats | None = None
    qdd: Floats | None = None
    tau: Floats | None = None
    time: Numbers | None = None
    notes: tuple[str, ...] = ()
    digest: str = ""
    time_unit: str | None = None
    lines: Mapping[str, str] = field(default_factory=dict)

    @property
    def seconds(self) -> Numbers | None:
        """Seconds from the first row if the unit of the time is known, else the time itself."""
        return None if self.time is None else from_first_row(self.time, self.time_unit)

    def seconds_since(self, times: Numbers | None) -> Numbers | None:
        """Seconds from the first of other times, which have the same unit."""
        if self.time is None or times is None:
            return self.seconds
        return from_first_row(self.time, self.time_unit, times[0])


@dataclass(frozen=True, eq=False)
class Chunk:
    """Consecutive rows of a trajectory.

    columns: 'q', 'qd', 'qdd', 'tau', as far as the file has them, each of shape (rows, n)
    location: describes where a row of the chunk is, for messages
    gaps:    the rows with a cell that is not finite, if these are allowed
    reach:   start and end in the file, in the units of the stream's `size`
    carried: columns that are copied to the result, each of shape (rows,)
    """

    rows: int
    columns: Mapping[str, Floats]
    time: Numbers | None
    location: Callable[[int], str]
    gaps: Mask | None
    reach: tuple[int, int]
    carried: Mapping[str, Numbers] = field(default_factory=dict)


def concat_chunks(chunks: Sequence[Chunk]) -> Chunk:
    """Concatenate consecutive chunks."""
    starts = np.cumsum([0, *(chunk.rows for chunk in chunks)])

    def location(row: int) -> str:
        at = int(np.searchsorted(starts, row, side="right")) - 1
        return chunks[at].location(row - int(starts[at]))

    def together(values: Sequence[Numbers | None]) -> Numbers | None:
        present = [each for each in values if each is not None]
        return np.concatenate(present) if present else None

    first = chunks[0]
    return Chunk(
        rows=int(starts[-1]),
        columns={
            name: np.concatenate([chunk.columns[name] for chunk in chunks])
            for name in first.columns
        },
        time=together([chunk.time for chunk in chunks]),
        location=location,
        gaps=together([chunk.gaps for chunk in chunks]),
        reach=(first.reach[0], chunks[-1].reach[1]),
        carried={
            name: np.concatenate([chunk.carried[name] for chunk in chunks])
            for name in first.carried
        },
    )


def without_numbers(tables: Iterable[Floats]) -> Mask:
    """The rows where one of the tables has a number that is not finite."""
    mask: Mask = np.any([~np.isfinite(table).all(axis=1) for table in tables], axis=0)
    return mask


# units per second
PER_SECOND = {"ns": 10**9, "us": 10**6, "ms": 10**3, "s": 1}


def from_first_row(time: Numbers, unit: str | None, first: Numbers | None = None) -> Numbers:
    """Seconds since the first row if the unit is known, else the time itself.

    unit:  'ns', 'us', 'ms', 's', or None if unknown
    first: the time of the first row, if `time` begins later
    """
    if unit is None:
        return time
    since: Floats = np.asarray(time - (time[0] if first is None else first))
    return np.asarray(since, dtype=np.float64) / PER_SECOND[unit]


def require_clock(
    time: Numbers | None, unit: str | None, file: str, user: str = "derivatives"
) -> Numbers:
    """The time stamps, if they exist and have a unit."""
    if time is None:
        hint = "name the time column with --time COLUMN, or set --sample-time SECONDS"
        verb = "require" if user.endswith("s") else "requires"
        raise RobolinError(f"{user} {verb} a time column", where=file, hint=hint)
    if unit is None and time.dtype.kind in "iu":
        hint = "add --time-unit ns, us, ms or s"
        message = f"integer times such as {time[0]} require a unit"
        raise RobolinError(message, where=file, hint=hint)
    return time


def seconds_since(time: Numbers, unit: str | None, first: Numbers) -> Floats:
    """Seconds since the first row; float times without a unit are in s."""
    if time.dtype.kind == "M":
        return np.asarray((time - first) / np.timedelta64(1, "s"), dtype=np.float64)
    return np.asarray(from_first_row(time, unit or "s", first), dtype=np.float64)


def increasing_seconds(time: Numbers | None, unit: str | None, file: str) -> Floats:
    """Seconds since the first row, checked to be strictly increasing."""
    time = require_clock(time, unit, file)
    seconds = seconds_since(time, unit, time[:1])
    if (falls := np.flatnonzero(~(np.diff(seconds) > 0.0))).size:
        row = int(falls[0])
        message = f"time must increase, but does not increase from row {row + 1} to row {row + 2}"
        hint = "sort the rows by time; --differentiate savgol accepts equal time stamps"
        raise RobolinError(message, where=file, hint=hint)
    return seconds


def angles(
    orientation: Orientation, quaternions: Floats, location: Callable[[int], str], gaps: bool
) -> Floats:
    """Roll, pitch and yaw (rows, 3); an invalid quaternion gives NaN if `gaps` is set."""
    # import here: most arms have no multi-DoF joints
    from robolin.core.configuration import LENGTH_TOLERANCE, rpy_from_quaternion

    length = np.linalg.norm(quaternions, axis=1)
    off = np.abs(length - 1.0)
    bad = ~(off <= LENGTH_TOLERANCE)
    if bad.any() and not gaps:
        row = int(np.argmax(bad))
        raise RobolinError(
            f"the quaternion of joint '{orientation.joint}' must have length 1, got "
            f"{length[row]:.9g}",
            where=location(row),
            hint="check that the order is qx, qy, qz, qw",
        )
    with np.errstate(invalid="ignore", divide="ignore"):
        rpy: Floats = rpy_from_quaternion(quaternions / length[:, None])
    rpy[bad] = np.nan
    return rpy
