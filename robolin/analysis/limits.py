"""Margins of a motion to the joint limits: effort, velocity and position."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from robolin.core.arm import Arm, Link
from robolin.core.arrays import (
    Floats,
    JointValues,
    Numbers,
    joint_arrays,
    reject_tensor,
    require_arm,
    require_same_rows,
)
from robolin.core.notebook import DisplayMixin
from robolin.core.quantity_table import joint_unit
from robolin.core.records import dataclass
from robolin.errors import RobolinError

LimitedQuantity = Literal["position", "velocity", "effort"]
# a torque at its limit may exceed it by this fraction when it is computed again
_ROUND_OFF = 1e-12
LIMITED_QUANTITIES: tuple[LimitedQuantity, ...] = ("position", "velocity", "effort")


@dataclass(frozen=True)
class Margin:
    """Closest approach of one joint to a limit, or its largest violation.

    row:    row of the motion, counted from 0
    time:   time of the row, if the motion has times: a number (integer if times are) or a date text
    limit:  the lower or the upper limit, the one with the smaller share
    margin: distance to the limit, in the unit; negative beyond the limit
    share:  margin / |limit|; for positions, and ranges that exclude 0, margin / range;
            None if that divides by 0
    by_range: whether the range scales the share
    """

    joint: str
    quantity: LimitedQuantity
    row: int
    time: float | str | None
    value: float
    limit: float
    margin: float
    share: float | None
    unit: str
    by_range: bool = False

    @property
    def used(self) -> float | None:
        """Used part of the limit, 1 at the limit: |value| / |limit|; None without a scale.

        For positions, and ranges that exclude 0, the distance from the middle of the range divided
        by half of the range.
        """
        if self.share is None:
            return None
        return 1.0 - (2.0 if self.by_range else 1.0) * self.share

    @property
    def exceeded(self) -> bool:
        """True if the limit is exceeded by more than round-off."""
        return self.margin < -_ROUND_OFF * max(abs(self.limit), abs(self.value))


@dataclass(frozen=True, eq=False, repr=False)
class JointLimits(DisplayMixin):
    """Margins of every joint, and the quantities of joints without a limit.

    Fields:
        margins: a `Margin` for every joint and quantity with a limit: joint, quantity, row, time,
            value, limit, margin, share, unit
        unlimited: joint -> names of the quantities without a limit
        rows: number of rows of the motion

    Example:
        >>> arm = robolin.load("panda")
        >>> result = robolin.limits(arm, np.zeros(7))
        >>> result.rows, len(result.margins)
        (1, 21)
    """

    margins: tuple[Margin, ...]
    unlimited: Mapping[str, tuple[LimitedQuantity, ...]]
    rows: int

    @property
    def exceeded(self) -> tuple[Margin, ...]:
        """Margins of exceeded limits."""
        return tuple(margin for margin in self.margins if margin.exceeded)


def limits(
    arm: Arm,
    q: JointValues,
    qd: JointValues = 0.0,
    tau: JointValues = 0.0,
    *,
    time: ArrayLike | None = None,
) -> JointLimits:
    """Compare a motion with the joint limits in the robot file.

    `row` in the result is the index into the flattened leading axes.

    Args:
        arm: the arm, from `robolin.load`
        q: positions (..., n) in rad or m, in the order of `arm.joint_names`
        qd: velocities (..., n) in rad/s or m/s
        tau: torques (..., n) in N·m, or forces in N
        time: (...) in s, the shape of q without its last axis; None if the motion has no times

    Returns:
        a `JointLimits`: the smallest margin of every joint to each of its limits

    Raises:
        RobolinError: shapes that do not match
        UsageError: `arm` is not an `Arm`

    Example:
        >>> arm = robolin.load("panda")
        >>> poses = np.zeros((50, 7))
        >>> poses[:, 3] = np.linspace(-2.0, 0.0, 50)
        >>> result = robolin.limits(arm, poses)
        >>> [(m.joint, m.row, round(m.margin, 4), m.unit) for m in result.exceeded]
        [('panda_joint4', 49, -0.0698, 'rad')]
    """
    require_arm(arm)
    named = {"q": q, "qd": qd, "tau": tau}
    require_same_rows(named, vectors={"time": time})
    arrays = np.broadcast_arrays(*joint_arrays(arm, named).values())
    rows = [array.reshape(-1, arm.n) for array in arrays]
    times = None if time is None else times_of(time)
    if times is not None and len(times) != len(rows[0]):
        raise RobolinError(f"time: must have one value per row ({len(rows[0])}), got {len(times)}")
    approach = ClosestApproach(arm)
    positions, velocities, efforts = rows
    approach.add(positions, velocities, efforts, times)
    return approach.result()


@dataclass(frozen=True)
class _Bounds:
    """Limits of one quantity of one joint, and how its value depends on the mimicked joint."""

    joint: str
    quantity: LimitedQuantity
    coordinate: int
    lower: float
    upper: float
    ratio: float
    offset: float
    unit: str

    @property
    def scales(self) -> tuple[float, float]:
        """Distances that scale the margins to the lower and the upper limit.

        Efforts and velocities are 0 at rest: each limit is compared with its distance from 0.
        Positions have no such zero: both margins are scaled by the range.
        """
        if self.by_range:
            return self.upper - self.lower, self.upper - self.lower
        return abs(self.lower), abs(self.upper)

    @property
    def by_range(self) -> bool:
        """True if the range scales the margins."""
        no_zero = self.quantity == "position" or not self.lower < 0.0 < self.upper
        return no_zero and bool(np.isfinite(self.lower) and np.isfinite(self.upper))

    @property
    def weights(self) -> tuple[float, float]:
        """Divisors under which both margins compare: 1, or the scales if those differ."""
        lower, upper = self.scales
        comparable = np.isfinite(lower) and np.isfinite(upper) and lower != upper
        return (lower, upper) if comparable else (1.0, 1.0)


class ClosestApproach:
    """Closest approach to the limits so far, updated with blocks of rows."""

    def __init__(self, arm: Arm) -> None:
        self._bounds = [bounds for link in arm.links for bounds in _bounds(arm, link)]
        self._order = {name: i for i, name in enumerate(arm.joint_names)}
        self._unlimited = _unlimited(arm)
        # the closeness and the margin of each of the bounds
        self._closest: dict[int, tuple[float, Margin]] = {}
        self._rows = 0

    def add(self, q: Floats, qd: Floats, tau: Floats, time: Numbers | None = None) -> None:
        """Add rows (rows, n) of a motion; a row with NaN is ignored."""
        values = dict(zip(LIMITED_QUANTITIES, (q, qd, tau), strict=True))
        for i, bounds in enumerate(self._bounds):
            joint_values = (
                bounds.ratio * values[bounds.quantity][:, bounds.coordinate] + bounds.offset
            )
            lower, upper = bounds.weights
            closeness = np.minimum(
                (joint_values - bounds.lower) / lower, (bounds.upper - joint_values) / upper
            )
            row = int(np.argmin(np.where(np.isnan(closeness), np.inf, closeness)))
            least = float(closeness[row])
            if np.isfinite(least) and (i not in self._closest or least < self._closest[i][0]):
                self._closest[i] = least, self._margin(bounds, row, float(joint_values[row]), time)
        self._rows += len(q)

    def _margin(self, bounds: _Bounds, row: int, value: float, time: Numbers | None) -> Margin:
        below, above = value - bounds.lower, bounds.upper - value
        lower, upper = bounds.weights
        if below / lower < above / upper:
            limit, margin, scale = bounds.lower, below, bounds.scales[0]
        else:
            limit, margin, scale = bounds.upper, above, bounds.scales[1]
        return Margin(
            bounds.joint,
            bounds.quantity,
            self._rows + row,
            None if time is None else plain_time(time[row]),
            value,
            limit,
            margin,
            margin / scale if scale else None,
            bounds.unit,
            bounds.by_range,
        )

    def result(self) -> JointLimits:
        """Margins in the arm's order of joints, mimic joints last."""
        last = len(self._order)
        closest = (self._closest[i][1] for i in sorted(self._closest))
        margins = sorted(closest, key=lambda margin: self._order.get(margin.joint, last))
        return JointLimits(tuple(margins), self._unlimited, self._rows)


def _bounds(arm: Arm, link: Link) -> Iterator[_Bounds]:
    """Limits of a joint in the robot file; a mimic joint has no effort limit."""
    joint, mimic = link.joint, link.joint.mimic
    coordinate = arm.coordinates[arm.links_tip_to_base.index(link)]
    ratio, offset = (mimic.ratio, mimic.offset) if mimic else (1.0, 0.0)
    for quantity in LIMITED_QUANTITIES:
        lower, upper = _range(link, quantity)
        if np.isfinite(lower) or np.isfinite(upper):
            shift = offset if quantity == "position" else 0.0
            unit = joint_unit(quantity, joint.turns)
            yield _Bounds(joint.name, quantity, coordinate, lower, upper, ratio, shift, unit)


def _range(link: Link, quantity: LimitedQuantity) -> tuple[float, float]:
    joint, limit = link.joint, link.joint.limits
    if quantity == "position":
        if joint.kind == "continuous":
            return -np.inf, np.inf
        return (
            -np.inf if limit.lower is None else limit.lower,
            np.inf if limit.upper is None else limit.upper,
        )
    if quantity == "effort":
        return (-np.inf, np.inf) if joint.mimic else limit.effort_range
    return (-np.inf, np.inf) if limit.velocity is None else (-limit.velocity, limit.velocity)


def _unlimited(arm: Arm) -> dict[str, tuple[LimitedQuantity, ...]]:
    """Quantities without a limit, for joints that lack any."""
    by_name = {link.joint.name: link for link in arm.links}
    unlimited = {}
    for name in arm.joint_names:
        missing: Sequence[LimitedQuantity] = [
            quantity
            for quantity in LIMITED_QUANTITIES
            if not np.isfinite(_range(by_name[name], quantity)).any()
        ]
        if missing:
            unlimited[name] = tuple(missing)
    return unlimited


def times_of(time: ArrayLike) -> Numbers:
    """Times of rows, as numbers or dates."""
    reject_tensor("time", time)
    times = np.asarray(time).reshape(-1)
    if times.dtype.kind not in "iufM":
        raise RobolinError(f"time: must be numbers or dates, got {time!r}")
    return times


def plain_time(time: Any) -> float | str:
    """Convert a time to a plain number or text, exactly."""
    if time.dtype.kind == "M":
        return str(np.datetime_as_string(time))
    return int(time) if time.dtype.kind in "iu" else float(time)
