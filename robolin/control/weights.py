"""What a regulator is to care about: weights of states and torques as matrices."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Real
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from robolin.control.model_parts import as_numbers
from robolin.control.state_space import StateSpace
from robolin.core.arm import Limits
from robolin.core.arrays import Floats
from robolin.core.text import did_you_mean
from robolin.errors import RobolinError, UsageError

Weight = ArrayLike | Mapping[str, float]

# how far below 0 rounding may bring an eigenvalue of weights, beside the largest
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
    """The weights as matrices, checked; 1 for whatever is not named, or Bryson's rule."""
    found = Weights(
        _state_weight(model, Q, bryson), _input_weight(model, R, bryson), _cross_weight(model, N)
    )
    require_weights("Q", found.Q, positive=False)
    require_weights("R", found.R, positive=True)
    if found.N.any():
        top = np.concatenate([found.Q, found.N], axis=1)
        bottom = np.concatenate([found.N.T, found.R], axis=1)
        require_weights("[[Q, N], [Nᵀ, R]]", np.concatenate([top, bottom]), positive=False)
    return found


def _state_weight(model: StateSpace, Q: Weight | None, bryson: bool) -> Floats:
    size, d = len(model.states), model.freedoms
    if Q is not None and not isinstance(Q, Mapping):
        if bryson:
            raise UsageError("bryson gives the weights, and Q does too", where="Q")
        return weight_matrix("Q", Q, size)
    joints = _joint_weights(model, Q or {}, bryson)
    whole = np.zeros((size, size))
    for at, weights in zip((0, d), joints, strict=True):
        own = slice(at, at + d)
        N = model.basis
        whole[own, own] = np.diag(weights) if N is None else N.T @ np.diag(weights) @ N
    for i in range(2 * d, size):
        named = (Q or {}).get(model.states[i], (Q or {}).get(INTEGRAL, 1.0))
        whole[i, i] = _number(model.states[i], named)
    return whole


def _joint_weights(model: StateSpace, named: Mapping[str, float], bryson: bool) -> list[Floats]:
    """Weights (n,) of positions and of velocities: names of joints go before those of all."""
    joints = model.arm.joint_names
    known = {"q", "qd", *model.states[2 * model.freedoms :]}
    if len(model.states) > 2 * model.freedoms:
        known.add(INTEGRAL)
    found = []
    for short, word in (("q", "position"), ("qd", "velocity")):
        known |= {f"{joint}/{way}" for joint in joints for way in (short, word)}
        base = _bryson(model, word) if bryson else np.ones(len(joints))
        every = np.full(len(joints), _number(short, named[short])) if short in named else base
        own = [named.get(f"{j}/{short}", named.get(f"{j}/{word}")) for j in joints]
        values = [
            e if o is None else _number(j, o) for j, e, o in zip(joints, every, own, strict=True)
        ]
        found.append(np.array(values))
    if unknown := next((name for name in named if name not in known), None):
        raise UsageError(f"Q: there is no '{unknown}'", hint=did_you_mean(unknown, sorted(known)))
    return found


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
    found = np.zeros(shape) if N is None else as_numbers("N", N)
    if found.shape != shape or not np.isfinite(found).all():
        raise UsageError(f"N is finite and of shape {shape}, not {found.shape}")
    return found


def _bryson(model: StateSpace, word: str) -> Floats:
    """1/(largest)² of every joint: half the travel, the velocity or effort that the file allows.

    An effort limit with two ends counts as half its range, as the travel does.
    """
    found = []
    for i, joint in enumerate(model.arm.joints):
        limits = joint.limits
        if word == "position":
            lower, upper = limits.lower, limits.upper
            most = None if lower is None or upper is None else 0.5 * (upper - lower)
        else:
            most = limits.velocity if word == "velocity" else _most_effort(limits)
        if word == "effort" and i not in model.actuated:
            most = 1.0
        if most is None or not most > 0.0:
            raise RobolinError(
                f"Bryson's rule needs the {word} limit of joint '{joint.name}', and there is none",
                where=model.arm.source,
                hint="give it in the description, or give the weights",
            )
        found.append(1.0 / most**2)
    return np.array(found)


def _most_effort(limits: Limits) -> float | None:
    if limits.effort_lower is None:
        return limits.effort
    lower, upper = limits.effort_range
    return 0.5 * (upper - lower)


def weight_matrix(name: str, value: ArrayLike, size: int) -> Floats:
    """A weight as a matrix: one number, one for each, or the matrix itself."""
    given = as_numbers(name, value)
    if not np.isfinite(given).all():
        raise UsageError(f"{name} is not finite")
    if given.ndim == 0:
        return float(given) * np.eye(size)
    if given.shape == (size,):
        return np.diag(given)
    if given.shape != (size, size):
        shapes = f"one number, ({size},) or ({size}, {size})"
        raise UsageError(f"{name} has the shape {given.shape}", hint=f"it takes {shapes}")
    return given.copy()


def require_weights(name: str, matrix: Floats, positive: bool) -> None:
    """A symmetric matrix without negative eigenvalues; or with positive ones only."""
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
