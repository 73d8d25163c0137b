"""Controllers in diagonalizing velocities ν, whose kinetic energy is ½ ν*ν."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from robolin.control.simulation.feedback_control import (
    ComputedTorque,
    FeedbackControl,
    PDControl,
    StateFeedback,
    TrackingController,
)
from robolin.core.arm import Arm, Frame
from robolin.core.array_checks import as_joint_array
from robolin.core.arrays import Floats
from robolin.core.notebook import DisplayMixin
from robolin.core.text import did_you_mean
from robolin.errors import RobolinError, UsageError
from robolin.evaluation.evaluate import RunOptions, evaluate

_UPRIGHT = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
_SQUARE_ENOUGH = 1e-6
_NEXT, _LAST = (1, 2, 0), (2, 0, 1)


@dataclass(frozen=True, eq=False)
class RateControl:
    """Control 8.1, ε = -c ν with weight, loads and losses made up for: the arm comes to rest.

    With one gain for all joints, kinetic energy falls as exp(-2 c t); without any it stays.

    Fields:
        gain: c in 1/s, one number or one per joint (n,)

    Example:
        >>> arm, brake = robolin.load("two-link"), robolin.RateControl(gain=2.0)
        >>> braked = robolin.simulate(arm, [0.3, 0.1], [1.0, 0.5], duration=1.0, control=brake)
        >>> energy = braked.kinetic_energy[[0, -1]]
        >>> round(float(np.log(energy[1] / energy[0])), 6)
        -4.0
    """

    gain: ArrayLike = 1.0


@dataclass(frozen=True, eq=False)
class PoseControl(DisplayMixin):
    """Control 8.2, ε = -c ν + m⁻¹ Jᵀ k e: a frame is drawn to a pose while the arm is braked.

    e holds the distance to the target, and for each axis of the frame the way of its tip to
    that of the target's.

    Fields:
        frame: the link that is drawn
        position: of the target in the root frame (3,) in m
        rotation: of the target in the root frame, a matrix (3, 3)
        gain: c in 1/s, one number or one per joint (n,)
        position_gain: k of the distance in N/m, one number or one per axis of the root frame (3,)
        orientation_gain: k of the axes in N·m, one number or one per axis of the frame (3,)

    Example:
        >>> arm = robolin.load("ur5")
        >>> law = robolin.PoseControl("tool0", (0.4, 0.2, 0.5), gain=8.0)
        >>> start = [0.3, -1.0, 1.2, 0.4, 0.9, 0.1]
        >>> motion = robolin.simulate(arm, start, duration=0.2, dt=2e-3, control=law)
        >>> bool(motion.lyapunov[-1] < motion.lyapunov[0])
        True
    """

    frame: str
    position: ArrayLike
    rotation: ArrayLike = _UPRIGHT
    gain: ArrayLike = 1.0
    position_gain: ArrayLike = 100.0
    orientation_gain: ArrayLike = 10.0


class PoseError(NamedTuple):
    """How far a frame is from its target: in m, in rad, and as the energy ½ e* k e in J."""

    position: Floats
    orientation: Floats
    energy: Floats


class BrakingController:
    """Torques of control law 8.1."""

    depends_on_state = True

    def __init__(self, arm: Arm, gain: ArrayLike, how: RunOptions) -> None:
        values = as_joint_array(arm, "gain", gain)
        if not (np.isfinite(values).all() and (values >= 0.0).all()):
            raise RobolinError("a gain is negative or not finite", hint="gains are 0 or more")
        self._arm, self._how, self._gain = arm, how, values
        # -c m m* q̇ = -c M q̇ needs no factors, and so holds on every arm
        self._uniform = bool((values == values.flat[0]).all())

    def __call__(self, t: float, q: Floats, qd: Floats) -> Floats:
        if self._uniform:
            values = {"q": q, "qd": qd, "qdd": -self._gain * qd}
            return evaluate(self._arm, "inverse-from-rest", values, **self._how)["tau"]
        values = {"q": q, "qd": qd, "gain": self._gain}
        return evaluate(self._arm, "rate-control", values, **self._how)["tau"]

    def error(self, q: Floats) -> PoseError | None:
        return None

    def lyapunov(
        self, time: Floats, q: Floats, qd: Floats, kinetic: Floats, memory: Floats
    ) -> Floats:
        """The kinetic energy."""
        return kinetic


class SteeringController:
    """Torques of control law 8.2 as corrected: those that brake, and J* k e."""

    depends_on_state = True

    def __init__(self, arm: Arm, law: PoseControl, how: RunOptions) -> None:
        self._braking = BrakingController(arm, law.gain, how)
        self._arm, self._how = replace(arm, tip=_moving_frame(arm, law.frame)), how
        self._position = _numbers("position", law.position, (3,))
        self._rotation = _rotation(law.rotation)
        self._k = _gains("position_gain", law.position_gain)
        self._k_axes = _gains("orientation_gain", law.orientation_gain)

    def __call__(self, t: float, q: Floats, qd: Floats) -> Floats:
        pose = evaluate(self._arm, "jacobian", {"q": q, "qd": 0.0}, **self._how)
        force = self._k * (self._position - pose["position"])
        turning = _crosses(pose["rotation"], self._rotation) * self._k_axes
        moment = turning[..., 0] + turning[..., 1] + turning[..., 2]
        tau = self._braking(t, q, qd)
        # sums in a fixed order: a state's bits do not depend on its neighbours
        for i in range(3):
            tau = tau + pose["jacobian"][..., i, :] * moment[..., i, None]
            tau = tau + pose["jacobian"][..., 3 + i, :] * force[..., i, None]
        return tau

    def error(self, q: Floats) -> PoseError:
        """How far the frame is from the target at q."""
        pose = evaluate(self._arm, "jacobian", {"q": q, "qd": 0.0}, **self._how)
        way = (self._position - pose["position"]) ** 2
        turn = ((self._rotation - pose["rotation"]) ** 2).sum(axis=-2)
        # |R - R'|² = 8 sin²(angle / 2): exact where the angle is small
        angle = 2.0 * np.arcsin(np.sqrt(np.minimum(turn.sum(axis=-1) / 8.0, 1.0)))
        energy = 0.5 * ((self._k * way).sum(axis=-1) + (self._k_axes * turn).sum(axis=-1))
        return PoseError(np.sqrt(way.sum(axis=-1)), angle, energy)

    def lyapunov(
        self, time: Floats, q: Floats, qd: Floats, kinetic: Floats, memory: Floats
    ) -> Floats:
        """The kinetic energy, and ½ e* k e of the pose."""
        return kinetic + self.error(q).energy


Law = RateControl | PoseControl | FeedbackControl | PDControl | ComputedTorque
Controller = BrakingController | SteeringController | StateFeedback | TrackingController


def controller_of(arm: Arm, law: Law, how: RunOptions) -> Controller:
    """The control law, ready for an arm."""
    if isinstance(law, FeedbackControl):
        return StateFeedback(arm, law)
    if isinstance(law, PDControl | ComputedTorque):
        return TrackingController(arm, law, how)
    if isinstance(law, RateControl):
        return BrakingController(arm, law.gain, how)
    if isinstance(law, PoseControl):
        return SteeringController(arm, law, how)
    raise UsageError(
        f"a {type(law).__name__} is no control law",
        hint="RateControl(...), PoseControl(...), FeedbackControl(...) and others",
    )


def _moving_frame(arm: Arm, name: str) -> Frame:
    frame = arm.frames.get(name)
    if frame is None:
        hint = did_you_mean(name, arm.frames, f"frames are {', '.join(arm.frames)}")
        raise RobolinError(f"'{arm.name}' has no frame '{name}'", hint=hint)
    if frame.link == arm.base:
        raise RobolinError(f"the frame '{name}' does not move", hint="take one beyond a joint")
    return frame


def _numbers(name: str, value: ArrayLike, shape: tuple[int, ...]) -> Floats:
    array = np.asarray(value, dtype=float)
    if array.shape[-len(shape) :] != shape or not np.isfinite(array).all():
        raise RobolinError(f"{name} takes finite numbers of shape {shape}, not {array.shape}")
    return array


def _rotation(value: ArrayLike) -> Floats:
    R = _numbers("rotation", value, (3, 3))
    square = np.abs(np.swapaxes(R, -1, -2) @ R - np.eye(3)).max() < _SQUARE_ENOUGH
    if not (square and (np.linalg.det(R) > 0.0).all()):
        raise RobolinError("rotation is not a rotation matrix", hint="RᵀR = 1 and det R = 1")
    return R


def _gains(name: str, value: ArrayLike) -> Floats:
    array = np.asarray(value, dtype=float)
    if array.shape not in ((), (3,)) or not (np.isfinite(array).all() and (array >= 0.0).all()):
        raise RobolinError(f"{name} is one number or three, none of them negative")
    return np.broadcast_to(array, (3,))


def _crosses(a: Floats, b: Floats) -> Floats:
    """The cross products of the columns of a with those of b, as columns."""
    return a[..., _NEXT, :] * b[..., _LAST, :] - a[..., _LAST, :] * b[..., _NEXT, :]
