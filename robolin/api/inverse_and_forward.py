"""Torques for a motion, and the motion that torques make."""

from __future__ import annotations

from collections.abc import Mapping

from robolin.api.run_options import at_once, run_options
from robolin.core.arm import Arm
from robolin.core.array_checks import as_joint_array, require_arm, require_same_rows
from robolin.core.arrays import Floats, JointValues
from robolin.core.choices import LoopMethod
from robolin.errors import UsageError
from robolin.evaluation.dispatch import evaluate_arm
from robolin.evaluation.evaluate import Engine, RunOptions
from robolin.evaluation.methods import Method
from robolin.evaluation.prescribed_joints import (
    METHOD_NOT_SELECTABLE,
    JointsNamed,
    prescribed_accelerations,
    prescribed_joints,
    require_prescribed_inputs,
)


def inverse(
    arm: Arm,
    q: JointValues,
    qd: JointValues = 0.0,
    qdd: JointValues = 0.0,
    *,
    method: Method = "auto",
    engine: Engine = "auto",
    jobs: int | None = None,
    loop_method: LoopMethod | None = None,
) -> Floats:
    """The torques that a motion takes: 𝓜 q̈, Coriolis, weight, losses and loads.

    What is left out is 0, and one number stands for all joints; leading axes broadcast.

    Args:
        arm: the arm, from `robolin.load`
        q: positions (..., n) in rad or m, in the order of `arm.joint_names`
        qd: velocities (..., n) in rad/s or m/s
        qdd: accelerations (..., n) in rad/s² or m/s²
        method: "auto"; there is one algorithm for this, so no other word changes anything
        engine: "auto", "python" or "compiled": what runs it; every bit of the result is the same
        jobs: threads for many states; None takes one per processor
        loop_method: refused here; it is for the forward dynamics of closed loops

    Returns:
        torques (..., n) in N·m, forces in N where a joint slides

    Raises:
        RobolinError: a shape that does not fit the arm, a value that is not finite, or closed
            loops, whose torques are not unique
        UsageError: no arm, or a method, engine or number of jobs that does not exist

    Example:
        >>> arm = robolin.load("two-link")
        >>> robolin.inverse(arm, q=[0.3, -0.7], qd=[0.5, -1.2], qdd=[0.8, 0.4]).round(4)
        array([20.8844,  5.1432])
        >>> poses = np.linspace(-1.0, 1.0, 1000).reshape(500, 2)
        >>> robolin.inverse(arm, poses, qdd=1.0).shape
        (500, 2)
    """
    tau: Floats | None = at_once(arm, "inverse", method, engine, jobs, loop_method)(q, qd, qdd)
    if tau is not None:
        return tau
    how = run_options(method, engine, jobs, loop_method)
    return evaluate_arm(arm, "inverse", {"q": q, "qd": qd, "qdd": qdd}, **how)["tau"]


def forward(
    arm: Arm,
    q: JointValues,
    qd: JointValues = 0.0,
    tau: JointValues | str = 0.0,
    *,
    method: Method = "auto",
    engine: Engine = "auto",
    jobs: int | None = None,
    loop_method: LoopMethod | None = None,
    prescribe: JointsNamed | None = None,
    qdd: JointValues | None = None,
) -> Floats:
    """The accelerations that torques cause; closed loops stay closed.

    Args:
        arm: the arm, from `robolin.load`
        q: positions (..., n) in rad or m, in the order of `arm.joint_names`
        qd: velocities (..., n) in rad/s or m/s
        tau: torques (..., n) in N·m, or forces in N; "hold" for those that keep q̈ = 0
        method: "auto", "operator", "conventional", or a recursion: "a" … "d", "bias-free", …
        engine: "auto", "python" or "compiled": what runs it; every bit of the result is the same
        jobs: threads for many states; None takes one per processor
        loop_method: "null-space" (None), "kkt" or "schur": how closures are solved, if there are
            any
        prescribe: joints that move as told, such as "base" of an arm with a floating base,
            whatever torque that takes; `inverse` of the answer tells it
        qdd: their accelerations (..., n) in rad/s² or m/s², 0 for the others  [0]

    Returns:
        accelerations (..., n) in rad/s² or m/s²

    Raises:
        RobolinError: a shape that does not fit the arm, a value that is not finite, a joint
            without inertia, or a state off its closures
        UsageError: no arm, another word for tau, or a method, engine or number of jobs that does
            not exist

    Example:
        >>> arm = robolin.load("two-link")
        >>> tau = robolin.inverse(arm, [0.3, -0.7], [0.5, -1.2], [0.8, 0.4])
        >>> robolin.forward(arm, [0.3, -0.7], [0.5, -1.2], tau).round(4)
        array([0.8, 0.4])
        >>> cart = robolin.load("two-link", base_joint="planar")
        >>> robolin.forward(cart, 0.0, prescribe="base", qdd={"base:x": 9.81}).round(4)
        array([  9.81  ,   0.    ,   0.    , -12.6129,  16.8171])
    """
    if prescribe is not None or qdd is not None:
        how = run_options(method, engine, jobs, loop_method)
        told = prescribed_values(arm, {"q": q, "qd": qd, "tau": tau}, prescribe, qdd, how)
        return evaluate_arm(arm, "forward-prescribed", told, **how)["qdd"]
    found: Floats | None = at_once(arm, "forward", method, engine, jobs, loop_method)(q, qd, tau)
    if found is not None:
        return found
    how = run_options(method, engine, jobs, loop_method)
    values = {"q": q, "qd": qd, "tau": resolve_torque(arm, q, qd, tau, how)}
    return evaluate_arm(arm, "forward", values, **how)["qdd"]


def prescribed_values(
    arm: Arm,
    values: Mapping[str, JointValues | str],
    prescribe: JointsNamed | None,
    qdd: JointValues | None,
    how: RunOptions,
) -> dict[str, JointValues]:
    """The values of a state with its torques, and what the joints named are told to do.

    Torques that hold the arm are those of no other acceleration than the told ones.
    """
    require_arm(arm)
    if prescribe is None:
        hint = "prescribe= says which joints move as it tells"
        raise UsageError("has no effect without prescribe", where="qdd", hint=hint)
    if how.get("method", "auto") != "auto" or how.get("loop_method") is not None:
        raise UsageError(
            "cannot go together with prescribe", where="method", hint=METHOD_NOT_SELECTABLE
        )
    require_same_rows({**values, "qdd": qdd})
    driven = prescribed_joints(arm, prescribe)
    told = prescribed_accelerations(arm, driven, 0.0 if qdd is None else qdd)
    given = values["tau"]
    own = 0.0 if isinstance(given, str) else given
    require_prescribed_inputs(arm, driven, told, as_joint_array(arm, "tau", own))
    q, qd = values["q"], values["qd"]
    tau = resolve_torque(arm, q, qd, given, how, told)
    return {"q": q, "qd": qd, "tau": tau, "qdd": told, "prescribed": driven}


HOLD = "hold"


def resolve_torque(
    arm: Arm,
    q: JointValues,
    qd: JointValues,
    tau: JointValues | str,
    how: RunOptions,
    qdd: JointValues = 0.0,
) -> JointValues:
    """The torques, or those of q̈ = 0 or as given; on closed loops the closures bear nothing."""
    if not isinstance(tau, str):
        return tau
    require_arm(arm)
    if tau != HOLD:
        raise UsageError(f"tau is {tau!r}", hint="torques, or 'hold' for those that keep q̈ = 0")
    run: RunOptions = {"engine": how.get("engine", "auto"), "jobs": how.get("jobs")}
    verb = "hold" if arm.loops else "inverse"
    return evaluate_arm(arm, verb, {"q": q, "qd": qd, "qdd": qdd}, **run)["tau"]
