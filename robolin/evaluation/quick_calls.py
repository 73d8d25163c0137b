"""Fast path for one state: a kernel as a built-in function, or a portable call where it is not.

A quick call takes the arrays of one state, or of a batch with one state, and returns its results:
an array or a tuple of arrays.  It returns None for other arguments, and for results that need
checking.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from robolin.core.arm import CACHE_SLOT, Arm

if TYPE_CHECKING:
    from robolin.engine.compiled.plan import Plan

QuickCall = Callable[..., Any]


def no_fast_call(*_: object, **__: object) -> None:
    """Quick call that always returns None."""


def quick_call_of(plan: Plan) -> QuickCall:
    """The quick call of a kernel."""
    from robolin.engine.compiled.call_table import CallTable, PortableCall, is_supported

    kernel = plan.kernel_call()
    if not is_supported(kernel):
        return PortableCall(plan.kernel_call) if kernel.joints else no_fast_call
    doc = "The results of one state, or None."
    batch_of_one = CallTable(kernel, no_fast_call, doc, batch=(1,)).call
    return CallTable(kernel, batch_of_one, doc).call


def fast_call(arm: Arm, verb: str, engine: str = "auto") -> QuickCall:
    """The quick call of a verb, once `evaluate` has cached it on the arm.

    The lookup is direct because it runs up to a million times a second.
    """
    if engine == "python":
        return no_fast_call
    try:
        # another function call would add 3 % to the time of a state
        call: QuickCall = arm.__dict__[CACHE_SLOT][verb]
    except (AttributeError, KeyError):
        return no_fast_call
    return call
