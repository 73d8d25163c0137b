"""Inputs of a simulation: torques of time and state, and the reference of a controller."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
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
    joint_arrays,
    require_same_rows,
    require_sound,
    seconds_of,
)
from robolin.core.configuration import difference, has_groups, integrate
from robolin.core.notebook import DisplayMixin
from robolin.core.records import dataclass
from robolin.errors import RobolinError, UsageError
from robolin.evaluation.constant_inputs import (
    JointsNamed,
    prescribed_accelerations,
    prescribed_joints,
    require_prescribed_inputs,
)
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
    """Torques over time, interpolated linearly; constant before the first and after the last row.

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
    """Effort limits in the robot file."""
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
        raise RobolinError("the times and torques of the table must be finite")
    if (falls := np.flatnonzero(np.diff(time) <= 0.0)).size:
        row = int(falls[0])
        message = (
            f"time: must increase, but does not increase from row {row + 1} to row {row + 2}: "
        )
        raise RobolinError(f"{message}{time[row]:g} s and {time[row + 1]:g} s")
    return InterpolatedTorque(time, values)


@dataclass(frozen=True, eq=False)
class ReferenceMotion:
    """Arrays by name, constant or (rows, …) at times (rows,); 'q' takes the shortest rotation."""

    arm: Arm
    time: Floats | None
    arrays: dict[str, Floats]

    def at(self, t: float) -> dict[str, Floats]:
        """Interpolate the arrays at time t; outside the range, use the nearest row."""
        if self.time is None:
            return self.arrays
        after = int(np.searchsorted(self.time, t, side="right"))
        if after == 0 or after == len(self.time):
            row = min(after, len(self.time) - 1)
            return {name: array[row] for name, array in self.arrays.items()}
        start, stop = self.time[after - 1], self.time[after]
        share = (t - start) / (stop - start)
        arrays = {
            name: (1.0 - share) * array[after - 1] + share * array[after]
            for name, array in self.arrays.items()
        }
        if "q" in arrays and has_groups(self.arm):
            before, later = self.arrays["q"][after - 1], self.arrays["q"][after]
            arrays["q"] = integrate(self.arm, before, share * difference(self.arm, before, later))
        return arrays


def reference_of(
    arm: Arm,
    time: ArrayLike | None,
    motion: dict[str, JointValues],
    matrices: dict[str, Floats] | None = None,
) -> ReferenceMotion:
    """Build a reference from joint values (n,) or (rows, n), and matrices with as many rows."""
    require_same_rows(motion, vectors={"time": time})
    arrays = joint_arrays(arm, motion)
    shapes = dict.fromkeys(arrays, (arm.n,))
    for name, matrix in (matrices or {}).items():
        arrays[name], shapes[name] = matrix, matrix.shape[-2:]
    for name, array in arrays.items():
        if not np.isfinite(array).all():
            raise RobolinError(f"the controller's {name} must be finite")
    if time is None:
        for name, array in arrays.items():
            if array.shape != shapes[name]:
                hint = "pass time if the reference has several rows"
                message = f"{name}: must have shape {shapes[name]}, got {array.shape}"
                raise RobolinError(message, hint=hint)
        return ReferenceMotion(arm, None, arrays)
    times = seconds_of(time)
    if times.ndim != 1 or not len(times) or not (np.diff(times) > 0.0).all():
        raise RobolinError(
            "the controller's times must be a one-dimensional array of increasing numbers"
        )
    for name, array in arrays.items():
        if array.ndim > len(shapes[name]) and len(array) != len(times):
            rows = f"must have one row per time ({len(times)}), got {len(array)}"
            raise RobolinError(f"{name}: {rows}")
        arrays[name] = np.broadcast_to(array, (len(times), *shapes[name]))
    return ReferenceMotion(arm, times, arrays)


# constant accelerations, or a function of t in s
AnyAcceleration = JointValues | Callable[[float], JointValues]


@dataclass(frozen=True)
class Prescription:
    """Prescribed joints and their acceleration: q̈ constant, or a function of time.

    origin: source of q̈, for messages
    """

    joints: JointsNamed
    qdd: AnyAcceleration = 0.0
    origin: str = "given"


@dataclass(frozen=True, eq=False)
class PrescribedMotion:
    """A prescription on an arm; `driven` (n,) is 1 at coordinates of prescribed joints, else 0."""

    arm: Arm
    driven: Floats
    qdd: AnyAcceleration
    run_options: RunOptions
    # the integrator requests torques first and then the accelerations computed with them
    _latest: dict[str, Floats] = field(default_factory=dict, repr=False)

    def __call__(self, t: float, q: Floats, qd: Floats, tau: Floats) -> Floats:
        """q̈ at time t: as prescribed, or from the torques."""
        if self._latest.get("tau") is not tau:
            self.torques(t, q, qd, tau)
        return self._latest["qdd"]

    def torques(self, t: float, q: Floats, qd: Floats, tau: Floats) -> Floats:
        """The torques; those of prescribed joints are the torques that their motion requires."""
        inputs = {
            "q": q,
            "qd": qd,
            "tau": tau,
            "qdd": self._prescribed_accelerations(t),
            "prescribed": self.driven,
        }
        self._latest.update(evaluate(self.arm, "forward-prescribed", inputs, **self.run_options))
        return self._latest["tau"]

    def _prescribed_accelerations(self, t: float) -> Floats:
        if not callable(self.qdd):
            return as_joint_array(self.arm, "qdd", self.qdd)
        return _checked_accelerations(self.arm, self.driven, self.qdd(t))


def _checked_accelerations(arm: Arm, driven: Floats, qdd: JointValues) -> Floats:
    """Check accelerations (n,) at one time; only prescribed joints may have them."""
    accelerations = prescribed_accelerations(arm, driven, qdd)
    if accelerations.ndim != 1:
        hint = (
            "pass one acceleration per joint, or a function of time that returns the accelerations"
        )
        message = f"must have shape ({arm.n},), got {accelerations.shape}"
        raise UsageError(message, where="qdd", hint=hint)
    require_sound(arm, {"qdd": accelerations})
    require_prescribed_inputs(arm, driven, accelerations, np.zeros(arm.n))
    return accelerations


def prescribed_motion(
    arm: Arm, request: Prescription | None, tau: object, run_options: RunOptions
) -> PrescribedMotion | None:
    """Apply a prescription to this arm and check it against a constant torque."""
    if request is None:
        return None
    driven = prescribed_joints(arm, request.joints)
    if isinstance(tau, np.ndarray):
        require_prescribed_inputs(arm, driven, np.zeros(arm.n), tau)
    if not callable(request.qdd):
        _checked_accelerations(arm, driven, request.qdd)
    return PrescribedMotion(arm, driven, request.qdd, run_options)


def prescription(prescribe: JointsNamed | None, qdd: AnyAcceleration | None) -> Prescription | None:
    """Prescription from the keywords `prescribe` and `qdd`."""
    if prescribe is None:
        if qdd is not None:
            hint = "name the prescribed joints with prescribe="
            raise UsageError("has no effect without prescribe", where="qdd", hint=hint)
        return None
    return Prescription(prescribe, 0.0 if qdd is None else qdd)
