"""Measured differences of a test: values it compares with its tolerance, while it runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from inspect import unwrap
from itertools import product
from typing import Any

import numpy as np

from tests.dynamics.running import gap, gap_by_state
from tests.evaluation.loops.closed_arms import relative
from tests.operator_algebra.subjects import apart

Test = Callable[..., None]

# helpers that return differences relative to the size of the compared values
HELPERS = (apart, gap, gap_by_state, relative)


def function_of(name: str) -> Test:
    """The function of tests/path.py::test_name."""
    path, _, function = name.partition("::")
    module = import_module(path.removesuffix(".py").replace("/", "."))
    test: Test = getattr(module, function)
    return test


def cases(test: Test, most: int | None = None) -> list[dict[str, Any]]:
    """Arguments of the test cases, or of `most` evenly spaced cases."""
    marks = [mark for mark in getattr(test, "pytestmark", []) if mark.name == "parametrize"]
    together = list(product(*(_arguments(*mark.args[:2]) for mark in marks)))
    every = [{name: value for part in parts for name, value in part.items()} for parts in together]
    if most is None or len(every) <= most:
        return every
    return [every[i * (len(every) - 1) // (most - 1)] for i in range(most)]


def _arguments(names: Any, values: Any) -> list[dict[str, Any]]:
    names = [name.strip() for name in names.split(",")] if isinstance(names, str) else names
    plain = (_plain(value, len(names)) for value in values)
    return [dict(zip(names, each, strict=True)) for each in plain]


def _plain(value: Any, count: int) -> tuple[Any, ...]:
    """Values of one case, with or without pytest.param."""
    marked: tuple[Any, ...] | None = (
        getattr(value, "values", None) if hasattr(value, "marks") else None
    )
    return marked or (tuple(value) if count > 1 else (value,))


@contextmanager
def _watched(test: Test) -> Iterator[list[float]]:
    """Record all differences that the test measures with the helpers above."""
    measured: list[float] = []

    def watching(helper: Callable[..., Any]) -> Callable[..., Any]:
        def watched(*arguments: Any, **named: Any) -> Any:
            values = helper(*arguments, **named)
            measured.append(float(np.max(values)))
            return values

        return watched

    scope = unwrap(test).__globals__
    used = {name: x for name, x in scope.items() if any(x is helper for helper in HELPERS)}
    scope.update({name: watching(helper) for name, helper in used.items()})
    try:
        yield measured
    finally:
        scope.update(used)


@cache
def differences(name: str, most: int | None = None) -> tuple[float, ...]:
    """Largest difference of every case of a test; the test has to pass."""
    test = function_of(name)
    largest = []
    for arguments in cases(test, most):
        with _watched(test) as measured:
            test(**arguments)
        largest.append(max(measured, default=np.nan))
    return tuple(largest)
