"""Frames in Python: Jacobians, motion, its derivatives, and the arm as it feels at one place.

Spatial vectors have their angular part first.  They belong to a point of a frame and are in world
axes, the axes of the description's root, unless `reference` says otherwise; positions are in the
root's frame.  Every function takes arrays of shape (..., n), whose leading axes broadcast, and

frame: a link of the description, moving or merged; by default the tip, or the only end there is
point: a place in that frame, three numbers in m
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Unpack

from numpy.typing import ArrayLike

from robolin.arm import ORIGIN, Arm
from robolin.errors import UsageError
from robolin.evaluation.evaluate import How, evaluate
from robolin.input_checks import Array
from robolin.kinematics.frame_axes import in_frame_axes, of_real_links
from robolin.kinematics.frames import at_frame, joints_between

Reference = Literal["world", "frame"]
REFERENCES = ("world", "frame")

# a wrench has six directions, and so many joints it takes to move a frame in all of them
DIRECTIONS = 6


@dataclass(frozen=True)
class FrameJacobian:
    """twist = jacobian q̇, classical acceleration = jacobian q̈ + jacobian_rate_qd, and the pose.

    twist: angular velocity of the frame, and velocity of its point
    """

    jacobian: Array
    jacobian_rate_qd: Array
    twist: Array
    position: Array
    rotation: Array


@dataclass(frozen=True)
class FrameMotion:
    """Pose, twist, and two accelerations [ẇ; linear], neither of which contains gravity.

    spatial_acceleration:   the rate of the twist at the place where the point is now
    classical_acceleration: the linear part is that of the point itself, w x v more
    """

    twist: Array
    spatial_acceleration: Array
    classical_acceleration: Array
    position: Array
    rotation: Array


@dataclass(frozen=True)
class FrameDerivatives:
    """∂/∂q and ∂/∂q̇ of a frame's motion, each (..., 6, n).

    dtwist…, dclassical…: of the point that moves along with the frame
    dspatial…:            referred to the place where the point is now, which stays
    """

    dtwist_dq: Array
    dclassical_acceleration_dqd: Array
    dclassical_acceleration_dq: Array
    dspatial_velocity_dq: Array
    dspatial_acceleration_dqd: Array
    dspatial_acceleration_dq: Array


@dataclass(frozen=True)
class LinkAccelerations:
    """Spatial and classical accelerations (..., links, 6) of the links' origins, base to tip."""

    link_acceleration: Array
    link_classical_acceleration: Array


@dataclass(frozen=True)
class OperationalSpace:
    """operational_inertia a + bias_wrench = F.

    a is the classical acceleration of the frame, F = [moment; force] a wrench applied to the arm
    at its point, besides the torques and loads there are; without it, a is free_acceleration.
    The inertia and the bias are None where fewer than six joints move the frame.
    """

    operational_inertia_inverse: Array
    free_acceleration: Array
    operational_inertia: Array | None = None
    bias_wrench: Array | None = None


def jacobian(
    arm: Arm,
    q: ArrayLike,
    qd: ArrayLike = 0.0,
    *,
    frame: str | None = None,
    point: Sequence[float] = ORIGIN,
    reference: Reference = "world",
    **how: Unpack[How],
) -> FrameJacobian:
    """The Jacobian (..., 6, n) of a frame, J̇q̇, and where the frame is.

    reference: 'frame' writes all vectors in the axes that the frame has now
    """
    found = evaluate(at_frame(arm, frame, point), "jacobian", {"q": q, "qd": qd}, **how)
    return FrameJacobian(**_in_axes(reference, found))


def frame_motion(
    arm: Arm,
    q: ArrayLike,
    qd: ArrayLike = 0.0,
    qdd: ArrayLike = 0.0,
    *,
    frame: str | None = None,
    point: Sequence[float] = ORIGIN,
    **how: Unpack[How],
) -> FrameMotion:
    """Pose, velocity and accelerations of a frame."""
    values = {"q": q, "qd": qd, "qdd": qdd}
    return FrameMotion(**evaluate(at_frame(arm, frame, point), "frame-motion", values, **how))


def frame_derivatives(
    arm: Arm,
    q: ArrayLike,
    qd: ArrayLike = 0.0,
    qdd: ArrayLike = 0.0,
    *,
    frame: str | None = None,
    point: Sequence[float] = ORIGIN,
    **how: Unpack[How],
) -> FrameDerivatives:
    """How a frame's motion changes with q and q̇; with q̇ and q̈ its twist and accelerations change
    by the Jacobian."""
    values = {"q": q, "qd": qd, "qdd": qdd}
    found = evaluate(at_frame(arm, frame, point), "frame-derivatives", values, **how)
    return FrameDerivatives(**found)


def link_accelerations(
    arm: Arm, q: ArrayLike, qd: ArrayLike = 0.0, qdd: ArrayLike = 0.0, **how: Unpack[How]
) -> LinkAccelerations:
    """Accelerations of all links, in the order of arm.link_names."""
    found = evaluate(arm, "link-accelerations", {"q": q, "qd": qd, "qdd": qdd}, **how)
    return LinkAccelerations(
        **{name: of_real_links(arm, ("link", 6), values) for name, values in found.items()}
    )


def operational_space(
    arm: Arm,
    q: ArrayLike,
    qd: ArrayLike = 0.0,
    tau: ArrayLike = 0.0,
    *,
    frame: str | None = None,
    point: Sequence[float] = ORIGIN,
    reference: Reference = "world",
    inverse_only: bool = False,
    **how: Unpack[How],
) -> OperationalSpace:
    """Inertia and bias of the arm as felt at a frame, O(n).

    inverse_only: leave out what does not exist in a singular pose
    """
    placed = at_frame(arm, frame, point)
    spans = joints_between(placed) >= DIRECTIONS
    verb = "operational-space" if spans and not inverse_only else "operational-space-inverse"
    found = evaluate(placed, verb, {"q": q, "qd": qd, "tau": tau}, **how)
    turned = _in_axes(reference, found)
    del turned["rotation"]
    return OperationalSpace(**turned)


def _in_axes(reference: str, found: Mapping[str, Array]) -> dict[str, Array]:
    if reference not in REFERENCES:
        hint = "'world' or 'frame'"
        raise UsageError(f"there is no reference '{reference}'", hint=hint)
    return in_frame_axes(found) if reference == "frame" else dict(found)
