"""What an algorithm cannot divide by: a joint without inertia, a result that does not exist."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from robolin.errors import RobolinError

# D below this share of its uncancelled size is rounding, not inertia
NEGLIGIBLE_D = 1e-13


@dataclass(frozen=True)
class SingularPivot:
    """A joint whose inertia vanished; `rows` says in which states of a batch, None for one.

    result: what does not exist in this state, where it is no joint's fault
    alone:  whether the joint is all there is, not one of several freedoms of another
    """

    joint: str
    value: Any
    negative: bool
    rows: Any = None
    result: str = ""
    alone: bool = True


def guard_pivot(floor: Any, value: Any, complain: Callable[[Any, bool, Any], None]) -> Any:
    """The value, NaN where it is not above the floor; of which `complain` is told.

    It is told the worst value, whether that is more negative than rounding, and in which rows.
    """
    if hasattr(value, "shape"):
        return _rows_nan_unless_above(floor, value, complain)
    real = value.real
    if real > 0.0 and real > floor:
        return value
    complain(value, bool(real < -floor), None)
    return value * float("nan")


def _rows_nan_unless_above(
    floor: Any, value: Any, complain: Callable[[Any, bool, Any], None]
) -> Any:
    import numpy as np

    bad = ~((value.real > 0.0) & (value.real > floor))
    if not bad.any():
        return value
    rows = np.nonzero(np.atleast_1d(bad))[0]
    worst = np.atleast_1d(value)[rows[0]]
    complain(worst, bool((value.real < -floor).any()), rows)
    return np.where(bad, np.nan, value)


def no_inertia(shortfall: SingularPivot, where: str = "") -> RobolinError:
    """The error for a joint that nothing resists: its D(k) is zero, negative or pure rounding."""
    if shortfall.result:
        return _no_result(shortfall, where)
    joint, D = shortfall.joint, complex(shortfall.value).real
    if shortfall.negative:
        return RobolinError(
            f"joint '{joint}' has negative inertia, D = {D:.3g}: a forward result divides by it",
            where=where,
            hint="the links it carries have an impossible mass or inertia; see robolin validate",
        )
    lock = f", or lock the joint (--lock {joint}=0)" if shortfall.alone else ""
    return RobolinError(
        f"joint '{joint}' moves nothing that has inertia, D = {D:.3g}: "
        "a forward result divides by it",
        where=where,
        hint="give the links it carries a mass and an inertia, or add an armature "
        f"(--armature {joint}=VALUE){lock}",
    )


def _no_result(shortfall: SingularPivot, where: str) -> RobolinError:
    """The error for a result that would divide by nothing, though every joint has inertia."""
    pivot = complex(shortfall.value).real
    return RobolinError(
        f"{shortfall.result} does not exist in this state: the joints cannot move the frame in all "
        f"six directions, or hardly so (its inverse has lost rank, pivot {pivot:.3g})",
        where=where,
        hint="move away from the singular pose, choose another frame, or ask for the inverse "
        "alone: --operational-space-inverse, or inverse_only=True in Python",
    )
