"""The Python interface: arrays in, arrays out, batch axes first.

Every function takes q, q̇, … of shape (..., n) in the arm's own joint order; leading axes
broadcast as NumPy's do.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Unpack

from numpy.typing import ArrayLike

from robolin.arm import Arm
from robolin.errors import UsageError
from robolin.evaluation.evaluate import How, evaluate
from robolin.input_checks import Array, require_arm


@dataclass(frozen=True)
class LinearizedInverse:
    """τ ≈ τ₀ + mass_matrix δq̈ + dtau_dqd δq̇ + dtau_dq δq."""

    mass_matrix: Array
    dtau_dqd: Array
    dtau_dq: Array


@dataclass(frozen=True)
class LinearizedForward:
    """q̈ ≈ qdd + dqdd_dtau δτ + dqdd_dqd δq̇ + dqdd_dq δq."""

    qdd: Array
    dqdd_dtau: Array
    dqdd_dqd: Array
    dqdd_dq: Array


@dataclass(frozen=True)
class Factors:
    """mass_matrix = factor diag(D) factorᵀ, and the inverse of the factor."""

    factor: Array
    D: Array
    factor_inverse: Array


@dataclass(frozen=True)
class Diagonalized:
    """ν̇ + coriolis = epsilon, with nu = mᵀ q̇ and mass_matrix = m mᵀ."""

    nu: Array
    epsilon: Array
    coriolis: Array
    m: Array
    D: Array


@dataclass(frozen=True)
class DiagonalizedUnnormalized:
    """diag(D) ξ̇ + coriolis = kappa, with xi = factorᵀ q̇."""

    xi: Array
    kappa: Array
    coriolis: Array
    factor: Array
    D: Array


def inverse(
    arm: Arm, q: ArrayLike, qd: ArrayLike = 0.0, qdd: ArrayLike = 0.0, **how: Unpack[How]
) -> Array:
    """Torques (..., n) for a motion."""
    return evaluate(arm, "inverse", {"q": q, "qd": qd, "qdd": qdd}, **how)["tau"]


def forward(
    arm: Arm, q: ArrayLike, qd: ArrayLike = 0.0, tau: ArrayLike = 0.0, **how: Unpack[How]
) -> Array:
    """Accelerations (..., n) for torques."""
    return evaluate(arm, "forward", {"q": q, "qd": qd, "tau": tau}, **how)["qdd"]


def mass_matrix(arm: Arm, q: ArrayLike, **how: Unpack[How]) -> Array:
    """The mass matrix (..., n, n)."""
    return evaluate(arm, "mass-matrix", {"q": q}, **how)["mass_matrix"]


def mass_matrix_inverse(arm: Arm, q: ArrayLike, **how: Unpack[How]) -> Array:
    """The inverse of the mass matrix (..., n, n)."""
    return evaluate(arm, "mass-matrix-inverse", {"q": q}, **how)["mass_matrix_inverse"]


def mass_matrix_factor(arm: Arm, q: ArrayLike, **how: Unpack[How]) -> Factors:
    """The innovations factors I + HφK, D and I - HψK of the mass matrix."""
    return Factors(**evaluate(arm, "mass-matrix-factor", {"q": q}, **how))


def mass_matrix_derivative(arm: Arm, q: ArrayLike, **how: Unpack[How]) -> Array:
    """∂𝓜(i,j)/∂q(k) as an array (..., n, n, n)."""
    return evaluate(arm, "mass-matrix-derivative", {"q": q}, **how)["dmass_matrix_dq"]


def mass_matrix_second_derivative(arm: Arm, q: ArrayLike, **how: Unpack[How]) -> Array:
    """∂²𝓜(i,j)/∂q(k)∂q(l) as an array (..., n, n, n, n)."""
    return evaluate(arm, "mass-matrix-second-derivative", {"q": q}, **how)["d2mass_matrix_dq2"]


def coriolis_matrix(arm: Arm, q: ArrayLike, qd: ArrayLike, **how: Unpack[How]) -> Array:
    """The Coriolis matrix C (..., n, n) of Christoffel symbols: 𝓜̇ - 2 C is skew-symmetric."""
    return evaluate(arm, "coriolis-matrix", {"q": q, "qd": qd}, **how)["coriolis_matrix"]


def linearize_inverse(
    arm: Arm, q: ArrayLike, qd: ArrayLike = 0.0, qdd: ArrayLike = 0.0, **how: Unpack[How]
) -> LinearizedInverse:
    """The linearized inverse dynamics model around a motion."""
    return LinearizedInverse(
        **evaluate(arm, "linearize-inverse", {"q": q, "qd": qd, "qdd": qdd}, **how)
    )


def linearize_forward(
    arm: Arm, q: ArrayLike, qd: ArrayLike = 0.0, tau: ArrayLike | str = 0.0, **how: Unpack[How]
) -> LinearizedForward:
    """The linearized forward dynamics model around a state and its torques.

    tau: torques, or 'hold' for those that keep the arm from accelerating
    """
    if isinstance(tau, str):
        tau = _holding(arm, q, qd, tau, how)
    return LinearizedForward(
        **evaluate(arm, "linearize-forward", {"q": q, "qd": qd, "tau": tau}, **how)
    )


def _holding(arm: Arm, q: ArrayLike, qd: ArrayLike, word: str, how: How) -> Array:
    """The torque of q̈ = 0; on closed loops that of the tree, closures bearing nothing."""
    require_arm(arm)
    if word != "hold":
        raise UsageError(f"tau is {word!r}", hint="torques, or 'hold' for those that keep q̈ = 0")
    run: How = {"engine": how.get("engine", "auto"), "jobs": how.get("jobs")}
    verb = "hold" if arm.loops else "inverse"
    return evaluate(arm, verb, {"q": q, "qd": qd, "qdd": 0.0}, **run)["tau"]


def perturb_inverse(
    arm: Arm,
    q: ArrayLike,
    qd: ArrayLike = 0.0,
    qdd: ArrayLike = 0.0,
    dq: ArrayLike = 0.0,
    dqd: ArrayLike = 0.0,
    dqdd: ArrayLike = 0.0,
    **how: Unpack[How],
) -> Array:
    """The change of torque (..., n) for a small change of the motion, O(n)."""
    values = {"q": q, "qd": qd, "qdd": qdd, "dq": dq, "dqd": dqd, "dqdd": dqdd}
    return evaluate(arm, "perturb-inverse", values, **how)["dtau"]


def perturb_forward(
    arm: Arm,
    q: ArrayLike,
    qd: ArrayLike = 0.0,
    tau: ArrayLike = 0.0,
    dq: ArrayLike = 0.0,
    dqd: ArrayLike = 0.0,
    dtau: ArrayLike = 0.0,
    **how: Unpack[How],
) -> Array:
    """The change of acceleration (..., n) for a small change of state and torque, O(n)."""
    qdd = forward(arm, q, qd, tau, **how)
    values = {"q": q, "qd": qd, "tau": tau, "qdd": qdd, "dq": dq, "dqd": dqd, "dtau": dtau}
    return evaluate(arm, "perturb-forward", values, **how)["dqdd"]


def diagonalize(
    arm: Arm, q: ArrayLike, qd: ArrayLike = 0.0, tau: ArrayLike = 0.0, **how: Unpack[How]
) -> Diagonalized:
    """The state and its torques in diagonalizing coordinates."""
    return Diagonalized(**evaluate(arm, "diagonalize", {"q": q, "qd": qd, "tau": tau}, **how))


def diagonalize_unnormalized(
    arm: Arm, q: ArrayLike, qd: ArrayLike = 0.0, tau: ArrayLike = 0.0, **how: Unpack[How]
) -> DiagonalizedUnnormalized:
    """The same without square roots: ξ and κ."""
    values = {"q": q, "qd": qd, "tau": tau}
    return DiagonalizedUnnormalized(**evaluate(arm, "diagonalize-unnormalized", values, **how))


def undiagonalize(
    arm: Arm, q: ArrayLike, nu: ArrayLike, epsilon: ArrayLike = 0.0, **how: Unpack[How]
) -> tuple[Array, Array]:
    """(q̇, τ) that belong to ν and ε."""
    result = evaluate(arm, "undiagonalize", {"q": q, "nu": nu, "epsilon": epsilon}, **how)
    return result["qd"], result["tau"]


def undiagonalize_unnormalized(
    arm: Arm, q: ArrayLike, xi: ArrayLike, kappa: ArrayLike = 0.0, **how: Unpack[How]
) -> tuple[Array, Array]:
    """(q̇, τ) that belong to ξ and κ."""
    result = evaluate(arm, "undiagonalize-unnormalized", {"q": q, "xi": xi, "kappa": kappa}, **how)
    return result["qd"], result["tau"]
