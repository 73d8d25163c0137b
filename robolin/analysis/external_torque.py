"""External torques of contacts and collisions: a momentum observer over the rows of a motion."""

from __future__ import annotations

from math import exp, sqrt

import numpy as np
from numpy.typing import ArrayLike

from robolin.analysis.limits import plain_time
from robolin.core.arm import Arm
from robolin.core.arrays import (
    Floats,
    JointValues,
    Mask,
    Numbers,
    joint_arrays,
    require_arm,
    require_same_rows,
    seconds_of,
)
from robolin.core.notebook import DisplayMixin
from robolin.core.quantity_table import joint_unit
from robolin.core.records import dataclass
from robolin.core.text import join_and, pluralize
from robolin.errors import RobolinError
from robolin.evaluation.constant_inputs import SETTLING_TIME, observer_gain, observer_inputs
from robolin.evaluation.evaluate import evaluate


class MomentumObserver:
    """Estimate external torques in a control loop, from q, q̇ and τ of every cycle.

    The generalized momentum 𝓜 q̇ changes with the torques of the model and the external torques.
    The observer needs no accelerations; its estimate r follows ṙ = K (τ_external - r). The estimate
    is causal, and bit-identical to the estimate of the C functions from `generate` with the same
    `dt` and `settling_time`.

    Args:
        arm: the arm, from `robolin.load`; the model includes its friction, payloads and wrenches
        dt: period of the loop in s
        settling_time: time in s after which the estimate of a constant torque has an error of 1 %:
            4.6 / K

    Fields:
        gain: K in 1/s
        state: (n,), None before the first row

    Raises:
        UsageError: `arm` is not an `Arm`, or a time that is not above 0

    Example:
        >>> arm = robolin.load("two-link")
        >>> observer = robolin.MomentumObserver(arm, dt=0.001)
        >>> q = np.array([0.3, -0.7])
        >>> hold, push = robolin.inverse(arm, q), np.array([2.0, -1.0])
        >>> for _ in range(101):
        ...     estimate = observer.update(q, np.zeros(2), hold - push)
        >>> estimate.round(2)
        array([ 1.98, -0.99])
    """

    gain: float

    def __init__(self, arm: Arm, dt: float, settling_time: float = SETTLING_TIME) -> None:
        require_arm(arm)
        self._arm, self.gain = arm, observer_gain(settling_time)
        self._inputs = observer_inputs(arm, dt, settling_time)
        self.state: Floats | None = None

    def update(self, q: JointValues, qd: JointValues, tau: JointValues) -> Floats:
        """Process one row, and return the estimate, which is 0 in the first row.

        Args:
            q: positions (n,) in rad or m
            qd: velocities (n,) in rad/s or m/s
            tau: measured torques (n,) in N·m or N

        Returns:
            the external torques (n,) in N·m or N

        Raises:
            RobolinError: an array with the wrong shape, or a value that is not finite

        Example:
            >>> observer = robolin.MomentumObserver(robolin.load("two-link"), dt=0.001)
            >>> observer.update([0.3, -0.7], [0.0, 0.0], [1.0, 0.0])
            array([0., 0.])
        """
        row = {"q": q, "qd": qd, "tau": tau, **self._inputs}
        if self.state is None:
            self.state = evaluate(self._arm, "momentum-observer-start", row)["observer"]
            return np.zeros(self._arm.n)
        values = evaluate(self._arm, "momentum-observer", {**row, "observer": self.state})
        self.state = values["observer_next"]
        return values["tau_external"]

    def reset(self) -> None:
        """Reset the observer to its state before the first row."""
        self.state = None


class ObserverRows:
    """The same observer for blocks of rows at any times.

    dt: the period in s, if the times of the rows are not used
    """

    repeated: int

    def __init__(self, arm: Arm, settling_time: float, dt: float | None = None) -> None:
        self._gain, self._dt = observer_gain(settling_time), dt
        self._last: tuple[Floats, Floats, float] | None = None
        self._r, self._rows = np.zeros(arm.n), 0
        self.repeated = 0

    def add(self, p: Floats, beta: Floats, seconds: Floats) -> Floats:
        """Estimates (rows, n) from momenta and their rates; rows with NaN have none.

        A row with the time of the row before repeats its estimate.
        """
        external = np.full_like(p, np.nan)
        fine = np.isfinite(p).all(axis=1) & np.isfinite(beta).all(axis=1) & np.isfinite(seconds)
        if not fine.any():
            return external
        p, beta, seconds = p[fine], beta[fine], seconds[fine]
        before = self._last or (p[0], beta[0], float(seconds[0]))
        steps = np.diff(seconds, prepend=before[2]) if self._dt is None else self._periods(p)
        self._require_forward(steps, seconds)

        # rows that repeat a time are skipped
        new = steps > 0.0
        h = steps[new]
        a = np.array([exp(-self._gain * step) for step in h.tolist()])
        gain = 1.0 - a
        carried, half = (gain * (1.0 / h))[:, None], (0.5 * gain)[:, None]
        P, B = np.vstack([before[0], p[new]]), np.vstack([before[1], beta[new]])
        entering, leaving = carried * P[1:] - half * B[1:], carried * P[:-1] + half * B[:-1]
        estimates = np.empty((len(h) + 1, p.shape[1]))
        estimates[0] = r = self._r
        for i, decay in enumerate(a.tolist()):
            r = (decay * r - leaving[i]) + entering[i]
            estimates[i + 1] = r
        self._r, self._last = r, (P[-1], B[-1], float(seconds[-1]))
        self.repeated += int((~new).sum()) - (self._rows == 0)
        self._rows += len(p)
        external[fine] = estimates[np.cumsum(new)] + 0.0
        return external

    def _periods(self, p: Floats) -> Floats:
        """The period before every row; none before the first of all."""
        assert self._dt is not None
        steps = np.full(len(p), self._dt)
        if self._last is None:
            steps[0] = 0.0
        return steps

    def _require_forward(self, steps: Floats, seconds: Floats) -> None:
        if (steps < 0.0).any():
            row = int(np.argmax(steps < 0.0))
            raise RobolinError(
                f"time must not decrease, but decreases by {-steps[row]:g} s to {seconds[row]:g} s",
                hint="sort the rows by time, or set the period with --dt",
            )


def external_torque(
    arm: Arm,
    time: ArrayLike,
    q: JointValues,
    qd: JointValues,
    tau: JointValues,
    *,
    settling_time: float = SETTLING_TIME,
) -> Floats:
    """Estimate external torques along a motion, as `robolin inverse --external` does.

    The momentum observer needs no accelerations and is causal: a row depends on earlier rows only.

    Args:
        arm: the arm, from `robolin.load`; the model includes its friction, payloads and wrenches
        time: (rows,) in s, not decreasing
        q: positions (rows, n) in rad or m, in the order of `arm.joint_names`
        qd: velocities (rows, n) in rad/s or m/s
        tau: measured torques (rows, n) in N·m, or forces in N
        settling_time: time in s after which the estimate of a constant torque has an error of 1 %:
            4.6 / K

    Returns:
        (rows, n) in N·m or N: torques that act on the joints in addition to `tau`; 0 in row 0

    Raises:
        RobolinError: shapes that do not match, a time that decreases, or closed loops
        UsageError: `arm` is not an `Arm`, or a settling time that is not above 0

    Example:
        >>> arm = robolin.load("two-link")
        >>> time, q = np.arange(301) * 0.001, np.tile([0.3, -0.7], (301, 1))
        >>> push = np.where(time[:, None] < 0.1, 0.0, [2.0, -1.0])
        >>> external = robolin.external_torque(arm, time, q, 0.0, robolin.inverse(arm, q) - push)
        >>> external[[50, 300]].round(2)
        array([[ 0.,  0.],
               [ 2., -1.]])
    """
    require_arm(arm)
    named = {"q": q, "qd": qd, "tau": tau}
    require_same_rows(named, vectors={"time": time})
    arrays = np.broadcast_arrays(*joint_arrays(arm, named).values())
    rows = {name: each.reshape(-1, arm.n) for name, each in zip(named, arrays, strict=True)}
    seconds = seconds_of(time).reshape(-1)
    if len(seconds) != len(rows["q"]):
        raise RobolinError(
            f"time: must have one value per row ({len(rows['q'])}), got {len(seconds)}"
        )
    values = evaluate(arm, "generalized-momentum", rows)
    observer = ObserverRows(arm, settling_time)
    return observer.add(values["generalized_momentum"], values["momentum_rate"], seconds)


@dataclass(frozen=True)
class JointContact:
    """External torque of one joint.

    rms:       RMS of the estimate
    largest:   estimate with the largest size, with its sign
    row:       row of the largest estimate, counted from 0
    time:      time of that row, if the rows have times: a number or a date text
    threshold: size from which a torque counts as contact; None without one
    contact:   number of rows with contact
    """

    joint: str
    rms: float
    largest: float
    row: int
    time: float | str | None
    threshold: float | None
    contact: int
    unit: str


@dataclass(frozen=True, eq=False, repr=False)
class Contacts(DisplayMixin):
    """External torques of all joints, and the rows with contact.

    Fields:
        joints: a `JointContact` for every joint
        rows: number of rows with an estimate
        contact: number of rows in which a joint exceeds its threshold
        first: row and time of the first contact; None without contact
    """

    joints: tuple[JointContact, ...]
    rows: int
    contact: int
    first: tuple[int, float | str | None] | None

    @property
    def verdict(self) -> str:
        """One sentence: contact or not, and when it begins."""
        rows = pluralize(self.rows, "row")
        if all(each.threshold is None for each in self.joints):
            return f"contact cannot be detected in {rows}: no joint has a threshold (--threshold)"
        if self.first is None:
            return f"no contact in {rows}: external torques are below the thresholds"
        row, time = self.first
        begin = f"row {row + 1}" if time is None else f"{time:.7g} s"
        if isinstance(time, str):
            begin = time
        touched = join_and([each.joint for each in self.joints if each.contact])
        return f"contact in {self.contact} of {rows}, first at {begin}: {touched}"


def contact_thresholds(arm: Arm, thresholds: dict[str, float]) -> list[float | None]:
    """The given threshold of each joint, or its Coulomb friction; None without either."""
    return [
        thresholds.get(joint.name, coulomb_torque(arm, joint.name) or None) for joint in arm.joints
    ]


def coulomb_torque(arm: Arm, joint: str) -> float:
    """Coulomb friction of a joint, the larger of both directions."""
    entry = next(each for each in arm.joints if each.name == joint)
    return max(entry.friction, entry.friction_negative or 0.0)


def contact_rows(values: Floats, thresholds: list[float | None]) -> Floats:
    """1 for each row (rows, n) in which a joint exceeds its threshold, else 0; NaN stays NaN."""
    limits = np.array([np.inf if each is None else each for each in thresholds])
    touched = (np.abs(values) > limits).any(axis=1).astype(np.float64)
    return np.where(np.isfinite(values).all(axis=1), touched, np.nan)


class ContactSums:
    """External torques over the rows so far, updated with blocks of rows."""

    def __init__(self, arm: Arm, thresholds: list[float | None]) -> None:
        self._arm, self._thresholds = arm, thresholds
        self._limits = np.array([np.inf if each is None else each for each in thresholds])
        self._all_rows = self._rows = self._contact = 0
        self._squares, self._largest = np.zeros(arm.n), np.zeros(arm.n)
        self._at, self._counts = np.zeros(arm.n, np.int64), np.zeros(arm.n, np.int64)
        self._times: list[float | str | None] = [None] * arm.n
        self._first: tuple[int, float | str | None] | None = None

    def add(self, values: Floats, time: Numbers | None = None) -> None:
        """Add rows (rows, n); a row with NaN is left out."""

        def time_of(row: int) -> float | str | None:
            return None if time is None else plain_time(time[row])

        fine: Mask = np.asarray(np.isfinite(values).all(axis=1))
        sizes = np.where(fine[:, None], np.abs(values), 0.0)
        over: Mask = np.asarray(sizes > self._limits)
        touched: Mask = np.asarray(over.any(axis=1))
        self._squares = np.cumsum(np.vstack([self._squares, sizes * sizes]), axis=0)[-1]
        self._counts += over.sum(axis=0)
        for joint, row in enumerate(sizes.argmax(axis=0).tolist() if len(sizes) else []):
            if sizes[row, joint] > abs(self._largest[joint]):
                self._largest[joint], self._at[joint] = values[row, joint], self._all_rows + row
                self._times[joint] = time_of(row)
        if self._first is None and touched.any():
            row = int(touched.argmax())
            self._first = self._all_rows + row, time_of(row)
        self._contact += int(touched.sum())
        self._rows += int(fine.sum())
        self._all_rows += len(values)

    def result(self) -> Contacts:
        """The external torques of all rows; an error if no row has numbers."""
        if not self._rows:
            raise RobolinError("no row has a finite external torque")
        joints = (
            JointContact(
                joint.name,
                sqrt(self._squares[i] / self._rows),
                float(self._largest[i]),
                int(self._at[i]),
                self._times[i],
                self._thresholds[i],
                int(self._counts[i]),
                joint_unit("effort", joint.turns),
            )
            for i, joint in enumerate(self._arm.joints)
        )
        return Contacts(tuple(joints), self._rows, self._contact, self._first)
