"""Run an algorithm directly in Python, on any number type; detect singular pivots.

`DirectChain` stores values in lists and runs every loop in Python: floats for one state, NumPy
arrays for a small batch, complex numbers for derivatives, mpmath numbers as the reference.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from sys import maxsize
from types import SimpleNamespace
from typing import Any, cast

from robolin.core.arm import FAR_SLID
from robolin.core.records import dataclass
from robolin.dynamics.algebra.chain import TORQUE_INPUTS, Chain
from robolin.dynamics.algebra.scalar import Scalar, Vector
from robolin.dynamics.algebra.vectors import ZERO3, add, rotate, sub
from robolin.dynamics.algorithm import Shape
from robolin.engine.direct_storage import (
    DirectCell,
    DirectColumn,
    DirectGroups,
    DirectScalars,
    DirectSlots,
    DirectSums,
    DirectTable,
    Entries,
    EntryIndex,
    Reduce,
)
from robolin.engine.parameters import (
    FrameRow,
    LinkRow,
    LoadRow,
    Parameters,
    first_of_subtrees,
)
from robolin.errors import RobolinError

# D below this fraction of its size before cancellation is rounding, not inertia
NEGLIGIBLE_D = 1e-13


@dataclass(frozen=True)
class SingularPivot:
    """A joint without inertia, or a result that does not exist.

    rows:   the affected states of a batch, None for a single state
    result: name of the result that does not exist; '' for a joint
    alone:  False for a coordinate of a multi-DoF joint
    """

    joint: str
    value: Any
    negative: bool
    rows: Any = None
    result: str = ""
    alone: bool = True


def guard_pivot(floor: Any, value: Any, report: Callable[[Any, bool, Any], None]) -> Any:
    """Return the value, with NaN where it is not positive and above the floor.

    In that case call `report(value, negative, rows)` with the first such value, whether any is
    below -floor, and the affected rows.
    """
    if hasattr(value, "shape"):
        return _guard_rows(floor, value, report)
    real = value.real
    if real > 0.0 and real > floor:
        return value
    report(value, bool(real < -floor), None)
    return value * float("nan")


def _guard_rows(floor: Any, value: Any, report: Callable[[Any, bool, Any], None]) -> Any:
    import numpy as np

    bad = ~((value.real > 0.0) & (value.real > floor))
    if not bad.any():
        return value
    rows = np.nonzero(np.atleast_1d(bad))[0]
    worst = np.atleast_1d(value)[rows[0]]
    report(worst, bool((value.real < -floor).any()), rows)
    return np.where(bad, np.nan, value)


def no_inertia(pivot: SingularPivot, where: str = "") -> RobolinError:
    """Error for a joint without inertia: its D(k) is zero, negative or rounding."""
    if pivot.result:
        return _no_result(pivot, where)
    joint, D = pivot.joint, complex(pivot.value).real
    if pivot.negative:
        return RobolinError(
            f"joint '{joint}' has negative inertia D = {D:.3g}, so forward dynamics is undefined",
            where=where,
            hint="check the mass and inertia of the child links with robolin validate",
        )
    lock = f", or lock the joint (--lock {joint}=0)" if pivot.alone else ""
    return RobolinError(
        f"joint '{joint}' moves no inertia (D = {D:.3g}), so forward dynamics is undefined",
        where=where,
        hint=f"add mass and inertia to the child links, or add --armature {joint}=VALUE{lock}",
    )


def _no_result(pivot: SingularPivot, where: str) -> RobolinError:
    """Error for a result that does not exist although every joint has inertia."""
    value = complex(pivot.value).real
    return RobolinError(
        f"{pivot.result} does not exist in this state: the frame is at or near a singularity "
        f"(rank deficient, pivot {value:.3g})",
        where=where,
        hint="choose a pose away from the singularity, another frame, or the inverse alone: "
        "--operational-space-inverse (inverse_only=True)",
    )


class DirectChain:
    """Links 1 … n of one arm, in one state or a batch of states."""

    n: int
    base: int
    springs: bool
    group_rotors: bool
    one_sided_friction: bool
    groups: DirectGroups
    divides: bool

    def __init__(
        self,
        parameters: Parameters,
        inputs: Mapping[str, Sequence[Scalar]],
        number: Callable[[float], Scalar] = float,
        shapes: Mapping[str, Shape] | None = None,
    ) -> None:
        # a result without a shape has joints along every axis
        self._shapes = shapes or {}
        self._rows = parameters.links
        self._number, self._parameters, self._given = number, parameters, inputs
        self.n, self.base = parameters.n, parameters.n + 1
        self.groups = DirectGroups(parameters, number)
        self.far_threshold: float | None = FAR_SLID if parameters.travelling else None
        self.seat: int | None = parameters.seat or None
        self._parents = [0] + [row.parent for row in self._rows]
        leading = ((row.coordinate, k) for k, row in enumerate(self._rows, 1) if not row.is_mimic)
        self._leaders = dict(leading)
        self._all_lead = len(self._leaders) == self.n
        self._first = first_of_subtrees(self._parents)
        self.gravity: Vector = self._vector(parameters.gravity)
        velocities = {row.friction_velocity or parameters.friction_velocity for row in self._rows}
        self._velocities = {v: number(v) for v in velocities if v is not None}
        self.springs, self.group_rotors = parameters.springs, parameters.group_rotors
        self.one_sided_friction = parameters.one_sided_friction
        self.loads: tuple[Any, ...] = tuple(self._load(load) for load in parameters.loads)
        self.tip: Any = self._frame(parameters.tip)
        self.closures: tuple[SimpleNamespace, ...] = tuple(
            SimpleNamespace(
                row=closure.row,
                rigid=closure.rigid,
                first=self._frame(closure.first),
                second=self._frame(closure.second),
            )
            for closure in parameters.closures
        )
        self._placements = [self._placement(row) for row in self._rows]
        self._bodies = [self._body(row) for row in self._rows]
        self._results: dict[str, Entries] = {}
        self.shortfalls: list[SingularPivot] = []
        self.divides = False

    @property
    def results(self) -> dict[str, dict[EntryIndex, Scalar]]:
        """The numbers of every result by their index in public order."""
        return {name: self._by_public_index(name, each) for name, each in self._results.items()}

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

    def branch_of(self, k: int) -> Iterable[int]:
        *_, root = self.path_of(k)
        return self.subtree_of(root)

    def between(self, k: int, j: int) -> Iterable[int]:
        while (k := self._parents[k]) != j:
            yield k

    @property
    def origin(self) -> Vector:
        """Origin of the inertial frame, which moves with the translations of a floating base."""
        fixed, axes = self._vector(self._parameters.origin), self._parameters.roaming
        if axes is None:
            return fixed
        q = self.input("q")
        slides = tuple(q[self.n - i] for i in range(3))
        return add(fixed, rotate(self._vector(axes), slides))

    # the constants of link k

    def is_revolute(self, k: int) -> bool:
        return self._rows[k - 1].is_revolute

    def frame_travels(self, k: int) -> bool:
        return self._rows[k - 1].frame_travels

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

    def stiffness(self, k: int) -> Scalar:
        return self._number(self._rows[k - 1].stiffness)

    def rest(self, k: int) -> Scalar:
        return self._number(self._rows[k - 1].rest)

    def friction_velocity(self, k: int) -> Scalar | None:
        own = self._rows[k - 1].friction_velocity or self._parameters.friction_velocity
        return None if own is None else self._velocities[own]

    def friction_bias(self, k: int) -> Scalar:
        return self._number(self._rows[k - 1].friction_bias)

    # the state

    def input(self, name: str) -> DirectScalars:
        """Values for every link, computed from the independent joints by the mimic ratios."""
        values = self._given[name]
        if name in TORQUE_INPUTS:
            return self._efforts(values)
        independent = (values[self._parameters.order[row.coordinate - 1]] for row in self._rows)
        full = [
            value if row.ratio == 1.0 else value * self._number(row.ratio)
            for value, row in zip(independent, self._rows, strict=True)
        ]
        if name == "q":
            full = [
                value if row.mimic_offset == 0.0 else value + self._number(row.mimic_offset)
                for value, row in zip(full, self._rows, strict=True)
            ]
        return DirectScalars([None, *full, None])

    def _efforts(self, values: Sequence[Scalar]) -> DirectScalars:
        """Torques for every link; mimic joints have no motor and get zero."""
        full: list[Scalar] = [0.0] * (self.n + 2)
        for coordinate, k in self._leaders.items():
            full[k] = values[self._parameters.order[coordinate - 1]]
        return DirectScalars(full)

    # storage

    def slots(self, size: int) -> DirectSlots:
        return DirectSlots(self.n)

    def scalars(self) -> DirectScalars:
        return DirectScalars([None] * (self.n + 2))

    def zeros(self) -> DirectScalars:
        return DirectScalars([0.0] * (self.n + 2))

    def child_sums(self, size: int) -> DirectSums:
        return DirectSums(self._parents, size)

    def accumulator(self, values: Vector) -> DirectCell:
        return DirectCell(values)

    def column(self) -> DirectColumn:
        reduced = None if self._all_lead else self._reduced
        return DirectColumn(reduced, [(row.coordinate, row.ratio) for row in self._rows])

    def table(self) -> DirectTable:
        return DirectTable(None if self._all_lead else self._reduced)

    # independent coordinates

    def coordinates(
        self,
        *,
        start: int | None = None,
        after: int | None = None,
        before: int | None = None,
        through: int | None = None,
        step: int = 1,
    ) -> Iterable[int]:
        first = start or (after or 0) + 1
        beyond = before or (through or len(self._parameters.order)) + 1
        return range(first, beyond)[::step]

    def coordinates_by(self, count: int) -> Iterable[tuple[int, ...]]:
        last = len(self._parameters.order)
        return (tuple(range(j, min(j + count, last + 1))) for j in range(1, last + 1, count))

    def leader(self, j: int) -> int:
        return self._leaders[j]

    # results

    def guard_inertia(self, k: int, value: Scalar, size: Callable[[], Scalar]) -> Scalar:
        self.divides = True
        floor = NEGLIGIBLE_D * abs(cast(Any, size()))
        usable: Scalar = guard_pivot(floor, value, partial(self._add_singular_pivot, k=k))
        return usable

    def guard_rank(self, name: str, value: Scalar, least: Scalar) -> Scalar:
        floor = abs(cast(Any, least))
        usable: Scalar = guard_pivot(floor, value, partial(self._add_singular_pivot, result=name))
        return usable

    def _add_singular_pivot(
        self, value: Any, negative: bool, rows: Any, k: int = 0, result: str = ""
    ) -> None:
        """Record a singular pivot of joint k, or of a result if k is 0."""
        joint, alone = "", True
        if k:
            row = self._rows[k - 1]
            joint, alone = row.name, (row.joint_body, row.joint_parent) == (k, row.parent)
        self.shortfalls.append(SingularPivot(joint, value, negative, rows, result, alone))

    def out(self, name: str, index: tuple[int, ...], value: Scalar) -> None:
        self.result(name).put(index, value)

    def result(self, name: str) -> Entries:
        entries = self._results.get(name)
        if entries is None:
            reduced = partial(self._reduced, shape=self._shapes.get(name))
            entries = self._results[name] = self._entries(None if self._all_lead else reduced)
        return entries

    def _entries(self, reduced: Reduce | None) -> Entries:
        """Storage for the entries of a result."""
        return Entries(reduced)

    def _by_public_index(self, name: str, entries: Entries) -> dict[EntryIndex, Scalar]:
        """Convert the indices of a result to public order."""
        if not entries.by_index:
            return {}
        axes = self._shapes.get(name) or ("joint",) * len(next(iter(entries.by_index)))
        order, n = self._parameters.order, self.n
        # public index of 0 (unused), 1, 2, … along each kind of axis
        known: dict[Any, Sequence[int]] = {"joint": (0, *order), "link": range(n, -1, -1)}
        orders = [known.get(axis, range(maxsize)) for axis in axes]
        return {
            tuple([along[i] for along, i in zip(orders, index, strict=True)]): value
            for index, value in entries.by_index.items()
        }

    def _reduced(
        self, index: tuple[int, ...], value: Scalar, shape: Shape | None = None
    ) -> tuple[tuple[int, ...], Scalar]:
        """Convert link numbers to coordinates and scale the value by the mimic ratios."""
        reduced = []
        for axis, k in zip(shape or ("joint",) * len(index), index, strict=True):
            ratio = self._rows[k - 1].ratio if axis == "joint" else 1.0
            if ratio != 1.0:
                value = value * self._number(ratio)
            reduced.append(self._rows[k - 1].coordinate if axis == "joint" else k)
        return tuple(reduced), value

    # the arm's constants, converted to the number type of the algorithm

    def _vector(self, values: Iterable[float]) -> Vector:
        return tuple(map(self._number, values))

    def _placement(self, row: LinkRow) -> tuple[Vector, Vector]:
        return self._vector(row.rotation), self._vector(row.offset)

    def _body(self, row: LinkRow) -> tuple[Scalar, Vector, Vector]:
        return self._number(row.mass), self._vector(row.com), self._vector(row.rotary)

    def _frame(self, frame: FrameRow) -> Any:
        return SimpleNamespace(
            link=frame.link, axes=self._vector(frame.axes), point=self._vector(frame.point)
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


# checked by mypy
_IS_A_CHAIN: type[Chain] = DirectChain
