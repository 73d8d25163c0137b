"""Torques as functions of time and state."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike

from robolin.core.arm import Arm
from robolin.core.arrays import (
    Floats,
    JointValues,
    Mask,
    as_joint_array,
    require_same_rows,
    seconds_of,
)
from robolin.core.notebook import DisplayMixin
from robolin.errors import RobolinError
from robolin.evaluation.evaluate import RunOptions, evaluate

# t in s, q and q̇ of shape (..., n)
TorqueFunction = Callable[[float, Floats, Floats], ArrayLike]


class Torque(Protocol):
    """Torques (..., n) or (n,) at time t and a state q, q̇ of shape (..., n)."""

    @property
    def depends_on_state(self) -> bool:
        """True if the torque depends on the state."""

    def __call__(self, t: float, q: Floats, qd: Floats) -> Floats: ...


@dataclass(frozen=True, eq=False, repr=False)
class TorqueTable(DisplayMixin):
    """Torques at given times, linearly interpolated; outside the range, the nearest row.

    Fields:
        time: (rows,) in s, increasing
        tau: torques (rows, n) in N·m or N

    Example:
        >>> push = robolin.TorqueTable(time=[0.0, 0.1], tau=[[5.0, 0.0], [0.0, 0.0]])
        >>> arm = robolin.load("two-link")
        >>> robolin.simulate(arm, [0.0, 0.0], duration=0.1, tau=push).tau[[0, -1], 0]
        array([5., 0.])
    """

    time: ArrayLike
    tau: JointValues


AnyTorque = JointValues | TorqueTable | TorqueFunction


@dataclass(frozen=True, eq=False)
class ConstantTorque:
    """Constant torque."""

    values: Floats
    depends_on_state: bool = False

    def __call__(self, t: float, q: Floats, qd: Floats) -> Floats:
        return self.values


@dataclass(frozen=True, eq=False)
class InterpolatedTorque:
    """Torques interpolated linearly between the rows of a table."""

    time: Floats
    values: Floats
    depends_on_state: bool = False

    def __call__(self, t: float, q: Floats, qd: Floats) -> Floats:
        after = int(np.searchsorted(self.time, t, side="right"))
        if after == 0 or after == len(self.time):
            held: Floats = self.values[min(after, len(self.time) - 1)]
            return held
        start, stop = self.time[after - 1], self.time[after]
        share = (t - start) / (stop - start)
        between: Floats = (1.0 - share) * self.values[after - 1] + share * self.values[after]
        return between


@dataclass(frozen=True, eq=False)
class FunctionTorque:
    """Torques from a user-supplied function."""

    arm: Arm
    function: TorqueFunction
    depends_on_state: bool = True

    def __call__(self, t: float, q: Floats, qd: Floats) -> Floats:
        return as_joint_array(self.arm, "tau", self.function(t, q.copy(), qd.copy()))


@dataclass(frozen=True, eq=False)
class HoldingTorque:
    """Another torque plus the static torque of gravity and loads."""

    arm: Arm
    more: Torque
    run_options: RunOptions
    depends_on_state: bool = True

    def __call__(self, t: float, q: Floats, qd: Floats) -> Floats:
        still: dict[str, JointValues] = {"q": q, "qd": 0.0, "qdd": 0.0}
        return evaluate(self.arm, "inverse", still, **self.run_options)["tau"] + self.more(t, q, qd)


@dataclass(frozen=True, eq=False)
class Push:
    """A torque pulse: constant from `start` to `stop`, zero before and after.

    Fields:
        tau: torques (n,) in N·m or N
        start: start time in s
        stop: end time in s

    Example:
        >>> push = robolin.Push([5.0, 0.0], start=0.1, stop=0.2)
        >>> arm = robolin.load("two-link")
        >>> pushed = robolin.simulate(arm, [0.0, 0.0], duration=0.3, hold=True, disturbance=push)
        >>> (np.abs(pushed.qd[[50, 150]]).max(axis=1) > 1e-3).tolist()
        [False, True]
    """

    tau: ArrayLike
    start: float = 0.0
    stop: float = inf

    def __call__(self, t: float, q: Floats, qd: Floats) -> ArrayLike:
        return self.tau if self.start <= t < self.stop else 0.0


def torque_of(arm: Arm, tau: AnyTorque) -> Torque:
    """Convert an array, a table or a function of t, q and q̇ to a torque."""
    if isinstance(tau, TorqueTable):
        return _interpolated(arm, tau)
    if callable(tau):
        return FunctionTorque(arm, tau)
    values = as_joint_array(arm, "tau", tau)
    if not np.isfinite(values).all():
        raise RobolinError("tau: must be finite")
    return ConstantTorque(values)


class EffortLimits(NamedTuple):
    """Smallest and largest torque of every joint (n,), infinite without a limit."""

    least: Floats
    most: Floats

    def exceeded(self, tau: Floats) -> Mask:
        """Mask of torques (..., n) outside the limits."""
        return (tau < self.least) | (tau > self.most)

    def without(self, joints: Mask) -> EffortLimits:
        """Remove the limits of these joints (n,)."""
        least, most = np.where(joints, -np.inf, self.least), np.where(joints, np.inf, self.most)
        return EffortLimits(least, most)


def effort_limits(arm: Arm) -> EffortLimits:
    """Effort limits of the robot file."""
    ranges = np.array([joint.limits.effort_range for joint in arm.joints]).reshape(-1, 2)
    return EffortLimits(ranges[:, 0], ranges[:, 1])


def _interpolated(arm: Arm, table: TorqueTable) -> InterpolatedTorque:
    require_same_rows({"tau": table.tau}, vectors={"time": table.time})
    time, values = seconds_of(table.time), as_joint_array(arm, "tau", table.tau)
    if time.ndim != 1 or values.shape != (len(time), arm.n) or not len(time):
        shapes = f"time {time.shape}, tau {values.shape}"
        raise RobolinError(
            f"a torque table must have times (rows,) and torques (rows, {arm.n}), got {shapes}"
        )
    if not (np.isfinite(time).all() and np.isfinite(values).all()):
        raise RobolinError("the torque table must be finite")
    if (falls := np.flatnonzero(np.diff(time) <= 0.0)).size:
        row = int(falls[0])
        message = f"time: must increase from row {row + 1} to row {row + 2}: "
        raise RobolinError(f"{message}{time[row]:g} s, then {time[row + 1]:g} s")
    return InterpolatedTorque(time, values)
