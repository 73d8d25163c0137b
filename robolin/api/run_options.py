"""Options for the engine, method and threads, as one object."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any

import numpy as np

from robolin.core.arm import Arm
from robolin.core.arrays import Arrays, Floats, JointValues, batch_of, joint_arrays
from robolin.core.choices import DType, LoopMethod
from robolin.engine.compiled.plan import POOLED_FROM, BufferPool
from robolin.evaluation.evaluate import Engine, RunOptions, evaluate_arm
from robolin.evaluation.methods import Method

_DEFAULTS: RunOptions = {}


def run_options(
    method: Method,
    engine: Engine,
    jobs: int | None,
    loop_method: LoopMethod | None = None,
    dtype: DType = "float64",
) -> RunOptions:
    """Collect the options; empty if all have their defaults, which skips all checks."""
    defaults = method == "auto" and engine == "auto" and jobs is None and loop_method is None
    if defaults and dtype == "float64":
        return _DEFAULTS
    options: RunOptions = {"method": method, "engine": engine, "jobs": jobs}
    # numpy.float32 for 'float32'
    chosen: Any = dtype
    name: Any = np.dtype(chosen).name if isinstance(chosen, type) else chosen
    return {**options, "loop_method": loop_method, "dtype": name}


_pools = {np.dtype(kind): BufferPool(kind) for kind in (np.float64, np.float32)}


def evaluate_with_operating_point(
    arm: Arm, verb: str, values: Mapping[str, JointValues], options: RunOptions
) -> tuple[Arrays, dict[str, Floats]]:
    """Evaluate; return the results and the inputs broadcast to (*batch, n)."""
    point: dict[str, Floats] = {}

    def copy(arrays: Mapping[str, Floats], batch: tuple[int, ...]) -> None:
        point.update(_copy_arrays(arrays, (*batch, arm.n)))

    results = evaluate_arm(arm, verb, values, copy, **options)
    if not point:
        # the callback ran on no thread
        arrays = joint_arrays(arm, values)
        copy(arrays, batch_of(arrays))
    if options.get("dtype") == "float32":
        # the state in the precision in which it was used
        point = {name: values.astype(np.float32, copy=False) for name, values in point.items()}
    return results, point


def _copy_arrays(arrays: Mapping[str, Floats], shape: tuple[int, ...]) -> dict[str, Floats]:
    """Copy the arrays, broadcast to this shape, into own memory."""
    size = len(arrays) * prod(shape)
    if size < POOLED_FROM:
        return {name: _broadcast(array, shape).copy() for name, array in arrays.items()}
    (kind,) = {array.dtype for array in arrays.values()}
    block = _pools[kind].take(size)[:size].reshape(len(arrays), *shape)
    copies = dict(zip(arrays, block, strict=True))
    for name, array in arrays.items():
        copies[name][...] = array
    return copies


def _broadcast(array: Floats, shape: tuple[int, ...]) -> Floats:
    return array if array.shape == shape else np.broadcast_to(array, shape)
