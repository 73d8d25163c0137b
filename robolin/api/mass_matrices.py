"""Mass matrix, its factors, inverse, derivatives, and the Coriolis matrix."""

from __future__ import annotations

from typing import Any

from robolin.api.run_options import run_options
from robolin.core.arm import Arm
from robolin.core.arrays import Floats, JointValues
from robolin.core.choices import DType
from robolin.core.notebook import DisplayMixin
from robolin.core.records import dataclass
from robolin.evaluation.evaluate import Engine, evaluate_arm
from robolin.evaluation.methods import Method
from robolin.evaluation.quick_calls import (
    call_with_arrays,
    full_call,
    no_quick_call,
    with_quick_call,
)


@dataclass(frozen=True, eq=False, repr=False)
class Factors(DisplayMixin):
    """Mass matrix as factor · diag(D) · factorᵀ, with the inverse of the factor.

    Fields:
        factor: I + HφK (..., n, n), upper triangular with ones on the diagonal
        D: articulated inertias at the joints (..., n) in kg·m² or kg
        factor_inverse: I - HψK (..., n, n)

    Example:
        >>> arm = robolin.load("two-link")
        >>> factors = robolin.mass_matrix_factor(arm, [0.3, -0.7])
        >>> factors.D.round(4)
        array([0.8946, 0.3333])
        >>> M = factors.factor @ np.diag(factors.D) @ factors.factor.T
        >>> bool(np.allclose(M, robolin.mass_matrix(arm, [0.3, -0.7])))
        True
    """

    factor: Floats
    D: Floats
    factor_inverse: Floats


def _quick_mass_matrix(arm: Arm, q: Any, *more: Any, **options: Any) -> Floats:
    if not more and not options:
        try:
            quick = arm.cached_values["mass-matrix"]
        except (AttributeError, KeyError):
            quick = no_quick_call
        M: Floats | None = quick(q)
        if M is None:
            M = call_with_arrays(quick, arm, q)
        if M is not None:
            return M
    return full_call(_quick_mass_matrix, (arm, q, *more), options)


@with_quick_call(_quick_mass_matrix)
def mass_matrix(
    arm: Arm,
    q: JointValues,
    *,
    method: Method = "auto",
    engine: Engine = "auto",
    jobs: int | None = None,
    dtype: DType = "float64",
) -> Floats:
    """Mass matrix 𝓜, symmetric; the kinetic energy is ½ q̇ᵀ 𝓜 q̇.

    Args:
        arm: the arm, from `robolin.load`
        q: positions (..., n) in rad or m, in the order of `arm.joint_names`
        method: "auto"; no effect, because there is only one algorithm
        engine: "auto", "python" or "compiled"; results are bit-identical
        jobs: number of threads for batches; None for one thread per processor
        dtype: "float64", or "float32" for single precision: faster and less accurate

    Returns:
        (..., n, n) in kg·m² for two revolute joints, kg for two prismatic joints, else kg·m

    Raises:
        RobolinError: an array with the wrong shape, a value that is not finite, closed loops
        UsageError: `arm` is not an `Arm`, or an invalid method, engine or number of jobs

    Example:
        >>> arm = robolin.load("two-link")
        >>> q = [0.3, -0.7]
        >>> robolin.mass_matrix(arm, q).round(4)
        array([[2.4315, 0.7158],
               [0.7158, 0.3333]])
    """
    options = run_options(method, engine, jobs, dtype=dtype)
    return evaluate_arm(arm, "mass-matrix", {"q": q}, **options)["mass_matrix"]


def mass_matrix_inverse(
    arm: Arm,
    q: JointValues,
    *,
    method: Method = "auto",
    engine: Engine = "auto",
    jobs: int | None = None,
    dtype: DType = "float64",
) -> Floats:
    """Inverse of the mass matrix: accelerations per torque.

    Args:
        arm: the arm, from `robolin.load`
        q: positions (..., n) in rad or m, in the order of `arm.joint_names`
        method: "auto" for elimination up to 10 joints or with mimic joints, else recursions;
            "operator" and "conventional" select recursions or elimination
        engine: "auto", "python" or "compiled"; results are bit-identical
        jobs: number of threads for batches; None for one thread per processor
        dtype: "float64", or "float32" for single precision: faster and less accurate

    Returns:
        (..., n, n), symmetric, in 1/(kg·m²), 1/kg or 1/(kg·m)

    Raises:
        RobolinError: an array with the wrong shape, a value that is not finite, closed loops,
            or a joint without inertia
        UsageError: `arm` is not an `Arm`, or an invalid method, engine or number of jobs

    Example:
        >>> arm = robolin.load("two-link")
        >>> q = [0.3, -0.7]
        >>> M = robolin.mass_matrix(arm, q)
        >>> (M @ robolin.mass_matrix_inverse(arm, q)).round(9) + 0.0
        array([[1., 0.],
               [0., 1.]])
    """
    options = run_options(method, engine, jobs, dtype=dtype)
    return evaluate_arm(arm, "mass-matrix-inverse", {"q": q}, **options)["mass_matrix_inverse"]


def mass_matrix_factor(
    arm: Arm,
    q: JointValues,
    *,
    method: Method = "auto",
    engine: Engine = "auto",
    jobs: int | None = None,
    dtype: DType = "float64",
) -> Factors:
    """Innovations factors I + HφK, D and I - HψK of the mass matrix (LDLᵀ), in O(n²).

    Args:
        arm: the arm, from `robolin.load`
        q: positions (..., n) in rad or m, in the order of `arm.joint_names`
        method: "auto" for the recursion, or elimination with mimic joints; "operator" and
            "conventional" select one of them
        engine: "auto", "python" or "compiled"; results are bit-identical
        jobs: number of threads for batches; None for one thread per processor
        dtype: "float64", or "float32" for single precision: faster and less accurate

    Returns:
        a `Factors`

    Raises:
        RobolinError: an array with the wrong shape, a value that is not finite, closed loops,
            a joint without inertia, or a mimic joint
        UsageError: `arm` is not an `Arm`, or an invalid method, engine or number of jobs

    Example:
        >>> arm = robolin.load("two-link")
        >>> q = [0.3, -0.7]
        >>> factors = robolin.mass_matrix_factor(arm, q)
        >>> factors.factor.round(4)
        array([[1.    , 2.1473],
               [0.    , 1.    ]])
        >>> (factors.factor @ factors.factor_inverse).round(9) + 0.0
        array([[1., 0.],
               [0., 1.]])
    """
    options = run_options(method, engine, jobs, dtype=dtype)
    return Factors(**evaluate_arm(arm, "mass-matrix-factor", {"q": q}, **options))


def mass_matrix_derivative(
    arm: Arm,
    q: JointValues,
    *,
    method: Method = "auto",
    engine: Engine = "auto",
    jobs: int | None = None,
    dtype: DType = "float64",
) -> Floats:
    """Derivative of the mass matrix with respect to the pose: ∂𝓜(i,j)/∂q(k), exact.

    Derivatives of a multi-DoF joint are along small twists of its body.

    Args:
        arm: the arm, from `robolin.load`
        q: positions (..., n) in rad or m, in the order of `arm.joint_names`
        method: "auto"; no effect, because there is only one algorithm
        engine: "auto", "python" or "compiled"; results are bit-identical
        jobs: number of threads for batches; None for one thread per processor
        dtype: "float64", or "float32" for single precision: faster and less accurate

    Returns:
        (..., n, n, n), with k as the last axis, in units of 𝓜 per rad or per m

    Raises:
        RobolinError: an array with the wrong shape, a value that is not finite, closed loops
        UsageError: `arm` is not an `Arm`, or an invalid method, engine or number of jobs

    Example:
        >>> arm = robolin.load("two-link")
        >>> q = [0.3, -0.7]
        >>> robolin.mass_matrix_derivative(arm, q)[:, :, 1].round(4)
        array([[0.6442, 0.3221],
               [0.3221, 0.    ]])
    """
    options = run_options(method, engine, jobs, dtype=dtype)
    return evaluate_arm(arm, "mass-matrix-derivative", {"q": q}, **options)["dmass_matrix_dq"]


def mass_matrix_second_derivative(
    arm: Arm,
    q: JointValues,
    *,
    method: Method = "auto",
    engine: Engine = "auto",
    jobs: int | None = None,
    dtype: DType = "float64",
) -> Floats:
    """Second derivatives ∂²𝓜(i,j)/∂q(k)∂q(l) of the mass matrix, exact.

    For multi-DoF joints, the results are the derivatives of 𝓜(q ⊕ δ) at δ = 0, with q ⊕ δ as in
    `integrate`; the derivatives are symmetric in k and l.

    Args:
        arm: the arm, from `robolin.load`
        q: positions (..., n) in rad or m, in the order of `arm.joint_names`
        method: "auto"; no effect, because there is only one algorithm
        engine: "auto", "python" or "compiled"; results are bit-identical
        jobs: number of threads for batches; None for one thread per processor
        dtype: "float64", or "float32" for single precision: faster and less accurate

    Returns:
        (..., n, n, n, n), with k and l as the last axes, in units of 𝓜 per rad² or per m²

    Raises:
        RobolinError: an array with the wrong shape, a value that is not finite, closed loops
        UsageError: `arm` is not an `Arm`, or an invalid method, engine or number of jobs

    Example:
        >>> arm = robolin.load("two-link")
        >>> q = [0.3, -0.7]
        >>> robolin.mass_matrix_second_derivative(arm, q)[:, :, 1, 1].round(4)
        array([[-0.7648, -0.3824],
               [-0.3824,  0.    ]])
    """
    options = run_options(method, engine, jobs, dtype=dtype)
    return evaluate_arm(arm, "mass-matrix-second-derivative", {"q": q}, **options)[
        "d2mass_matrix_dq2"
    ]


def coriolis_matrix(
    arm: Arm,
    q: JointValues,
    qd: JointValues,
    *,
    method: Method = "auto",
    engine: Engine = "auto",
    jobs: int | None = None,
    dtype: DType = "float64",
) -> Floats:
    """Coriolis matrix of Christoffel symbols, for which 𝓜̇ - 2 C is skew-symmetric.

    𝓜̇ - 2 C is also skew-symmetric for multi-DoF joints, where C is not half of ∂τ/∂q̇.

    Args:
        arm: the arm, from `robolin.load`
        q: positions (..., n) in rad or m, in the order of `arm.joint_names`
        qd: velocities (..., n) in rad/s or m/s
        method: "auto"; no effect, because there is only one algorithm
        engine: "auto", "python" or "compiled"; results are bit-identical
        jobs: number of threads for batches; None for one thread per processor
        dtype: "float64", or "float32" for single precision: faster and less accurate

    Returns:
        C (..., n, n) in N·m·s or N·s: C q̇ are the Coriolis torques

    Raises:
        RobolinError: an array with the wrong shape, a value that is not finite, closed loops
        UsageError: `arm` is not an `Arm`, or an invalid method, engine or number of jobs

    Example:
        >>> arm = robolin.load("two-link")
        >>> q = [0.3, -0.7]
        >>> qd = np.array([0.5, -1.2])
        >>> C = robolin.coriolis_matrix(arm, q, qd)
        >>> C.round(4)
        array([[-0.3865, -0.2255],
               [-0.1611,  0.    ]])
        >>> rate = robolin.mass_matrix_derivative(arm, q) @ qd
        >>> (rate - 2 * C).round(4)
        array([[-0.    ,  0.0644],
               [-0.0644, -0.    ]])
    """
    options = run_options(method, engine, jobs, dtype=dtype)
    return evaluate_arm(arm, "coriolis-matrix", {"q": q, "qd": qd}, **options)["coriolis_matrix"]
