"""Which section of an algorithm is at work, for whoever counts what each section costs."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from functools import wraps
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

_section = ContextVar("section", default="algorithm")


def current_section() -> str:
    """The section that is at work in this thread."""
    return _section.get()


def counted_as(name: str) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """All that the decorated function does belongs to this section; it changes nothing else."""

    def decorate(function: Callable[P, T]) -> Callable[P, T]:
        @wraps(function)
        def inside(*args: P.args, **kwargs: P.kwargs) -> T:
            outer = _section.set(name)
            try:
                return function(*args, **kwargs)
            finally:
                _section.reset(outer)

        return inside

    return decorate
