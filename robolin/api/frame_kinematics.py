"""Frames in Python: Jacobians, motion, its derivatives, and the arm as it feels at one place.

Spatial vectors have their angular part first.  They belong to a point of a frame and are in world
axes, the axes of the description's root, unless `reference` says otherwise; positions are in the
root's frame.  Every function takes arrays of shape (..., n), whose leading axes broadcast, and

frame: a link of the description, moving or merged; by default the tip, or the only end if that
       leaves no choice
point: a place in that frame, three numbers in m
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from robolin.api.frame_results import (
    FrameDerivatives,
    FrameJacobian,
    FrameMotion,
    LinkAccelerations,
    OperationalSpace,
)
from robolin.api.run_options import run_options
from robolin.core.arm import ORIGIN, Arm
from robolin.core.arrays import Floats, JointValues
from robolin.core.choices import REFERENCES, FrameReference, LoopMethod
from robolin.errors import UsageError
from robolin.evaluation.evaluate import Engine, evaluate
from robolin.evaluation.frames import at_frame, drop_virtual_links, in_frame_axes, joints_to_frame
from robolin.evaluation.methods import Method

# a wrench has six directions, and so many joints it takes to move a frame in all of them
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
    loop_method: LoopMethod | None = None,
) -> FrameJacobian:
    """The Jacobian of a frame, J̇ q̇, its twist, and where the frame is.

    Args:
        arm: the arm, from `robolin.load`
        q: positions (..., n) in rad or m, in the order of `arm.joint_names`
        qd: velocities (..., n) in rad/s or m/s
        frame: a link of the description, moving or merged; None for the tip, or the only end; where
            several are on the last link, one has to be named
        point: a place in that frame, three numbers in m
        reference: axes of all vectors: "world", those of the root link, or "frame", those it has
            now
        method: "auto"; there is one algorithm for this, so no other word changes anything
        engine: "auto", "python" or "compiled": what runs it; every bit of the result is the same
        jobs: threads for many states; None takes one per processor
        loop_method: no effect here; motion alone does not depend on it

    Returns:
        a `FrameJacobian`

    Raises:
        RobolinError: a shape that does not fit the arm, a value that is not finite
        UsageError: no arm, no such link, a choice and no frame, a point that is not three
            numbers, or a method, engine or number of jobs that does not exist

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
    how = run_options(method, engine, jobs, loop_method)
    placed = at_frame(arm, frame, point)
    found = evaluate(placed, "jacobian", {"q": q, "qd": qd}, **how)
    return FrameJacobian(**_in_axes(reference, found), frame=_name(placed))


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
    loop_method: LoopMethod | None = None,
) -> FrameMotion:
    """Pose, velocity and accelerations of a frame.

    Args:
        arm: the arm, from `robolin.load`
        q: positions (..., n) in rad or m, in the order of `arm.joint_names`
        qd: velocities (..., n) in rad/s or m/s
        qdd: accelerations (..., n) in rad/s² or m/s²
        frame: a link of the description, moving or merged; None for the tip, or the only end; where
            several are on the last link, one has to be named
        point: a place in that frame, three numbers in m
        method: "auto"; there is one algorithm for this, so no other word changes anything
        engine: "auto", "python" or "compiled": what runs it; every bit of the result is the same
        jobs: threads for many states; None takes one per processor
        loop_method: no effect here; motion alone does not depend on it

    Returns:
        a `FrameMotion`

    Raises:
        RobolinError: a shape that does not fit the arm, a value that is not finite
        UsageError: no arm, no such link, a choice and no frame, a point that is not three
            numbers, or a method, engine or number of jobs that does not exist

    Example:
        >>> arm = robolin.load("two-link")
        >>> q, qd = [0.3, -0.7], [0.5, -1.2]
        >>> moving = robolin.frame_motion(arm, q, qd, frame="tip", point=(0.1, 0, 0))
        >>> moving.twist.round(4)
        array([ 0.    ,  0.    , -0.7   , -0.4476, -0.2315,  0.    ])
    """
    how = run_options(method, engine, jobs, loop_method)
    values = {"q": q, "qd": qd, "qdd": qdd}
    placed = at_frame(arm, frame, point)
    return FrameMotion(**evaluate(placed, "frame-motion", values, **how), frame=_name(placed))


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
    loop_method: LoopMethod | None = None,
) -> FrameDerivatives:
    """How a frame's motion changes with q and q̇, exact.

    With q̇ and q̈ its twist and its accelerations change by the Jacobian.

    Args:
        arm: the arm, from `robolin.load`
        q: positions (..., n) in rad or m, in the order of `arm.joint_names`
        qd: velocities (..., n) in rad/s or m/s
        qdd: accelerations (..., n) in rad/s² or m/s²
        frame: a link of the description, moving or merged; None for the tip, or the only end; where
            several are on the last link, one has to be named
        point: a place in that frame, three numbers in m
        method: "auto"; there is one algorithm for this, so no other word changes anything
        engine: "auto", "python" or "compiled": what runs it; every bit of the result is the same
        jobs: threads for many states; None takes one per processor
        loop_method: no effect here; motion alone does not depend on it

    Returns:
        a `FrameDerivatives`

    Raises:
        RobolinError: a shape that does not fit the arm, a value that is not finite
        UsageError: no arm, no such link, a choice and no frame, a point that is not three
            numbers, or a method, engine or number of jobs that does not exist

    Example:
        >>> arm = robolin.load("two-link")
        >>> q, qd = [0.3, -0.7], [0.5, -1.2]
        >>> found = robolin.frame_derivatives(arm, q, qd, frame="tip")
        >>> found.dclassical_acceleration_dqd[3:5].round(4)
        array([[ 0.3341,  1.2895],
               [-0.8407, -0.5452]])
    """
    how = run_options(method, engine, jobs, loop_method)
    values = {"q": q, "qd": qd, "qdd": qdd}
    placed = at_frame(arm, frame, point)
    found = evaluate(placed, "frame-derivatives", values, **how)
    return FrameDerivatives(**found, frame=_name(placed))


def link_accelerations(
    arm: Arm,
    q: JointValues,
    qd: JointValues = 0.0,
    qdd: JointValues = 0.0,
    *,
    method: Method = "auto",
    engine: Engine = "auto",
    jobs: int | None = None,
    loop_method: LoopMethod | None = None,
) -> LinkAccelerations:
    """Accelerations of all links, in the order of `arm.link_names`.

    Args:
        arm: the arm, from `robolin.load`
        q: positions (..., n) in rad or m, in the order of `arm.joint_names`
        qd: velocities (..., n) in rad/s or m/s
        qdd: accelerations (..., n) in rad/s² or m/s²
        method: "auto"; there is one algorithm for this, so no other word changes anything
        engine: "auto", "python" or "compiled": what runs it; every bit of the result is the same
        jobs: threads for many states; None takes one per processor
        loop_method: no effect here; motion alone does not depend on it

    Returns:
        a `LinkAccelerations`

    Raises:
        RobolinError: a shape that does not fit the arm, a value that is not finite
        UsageError: no arm, or a method, engine or number of jobs that does not exist

    Example:
        >>> arm = robolin.load("two-link")
        >>> q, qd = [0.3, -0.7], [0.5, -1.2]
        >>> robolin.link_accelerations(arm, q, qd, qdd=1.0).link_acceleration.shape
        (2, 6)
        >>> arm.link_names
        ('upper', 'lower')
    """
    how = run_options(method, engine, jobs, loop_method)
    found = evaluate(arm, "link-accelerations", {"q": q, "qd": qd, "qdd": qdd}, **how)
    return LinkAccelerations(
        **{name: drop_virtual_links(arm, ("link", 6), values) for name, values in found.items()}
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
    loop_method: LoopMethod | None = None,
) -> OperationalSpace:
    """Inertia and bias of the arm as felt at a frame, in O(n).

    Args:
        arm: the arm, from `robolin.load`
        q: positions (..., n) in rad or m, in the order of `arm.joint_names`
        qd: velocities (..., n) in rad/s or m/s
        tau: torques (..., n) in N·m, or forces in N
        frame: a link of the description, moving or merged; None for the tip, or the only end; where
            several are on the last link, one has to be named
        point: a place in that frame, three numbers in m
        reference: axes of all vectors: "world", those of the root link, or "frame", those it has
            now
        inverse_only: leave out what does not exist in a singular pose
        method: "auto", the recursion, or elimination where joints mimic others; "operator" and
            "conventional" ask for the one or the other
        engine: "auto", "python" or "compiled": what runs it; every bit of the result is the same
        jobs: threads for many states; None takes one per processor
        loop_method: refused here; it is for the forward dynamics of closed loops

    Returns:
        an `OperationalSpace`

    Raises:
        RobolinError: a shape that does not fit the arm, a value that is not finite, a singular
            pose unless `inverse_only`, a joint without inertia, or closed loops
        UsageError: no arm, no such link, a choice and no frame, a point that is not three
            numbers, or a method, engine or number of jobs that does not exist

    Example:
        >>> arm = robolin.load("ur5", tip="tool0")
        >>> felt = robolin.operational_space(arm, [0.3, -1.0, 1.2, 0.4, 0.9, 0.1])
        >>> bool(np.allclose(felt.operational_inertia @ felt.free_acceleration, -felt.bias_wrench))
        True
    """
    how = run_options(method, engine, jobs, loop_method)
    placed = at_frame(arm, frame, point)
    spans = joints_to_frame(placed) >= DIRECTIONS
    verb = "operational-space" if spans and not inverse_only else "operational-space-inverse"
    found = evaluate(placed, verb, {"q": q, "qd": qd, "tau": tau}, **how)
    turned = _in_axes(reference, found)
    del turned["rotation"]
    return OperationalSpace(**turned, frame=_name(placed))


def _name(placed: Arm) -> str:
    assert placed.tip is not None, "there is a frame in question"
    return placed.tip.name


def _in_axes(reference: str, found: Mapping[str, Floats]) -> dict[str, Floats]:
    if reference not in REFERENCES:
        hint = "'world' or 'frame'"
        raise UsageError(f"there is no reference '{reference}'", hint=hint)
    return in_frame_axes(found) if reference == "frame" else dict(found)
