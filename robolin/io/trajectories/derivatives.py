"""Velocities and accelerations of recordings, from the time stamps and positions of their rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from robolin.core.arrays import Floats, Integers, Mask, Numbers
from robolin.core.records import dataclass
from robolin.core.text import pluralize
from robolin.errors import RobolinError
from robolin.io.trajectories.local_polynomials import LocalPolynomials, Windows
from robolin.io.trajectories.read_options import NARROWEST, WIDEST, DerivativeMethod
from robolin.io.trajectories.trajectory import (
    PER_SECOND,
    Chunk,
    increasing_seconds,
    require_clock,
    seconds_since,
    without_numbers,
)

# rows of a default window of even rows, and of the shortest default window of uneven rows
WINDOW = 11
# default width of uneven rows in s, unless WINDOW rows last longer
_DEFAULT_WIDTH = 0.1
# largest relative deviation of a time step from the mean of even rows
_UNEVEN_ROWS = 1e-3
# time steps whose median determines the default width
_STEPS_FOR_MEDIAN = 100_000
# rows that are differentiated together; more than this in a window is a mistake
_FEWEST_AT_ONCE, _MOST_IN_WINDOW = 8192, 20_000


@dataclass
class DerivationReport:
    """How derivatives were computed, and what the time stamps were like.

    method:   the method in words
    origin:   what is differentiated
    gaps:     number of gaps between rows, and where the first one begins
    repeated: number of rows with the time stamp of the previous row, and where the first one is
    """

    method: str = ""
    origin: str = "positions"
    gaps: int = 0
    first_gap: str = ""
    longest: float = 0.0
    repeated: int = 0
    first_repeated: str = ""
    chosen: bool = False

    def line(self, names: Sequence[str]) -> str:
        """The line about derived quantities in a contract."""
        text = f"{' and '.join(names)} from {self.origin} and time by {self.method}"
        return "; ".join([text, *self.findings()])

    def findings(self) -> list[str]:
        """Irregular time stamps, one text each."""
        texts = []
        if self.gaps:
            gaps = pluralize(self.gaps, "gap")
            texts.append(
                f"{gaps} in time that no window spans, the first after {self.first_gap}, "
                f"the longest {self.longest:.4g} s"
            )
        if self.repeated:
            rows = pluralize(self.repeated, "row")
            texts.append(
                f"{rows} with the time stamp of the previous row, first {self.first_repeated}"
            )
        return texts

    def notes(self, names: Sequence[str]) -> list[str]:
        """Notes after the last row: a default width, and irregular time stamps."""
        what = " and ".join(names)
        width = f"{what} by {self.method}; set another width with --differentiate savgol:SECONDS"
        return [*([width] if self.chosen else []), *self.findings()]


class WindowPlan(NamedTuple):
    """Width in s and order of the local polynomials of a recording.

    step: the time step of even rows, whose windows count rows; None to use time stamps
    """

    width: float
    order: int
    step: float | None = None

    @property
    def words(self) -> str:
        if self.step is not None:
            return f"Savitzky-Golay over {WINDOW} rows, cubic"
        return f"local polynomials of order {self.order} over {self.width:.6g} s"


def plan_windows(
    method: DerivativeMethod, times: Callable[[], Iterable[Numbers]], unit: str | None, file: str
) -> WindowPlan:
    """Choose the windows of a recording.

    Without a width, even rows have windows of 11 rows.  Uneven rows have windows of 0.1 s, or of
    ten median time steps if these last longer.

    times: returns the time stamps of all rows in blocks, for a width that is not given
    """
    if method.width is not None:
        return WindowPlan(method.width, method.order)
    rows, mean, median, even = _time_steps(times(), unit, file)
    if even:
        _require_rows(rows, WINDOW, file)
        return WindowPlan((WINDOW - 1) * mean, method.order, mean)
    return WindowPlan(float(f"{max(_DEFAULT_WIDTH, (WINDOW - 1) * median):.3g}"), method.order)


def _time_steps(
    times: Iterable[Numbers], unit: str | None, file: str
) -> tuple[int, float, float, bool]:
    """Number of rows, mean and median time step, and whether all steps are equal."""
    rows, shortest, longest, last = 0, np.inf, -np.inf, 0.0
    first: Numbers | None = None
    early: list[Floats] = []
    for time in times:
        require_clock(time, unit, file)
        first = time[:1] if first is None else first
        seconds = seconds_since(time, unit, first)
        seconds = np.append(last, seconds) if rows else seconds
        steps = np.diff(seconds[np.isfinite(seconds)])
        if rows < _STEPS_FOR_MEDIAN:
            early.append(steps)
        rows, last = rows + len(time), float(seconds[-1])
        shortest = min(shortest, float(steps.min(initial=np.inf)))
        longest = max(longest, float(steps.max(initial=-np.inf)))
    mean = last / max(rows - 1, 1)
    positive = np.concatenate(early)[:_STEPS_FOR_MEDIAN] if early else np.zeros(0)
    positive = positive[positive > 0.0]
    off = max(longest - mean, mean - shortest)
    even = rows < 2 or (shortest > 0.0 and off <= _UNEVEN_ROWS * mean)
    return rows, mean, float(np.median(positive)) if positive.size else 0.0, even


class LocalDerivatives:
    """Adds derivatives by local polynomials to chunks; keeps the rows of a window in memory.

    sources: derived quantity -> the quantity that is differentiated, and how often
    """

    def __init__(
        self,
        plan: WindowPlan,
        sources: Mapping[str, tuple[str, int]],
        unit: str | None,
        file: str,
        report: DerivationReport,
        tolerant: bool,
    ) -> None:
        self._plan, self._sources, self._unit, self._file = plan, sources, unit, file
        self._report, self._tolerant = report, tolerant
        self._fit = LocalPolynomials(plan.width, plan.order, 1.0)
        self._waiting: list[tuple[int, Chunk]] = []
        self._rows = 0
        # rows with numbers: time stamps, row numbers, and quantities to differentiate
        self._ticks: Numbers = np.zeros(0)
        self._numbers: Integers = np.zeros(0, np.int64)
        self._values: dict[str, Floats] = {}

    def chunks(self, chunks: Iterable[Chunk]) -> Iterator[Chunk]:
        """Yield the chunks with derivatives, each once its last window is complete."""
        for chunk in chunks:
            self._append(chunk)
            yield from self._complete(self._ready())
        if len(self._ticks) and self._waiting[0][0] == 0 and self._is_short():
            raise self._too_short()
        yield from self._complete(len(self._waiting))

    def _append(self, chunk: Chunk) -> None:
        ticks, tick = self._ticks_of(chunk)
        self._fit = LocalPolynomials(self._plan.width / tick, self._plan.order, tick)
        names = {name for name, _ in self._sources.values()}
        valid = ~without_numbers([ticks[:, None], *(chunk.columns[name] for name in names)])
        numbers = self._rows + np.flatnonzero(valid)
        ticks = ticks[valid]
        self._check(ticks, numbers, chunk)
        self._waiting.append((self._rows, chunk))
        self._rows += chunk.rows
        before = len(self._ticks) > 0
        self._ticks = np.concatenate([self._ticks, ticks]) if before else ticks
        self._numbers = np.concatenate([self._numbers, numbers])
        for name in names:
            values = chunk.columns[name][valid]
            kept = self._values.get(name)
            self._values[name] = values if kept is None else np.concatenate([kept, values])

    def _ticks_of(self, chunk: Chunk) -> tuple[Numbers, float]:
        """Time stamps (rows,) as int64 or float64, and the seconds of one tick."""
        if self._plan.step is not None:
            return np.arange(self._rows, self._rows + chunk.rows), self._plan.step
        time = require_clock(chunk.time, self._unit, self._file)
        if time.dtype.kind == "M":
            return time.view(np.int64), 1.0 / PER_SECOND[np.datetime_data(time.dtype)[0]]
        return time, 1.0 / PER_SECOND[self._unit or "s"]

    def _check(self, ticks: Numbers, numbers: Integers, chunk: Chunk) -> None:
        """Reject decreasing time stamps; count gaps and repeated time stamps."""
        if len(self._ticks):
            ticks = np.concatenate([self._ticks[-1:], ticks])
            numbers = np.concatenate([self._numbers[-1:], numbers])
        steps = np.diff(ticks)

        def location_text(index: int) -> str:
            return chunk.location(int(numbers[index]) - self._rows).rpartition(", ")[2]

        if (falls := np.flatnonzero(steps < 0)).size:
            at = int(falls[0]) + 1
            row, message = int(numbers[at]), "time must not decrease"
            raise RobolinError(
                f"{message}, but decreases from row {row} to row {row + 1}",
                where=self._file,
                hint="sort the rows by time",
            )
        report = self._report
        repeated = np.flatnonzero(steps == 0)
        if repeated.size and not report.repeated:
            report.first_repeated = location_text(int(repeated[0]) + 1)
        report.repeated += len(repeated)
        gaps = np.flatnonzero(steps > self._fit.in_ticks(ticks)[0])
        if gaps.size:
            if not report.gaps:
                report.first_gap = f"row {int(numbers[gaps[0]]) + 1}"
            report.gaps += len(gaps)
            report.longest = max(report.longest, float(steps.max()) * self._fit.tick)

    def _ready(self) -> int:
        """Number of waiting chunks whose windows are complete; 0 if these are few rows."""
        if not len(self._ticks):
            return 0
        # a window begins at the first row of a segment, and further rows may have its last time
        _, full = self._fit.in_ticks(self._ticks)
        incomplete = int(np.count_nonzero(self._ticks + full < self._ticks[-1]))
        if len(self._ticks) - incomplete > _MOST_IN_WINDOW:
            raise self._too_wide()
        stops = [first + chunk.rows for first, chunk in self._waiting]
        ready = sum(stop <= self._numbers[incomplete] for stop in stops)
        enough = ready and stops[ready - 1] - self._waiting[0][0] >= _FEWEST_AT_ONCE
        return ready if enough else 0

    def _complete(self, ready: int) -> Iterator[Chunk]:
        """Yield the first chunks with derivatives, and drop rows that no later window needs."""
        if not ready:
            return
        chunks, self._waiting = self._waiting[:ready], self._waiting[ready:]
        first, stop = chunks[0][0], chunks[-1][0] + chunks[-1][1].rows
        begin, end = (int(each) for each in np.searchsorted(self._numbers, [first, stop]))
        windows = self._fit.windows(self._ticks, begin, end)
        if not (windows.enough.all() or self._tolerant):
            raise self._too_few(windows, begin, chunks)
        derived = self._derived(windows, begin)
        rows = self._numbers[begin:end]
        for start, chunk in chunks:
            own = slice(*np.searchsorted(rows, [start, start + chunk.rows]).tolist())
            yield self._with(chunk, rows[own] - start, {n: x[own] for n, x in derived.items()})
        oldest = self._ticks[end:][:1] - self._fit.in_ticks(self._ticks)[1]
        kept = int(np.searchsorted(self._ticks, oldest[0])) if oldest.size else end
        self._ticks, self._numbers = self._ticks[kept:], self._numbers[kept:]
        self._values = {name: values[kept:] for name, values in self._values.items()}

    def _derived(self, windows: Windows, begin: int) -> dict[str, Floats]:
        """All derived quantities; those of the same source share one fit."""
        derived: dict[str, Floats] = {}
        for source in dict.fromkeys(name for name, _ in self._sources.values()):
            degrees = {n: degree for n, (name, degree) in self._sources.items() if name == source}
            values = self._values[source]
            fitted = self._fit.derivatives(self._ticks, values, windows, begin, [*degrees.values()])
            derived |= dict(zip(degrees, fitted, strict=True))
        return derived

    def _with(self, chunk: Chunk, rows: Integers, derived: Mapping[str, Floats]) -> Chunk:
        """The chunk with derivatives in these rows, NaN in the others."""
        columns = dict(chunk.columns)
        for name, values in derived.items():
            columns[name] = np.full((chunk.rows, values.shape[1]), np.nan)
            columns[name][rows] = values
        mask: Mask | None = None
        if self._tolerant:
            mask = without_numbers(columns.values())
            mask |= False if chunk.gaps is None else chunk.gaps
        return replace(chunk, columns=columns, gaps=mask)

    def _too_few(
        self, windows: Windows, begin: int, chunks: Sequence[tuple[int, Chunk]]
    ) -> RobolinError:
        """The error for the first row without enough neighbours."""
        at = int(np.argmin(windows.enough))
        low, high = int(windows.first[at]), int(windows.last[at])
        row = int(self._numbers[begin + at])
        start, chunk = next(each for each in chunks if row < each[0] + each[1].rows)
        ticks, plan, fit = self._ticks, self._plan, self._fit
        lasts = float(ticks[high] - ticks[low]) * fit.tick
        message = (
            f"{pluralize(len(np.unique(ticks[low : high + 1])), 'time stamp')} over {lasts:.4g} s "
            f"are too few for a derivative: polynomials of order {plan.order} require "
            f"{fit.fewest} time stamps over {plan.width / 2:.6g} s in every window of "
            f"{plan.width:.6g} s"
        )
        hint = "skip such rows with --on-bad-row nan"
        if (wider := (WINDOW - 1) * self._median_step()) > plan.width:
            hint = f"use a wider window, such as --differentiate savgol:{wider:.3g}; {hint}"
        return RobolinError(message, where=chunk.location(row - start), hint=hint)

    def _is_short(self) -> bool:
        """Return whether a whole recording is too short for any window."""
        return not self._fit.windows(self._ticks, 0, len(self._ticks)).enough.any()

    def _too_short(self) -> RobolinError:
        lasts = float(self._ticks[-1] - self._ticks[0]) * self._fit.tick
        message = (
            f"{pluralize(len(self._ticks), 'row')} over {lasts:.4g} s are too few for derivatives "
            f"of order {self._plan.order} in windows of {self._plan.width:.6g} s"
        )
        hint, width = "provide more rows", (WINDOW - 1) * self._median_step()
        if len(self._ticks) >= WINDOW and NARROWEST <= width <= WIDEST:
            hint = f"use --differentiate savgol:{width:.3g}, or provide more rows"
        return RobolinError(message, where=self._file, hint=hint)

    def _median_step(self) -> float:
        """Median of the time steps in memory in s, 0 without any."""
        steps = np.diff(self._ticks)
        return float(np.median(steps[steps > 0])) * self._fit.tick if (steps > 0).any() else 0.0

    def _too_wide(self) -> RobolinError:
        message = f"a window of {self._plan.width:.6g} s has more than {_MOST_IN_WINDOW} rows"
        hint = "use a narrower window; the number in --differentiate savgol:SECONDS is in s"
        return RobolinError(message, where=self._file, hint=hint)


def central_derivatives(
    chunk: Chunk, sources: Mapping[str, tuple[str, int]], unit: str | None, file: str
) -> dict[str, Floats]:
    """Central differences of second order for any spacing of all rows of a file."""
    seconds = increasing_seconds(chunk.time, unit, file)
    _require_rows(len(seconds), 3, file)
    derived = {}
    for name, (source, degree) in sources.items():
        values = chunk.columns[source]
        for _ in range(degree):
            values = np.gradient(values, seconds, axis=0, edge_order=2)
        derived[name] = values
    return derived


def derivative_sources(
    quantities: Iterable[str], derived: Sequence[str]
) -> dict[str, tuple[str, int]]:
    """The quantity that each derivative is computed from, and how often it is differentiated.

    Accelerations are the derivative of velocities if the file has them, else the second
    derivative of positions.
    """
    sources = {"qd": ("q", 1), "qdd": ("qd", 1) if "qd" in quantities else ("q", 2)}
    return {name: sources[name] for name in derived}


def _require_rows(rows: int, fewest: int, file: str) -> None:
    if rows < fewest:
        message = f"derivatives require at least {fewest} rows, got {rows}"
        raise RobolinError(message, where=file, hint=f"provide at least {fewest} rows")


class JumpCheck:
    """Rejects angles that jump by more than half a rotation, which have no useful derivative."""

    def __init__(self, joints: Sequence[str], turning: Sequence[bool]) -> None:
        self._joints, self._slides = joints, [not turns for turns in turning]
        self._last: Floats | None = None

    def check(self, chunk: Chunk) -> Chunk:
        """Return the chunk if no angle jumps within it or after the chunk before."""
        q = chunk.columns["q"]
        rows = q if self._last is None else np.concatenate([self._last, q])
        jumps = np.abs(np.diff(rows, axis=0)) > np.pi
        jumps[:, self._slides] = False
        if jumps.any():
            row, joint = (int(i) for i in np.argwhere(jumps)[0])
            message = (
                f"joint '{self._joints[joint]}' jumps from {rows[row, joint]:.4g} to "
                f"{rows[row + 1, joint]:.4g} rad, which is more than half a revolution"
            )
            hint = "unwrap the angles at ±pi: numpy.unwrap(angles)"
            number = row + 1 - (len(rows) - len(q))
            raise RobolinError(message, where=chunk.location(number), hint=hint)
        self._last = q[-1:]
        return chunk
