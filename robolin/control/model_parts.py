"""Parts of linear models: some of a batch, named arrays, and the joints of a direction."""

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

# joints whose share in a direction is below this, beside the largest, are not named
NAMED_FROM = 0.1


def chosen_models(model: StateSpace, place: Any) -> StateSpace:
    """Some of the models of a batch."""
    if not model.batch:
        raise UsageError("the model is a single one, there is nothing to choose from")
    own = {"A": 2, "B": 2, "C": 2, "D": 2, "basis": 2}
    index = place if isinstance(place, tuple) else (place,)
    if not any(each is Ellipsis for each in index):
        index = (*index, ...)
    arrays = {}
    for name in MODEL_ARRAYS:
        array = getattr(model, name)
        if array is not None:
            whole = (slice(None),) * own.get(name, 1)
            arrays[name] = array[(*index, *whole)]
    return replace(model, **arrays)


def arrays_by_name(model: StateSpace) -> dict[str, Numbers | Texts]:
    """Every array of a model by name, with names and units as arrays of text."""
    found = {
        name: getattr(model, name) for name in MODEL_ARRAYS if getattr(model, name) is not None
    }
    for axis in LABEL_FIELDS:
        names = getattr(model, axis)
        found[axis] = np.array(names)
        found[f"{axis[:-1]}_units"] = np.array([model.units[name] for name in names])
    found["dt"] = np.array(0.0 if model.dt is None else model.dt)
    found["joints"] = np.array(model.arm.joint_names)
    found["actuated"] = np.array(model.actuated)
    return found


def require_model(model: object) -> None:
    """A linear model, not the arm it is made from."""
    if not isinstance(model, StateSpace):
        kind = type(model).__name__
        hint = "robolin.state_space(arm, q) makes one"
        raise UsageError(f"a StateSpace is needed, and this is of type {kind}", hint=hint)


def require_mode(model: StateSpace, place: tuple[int, ...]) -> None:
    """The place of one mode: that of its model in the batch, then its own."""
    shape = (*model.batch, len(model.states))
    inside = len(place) == len(shape) and all(
        isinstance(index, int | np.integer) and -size <= index < size
        for index, size in zip(place, shape, strict=True)
    )
    if not inside:
        hint = f"{len(shape)} whole numbers, each below its own of {shape}, tell which mode"
        raise UsageError(f"there is no mode at {place}", hint=hint)


def as_numbers(name: str, value: object) -> Floats:
    """An array of real numbers, whatever was given; not of text."""
    return np.asarray(_of_kind(name, value, float))


def as_complexes(name: str, value: object) -> Complexes:
    """The same of complex numbers."""
    return np.asarray(_of_kind(name, value, complex))


def _of_kind(name: str, value: object, kind: type) -> Numbers:
    try:
        return np.asarray(value, dtype=kind)
    except (TypeError, ValueError) as error:
        raise UsageError(f"{name} is not an array of numbers: {error}") from error


def iter_models(model: StateSpace) -> list[StateSpace]:
    """The single models of a batch in order; there must be one."""
    if not model.batch:
        return [model]
    if 0 in model.batch:
        raise UsageError(f"there are no models: their shape is {model.batch}")
    return [chosen_models(model, place) for place in np.ndindex(*model.batch)]


def stacked_models(parts: Sequence[npt.NDArray[Kind]], batch: tuple[int, ...]) -> npt.NDArray[Kind]:
    """Arrays of single models, put together as the batch has them."""
    return np.stack(parts).reshape((*batch, *np.shape(parts[0])))


def joint_shares(model: StateSpace, direction: Floats | Complexes) -> Floats:
    """How much each joint has to do with directions (..., N) of the state: (..., n).

    The batch of the model comes first, and there may be several directions to each.

    Positions and velocities count alike, so a direction is best given in scaled coordinates.
    """
    d = model.freedoms
    halves = [np.abs(direction[..., :d]), np.abs(direction[..., d : 2 * d])]
    if model.basis is not None:
        # the same basis for all directions of a model
        several = range(len(model.batch), direction.ndim - 1)
        basis = np.expand_dims(model.basis, tuple(several))
        halves = [
            np.abs((basis @ part[..., None])[..., 0])
            for part in (direction[..., :d], direction[..., d : 2 * d])
        ]
    return np.maximum(*halves)


def dominant_joints(model: StateSpace, shares: Floats) -> tuple[str, ...]:
    """The joints with a noticeable share (n,), the largest first."""
    order = np.argsort(-shares, kind="stable")
    least = NAMED_FROM * shares.max(initial=0.0)
    return tuple(model.arm.joint_names[i] for i in order if shares[i] > 0.0 and shares[i] >= least)
