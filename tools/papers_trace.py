"""Which code a test enters, so that a row of the page names only what its tests run.

Functions are told apart by their code.  A kernel runs none of the code it was made from; in its
place counts what is entered while it is traced.
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from cProfile import Profile
from dataclasses import is_dataclass
from functools import cache, cached_property
from types import CodeType
from typing import Any
from unittest.mock import patch

from _pytest.outcomes import Skipped

from robolin.arm import Arm
from robolin.dynamics.algorithm import Algorithm
from robolin.dynamics.catalogue import ALGORITHMS
from robolin.engine.compiled.kernel_text import trace
from robolin.engine.compiled.kernels import Recipe
from robolin.engine.compiled.plan import arm_tables, recipe_for
from robolin.evaluation import evaluate
from robolin.evaluation.arm_cache import ArmCache
from tests.dynamics import worked
from tools.papers_measure import cases, function_of

Codes = frozenset[CodeType]


def codes_of(thing: Any) -> list[CodeType]:
    """The code that belongs to an algorithm, operator, function or class; none if it has none."""
    if isinstance(thing, Algorithm):
        return codes_of(thing.run)
    if isinstance(thing, cached_property):
        return codes_of(thing.func)
    if isinstance(thing, property):
        return codes_of(thing.fget)
    if inspect.isclass(thing):
        methods = (x for x in vars(thing).values() if not inspect.isclass(x))
        return [code for method in methods for code in codes_of(method)]
    code = getattr(inspect.unwrap(thing) if callable(thing) else thing, "__code__", None)
    return [code] if isinstance(code, CodeType) else []


def is_entered(thing: Any, entered: Codes) -> bool:
    """Whether any code of it is among what was entered; equal code elsewhere does not count."""
    seen = {id(code) for code in entered}
    return any(id(code) in seen for code in codes_of(thing))


@cache
def entered_in(name: str, case: int) -> Codes | None:
    """All code that one case of a test enters; None if it has no such case."""
    test = function_of(name)
    every = cases(test)
    if case >= len(every):
        return None
    given = every[case]
    if given.keys() != inspect.signature(test).parameters.keys():
        # what pytest itself provides is not to be had here
        return frozenset()
    forget(test.__globals__)
    forget(vars(worked))
    try:
        return entered_by(test, **{key: afresh(value) for key, value in given.items()})
    except Skipped:
        return frozenset()


def entered_by(call: Callable[..., Any], *given: Any, **named: Any) -> Codes:
    """All code that is entered while something is called, kernels included."""
    with _kernels_noted() as recipes:
        entered = _profiled(call, *given, **named)
    for recipe in recipes:
        entered |= _traced(recipe)
    return entered


def afresh(value: Any) -> Any:
    """An argument without what it has worked out for itself before."""
    kept = [name for name, x in vars(type(value)).items() if isinstance(x, cached_property)]
    if not kept or is_dataclass(value):
        return value
    fresh = copy.copy(value)
    for name in kept:
        fresh.__dict__.pop(name, None)
    return fresh


def forget(scope: dict[str, Any]) -> None:
    """Functions of a module that keep their results work them out again."""
    for value in scope.values():
        if hasattr(value, "cache_clear"):
            value.cache_clear()


def _profiled(call: Callable[..., Any], *given: Any, **named: Any) -> Codes:
    profile = Profile(builtins=False)
    profile.runcall(call, *given, **named)
    return frozenset(each.code for each in profile.getstats() if isinstance(each.code, CodeType))


@cache
def _traced(recipe: Recipe) -> Codes:
    gives = dict(recipe.gives)
    return _profiled(trace, recipe.algorithm.run, recipe.needs, gives, recipe.variant, recipe.width)


@contextmanager
def _kernels_noted() -> Iterator[set[Recipe]]:
    """The recipes of all kernels that are asked for meanwhile."""
    recipes: set[Recipe] = set()
    caches: dict[Arm, ArmCache] = {}

    class Noting(ArmCache):
        def plan(self, name: str) -> Any:
            recipes.add(recipe_for(name, ALGORITHMS[name], arm_tables(self.parameters)))
            return super().plan(name)

    def noting_cache(arm: Arm) -> ArmCache:
        if arm not in caches:
            caches[arm] = Noting(arm)
        return caches[arm]

    with patch.object(evaluate, "arm_cache", noting_cache):
        yield recipes
