"""Evaluation in single precision: half the memory and up to twice the speed, with fewer digits.

The inertial frame is on the lightest end of the arm, where rounding errors are smallest.  Kernels
and the run without a compiler have the same bits, and so has C code with `--real float --loops`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from robolin.core.arm import Arm, cached_on_arm
from robolin.core.arrays import (
    AnyArray,
    Arrays,
    JointValues,
    batch_of,
    joint_arrays,
    kernel_rows,
    nonfinite_input_rows,
    nonfinite_result_rows,
    require_angles,
)
from robolin.dynamics.algebra.scalar import Scalar
from robolin.dynamics.algebra.trigonometry import FLOAT, sin_cos_in, tanh_in
from robolin.dynamics.algorithm import Shape
from robolin.dynamics.catalogue import ALGORITHMS
from robolin.engine.compiled.plan import POOLED_FROM, BufferPool
from robolin.engine.direct import DirectChain
from robolin.engine.parameters import Parameters, with_frame_at_lightest_end
from robolin.engine.run import AlgorithmRun, gathered_array
from robolin.errors import RobolinError

if TYPE_CHECKING:
    from robolin.evaluation.evaluate import OverlapFunction, RunOptions

# calls for a few states after which a kernel is compiled: one takes 60 ms without it
FEW_CALLS = 5

# memory for inputs in single precision; larger arrays are allocated for each call
_pool = BufferPool(np.float32, most_bytes=1 << 25)


class Float32Cache:
    """Cached values of an arm in single precision: parameters and kernels."""

    def __init__(self, arm: Arm) -> None:
        from robolin.engine.parameters import parameters_of

        self.parameters: Parameters = with_frame_at_lightest_end(parameters_of(arm))
        self._plans: dict[str, Any] = {}
        self._tables: Any = None
        self._calls: dict[str, int] = {}

    def worth_a_kernel(self, name: str, states: int) -> bool:
        """True if the kernel is in memory, or for many states or calls."""
        from robolin.engine.compiled.kernels import can_compile
        from robolin.evaluation.evaluate import FEW_STATES

        self._calls[name] = calls = self._calls.get(name, 0) + 1
        much = states >= FEW_STATES or calls > FEW_CALLS
        return name in self._plans or (much and can_compile())

    def plan(self, name: str) -> Any:
        """The kernel of an algorithm, compiled if necessary."""
        from robolin.engine.compiled.plan import Plan, arm_tables, kernel_spec

        if name not in self._plans:
            self._tables = self._tables or arm_tables(self.parameters)
            spec = kernel_spec(name, ALGORITHMS[name], self._tables, precision=FLOAT)
            self._plans.setdefault(name, Plan(self._tables, spec))
        return self._plans[name]


def float32_cache(arm: Arm) -> Float32Cache:
    return cached_on_arm(arm, "float32", Float32Cache)


class SinglePrecisionNumbers(np.ndarray):
    """Single-precision numbers, one per state or for all, with a program's own functions."""

    @classmethod
    def of(cls, values: Any) -> SinglePrecisionNumbers:
        made: SinglePrecisionNumbers = np.asarray(values, dtype=np.float32).view(cls)
        return made

    def if_less(self, a: Any, b: Any, yes: Any, no: Any) -> SinglePrecisionNumbers:
        return SinglePrecisionNumbers.of(np.where(a < b, yes, no))

    def sin_cos(self) -> tuple[Any, Any]:
        return sin_cos_in(FLOAT)(self)

    def tanh(self) -> Any:
        return tanh_in(FLOAT, self)


class FloatChain(DirectChain):
    """Links of one arm in many states, with round-off thresholds of single precision."""

    def guard_inertia(self, k: int, value: Scalar, size: Callable[[], Scalar]) -> Scalar:
        return super().guard_inertia(k, value, lambda: size() * FLOAT.less_inertia)

    def guard_rank(self, name: str, value: Scalar, least: Scalar) -> Scalar:
        return super().guard_rank(name, value, least * FLOAT.less_rank)


def run_on_float32(
    parameters: Parameters,
    algorithm: Callable[[Any], None],
    gives: Mapping[str, Shape],
    inputs: Mapping[str, np.ndarray],
) -> AlgorithmRun:
    """Run an algorithm in single precision on values (B, n); results are float32."""
    columns: dict[str, Any] = {
        name: list(SinglePrecisionNumbers.of(np.ascontiguousarray(values.T)))
        for name, values in inputs.items()
    }
    chain = FloatChain(parameters, columns, SinglePrecisionNumbers.of, gives)
    with np.errstate(all="ignore"):
        algorithm(chain)
    batch = next(iter(inputs.values())).shape[:1]
    results = {
        name: gathered_array(
            chain.results.get(name, {}), batch, parameters.sizes(shape), np.float32
        )
        for name, shape in gives.items()
    }
    return AlgorithmRun(results, chain.shortfalls, chain.divides)


def evaluate_float32(
    arm: Arm,
    name: str,
    values: Mapping[str, JointValues],
    options: RunOptions,
    overlap: OverlapFunction | None = None,
) -> tuple[Arrays, AnyArray]:
    """Results of an algorithm in single precision, and a status per row: 0 if it is valid."""
    rounded = _rounded_arrays(arm, values)
    batch = batch_of(rounded)
    engine, cache = options.get("engine", "auto"), float32_cache(arm)
    if engine == "python" or (engine == "auto" and not cache.worth_a_kernel(name, prod(batch))):
        return _run_directly(arm, name, rounded, batch)
    inputs = [kernel_rows(array, batch) for array in rounded.values()]
    overlapped = partial(overlap, rounded, batch) if overlap else lambda: None
    rows: tuple[Arrays, AnyArray] = cache.plan(name).call_batch(
        inputs, batch, options.get("jobs"), overlap=overlapped
    )
    return rows


def _rounded_arrays(arm: Arm, values: Mapping[str, JointValues]) -> dict[str, AnyArray]:
    """Joint values (..., n) in single precision; float32 arrays are not copied."""
    double = {name: value for name, value in values.items() if not _is_single_precision(arm, value)}
    with np.errstate(over="ignore"):
        rounded = {name: _to_float32(array) for name, array in joint_arrays(arm, double).items()}
    return {name: rounded.get(name, values[name]) for name in values}


def _is_single_precision(arm: Arm, value: object) -> bool:
    return (
        type(value) is np.ndarray
        and value.dtype == np.float32
        and value.shape[-1:] == (arm.n,)
        and value.flags.c_contiguous
    )


def _to_float32(array: AnyArray) -> AnyArray:
    """A copy in single precision; large copies reuse the memory of earlier copies."""
    if array.size < POOLED_FROM:
        return array.astype(np.float32)
    rounded = _pool.take(array.size)[: array.size].reshape(array.shape)
    np.copyto(rounded, array, casting="same_kind")
    return rounded


def _run_directly(
    arm: Arm, name: str, arrays: Mapping[str, AnyArray], batch: tuple[int, ...]
) -> tuple[Arrays, AnyArray]:
    """Run on NumPy arrays."""
    algorithm, rows = ALGORITHMS[name], prod(batch)
    flat = {
        key: np.broadcast_to(array, (*batch, arm.n)).reshape(rows, arm.n)
        for key, array in arrays.items()
    }
    run = run_on_float32(float32_cache(arm).parameters, algorithm.run, algorithm.gives, flat)
    invalid = nonfinite_input_rows(arm, flat, (rows,), FLOAT.largest_angle)
    invalid |= nonfinite_result_rows(run.arrays, (rows,))
    for shortfall in run.shortfalls:
        invalid[... if shortfall.rows is None else shortfall.rows] = True
    results = {key: array.reshape(batch + array.shape[1:]) for key, array in run.arrays.items()}
    return results, invalid


def explain_float32_failure(
    arm: Arm, name: str, state: Mapping[str, AnyArray], batch: tuple[int, ...], row: int
) -> RobolinError | None:
    """The error of one state that has a result in double precision; None if it is valid."""
    from robolin.evaluation.evaluate import error_in

    return error_in(row, batch, partial(_require_result, arm, name, state))


def _require_result(arm: Arm, name: str, state: Mapping[str, AnyArray]) -> None:
    if "q" in state:
        require_angles(arm, state["q"], FLOAT.largest_angle, " in single precision")
    with np.errstate(over="ignore"):
        rounded = {key: np.asarray(values, np.float32)[None] for key, values in state.items()}
    algorithm = ALGORITHMS[name]
    run = run_on_float32(float32_cache(arm).parameters, algorithm.run, algorithm.gives, rounded)
    finite = all(np.isfinite(each).all() for each in (*rounded.values(), *run.arrays.values()))
    if run.shortfalls or not finite:
        message = "the result of the state cannot be computed in single precision"
        raise RobolinError(message, hint="use dtype='float64'")
