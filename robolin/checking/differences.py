"""Numbers beside stored numbers: for every entry of every array, the row where it is worst."""

from __future__ import annotations

from cmath import isnan
from dataclasses import dataclass, field
from math import inf, isfinite

import numpy as np

from robolin.checking.tolerance import Tolerance, distinguishing_digits, percent, rounding_of
from robolin.core.arrays import Floats, Mask, Numbers
from robolin.core.results.number_kind import kind_of
from robolin.io.provenance_reader import ArrayMeta


@dataclass(frozen=True)
class Difference:
    """One entry of an array, in the row where it is furthest beyond what is allowed.

    stored, found: int or complex where the array holds such numbers
    row:    counted from 1, None where there is one state; the first where all rows agree
    rows:   how many rows are beyond what is allowed
    weight: the gap as a share of the largest number of the array, to order them by
    rounding: whether no row differs by more than the rounding error of numbers as large as the
        largest of the array, or both numbers are rounding errors of zero
    """

    array: str
    entry: str
    unit: str
    row: int | None
    stored: float | complex
    found: float | complex
    tolerance: Tolerance
    rows: int
    weight: float
    rounding: bool = False

    @property
    def beyond(self) -> bool:
        return self.rows > 0

    @property
    def relative(self) -> float:
        """The gap as a share of the stored number."""
        gap = _gap(self.stored, self.found)
        if gap == 0.0:
            return 0.0
        return gap / abs(self.stored) if self.stored and isfinite(gap) else inf

    @property
    def values(self) -> tuple[str, str]:
        return distinguishing_digits(self.stored, self.found)

    @property
    def change(self) -> str:
        """The gap in per cent of the stored number, or by itself where that is 0."""
        if self.stored == 0.0 or isnan(self.stored) or isnan(self.found):
            return f"by {_gap(self.stored, self.found):.2g}"
        return percent(self.relative)

    @property
    def allowed(self) -> str:
        """What the tolerance comes to here."""
        if self.tolerance.exact:
            return "nothing"
        if self.tolerance.atol == 0.0:
            return percent(self.tolerance.rtol)
        most = self.tolerance.atol + self.tolerance.rtol * abs(self.stored)
        return f"{most:.2g} {self.unit}"

    def __str__(self) -> str:
        stored, found = self.values
        where = "" if self.row is None else f"row {self.row}, "
        more = f", {self.rows} rows like it" if self.rows > 1 else ""
        return (
            f"{where}{self.entry}: {stored} → {found} {self.unit}, {self.change}, "
            f"allowed {self.allowed}{more}"
        )


@dataclass
class ArrayDiff:
    """The worst row of each entry of one array, as rows are compared."""

    entry: ArrayMeta
    tolerance: Tolerance
    units: list[str]
    scale: float = 0.0
    excess: Floats = field(init=False)
    row: Floats = field(init=False)
    stored: Numbers = field(init=False)
    found: Numbers = field(init=False)
    rows: Floats = field(init=False)
    # of the rows beyond what is allowed: the largest gap, and the largest of both numbers
    gap: Floats = field(init=False)
    size: Floats = field(init=False)

    def __post_init__(self) -> None:
        size = len(self.entry.entry_names())
        self.excess = np.full(size, -inf)
        self.row, self.stored, self.found, self.rows = (np.zeros(size) for _ in range(4))
        self.gap, self.size = np.zeros(size), np.zeros(size)

    def add(self, stored: Numbers, found: Numbers, first: int) -> None:
        """Compare some rows; `first` is the number of the first of them."""
        size = len(self.excess)
        stored, found = _counted(stored, found)
        # whole numbers stay so if both are; a real one beside a complex one is complex
        common = np.result_type(kind_of(stored).dtype, kind_of(found).dtype)
        stored, found = (
            np.ascontiguousarray(values, dtype=common).reshape(-1, size)
            for values in (stored, found)
        )
        if first == 1 and len(stored):
            # stands for all rows until one differs
            self.row[:], self.stored, self.found = 1, stored[0].copy(), found[0].copy()
        self.scale = max(self.scale, _largest(stored))
        # nearly always everything is as it was
        if not np.array_equal(stored.view(np.uint64), found.view(np.uint64)):
            self._compare_values(stored, found, first)

    def _compare_values(self, stored: Numbers, found: Numbers, first: int) -> None:
        with np.errstate(invalid="ignore", over="ignore"):
            gap = _gaps(stored, found)
            excess = gap - (self.tolerance.atol + self.tolerance.rtol * np.abs(stored))
        # what is missing, or infinite, is close to nothing but itself
        excess[np.isnan(excess)] = inf
        excess[(stored == found) | (np.isnan(stored) & np.isnan(found))] = -inf
        beyond = excess > 0.0
        self.rows += beyond.sum(axis=0)
        self.gap = np.maximum(self.gap, _worst(gap, beyond))
        for values in (stored, found):
            self.size = np.maximum(self.size, _worst(np.abs(values), beyond))

        rows = excess.argmax(axis=0)
        columns = np.arange(len(rows))
        worst = excess[rows, columns]
        worse = worst > self.excess
        self.excess[worse] = worst[worse]
        self.row[worse] = rows[worse] + first
        self.stored[worse] = stored[rows, columns][worse]
        self.found[worse] = found[rows, columns][worse]

    def differences(self, batch: bool, noise: float) -> list[Difference]:
        """Every entry, also those that never differed.

        noise: the rounding error of the largest number of the whole result
        """
        names = enumerate(self.entry.entry_names())
        return [self._difference(i, name, batch, noise) for i, name in names]

    def _difference(self, i: int, name: str, batch: bool, noise: float) -> Difference:
        stored, found = self.stored[i].item(), self.found[i].item()
        gap = _gap(stored, found)
        return Difference(
            array=self.entry.name,
            entry=name,
            unit=self.units[i],
            row=int(self.row[i]) if batch else None,
            stored=stored,
            found=found,
            tolerance=self.tolerance,
            rows=int(self.rows[i]),
            weight=inf if isnan(gap) else gap / (self.scale or 1.0),
            rounding=self._is_rounding(i, noise),
        )

    def _is_rounding(self, i: int, noise: float) -> bool:
        """Whether an entry differs by rounding only; times and whole numbers are not rounded."""
        if self.entry.name == "time" or self.stored.dtype.kind == "i":
            return False
        return bool(self.size[i] < noise or self.gap[i] <= rounding_of(self.scale))


def _largest(values: Numbers) -> float:
    """The largest modulus of the numbers that are finite."""
    sizes = np.abs(values)
    largest = float(np.fmax.reduce(sizes, axis=None, initial=0.0))
    return largest if isfinite(largest) else float(sizes[np.isfinite(sizes)].max(initial=0.0))


def _worst(sizes: Floats, rows: Mask) -> Floats:
    """The largest number of each column among some of its rows; NaN counts as infinite."""
    chosen = np.where(rows, np.where(np.isnan(sizes), inf, sizes), 0.0)
    worst: Floats = chosen.max(axis=0, initial=0.0)
    return worst


def _counted(stored: Numbers, found: Numbers) -> tuple[Numbers, Numbers]:
    """Moments as the whole numbers they count, in one unit; others as they are."""
    if stored.dtype.kind == found.dtype.kind == "M":
        unit = np.result_type(stored, found)
        return stored.astype(unit).view(np.int64), found.astype(unit).view(np.int64)
    first, second = (
        each.view(np.int64) if each.dtype.kind == "M" else each for each in (stored, found)
    )
    return first, second


def _gaps(stored: Numbers, found: Numbers) -> Floats:
    """|found - stored| of every entry, exact where numbers are whole."""
    if stored.dtype.kind != "i":
        gaps: Floats = np.abs(found - stored)
        return gaps
    # a difference may need a bit more than the numbers have
    apart = np.where(found > stored, found - stored, stored - found)
    return apart.view(np.uint64).astype(np.float64)


def _gap(stored: float | complex, found: float | complex) -> float:
    """How far apart two numbers are; NaN, which stands for no answer, is not far from itself."""
    same = stored == found or (isnan(stored) and isnan(found))
    return 0.0 if same else abs(found - stored)
