"""Inverse dynamics (torques of a motion) and forward dynamics (motion from torques)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from robolin.api.run_options import run_options
from robolin.core.arm import Arm
from robolin.core.arrays import Floats, JointValues, as_joint_array, require_arm, require_same_rows
from robolin.core.choices import DType, LoopMethod
from robolin.errors import UsageError
from robolin.evaluation.constant_inputs import (
    JointsNamed,
    prescribed_accelerations,
    prescribed_joints,
    require_prescribed_inputs,
)
from robolin.evaluation.evaluate import Engine, RunOptions, evaluate_arm
from robolin.evaluation.methods import METHOD_NOT_SELECTABLE, Method
from robolin.evaluation.quick_calls import (
    call_with_arrays,
    full_call,
    no_quick_call,
    with_quick_call,
)


def _quick_inverse(
    arm: Arm, q: Any, qd: Any = 0.0, qdd: Any = 0.0, *more: Any, **options: Any
) -> Floats:
    if not more and not options:
        try:
            quick = arm.cached_values["inverse"]
        except (AttributeError, KeyError):
            quick = no_quick_call
        tau: Floats | None = quick(q, qd, qdd)
        if tau is None:
            tau = call_with_arrays(quick, arm, q, qd, qdd)
        if tau is not None:
            return tau
    return full_call(_quick_inverse, (arm, q, qd, qdd, *more), options)


@with_quick_call(_quick_inverse)
def inverse(
    arm: Arm,
    q: JointValues,
    qd: JointValues = 0.0,
    qdd: JointValues = 0.0,
    *,
    method: Method = "auto",
    engine: Engine = "auto",
    jobs: int | None = None,
    dtype: DType = "float64",
) -> Floats:
    """Inverse dynamics: torques of a motion, with gravity, damping, friction and loads.

    Omitted arguments are 0, one number applies to all joints, and leading axes broadcast.

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
        torques (..., n) in N·m, forces in N for prismatic joints

    Raises:
        RobolinError: an array with the wrong shape, a value that is not finite, or closed
            loops, whose torques are not unique
        UsageError: `arm` is not an `Arm`, or an invalid method, engine or number of jobs

    Example:
        >>> arm = robolin.load("two-link")
        >>> robolin.inverse(arm, q=[0.3, -0.7], qd=[0.5, -1.2], qdd=[0.8, 0.4]).round(4)
        array([20.8844,  5.1432])
        >>> poses = np.linspace(-1.0, 1.0, 1000).reshape(500, 2)
        >>> robolin.inverse(arm, poses, qdd=1.0).shape
        (500, 2)
    """
    options = run_options(method, engine, jobs, dtype=dtype)
    return evaluate_arm(arm, "inverse", {"q": q, "qd": qd, "qdd": qdd}, **options)["tau"]


def _quick_forward(
    arm: Arm, q: Any, qd: Any = 0.0, tau: Any = 0.0, *more: Any, **options: Any
) -> Floats:
    if not more and not options:
        try:
            quick = arm.cached_values["forward"]
        except (AttributeError, KeyError):
            quick = no_quick_call
        qdd: Floats | None = quick(q, qd, tau)
        if qdd is None and quick is not no_quick_call:
            tau = resolve_torque(arm, q, qd, tau, {})
            qdd = call_with_arrays(quick, arm, q, qd, tau)
        if qdd is not None:
            return qdd
    return full_call(_quick_forward, (arm, q, qd, tau, *more), options)


@with_quick_call(_quick_forward)
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
    dtype: DType = "float64",
    prescribe: JointsNamed | None = None,
    qdd: JointValues | None = None,
) -> Floats:
    """Forward dynamics: accelerations from torques; loop constraints are satisfied.

    Args:
        arm: the arm, from `robolin.load`
        q: positions (..., n) in rad or m, in the order of `arm.joint_names`
        qd: velocities (..., n) in rad/s or m/s
        tau: torques (..., n) in N·m, or forces in N; "hold" for torques with q̈ = 0
        method: "auto", "operator", "conventional", or a recursion: "a" … "d", "bias-free", …
        engine: "auto", "python" or "compiled"; results are bit-identical
        jobs: number of threads for batches; None for one thread per processor
        loop_method: solver of the loop constraints: "null-space" (None), "kkt" or "schur"; no
            effect without loops
        dtype: "float64", or "float32" for single precision: faster and less accurate
        prescribe: joints with prescribed acceleration, such as "base" of an arm with a floating
            base; `inverse` of the result returns their torques
        qdd: accelerations (..., n) of the prescribed joints in rad/s² or m/s² (default 0)

    Returns:
        accelerations (..., n) in rad/s² or m/s²

    Raises:
        RobolinError: an array with the wrong shape, a value that is not finite, a joint
            without inertia, or violated loop constraints
        UsageError: `arm` is not an `Arm`, an invalid text for tau, or an invalid method, engine or
            number of jobs

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
        options = run_options(method, engine, jobs, loop_method, dtype)
        prescribed = prescribed_values(arm, {"q": q, "qd": qd, "tau": tau}, prescribe, qdd, options)
        return evaluate_arm(arm, "forward-prescribed", prescribed, **options)["qdd"]
    options = run_options(method, engine, jobs, loop_method, dtype)
    values = {"q": q, "qd": qd, "tau": resolve_torque(arm, q, qd, tau, options)}
    return evaluate_arm(arm, "forward", values, **options)["qdd"]


def prescribed_values(
    arm: Arm,
    values: Mapping[str, JointValues | str],
    prescribe: JointsNamed | None,
    qdd: JointValues | None,
    options: RunOptions,
) -> dict[str, JointValues]:
    """Inputs of forward dynamics with prescribed joints.

    tau="hold" gives the torques for the prescribed accelerations, with zero for all other joints.
    """
    require_arm(arm)
    if prescribe is None:
        hint = "name the prescribed joints with prescribe="
        raise UsageError("has no effect without prescribe", where="qdd", hint=hint)
    if options.get("method", "auto") != "auto" or options.get("loop_method") is not None:
        raise UsageError(
            "cannot be used with prescribe", where="method", hint=METHOD_NOT_SELECTABLE
        )
    require_same_rows({**values, "qdd": qdd})
    driven = prescribed_joints(arm, prescribe)
    accelerations = prescribed_accelerations(arm, driven, 0.0 if qdd is None else qdd)
    torque = values["tau"]
    own = 0.0 if isinstance(torque, str) else torque
    require_prescribed_inputs(arm, driven, accelerations, as_joint_array(arm, "tau", own))
    q, qd = values["q"], values["qd"]
    tau = resolve_torque(arm, q, qd, torque, options, accelerations)
    return {"q": q, "qd": qd, "tau": tau, "qdd": accelerations, "prescribed": driven}


HOLD = "hold"


def resolve_torque(
    arm: Arm,
    q: JointValues,
    qd: JointValues,
    tau: JointValues | str,
    options: RunOptions,
    qdd: JointValues = 0.0,
) -> JointValues:
    """Replace "hold" by the torques for qdd; with closed loops, constraint forces are zero."""
    if not isinstance(tau, str):
        return tau
    require_arm(arm)
    if tau != HOLD:
        raise UsageError(
            f"tau: must be torques or 'hold', got {tau!r}",
            hint="pass torques, or 'hold' for the torques that give q̈ = 0",
        )
    engine, jobs = options.get("engine", "auto"), options.get("jobs")
    dtype = options.get("dtype", "float64")
    if not arm.loops:
        return inverse(arm, q, qd, qdd, engine=engine, jobs=jobs, dtype=dtype)
    run = run_options("auto", engine, jobs, dtype=dtype)
    return evaluate_arm(arm, "hold", {"q": q, "qd": qd, "qdd": qdd}, **run)["tau"]
