"""From values to results: check the values, choose the algorithm, choose how to run it."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any, Literal, TypedDict, Unpack

import numpy as np
from numpy.typing import ArrayLike

from robolin.algebra.trigonometry import LARGEST_ANGLE
from robolin.arm import Arm
from robolin.dynamics.catalogue import ALGORITHMS
from robolin.engine.parameters import Parameters, parameters_of
from robolin.engine.run import Arrays, run
from robolin.errors import RobolinError, UsageError

Method = Literal["auto", "operator", "conventional"]
Engine = Literal["auto", "python", "compiled"]
Array = Any

# below this many states a kernel that is not in memory yet is not worth loading
FEW_STATES = 64


class How(TypedDict, total=False):
    """How to run: which algorithm, on what engine, by how many threads; never what comes out."""

    method: Method
    engine: Engine
    jobs: int | None


def evaluate(arm: Arm, verb: str, values: Mapping[str, ArrayLike], **how: Unpack[How]) -> Arrays:
    """Named results for a state or a batch; a state that cannot be answered is an error."""
    results, complaints = evaluate_rows(arm, verb, values, **how)
    if complaints is not None and complaints.any():
        row = int(np.flatnonzero(complaints)[0])
        raise complaint_of(arm, verb, values, row, **how)
    return results


def evaluate_rows(
    arm: Arm, verb: str, values: Mapping[str, ArrayLike], **how: Unpack[How]
) -> tuple[Arrays, Array | None]:
    """Results, and for each row whether it could not be answered; None if every row could."""
    name = algorithm_name(arm, verb, how.get("method", "auto"))
    algorithm = ALGORITHMS[name]
    checked = {each: _checked(arm, each, values[each]) for each in algorithm.needs}
    batch = _batch(checked)
    engine = how.get("engine", "auto")
    if engine not in ("auto", "python", "compiled"):
        raise UsageError(
            f"there is no engine '{engine}'", hint="engines are auto, python and compiled"
        )
    if engine == "python" or (engine == "auto" and not _worth_compiling(arm, name, batch)):
        return run(parameters(arm), algorithm.run, algorithm.gives, checked), None

    from robolin.engine.compiled import recipe_for, run_compiled

    ready = _prepared(arm)
    inputs = {each: _spread(array, batch) for each, array in checked.items()}
    recipe = recipe_for(name, algorithm, ready)
    return run_compiled(ready, recipe, inputs, batch, how.get("jobs"))


def complaint_of(
    arm: Arm, verb: str, values: Mapping[str, ArrayLike], row: int, **how: Unpack[How]
) -> RobolinError:
    """What is wrong with one row, found out by running it again by itself."""
    name = algorithm_name(arm, verb, how.get("method", "auto"))
    algorithm = ALGORITHMS[name]
    checked = {each: _checked(arm, each, values[each]) for each in algorithm.needs}
    batch = _batch(checked)
    state = {
        each: np.broadcast_to(array, (*batch, arm.n)).reshape(-1, arm.n)[row]
        for each, array in checked.items()
    }
    try:
        run(parameters(arm), algorithm.run, algorithm.gives, state)
    except RobolinError as error:
        if batch:
            error.message = f"state {row}: {error.message}"
        return error
    raise AssertionError("a row that a kernel complained of runs by itself")


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


def parameters(arm: Arm) -> Parameters:
    """The arm's numbers, worked out once and kept with the arm."""
    found: Parameters | None = arm.__dict__.get("_parameters")
    if found is None:
        found = arm.__dict__["_parameters"] = parameters_of(arm)
    return found


def _prepared(arm: Arm) -> Any:
    found = arm.__dict__.get("_prepared")
    if found is None:
        from robolin.engine.compiled import prepared

        found = arm.__dict__["_prepared"] = prepared(parameters(arm))
    return found


def _worth_compiling(arm: Arm, name: str, batch: tuple[int, ...]) -> bool:
    """Kernels for many states, and for few ones where the kernel is at hand anyway."""
    if prod(batch) >= FEW_STATES:
        return True
    ready = arm.__dict__.get("_prepared")
    if ready is None:
        return False
    from robolin.engine.kernels import host_width, loaded

    return loaded(name, ready.variant, host_width())


def _checked(arm: Arm, name: str, value: ArrayLike) -> Array:
    """The value as finite floats of shape (..., n); a single number stands for all joints."""
    try:
        array = np.ascontiguousarray(value, dtype=float)
    except (TypeError, ValueError) as error:
        raise RobolinError(f"{name} is not an array of numbers: {error}") from error
    if np.ndim(value) == 0:
        array = np.full(arm.n, float(array[0]))
    if array.shape[-1] != arm.n:
        raise RobolinError(
            f"{name} has {array.shape[-1]} values along its last axis, "
            f"the arm '{arm.name}' has {arm.n} joints",
            hint=f"the joints are, in order: {', '.join(arm.joint_names)}",
        )
    # one pass tells in nearly every case that all is well
    if not np.isfinite(array.sum()):
        _require_finite(arm, name, array)
    if name == "q" and array.size and not (abs(array.max()) <= LARGEST_ANGLE >= -array.min()):
        _require_angles(arm, array)
    return array


def _require_finite(arm: Arm, name: str, array: Array) -> None:
    finite = np.isfinite(array)
    if not finite.all():
        at = tuple(int(i) for i in np.argwhere(~finite)[0])
        raise RobolinError(f"{name} is not finite at {_at(arm, at)}: {array[at]}")


def _require_angles(arm: Arm, array: Array) -> None:
    """Sines lose their meaning where neighbouring numbers are a noticeable turn apart."""
    turning = np.array([joint.turns for joint in arm.joints])
    far = (np.abs(array) > LARGEST_ANGLE) & turning
    if far.any():
        at = tuple(int(i) for i in np.argwhere(far)[0])
        raise RobolinError(
            f"q is {array[at]:g} rad at {_at(arm, at)}, beyond ±{LARGEST_ANGLE:.0f} rad",
            hint="bring the angle to within a turn or so before you ask",
        )


def _at(arm: Arm, at: tuple[int, ...]) -> str:
    row = f"row {', '.join(map(str, at[:-1]))}, " if len(at) > 1 else ""
    return f"{row}joint '{arm.joint_names[at[-1]]}'"


def _batch(arrays: Mapping[str, Array]) -> tuple[int, ...]:
    """The leading axes that all values share once broadcast."""
    shapes: set[tuple[int, ...]] = {array.shape[:-1] for array in arrays.values()}
    if len(shapes) == 1:
        return shapes.pop()
    try:
        return tuple(np.broadcast_shapes(*shapes))
    except ValueError as error:
        told = ", ".join(f"{name} {array.shape}" for name, array in arrays.items())
        raise RobolinError(f"these shapes do not go together: {told}") from error


def _spread(array: Array, batch: tuple[int, ...]) -> Array:
    """An array a kernel can read row by row; the same values for all rows stay one row."""
    shape = array.shape[:-1]
    if shape == batch or not shape:
        return array
    return np.ascontiguousarray(np.broadcast_to(array, (*batch, array.shape[-1])))
