"""The quickest way to the results of one state: a kernel as a function of the interpreter.

A quick call is handed the arrays of one state and gives its results, an array or a tuple of them;
or None, where it was handed anything else, or where somebody should look closer at the answer.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from robolin.core.arm import CACHE_SLOT, Arm

if TYPE_CHECKING:
    from robolin.engine.compiled.plan import Plan

QuickCall = Callable[..., Any]


def no_fast_call(*_: object, **__: object) -> None:
    """A quick call where there is none."""


def quick_call_of(plan: Plan) -> QuickCall:
    """The quick call of a kernel; one that never answers where the interpreter allows none."""
    from robolin.engine.calls.call_table import CallTable, is_supported

    kernel = plan.single_call()
    if not is_supported(kernel):
        return no_fast_call
    return CallTable(kernel, no_fast_call, "The results of one state, or None.").call


def fast_call(arm: Arm, verb: str, engine: str = "auto") -> QuickCall:
    """The quick call that answers a verb on an arm, once `evaluate` has found that there is one.

    It is kept with the arm under the verb's own name: this is asked for a million times a second.
    """
    if engine == "python":
        return no_fast_call
    try:
        # one more function between would take 3 % of the time that a state takes in all
        call: QuickCall = arm.__dict__[CACHE_SLOT][verb]
    except (AttributeError, KeyError):
        return no_fast_call
    return call
