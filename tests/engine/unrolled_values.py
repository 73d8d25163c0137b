"""An unrolled program carried out on floats."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from robolin.dynamics.algebra.trigonometry import sin_cos_by_polynomials, tanh_by_series
from robolin.engine.operation_graph import NEGATIVE, GraphNumber, UnrolledProgram

_DONE = {
    "addition": lambda a, b: a + b,
    "multiplication": lambda a, b: a * b,
    "division": lambda a, b: a / b,
    "choice": lambda a, b, yes, no: yes if a < b else no,
    "root": math.sqrt,
}

Functions = Mapping[str, Callable[[float], float]]

OWN: Functions = {
    "sine": lambda a: sin_cos_by_polynomials(a)[0],
    "cosine": lambda a: sin_cos_by_polynomials(a)[1],
    "tanh": tanh_by_series,
}
C_LIBRARY: Functions = {"sine": math.sin, "cosine": math.cos, "tanh": math.tanh}


def carried_out(
    program: UnrolledProgram, state: Mapping[str, np.ndarray], functions: Functions = OWN
) -> dict[str, np.ndarray]:
    """The results of one state."""
    values: dict[int, float] = {}
    done: Mapping[str, Callable[..., float]] = {**_DONE, **functions}

    def of(number: Any) -> float:
        if not isinstance(number, GraphNumber):
            return number
        value = values[number.unsigned.number]
        return -value if number.kind == NEGATIVE else value

    for number in program.needed():
        if number.kind == "input":
            name, index = number.entry
            values[number.number] = float(state[name][index])
        else:
            values[number.number] = done[number.kind](*map(of, number.operands))
    return {
        name: np.array([of(x) for x in result.numbers]).reshape(result.shape) + 0.0
        for name, result in program.results.items()
    }
