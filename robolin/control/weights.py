"""Weights of states and torques of a regulator, as matrices."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Real
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from robolin.control.state_space import StateSpace, as_numbers
from robolin.core.arm import Limits
from robolin.core.arrays import Floats
from robolin.core.text import did_you_mean
from robolin.errors import RobolinError, UsageError

Weight = ArrayLike | Mapping[str, float]

# relative size of a negative eigenvalue that counts as round-off
WEIGHT_ROUNDING = 1e-12

INTEGRAL = "integral"


class Weights(NamedTuple):
    """xᵀ Q x + uᵀ R u + 2 xᵀ N u, for one model."""

    Q: Floats
    R: Floats
    N: Floats


def weights_of(
    model: StateSpace,
    Q: Weight | None,
    R: Weight | None,
    N: ArrayLike | None,
    bryson: bool = False,
) -> Weights:
    """Build and check weight matrices; the default is 1, or Bryson's rule."""
    weights = Weights(
        _state_weight(model, Q, bryson), _input_weight(model, R, bryson), _cross_weight(model, N)
    )
    require_weights("Q", weights.Q, positive=False)
    require_weights("R", weights.R, positive=True)
    if weights.N.any():
        top = np.concatenate([weights.Q, weights.N], axis=1)
        bottom = np.concatenate([weights.N.T, weights.R], axis=1)
        require_weights("[[Q, N], [Nᵀ, R]]", np.concatenate([top, bottom]), positive=False)
    return weights


def _state_weight(model: StateSpace, Q: Weight | None, bryson: bool) -> Floats:
    size, d = len(model.states), model.freedoms
    if Q is not None and not isinstance(Q, Mapping):
        if bryson:
            raise UsageError("bryson gives the weights, and Q does too", where="Q")
        return weight_matrix("Q", Q, size)
    joints = _joint_weights(model, Q or {}, bryson)
    matrix = np.zeros((size, size))
    for at, weights in zip((0, d), joints, strict=True):
        own = slice(at, at + d)
        N = model.basis
        matrix[own, own] = np.diag(weights) if N is None else N.T @ np.diag(weights) @ N
    for i in range(2 * d, size):
        named = (Q or {}).get(model.states[i], (Q or {}).get(INTEGRAL, 1.0))
        matrix[i, i] = _number(model.states[i], named)
    return matrix


def _joint_weights(model: StateSpace, named: Mapping[str, float], bryson: bool) -> list[Floats]:
    """Weights (n,) of positions and of velocities; 'elbow/q' overrides 'q'."""
    joints = model.arm.joint_names
    known = {"q", "qd", *model.states[2 * model.freedoms :]}
    if len(model.states) > 2 * model.freedoms:
        known.add(INTEGRAL)
    values_per_quantity = []
    for short, word in (("q", "position"), ("qd", "velocity")):
        known |= {f"{joint}/{suffix}" for joint in joints for suffix in (short, word)}
        base = _bryson(model, word) if bryson else np.ones(len(joints))
        every = np.full(len(joints), _number(short, named[short])) if short in named else base
        own = [named.get(f"{j}/{short}", named.get(f"{j}/{word}")) for j in joints]
        values = [
            e if o is None else _number(j, o) for j, e, o in zip(joints, every, own, strict=True)
        ]
        values_per_quantity.append(np.array(values))
    if unknown := next((name for name in named if name not in known), None):
        raise UsageError(f"Q: there is no '{unknown}'", hint=did_you_mean(unknown, sorted(known)))
    return values_per_quantity


def _input_weight(model: StateSpace, R: Weight | None, bryson: bool) -> Floats:
    names = [model.arm.joint_names[i] for i in model.actuated]
    if R is not None and not isinstance(R, Mapping):
        return weight_matrix("R", R, len(names))
    weights = _bryson(model, "effort")[list(model.actuated)] if bryson else np.ones(len(names))
    for name, value in (R or {}).items():
        joint = name.removesuffix("/effort")
        if joint not in names:
            hint = did_you_mean(joint, names)
            raise UsageError(f"R: there is no motor '{joint}'", hint=hint)
        weights[names.index(joint)] = _number(name, value)
    return np.diag(weights)


def _cross_weight(model: StateSpace, N: ArrayLike | None) -> Floats:
    shape = (len(model.states), len(model.inputs))
    matrix = np.zeros(shape) if N is None else as_numbers("N", N)
    if matrix.shape != shape or not np.isfinite(matrix).all():
        raise UsageError(f"N is finite and of shape {shape}, not {matrix.shape}")
    return matrix


def _bryson(model: StateSpace, word: str) -> Floats:
    """Bryson weights 1/(largest)² per joint: half the range, or the velocity or effort limit.

    An effort limit with two ends counts as half its range.
    """
    weights = []
    for i, joint in enumerate(model.arm.joints):
        limits = joint.limits
        if word == "position":
            lower, upper = limits.lower, limits.upper
            most = None if lower is None or upper is None else 0.5 * (upper - lower)
        else:
            most = limits.velocity if word == "velocity" else _effort_limit(limits)
        if word == "effort" and i not in model.actuated:
            most = 1.0
        if most is None or not most > 0.0:
            raise RobolinError(
                f"Bryson's rule needs the {word} limit of joint '{joint.name}', and there is none",
                where=model.arm.source,
                hint="give it in the description, or give the weights",
            )
        weights.append(1.0 / most**2)
    return np.array(weights)


def _effort_limit(limits: Limits) -> float | None:
    if limits.effort_lower is None:
        return limits.effort
    lower, upper = limits.effort_range
    return 0.5 * (upper - lower)


def weight_matrix(name: str, value: ArrayLike, size: int) -> Floats:
    """Expand a weight to a matrix: from one number, a diagonal, or a matrix."""
    array = as_numbers(name, value)
    if not np.isfinite(array).all():
        raise UsageError(f"{name} is not finite")
    if array.ndim == 0:
        return float(array) * np.eye(size)
    if array.shape == (size,):
        return np.diag(array)
    if array.shape != (size, size):
        shapes = f"one number, ({size},) or ({size}, {size})"
        raise UsageError(f"{name} has the shape {array.shape}", hint=f"it takes {shapes}")
    return array.copy()


def require_weights(name: str, matrix: Floats, positive: bool) -> None:
    """Require a symmetric matrix that is positive semidefinite, or definite if `positive`."""
    size = np.abs(matrix).max(initial=0.0)
    if np.abs(matrix - matrix.T).max(initial=0.0) > WEIGHT_ROUNDING * size:
        raise UsageError(f"{name} is not symmetric")
    least = np.linalg.eigvalsh(matrix).min()
    if positive and not least > WEIGHT_ROUNDING * size:
        hint = "every torque needs a weight above 0"
        raise UsageError(f"{name} is not positive: its least eigenvalue is {least:.3g}", hint=hint)
    if not least >= -WEIGHT_ROUNDING * size:
        hint = "weights are 0 or more"
        raise UsageError(f"{name} is negative: its least eigenvalue is {least:.3g}", hint=hint)


def _number(name: str, value: object) -> float:
    if not isinstance(value, Real) or not np.isfinite(float(value)):
        raise UsageError(f"the weight of '{name}' is {value!r}", hint="a finite number is needed")
    if value < 0.0:
        hint = "weights are 0 or more"
        raise UsageError(f"the weight of '{name}' is negative: {value:g}", hint=hint)
    return float(value)
