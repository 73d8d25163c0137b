"""Singular pivots: joints without inertia, and results that do not exist."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from robolin.errors import RobolinError

# D below this fraction of its size before cancellation is rounding, not inertia
NEGLIGIBLE_D = 1e-13


@dataclass(frozen=True)
class SingularPivot:
    """A joint without inertia, or a result that does not exist.

    rows:   the affected states of a batch, None for a single state
    result: name of the result that does not exist; '' for a joint
    alone:  False for a coordinate of a multi-DoF joint
    """

    joint: str
    value: Any
    negative: bool
    rows: Any = None
    result: str = ""
    alone: bool = True


def guard_pivot(floor: Any, value: Any, report: Callable[[Any, bool, Any], None]) -> Any:
    """Return the value, with NaN where it is not positive and above the floor.

    In that case call `report(value, negative, rows)` with the first such value, whether any is
    below -floor, and the affected rows.
    """
    if hasattr(value, "shape"):
        return _guard_rows(floor, value, report)
    real = value.real
    if real > 0.0 and real > floor:
        return value
    report(value, bool(real < -floor), None)
    return value * float("nan")


def _guard_rows(floor: Any, value: Any, report: Callable[[Any, bool, Any], None]) -> Any:
    import numpy as np

    bad = ~((value.real > 0.0) & (value.real > floor))
    if not bad.any():
        return value
    rows = np.nonzero(np.atleast_1d(bad))[0]
    worst = np.atleast_1d(value)[rows[0]]
    report(worst, bool((value.real < -floor).any()), rows)
    return np.where(bad, np.nan, value)


def no_inertia(pivot: SingularPivot, where: str = "") -> RobolinError:
    """Error for a joint without inertia: its D(k) is zero, negative or rounding."""
    if pivot.result:
        return _no_result(pivot, where)
    joint, D = pivot.joint, complex(pivot.value).real
    if pivot.negative:
        return RobolinError(
            f"joint '{joint}' has negative inertia, D = {D:.3g}: a forward result divides by it",
            where=where,
            hint="the links it carries have an impossible mass or inertia; see robolin validate",
        )
    lock = f", or lock the joint (--lock {joint}=0)" if pivot.alone else ""
    return RobolinError(
        f"joint '{joint}' moves nothing that has inertia, D = {D:.3g}: "
        "a forward result divides by it",
        where=where,
        hint="give the links it carries a mass and an inertia, or add an armature "
        f"(--armature {joint}=VALUE){lock}",
    )


def _no_result(pivot: SingularPivot, where: str) -> RobolinError:
    """Error for a result that does not exist although every joint has inertia."""
    value = complex(pivot.value).real
    return RobolinError(
        f"{pivot.result} does not exist in this state: the joints cannot move the frame in all "
        f"six directions, or hardly so (its inverse has lost rank, pivot {value:.3g})",
        where=where,
        hint="move away from the singular pose, choose another frame, or ask for the inverse "
        "alone: --operational-space-inverse, or inverse_only=True in Python",
    )
