"""Controllers in diagonalizing velocities ν, whose kinetic energy is ½ ν*ν."""

from __future__ import annotations

from dataclasses import replace
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
from robolin.core.arrays import Floats, as_joint_array
from robolin.core.notebook import DisplayMixin
from robolin.core.records import dataclass
from robolin.core.text import did_you_mean
from robolin.errors import RobolinError, UsageError
from robolin.evaluation.evaluate import RunOptions, evaluate

_UPRIGHT = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
_SQUARE_ENOUGH = 1e-6
_NEXT, _LAST = (1, 2, 0), (2, 0, 1)


@dataclass(frozen=True, eq=False)
class RateControl:
    """Control law 8.1: ε = -c ν, with compensation of gravity, loads and dissipation.

    With one gain for all joints, kinetic energy decays as exp(-2 c t); with c = 0 it is constant.

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


@dataclass(frozen=True, eq=False, repr=False)
class PoseControl(DisplayMixin):
    """Control law 8.2: ε = -c ν + m⁻¹ Jᵀ k e, which moves a frame to a pose with damping.

    e contains the position error, and for each axis of the frame the vector from the tip of this
    axis to the tip of the target's axis.

    Fields:
        frame: name of the controlled link
        position: target position in the root frame (3,) in m
        rotation: target orientation in the root frame, a matrix (3, 3)
        gain: c in 1/s, one number or one per joint (n,)
        position_gain: stiffness k in N/m, one number or one per axis of the root frame (3,)
        orientation_gain: stiffness k in N·m, one number or one per axis of the frame (3,)

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
    """Pose error of a frame: distance in m, angle in rad, and energy ½ e* k e in J."""

    position: Floats
    orientation: Floats
    energy: Floats


class BrakingController:
    """Torques of control law 8.1."""

    gain: Floats
    uniform: bool

    depends_on_state = True

    def __init__(self, arm: Arm, gain: ArrayLike, run_options: RunOptions) -> None:
        values = as_joint_array(arm, "gain", gain)
        if not (np.isfinite(values).all() and (values >= 0.0).all()):
            raise RobolinError("gains must be finite and ≥ 0", hint="use gains ≥ 0")
        self._arm, self._run_options, self.gain = arm, run_options, values
        # -c m m* q̇ = -c M q̇ needs no factors, so it is valid for every arm
        self.uniform = bool((values == values.flat[0]).all())

    def __call__(self, t: float, q: Floats, qd: Floats) -> Floats:
        if self.uniform:
            values = {"q": q, "qd": qd, "qdd": -self.gain * qd}
            return evaluate(self._arm, "inverse-from-rest", values, **self._run_options)["tau"]
        values = {"q": q, "qd": qd, "gain": self.gain}
        return evaluate(self._arm, "rate-control", values, **self._run_options)["tau"]

    def error(self, q: Floats) -> PoseError | None:
        return None

    def lyapunov(
        self, time: Floats, q: Floats, qd: Floats, kinetic: Floats, memory: Floats
    ) -> Floats:
        """Lyapunov function: the kinetic energy."""
        return kinetic


class SteeringController:
    """Torques of control law 8.2 as corrected: damping torques plus J* k e."""

    depends_on_state = True

    def __init__(self, arm: Arm, law: PoseControl, run_options: RunOptions) -> None:
        self._braking = BrakingController(arm, law.gain, run_options)
        self._arm, self._run_options = replace(arm, tip=_moving_frame(arm, law.frame)), run_options
        self.gain: Floats = self._braking.gain
        self._position = _numbers("position", law.position, (3,))
        self._rotation = _rotation(law.rotation)
        self._k = _gains("position_gain", law.position_gain)
        self._k_axes = _gains("orientation_gain", law.orientation_gain)

    def __call__(self, t: float, q: Floats, qd: Floats) -> Floats:
        pose = evaluate(self._arm, "jacobian", {"q": q, "qd": 0.0}, **self._run_options)
        force = self._k * (self._position - pose["position"])
        couples = _crosses(pose["rotation"], self._rotation) * self._k_axes
        couple = couples[..., 0] + couples[..., 1] + couples[..., 2]
        tau = self._braking(t, q, qd)
        # fixed summation order: results do not depend on the batch
        for i in range(3):
            tau = tau + pose["jacobian"][..., i, :] * couple[..., i, None]
            tau = tau + pose["jacobian"][..., 3 + i, :] * force[..., i, None]
        return tau

    def stiffness(self, q: Floats) -> Floats:
        """Jᵀ k J (..., n, n) of the position, and of the orientation at the target."""
        J = evaluate(self._arm, "jacobian", {"q": q, "qd": 0.0}, **self._run_options)["jacobian"]
        angular, linear = J[..., :3, :], J[..., 3:, :]
        k_axes, axes = self._k_axes, self._rotation
        couple = k_axes.sum() * np.eye(3) - axes * k_axes @ np.swapaxes(axes, -1, -2)
        force = np.swapaxes(linear, -1, -2) @ (self._k[:, None] * linear)
        value: Floats = force + np.swapaxes(angular, -1, -2) @ couple @ angular
        return value

    def error(self, q: Floats) -> PoseError:
        """Pose error of the frame at q."""
        pose = evaluate(self._arm, "jacobian", {"q": q, "qd": 0.0}, **self._run_options)
        distance_squared = (self._position - pose["position"]) ** 2
        axes_squared = ((self._rotation - pose["rotation"]) ** 2).sum(axis=-2)
        # |R - R'|² = 8 sin²(angle / 2): accurate for small angles
        angle = 2.0 * np.arcsin(np.sqrt(np.minimum(axes_squared.sum(axis=-1) / 8.0, 1.0)))
        energy = 0.5 * (
            (self._k * distance_squared).sum(axis=-1) + (self._k_axes * axes_squared).sum(axis=-1)
        )
        return PoseError(np.sqrt(distance_squared.sum(axis=-1)), angle, energy)

    def lyapunov(
        self, time: Floats, q: Floats, qd: Floats, kinetic: Floats, memory: Floats
    ) -> Floats:
        """Lyapunov function: the kinetic energy plus ½ e* k e of the pose."""
        return kinetic + self.error(q).energy


Law = RateControl | PoseControl | FeedbackControl | PDControl | ComputedTorque
Controller = BrakingController | SteeringController | StateFeedback | TrackingController


def controller_of(arm: Arm, law: Law, run_options: RunOptions) -> Controller:
    """Build the controller of a control law for an arm."""
    if isinstance(law, FeedbackControl):
        return StateFeedback(arm, law)
    if isinstance(law, PDControl | ComputedTorque):
        return TrackingController(arm, law, run_options)
    if isinstance(law, RateControl):
        return BrakingController(arm, law.gain, run_options)
    if isinstance(law, PoseControl):
        return SteeringController(arm, law, run_options)
    raise UsageError(f"{type(law).__name__} is not a control law", hint=_law_hint(law))


def _law_hint(value: object) -> str:
    """Hint for a value that is not a control law: regulators and motions have one."""
    if not callable(getattr(value, "feedback", None)):
        return "use RateControl(...), PoseControl(...), FeedbackControl(...) or another control law"
    regulates = type(value).__name__.endswith("Regulator")
    return f"use control={'regulator' if regulates else 'result'}.feedback()"


def _moving_frame(arm: Arm, name: str) -> Frame:
    frame = arm.frames.get(name)
    if frame is None:
        hint = did_you_mean(name, arm.frames, f"frames: {', '.join(arm.frames)}")
        raise RobolinError(f"frame: link '{name}' not found", hint=hint)
    if frame.link == arm.base:
        raise RobolinError(
            f"the frame '{name}' is fixed to the base", hint="choose a frame on a moving link"
        )
    return frame


def _numbers(name: str, value: ArrayLike, shape: tuple[int, ...]) -> Floats:
    array = np.asarray(value, dtype=float)
    if array.shape[-len(shape) :] != shape or not np.isfinite(array).all():
        raise RobolinError(
            f"{name}: must be finite numbers of shape {shape}, got shape {array.shape}"
        )
    return array


def _rotation(value: ArrayLike) -> Floats:
    R = _numbers("rotation", value, (3, 3))
    square = np.abs(np.swapaxes(R, -1, -2) @ R - np.eye(3)).max() < _SQUARE_ENOUGH
    if not (square and (np.linalg.det(R) > 0.0).all()):
        raise RobolinError(
            "rotation: must be a rotation matrix", hint="check that RᵀR = I and det R = 1"
        )
    return R


def _gains(name: str, value: ArrayLike) -> Floats:
    array = np.asarray(value, dtype=float)
    if array.shape not in ((), (3,)) or not (np.isfinite(array).all() and (array >= 0.0).all()):
        raise RobolinError(f"{name}: must be one number or three, all ≥ 0")
    return np.broadcast_to(array, (3,))


def _crosses(a: Floats, b: Floats) -> Floats:
    """Cross products of the columns of a with those of b, as columns."""
    return a[..., _NEXT, :] * b[..., _LAST, :] - a[..., _LAST, :] * b[..., _NEXT, :]
