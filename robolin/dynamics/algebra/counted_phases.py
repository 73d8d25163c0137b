"""Which phase of an algorithm is at work, for whoever counts what each phase costs."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from functools import wraps
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

_phase = ContextVar("phase", default="algorithm")


# the phase that is at work in this thread; asked for every number that is counted
current_phase: Callable[[], str] = _phase.get


def counted_as(name: str) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """All that the decorated function does belongs to this phase; it changes nothing else."""

    def decorate(function: Callable[P, T]) -> Callable[P, T]:
        @wraps(function)
        def inside(*args: P.args, **kwargs: P.kwargs) -> T:
            outer = _phase.set(name)
            try:
                return function(*args, **kwargs)
            finally:
                _phase.reset(outer)

        return inside

    return decorate
