"""Rows of the regression: columns of all parameters for smoothed rows, compressed block by block.

The columns are those of `robolin.regressor`, and for every joint

    friction  tanh(q̇ / v₀), with a v₀ of its own, smoothed as the torques are
    offset    1

Columns are compressed to the triangular factor of all weighted rows.  Blocks are computed again
for every pass unless all of them fit into memory; the smoothed rows are in a `RowStore`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from typing import NamedTuple

import numpy as np

from robolin.analysis.identification import regressor
from robolin.analysis.identify.deviations import BlockSums
from robolin.analysis.identify.recording import FilterKernel, RowStore, SmoothRows, filter_kernel
from robolin.core.arm import Arm
from robolin.core.arm_parameters import OF_LINK, OF_SPRING, parameters
from robolin.core.arrays import Floats, Mask
from robolin.core.records import dataclass

_ROWS_AT_ONCE = 1024
# numbers of all blocks that are kept in memory instead of computed again
MOST_NUMBERS = 1 << 23
# blocks whose filters are kept
_MOST_KERNELS = 32
# speed in rad/s or m/s above which a joint moves; at rest it shows stiction, not the model
MOVING_SPEED = 0.03
# passes over all rows of a fit: two per round of weights, and the last compression
_PASSES = 5
PAYLOAD = "payload"
# relative size of columns that are zero but for rounding
_ROUNDING = 1e-12


@dataclass(frozen=True, eq=False)
class ParameterList:
    """The parameters that are identified, in the order of the columns.

    names:   of links and joints as in `robolin.regressor`, then friction and offset of every
             joint, then those of a payload
    values:  of the robot file
    columns: columns of the regressor that belong to the first names
    joints:  number of joints
    carrier: index of the first parameter of the link that carries the payload, None without one
    """

    names: tuple[str, ...]
    values: Floats
    columns: tuple[int, ...]
    joints: int
    carrier: int | None = None

    @property
    def friction(self) -> slice:
        """The columns of Coulomb friction, one per joint."""
        return slice(len(self.columns), len(self.columns) + self.joints)

    @property
    def offsets(self) -> slice:
        """The columns of constant torques, one per joint."""
        return slice(self.friction.stop, self.friction.stop + self.joints)

    def of(self, *kinds: str) -> list[int]:
        """Indices of all parameters of these kinds, such as 'damping'."""
        return [i for i, name in enumerate(self.names) if name.rpartition("/")[2] in kinds]

    @property
    def bodies(self) -> list[int]:
        """Index of the first parameter of every link, the payload last."""
        return self.of(OF_LINK[0])


def parameter_list(arm: Arm, carrier: str | None = None) -> ParameterList:
    """All parameters of links and joints, then friction and offsets, then those of a payload.

    carrier: the moving link with the payload
    """
    listed = parameters(without_friction(arm))
    fitted = [i for i, p in enumerate(listed) if p.name not in OF_SPRING]
    applied = arm.friction_velocity is not None
    coulomb = [float(np.mean(joint.friction_sides)) if applied else 0.0 for joint in arm.joints]
    names = [listed[i].label for i in fitted]
    extra = [f"{name}/{kind}" for kind in ("friction", "offset") for name in arm.joint_names]
    load = [] if carrier is None else [f"{PAYLOAD}/{name}" for name in OF_LINK]
    values = [*(listed[i].value for i in fitted), *coulomb, *(0.0 for _ in arm.joints)]
    return ParameterList(
        names=(*names, *extra, *load),
        values=np.array([*values, *(0.0 for _ in load)]),
        columns=tuple(fitted),
        joints=arm.n,
        carrier=None if carrier is None else names.index(f"{carrier}/{OF_LINK[0]}"),
    )


def without_friction(arm: Arm) -> Arm:
    """The arm without Coulomb friction, whose columns are added here."""
    return replace(arm, friction_velocity=None)


def without_known_torques(arm: Arm, rows: SmoothRows) -> SmoothRows:
    """The rows without torques that no parameter changes: of springs and external wrenches."""
    if not (arm.has_springs or arm.wrenches):
        return rows
    listed = parameters(arm)
    springs = [i for i, p in enumerate(listed) if p.name in OF_SPRING]
    values = np.array([listed[i].value for i in springs])
    linear = regressor(arm, rows.q, rows.qd, rows.qdd)
    return rows._replace(tau=rows.tau - linear.offset - linear.matrix[..., springs] @ values)


class Sizes(NamedTuple):
    """Sums of squares over rows, each (n,), and the largest speeds (n,)."""

    tau: Floats
    qd: Floats
    qdd: Floats
    fastest: Floats

    @property
    def moves(self) -> Mask:
        """Which joints (n,) move."""
        return np.asarray(self.fastest > MOVING_SPEED)


@dataclass(eq=False)
class DesignRows:
    """All rows of a fit or of a test.

    width: of the filter that smoothed the torques in s; None for rows as they are
    known: columns (rows, n) of Coulomb friction by velocity, for rows without their neighbours
    """

    arm: Arm
    listed: ParameterList
    width: float | None = None
    known: Mapping[float, Floats] | None = None
    # receives the completed fraction of the passes of a fit, of which there are `_PASSES`
    advanced: Callable[[float], None] | None = None
    _blocks: int = 0
    _kept: list[Floats] = field(default_factory=list)
    _kernels: dict[int, FilterKernel] = field(default_factory=dict)

    def __post_init__(self) -> None:
        n = self.arm.n
        self._store = RowStore(2 + 4 * n)
        self.sizes: Sizes = Sizes(*np.zeros((4, n)))

    @property
    def count(self) -> int:
        return self._store.rows

    def append(self, rows: SmoothRows) -> None:
        """Add rows, in order of time."""
        self._store.append(*rows)
        tau, qd, qdd, fastest = self.sizes
        squares = (np.sum(each**2, axis=0) for each in (rows.tau, rows.qd, rows.qdd))
        tau, qd, qdd = (a + b for a, b in zip((tau, qd, qdd), squares, strict=True))
        fastest = np.maximum(fastest, np.abs(rows.qd).max(axis=0, initial=0.0))
        self.sizes = Sizes(tau, qd, qdd, fastest)

    def extend(self, other: DesignRows, parts: Sequence[slice]) -> None:
        """Add rows of another recording, at times after those of all rows so far."""
        start, shift = 0.0, None
        if self.count:
            start = float(np.ceil(self.rows(slice(self.count - 1, self.count)).time[0])) + 10.0
        for part in parts:
            for first in range(part.start, part.stop, _ROWS_AT_ONCE):
                rows = other.rows(slice(first, min(first + _ROWS_AT_ONCE, part.stop)))
                shift = float(rows.time[0]) if shift is None else shift
                self.append(rows._replace(time=rows.time - shift + start))

    def close(self) -> None:
        """Remove the rows."""
        self._store.close()

    def rms(self, sums: Floats) -> Floats:
        """Root mean square (n,) of sums of squares."""
        return np.asarray(np.sqrt(sums / max(self.count, 1)))

    def rows(self, part: slice) -> SmoothRows:
        """Some of the rows."""
        return self._rows(self._store.read(part.start, part.stop))

    def _rows(self, table: Floats) -> SmoothRows:
        n = self.arm.n
        q, qd, qdd, tau = (table[:, 1 + i * n : 1 + (i + 1) * n] for i in range(4))
        return SmoothRows(table[:, 0], q, qd, qdd, tau, table[:, -1])

    def spread(self, most: int) -> SmoothRows:
        """At most this many rows, evenly spread."""
        stride = max(1, -(-self.count // most))
        parts = [self._of_stride(self.rows(part), part.start, stride) for part in self.parts()]
        return SmoothRows(*(np.concatenate(each) for each in zip(*parts, strict=True)))

    def _of_stride(self, rows: SmoothRows, start: int, stride: int) -> SmoothRows:
        return rows.part(slice(-start % stride, None, stride))

    def sample(self, velocities: Sequence[float]) -> DesignRows:
        """The rows, or evenly spread ones if their columns would need too much memory.

        velocities: friction velocities of which a sample knows the columns
        """
        stride = -(-self.count * len(self.listed.names) * self.arm.n // MOST_NUMBERS)
        if stride <= 1:
            return self
        known: dict[float, list[Floats]] = {v: [] for v in velocities}
        chosen = DesignRows(self.arm, self.listed, self.width)
        for part in self.parts():
            chosen.append(self._of_stride(self.rows(part), part.start, stride))
            friction = self._smoothed_friction(part, slice(-part.start % stride, None, stride))
            for v, columns in known.items():
                columns.append(friction(np.full(self.arm.n, v)))
        chosen.known = {v: np.concatenate(columns) for v, columns in known.items()}
        return chosen

    def blocks(self, v0: Floats) -> Iterator[tuple[SmoothRows, Floats]]:
        """Rows and their columns (rows, n, p), with these friction velocities (n,)."""
        keep = self.count * len(self.listed.names) * self.arm.n <= MOST_NUMBERS
        joints = np.arange(self.arm.n)
        for number, part in enumerate(self.parts()):
            rows, known = self.rows(part), number < len(self._kept)
            columns = self._kept[number] if known else self._columns(rows)
            if keep and not known:
                self._kept.append(columns)
            columns[:, joints, self.listed.friction.start + joints] = self.friction(part, v0)
            if self.advanced is not None:
                self._blocks += 1
                total = _PASSES * -(-self.count // _ROWS_AT_ONCE)
                self.advanced(min(1.0, self._blocks / total))
            yield rows, columns

    def parts(self) -> Iterator[slice]:
        """Row numbers of all blocks."""
        for start in range(0, self.count, _ROWS_AT_ONCE):
            yield slice(start, min(start + _ROWS_AT_ONCE, self.count))

    def all_friction(self, v0: Floats) -> Floats:
        """Columns (rows, n) of Coulomb friction of all rows."""
        return np.concatenate([self.friction(part, v0) for part in self.parts()])

    def friction(self, part: slice, v0: Floats) -> Floats:
        """Columns (rows, n) of Coulomb friction.

        Where a joint turns, the filter smooths the friction in the torques; without the same
        filter here, friction would be too small and damping too large.
        """
        if self.known is not None:
            columns = [self.known[float(v)][part, j] for j, v in enumerate(v0)]
            return np.stack(columns, axis=1)
        return self._smoothed_friction(part, slice(None))(v0)

    def _smoothed_friction(self, part: slice, chosen: slice) -> Callable[[Floats], Floats]:
        """Columns (m, n), as functions of friction velocities (n,), of chosen rows of a part."""
        if self.width is None:
            speeds = self.rows(part).qd[chosen]
            return lambda v0: np.asarray(np.tanh(speeds / v0))
        table, before = self._store.around(part.start, part.stop, self.width, (0, self.count))
        kernel, qd = self._kernels.get(part.start), self._rows(table).qd
        if kernel is None or chosen != slice(None):
            at = table[before : before + part.stop - part.start, 0][chosen]
            kernel = filter_kernel(table[:, 0], at, self.width)
        if chosen == slice(None) and self.count <= _MOST_KERNELS * _ROWS_AT_ONCE:
            self._kernels[part.start] = kernel
        return lambda v0: kernel.smoothed(np.tanh(qd / v0))

    def _columns(self, rows: SmoothRows) -> Floats:
        listed = self.listed
        linear = regressor(without_friction(self.arm), rows.q, rows.qd, rows.qdd)
        columns = np.zeros((*linear.matrix.shape[:2], len(listed.names)))
        columns[..., : len(listed.columns)] = linear.matrix[..., listed.columns]
        columns[..., listed.offsets] = np.eye(self.arm.n)
        if listed.carrier is not None:
            body = columns[..., listed.carrier : listed.carrier + 10]
            columns[..., -10:] = body * rows.loaded[:, None, None]
        return columns

    def predicted(self, x: Floats, v0: Floats) -> Floats:
        """Torques (rows, n) of parameters x."""
        return np.concatenate([columns @ x for _, columns in self.blocks(v0)])

    def compressed(
        self, v0: Floats, weigh: Callable[[Floats, Floats], Floats], sums: BlockSums | None = None
    ) -> Floats:
        """Triangular factor (p + 1, p + 1) of the weighted rows, with the torques last.

        weigh: weights (rows, n) from columns and torques of a block
        sums: takes the sums of all blocks of time
        """
        size = len(self.listed.names) + 1
        factors = [np.zeros((0, size))] * self.arm.n
        for rows, columns in self.blocks(v0):
            stacked = np.concatenate([columns, rows.tau[..., None]], axis=-1)
            stacked *= weigh(columns, rows.tau)[..., None]
            if sums is not None:
                sums.add(rows.time, stacked[..., :-1], stacked[..., -1])
            factors = [_triangular(factor, stacked[:, j]) for j, factor in enumerate(factors)]
        factor, square = _triangular(*factors), np.zeros((size, size))
        square[: len(factor)] = factor
        return square


def _triangular(*tables: Floats) -> Floats:
    """Factor (k, p) of all rows of tables (rows, p), triangular in the columns that are not zero.

    Columns of zeros take no time: the torques of a joint depend on links that the joint moves.
    """
    rows = np.concatenate(tables)
    used = rows.any(axis=0)
    factor = np.linalg.qr(rows[:, used], mode="r")
    triangular = np.zeros((len(factor), rows.shape[1]))
    triangular[:, used] = factor
    return triangular


def column_sizes(table: Floats) -> Floats:
    """Norms (p,) of columns (rows, p); infinite for columns that are zero but for rounding.

    Divided by a tiny norm, a column of round-off errors would look informative.
    """
    sizes = np.linalg.norm(table, axis=0)
    return np.where(sizes > _ROUNDING * sizes.max(initial=0.0), sizes, np.inf)
