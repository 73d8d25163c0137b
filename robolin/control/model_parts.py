"""Helpers for linear models: batch selection, named arrays, joints of a direction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from robolin.control.state_space import StateSpace
from robolin.core.arrays import Complexes, Floats, Numbers, Texts
from robolin.errors import UsageError

Kind = TypeVar("Kind", bound=np.generic)

MODEL_ARRAYS = ("A", "B", "C", "D", "drift", "y", "q", "qd", "qdd", "tau", "basis")
LABEL_FIELDS = ("states", "inputs", "outputs")

# joints below this fraction of the largest participation are not listed
NAMED_FROM = 0.1


def select_models(model: StateSpace, index: Any) -> StateSpace:
    """Select models of a batch by index."""
    if not model.batch:
        raise UsageError("the model is a single one, there is nothing to choose from")
    own = {"A": 2, "B": 2, "C": 2, "D": 2, "basis": 2}
    full_index = index if isinstance(index, tuple) else (index,)
    if not any(each is Ellipsis for each in full_index):
        full_index = (*full_index, ...)
    arrays = {}
    for name in MODEL_ARRAYS:
        array = getattr(model, name)
        if array is not None:
            trailing = (slice(None),) * own.get(name, 1)
            arrays[name] = array[(*full_index, *trailing)]
    return replace(model, **arrays)


def arrays_by_name(model: StateSpace) -> dict[str, Numbers | Texts]:
    """All arrays of a model by name, with names and units as text arrays."""
    arrays = {
        name: getattr(model, name) for name in MODEL_ARRAYS if getattr(model, name) is not None
    }
    for axis in LABEL_FIELDS:
        names = getattr(model, axis)
        arrays[axis] = np.array(names)
        arrays[f"{axis[:-1]}_units"] = np.array([model.units[name] for name in names])
    arrays["dt"] = np.array(0.0 if model.dt is None else model.dt)
    arrays["joints"] = np.array(model.arm.joint_names)
    arrays["actuated"] = np.array(model.actuated)
    return arrays


def require_model(model: object) -> None:
    """Require a linear model; an arm is rejected with a hint."""
    if not isinstance(model, StateSpace):
        kind = type(model).__name__
        hint = "robolin.state_space(arm, q) makes one"
        raise UsageError(f"a StateSpace is needed, and this is of type {kind}", hint=hint)


def require_mode(model: StateSpace, mode_index: tuple[int, ...]) -> None:
    """Require a valid mode index: index of the model in the batch, then index of the mode."""
    shape = (*model.batch, len(model.states))
    inside = len(mode_index) == len(shape) and all(
        isinstance(index, int | np.integer) and -size <= index < size
        for index, size in zip(mode_index, shape, strict=True)
    )
    if not inside:
        hint = f"{len(shape)} whole numbers, each below its own of {shape}, tell which mode"
        raise UsageError(f"there is no mode at {mode_index}", hint=hint)


def as_numbers(name: str, value: object) -> Floats:
    """Convert to an array of real numbers; reject text."""
    return np.asarray(_as_array(name, value, float))


def as_complexes(name: str, value: object) -> Complexes:
    """Convert to an array of complex numbers; reject text."""
    return np.asarray(_as_array(name, value, complex))


def _as_array(name: str, value: object, kind: type) -> Numbers:
    try:
        return np.asarray(value, dtype=kind)
    except (TypeError, ValueError) as error:
        raise UsageError(f"{name} is not an array of numbers: {error}") from error


def iter_models(model: StateSpace) -> list[StateSpace]:
    """The single models of a batch in order; an empty batch is an error."""
    if not model.batch:
        return [model]
    if 0 in model.batch:
        raise UsageError(f"there are no models: their shape is {model.batch}")
    return [select_models(model, index) for index in np.ndindex(*model.batch)]


def stack_models(parts: Sequence[npt.NDArray[Kind]], batch: tuple[int, ...]) -> npt.NDArray[Kind]:
    """Stack arrays of single models into the shape of the batch."""
    return np.stack(parts).reshape((*batch, *np.shape(parts[0])))


def joint_shares(model: StateSpace, direction: Floats | Complexes) -> Floats:
    """Participation (..., n) of each joint in directions (..., N) of the state.

    The batch axes of the model come first; each model may have several directions.

    Positions and velocities have equal weight, so use scaled coordinates.
    """
    d = model.freedoms
    halves = [np.abs(direction[..., :d]), np.abs(direction[..., d : 2 * d])]
    if model.basis is not None:
        # the directions of a model share its basis
        several = range(len(model.batch), direction.ndim - 1)
        basis = np.expand_dims(model.basis, tuple(several))
        halves = [
            np.abs((basis @ part[..., None])[..., 0])
            for part in (direction[..., :d], direction[..., d : 2 * d])
        ]
    return np.maximum(*halves)


def dominant_joints(model: StateSpace, shares: Floats) -> tuple[str, ...]:
    """Names of the joints with notable participation (n,), largest first."""
    order = np.argsort(-shares, kind="stable")
    least = NAMED_FROM * shares.max(initial=0.0)
    return tuple(model.arm.joint_names[i] for i in order if shares[i] > 0.0 and shares[i] >= least)
