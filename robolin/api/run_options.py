"""The keywords by which every function can be told how to run, as one object."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

import numpy as np

from robolin.core.arm import Arm
from robolin.core.array_checks import batch_of, joint_arrays
from robolin.core.arrays import Arrays, Floats, JointValues
from robolin.core.choices import LoopMethod
from robolin.engine.compiled.plan import BufferPool
from robolin.evaluation.dispatch import evaluate_arm
from robolin.evaluation.evaluate import Engine, RunOptions
from robolin.evaluation.methods import Method
from robolin.evaluation.quick_calls import QuickCall, fast_call, no_fast_call

_AS_USUAL: RunOptions = {}


def at_once(
    arm: Arm,
    verb: str,
    method: Method,
    engine: Engine,
    jobs: int | None,
    loop_method: LoopMethod | None,
) -> QuickCall:
    """What answers one state in a microsecond, and anything else with None."""
    if method == "auto" and engine == "auto" and jobs is None and loop_method is None:
        return fast_call(arm, verb)
    return no_fast_call


def run_options(
    method: Method, engine: Engine, jobs: int | None, loop_method: LoopMethod | None
) -> RunOptions:
    """What was chosen; nothing at all where all is as usual, so that nothing need be checked."""
    if method == "auto" and engine == "auto" and jobs is None and loop_method is None:
        return _AS_USUAL
    return {"method": method, "engine": engine, "jobs": jobs, "loop_method": loop_method}


# numbers from which memory is used again: new memory for as many takes longer than copying them
LEAST_POOLED_POINT = 1 << 14
_pool = BufferPool()


def evaluate_with_operating_point(
    arm: Arm, verb: str, values: Mapping[str, JointValues], how: RunOptions
) -> tuple[Arrays, dict[str, Floats]]:
    """Named results, and the values they are about, each of shape (*batch, n)."""
    point: dict[str, Floats] = {}

    def copy(arrays: Mapping[str, Floats], batch: tuple[int, ...]) -> None:
        point.update(_copied(arrays, (*batch, arm.n)))

    found = evaluate_arm(arm, verb, values, copy, **how)
    if not point:
        # nothing was done by threads meanwhile
        arrays = joint_arrays(arm, values)
        copy(arrays, batch_of(arrays))
    return found, point


def _copied(arrays: Mapping[str, Floats], shape: tuple[int, ...]) -> dict[str, Floats]:
    """The arrays, each of this shape, in memory of their own."""
    size = len(arrays) * prod(shape)
    if size < LEAST_POOLED_POINT:
        return {name: _spread(array, shape).copy() for name, array in arrays.items()}
    block = _pool.take(size)[:size].reshape(len(arrays), *shape)
    copies = dict(zip(arrays, block, strict=True))
    for name, array in arrays.items():
        copies[name][...] = array
    return copies


def _spread(array: Floats, shape: tuple[int, ...]) -> Floats:
    return array if array.shape == shape else np.broadcast_to(array, shape)
