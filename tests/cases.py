"""Many small cases in one test: pytest takes 2 ms for each test, as long as such a case."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from typing import Any

import pytest

# number of cases that a quick run takes of one test
QUICK_CASES = 4


def quick_indices(count: int) -> set[int]:
    """The cases of a quick run: the first, the last, and some between."""
    return {round(i * (count - 1) / (QUICK_CASES - 1)) for i in range(QUICK_CASES)}


def for_each(name: str, values: Iterable[Any]) -> Callable[[Callable[..., None]], Any]:
    """Run a test once for all values of an argument; it fails with all failed cases.

    name: an argument, or several separated by commas, whose values are then tuples
    """
    names, cases = name.split(","), list(values)
    assert cases, "a test without cases cannot fail"

    def decorate(test: Callable[..., None]) -> Any:
        @wraps(test)
        def run(**fixtures: Any) -> None:
            _run_all(test, names, cases, fixtures)

        run.__signature__ = _without(test, names)  # type: ignore[attr-defined]
        return run

    return decorate


def in_groups(
    name: str, values: Iterable[Any], size: int = 24
) -> Callable[[Callable[..., None]], Any]:
    """Run a test for all values as `for_each` does; a quick run takes four of them."""
    names, cases = name.split(","), list(values)
    quick = quick_indices(len(cases))
    others = [case for index, case in enumerate(cases) if index not in quick]
    groups = [
        pytest.param([cases[index] for index in sorted(quick)], id="few"),
        *(
            pytest.param(others[i : i + size], id=f"more{i // size}", marks=pytest.mark.slow)
            for i in range(0, len(others), size)
        ),
    ]

    def decorate(test: Callable[..., None]) -> Any:
        @wraps(test)
        def run(cases: Sequence[Any], **fixtures: Any) -> None:
            _run_all(test, names, cases, fixtures)

        run.__signature__ = _without(test, names, "cases")  # type: ignore[attr-defined]
        return pytest.mark.parametrize("cases", groups)(run)

    return decorate


def _run_all(
    test: Callable[..., None], names: list[str], cases: Sequence[Any], fixtures: dict[str, Any]
) -> None:
    failed: list[BaseException] = []
    for case in cases:
        arguments = dict(zip(names, case if len(names) > 1 else [case], strict=True))
        try:
            test(**fixtures, **arguments)
        except (AssertionError, pytest.fail.Exception) as error:
            error.add_note(f"case: {arguments}")
            failed.append(error)
    if failed:
        raise BaseExceptionGroup(f"{len(failed)} of {len(cases)} cases failed", failed)


def _without(test: Callable[..., None], names: list[str], *more: str) -> inspect.Signature:
    """The arguments that are left for pytest: fixtures, and those of other decorators."""
    signature = inspect.signature(test)
    left = [each for key, each in signature.parameters.items() if key not in names]
    added = [inspect.Parameter(each, inspect.Parameter.KEYWORD_ONLY) for each in more]
    return signature.replace(parameters=[*left, *added])
