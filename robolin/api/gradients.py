"""Gradients and Hessians of weighted torques or accelerations, without forming Jacobians."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from robolin.api.inverse_and_forward import HOLD, resolve_torque
from robolin.api.run_options import run_options
from robolin.core.arm import Arm
from robolin.core.arrays import Floats, JointValues, batch_of, joint_arrays, require_arm
from robolin.core.choices import DType
from robolin.core.notebook import DisplayMixin
from robolin.core.records import dataclass
from robolin.evaluation.evaluate import Engine, RunOptions, evaluate_arm
from robolin.evaluation.methods import Method


@dataclass(frozen=True, eq=False, repr=False)
class InverseGradient(DisplayMixin):
    """Gradient of weights · τ, or its change along one direction.

    Fields:
        gradient_q: (∂τ/∂q)ᵀ weights (..., n) in 1/rad
        gradient_qd: (∂τ/∂q̇)ᵀ weights (..., n) in s/rad
        gradient_qdd: (∂τ/∂q̈)ᵀ weights = M weights (..., n) in s²/rad

    Example:
        >>> arm = robolin.load("two-link")
        >>> gradient = robolin.gradient_inverse(arm, [0.3, -0.7], weights=[1, 0])
        >>> np.allclose(gradient.gradient_qdd, robolin.mass_matrix(arm, [0.3, -0.7])[0])
        True
    """

    gradient_q: Floats
    gradient_qd: Floats
    gradient_qdd: Floats


@dataclass(frozen=True, eq=False, repr=False)
class ForwardGradient(DisplayMixin):
    """Gradient of weights · q̈, or its change along one direction.

    Fields:
        gradient_q: (∂q̈/∂q)ᵀ weights (..., n) in 1/rad
        gradient_qd: (∂q̈/∂q̇)ᵀ weights (..., n) in s/rad
        gradient_tau: (∂q̈/∂τ)ᵀ weights = M⁻¹ weights (..., n) in 1/(N·m)

    Example:
        >>> arm = robolin.load("two-link")
        >>> gradient = robolin.gradient_forward(arm, [0.3, -0.7], weights=[1, 0])
        >>> np.allclose(gradient.gradient_tau, robolin.mass_matrix_inverse(arm, [0.3, -0.7])[0])
        True
    """

    gradient_q: Floats
    gradient_qd: Floats
    gradient_tau: Floats


def gradient_inverse(
    arm: Arm,
    q: JointValues,
    qd: JointValues = 0.0,
    qdd: JointValues = 0.0,
    *,
    weights: JointValues,
    engine: Engine = "auto",
    jobs: int | None = None,
    dtype: DType = "float64",
) -> InverseGradient:
    """Gradient of weights · τ with respect to q, q̇ and q̈, exact, in O(n).

    This is the vector-Jacobian product of `linearize_inverse`, without its matrices.

    Args:
        arm: the arm, from `robolin.load`
        q: positions (..., n) in rad or m, in the order of `arm.joint_names`
        qd: velocities (..., n) in rad/s or m/s
        qdd: accelerations (..., n) in rad/s² or m/s²
        weights: weight of every torque (..., n) in 1/(N·m), or in any unit per N·m
        engine: "auto", "python" or "compiled"; results are bit-identical
        jobs: number of threads for batches; None for one thread per processor
        dtype: "float64", or "float32" for single precision: faster and less accurate

    Returns:
        an `InverseGradient`

    Raises:
        RobolinError: an array with the wrong shape, a value that is not finite, closed loops
        UsageError: `arm` is not an `Arm`, or an invalid engine or number of jobs

    Example:
        >>> arm = robolin.load("two-link")
        >>> q, weights = [0.3, -0.7], [1.0, 0.5]
        >>> robolin.gradient_inverse(arm, q, weights=weights).gradient_q.round(4)
        array([-1.4834,  2.8651])
        >>> (robolin.linearize_inverse(arm, q).dtau_dq.T @ weights).round(4)
        array([-1.4834,  2.8651])
    """
    values = {"q": q, "qd": qd, "qdd": qdd, "tau_weights": weights}
    return _of_motion(
        arm, "gradient-inverse", values, run_options("auto", engine, jobs, dtype=dtype)
    )


def hessian_vector_inverse(
    arm: Arm,
    q: JointValues,
    qd: JointValues = 0.0,
    qdd: JointValues = 0.0,
    *,
    weights: JointValues,
    dq: JointValues = 0.0,
    dqd: JointValues = 0.0,
    dqdd: JointValues = 0.0,
    engine: Engine = "auto",
    jobs: int | None = None,
    dtype: DType = "float64",
) -> InverseGradient:
    """Change of `gradient_inverse` along one direction: a Hessian-vector product, in O(n).

    Args:
        arm: the arm, from `robolin.load`
        q: positions (..., n) in rad or m, in the order of `arm.joint_names`
        qd: velocities (..., n) in rad/s or m/s
        qdd: accelerations (..., n) in rad/s² or m/s²
        weights: weight of every torque (..., n) in 1/(N·m), or in any unit per N·m
        dq, dqd, dqdd: direction (..., n) in the units of q, qd and qdd; a multi-DoF joint
            has a twist for dq
        engine: "auto", "python" or "compiled"; results are bit-identical
        jobs: number of threads for batches; None for one thread per processor
        dtype: "float64", or "float32" for single precision: faster and less accurate

    Returns:
        an `InverseGradient` with the change of each gradient

    Raises:
        RobolinError: an array with the wrong shape, a value that is not finite, closed loops
        UsageError: `arm` is not an `Arm`, or an invalid engine or number of jobs

    Example:
        >>> arm = robolin.load("two-link")
        >>> change = robolin.hessian_vector_inverse(arm, [0.3, -0.7], weights=[1, 0], dq=[1, 0])
        >>> change.gradient_q.round(4)
        array([-18.5756,  -4.5178])
    """
    values = {"q": q, "qd": qd, "qdd": qdd, "tau_weights": weights}
    values |= {"dq": dq, "dqd": dqd, "dqdd": dqdd}
    return _of_motion(
        arm, "hessian-inverse", values, run_options("auto", engine, jobs, dtype=dtype)
    )


def hessian_inverse(
    arm: Arm,
    q: JointValues,
    qd: JointValues = 0.0,
    qdd: JointValues = 0.0,
    *,
    weights: JointValues,
    engine: Engine = "auto",
    jobs: int | None = None,
    dtype: DType = "float64",
) -> Floats:
    """Matrix of the second derivatives of weights · τ, exact, in O(n²) operations.

    Args:
        arm: the arm, from `robolin.load`
        q: positions (..., n) in rad or m, in the order of `arm.joint_names`
        qd: velocities (..., n) in rad/s or m/s
        qdd: accelerations (..., n) in rad/s² or m/s²
        weights: weight of every torque (..., n) in 1/(N·m), or in any unit per N·m
        engine: "auto", "python" or "compiled"; results are bit-identical
        jobs: number of threads for batches; None for one thread per processor
        dtype: "float64", or "float32" for single precision: faster and less accurate

    Returns:
        second derivatives (..., 3n, 3n) with respect to q, q̇ and q̈; symmetric for arms
        without multi-DoF joints

    Raises:
        RobolinError: an array with the wrong shape, a value that is not finite, closed loops
        UsageError: `arm` is not an `Arm`, or an invalid engine or number of jobs

    Example:
        >>> arm = robolin.load("two-link")
        >>> hessian = robolin.hessian_inverse(arm, [0.3, -0.7], weights=[1, 0])
        >>> hessian.shape
        (6, 6)
        >>> hessian[:2, :2].round(4)
        array([[-18.5756,  -4.5178],
               [ -4.5178,  -4.5178]])
    """
    values = {"q": q, "qd": qd, "qdd": qdd, "tau_weights": weights}
    require_arm(arm)
    options = run_options("auto", engine, jobs, dtype=dtype)
    return _matrix(arm, "hessian-inverse", values, ("q", "qd", "qdd"), options)


def gradient_forward(
    arm: Arm,
    q: JointValues,
    qd: JointValues = 0.0,
    tau: JointValues | str = HOLD,
    *,
    weights: JointValues,
    method: Method = "auto",
    engine: Engine = "auto",
    jobs: int | None = None,
    dtype: DType = "float64",
) -> ForwardGradient:
    """Gradient of weights · q̈ with respect to q, q̇ and τ, exact, in O(n).

    This is the vector-Jacobian product of `linearize_forward`, without its matrices.

    Args:
        arm: the arm, from `robolin.load`
        q: positions (..., n) in rad or m, in the order of `arm.joint_names`
        qd: velocities (..., n) in rad/s or m/s
        tau: torques (..., n) in N·m, or forces in N; "hold" for torques with q̈ = 0
        weights: weight of every acceleration (..., n) in s²/rad, or in any unit per rad/s²
        method: algorithm, "auto", "operator" or "conventional"; see docs/reference/algorithms.md
        engine: "auto", "python" or "compiled"; results are bit-identical
        jobs: number of threads for batches; None for one thread per processor
        dtype: "float64", or "float32" for single precision: faster and less accurate

    Returns:
        a `ForwardGradient`

    Raises:
        RobolinError: an array with the wrong shape, a value that is not finite, a joint
            without inertia, or closed loops
        UsageError: `arm` is not an `Arm`, an invalid text for tau, or an invalid method, engine or
            number of jobs

    Example:
        >>> arm = robolin.load("two-link")
        >>> q, weights = [0.3, -0.7], [1.0, 0.5]
        >>> robolin.gradient_forward(arm, q, weights=weights).gradient_q.round(4)
        array([-3.4034, -3.0455])
        >>> (robolin.linearize_forward(arm, q).dqdd_dq.T @ weights).round(4)
        array([-3.4034, -3.0455])
    """
    options = run_options(method, engine, jobs, dtype=dtype)
    state = {"q": q, "qd": qd, "tau": resolve_torque(arm, q, qd, tau, options)}
    return _of_state(arm, "gradient-forward", state, {"qdd_weights": weights}, options)


def hessian_vector_forward(
    arm: Arm,
    q: JointValues,
    qd: JointValues = 0.0,
    tau: JointValues | str = HOLD,
    *,
    weights: JointValues,
    dq: JointValues = 0.0,
    dqd: JointValues = 0.0,
    dtau: JointValues = 0.0,
    method: Method = "auto",
    engine: Engine = "auto",
    jobs: int | None = None,
    dtype: DType = "float64",
) -> ForwardGradient:
    """Change of `gradient_forward` along one direction: a Hessian-vector product, in O(n).

    Args:
        arm: the arm, from `robolin.load`
        q: positions (..., n) in rad or m, in the order of `arm.joint_names`
        qd: velocities (..., n) in rad/s or m/s
        tau: torques (..., n) in N·m, or forces in N; "hold" for torques with q̈ = 0
        weights: weight of every acceleration (..., n) in s²/rad, or in any unit per rad/s²
        dq, dqd, dtau: direction (..., n) in the units of q, qd and tau; a multi-DoF joint
            has a twist for dq
        method: algorithm, "auto", "operator" or "conventional"; see docs/reference/algorithms.md
        engine: "auto", "python" or "compiled"; results are bit-identical
        jobs: number of threads for batches; None for one thread per processor
        dtype: "float64", or "float32" for single precision: faster and less accurate

    Returns:
        a `ForwardGradient` with the change of each gradient

    Raises:
        RobolinError: an array with the wrong shape, a value that is not finite, a joint
            without inertia, or closed loops
        UsageError: `arm` is not an `Arm`, an invalid text for tau, or an invalid method, engine or
            number of jobs

    Example:
        >>> arm = robolin.load("two-link")
        >>> q, tau = [0.3, -0.7], [18.6, 4.5]
        >>> change = robolin.hessian_vector_forward(arm, q, 0, tau, weights=[1, 0], dtau=[1, 0])
        >>> change.gradient_q.round(4)
        array([0.    , 0.9235])
    """
    options = run_options(method, engine, jobs, dtype=dtype)
    state = {"q": q, "qd": qd, "tau": resolve_torque(arm, q, qd, tau, options)}
    along = {"qdd_weights": weights, "dq": dq, "dqd": dqd, "dtau": dtau}
    return _of_state(arm, "hessian-forward", state, along, options)


def hessian_forward(
    arm: Arm,
    q: JointValues,
    qd: JointValues = 0.0,
    tau: JointValues | str = HOLD,
    *,
    weights: JointValues,
    method: Method = "auto",
    engine: Engine = "auto",
    jobs: int | None = None,
    dtype: DType = "float64",
) -> Floats:
    """Matrix of the second derivatives of weights · q̈, exact, in O(n²) operations.

    Differential dynamic programming needs this matrix for every time step.

    Args:
        arm: the arm, from `robolin.load`
        q: positions (..., n) in rad or m, in the order of `arm.joint_names`
        qd: velocities (..., n) in rad/s or m/s
        tau: torques (..., n) in N·m, or forces in N; "hold" for torques with q̈ = 0
        weights: weight of every acceleration (..., n) in s²/rad, or in any unit per rad/s²
        method: algorithm, "auto", "operator" or "conventional"; see docs/reference/algorithms.md
        engine: "auto", "python" or "compiled"; results are bit-identical
        jobs: number of threads for batches; None for one thread per processor
        dtype: "float64", or "float32" for single precision: faster and less accurate

    Returns:
        second derivatives (..., 3n, 3n) with respect to q, q̇ and τ; symmetric for arms
        without multi-DoF joints

    Raises:
        RobolinError: an array with the wrong shape, a value that is not finite, a joint
            without inertia, or closed loops
        UsageError: `arm` is not an `Arm`, an invalid text for tau, or an invalid method, engine or
            number of jobs

    Example:
        >>> arm = robolin.load("two-link")
        >>> hessian = robolin.hessian_forward(arm, [0.3, -0.7], weights=[1, 0])
        >>> bool(np.allclose(hessian, hessian.T))
        True
    """
    options = run_options(method, engine, jobs, dtype=dtype)
    state = {"q": q, "qd": qd, "tau": resolve_torque(arm, q, qd, tau, options)}
    values = {**_motion_of(arm, state, options), "qdd_weights": weights}
    return _matrix(arm, "hessian-forward", values, ("q", "qd", "tau"), options)


def _motion_of(
    arm: Arm, state: Mapping[str, JointValues], options: RunOptions
) -> dict[str, JointValues]:
    """q, q̇ and the q̈ that the torques cause."""
    qdd = evaluate_arm(arm, "forward", state, **options)["qdd"]
    return {"q": state["q"], "qd": state["qd"], "qdd": qdd}


def _of_motion(
    arm: Arm, verb: str, values: Mapping[str, JointValues], options: RunOptions
) -> InverseGradient:
    arrays = evaluate_arm(arm, verb, values, **options)
    return InverseGradient(**{name.removeprefix("d"): array for name, array in arrays.items()})


def _of_state(
    arm: Arm,
    verb: str,
    state: Mapping[str, JointValues],
    along: Mapping[str, JointValues],
    options: RunOptions,
) -> ForwardGradient:
    if _gives_accelerations(arm, state, along, options):
        arrays = evaluate_arm(arm, f"{verb}-of-torques", {**state, **along}, **options)
    else:
        values = {**_motion_of(arm, state, options), **along}
        arrays = evaluate_arm(arm, verb, values, **options)
    return ForwardGradient(**{name.removeprefix("d"): array for name, array in arrays.items()})


def _gives_accelerations(
    arm: Arm,
    state: Mapping[str, JointValues],
    along: Mapping[str, JointValues],
    options: RunOptions,
) -> bool:
    """True if the articulated bodies of the gradient give q̈ too, with the same bits.

    A state with many weights needs its q̈ only once.
    """
    require_arm(arm)
    recursive = options.get("method", "auto") in ("auto", "operator")
    if not recursive or arm.has_mimic or arm.loops:
        return False
    arrays = joint_arrays(arm, {**state, **along})
    return batch_of(arrays) == batch_of({name: arrays[name] for name in state})


def _matrix(
    arm: Arm,
    verb: str,
    values: Mapping[str, JointValues],
    along: tuple[str, str, str],
    options: RunOptions,
) -> Floats:
    """One Hessian-vector product for each of the 3n unit directions, all in one batch."""
    arrays, n = joint_arrays(arm, values), arm.n
    batch = batch_of(arrays)
    states = {name: np.broadcast_to(a, (*batch, n))[..., None, :] for name, a in arrays.items()}
    unit = np.eye(3 * n).reshape(3 * n, 3, n)
    directions = {f"d{name}": unit[:, i] for i, name in enumerate(along)}
    products = evaluate_arm(arm, verb, {**states, **directions}, **options)
    rows = np.concatenate([products[f"dgradient_{name}"] for name in along], axis=-1)
    return np.ascontiguousarray(rows.swapaxes(-1, -2))
