"""Torques compared per joint: measured ones with those of the model, and two models."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike

from robolin.analysis.limits import plain_time, times_of
from robolin.api.inverse_and_forward import inverse
from robolin.core.arm import Arm
from robolin.core.arrays import (
    Floats,
    JointValues,
    Numbers,
    joint_arrays,
    require_arm,
    require_same_rows,
)
from robolin.core.notebook import DisplayMixin
from robolin.core.quantity_table import joint_unit
from robolin.core.records import dataclass
from robolin.core.text import pluralize
from robolin.errors import RobolinError

# smallest normal number: products below it lose digits
_SMALLEST = float(np.finfo(float).tiny)


@dataclass(frozen=True)
class JointResidual:
    """Residual of one joint: measured minus model.

    measured:    RMS of the measured torque
    rms:         RMS of the residual
    bias:        mean of the residual
    largest:     residual with the largest size, with its sign
    row:         row of the largest residual, counted from 0
    time:        time of that row, if the rows have times: a number or a date text
    correlation: of the measured torque with that of the model; None if one of them is constant
    explained:   1 - var(residual) / var(measured); None if the measured torque is constant
    recording:   name of the recording with that row; None for a single recording
    """

    joint: str
    measured: float
    rms: float
    bias: float
    largest: float
    row: int
    time: float | str | None
    correlation: float | None
    explained: float | None
    unit: str
    recording: str | None = None


@dataclass(frozen=True, eq=False, repr=False)
class Residuals(DisplayMixin):
    """Residuals of every joint, measured minus model.

    Fields:
        joints: a `JointResidual` for every joint: joint, measured, rms, bias, largest, row, time,
            correlation, explained, unit; recording is None
        rows: number of rows compared; rows with NaN are skipped

    Example:
        >>> arm = robolin.load("two-link")
        >>> q = np.linspace(0.0, 1.0, 20)[:, None] * [1.0, -0.5]
        >>> result = robolin.residuals(arm, q, 0.0, 0.0, robolin.inverse(arm, q) + [0.0, 0.25])
        >>> [(each.joint, each.rms, each.bias, each.explained) for each in result.joints]
        [('shoulder', 0.0, 0.0, 1.0), ('elbow', 0.25, 0.25, 1.0)]
    """

    joints: tuple[JointResidual, ...]
    rows: int

    @property
    def verdict(self) -> str:
        """One sentence: the range of the explained variance over the joints."""
        rows = pluralize(self.rows, "row")
        shares = [
            (each.explained, each.joint) for each in self.joints if each.explained is not None
        ]
        if not shares:
            return f"measured efforts are constant in {rows}"
        (least, worst), (most, best) = min(shares), max(shares)
        variance = f"of the variance of the measured efforts in {rows}"
        if most <= 0.0:
            return (
                f"the model explains none {variance}; for a robot at rest, compare bias and "
                "measured RMS"
            )
        lowest = f"{100.0 * least:.1f} %" if least > 0.0 else "none"
        return f"the model explains {lowest} ({worst}) to {100.0 * most:.1f} % ({best}) {variance}"


# model assumptions that decide what a residual contains
_TERMS = ("damping", "friction", "armature", "payload", "gravity")


def model_terms(arm: Arm) -> str:
    """The terms that the model includes, from its assumptions."""
    known = [f"{name} {arm.contract[name]}" for name in _TERMS if name in arm.contract]
    return f"model: {'; '.join(known)}"


def residuals(
    arm: Arm,
    q: JointValues,
    qd: JointValues,
    qdd: JointValues,
    tau: JointValues,
    *,
    time: ArrayLike | None = None,
) -> Residuals:
    """Compare measured torques with inverse dynamics, as `robolin inverse --residual` does.

    `row` in the result is the index into the flattened leading axes.

    Args:
        arm: the arm, from `robolin.load`; the model includes its damping, friction and armature
        q: positions (..., n) in rad or m, in the order of `arm.joint_names`
        qd: velocities (..., n) in rad/s or m/s
        qdd: accelerations (..., n) in rad/s² or m/s²
        tau: measured torques (..., n) in N·m, or forces in N
        time: (...) in s, the shape of q without its last axis; None if the rows have no times

    Returns:
        a `Residuals`: RMS, bias, largest residual, correlation and explained share of every joint

    Raises:
        RobolinError: shapes that do not match, or no row without NaN
        UsageError: `arm` is not an `Arm`

    Example:
        >>> arm = robolin.load("two-link")
        >>> result = robolin.residuals(arm, np.zeros((3, 2)), 0.0, 0.0, [[1.0, 2.0]] * 3)
        >>> result.rows, result.joints[0].explained is None
        (3, True)
    """
    require_arm(arm)
    named = {"q": q, "qd": qd, "qdd": qdd, "tau": tau}
    require_same_rows(named, vectors={"time": time})
    arrays = np.broadcast_arrays(*joint_arrays(arm, named).values())
    positions, velocities, accelerations, measured = (each.reshape(-1, arm.n) for each in arrays)
    times = None if time is None else times_of(time)
    if times is not None and len(times) != len(measured):
        raise RobolinError(f"time: must have one value per row ({len(measured)}), got {len(times)}")
    sums = ResidualSums(arm)
    sums.add(measured, inverse(arm, positions, velocities, accelerations), times)
    return sums.result()


class ResidualSums:
    """Sums over the rows so far, updated with blocks of rows.

    Rows are added one after the other, and numbers relative to the first row, so the bits do not
    depend on the size of the blocks.
    """

    def __init__(self, arm: Arm) -> None:
        self._names = arm.joint_names
        self._units = [joint_unit("effort", joint.turns) for joint in arm.joints]
        self._all_rows = self._rows = 0
        self._first = np.zeros((3, arm.n))
        # residual², measured², and residual, measured, model and their products, shifted
        self._sums = np.zeros(9 * arm.n)
        self._largest, self._at = np.zeros(arm.n), np.zeros(arm.n, np.int64)
        self._times: list[float | str | None] = [None] * arm.n
        # of the current recording, and of the largest residuals
        self._recording: str | None = None
        self._recordings: list[str | None] = [None] * arm.n

    def start(self, recording: str) -> None:
        """The rows that follow are of this recording, and counted from its first row."""
        if recording != self._recording:
            self._recording, self._all_rows = recording, 0

    def add(self, measured: Floats, model: Floats, time: Numbers | None = None) -> None:
        """Add rows (rows, n); rows with NaN are ignored."""
        rows_added = len(measured)
        fine = np.flatnonzero(np.isfinite(measured).all(axis=1) & np.isfinite(model).all(axis=1))
        measured, model = measured[fine], model[fine]
        with np.errstate(over="ignore"):
            residual = measured - model
        if len(fine):
            if not self._rows:
                self._first = np.stack([residual[0], measured[0], model[0]])
            # an overflow is reported with its joint after the last row
            with np.errstate(over="ignore", invalid="ignore"):
                shifted = zip((residual, measured, model), self._first, strict=True)
                e, m, p = (values - first for values, first in shifted)
                squares = (residual * residual, measured * measured)
                terms = [*squares, e, m, p, e * e, m * m, p * p, m * p]
                rows = np.concatenate([self._sums[None], np.concatenate(terms, axis=1)])
                self._sums = np.cumsum(rows, axis=0)[-1]
            self._keep_largest(residual, self._all_rows + fine, time, fine)
        self._rows += len(fine)
        self._all_rows += rows_added

    def _keep_largest(
        self, residual: Floats, rows: Numbers, time: Numbers | None, fine: Numbers
    ) -> None:
        at = np.abs(residual).argmax(axis=0)
        for joint, i in enumerate(at.tolist()):
            value = float(residual[i, joint])
            if abs(value) > abs(self._largest[joint]) or not self._rows:
                self._largest[joint], self._at[joint] = value, rows[i]
                self._recordings[joint] = self._recording
                self._times[joint] = None if time is None else plain_time(time[fine[i]])

    def result(self) -> Residuals:
        """The residuals of all rows; an error if no row has numbers."""
        if not self._rows:
            raise RobolinError("no row has both measured and computed torques")
        rows = self._rows
        self._require_finite()
        squares, sizes, e, m, p, ee, mm, pp, mp = self._sums.reshape(9, -1) / rows
        spread, of_measured, of_model = ee - e * e, mm - m * m, pp - p * p
        joints = []
        for i, joint in enumerate(self._names):
            varies = of_measured[i] > 0.0
            both = varies and of_model[i] > 0.0
            joints.append(
                JointResidual(
                    joint,
                    float(np.sqrt(sizes[i])),
                    float(np.sqrt(squares[i])),
                    float(self._first[0, i] + e[i]),
                    float(self._largest[i]),
                    int(self._at[i]),
                    self._times[i],
                    _correlation(mp[i] - m[i] * p[i], of_measured[i], of_model[i])
                    if both
                    else None,
                    _explained(spread[i], of_measured[i]) if varies else None,
                    self._units[i],
                    self._recordings[i],
                )
            )
        return Residuals(tuple(joints), rows)

    def _require_finite(self) -> None:
        """Reject torques whose squares overflow."""
        finite = np.isfinite(self._sums.reshape(9, -1)).all(axis=0)
        if not finite.all():
            joint = int(np.flatnonzero(~finite)[0])
            raise RobolinError(
                f"joint '{self._names[joint]}': the squares of the torques overflow; the "
                f"largest residual is {self._largest[joint]:.4g} {self._units[joint]}",
                hint="check the unit and the decimal points of the effort columns",
            )


def _correlation(covariance: float, first: float, second: float) -> float:
    """Correlation coefficient; variances whose product is out of range are scaled first."""
    with np.errstate(over="ignore", under="ignore"):
        product = first * second
    if not _SMALLEST <= product < np.inf:
        return float(covariance / np.sqrt(first) / np.sqrt(second))
    return float(covariance / np.sqrt(product))


def _explained(spread: float, of_measured: float) -> float | None:
    """Fraction of the measured variance that the model explains; None if that is 0 or too small."""
    with np.errstate(over="ignore"):
        share = float(1.0 - spread / of_measured)
    return share if np.isfinite(share) else None


@dataclass(frozen=True)
class TorqueChange:
    """Largest change of a joint's torque between two arms.

    row:   the row of the motion with the largest change, counted from 0
    old:   the torque there on the first arm
    new:   the torque there on the second arm
    peak:  largest absolute torque of the first arm along the motion
    unit:  N·m, or N for prismatic joints
    """

    joint: str
    row: int
    old: float
    new: float
    peak: float
    unit: str

    @property
    def change(self) -> float:
        return self.new - self.old

    @property
    def share(self) -> float | None:
        """The change as a fraction of the largest torque; None if that is 0."""
        return self.change / self.peak if self.peak else None


def torque_changes(
    old: Arm, new: Arm, q: Floats, qd: Floats, qdd: Floats
) -> tuple[TorqueChange, ...]:
    """Largest change of torque of every joint along a motion of shape (rows, n).

    Both arms have the same joints, in any order; the motion uses the order of the first.
    """
    _require_same_joints(old, new)
    order = [old.joint_names.index(name) for name in new.joint_names]
    before = np.atleast_2d(inverse(old, q, qd, qdd))
    after = np.empty_like(before)
    after[:, order] = inverse(new, q[:, order], qd[:, order], qdd[:, order])
    return tuple(_changes(old, before, after))


def _changes(arm: Arm, before: Floats, after: Floats) -> Iterator[TorqueChange]:
    for i, joint in enumerate(arm.joints):
        row = int(np.argmax(np.abs(after[:, i] - before[:, i])))
        yield TorqueChange(
            joint.name,
            row,
            float(before[row, i]),
            float(after[row, i]),
            float(np.abs(before[:, i]).max()),
            joint_unit("effort", joint.turns),
        )


def _require_same_joints(old: Arm, new: Arm) -> None:
    odd = sorted(set(old.joint_names) ^ set(new.joint_names))
    if odd:
        owner = old.name if odd[0] in old.joint_names else new.name
        raise RobolinError(
            f"the robots have different joints: '{odd[0]}' is only in '{owner}'",
            where="--torques",
            hint="compare robots with the same joint names",
        )
