"""How far a test's two sides are apart: what it compares with its tolerance, while it runs."""

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

# every one of them gives differences beside the size of what is compared
HELPERS = (apart, gap, gap_by_state, relative)


def function_of(name: str) -> Test:
    """The function that tests/path.py::test_name stands for."""
    path, _, function = name.partition("::")
    module = import_module(path.removesuffix(".py").replace("/", "."))
    found: Test = getattr(module, function)
    return found


def cases(test: Test, most: int | None = None) -> list[dict[str, Any]]:
    """The arguments with which pytest would call a test, or `most` of them, evenly spread."""
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
    """The values of one case, whether or not it is a pytest.param."""
    marked: tuple[Any, ...] | None = (
        getattr(value, "values", None) if hasattr(value, "marks") else None
    )
    return marked or (tuple(value) if count > 1 else (value,))


@contextmanager
def _watched(test: Test) -> Iterator[list[float]]:
    """All differences that the test measures by the helpers above."""
    seen: list[float] = []

    def watching(helper: Callable[..., Any]) -> Callable[..., Any]:
        def watched(*given: Any, **named: Any) -> Any:
            found = helper(*given, **named)
            seen.append(float(np.max(found)))
            return found

        return watched

    scope = unwrap(test).__globals__
    used = {name: x for name, x in scope.items() if any(x is helper for helper in HELPERS)}
    scope.update({name: watching(helper) for name, helper in used.items()})
    try:
        yield seen
    finally:
        scope.update(used)


@cache
def differences(name: str, most: int | None = None) -> tuple[float, ...]:
    """For every case of a test, the largest difference it saw; the test has to pass."""
    test = function_of(name)
    largest = []
    for arguments in cases(test, most):
        with _watched(test) as seen:
            test(**arguments)
        largest.append(max(seen, default=np.nan))
    return tuple(largest)
