"""Result types of frame kinematics and closed loops, and torques in the joints that close loops."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from robolin.core.arm import Arm, Loop
from robolin.core.arrays import (
    Floats,
    Mask,
    as_joint_array,
    require_arm,
    require_loops,
    require_same_rows,
)
from robolin.core.notebook import DisplayMixin
from robolin.core.records import dataclass
from robolin.core.text import did_you_mean
from robolin.errors import RobolinError, UsageError
from robolin.evaluation.evaluate import evaluate


@dataclass(frozen=True, eq=False, repr=False)
class FrameJacobian(DisplayMixin):
    """Jacobian and pose: twist = jacobian q̇; classical acceleration = jacobian q̈ + J̇ q̇.

    Fields:
        jacobian: (..., 6, n), angular rows first, in rad/s and m/s per rad/s or m/s
        jacobian_rate_qd: J̇ q̇ (..., 6) in rad/s² and m/s²
        twist: angular velocity of the frame and velocity of its point (..., 6) in rad/s and m/s
        position: position of the point in the root frame (..., 3) in m
        rotation: axes of the frame as columns, in root axes (..., 3, 3)
        frame: name of the link, moving or merged

    Example:
        >>> arm = robolin.load("two-link")
        >>> q, qd = [0.3, -0.7], [0.5, -1.2]
        >>> robolin.jacobian(arm, q, qd, frame="tip").twist.round(4)
        array([ 0.    ,  0.    , -0.7   , -0.4204, -0.1671,  0.    ])
    """

    jacobian: Floats
    jacobian_rate_qd: Floats
    twist: Floats
    position: Floats
    rotation: Floats
    frame: str = ""


@dataclass(frozen=True, eq=False, repr=False)
class FrameMotion(DisplayMixin):
    """Pose, twist, and two accelerations [ẇ; linear], neither of which contains gravity.

    Fields:
        twist: angular velocity of the frame and velocity of its point (..., 6) in rad/s and m/s
        spatial_acceleration: rate of the twist at the current, fixed position of the point (..., 6)
            in rad/s² and m/s²
        classical_acceleration: the linear part is the acceleration of the moving point (..., 6)
        position: position of the point in the root frame (..., 3) in m
        rotation: axes of the frame as columns, in root axes (..., 3, 3)
        frame: name of the link, moving or merged

    Example:
        >>> arm = robolin.load("two-link")
        >>> q, qd = [0.3, -0.7], [0.5, -1.2]
        >>> robolin.frame_motion(arm, q, qd).classical_acceleration.round(4)
        array([ 0.    ,  0.    ,  0.    , -0.6902,  0.1169,  0.    ])
    """

    twist: Floats
    spatial_acceleration: Floats
    classical_acceleration: Floats
    position: Floats
    rotation: Floats
    frame: str = ""


@dataclass(frozen=True, eq=False, repr=False)
class FrameDerivatives(DisplayMixin):
    """Derivatives ∂/∂q and ∂/∂q̇ of the motion of a frame.

    Derivatives of twist and classical acceleration refer to the point that moves with the frame;
    spatial derivatives refer to a point that is fixed at its current position.
    Angular rows come first; units are those of the motion per rad or m, or per rad/s or m/s.

    Fields:
        dtwist_dq: (..., 6, n)
        dclassical_acceleration_dqd: (..., 6, n)
        dclassical_acceleration_dq: (..., 6, n)
        dspatial_velocity_dq: (..., 6, n)
        dspatial_acceleration_dqd: (..., 6, n)
        dspatial_acceleration_dq: (..., 6, n)
        frame: name of the link, moving or merged

    Example:
        >>> arm = robolin.load("two-link")
        >>> q, qd = [0.3, -0.7], [0.5, -1.2]
        >>> robolin.frame_derivatives(arm, q, qd).dtwist_dq[2:5].round(4)
        array([[ 0.    ,  0.    ],
               [ 0.1671,  0.6447],
               [-0.4204, -0.2726]])
    """

    dtwist_dq: Floats
    dclassical_acceleration_dqd: Floats
    dclassical_acceleration_dq: Floats
    dspatial_velocity_dq: Floats
    dspatial_acceleration_dqd: Floats
    dspatial_acceleration_dq: Floats
    frame: str = ""


@dataclass(frozen=True, eq=False, repr=False)
class LinkAccelerations(DisplayMixin):
    """Accelerations of the links' origins, base to tip, angular part first.

    Fields:
        link_acceleration: spatial accelerations (..., links, 6) in rad/s² and m/s²
        link_classical_acceleration: classical accelerations (..., links, 6) in rad/s² and m/s²

    Example:
        >>> arm = robolin.load("two-link")
        >>> q, qd = [0.3, -0.7], [0.5, -1.2]
        >>> robolin.link_accelerations(arm, q, qd).link_classical_acceleration.round(4)
        array([[ 0.    ,  0.    ,  0.    ,  0.    ,  0.    ,  0.    ],
               [ 0.    ,  0.    ,  0.    , -0.2388, -0.0739,  0.    ]])
    """

    link_acceleration: Floats
    link_classical_acceleration: Floats


@dataclass(frozen=True, eq=False, repr=False)
class OperationalSpace(DisplayMixin):
    """Operational-space dynamics at a frame: operational_inertia a + bias_wrench = F.

    a is the classical acceleration of the frame and F = [moment; force] an additional wrench on
    the arm at its point; for F = 0, a is free_acceleration.

    Fields:
        operational_inertia_inverse: (..., 6, 6) in 1/(kg·m²), 1/(kg·m) and 1/kg
        free_acceleration: (..., 6) in rad/s² and m/s²
        operational_inertia: (..., 6, 6) in kg·m², kg·m and kg; None if fewer than six joints move
            the frame, or if `inverse_only`
        bias_wrench: (..., 6) in N·m and N; None if operational_inertia is None
        frame: name of the link, moving or merged

    Example:
        >>> arm = robolin.load("ur5", tip="tool0")
        >>> felt = robolin.operational_space(arm, [0.3, -1.0, 1.2, 0.4, 0.9, 0.1])
        >>> np.diag(felt.operational_inertia).round(3)
        array([ 0.339,  0.249,  0.336, 10.175,  7.107,  4.169])
    """

    operational_inertia_inverse: Floats
    free_acceleration: Floats
    operational_inertia: Floats | None = None
    bias_wrench: Floats | None = None
    frame: str = ""


@dataclass(frozen=True, eq=False, repr=False)
class Closed(DisplayMixin):
    """A state that satisfies the loop constraints.

    Fields:
        q: positions (..., n) in rad or m
        qd: velocities (..., n) in rad/s or m/s

    Example:
        >>> arm = robolin.load("four-bar")
        >>> state = robolin.close(arm, [0.5, 0, 0], hold="drive")
        >>> state.q.round(4)
        array([ 0.5   , -0.4758,  0.2549])
    """

    q: Floats
    qd: Floats


@dataclass(frozen=True, eq=False, repr=False)
class ClosedChange(DisplayMixin):
    """A small change of state that satisfies the linearized loop constraints.

    Fields:
        dq: change of q (..., n) in rad or m
        dqd: change of qd (..., n) in rad/s or m/s

    Example:
        >>> arm = robolin.load("four-bar")
        >>> state = robolin.close(arm, [0.5, 0, 0], hold="drive")
        >>> robolin.close_change(arm, state.q, dq=[0.01, 0, 0], hold="drive").dq.round(4)
        array([ 0.01  , -0.0091,  0.0051])
    """

    dq: Floats
    dqd: Floats


@dataclass(frozen=True, eq=False, repr=False)
class LoopConstraints(DisplayMixin):
    """Loop constraints at a state: L q̈ = bias, with the violation and its rate L q̇.

    Fields:
        open_by: constraint violation of each equation (..., m) in m or rad
        opening: L q̇ (..., m) in m/s or rad/s
        jacobian: L (..., m, n) in m or rad per rad or m
        bias: -L̇ q̇ (..., m) in m/s² or rad/s²
        rows: names of the m equations: closure and component

    Example:
        >>> arm = robolin.load("four-bar")
        >>> state = robolin.close(arm, [0.5, 0, 0], hold="drive")
        >>> robolin.loop_constraints(arm, state.q).rows
        ('pin/fx', 'pin/fy', 'pin/fz')
    """

    open_by: Floats
    opening: Floats
    jacobian: Floats
    bias: Floats
    rows: tuple[str, ...]


@dataclass(frozen=True, eq=False, repr=False)
class LoopForces(DisplayMixin):
    """Forward dynamics with loops: 𝓜 q̈ + C = τ + Lᵀ λ.

    Fields:
        qdd: accelerations (..., n) in rad/s² or m/s²
        lam: constraint forces (..., m) on the first frame of each closure, in world axes: force in
            N, and moment in N·m if rigid; the second frame receives the opposite force
        rank: number of independent equations (...)
        kept: (..., m), True for independent equations; λ of redundant equations is 0
        rows: names of the m equations: closure and component

    Example:
        >>> arm = robolin.load("four-bar")
        >>> state = robolin.close(arm, [0.5, 0, 0], hold="drive")
        >>> robolin.loop_forces(arm, state.q).lam.round(4)
        array([-1.4621,  5.9577,  0.    ])
    """

    qdd: Floats
    lam: Floats
    rank: Floats
    kept: Mask
    rows: tuple[str, ...]

    @property
    def wrenches(self) -> dict[str, Floats]:
        """Components of lam of each closure: (..., 3) or (..., 6)."""
        names = [row.rsplit("/", 1)[0] for row in self.rows]
        return {
            name: self.lam[..., [i for i, other in enumerate(names) if other == name]]
            for name in dict.fromkeys(names)
        }


@dataclass(frozen=True, eq=False, repr=False)
class LinearizedLoops(DisplayMixin):
    """Linear model q̈ ≈ qdd + dqdd_dtau δτ + dqdd_dqd δq̇ + dqdd_dq δq, and a model of λ.

    The model is valid for changes that satisfy the constraints: L δq = 0, and L δq̇ = -δL q̇.

    Fields:
        qdd: accelerations (..., n) in rad/s² or m/s²
        dqdd_dtau: (..., n, n), rad/s² per N·m
        dqdd_dqd: (..., n, n) in 1/s
        dqdd_dq: (..., n, n) in 1/s²
        lam: constraint forces (..., m) on the first frame of each closure, in world axes: force in
            N, and moment in N·m if rigid; the second frame receives the opposite force
        dlam_dtau: (..., m, n), N per N·m
        dlam_dqd: (..., m, n) in N·s/rad
        dlam_dq: (..., m, n) in N/rad
        rank: number of independent equations (...)
        kept: (..., m), True for independent equations; λ of redundant equations is 0
        rows: names of the m equations: closure and component
        q: positions of the operating point (..., n) in rad or m
        qd: velocities of the operating point (..., n) in rad/s or m/s
        tau: torques of the operating point (..., n) in N·m or N

    Example:
        >>> arm = robolin.load("four-bar")
        >>> state = robolin.close(arm, [0.5, 0, 0], hold="drive")
        >>> robolin.linearize_loops(arm, state.q).dlam_dq.shape
        (3, 3)
    """

    qdd: Floats
    dqdd_dtau: Floats
    dqdd_dqd: Floats
    dqdd_dq: Floats
    lam: Floats
    dlam_dtau: Floats
    dlam_dqd: Floats
    dlam_dq: Floats
    rank: Floats
    kept: Mask
    rows: tuple[str, ...]
    q: Floats
    qd: Floats
    tau: Floats


WRENCH = 6


def loop_joint_torques(arm: Arm, q: ArrayLike, wrenches: Mapping[str, ArrayLike]) -> Floats:
    """Tree-joint torques equivalent to motors, springs or brakes in loop-closing joints.

    A wrench w between the two frames of a closure has the same power as the joint torques
    τ_a = (J₁ - J₂)* w.  Add them to `tau` of `forward`, `loop_forces` and other functions;
    components along constrained directions change only the constraint forces.

    Args:
        arm: the arm, from `robolin.load`, with loops
        q: positions (..., n) in rad or m, in the order of `arm.joint_names`
        wrenches: by loop name, moment and force (..., 6) in N·m and N, in world axes at the
            closure, on its first frame; the second frame receives the opposite

    Returns:
        torques (..., n) in N·m, or forces in N for prismatic joints

    Raises:
        RobolinError: an arm without loops, a shape that does not fit, a value that is not finite
        UsageError: `arm` is not an `Arm`, or an unknown loop

    Example:
        >>> arm = robolin.load("four-bar")
        >>> state = robolin.close(arm, [0.5, 0, 0], hold="drive")
        >>> robolin.loop_joint_torques(arm, state.q, {"pin": [0, 0, 2.0, 0, 0, 0]}).round(3) + 0.0
        array([ 2.,  2., -2.])
    """
    require_arm(arm)
    require_loops(arm)
    positions = as_joint_array(arm, "q", q)
    if not isinstance(wrenches, Mapping):
        raise UsageError(f"wrenches: must be a mapping from loop names, got {wrenches!r}")
    require_same_rows({"q": q, **{f"wrench '{name}'": wrench for name, wrench in wrenches.items()}})
    loops = {loop.name: loop for loop in arm.loops}
    torques: Floats = np.zeros_like(positions)
    for name, wrench in wrenches.items():
        if name not in loops:
            hint = did_you_mean(name, list(loops), f"loops: {', '.join(loops)}")
            raise UsageError(f"loop '{name}' not found", hint=hint)
        J = _relative_jacobian(arm, positions, loops[name])
        torques = torques + np.einsum("...ij,...i->...j", J, _wrench(name, wrench))
    return torques


def _relative_jacobian(arm: Arm, q: Floats, loop: Loop) -> Floats:
    """Relative Jacobian J₁ - J₂ (..., 6, n) of the first frame with respect to the second."""
    first, second = (
        evaluate(replace(arm, tip=frame), "jacobian", {"q": q, "qd": 0.0})["jacobian"]
        for frame in (loop.first, loop.second)
    )
    difference: Floats = first - second
    return difference


def _wrench(name: str, wrench: ArrayLike) -> Floats:
    values = np.asarray(wrench, dtype=float)
    if values.shape[-1:] != (WRENCH,):
        raise RobolinError(
            f"loop '{name}': the wrench must have 6 numbers, got shape {values.shape}",
            hint="pass mx, my, mz in N·m, then fx, fy, fz in N",
        )
    if not np.isfinite(values).all():
        raise RobolinError(f"loop '{name}': the wrench must be finite")
    return values
