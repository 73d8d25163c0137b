"""Running an algorithm as it stands, on whatever numbers it is given.

`DirectChain` keeps slots in lists and runs every loop in Python: floats for one state, NumPy
arrays for a small batch, complex numbers for derivatives, mpmath numbers for the truth.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

from robolin.algebra.axes import Shape
from robolin.algebra.scalar import Scalar, Vector
from robolin.algebra.vectors import ZERO3, add, rotate, sub
from robolin.engine.parameters import LinkRow, LoadRow, Parameters, PlaceRow

# D below this share of its uncancelled size is rounding, not inertia
NEGLIGIBLE = 1e-13

Algorithm = Callable[[Any], None]


class Slots:
    """One vector per link, written before it is read."""

    def __init__(self, count: int) -> None:
        self._values: list[Vector] = [()] * (count + 2)

    def __getitem__(self, k: int) -> Vector:
        return self._values[k]

    def __setitem__(self, k: int, values: Vector) -> None:
        self._values[k] = values


class Scalars:
    """One number per link."""

    def __init__(self, values: list[Scalar]) -> None:
        self._values = values

    def __getitem__(self, k: int) -> Scalar:
        return self._values[k]

    def __setitem__(self, k: int, value: Scalar) -> None:
        self._values[k] = value


class Sums:
    """What has been handed inboard to each link so far; the base takes nothing."""

    def __init__(self, parents: Sequence[int], size: int) -> None:
        self._parents = parents
        # adding to -0.0 changes no number at all, not even a zero's sign
        self._values: list[Vector] = [(-0.0,) * size] * (len(parents) + 1)

    def __getitem__(self, k: int) -> Vector:
        return self._values[k]

    def hand_inboard(self, k: int, values: Vector) -> None:
        parent = self._parents[k]
        if parent < len(self._parents):
            so_far = self._values[parent]
            self._values[parent] = tuple(a + b for a, b in zip(so_far, values, strict=True))


class Table:
    """One number per pair of coordinates; zero where nothing was put."""

    def __init__(self) -> None:
        self._values: dict[tuple[int, int], Scalar] = {}

    def __getitem__(self, pair: tuple[int, int]) -> Scalar:
        return self._values.get(pair, 0.0)

    def __setitem__(self, pair: tuple[int, int], value: Scalar) -> None:
        self._values[pair] = value

    def gather(self, pair: tuple[int, int], value: Scalar) -> None:
        """Add to what several links share; the first to come is simply kept."""
        so_far = self._values.get(pair)
        self._values[pair] = value if so_far is None else so_far + value


@dataclass
class Cell:
    value: Vector


@dataclass(frozen=True)
class Shortfall:
    """A joint whose inertia vanished; `rows` says in which states of a batch, None for one.

    result: what does not exist in this state, where it is no joint's fault
    alone:  whether the joint is all there is, not one of several freedoms of another
    """

    joint: str
    value: Any
    negative: bool
    rows: Any = None
    result: str = ""
    alone: bool = True


class DirectChain:
    """Links 1 … n of one arm, in one state or a batch of states."""

    def __init__(
        self,
        parameters: Parameters,
        given: Mapping[str, Sequence[Scalar]],
        number: Callable[[float], Scalar] = float,
        shapes: Mapping[str, Shape] | None = None,
    ) -> None:
        # a result that is not spoken of has joints along every axis
        self._shapes = shapes or {}
        self._rows = parameters.links
        self._number, self._parameters, self._given = number, parameters, given
        self.n, self.base, self.grouped = parameters.n, parameters.n + 1, parameters.grouped
        self._parents = [0] + [row.parent for row in self._rows]
        leading = ((row.coordinate, k) for k, row in enumerate(self._rows, 1) if not row.follows)
        self._leaders = dict(leading)
        self._first = first_of_subtrees(self._parents)
        self.gravity = self._vector(parameters.gravity)
        velocity = parameters.friction_velocity
        self.friction_velocity = None if velocity is None else number(velocity)
        self.loads = tuple(self._load(load) for load in parameters.loads)
        self.tip = self._place(parameters.tip)
        self.closures = tuple(
            SimpleNamespace(
                row=closure.row,
                rigid=closure.rigid,
                first=self._place(closure.first),
                second=self._place(closure.second),
            )
            for closure in parameters.closures
        )
        self._placements = [self._placement(row) for row in self._rows]
        self._bodies = [self._body(row) for row in self._rows]
        self._tables: dict[str, Table] = {}
        self.results: dict[str, dict[tuple[int, ...], Scalar]] = {}
        self.shortfalls: list[Shortfall] = []

    # the order of the links

    def base_to_tip(self) -> Iterable[int]:
        return range(self.n, 0, -1)

    def tip_to_base(self) -> Iterable[int]:
        return range(1, self.n + 1)

    def inboard(self, k: int) -> int:
        return self._parents[k]

    def inboard_of(self, k: int) -> Iterable[int]:
        while (k := self._parents[k]) != self.base:
            yield k

    def inboard_pairs(self) -> Iterable[tuple[int, int]]:
        return ((k, j) for k in self.tip_to_base() for j in self.inboard_of(k))

    def outboard_of(self, k: int) -> Iterable[int]:
        return range(k - 1, self._first[k] - 1, -1)

    def path_of(self, k: int) -> Iterable[int]:
        while k != self.base:
            yield k
            k = self._parents[k]

    def subtree_of(self, k: int) -> Iterable[int]:
        return range(k, self._first[k] - 1, -1)

    def between(self, k: int, j: int) -> Iterable[int]:
        while (k := self._parents[k]) != j:
            yield k

    # joints with several freedoms

    def outermost(self, k: int) -> int:
        return self._rows[k - 1].outermost

    def carrier(self, k: int) -> int:
        return self._rows[k - 1].carrier

    def partners_outboard_of(self, k: int) -> Iterable[int]:
        return range(k - 1, self.outermost(k) - 1, -1)

    def partnered(self) -> Iterable[int]:
        return (k for k in self.tip_to_base() if self.outermost(k) != k)

    def direction(self, k: int) -> Vector:
        return self._vector(self._rows[k - 1].direction)

    def rests(self, k: int) -> bool:
        return self._rows[k - 1].rests

    @property
    def origin(self) -> Vector:
        """Where the inertial frame is, gone along with the slides of the joint on the base."""
        fixed, ways = self._vector(self._parameters.origin), self._parameters.roaming
        if ways is None:
            return fixed
        q = self.given("q")
        slides = tuple(q[self.n - i] for i in range(3))
        return add(fixed, rotate(self._vector(ways), slides))

    # the constants of link k

    def turns(self, k: int) -> bool:
        return self._rows[k - 1].turns

    def placement(self, k: int) -> tuple[Vector, Vector]:
        return self._placements[k - 1]

    def body(self, k: int) -> tuple[Scalar, Vector, Vector]:
        return self._bodies[k - 1]

    def armature(self, k: int) -> Scalar:
        return self._number(self._rows[k - 1].armature)

    def damping(self, k: int) -> Scalar:
        return self._number(self._rows[k - 1].damping)

    def friction(self, k: int) -> Scalar:
        return self._number(self._rows[k - 1].friction)

    # the state

    def given(self, name: str) -> Scalars:
        """Values of the independent joints, carried over to every link that follows them."""
        values = self._given[name]
        if name in ("tau", "dtau"):
            return self._efforts(values)
        placed = (values[self._parameters.order[row.coordinate - 1]] for row in self._rows)
        full = [
            value if row.ratio == 1.0 else value * self._number(row.ratio)
            for value, row in zip(placed, self._rows, strict=True)
        ]
        if name == "q":
            full = [
                value if row.shift == 0.0 else value + self._number(row.shift)
                for value, row in zip(full, self._rows, strict=True)
            ]
        return Scalars([None, *full, None])

    def _efforts(self, values: Sequence[Scalar]) -> Scalars:
        """A torque acts on the leading joint; a joint that mimics has no motor of its own."""
        full: list[Scalar] = [0.0] * (self.n + 2)
        for coordinate, k in self._leaders.items():
            full[k] = values[self._parameters.order[coordinate - 1]]
        return Scalars(full)

    # storage

    def slots(self, size: int) -> Slots:
        return Slots(self.n)

    def scalars(self) -> Scalars:
        return Scalars([None] * (self.n + 2))

    def sums(self, size: int) -> Sums:
        return Sums(self._parents, size)

    def cell(self, values: Vector) -> Cell:
        return Cell(values)

    # independent coordinates

    def coordinates(self) -> Iterable[int]:
        return range(1, len(self._parameters.order) + 1)

    def coordinates_in_fours(self) -> Iterable[tuple[int, ...]]:
        last = len(self._parameters.order)
        return (tuple(range(j, min(j + 4, last + 1))) for j in range(1, last + 1, 4))

    def leader(self, j: int) -> int:
        return self._leaders[j]

    def coordinates_back(self) -> Iterable[int]:
        return range(len(self._parameters.order), 0, -1)

    def coordinates_before(self, j: int) -> Iterable[int]:
        return range(1, j)

    def coordinates_after(self, j: int) -> Iterable[int]:
        return range(j + 1, len(self._parameters.order) + 1)

    def coordinates_from(self, j: int) -> Iterable[int]:
        return range(j, len(self._parameters.order) + 1)

    def coordinates_back_to(self, j: int) -> Iterable[int]:
        return range(len(self._parameters.order), j - 1, -1)

    def coordinates_between(self, j: int, r: int) -> Iterable[int]:
        return range(j + 1, r + 1)

    def hold(self, name: str, index: tuple[int, ...], value: Scalar) -> None:
        coordinate, value = self._reduced(index, value)
        self.held(name).gather((coordinate[0], coordinate[-1]), value)

    hold_more = hold

    def begin(self, *names: str) -> None:
        self._tables.update((name, Table()) for name in names)

    def held(self, name: str) -> Table:
        return self._tables[name]

    def held_column(self, name: str) -> Scalars:
        table = self.held(name)
        return Scalars([None, *(table[j, j] for j in self.coordinates()), None])

    def spread(self, column: Scalars) -> Scalars:
        full = [
            column[row.coordinate] if row.ratio == 1.0 else column[row.coordinate] * row.ratio
            for row in self._rows
        ]
        return Scalars([None, *full, None])

    # results

    def stage(self, name: str) -> None:
        pass

    def positive(self, k: int, value: Scalar, size: Callable[[], Scalar]) -> Scalar:
        return self._above(NEGLIGIBLE * abs(size()), value, k)

    def regular(self, name: str, value: Scalar, least: Scalar) -> Scalar:
        return self._above(abs(least), value, result=name)

    def _above(self, floor: Scalar, value: Scalar, k: int = 0, result: str = "") -> Scalar:
        if hasattr(value, "shape"):
            return self._rows_above(floor, value, k, result)
        real = value.real
        if real > 0.0 and real > floor:
            return value
        self._complain(value, bool(real < -floor), None, k, result)
        return value * float("nan")

    def _rows_above(self, floor: Scalar, value: Scalar, k: int, result: str) -> Scalar:
        import numpy as np

        bad = ~((value.real > 0.0) & (value.real > floor))
        if not bad.any():
            return value
        rows = np.nonzero(np.atleast_1d(bad))[0]
        worst = np.atleast_1d(value)[rows[0]]
        self._complain(worst, bool((value.real < -floor).any()), rows, k, result)
        return np.where(bad, np.nan, value)

    def _complain(self, value: Any, negative: bool, rows: Any, k: int, result: str) -> None:
        """Of joint k, or of a result where k is 0."""
        joint, alone = "", True
        if k:
            row = self._rows[k - 1]
            joint, alone = row.name, (row.outermost, row.carrier) == (k, row.parent)
        self.shortfalls.append(Shortfall(joint, value, negative, rows, result, alone))

    def out(self, name: str, index: tuple[int, ...], value: Scalar) -> None:
        coordinate, value = self._reduced(index, value, self._shapes.get(name))
        self.out_coordinate(name, coordinate, value)

    out_more = out

    def out_coordinate(self, name: str, index: tuple[int, ...], value: Scalar) -> None:
        axes = self._shapes.get(name) or ("joint",) * len(index)
        public = tuple(self._public(axis, i) for axis, i in zip(axes, index, strict=True))
        held = self.results.setdefault(name, {})
        held[public] = held[public] + value if public in held else value

    def _public(self, axis: str | int, i: int) -> int:
        """Where a coordinate, a link or an entry stands in a result."""
        if axis == "joint":
            return self._parameters.order[i - 1]
        return self.n - i if axis == "link" else i

    def _reduced(
        self, index: tuple[int, ...], value: Scalar, shape: Shape | None = None
    ) -> tuple[tuple[int, ...], Scalar]:
        """Links' numbers as coordinates', the value scaled by how strongly each link follows."""
        reduced = []
        for axis, k in zip(shape or ("joint",) * len(index), index, strict=True):
            ratio = self._rows[k - 1].ratio if axis == "joint" else 1.0
            if ratio != 1.0:
                value = value * self._number(ratio)
            reduced.append(self._rows[k - 1].coordinate if axis == "joint" else k)
        return tuple(reduced), value

    # the arm's constants as numbers of the kind the algorithm runs on

    def _vector(self, values: Iterable[float]) -> Vector:
        return tuple(self._number(x) for x in values)

    def _placement(self, row: LinkRow) -> tuple[Vector, Vector]:
        return self._vector(row.rotation), self._vector(row.offset)

    def _body(self, row: LinkRow) -> tuple[Scalar, Vector, Vector]:
        return self._number(row.mass), self._vector(row.com), self._vector(row.rotary)

    def _place(self, place: PlaceRow) -> Any:
        return SimpleNamespace(
            link=place.link, axes=self._vector(place.axes), point=self._vector(place.point)
        )

    def _load(self, load: LoadRow) -> Any:
        point = self._vector(load.point)
        if load.model == "world" and self._parameters.roaming:
            point = sub(ZERO3, self.origin)
        return SimpleNamespace(
            link=load.link,
            model=load.model,
            axes=self._vector(load.axes),
            point=point,
            force=self._vector(load.force),
            moment=self._vector(load.moment),
        )


def first_of_subtrees(parents: Sequence[int]) -> list[int]:
    """The lowest number among the links that each link carries; subtrees are contiguous."""
    first = list(range(len(parents)))
    for k in range(1, len(parents)):
        parent = parents[k]
        if parent < len(parents):
            first[parent] = min(first[parent], first[k])
    return first
