"""The Python interface: arrays in, arrays out, batch axes first.

Every function takes q, q̇, … of shape (..., n) in the arm's own joint order; leading axes
broadcast as NumPy's do.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from robolin.arm import Arm
from robolin.dynamics.catalogue import ALGORITHMS
from robolin.engine.parameters import Parameters, parameters_of
from robolin.engine.run import Arrays, run
from robolin.errors import RobolinError

Method = Literal["auto", "operator", "conventional"]
Array = np.ndarray


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


def inverse(arm: Arm, q: ArrayLike, qd: ArrayLike = 0.0, qdd: ArrayLike = 0.0) -> Array:
    """Torques (..., n) for a motion."""
    return evaluate(arm, "inverse", {"q": q, "qd": qd, "qdd": qdd})["tau"]


def forward(
    arm: Arm, q: ArrayLike, qd: ArrayLike = 0.0, tau: ArrayLike = 0.0, *, method: Method = "auto"
) -> Array:
    """Accelerations (..., n) for torques."""
    return evaluate(arm, "forward", {"q": q, "qd": qd, "tau": tau}, method)["qdd"]


def mass_matrix(arm: Arm, q: ArrayLike) -> Array:
    """The mass matrix (..., n, n)."""
    return evaluate(arm, "mass-matrix", {"q": q})["mass_matrix"]


def mass_matrix_inverse(arm: Arm, q: ArrayLike, *, method: Method = "auto") -> Array:
    """The inverse of the mass matrix (..., n, n)."""
    return evaluate(arm, "mass-matrix-inverse", {"q": q}, method)["mass_matrix_inverse"]


def mass_matrix_factor(arm: Arm, q: ArrayLike) -> Factors:
    """The innovations factors I + HφK, D and I - HψK of the mass matrix."""
    return Factors(**evaluate(arm, "mass-matrix-factor", {"q": q}))


def mass_matrix_derivative(arm: Arm, q: ArrayLike) -> Array:
    """∂𝓜(i,j)/∂q(k) as an array (..., n, n, n)."""
    return evaluate(arm, "mass-matrix-derivative", {"q": q})["dmass_matrix_dq"]


def coriolis_matrix(arm: Arm, q: ArrayLike, qd: ArrayLike) -> Array:
    """The Coriolis matrix C (..., n, n) of Christoffel symbols: 𝓜̇ - 2 C is skew-symmetric."""
    return evaluate(arm, "coriolis-matrix", {"q": q, "qd": qd})["coriolis_matrix"]


def linearize_inverse(
    arm: Arm, q: ArrayLike, qd: ArrayLike = 0.0, qdd: ArrayLike = 0.0
) -> LinearizedInverse:
    """The linearized inverse dynamics model around a motion."""
    return LinearizedInverse(**evaluate(arm, "linearize-inverse", {"q": q, "qd": qd, "qdd": qdd}))


def linearize_forward(
    arm: Arm, q: ArrayLike, qd: ArrayLike = 0.0, tau: ArrayLike = 0.0, *, method: Method = "auto"
) -> LinearizedForward:
    """The linearized forward dynamics model around a state and its torques."""
    return LinearizedForward(
        **evaluate(arm, "linearize-forward", {"q": q, "qd": qd, "tau": tau}, method)
    )


def perturb_inverse(
    arm: Arm,
    q: ArrayLike,
    qd: ArrayLike = 0.0,
    qdd: ArrayLike = 0.0,
    dq: ArrayLike = 0.0,
    dqd: ArrayLike = 0.0,
    dqdd: ArrayLike = 0.0,
) -> Array:
    """The change of torque (..., n) for a small change of the motion, O(n)."""
    values = {"q": q, "qd": qd, "qdd": qdd, "dq": dq, "dqd": dqd, "dqdd": dqdd}
    return evaluate(arm, "perturb-inverse", values)["dtau"]


def perturb_forward(
    arm: Arm,
    q: ArrayLike,
    qd: ArrayLike = 0.0,
    tau: ArrayLike = 0.0,
    dq: ArrayLike = 0.0,
    dqd: ArrayLike = 0.0,
    dtau: ArrayLike = 0.0,
    *,
    method: Method = "auto",
) -> Array:
    """The change of acceleration (..., n) for a small change of state and torque, O(n)."""
    qdd = forward(arm, q, qd, tau, method=method)
    values = {"q": q, "qd": qd, "tau": tau, "qdd": qdd, "dq": dq, "dqd": dqd, "dtau": dtau}
    return evaluate(arm, "perturb-forward", values, method)["dqdd"]


def diagonalize(arm: Arm, q: ArrayLike, qd: ArrayLike = 0.0, tau: ArrayLike = 0.0) -> Diagonalized:
    """The state and its torques in diagonalizing coordinates."""
    return Diagonalized(**evaluate(arm, "diagonalize", {"q": q, "qd": qd, "tau": tau}))


def diagonalize_unnormalized(
    arm: Arm, q: ArrayLike, qd: ArrayLike = 0.0, tau: ArrayLike = 0.0
) -> DiagonalizedUnnormalized:
    """The same without square roots: ξ and κ."""
    values = {"q": q, "qd": qd, "tau": tau}
    return DiagonalizedUnnormalized(**evaluate(arm, "diagonalize-unnormalized", values))


def undiagonalize(
    arm: Arm, q: ArrayLike, nu: ArrayLike, epsilon: ArrayLike = 0.0
) -> tuple[Array, Array]:
    """(q̇, τ) that belong to ν and ε."""
    result = evaluate(arm, "undiagonalize", {"q": q, "nu": nu, "epsilon": epsilon})
    return result["qd"], result["tau"]


def undiagonalize_unnormalized(
    arm: Arm, q: ArrayLike, xi: ArrayLike, kappa: ArrayLike = 0.0
) -> tuple[Array, Array]:
    """(q̇, τ) that belong to ξ and κ."""
    result = evaluate(arm, "undiagonalize-unnormalized", {"q": q, "xi": xi, "kappa": kappa})
    return result["qd"], result["tau"]


def evaluate(
    arm: Arm, verb: str, values: Mapping[str, ArrayLike], method: Method = "auto"
) -> Arrays:
    """Check the values, choose the algorithm, run it."""
    algorithm = ALGORITHMS[algorithm_name(arm, verb, method)]
    checked = {name: _checked(arm, name, values[name]) for name in algorithm.needs}
    return run(_parameters(arm), algorithm.run, algorithm.gives, checked)


def algorithm_name(arm: Arm, verb: str, method: Method = "auto") -> str:
    """The algorithm that answers `verb` on this arm."""
    conventional = f"{verb}-conventional"
    if method == "conventional" and conventional in ALGORITHMS:
        return conventional
    if ALGORITHMS[verb].kind != "any" and arm.has_mimic:
        if method == "auto" and conventional in ALGORITHMS:
            return conventional
        raise _not_with_mimic(arm, verb)
    if ALGORITHMS[verb].kind == "serial" and not arm.serial:
        return f"{verb}-tree"
    return verb


def _not_with_mimic(arm: Arm, verb: str) -> RobolinError:
    followers = [link.joint.name for link in arm.links if link.joint.mimic]
    return RobolinError(
        f"the operator recursions behind '{verb}' need independent joints, "
        f"but {', '.join(repr(name) for name in followers)} mimics another joint",
        where=arm.source,
        hint="leave the method to 'auto' where there is one, or lock the joint it follows",
    )


@lru_cache(maxsize=64)
def _cached_parameters(key: int, arm: _Same) -> Parameters:
    return parameters_of(arm.arm)


class _Same:
    """An arm that is equal only to itself: arms hold mappings and cannot be hashed."""

    def __init__(self, arm: Arm) -> None:
        self.arm = arm

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and other.arm is self.arm

    def __hash__(self) -> int:
        return id(self.arm)


def _parameters(arm: Arm) -> Parameters:
    return _cached_parameters(id(arm), _Same(arm))


def _checked(arm: Arm, name: str, value: ArrayLike) -> Array:
    """The value as finite floats of shape (..., n); a single number stands for all joints."""
    try:
        array = np.asarray(value, dtype=float)
    except (TypeError, ValueError) as error:
        raise RobolinError(f"{name} is not an array of numbers: {error}") from error
    if array.ndim == 0:
        array = np.full(arm.n, float(array))
    if array.shape[-1] != arm.n:
        raise RobolinError(
            f"{name} has {array.shape[-1]} values along its last axis, "
            f"the arm '{arm.name}' has {arm.n} joints",
            hint=f"the joints are, in order: {', '.join(arm.joint_names)}",
        )
    finite = np.isfinite(array)
    if not finite.all():
        at = tuple(int(i) for i in np.argwhere(~finite)[0])
        row = f"row {', '.join(map(str, at[:-1]))}, " if len(at) > 1 else ""
        raise RobolinError(
            f"{name} is not finite at {row}joint '{arm.joint_names[at[-1]]}': {array[at]}"
        )
    return array
