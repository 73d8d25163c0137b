"""Tolerances of stored numbers, and the largest difference per entry of every array."""

from __future__ import annotations

import math
from cmath import isnan
from collections.abc import Mapping
from dataclasses import field
from math import inf, isfinite
from sys import float_info
from typing import Any

import numpy as np

from robolin.core.arrays import Floats, Mask, Numbers, kind_of, require_real
from robolin.core.choices import base_verb
from robolin.core.natural_scales import ROUNDING, NaturalScales
from robolin.core.records import dataclass
from robolin.errors import UsageError
from robolin.io.provenance import ArrayMeta
from robolin.queries.verbs import VERBS

# key for all arrays without a tolerance of their own
ALL = "*"


@dataclass(frozen=True)
class Tolerance:
    """|computed - stored| <= atol + rtol |stored|; both 0 require equality.

    The bars are absolute values; complex numbers use the modulus.
    """

    rtol: float = 0.0
    atol: float = 0.0

    def __post_init__(self) -> None:
        for name in ("rtol", "atol"):
            value = getattr(self, name)
            require_real(**{name: value})
            if not (math.isfinite(value) and value >= 0.0):
                raise UsageError(f"must be finite and >= 0, got {value}", where=name)

    @property
    def exact(self) -> bool:
        return self.rtol == 0.0 and self.atol == 0.0

    def plain(self) -> dict[str, float]:
        return {"rtol": self.rtol, "atol": self.atol}


EXACT = Tolerance()


@dataclass(frozen=True)
class Tolerances:
    """Tolerances by array, and a default for all other arrays."""

    by_name: Mapping[str, Tolerance]

    def of(self, array: str) -> Tolerance:
        return self.by_name.get(array) or self.by_name.get(ALL, EXACT)

    @property
    def exact(self) -> bool:
        """True if every array has to be equal."""
        return all(tolerance.exact for tolerance in self.by_name.values())

    def plain(self) -> dict[str, dict[str, float]]:
        return {name: tolerance.plain() for name, tolerance in self.by_name.items()}


def uniform_tolerances(rtol: float | None, atol: float | None) -> Tolerances | None:
    """One tolerance for every array; None without numbers."""
    if rtol is None and atol is None:
        return None
    return Tolerances({ALL: Tolerance(rtol or 0.0, atol or 0.0)})


def tolerances_in(stored: Mapping[str, Mapping[str, float]]) -> Tolerances:
    """Tolerances stored with a result."""
    return Tolerances(
        {
            name: Tolerance(each.get("rtol", 0.0), each.get("atol", 0.0))
            for name, each in stored.items()
        }
    )


# round-off grows with the tens of additions in a sum over a robot
_ROUNDINGS = 64.0

LIBRARY_NOTE = (
    "the last digits depend on the linear-algebra library and the machine; set tolerances, for "
    "example --rtol 1e-9 --atol 1e-9"
)

# arrays whose algorithm has changed, see FORMER_ALGORITHMS
FORMER_ARRAYS = ("mass_matrix_inverse",)

# residuals by verb: the array, and the entry of the contract that reports it
_REMAINDERS = {"lqr": ("residual", "Riccati equation")}
# residuals are relative to the largest term: a solved equation is far below this
_SOLVED = 1e-10


def rounding_of(scale: float) -> float:
    """Round-off to expect in sums of numbers of this size."""
    return _ROUNDINGS * float_info.epsilon * scale


def tolerance_of(verb: str, array: str, tolerances: Tolerances) -> Tolerance:
    """Tolerance of an array; residuals get an absolute tolerance."""
    tolerance = tolerances.of(array)
    remains = (
        array == _REMAINDERS.get(base_verb(verb), ("",))[0] and array not in tolerances.by_name
    )
    if not remains or tolerance.exact:
        return tolerance
    return Tolerance(tolerance.rtol, max(tolerance.atol, _SOLVED))


def remainder_lines(verb: str) -> tuple[str, ...]:
    """Contract entries that contain only round-off."""
    return _REMAINDERS.get(base_verb(verb), ())[1:]


def from_a_library(verb: str, options: Mapping[str, Any], model: Mapping[str, Any] | None) -> bool:
    """True if NumPy or SciPy linear algebra contributes to a result.

    Closed loops, adaptive steps and ranks use it; everything else is robolin's own arithmetic,
    which is bit-identical on all machines.
    """
    closed = bool((model or {}).get("loops")) and not options.get("open-loops")
    known = VERBS.get(base_verb(verb))
    # computed with SciPy by earlier versions
    fitted = options.get("differentiate") == "savgol"
    return closed or fitted or (known is not None and known.uses_lapack(options))


_FEWEST, _MOST = 5, 17


def distinguishing_digits(old: float | complex, new: float | complex) -> tuple[str, str]:
    """Both numbers with the fewest digits, five at least, that distinguish them."""
    if isinstance(old, int) and isinstance(new, int):
        return str(old), str(new)
    for digits in range(_FEWEST, _MOST + 1):
        texts = f"{old:.{digits}g}", f"{new:.{digits}g}"
        if texts[0] != texts[1]:
            # one more digit shows the size of the difference
            digits = min(digits + 1, _MOST) if digits > _FEWEST else digits
            return f"{old:.{digits}g}", f"{new:.{digits}g}"
    return f"{old:.{_FEWEST}g}", f"{new:.{_FEWEST}g}"


def percent(share: float) -> str:
    """A fraction in per cent, with two digits or as an integer."""
    if not isfinite(share):
        return "not finite"
    hundredths = 100.0 * share
    return f"{hundredths:{'.2g' if abs(hundredths) < 99.5 else '.0f'}} %"


@dataclass(frozen=True)
class Difference:
    """One entry of an array, in the row that exceeds its tolerance most.

    stored, found: int or complex if the array holds such numbers
    row:    counted from 1, None for a single state; the first row if all rows agree
    rows:   number of rows that exceed the tolerance
    weight: the difference divided by the largest number of the array, used for sorting
    rounding: no row differs by more than the round-off of the largest number of the array,
        or both numbers are round-off of zero
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
        """Difference divided by the stored number."""
        gap = _gap(self.stored, self.found)
        if gap == 0.0:
            return 0.0
        return gap / abs(self.stored) if self.stored and isfinite(gap) else inf

    @property
    def values(self) -> tuple[str, str]:
        return distinguishing_digits(self.stored, self.found)

    @property
    def change(self) -> str:
        """Difference in per cent of the stored number, or absolute if that is 0."""
        if self.stored == 0.0 or isnan(self.stored) or isnan(self.found):
            return f"by {_gap(self.stored, self.found):.2g}"
        return percent(self.relative)

    @property
    def allowed(self) -> str:
        """The tolerance, evaluated for this entry."""
        if self.tolerance.exact:
            return "nothing"
        if self.tolerance.atol == 0.0:
            return percent(self.tolerance.rtol)
        most = self.tolerance.atol + self.tolerance.rtol * abs(self.stored)
        return f"{most:.2g} {self.unit}"

    def __str__(self) -> str:
        stored, computed = self.values
        where = "" if self.row is None else f"row {self.row}, "
        more = f", in {self.rows} rows" if self.rows > 1 else ""
        return (
            f"{where}{self.entry}: {stored} → {computed} {self.unit}, {self.change}, "
            f"allowed {self.allowed}{more}"
        )


@dataclass(frozen=True)
class Noise:
    """Size of round-off in a result, by unit.

    Attributes:
        largest: the rounding error of the largest number of the whole result
        scales: natural scales of the robot, so that numbers of a small robot are not round-off
    """

    largest: float
    scales: NaturalScales

    def of_unit(self, unit: str) -> float:
        """Return the size below which numbers of a unit are round-off."""
        natural = ROUNDING * self.scales.of_unit(unit)
        return min(self.largest, natural) if natural else self.largest


@dataclass
class ArrayDiff:
    """Worst row of each entry of one array, updated while rows are compared."""

    entry: ArrayMeta
    tolerance: Tolerance
    units: list[str]
    scale: float = 0.0
    excess: Floats = field(init=False)
    row: Floats = field(init=False)
    stored: Numbers = field(init=False)
    computed: Numbers = field(init=False)
    rows: Floats = field(init=False)
    # over the rows that exceed the tolerance: largest difference and largest magnitude
    gap: Floats = field(init=False)
    size: Floats = field(init=False)

    def __post_init__(self) -> None:
        size = len(self.entry.entry_names())
        self.excess = np.full(size, -inf)
        self.row, self.stored, self.computed, self.rows = (np.zeros(size) for _ in range(4))
        self.gap, self.size = np.zeros(size), np.zeros(size)

    def add(self, stored: Numbers, computed: Numbers, first: int) -> None:
        """Compare some rows; `first` is the row number of the first one."""
        size = len(self.excess)
        stored, computed = _counted(stored, computed)
        # integers stay integers if both are; a real array compared with a complex one is complex
        common = np.result_type(kind_of(stored).dtype, kind_of(computed).dtype)
        if common == np.float32:
            common = np.dtype(np.float64)
        stored, computed = (
            np.ascontiguousarray(values, dtype=common).reshape(-1, size)
            for values in (stored, computed)
        )
        if first == 1 and len(stored):
            # used for all rows until one differs
            self.row[:], self.stored, self.computed = 1, stored[0].copy(), computed[0].copy()
        self.scale = max(self.scale, _largest(stored))
        # fast path: usually nothing has changed
        if not np.array_equal(stored.view(np.uint64), computed.view(np.uint64)):
            self._compare_values(stored, computed, first)

    def _compare_values(self, stored: Numbers, computed: Numbers, first: int) -> None:
        with np.errstate(invalid="ignore", over="ignore"):
            gap = _gaps(stored, computed)
            excess = gap - (self.tolerance.atol + self.tolerance.rtol * np.abs(stored))
        # NaN and infinity are close only to themselves
        excess[np.isnan(excess)] = inf
        excess[(stored == computed) | (np.isnan(stored) & np.isnan(computed))] = -inf
        beyond = excess > 0.0
        self.rows += beyond.sum(axis=0)
        self.gap = np.maximum(self.gap, _worst(gap, beyond))
        for values in (stored, computed):
            self.size = np.maximum(self.size, _worst(np.abs(values), beyond))

        rows = excess.argmax(axis=0)
        columns = np.arange(len(rows))
        worst = excess[rows, columns]
        worse = worst > self.excess
        self.excess[worse] = worst[worse]
        self.row[worse] = rows[worse] + first
        self.stored[worse] = stored[rows, columns][worse]
        self.computed[worse] = computed[rows, columns][worse]

    def differences(self, batch: bool, noise: Noise) -> list[Difference]:
        """All entries, including those without a difference.

        noise: round-off of the result by unit
        """
        names = enumerate(self.entry.entry_names())
        return [self._difference(i, name, batch, noise) for i, name in names]

    def _difference(self, i: int, name: str, batch: bool, noise: Noise) -> Difference:
        stored, computed = self.stored[i].item(), self.computed[i].item()
        gap = _gap(stored, computed)
        return Difference(
            array=self.entry.name,
            entry=name,
            unit=self.units[i],
            row=int(self.row[i]) if batch else None,
            stored=stored,
            found=computed,
            tolerance=self.tolerance,
            rows=int(self.rows[i]),
            weight=inf if isnan(gap) else gap / (self.scale or 1.0),
            rounding=self._is_rounding(i, noise),
        )

    def _is_rounding(self, i: int, noise: Noise) -> bool:
        """True if an entry differs by round-off only; time stamps and integers have none."""
        if self.entry.name == "time" or self.stored.dtype.kind == "i":
            return False
        small = self.size[i] < noise.of_unit(self.units[i])
        return bool(small or self.gap[i] <= rounding_of(self.scale))


def _largest(values: Numbers) -> float:
    """Largest absolute value among the finite numbers."""
    sizes = np.abs(values)
    largest = float(np.fmax.reduce(sizes, axis=None, initial=0.0))
    return largest if isfinite(largest) else float(sizes[np.isfinite(sizes)].max(initial=0.0))


def _worst(sizes: Floats, rows: Mask) -> Floats:
    """Largest value of each column over the selected rows; NaN counts as infinite."""
    chosen = np.where(rows, np.where(np.isnan(sizes), inf, sizes), 0.0)
    worst: Floats = chosen.max(axis=0, initial=0.0)
    return worst


def _counted(stored: Numbers, computed: Numbers) -> tuple[Numbers, Numbers]:
    """Time stamps as integers in a common unit; other arrays unchanged."""
    if stored.dtype.kind == computed.dtype.kind == "M":
        unit = np.result_type(stored, computed)
        return stored.astype(unit).view(np.int64), computed.astype(unit).view(np.int64)
    first, second = (
        each.view(np.int64) if each.dtype.kind == "M" else each for each in (stored, computed)
    )
    return first, second


def _gaps(stored: Numbers, computed: Numbers) -> Floats:
    """|computed - stored| of every entry, exact for integers."""
    if stored.dtype.kind != "i":
        gaps: Floats = np.abs(computed - stored)
        return gaps
    # a difference may need one bit more than the integers have
    apart = np.where(computed > stored, computed - stored, stored - computed)
    return apart.view(np.uint64).astype(np.float64)


def _gap(stored: float | complex, computed: float | complex) -> float:
    """Distance of two numbers; NaN has distance 0 from NaN."""
    same = stored == computed or (isnan(stored) and isnan(computed))
    return 0.0 if same else abs(computed - stored)
