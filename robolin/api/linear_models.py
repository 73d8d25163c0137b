"""First-order dynamics: linear models, and directional derivatives without matrices."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from functools import cached_property
from typing import Any

from robolin.api.inverse_and_forward import HOLD, prescribed_values, resolve_torque
from robolin.api.run_options import evaluate_with_operating_point, run_options
from robolin.core.arm import Arm
from robolin.core.arrays import Floats, JointValues
from robolin.core.choices import DType, LoopMethod
from robolin.core.notebook import DisplayMixin
from robolin.core.records import dataclass
from robolin.evaluation.constant_inputs import JointsNamed
from robolin.evaluation.evaluate import Engine, RunOptions, evaluate_arm
from robolin.evaluation.methods import Method
from robolin.evaluation.quick_calls import (
    call_with_arrays,
    full_call,
    no_quick_call,
    with_quick_call,
)


@dataclass(frozen=True, eq=False, repr=False)
class LinearizedInverse(DisplayMixin):
    """Linear model δτ ≈ mass_matrix δq̈ + dtau_dqd δq̇ + dtau_dq δq about a motion.

    For prismatic joints, replace rad by m and N·m by N.

    Fields:
        mass_matrix: ∂τ/∂q̈ (..., n, n) in kg·m²
        dtau_dqd: ∂τ/∂q̇ (..., n, n) in N·m·s/rad
        dtau_dq: ∂τ/∂q (..., n, n) in N·m/rad
        q: positions of the operating point (..., n) in rad or m
        qd: velocities of the operating point (..., n) in rad/s or m/s
        qdd: accelerations of the operating point (..., n) in rad/s² or m/s²
        arm: the linearized arm

    Example:
        >>> arm = robolin.load("two-link")
        >>> model = robolin.linearize_inverse(arm, [0.3, -0.7])
        >>> model.dtau_dq.round(4)
        array([[-2.4385,  1.9101],
               [ 1.9101,  1.9101]])
        >>> model.q, model.tau.round(4)
        (array([ 0.3, -0.7]), array([18.5756,  4.5178]))
    """

    mass_matrix: Floats
    dtau_dqd: Floats
    dtau_dq: Floats
    q: Floats
    qd: Floats
    qdd: Floats
    arm: Arm = field(repr=False)

    @cached_property
    def tau(self) -> Floats:
        """Torques of the motion (..., n) in N·m, computed on first access."""
        return evaluate_arm(self.arm, "inverse", {"q": self.q, "qd": self.qd, "qdd": self.qdd})[
            "tau"
        ]


@dataclass(frozen=True, eq=False, repr=False)
class LinearizedForward(DisplayMixin):
    """Linear model q̈ ≈ qdd + dqdd_dtau δτ + dqdd_dqd δq̇ + dqdd_dq δq about a state with torques.

    For prismatic joints, replace rad by m and N·m by N.

    Fields:
        qdd: accelerations of the operating point (..., n) in rad/s² or m/s²
        dqdd_dtau: ∂q̈/∂τ = 𝓜⁻¹ (..., n, n), rad/s² per N·m
        dqdd_dqd: ∂q̈/∂q̇ (..., n, n) in 1/s
        dqdd_dq: ∂q̈/∂q (..., n, n) in 1/s²
        q: positions of the operating point (..., n) in rad or m
        qd: velocities of the operating point (..., n) in rad/s or m/s
        tau: torques of the operating point (..., n) in N·m or N
        dqdd_dprescribed: ∂q̈/∂q̈₀ for the prescribed accelerations q̈₀ (..., n, n), with zero columns
            for other joints; None if no joint is prescribed

    Example:
        >>> arm = robolin.load("two-link")
        >>> model = robolin.linearize_forward(arm, [0.3, -0.7])
        >>> model.tau.round(4)
        array([18.5756,  4.5178])
        >>> zero, one = np.zeros((2, 2)), np.eye(2)
        >>> A = np.block([[zero, one], [model.dqdd_dq, model.dqdd_dqd]])
        >>> A.shape
        (4, 4)
    """

    qdd: Floats
    dqdd_dtau: Floats
    dqdd_dqd: Floats
    dqdd_dq: Floats
    q: Floats
    qd: Floats
    tau: Floats
    dqdd_dprescribed: Floats | None = None


def _quick_linearize_inverse(
    arm: Arm, q: Any, qd: Any = 0.0, qdd: Any = 0.0, *more: Any, **options: Any
) -> LinearizedInverse:
    if not more and not options:
        try:
            quick = arm.cached_values["linearize-inverse"]
        except (AttributeError, KeyError):
            quick = no_quick_call
        fast = quick(q, qd, qdd)
        if fast is None:
            fast = call_with_arrays(quick, arm, q, qd, qdd)
        if fast is not None:
            # the constructor of a frozen dataclass takes three times as long
            model = LinearizedInverse.__new__(LinearizedInverse)
            fields = model.__dict__
            (
                fields["mass_matrix"],
                fields["dtau_dqd"],
                fields["dtau_dq"],
                fields["q"],
                fields["qd"],
                fields["qdd"],
            ) = fast
            fields["arm"] = arm
            return model
    return full_call(_quick_linearize_inverse, (arm, q, qd, qdd, *more), options)


@with_quick_call(_quick_linearize_inverse)
def linearize_inverse(
    arm: Arm,
    q: JointValues,
    qd: JointValues = 0.0,
    qdd: JointValues = 0.0,
    *,
    method: Method = "auto",
    engine: Engine = "auto",
    jobs: int | None = None,
    dtype: DType = "float64",
) -> LinearizedInverse:
    """Linearize the inverse dynamics about a motion, analytically, in O(n²) operations.

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
        a `LinearizedInverse`

    Raises:
        RobolinError: an array with the wrong shape, a value that is not finite, closed loops
        UsageError: `arm` is not an `Arm`, or an invalid method, engine or number of jobs

    Example:
        >>> arm = robolin.load("two-link")
        >>> q, qd = [0.3, -0.7], [0.5, -1.2]
        >>> model = robolin.linearize_inverse(arm, q, qd, [0.8, 0.4])
        >>> model.dtau_dq.round(4)
        array([[-2.4385,  2.4625],
               [ 1.9101,  2.2634]])
        >>> model.dtau_dqd.round(4)
        array([[-0.7731, -0.451 ],
               [-0.3221,  0.    ]])
    """
    options = run_options(method, engine, jobs, dtype=dtype)
    values = {"q": q, "qd": qd, "qdd": qdd}
    matrices, point = evaluate_with_operating_point(arm, "linearize-inverse", values, options)
    return LinearizedInverse(**matrices, **point, arm=arm)


def _quick_linearize_forward(
    arm: Arm, q: Any, qd: Any = 0.0, tau: Any = HOLD, *more: Any, **options: Any
) -> LinearizedForward:
    if not more and not options:
        try:
            quick = arm.cached_values["linearize-forward"]
        except (AttributeError, KeyError):
            quick = no_quick_call
        fast = quick(q, qd, tau)
        if fast is None and quick is not no_quick_call:
            tau = resolve_torque(arm, q, qd, tau, {})
            fast = call_with_arrays(quick, arm, q, qd, tau)
        if fast is not None:
            # the constructor of a frozen dataclass takes three times as long
            model = LinearizedForward.__new__(LinearizedForward)
            fields = model.__dict__
            (
                fields["qdd"],
                fields["dqdd_dtau"],
                fields["dqdd_dqd"],
                fields["dqdd_dq"],
                fields["q"],
                fields["qd"],
                fields["tau"],
            ) = fast
            fields["dqdd_dprescribed"] = None
            return model
    return full_call(_quick_linearize_forward, (arm, q, qd, tau, *more), options)


@with_quick_call(_quick_linearize_forward)
def linearize_forward(
    arm: Arm,
    q: JointValues,
    qd: JointValues = 0.0,
    tau: JointValues | str = HOLD,
    *,
    method: Method = "auto",
    engine: Engine = "auto",
    jobs: int | None = None,
    loop_method: LoopMethod | None = None,
    dtype: DType = "float64",
    prescribe: JointsNamed | None = None,
    qdd: JointValues | None = None,
) -> LinearizedForward:
    """Linearize the forward dynamics about a state and its torques, analytically.

    With closed loops, the model is valid for changes that satisfy the constraints.

    Args:
        arm: the arm, from `robolin.load`
        q: positions (..., n) in rad or m, in the order of `arm.joint_names`
        qd: velocities (..., n) in rad/s or m/s
        tau: torques (..., n) in N·m, or forces in N; "hold" for torques with q̈ = 0, so that an arm
            at rest stays at rest
        method: algorithm, "auto", "operator" or "conventional"; see docs/reference/algorithms.md
        engine: "auto", "python" or "compiled"; results are bit-identical
        jobs: number of threads for batches; None for one thread per processor
        loop_method: solver of the loop constraints: "null-space" (None), "kkt" or "schur"; no
            effect without loops
        dtype: "float64", or "float32" for single precision: faster and less accurate
        prescribe: joints with prescribed acceleration, such as "base" of an arm with a floating
            base
        qdd: accelerations (..., n) of the prescribed joints in rad/s² or m/s² (default 0)

    Returns:
        a `LinearizedForward`

    Raises:
        RobolinError: an array with the wrong shape, a value that is not finite, a joint
            without inertia, or violated loop constraints
        UsageError: `arm` is not an `Arm`, an invalid text for tau, or an invalid method, engine or
            number of jobs

    Example:
        >>> arm = robolin.load("two-link")
        >>> q, qd = [0.3, -0.7], [0.5, -1.2]
        >>> tau = robolin.inverse(arm, q, qd, [0.8, 0.4])
        >>> model = robolin.linearize_forward(arm, q, qd, tau)
        >>> model.dqdd_dtau.round(4)
        array([[ 1.1178, -2.4003],
               [-2.4003,  8.154 ]])
        >>> model.dqdd_dq.round(4)
        array([[  7.3105,   2.68  ],
               [-21.4279, -12.5449]])
    """
    if prescribe is not None or qdd is not None:
        options = run_options(method, engine, jobs, loop_method, dtype)
        return _about_prescribed(arm, {"q": q, "qd": qd, "tau": tau}, prescribe, qdd, options)
    options = run_options(method, engine, jobs, loop_method, dtype)
    values = {"q": q, "qd": qd, "tau": resolve_torque(arm, q, qd, tau, options)}
    matrices, point = evaluate_with_operating_point(arm, "linearize-forward", values, options)
    return LinearizedForward(**matrices, **point)


def _about_prescribed(
    arm: Arm,
    inputs: Mapping[str, JointValues | str],
    prescribe: JointsNamed | None,
    qdd: JointValues | None,
    options: RunOptions,
) -> LinearizedForward:
    """Linear model with prescribed joints."""
    values = prescribed_values(arm, inputs, prescribe, qdd, options)
    matrices, point = evaluate_with_operating_point(
        arm, "linearize-forward-prescribed", values, options
    )
    return LinearizedForward(**matrices, q=point["q"], qd=point["qd"])


def perturb_inverse(
    arm: Arm,
    q: JointValues,
    qd: JointValues = 0.0,
    qdd: JointValues = 0.0,
    dq: JointValues = 0.0,
    dqd: JointValues = 0.0,
    dqdd: JointValues = 0.0,
    *,
    method: Method = "auto",
    engine: Engine = "auto",
    jobs: int | None = None,
    dtype: DType = "float64",
) -> Floats:
    """First-order change of the torques for a small change of the motion, in O(n) operations.

    Args:
        arm: the arm, from `robolin.load`
        q: positions (..., n) in rad or m, in the order of `arm.joint_names`
        qd: velocities (..., n) in rad/s or m/s
        qdd: accelerations (..., n) in rad/s² or m/s²
        dq, dqd, dqdd: changes (..., n) of q, qd and qdd, in their units
        method: "auto"; no effect, because there is only one algorithm
        engine: "auto", "python" or "compiled"; results are bit-identical
        jobs: number of threads for batches; None for one thread per processor
        dtype: "float64", or "float32" for single precision: faster and less accurate

    Returns:
        δτ (..., n) in N·m or N

    Raises:
        RobolinError: an array with the wrong shape, a value that is not finite, closed loops
        UsageError: `arm` is not an `Arm`, or an invalid method, engine or number of jobs

    Example:
        >>> arm = robolin.load("two-link")
        >>> q, qd = [0.3, -0.7], [0.5, -1.2]
        >>> robolin.perturb_inverse(arm, q, qd, dq=[0.01, -0.02]).round(4)
        array([-0.0608, -0.021 ])
    """
    options = run_options(method, engine, jobs, dtype=dtype)
    values = {"q": q, "qd": qd, "qdd": qdd, "dq": dq, "dqd": dqd, "dqdd": dqdd}
    return evaluate_arm(arm, "perturb-inverse", values, **options)["dtau"]


def perturb_forward(
    arm: Arm,
    q: JointValues,
    qd: JointValues = 0.0,
    tau: JointValues | str = HOLD,
    dq: JointValues = 0.0,
    dqd: JointValues = 0.0,
    dtau: JointValues = 0.0,
    *,
    method: Method = "auto",
    engine: Engine = "auto",
    jobs: int | None = None,
    loop_method: LoopMethod | None = None,
    dtype: DType = "float64",
) -> Floats:
    """First-order change of the accelerations for a small change of state and torques, in O(n).

    Args:
        arm: the arm, from `robolin.load`
        q: positions (..., n) in rad or m, in the order of `arm.joint_names`
        qd: velocities (..., n) in rad/s or m/s
        tau: torques (..., n) in N·m, or forces in N; "hold" for torques with q̈ = 0, so that an arm
            at rest stays at rest
        dq, dqd, dtau: changes (..., n) of q, qd and tau, in their units; `close_change` projects
            them onto the loop constraints
        method: algorithm, "auto", "operator" or "conventional"; see docs/reference/algorithms.md
        engine: "auto", "python" or "compiled"; results are bit-identical
        jobs: number of threads for batches; None for one thread per processor
        loop_method: solver of the loop constraints: "null-space" (None), "kkt" or "schur"; no
            effect without loops
        dtype: "float64", or "float32" for single precision: faster and less accurate

    Returns:
        δq̈ (..., n) in rad/s² or m/s²

    Raises:
        RobolinError: an array with the wrong shape, a value that is not finite, a joint
            without inertia, violated loop constraints, or a change that violates them
        UsageError: `arm` is not an `Arm`, an invalid text for tau, or an invalid method, engine or
            number of jobs

    Example:
        >>> arm = robolin.load("two-link")
        >>> q, qd = [0.3, -0.7], [0.5, -1.2]
        >>> change = np.array([0.01, -0.02])
        >>> robolin.perturb_forward(arm, q, qd, dq=change).round(4)
        array([0.0175, 0.0255])
        >>> (robolin.linearize_forward(arm, q, qd).dqdd_dq @ change).round(4)
        array([0.0175, 0.0255])
    """
    options = run_options(method, engine, jobs, loop_method, dtype)
    state = {"q": q, "qd": qd, "tau": resolve_torque(arm, q, qd, tau, options)}
    qdd = evaluate_arm(arm, "forward", state, **options)["qdd"]
    changes = {"dq": dq, "dqd": dqd, "dtau": dtau}
    return evaluate_arm(arm, "perturb-forward", {**state, "qdd": qdd, **changes}, **options)["dqdd"]
