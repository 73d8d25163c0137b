"""What one check finds: an error beside its bound, in the state where it is worst."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from robolin.core.arrays import AnyArray

Verdict = Literal["passed", "failed", "not applicable", "not run"]

# sums of a few hundred rounded products: some 1e-15 is seen, a thousand times that is allowed
SUM_TOLERANCE = 1e-12

# what dividing by the mass matrix may cost beside, per unit of its condition number, and more
# where links have slid far away from the inertial frame
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
    "bodies": "10 (1e-12 + 1e-15 (cond(M) + bodies)): divided by every body's inertia as well",
    "loops": "10 (1e-12 + 1e-15 cond([M L*; L 0])): divided by masses and closures",
    "bits": "0: the same bits",
    "differences": "1e-5: the other program's derivatives are finite differences",
}


# what the errors of checks are told beside
YARDSTICK = (
    "error: largest difference of a state beside its largest entry; where terms cancel, "
    "beside 1e-15 of them over the bound if that is more"
)


@dataclass(frozen=True)
class RightDigits:
    """How many digits of a result are right, where they are fewest of all states with an answer.

    digits:   those of the worst entry, counted from the first one of the largest entry;
              None where all entries are 0 in every state
    state:    the number of the state where they are fewest
    largest:  the largest entry there
    answered: how many of the `states` have an answer
    """

    array: str
    digits: float | None
    state: int | None
    largest: float
    answered: int
    states: int

    def __str__(self) -> str:
        digits = "none" if self.digits is None else f"{self.digits:.1f}"
        some = f" ({self.answered} of {self.states} states)"
        return f"{self.array} {digits}{some if self.answered < self.states else ''}"


@dataclass(frozen=True)
class Check:
    """One comparison, or why there is none.

    error:  largest difference in the worst state, beside what YARDSTICK says
    bound:  what it may be there, and `why`, a key of WHY
    state:  the number of the worst state, counted from 0
    detail: the reason where nothing was compared, else what is worth adding
    digits: of every result that was worked out in 50 digits, how many are right
    """

    family: str
    name: str
    verdict: Verdict
    error: float | None = None
    bound: float | None = None
    why: str = ""
    state: int | None = None
    detail: str = ""
    digits: tuple[RightDigits, ...] = ()

    @property
    def share(self) -> float:
        """How much of the bound is used up; infinite where no finite number came out."""
        if self.error is None or self.bound is None:
            return 0.0
        if not np.isfinite(self.error):
            return float("inf")
        return self.error / self.bound if self.bound else float(self.error > 0.0) * float("inf")

    def renumbered(self, numbers: Sequence[int], states: int) -> Check:
        """The same of some of the states that there are: state i is numbers[i] of them."""
        told = (
            replace(each, state=_renumbered(each.state, numbers), states=states)
            for each in self.digits
        )
        return replace(self, state=_renumbered(self.state, numbers), digits=tuple(told))


def _renumbered(state: int | None, numbers: Sequence[int]) -> int | None:
    return None if state is None else int(numbers[state])


@dataclass(frozen=True)
class Bound:
    """What errors may be: one number, or one per state."""

    value: AnyArray
    why: str

    def at(self, states: int) -> AnyArray:
        return np.broadcast_to(np.asarray(self.value, dtype=float), (states,))


def compared(
    family: str, name: str, found: AnyArray, true: AnyArray, bound: Bound, terms: AnyArray = 0.0
) -> Check:
    """The largest difference of each state beside its largest entry; the worst state decides.

    Both are arrays (states, …).  `terms` is the size of what was summed up, per state or for all:
    where the sum itself is smaller by far, its rounding is measured by them.
    """
    with np.errstate(invalid="ignore"):
        difference = largest(np.asarray(found) - np.asarray(true))
    return judged(family, name, difference, largest(true), bound, terms)


def judged(
    family: str, name: str, difference: AnyArray, size: AnyArray, bound: Bound, terms: AnyArray
) -> Check:
    """The same of the largest differences and entries (states,) themselves."""
    allowed = bound.at(len(size))
    size = np.maximum(size, OF_TERMS / allowed * np.asarray(terms))
    with np.errstate(invalid="ignore"):
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


def largest(values: AnyArray) -> AnyArray:
    """The largest entry of each state (states,)."""
    flat = np.abs(np.asarray(values, dtype=float)).reshape(len(values), -1)
    return flat.max(axis=1, initial=0.0)
