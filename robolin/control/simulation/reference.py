"""What a controller follows: one point, or a motion on straight lines between its rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from robolin.core.arm import Arm
from robolin.core.array_checks import (
    as_joint_array,
    joint_arrays,
    require_same_rows,
    require_sound,
    seconds_of,
)
from robolin.core.arrays import Floats, JointValues
from robolin.core.configuration import advanced, difference, has_groups
from robolin.errors import RobolinError, UsageError
from robolin.evaluation.evaluate import RunOptions, evaluate
from robolin.evaluation.prescribed_joints import (
    JointsNamed,
    prescribed_accelerations,
    prescribed_joints,
    require_prescribed_inputs,
)


@dataclass(frozen=True, eq=False)
class ReferenceMotion:
    """Arrays by name, one of each, or (rows, …) at times (rows,); 'q' turns the short way."""

    arm: Arm
    time: Floats | None
    arrays: dict[str, Floats]

    def at(self, t: float) -> dict[str, Floats]:
        """The arrays at a moment, as in the nearest row outside."""
        if self.time is None:
            return self.arrays
        after = int(np.searchsorted(self.time, t, side="right"))
        if after == 0 or after == len(self.time):
            row = min(after, len(self.time) - 1)
            return {name: array[row] for name, array in self.arrays.items()}
        start, stop = self.time[after - 1], self.time[after]
        share = (t - start) / (stop - start)
        found = {
            name: (1.0 - share) * array[after - 1] + share * array[after]
            for name, array in self.arrays.items()
        }
        if "q" in found and has_groups(self.arm):
            before, later = self.arrays["q"][after - 1], self.arrays["q"][after]
            found["q"] = advanced(self.arm, before, share * difference(self.arm, before, later))
        return found


def reference_of(
    arm: Arm,
    time: ArrayLike | None,
    motion: dict[str, JointValues],
    matrices: dict[str, Floats] | None = None,
) -> ReferenceMotion:
    """A reference with joint values (n,) or (rows, n), and matrices with as many rows."""
    require_same_rows(motion, vectors={"time": time})
    arrays = joint_arrays(arm, motion)
    shapes = dict.fromkeys(arrays, (arm.n,))
    for name, matrix in (matrices or {}).items():
        arrays[name], shapes[name] = matrix, matrix.shape[-2:]
    for name, array in arrays.items():
        if not np.isfinite(array).all():
            raise RobolinError(f"{name} of the controller is not finite")
    if time is None:
        for name, array in arrays.items():
            if array.shape != shapes[name]:
                hint = "time says when a reference of several rows is where"
                raise RobolinError(f"{name} has the shape {array.shape}", hint=hint)
        return ReferenceMotion(arm, None, arrays)
    moments = seconds_of(time)
    if moments.ndim != 1 or not len(moments) or not (np.diff(moments) > 0.0).all():
        raise RobolinError("time of the controller is not a row of rising numbers")
    for name, array in arrays.items():
        if array.ndim > len(shapes[name]) and len(array) != len(moments):
            raise RobolinError(f"{name} has {len(array)} rows, time has {len(moments)}")
        arrays[name] = np.broadcast_to(array, (len(moments), *shapes[name]))
    return ReferenceMotion(arm, moments, arrays)


# accelerations for all times, or a function of t in s that gives them
AnyAcceleration = JointValues | Callable[[float], JointValues]


@dataclass(frozen=True)
class Prescription:
    """Which joints move as they are told, and how: q̈ for all times, or a function of time.

    origin: where q̈ comes from, in words
    """

    joints: JointsNamed
    qdd: AnyAcceleration = 0.0
    origin: str = "given"


@dataclass(frozen=True, eq=False)
class PrescribedMotion:
    """The same on an arm; `driven` is 1 for the coordinates (n,) of those joints, else 0."""

    arm: Arm
    driven: Floats
    qdd: AnyAcceleration
    how: RunOptions
    # torques are asked for first, and the accelerations that came with them right after
    _latest: dict[str, Floats] = field(default_factory=dict, repr=False)

    def __call__(self, t: float, q: Floats, qd: Floats, tau: Floats) -> Floats:
        """q̈ at a moment t: as told, or what the torques make of it."""
        if self._latest.get("tau") is not tau:
            self.torques(t, q, qd, tau)
        return self._latest["qdd"]

    def torques(self, t: float, q: Floats, qd: Floats, tau: Floats) -> Floats:
        """The torques, those of the joints that move as told being what that takes."""
        given = {
            "q": q,
            "qd": qd,
            "tau": tau,
            "qdd": self._prescribed_accelerations(t),
            "prescribed": self.driven,
        }
        self._latest.update(evaluate(self.arm, "forward-prescribed", given, **self.how))
        return self._latest["tau"]

    def _prescribed_accelerations(self, t: float) -> Floats:
        if not callable(self.qdd):
            return as_joint_array(self.arm, "qdd", self.qdd)
        return _sound(self.arm, self.driven, self.qdd(t))


def _sound(arm: Arm, driven: Floats, qdd: JointValues) -> Floats:
    """Accelerations (n,) at one moment, of joints that move as told alone."""
    told = prescribed_accelerations(arm, driven, qdd)
    if told.ndim != 1:
        hint = "one acceleration per joint, or a function of time that gives them"
        raise UsageError(f"qdd has shape {told.shape}", where="qdd", hint=hint)
    require_sound(arm, {"qdd": told})
    require_prescribed_inputs(arm, driven, told, np.zeros(arm.n))
    return told


def prescribed_motion(
    arm: Arm, wish: Prescription | None, tau: object, how: RunOptions
) -> PrescribedMotion | None:
    """What a prescription means on this arm, beside a torque that is the same at all times."""
    if wish is None:
        return None
    driven = prescribed_joints(arm, wish.joints)
    if isinstance(tau, np.ndarray):
        require_prescribed_inputs(arm, driven, np.zeros(arm.n), tau)
    if not callable(wish.qdd):
        _sound(arm, driven, wish.qdd)
    return PrescribedMotion(arm, driven, wish.qdd, how)


def prescription(prescribe: JointsNamed | None, qdd: AnyAcceleration | None) -> Prescription | None:
    """What the keywords of a function ask for."""
    if prescribe is None:
        if qdd is not None:
            hint = "prescribe= says which joints move as it tells"
            raise UsageError("has no effect without prescribe", where="qdd", hint=hint)
        return None
    return Prescription(prescribe, 0.0 if qdd is None else qdd)
