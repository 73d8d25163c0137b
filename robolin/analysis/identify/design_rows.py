"""Rows of the regression: columns of all parameters for smoothed rows, compressed block by block.

The columns are those of `robolin.regressor`, and for every joint

    friction  tanh(q̇ / v₀), with a v₀ of its own, smoothed as the torques are
    offset    1

Columns are compressed to the triangular factor of all weighted rows; blocks are computed again
for every pass unless all of them are small.  The smoothed rows themselves stay in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from robolin.analysis.identification import regressor
from robolin.analysis.identify.deviations import BlockSums
from robolin.analysis.identify.recording import FilterKernel, SmoothRows, filter_kernel
from robolin.core.arm import Arm
from robolin.core.arm_parameters import OF_LINK, OF_SPRING, parameters
from robolin.core.arrays import Floats

_ROWS_AT_ONCE = 1024
# numbers of all blocks that are kept in memory instead of computed again
_MOST_NUMBERS = 1 << 23
# passes over all rows of a fit: two per round of weights, and the last compression
_PASSES = 5
PAYLOAD = "payload"


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
    found = regressor(arm, rows.q, rows.qd, rows.qdd)
    return rows._replace(tau=rows.tau - found.offset - found.matrix[..., springs] @ values)


@dataclass(eq=False)
class DesignRows:
    """All rows of a fit or of a test.

    loaded: (rows,) true for rows with the payload
    width:  of the filter that smoothed the torques in s; None for rows as they are
    """

    arm: Arm
    listed: ParameterList
    rows: SmoothRows
    loaded: Floats | None = None
    width: float | None = None
    # receives the completed fraction of the passes of a fit, of which there are `_PASSES`
    advanced: Callable[[float], None] | None = None
    _blocks: int = 0
    _kept: list[Floats] = field(default_factory=list)
    _kernels: dict[int, FilterKernel] = field(default_factory=dict)

    @property
    def count(self) -> int:
        return len(self.rows.time)

    def blocks(self, v0: Floats) -> Iterator[tuple[slice, Floats]]:
        """Row numbers and columns (rows, n, p), with these friction velocities (n,)."""
        keep = self.count * len(self.listed.names) * self.arm.n <= _MOST_NUMBERS
        joints = np.arange(self.arm.n)
        for number, part in enumerate(self.parts()):
            known = number < len(self._kept)
            columns = self._kept[number] if known else self._columns(part)
            if keep and not known:
                self._kept.append(columns)
            columns[:, joints, self.listed.friction.start + joints] = self.friction(part, v0)
            if self.advanced is not None:
                self._blocks += 1
                total = _PASSES * -(-self.count // _ROWS_AT_ONCE)
                self.advanced(min(1.0, self._blocks / total))
            yield part, columns

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
        time, qd = self.rows.time, self.rows.qd
        if self.width is None:
            return np.asarray(np.tanh(qd[part] / v0))
        first = int(np.searchsorted(time, time[part.start] - self.width))
        last = int(np.searchsorted(time, time[part.stop - 1] + self.width, side="right"))
        if part.start not in self._kernels:
            self._kernels[part.start] = filter_kernel(time[first:last], time[part], self.width)
        return self._kernels[part.start].smoothed(np.tanh(qd[first:last] / v0))

    def _columns(self, part: slice) -> Floats:
        rows, listed = self.rows, self.listed
        found = regressor(without_friction(self.arm), rows.q[part], rows.qd[part], rows.qdd[part])
        columns = np.zeros((*found.matrix.shape[:2], len(listed.names)))
        columns[..., : len(listed.columns)] = found.matrix[..., listed.columns]
        columns[..., listed.offsets] = np.eye(self.arm.n)
        if listed.carrier is not None and self.loaded is not None:
            body = columns[..., listed.carrier : listed.carrier + 10]
            columns[..., -10:] = body * self.loaded[part, None, None]
        return columns

    def predicted(self, x: Floats, v0: Floats) -> Floats:
        """Torques (rows, n) of parameters x."""
        torques = np.empty((self.count, self.arm.n))
        for part, columns in self.blocks(v0):
            torques[part] = columns @ x
        return torques

    def compressed(
        self, v0: Floats, weights: Floats, torques: Floats, sums: BlockSums | None = None
    ) -> Floats:
        """Triangular factor (p + 1, p + 1) of the weighted rows, with the torques last.

        weights, torques: (rows, n)
        sums: takes the sums of all blocks of time
        """
        size = len(self.listed.names) + 1
        factor = np.zeros((0, size))
        for part, columns in self.blocks(v0):
            stacked = np.concatenate([columns, torques[part, :, None]], axis=-1)
            stacked *= weights[part, :, None]
            if sums is not None:
                sums.add(self.rows.time[part], stacked[..., :-1], stacked[..., -1])
            rows = np.concatenate([factor, stacked.reshape(-1, size)])
            factor = np.asarray(np.linalg.qr(rows, mode="r"))
        square = np.zeros((size, size))
        square[: len(factor)] = factor
        return square
