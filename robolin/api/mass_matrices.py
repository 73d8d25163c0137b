"""The mass matrix, what it is made of, and how it changes with the pose."""

from __future__ import annotations

from dataclasses import dataclass

from robolin.api.run_options import at_once, run_options
from robolin.core.arm import Arm
from robolin.core.arrays import Floats, JointValues
from robolin.core.choices import LoopMethod
from robolin.core.notebook import DisplayMixin
from robolin.evaluation.dispatch import evaluate_arm
from robolin.evaluation.evaluate import Engine
from robolin.evaluation.methods import Method


@dataclass(frozen=True)
class Factors(DisplayMixin):
    """The mass matrix as factor · diag(D) · factorᵀ, and the inverse of its factor.

    Fields:
        factor: I + HφK (..., n, n), triangular with ones on the diagonal
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


def mass_matrix(
    arm: Arm,
    q: JointValues,
    *,
    method: Method = "auto",
    engine: Engine = "auto",
    jobs: int | None = None,
    loop_method: LoopMethod | None = None,
) -> Floats:
    """The mass matrix 𝓜, symmetric; kinetic energy is ½ q̇ᵀ 𝓜 q̇.

    Args:
        arm: the arm, from `robolin.load`
        q: positions (..., n) in rad or m, in the order of `arm.joint_names`
        method: "auto"; there is one algorithm for this, so no other word changes anything
        engine: "auto", "python" or "compiled": what runs it; every bit of the result is the same
        jobs: threads for many states; None takes one per processor
        loop_method: refused here; it is for the forward dynamics of closed loops

    Returns:
        (..., n, n) in kg·m² for two turning joints, kg for two that slide, else kg·m

    Raises:
        RobolinError: a shape that does not fit the arm, a value that is not finite, closed loops
        UsageError: no arm, or a method, engine or number of jobs that does not exist

    Example:
        >>> arm = robolin.load("two-link")
        >>> q = [0.3, -0.7]
        >>> robolin.mass_matrix(arm, q).round(4)
        array([[2.4315, 0.7158],
               [0.7158, 0.3333]])
    """
    M: Floats | None = at_once(arm, "mass-matrix", method, engine, jobs, loop_method)(q)
    if M is not None:
        return M
    how = run_options(method, engine, jobs, loop_method)
    return evaluate_arm(arm, "mass-matrix", {"q": q}, **how)["mass_matrix"]


def mass_matrix_inverse(
    arm: Arm,
    q: JointValues,
    *,
    method: Method = "auto",
    engine: Engine = "auto",
    jobs: int | None = None,
    loop_method: LoopMethod | None = None,
) -> Floats:
    """The inverse of the mass matrix: how joints accelerate by torques.

    Args:
        arm: the arm, from `robolin.load`
        q: positions (..., n) in rad or m, in the order of `arm.joint_names`
        method: "auto", elimination up to 10 joints and where joints mimic others, else recursions;
            "operator" and "conventional" ask for the recursions or for elimination
        engine: "auto", "python" or "compiled": what runs it; every bit of the result is the same
        jobs: threads for many states; None takes one per processor
        loop_method: refused here; it is for the forward dynamics of closed loops

    Returns:
        (..., n, n), symmetric, in 1/(kg·m²), 1/kg or 1/(kg·m)

    Raises:
        RobolinError: a shape that does not fit the arm, a value that is not finite, closed loops,
            or a joint without inertia
        UsageError: no arm, or a method, engine or number of jobs that does not exist

    Example:
        >>> arm = robolin.load("two-link")
        >>> q = [0.3, -0.7]
        >>> M = robolin.mass_matrix(arm, q)
        >>> (M @ robolin.mass_matrix_inverse(arm, q)).round(9) + 0.0
        array([[1., 0.],
               [0., 1.]])
    """
    how = run_options(method, engine, jobs, loop_method)
    return evaluate_arm(arm, "mass-matrix-inverse", {"q": q}, **how)["mass_matrix_inverse"]


def mass_matrix_factor(
    arm: Arm,
    q: JointValues,
    *,
    method: Method = "auto",
    engine: Engine = "auto",
    jobs: int | None = None,
    loop_method: LoopMethod | None = None,
) -> Factors:
    """The innovations factors I + HφK, D and I - HψK of the mass matrix, in O(n²).

    Args:
        arm: the arm, from `robolin.load`
        q: positions (..., n) in rad or m, in the order of `arm.joint_names`
        method: "auto", the recursion, or elimination where joints mimic others; "operator" and
            "conventional" ask for the one or the other
        engine: "auto", "python" or "compiled": what runs it; every bit of the result is the same
        jobs: threads for many states; None takes one per processor
        loop_method: refused here; it is for the forward dynamics of closed loops

    Returns:
        a `Factors`

    Raises:
        RobolinError: a shape that does not fit the arm, a value that is not finite, closed loops,
            a joint without inertia, or one that follows another
        UsageError: no arm, or a method, engine or number of jobs that does not exist

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
    how = run_options(method, engine, jobs, loop_method)
    return Factors(**evaluate_arm(arm, "mass-matrix-factor", {"q": q}, **how))


def mass_matrix_derivative(
    arm: Arm,
    q: JointValues,
    *,
    method: Method = "auto",
    engine: Engine = "auto",
    jobs: int | None = None,
    loop_method: LoopMethod | None = None,
) -> Floats:
    """How the mass matrix changes with the pose: ∂𝓜(i,j)/∂q(k), exact.

    A joint with several freedoms moves along small twists of its body, as for all derivatives.

    Args:
        arm: the arm, from `robolin.load`
        q: positions (..., n) in rad or m, in the order of `arm.joint_names`
        method: "auto"; there is one algorithm for this, so no other word changes anything
        engine: "auto", "python" or "compiled": what runs it; every bit of the result is the same
        jobs: threads for many states; None takes one per processor
        loop_method: refused here; it is for the forward dynamics of closed loops

    Returns:
        (..., n, n, n), the last axis being k, in units of 𝓜 per rad or per m

    Raises:
        RobolinError: a shape that does not fit the arm, a value that is not finite, closed loops
        UsageError: no arm, or a method, engine or number of jobs that does not exist

    Example:
        >>> arm = robolin.load("two-link")
        >>> q = [0.3, -0.7]
        >>> robolin.mass_matrix_derivative(arm, q)[:, :, 1].round(4)
        array([[0.6442, 0.3221],
               [0.3221, 0.    ]])
    """
    how = run_options(method, engine, jobs, loop_method)
    return evaluate_arm(arm, "mass-matrix-derivative", {"q": q}, **how)["dmass_matrix_dq"]


def mass_matrix_second_derivative(
    arm: Arm,
    q: JointValues,
    *,
    method: Method = "auto",
    engine: Engine = "auto",
    jobs: int | None = None,
    loop_method: LoopMethod | None = None,
) -> Floats:
    """The second derivatives ∂²𝓜(i,j)/∂q(k)∂q(l) of the mass matrix, exact.

    Joints with several freedoms move along small twists of their bodies: the derivatives are those
    of 𝓜(q ⊕ δ) at δ = 0, with q ⊕ δ as `advanced` has it, the same in either order of k and l.

    Args:
        arm: the arm, from `robolin.load`
        q: positions (..., n) in rad or m, in the order of `arm.joint_names`
        method: "auto"; there is one algorithm for this, so no other word changes anything
        engine: "auto", "python" or "compiled": what runs it; every bit of the result is the same
        jobs: threads for many states; None takes one per processor
        loop_method: refused here; it is for the forward dynamics of closed loops

    Returns:
        (..., n, n, n, n), the last axes being k and l, in units of 𝓜 per rad² or per m²

    Raises:
        RobolinError: a shape that does not fit the arm, a value that is not finite, closed loops
        UsageError: no arm, or a method, engine or number of jobs that does not exist

    Example:
        >>> arm = robolin.load("two-link")
        >>> q = [0.3, -0.7]
        >>> robolin.mass_matrix_second_derivative(arm, q)[:, :, 1, 1].round(4)
        array([[-0.7648, -0.3824],
               [-0.3824,  0.    ]])
    """
    how = run_options(method, engine, jobs, loop_method)
    return evaluate_arm(arm, "mass-matrix-second-derivative", {"q": q}, **how)["d2mass_matrix_dq2"]


def coriolis_matrix(
    arm: Arm,
    q: JointValues,
    qd: JointValues,
    *,
    method: Method = "auto",
    engine: Engine = "auto",
    jobs: int | None = None,
    loop_method: LoopMethod | None = None,
) -> Floats:
    """The Coriolis matrix of Christoffel symbols, for which 𝓜̇ - 2 C is skew-symmetric.

    It is so where joints have several freedoms, too; C is not half of ∂τ/∂q̇ there.

    Args:
        arm: the arm, from `robolin.load`
        q: positions (..., n) in rad or m, in the order of `arm.joint_names`
        qd: velocities (..., n) in rad/s or m/s
        method: "auto"; there is one algorithm for this, so no other word changes anything
        engine: "auto", "python" or "compiled": what runs it; every bit of the result is the same
        jobs: threads for many states; None takes one per processor
        loop_method: refused here; it is for the forward dynamics of closed loops

    Returns:
        C (..., n, n) in N·m·s or N·s: C q̇ are the Coriolis torques

    Raises:
        RobolinError: a shape that does not fit the arm, a value that is not finite, closed loops
        UsageError: no arm, or a method, engine or number of jobs that does not exist

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
    how = run_options(method, engine, jobs, loop_method)
    return evaluate_arm(arm, "coriolis-matrix", {"q": q, "qd": qd}, **how)["coriolis_matrix"]
