"""What one check finds: an error beside its bound, in the state where it is worst."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

Array = Any
Verdict = Literal["passed", "failed", "not applicable", "not run"]

# sums of a few hundred rounded products: some 1e-15 is seen, a thousand times that is allowed
SUMMED = 1e-12

# what dividing by the mass matrix may cost beside, per unit of its condition number
PER_CONDITION = 1e-15

# q̈ divides torques that were rounded already
OF_ACCELERATIONS = 10.0

# rounding follows the terms of a sum: this share of them may be left where they cancel
OF_TERMS = 1e-15

WHY = {
    "sum": "1e-12 of the largest entry: a few hundred rounded products",
    "division": "1e-12 + 1e-15 cond(M): divided by the mass matrix",
    "acceleration": "10 (1e-12 + 1e-15 cond(M)): rounded torques, divided by the mass matrix",
    "task": "(1e-12 + 1e-15 cond(M)) cond(Λ⁻¹): divided by the task's inertia as well",
    "loops": "10 (1e-12 + 1e-15 cond([M L*; L 0])): divided by masses and closures",
    "bits": "0: the same bits",
    "differences": "1e-5: the other program's derivatives are finite differences",
}


@dataclass(frozen=True)
class Check:
    """One comparison, or why there is none.

    error:  largest difference beside the largest entry, in the worst state
    bound:  what it may be there, and `why`, a key of WHY
    state:  the number of the worst state, counted from 0
    detail: the reason where nothing was compared, else what is worth adding
    """

    family: str
    name: str
    verdict: Verdict
    error: float | None = None
    bound: float | None = None
    why: str = ""
    state: int | None = None
    detail: str = ""

    @property
    def share(self) -> float:
        """How much of the bound is used up; infinite where no finite number came out."""
        if self.error is None or self.bound is None:
            return 0.0
        if not np.isfinite(self.error):
            return float("inf")
        return self.error / self.bound if self.bound else float(self.error > 0.0) * float("inf")


@dataclass(frozen=True)
class Bound:
    """What errors may be: one number, or one per state."""

    value: Array
    why: str

    def at(self, states: int) -> Array:
        return np.broadcast_to(np.asarray(self.value, dtype=float), (states,))


def compared(
    family: str, name: str, found: Array, true: Array, bound: Bound, terms: Array = 0.0
) -> Check:
    """The largest difference of each state beside its largest entry; the worst state decides.

    Both are arrays (states, …).  `terms` is the size of what was summed up, per state or for all:
    where the sum itself is smaller by far, its rounding is measured by them.
    """
    states = len(true)
    allowed = bound.at(states)
    size = _largest(true)
    size = np.maximum(size, OF_TERMS / allowed * np.asarray(terms))
    with np.errstate(invalid="ignore"):
        difference = _largest(np.asarray(found) - np.asarray(true))
        error = difference / np.where(size == 0.0, 1.0, size)
    error = np.where(np.isfinite(error), error, np.inf)
    worst = int(np.argmax(error / allowed))
    verdict: Verdict = "passed" if error[worst] <= allowed[worst] else "failed"
    return Check(
        family, name, verdict, float(error[worst]), float(allowed[worst]), bound.why, worst
    )


def worst(checks: Iterable[Check]) -> Check:
    """The one that uses up most of its bound, to stand for all."""
    return max(checks, key=lambda check: check.share)


def not_applicable(family: str, name: str, reason: str) -> Check:
    return Check(family, name, "not applicable", detail=reason)


def not_run(family: str, name: str, reason: str) -> Check:
    return Check(family, name, "not run", detail=reason)


def _largest(values: Array) -> Array:
    flat = np.abs(np.asarray(values, dtype=float)).reshape(len(values), -1)
    return flat.max(axis=1, initial=0.0)
