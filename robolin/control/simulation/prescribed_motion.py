"""Joints that move as they are told while torques move the others: a base that is driven."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from robolin.core.arm import Arm
from robolin.core.array_checks import array_of, require_sound
from robolin.core.arrays import Floats, JointValues
from robolin.errors import UsageError
from robolin.evaluation.evaluate import RunOptions, evaluate
from robolin.evaluation.prescribed_joints import (
    JointsNamed,
    prescribed_accelerations,
    prescribed_joints,
    require_prescribed_inputs,
)

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
            return array_of(self.arm, "qdd", self.qdd)
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
