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
from robolin.engine.run import Arrays, no_inertia, run
from robolin.errors import RobolinError, UsageError

Method = Literal["auto", "operator", "conventional"]
Engine = Literal["auto", "python", "compiled"]
Array = Any

# the complaint of a row whose values should be looked at; a kernel says the same
SUSPECT = -1.0

# joints up to which elimination beats the recursions on the compiled engine, as measured in
# docs/performance.md; one state on floats follows the same rule so that its bits are the same
CONVENTIONAL_UP_TO = {"linearize-forward": 8, "perturb-forward": 16}

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
    if complaints.any():
        for row in np.flatnonzero(complaints):
            error = complaint_of(arm, verb, values, int(row), **how)
            if error is not None:
                raise error
    return results


def evaluate_rows(
    arm: Arm, verb: str, values: Mapping[str, ArrayLike], **how: Unpack[How]
) -> tuple[Arrays, Array]:
    """Results, and for each row a number that is 0 if nothing seemed wrong with it."""
    name = algorithm_name(arm, verb, how.get("method", "auto"))
    algorithm = ALGORITHMS[name]
    engine = how.get("engine", "auto")
    if engine not in ("auto", "python", "compiled"):
        raise UsageError(
            f"there is no engine '{engine}'", hint="engines are auto, python and compiled"
        )
    plan = _plans(arm).get(name)
    if plan is not None and engine != "python":
        block = _one_state(arm, [values[each] for each in algorithm.needs])
        if block is not None:
            results: tuple[Arrays, Array] = plan.one(block)
            return results

    arrays = {each: _array(arm, each, values[each]) for each in algorithm.needs}
    batch = _batch(arrays)
    few = prod(batch) < FEW_STATES and plan is None
    if engine == "python" or (engine == "auto" and few):
        return _run_directly(arm, name, arrays, batch)

    plan = plan or _new_plan(arm, name)
    inputs = [_spread(array, batch) for array in arrays.values()]
    rows: tuple[Arrays, Array] = plan.many(inputs, batch, how.get("jobs"))
    return rows


def complaint_of(
    arm: Arm, verb: str, values: Mapping[str, ArrayLike], row: int, **how: Unpack[How]
) -> RobolinError | None:
    """What is wrong with one row, found out by running it again by itself; None if nothing is."""
    name = algorithm_name(arm, verb, how.get("method", "auto"))
    algorithm = ALGORITHMS[name]
    arrays = {each: _array(arm, each, values[each]) for each in algorithm.needs}
    batch = _batch(arrays)
    state = {
        each: np.broadcast_to(array, (*batch, arm.n)).reshape(-1, arm.n)[row]
        for each, array in arrays.items()
    }
    try:
        for each, array in state.items():
            _require_sound(arm, each, array)
    except RobolinError as error:
        return _of_state(row, batch, error)
    _, shortfalls = run(parameters(arm), algorithm.run, algorithm.gives, state)
    return _of_state(row, batch, no_inertia(shortfalls[0])) if shortfalls else None


def _of_state(row: int, batch: tuple[int, ...], error: RobolinError) -> RobolinError:
    prefix = f"state {row}: " if batch else ""
    return RobolinError(prefix + error.message, where=error.where, hint=error.hint)


def _run_directly(
    arm: Arm, name: str, arrays: Mapping[str, Array], batch: tuple[int, ...]
) -> tuple[Arrays, Array]:
    """Floats for one state, NumPy arrays for several."""
    complaints = np.zeros(prod(batch))
    for each, array in arrays.items():
        suspects = ~np.isfinite(array)
        if each == "q":
            suspects |= np.abs(array) > LARGEST_ANGLE / _largest_ratio(arm)
        complaints[np.broadcast_to(suspects.any(axis=-1), batch).ravel()] = SUSPECT
    algorithm = ALGORITHMS[name]
    results, shortfalls = run(parameters(arm), algorithm.run, algorithm.gives, arrays)
    for shortfall in shortfalls:
        complaints[... if shortfall.rows is None else shortfall.rows] = SUSPECT
    return results, complaints


def _largest_ratio(arm: Arm) -> float:
    """How far a joint that mimics another may turn for each radian of it, at the most."""
    mimics = (link.joint.mimic for link in arm.links if link.joint.mimic)
    return max([1.0, *(abs(mimic.ratio) + abs(mimic.offset) for mimic in mimics)])


def algorithm_name(arm: Arm, verb: str, method: Method = "auto") -> str:
    """The algorithm that answers `verb` on this arm."""
    conventional = f"{verb}-conventional"
    if method == "conventional" and conventional in ALGORITHMS:
        return conventional
    if method == "auto" and arm.n <= CONVENTIONAL_UP_TO.get(verb, 0):
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


def _plans(arm: Arm) -> dict[str, Any]:
    """The kernels this arm has been run on, by algorithm."""
    found: dict[str, Any] | None = arm.__dict__.get("_plans")
    if found is None:
        found = arm.__dict__["_plans"] = {}
    return found


def _new_plan(arm: Arm, name: str) -> Any:
    from robolin.engine.compiled import Plan, prepared, recipe_for

    ready = arm.__dict__.get("_prepared")
    if ready is None:
        ready = arm.__dict__["_prepared"] = prepared(parameters(arm))
    plan = _plans(arm)[name] = Plan(ready, recipe_for(name, ALGORITHMS[name], ready))
    return plan


def _one_state(arm: Arm, values: list[ArrayLike]) -> Array | None:
    """The values as rows, if they are those of one state; the kernel says if they are sound."""
    block = np.empty((len(values), arm.n))
    try:
        for i, value in enumerate(values):
            if np.shape(value) not in ((), (arm.n,)):
                return None
            block[i] = value
    except (TypeError, ValueError):
        return None
    return block


def _array(arm: Arm, name: str, value: ArrayLike) -> Array:
    """The value as floats of shape (..., n); a single number stands for all joints."""
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
    return array


def _require_sound(arm: Arm, name: str, values: Array) -> None:
    """Finite values of one state, and angles whose sine can be told."""
    _require_finite(arm, name, values)
    if name == "q":
        _require_angles(arm, values)


def _require_finite(arm: Arm, name: str, values: Array) -> None:
    finite = np.isfinite(values)
    if not finite.all():
        at = int(np.argmin(finite))
        raise RobolinError(f"{name} is not finite at joint '{arm.joint_names[at]}': {values[at]}")


def _require_angles(arm: Arm, values: Array) -> None:
    """Sines lose their meaning where neighbouring numbers are a noticeable turn apart."""
    for link, place in zip(arm.links, arm.coordinates, strict=True):
        mimic = link.joint.mimic
        angle = values[place] * mimic.ratio + mimic.offset if mimic else values[place]
        if link.joint.turns and abs(angle) > LARGEST_ANGLE:
            raise RobolinError(
                f"q is {angle:g} rad at joint '{link.joint.name}', beyond ±{LARGEST_ANGLE:.0f} rad",
                hint="bring the angle to within a turn or so before you ask",
            )


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
