"""Results of frame kinematics."""

from __future__ import annotations

from dataclasses import dataclass

from robolin.core.arrays import Floats
from robolin.core.notebook import DisplayMixin


@dataclass(frozen=True, eq=False, repr=False)
class FrameJacobian(DisplayMixin):
    """twist = jacobian q̇, classical acceleration = jacobian q̈ + jacobian_rate_qd; and the pose.

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
    """∂/∂q and ∂/∂q̇ of a frame's motion.

    Derivatives of twist and classical acceleration belong to the point that moves with the frame;
    spatial derivatives belong to a point that is fixed at its current position.
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
        bias_wrench: (..., 6) in N·m and N; None if operational_inertia is
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
