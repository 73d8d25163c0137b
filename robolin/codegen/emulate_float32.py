"""Emulation of single-precision programs, vectorized over states.

An inertia about a distant point is lost in mass times distance squared, because floats have seven
digits.  So programs in floats put their inertial frame on the arm's lightest end: a light wrist
keeps its digits, and links nearer to the base are heavy enough to tolerate the loss.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from robolin.codegen.functions import DOUBLE, FLOAT, ChosenQuestion, Precision, sin_cos_in, tanh_in
from robolin.core.arrays import Floats
from robolin.dynamics.algebra.scalar import Scalar
from robolin.engine.direct import DirectChain
from robolin.engine.parameters import Parameters
from robolin.engine.run import gathered_array

NamedFloats = Mapping[str, Floats]


def parameters_in(precision: Precision, question: ChosenQuestion) -> Parameters:
    """Parameters of the arm for a program of this precision."""
    parameters = question.parameters
    return parameters if precision is DOUBLE else with_frame_at_lightest_end(parameters)


def with_frame_at_lightest_end(parameters: Parameters) -> Parameters:
    """The same arm with its inertial frame on the end of least mass."""
    carrying = {row.parent for row in parameters.links}
    ends = [k for k in range(1, parameters.n + 1) if k not in carrying]
    return replace(parameters, seat=min(ends, key=lambda k: parameters.links[k - 1].mass))


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


def emulate_float32(question: ChosenQuestion, inputs: NamedFloats) -> dict[str, Floats]:
    """Results of a single-precision program for states (B, n); NaN where it reports an error.

    Without loops, the constants of a program are computed in double and then rounded; with loops,
    the emulation is bit-identical.
    """
    parameters, algorithm = with_frame_at_lightest_end(question.parameters), question.algorithm
    columns: dict[str, Any] = {
        name: list(SinglePrecisionNumbers.of(np.ascontiguousarray(values.T)))
        for name, values in inputs.items()
    }
    chain = FloatChain(parameters, columns, SinglePrecisionNumbers.of, algorithm.gives)
    with np.errstate(all="ignore"):
        algorithm.run(chain)
    count, entries = len(next(iter(inputs.values()))), chain.results
    results = {
        name: gathered_array(entries.get(name, {}), (count,), parameters.sizes(shape))
        for name, shape in algorithm.gives.items()
    }
    for shortfall in chain.shortfalls:
        for values in results.values():
            values[shortfall.rows] = np.nan
    return results
