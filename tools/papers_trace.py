"""Code that a test executes, to verify that a row of the page names only tested code.

Functions are identified by their code objects.  A kernel runs none of the Python code it was made
from; code executed while the kernel is traced counts instead.  A test is aborted once everything
is found: whether it passes does not matter here.
"""

from __future__ import annotations

import copy
import inspect
import sys
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import is_dataclass
from functools import cache, cached_property
from itertools import count
from types import CodeType, FrameType
from typing import Any
from unittest.mock import patch
from weakref import ref

from _pytest.outcomes import Skipped

from robolin.core import arm as core_arm
from robolin.core.arm import CACHE_SLOT, Arm
from robolin.dynamics.algorithm import Algorithm
from robolin.engine.compiled.kernel_text import trace
from robolin.engine.compiled.kernels import KernelSpec
from robolin.evaluation import quick_calls
from robolin.evaluation.evaluate import ArmCache
from tests.dynamics import worked
from tools.papers_measure import cases, function_of

_NUMBERS = count()


def codes_of(thing: Any) -> list[CodeType]:
    """Code objects of an algorithm, operator, function or class; empty if it has none."""
    if isinstance(thing, Algorithm):
        return codes_of(thing.run)
    if isinstance(thing, cached_property):
        return codes_of(thing.func)
    if isinstance(thing, property):
        return codes_of(thing.fget)
    if inspect.isclass(thing):
        # records compile their constructor when it is first read
        hasattr(thing, "__init__")
        methods = (x for x in vars(thing).values() if not inspect.isclass(x))
        return [code for method in methods for code in codes_of(method)]
    code = getattr(inspect.unwrap(thing) if callable(thing) else thing, "__code__", None)
    return [code] if isinstance(code, CodeType) else []


class AllEntered(BaseException):
    """Raised when everything is found; no test catches it."""


class Search:
    """Named code objects that have not been executed yet."""

    def __init__(self, places: Mapping[str, Collection[CodeType]]) -> None:
        self.left = set(places)
        # equal code of other functions does not count
        self._by_code: dict[int, set[str]] = {}
        for name, codes in places.items():
            for code in codes:
                self._by_code.setdefault(id(code), set()).add(name)

    def entered_in(self, name: str, turn: int) -> bool:
        """Search in one case of a test; False if there are no more cases."""
        test = function_of(name)
        every = cases(test)
        if turn >= len(every):
            return False
        arguments = every[_spread(len(every))[turn]]
        if arguments.keys() != inspect.signature(test).parameters.keys():
            # fixtures of pytest are not available here
            return True
        forget(inspect.unwrap(test).__globals__)
        forget(vars(worked))
        with suppress(Skipped):
            self.entered_by(test, **{key: afresh(value) for key, value in arguments.items()})
        return True

    def entered_by(self, call: Callable[..., Any], *args: Any, **kwargs: Any) -> None:
        """Search while a function is called, or until everything is found."""
        before = sys.gettrace()
        try:
            with _kernels_noted(self._traced):
                sys.settrace(self._noting())
                call(*args, **kwargs)
        except AllEntered:
            pass
        finally:
            sys.settrace(before)

    def _noting(self) -> Callable[[FrameType, str, Any], None]:
        """Trace function that records entered code and ignores its lines."""
        by_code = self._by_code

        def note(frame: FrameType, event: str, _: Any) -> None:
            # called about a million times per match: keep it minimal
            if id(frame.f_code) in by_code:
                self.left -= by_code[id(frame.f_code)]
                if not self.left and not _importing(frame):
                    raise AllEntered

        return note

    def _traced(self, recipe: KernelSpec) -> None:
        gives = dict(recipe.gives)
        trace(recipe.algorithm.run, recipe.needs, gives, recipe.variant, recipe.width)


@cache
def _spread(count: int) -> list[int]:
    """Indices 0 … count - 1, ends first and then between them: neighbours are similar."""
    if count < 2:
        return [0]
    order, parts = [0, count - 1], 2
    while len(order) < count:
        order += [i * (count - 1) // parts for i in range(1, parts, 2)]
        order, parts = [*dict.fromkeys(order)], 2 * parts
    return order


def _importing(frame: FrameType | None) -> bool:
    """True during an import, which must not be aborted."""
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            return True
        frame = frame.f_back
    return False


def afresh(value: Any) -> Any:
    """A copy of an argument, or of a group of them, without their cached properties."""
    if isinstance(value, list):
        return [afresh(each) for each in value]
    kept = [name for name, x in vars(type(value)).items() if isinstance(x, cached_property)]
    if not kept or is_dataclass(value):
        return value
    fresh = copy.copy(value)
    for name in kept:
        fresh.__dict__.pop(name, None)
    return fresh


def forget(scope: dict[str, Any]) -> None:
    """Clear the caches of a module's functions."""
    for value in scope.values():
        if hasattr(value, "cache_clear"):
            value.cache_clear()


@contextmanager
def _kernels_noted(note: Callable[[KernelSpec], None]) -> Iterator[None]:
    """Call `note` with the spec of every kernel at its first use.

    All arms begin with an empty cache, in an attribute of another name: kernels of earlier tests
    would not be noted.
    """
    specs: set[KernelSpec] = set()
    slot = f"{CACHE_SLOT} {next(_NUMBERS)}"
    arms: list[ref[Arm]] = []
    find_spec, start = ArmCache.kernel_spec_of, ArmCache.__init__

    def noting(cache: ArmCache, name: str, width: int | None = None) -> KernelSpec:
        spec: KernelSpec = find_spec(cache, name, width)
        if spec not in specs:
            specs.add(spec)
            note(spec)
        return spec

    def starting(cache: ArmCache, arm: Arm) -> None:
        arms.append(ref(arm))
        start(cache, arm)

    with (
        patch.object(core_arm, "CACHE_SLOT", slot),
        patch.object(quick_calls, "CACHE_SLOT", slot),
        patch.object(ArmCache, "kernel_spec_of", noting),
        patch.object(ArmCache, "__init__", starting),
    ):
        try:
            yield
        finally:
            for arm in filter(None, (each() for each in arms)):
                vars(arm).pop(slot, None)
