"""Many small cases in one test: pytest takes 5 ms for each test, longer than such a case."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any

import pytest


def for_each(name: str, values: Iterable[Any]) -> Callable[[Callable[..., None]], Any]:
    """Run a test once for all values of an argument; it fails with all failed cases.

    name: an argument, or several separated by commas, whose values are then tuples
    """
    names, cases = name.split(","), list(values)
    assert cases, "a test without cases cannot fail"

    def decorate(test: Callable[..., None]) -> Any:
        @wraps(test)
        def run(**fixtures: Any) -> None:
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

        signature = inspect.signature(test)
        fixtures = [each for key, each in signature.parameters.items() if key not in names]
        # pytest takes the arguments that are left for fixtures
        run.__signature__ = signature.replace(parameters=fixtures)  # type: ignore[attr-defined]
        return run

    return decorate
