"""Diagonalizing velocities and torques: coordinates in which the mass matrix is diagonal."""

from __future__ import annotations

from robolin.api.run_options import run_options
from robolin.core.arm import Arm
from robolin.core.arrays import Floats, JointValues
from robolin.core.choices import DType
from robolin.core.notebook import DisplayMixin
from robolin.core.records import dataclass
from robolin.evaluation.evaluate import Engine, evaluate_arm
from robolin.evaluation.methods import Method


@dataclass(frozen=True, eq=False, repr=False)
class Diagonalized(DisplayMixin):
    """Equation of motion ν̇ + coriolis = epsilon, with nu = mᵀ q̇ and mass_matrix = m mᵀ.

    Fields:
        nu: velocities ν (..., n) in m·√kg/s; kinetic energy is ½ νᵀν
        epsilon: m⁻¹ (τ - gravity - springs - damping - friction - loads) (..., n) in m·√kg/s²
        coriolis: Coriolis terms (..., n) in m·√kg/s²
        m: a factor of the mass matrix (..., n, n) in m·√kg or √kg
        D: articulated inertias at the joints (..., n) in kg·m² or kg

    Example:
        >>> arm = robolin.load("two-link")
        >>> q, qd = [0.3, -0.7], [0.5, -1.2]
        >>> state = robolin.diagonalize(arm, q, qd)
        >>> float(0.5 * state.nu @ state.nu).__round__(6)
        0.114486
        >>> float(0.5 * np.dot(qd, robolin.mass_matrix(arm, q) @ qd)).__round__(6)
        0.114486
    """

    nu: Floats
    epsilon: Floats
    coriolis: Floats
    m: Floats
    D: Floats


@dataclass(frozen=True, eq=False, repr=False)
class DiagonalizedUnnormalized(DisplayMixin):
    """Equation of motion diag(D) ξ̇ + coriolis = kappa, with xi = factorᵀ q̇; no square roots.

    Fields:
        xi: velocities ξ (..., n) in rad/s or m/s
        kappa: torques κ (..., n) in N·m or N
        coriolis: Coriolis terms (..., n) in N·m or N
        factor: I + HφK (..., n, n)
        D: articulated inertias at the joints (..., n) in kg·m² or kg

    Example:
        >>> arm = robolin.load("two-link")
        >>> q, qd = [0.3, -0.7], [0.5, -1.2]
        >>> robolin.diagonalize_unnormalized(arm, q, qd).xi.round(4)
        array([ 0.5   , -0.1264])
    """

    xi: Floats
    kappa: Floats
    coriolis: Floats
    factor: Floats
    D: Floats


def diagonalize(
    arm: Arm,
    q: JointValues,
    qd: JointValues = 0.0,
    tau: JointValues = 0.0,
    *,
    method: Method = "auto",
    engine: Engine = "auto",
    jobs: int | None = None,
    dtype: DType = "float64",
) -> Diagonalized:
    """Transform a state and its torques to normalized diagonalizing coordinates.

    Args:
        arm: the arm, from `robolin.load`
        q: positions (..., n) in rad or m, in the order of `arm.joint_names`
        qd: velocities (..., n) in rad/s or m/s
        tau: torques (..., n) in N·m, or forces in N
        method: "auto" for the recursion, or elimination with mimic joints; "operator" and
            "conventional" select one of them
        engine: "auto", "python" or "compiled"; results are bit-identical
        jobs: number of threads for batches; None for one thread per processor
        dtype: "float64", or "float32" for single precision: faster and less accurate

    Returns:
        a `Diagonalized`

    Raises:
        RobolinError: an array with the wrong shape, a value that is not finite, closed loops,
            or a joint without inertia
        UsageError: `arm` is not an `Arm`, or an invalid method, engine or number of jobs

    Example:
        >>> arm = robolin.load("two-link")
        >>> q, qd = [0.3, -0.7], [0.5, -1.2]
        >>> robolin.diagonalize(arm, q, qd).nu.round(4)
        array([ 0.4729, -0.073 ])
    """
    options = run_options(method, engine, jobs, dtype=dtype)
    values = {"q": q, "qd": qd, "tau": tau}
    return Diagonalized(**evaluate_arm(arm, "diagonalize", values, **options))


def diagonalize_unnormalized(
    arm: Arm,
    q: JointValues,
    qd: JointValues = 0.0,
    tau: JointValues = 0.0,
    *,
    method: Method = "auto",
    engine: Engine = "auto",
    jobs: int | None = None,
    dtype: DType = "float64",
) -> DiagonalizedUnnormalized:
    """Transform a state and its torques to diagonalizing coordinates without square roots.

    Args:
        arm: the arm, from `robolin.load`
        q: positions (..., n) in rad or m, in the order of `arm.joint_names`
        qd: velocities (..., n) in rad/s or m/s
        tau: torques (..., n) in N·m, or forces in N
        method: "auto" for the recursion, or elimination with mimic joints; "operator" and
            "conventional" select one of them
        engine: "auto", "python" or "compiled"; results are bit-identical
        jobs: number of threads for batches; None for one thread per processor
        dtype: "float64", or "float32" for single precision: faster and less accurate

    Returns:
        a `DiagonalizedUnnormalized`

    Raises:
        RobolinError: an array with the wrong shape, a value that is not finite, closed loops,
            or a joint without inertia
        UsageError: `arm` is not an `Arm`, or an invalid method, engine or number of jobs

    Example:
        >>> arm = robolin.load("two-link")
        >>> q, qd = [0.3, -0.7], [0.5, -1.2]
        >>> robolin.diagonalize_unnormalized(arm, q, qd).D.round(4)
        array([0.8946, 0.3333])
    """
    options = run_options(method, engine, jobs, dtype=dtype)
    values = {"q": q, "qd": qd, "tau": tau}
    return DiagonalizedUnnormalized(
        **evaluate_arm(arm, "diagonalize-unnormalized", values, **options)
    )


def undiagonalize(
    arm: Arm,
    q: JointValues,
    nu: JointValues,
    epsilon: JointValues = 0.0,
    *,
    method: Method = "auto",
    engine: Engine = "auto",
    jobs: int | None = None,
    dtype: DType = "float64",
) -> tuple[Floats, Floats]:
    """Transform ν and ε back to velocities and torques; the inverse of `diagonalize`.

    Args:
        arm: the arm, from `robolin.load`
        q: positions (..., n) in rad or m, in the order of `arm.joint_names`
        nu: velocities ν (..., n) in m·√kg/s
        epsilon: torques ε (..., n) in m·√kg/s²
        method: "auto" for the recursion, or elimination with mimic joints; "operator" and
            "conventional" select one of them
        engine: "auto", "python" or "compiled"; results are bit-identical
        jobs: number of threads for batches; None for one thread per processor
        dtype: "float64", or "float32" for single precision: faster and less accurate

    Returns:
        (qd, tau), each (..., n), in rad/s and N·m

    Raises:
        RobolinError: an array with the wrong shape, a value that is not finite, closed loops,
            or a joint without inertia
        UsageError: `arm` is not an `Arm`, or an invalid method, engine or number of jobs

    Example:
        >>> arm = robolin.load("two-link")
        >>> q, qd = [0.3, -0.7], [0.5, -1.2]
        >>> state = robolin.diagonalize(arm, q, qd, tau=[1.0, 2.0])
        >>> velocity, torque = robolin.undiagonalize(arm, q, state.nu, state.epsilon)
        >>> velocity.round(9), torque.round(9)
        (array([ 0.5, -1.2]), array([1., 2.]))
    """
    options = run_options(method, engine, jobs, dtype=dtype)
    result = evaluate_arm(arm, "undiagonalize", {"q": q, "nu": nu, "epsilon": epsilon}, **options)
    return result["qd"], result["tau"]


def undiagonalize_unnormalized(
    arm: Arm,
    q: JointValues,
    xi: JointValues,
    kappa: JointValues = 0.0,
    *,
    method: Method = "auto",
    engine: Engine = "auto",
    jobs: int | None = None,
    dtype: DType = "float64",
) -> tuple[Floats, Floats]:
    """Transform ξ and κ back to velocities and torques.

    Args:
        arm: the arm, from `robolin.load`
        q: positions (..., n) in rad or m, in the order of `arm.joint_names`
        xi: velocities ξ (..., n) in rad/s or m/s
        kappa: torques κ (..., n) in N·m or N
        method: "auto" for the recursion, or elimination with mimic joints; "operator" and
            "conventional" select one of them
        engine: "auto", "python" or "compiled"; results are bit-identical
        jobs: number of threads for batches; None for one thread per processor
        dtype: "float64", or "float32" for single precision: faster and less accurate

    Returns:
        (qd, tau), each (..., n), in rad/s and N·m

    Raises:
        RobolinError: an array with the wrong shape, a value that is not finite, closed loops,
            or a joint without inertia
        UsageError: `arm` is not an `Arm`, or an invalid method, engine or number of jobs

    Example:
        >>> arm = robolin.load("two-link")
        >>> q, qd = [0.3, -0.7], [0.5, -1.2]
        >>> state = robolin.diagonalize_unnormalized(arm, q, qd, tau=[1.0, 2.0])
        >>> velocity, torque = robolin.undiagonalize_unnormalized(arm, q, state.xi, state.kappa)
        >>> velocity.round(9), torque.round(9)
        (array([ 0.5, -1.2]), array([1., 2.]))
    """
    options = run_options(method, engine, jobs, dtype=dtype)
    result = evaluate_arm(
        arm, "undiagonalize-unnormalized", {"q": q, "xi": xi, "kappa": kappa}, **options
    )
    return result["qd"], result["tau"]
