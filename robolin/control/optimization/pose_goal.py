"""Goal pose of a frame: its error, and the derivative of the error by the joint positions.

e = [log(R* Rᵀ); p* - p]        in world axes, zero at the goal R*, p*
δe = -J δq                      to first order in e, for the geometric Jacobian J
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from robolin.core.arm import Arm
from robolin.core.arrays import Floats
from robolin.core.notebook import DisplayMixin
from robolin.errors import RobolinError
from robolin.evaluation.evaluate import evaluate
from robolin.evaluation.frames import at_frame

_SQUARE_ENOUGH = 1e-6
# below this sine, angle / sine is 1 to rounding, or the angle is nearly π
SMALL_SINE = 1e-8


@dataclass(frozen=True, eq=False, repr=False)
class PoseGoal(DisplayMixin):
    """Goal pose of a frame, for `ik` and `optimize`.

    Fields:
        frame: name of the link, moving or merged; None for the tip or the only end
        position: goal position in the root frame (3,) in m
        rotation: goal orientation in the root frame, a matrix (3, 3); None for any orientation

    Example:
        >>> robolin.PoseGoal("tool0", [0.4, 0.2, 0.5]).position
        [0.4, 0.2, 0.5]
    """

    frame: str | None
    position: ArrayLike
    rotation: ArrayLike | None = None


class GoalError(NamedTuple):
    """Error vectors (..., 3) of the orientation in rad and of the position in m, and Jacobian.

    `error` (..., m) and `jacobian` (..., m, n) have the rows of the goal: 6, or 3 for a position.
    """

    error: Floats
    jacobian: Floats
    distance: Floats
    angle: Floats


class PoseResidual:
    """Error of a frame from its goal, for states (..., n)."""

    def __init__(self, arm: Arm, goal: PoseGoal) -> None:
        self.arm = at_frame(arm, goal.frame)
        assert self.arm.tip is not None, "at_frame sets the tip"
        self.frame = self.arm.tip.name
        if self.arm.tip.link == arm.base:
            raise RobolinError(
                f"the frame '{self.frame}' is fixed to the base",
                where=arm.source,
                hint="choose a frame on a moving link",
            )
        self.position = _finite("position", goal.position, (3,))
        self.rotation = None if goal.rotation is None else _rotation(goal.rotation)

    @property
    def rows(self) -> int:
        """Number of rows of the error."""
        return 3 if self.rotation is None else 6

    def __call__(self, q: Floats) -> GoalError:
        pose = evaluate(self.arm, "jacobian", {"q": q, "qd": 0.0})
        shift = self.position - pose["position"]
        distance = np.sqrt((shift * shift).sum(axis=-1))
        if self.rotation is None:
            return GoalError(shift, pose["jacobian"][..., 3:, :], distance, 0.0 * distance)
        turn = rotation_logarithm(
            matrix_product(self.rotation, np.swapaxes(pose["rotation"], -1, -2))
        )
        angle = np.sqrt((turn * turn).sum(axis=-1))
        return GoalError(np.concatenate([turn, shift], axis=-1), pose["jacobian"], distance, angle)


def matrix_product(a: Floats, b: Floats) -> Floats:
    """Product of small matrices, summed from left to right: the same bits on every machine."""
    total = a[..., :, 0, None] * b[..., None, 0, :]
    for k in range(1, a.shape[-1]):
        total = total + a[..., :, k, None] * b[..., None, k, :]
    return total


def rotation_logarithm(R: Floats) -> Floats:
    """Rotation vectors (..., 3), at most π long, of rotation matrices (..., 3, 3)."""
    skew = R - np.swapaxes(R, -1, -2)
    w = np.stack([skew[..., 2, 1], skew[..., 0, 2], skew[..., 1, 0]], axis=-1)
    sine = 0.5 * np.sqrt((w * w).sum(axis=-1))
    cosine = 0.5 * (R[..., 0, 0] + R[..., 1, 1] + R[..., 2, 2] - 1.0)
    angle = np.arctan2(sine, cosine)
    small = sine < SMALL_SINE
    scale = np.where(small, 0.5, 0.5 * angle / np.where(small, 1.0, sine))
    vector = scale[..., None] * w
    # near a half turn the axis follows from the symmetric part: R + Rᵀ = 2 a aᵀ - …
    half = small & (cosine < 0.0)
    return np.where(half[..., None], angle[..., None] * _axis_of_half_turn(R, w), vector)


def _axis_of_half_turn(R: Floats, w: Floats) -> Floats:
    """Unit axis of a rotation by nearly π: the longest column of ½ (R + Rᵀ) + 1."""
    outer = 0.5 * (R + np.swapaxes(R, -1, -2)) + np.eye(3)
    longest = np.argmax(np.einsum("...ii->...i", outer), axis=-1)
    axis = np.take_along_axis(outer, longest[..., None, None], axis=-1)[..., 0]
    axis = axis / np.sqrt((axis * axis).sum(axis=-1, keepdims=True))
    signed: Floats = np.where((axis * w).sum(axis=-1, keepdims=True) < 0.0, -axis, axis)
    return signed


def _finite(name: str, value: ArrayLike, shape: tuple[int, ...]) -> Floats:
    array = np.asarray(value, dtype=float)
    if array.shape != shape or not np.isfinite(array).all():
        raise RobolinError(
            f"{name}: must be finite numbers of shape {shape}, got shape {array.shape}"
        )
    return array


def _rotation(value: ArrayLike) -> Floats:
    R = _finite("rotation", value, (3, 3))
    if not (np.abs(R.T @ R - np.eye(3)).max() < _SQUARE_ENOUGH and np.linalg.det(R) > 0.0):
        raise RobolinError(
            "rotation: must be a rotation matrix", hint="check that RᵀR = 1 and det R = 1"
        )
    return R
