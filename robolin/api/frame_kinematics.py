"""Kinematics of frames and of the centre of mass: Jacobians, motion, operational space.

Spatial vectors have their angular part first.  They belong to a point of a frame and are in world
axes, the axes of the root link, unless `reference` selects others; positions are in the root
frame.  Every function takes arrays of shape (..., n), whose leading axes broadcast.

frame: name of a link, moving or merged; by default the tip, or the only end link if that
       leaves no choice
point: coordinates of a point in that frame, three numbers in m
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from numpy.typing import ArrayLike

from robolin.api.result_types import (
    FrameDerivatives,
    FrameJacobian,
    FrameMotion,
    LinkAccelerations,
    OperationalSpace,
)
from robolin.api.run_options import run_options
from robolin.core.arm import ORIGIN, Arm
from robolin.core.arrays import Floats, JointValues, require_arm
from robolin.core.choices import REFERENCES, DType, FrameReference
from robolin.core.notebook import DisplayMixin
from robolin.core.records import dataclass
from robolin.dynamics.algebra.scalar import float_sum
from robolin.errors import RobolinError, UsageError
from robolin.evaluation.evaluate import Engine, evaluate
from robolin.evaluation.frames import at_frame, drop_virtual_links, in_frame_axes, joints_to_frame
from robolin.evaluation.methods import Method

# a wrench has six components, and at least six joints are needed to move a frame in all of them
DIRECTIONS = 6


def jacobian(
    arm: Arm,
    q: JointValues,
    qd: JointValues = 0.0,
    *,
    frame: str | None = None,
    point: Sequence[float] = ORIGIN,
    reference: FrameReference = "world",
    method: Method = "auto",
    engine: Engine = "auto",
    jobs: int | None = None,
    dtype: DType = "float64",
) -> FrameJacobian:
    """Jacobian, J̇ q̇, twist and pose of a frame.

    Args:
        arm: the arm, from `robolin.load`
        q: positions (..., n) in rad or m, in the order of `arm.joint_names`
        qd: velocities (..., n) in rad/s or m/s
        frame: name of a link, moving or merged; None for the tip or the only end link; required if
            the last link has several frames
        point: coordinates of a point in that frame (3,) in m
        reference: axes of all vectors: "world" for the axes of the root link, or "frame" for
            the current axes of the frame
        method: "auto"; no effect, because there is only one algorithm
        engine: "auto", "python" or "compiled"; results are bit-identical
        jobs: number of threads for batches; None for one thread per processor
        dtype: "float64", or "float32" for single precision: faster and less accurate

    Returns:
        a `FrameJacobian`

    Raises:
        RobolinError: an array with the wrong shape, a value that is not finite
        UsageError: `arm` is not an `Arm`, an unknown link, an ambiguous frame, a point that is not
            three numbers, or an invalid method, engine or number of jobs

    Example:
        >>> arm = robolin.load("two-link")
        >>> q, qd = [0.3, -0.7], [0.5, -1.2]
        >>> at = robolin.jacobian(arm, q, qd, frame="tip")
        >>> at.position.round(4)
        array([ 1.8764, -0.0939,  0.    ])
        >>> at.jacobian[3:5].round(4)
        array([[0.0939, 0.3894],
               [1.8764, 0.9211]])
    """
    options = run_options(method, engine, jobs, dtype=dtype)
    placed = at_frame(arm, frame, point)
    result = evaluate(placed, "jacobian", {"q": q, "qd": qd}, **options)
    return FrameJacobian(**_in_axes(reference, result), frame=_name(placed))


def frame_motion(
    arm: Arm,
    q: JointValues,
    qd: JointValues = 0.0,
    qdd: JointValues = 0.0,
    *,
    frame: str | None = None,
    point: Sequence[float] = ORIGIN,
    method: Method = "auto",
    engine: Engine = "auto",
    jobs: int | None = None,
    dtype: DType = "float64",
) -> FrameMotion:
    """Pose, velocity and accelerations of a frame.

    Args:
        arm: the arm, from `robolin.load`
        q: positions (..., n) in rad or m, in the order of `arm.joint_names`
        qd: velocities (..., n) in rad/s or m/s
        qdd: accelerations (..., n) in rad/s² or m/s²
        frame: name of a link, moving or merged; None for the tip or the only end link; required if
            the last link has several frames
        point: coordinates of a point in that frame (3,) in m
        method: "auto"; no effect, because there is only one algorithm
        engine: "auto", "python" or "compiled"; results are bit-identical
        jobs: number of threads for batches; None for one thread per processor
        dtype: "float64", or "float32" for single precision: faster and less accurate

    Returns:
        a `FrameMotion`

    Raises:
        RobolinError: an array with the wrong shape, a value that is not finite
        UsageError: `arm` is not an `Arm`, an unknown link, an ambiguous frame, a point that is not
            three numbers, or an invalid method, engine or number of jobs

    Example:
        >>> arm = robolin.load("two-link")
        >>> q, qd = [0.3, -0.7], [0.5, -1.2]
        >>> moving = robolin.frame_motion(arm, q, qd, frame="tip", point=(0.1, 0, 0))
        >>> moving.twist.round(4)
        array([ 0.    ,  0.    , -0.7   , -0.4476, -0.2315,  0.    ])
    """
    options = run_options(method, engine, jobs, dtype=dtype)
    values = {"q": q, "qd": qd, "qdd": qdd}
    placed = at_frame(arm, frame, point)
    return FrameMotion(**evaluate(placed, "frame-motion", values, **options), frame=_name(placed))


def frame_derivatives(
    arm: Arm,
    q: JointValues,
    qd: JointValues = 0.0,
    qdd: JointValues = 0.0,
    *,
    frame: str | None = None,
    point: Sequence[float] = ORIGIN,
    method: Method = "auto",
    engine: Engine = "auto",
    jobs: int | None = None,
    dtype: DType = "float64",
) -> FrameDerivatives:
    """Derivatives of a frame's motion with respect to q and q̇, exact.

    The Jacobian is the derivative of the twist with respect to q̇, and of the accelerations with
    respect to q̈.

    Args:
        arm: the arm, from `robolin.load`
        q: positions (..., n) in rad or m, in the order of `arm.joint_names`
        qd: velocities (..., n) in rad/s or m/s
        qdd: accelerations (..., n) in rad/s² or m/s²
        frame: name of a link, moving or merged; None for the tip or the only end link; required if
            the last link has several frames
        point: coordinates of a point in that frame (3,) in m
        method: "auto"; no effect, because there is only one algorithm
        engine: "auto", "python" or "compiled"; results are bit-identical
        jobs: number of threads for batches; None for one thread per processor
        dtype: "float64", or "float32" for single precision: faster and less accurate

    Returns:
        a `FrameDerivatives`

    Raises:
        RobolinError: an array with the wrong shape, a value that is not finite
        UsageError: `arm` is not an `Arm`, an unknown link, an ambiguous frame, a point that is not
            three numbers, or an invalid method, engine or number of jobs

    Example:
        >>> arm = robolin.load("two-link")
        >>> q, qd = [0.3, -0.7], [0.5, -1.2]
        >>> found = robolin.frame_derivatives(arm, q, qd, frame="tip")
        >>> found.dclassical_acceleration_dqd[3:5].round(4)
        array([[ 0.3341,  1.2895],
               [-0.8407, -0.5452]])
    """
    options = run_options(method, engine, jobs, dtype=dtype)
    values = {"q": q, "qd": qd, "qdd": qdd}
    placed = at_frame(arm, frame, point)
    result = evaluate(placed, "frame-derivatives", values, **options)
    return FrameDerivatives(**result, frame=_name(placed))


def link_accelerations(
    arm: Arm,
    q: JointValues,
    qd: JointValues = 0.0,
    qdd: JointValues = 0.0,
    *,
    method: Method = "auto",
    engine: Engine = "auto",
    jobs: int | None = None,
    dtype: DType = "float64",
) -> LinkAccelerations:
    """Accelerations of all links, in the order of `arm.link_names`.

    Args:
        arm: the arm, from `robolin.load`
        q: positions (..., n) in rad or m, in the order of `arm.joint_names`
        qd: velocities (..., n) in rad/s or m/s
        qdd: accelerations (..., n) in rad/s² or m/s²
        method: "auto"; no effect, because there is only one algorithm
        engine: "auto", "python" or "compiled"; results are bit-identical
        jobs: number of threads for batches; None for one thread per processor
        dtype: "float64", or "float32" for single precision: faster and less accurate

    Returns:
        a `LinkAccelerations`

    Raises:
        RobolinError: an array with the wrong shape, a value that is not finite
        UsageError: `arm` is not an `Arm`, or an invalid method, engine or number of jobs

    Example:
        >>> arm = robolin.load("two-link")
        >>> q, qd = [0.3, -0.7], [0.5, -1.2]
        >>> robolin.link_accelerations(arm, q, qd, qdd=1.0).link_acceleration.shape
        (2, 6)
        >>> arm.link_names
        ('upper', 'lower')
    """
    options = run_options(method, engine, jobs, dtype=dtype)
    result = evaluate(arm, "link-accelerations", {"q": q, "qd": qd, "qdd": qdd}, **options)
    return LinkAccelerations(
        **{name: drop_virtual_links(arm, ("link", 6), values) for name, values in result.items()}
    )


def operational_space(
    arm: Arm,
    q: JointValues,
    qd: JointValues = 0.0,
    tau: JointValues = 0.0,
    *,
    frame: str | None = None,
    point: Sequence[float] = ORIGIN,
    reference: FrameReference = "world",
    inverse_only: bool = False,
    method: Method = "auto",
    engine: Engine = "auto",
    jobs: int | None = None,
    dtype: DType = "float64",
) -> OperationalSpace:
    """Operational-space inertia and bias of the arm at a frame, in O(n).

    Args:
        arm: the arm, from `robolin.load`
        q: positions (..., n) in rad or m, in the order of `arm.joint_names`
        qd: velocities (..., n) in rad/s or m/s
        tau: torques (..., n) in N·m, or forces in N
        frame: name of a link, moving or merged; None for the tip or the only end link; required if
            the last link has several frames
        point: coordinates of a point in that frame (3,) in m
        reference: axes of all vectors: "world" for the axes of the root link, or "frame" for
            the current axes of the frame
        inverse_only: omit the arrays that do not exist in a singular pose
        method: "auto" for the recursion, or elimination with mimic joints; "operator" and
            "conventional" select one of them
        engine: "auto", "python" or "compiled"; results are bit-identical
        jobs: number of threads for batches; None for one thread per processor
        dtype: "float64", or "float32" for single precision: faster and less accurate

    Returns:
        an `OperationalSpace`

    Raises:
        RobolinError: an array with the wrong shape, a value that is not finite, a singular
            pose unless `inverse_only`, a joint without inertia, or closed loops
        UsageError: `arm` is not an `Arm`, an unknown link, an ambiguous frame, a point that is not
            three numbers, or an invalid method, engine or number of jobs

    Example:
        >>> arm = robolin.load("ur5", tip="tool0")
        >>> felt = robolin.operational_space(arm, [0.3, -1.0, 1.2, 0.4, 0.9, 0.1])
        >>> bool(np.allclose(felt.operational_inertia @ felt.free_acceleration, -felt.bias_wrench))
        True
    """
    options = run_options(method, engine, jobs, dtype=dtype)
    placed = at_frame(arm, frame, point)
    spans = joints_to_frame(placed) >= DIRECTIONS
    verb = "operational-space" if spans and not inverse_only else "operational-space-inverse"
    result = evaluate(placed, verb, {"q": q, "qd": qd, "tau": tau}, **options)
    in_axes = _in_axes(reference, result)
    del in_axes["rotation"]
    return OperationalSpace(**in_axes, frame=_name(placed))


def _name(placed: Arm) -> str:
    assert placed.tip is not None, "the robot has a default frame"
    return placed.tip.name


def _in_axes(reference: str, result: Mapping[str, Floats]) -> dict[str, Floats]:
    if reference not in REFERENCES:
        hint = "use 'world' or 'frame'"
        raise UsageError(f"reference: must be 'world' or 'frame', got '{reference}'", hint=hint)
    return in_frame_axes(result) if reference == "frame" else dict(result)


@dataclass(frozen=True, eq=False, repr=False)
class Momentum(DisplayMixin):
    """com_velocity = com_jacobian q̇, and momentum = momentum_matrix q̇, about the centre of mass.

    Rates: d/dt(com_velocity) = com_jacobian q̈ + com_jacobian_rate_qd; momentum has the same form.
    All quantities refer to the moving links, in world axes; links fixed to the base and rotors do
    not contribute.

    Fields:
        mass: total mass of the moving links (...) in kg
        com: centre of mass of the moving links in the root frame (..., 3) in m
        com_velocity: (..., 3) in m/s
        com_jacobian: (..., 3, n) in m/s per rad/s or m/s
        com_jacobian_rate_qd: (..., 3) in m/s²
        momentum: angular about the centre of mass, then linear (..., 6) in N·m·s and N·s
        momentum_matrix: (..., 6, n), the centroidal momentum matrix
        momentum_matrix_rate_qd: (..., 6) in N·m and N

    Example:
        >>> arm = robolin.load("two-link")
        >>> robolin.momentum(arm, [0.3, -0.7]).com.round(4)
        array([0.9468, 0.1243, 0.    ])
    """

    mass: Floats
    com: Floats
    com_velocity: Floats
    com_jacobian: Floats
    com_jacobian_rate_qd: Floats
    momentum: Floats
    momentum_matrix: Floats
    momentum_matrix_rate_qd: Floats


def momentum(
    arm: Arm,
    q: ArrayLike,
    qd: ArrayLike = 0.0,
    *,
    method: Method = "auto",
    engine: Engine = "auto",
    jobs: int | None = None,
    dtype: DType = "float64",
) -> Momentum:
    """Centre of mass, its Jacobian, and the momentum about the centre of mass.

    Args:
        arm: the arm, from `robolin.load`
        q: positions (..., n) in rad or m, in the order of `arm.joint_names`
        qd: velocities (..., n) in rad/s or m/s
        method: "auto"; no effect, because there is only one algorithm
        engine: "auto", "python" or "compiled"; results are bit-identical
        jobs: number of threads for batches; None for one thread per processor
        dtype: "float64", or "float32" for single precision: faster and less accurate

    Returns:
        a `Momentum`

    Raises:
        RobolinError: an array with the wrong shape, a value that is not finite, or an arm
            whose moving links have no mass
        UsageError: `arm` is not an `Arm`, or an invalid method, engine or number of jobs

    Example:
        >>> arm = robolin.load("two-link")
        >>> found = robolin.momentum(arm, [0.3, -0.7], [0.5, -1.2])
        >>> found.momentum.round(4)
        array([ 0.    ,  0.    , -0.0608, -0.3579,  0.3941,  0.    ])
        >>> (found.com_jacobian @ [0.5, -1.2] * found.mass).round(4)
        array([-0.3579,  0.3941,  0.    ])
    """
    options = run_options(method, engine, jobs, dtype=dtype)
    require_arm(arm)
    require_mass(arm)
    return Momentum(**evaluate(arm, "momentum", {"q": q, "qd": qd}, **options))


def require_mass(arm: Arm) -> None:
    """Raise if the moving links have no mass."""
    if float_sum(link.inertia.mass for link in arm.links) <= 0.0:
        raise RobolinError(
            "the centre of mass is undefined: no moving link has mass",
            where=arm.source,
            hint="add an <inertial> (URDF) or a mass (YAML) to the links",
        )
