"""One check: run algorithms on any number type; the error and its bound in the worst state."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from robolin.core.arm import Arm
from robolin.core.arrays import AnyArray, Floats
from robolin.core.records import dataclass
from robolin.dynamics.catalogue import ALGORITHMS
from robolin.engine import run
from robolin.engine.parameters import parameters_of
from robolin.engine.run import AlgorithmRun

Verdict = Literal["passed", "failed", "not applicable", "not run"]

# sums of a few hundred rounded products: about 1e-15 is typical, 1000 times that is allowed
SUM_TOLERANCE = 1e-12

# additional error of a division by the mass matrix, per unit of its condition number; larger if
# links are far from the inertial frame
PER_CONDITION = 1e-15

# q̈ divides torques that are already rounded
OF_ACCELERATIONS = 10.0

# round-off scales with the terms of a sum: this fraction of them may remain after cancellation
OF_TERMS = 1e-15

WHY = {
    "sum": "1e-12 of the largest entry: the result is a sum of a few hundred rounded products",
    "division": "1e-12 + 1e-15 cond(M): the result is divided by the mass matrix",
    "acceleration": "10 (1e-12 + 1e-15 cond(M)): rounded torques are divided by the mass matrix",
    "task": "(1e-12 + 1e-15 cond(M)) cond(Λ⁻¹): also divided by the operational-space inertia",
    "bodies": "10 (1e-12 + 1e-15 (cond(M) + bodies)): also divided by the inertia of every body",
    "loops": "10 (1e-12 + 1e-15 cond([M L*; L 0])): solved with the mass matrix and the "
    "constraints",
    "bits": "0: bit-identical",
    "single": "2^29 times the bound of double precision, because rounding errors are 2^29 times "
    "larger",
    "differences": "1e-5: the reference implementation uses finite differences",
}


# reference quantity for the errors of each kind of check
YARDSTICK = (
    "error: largest difference in a state, divided by a reference value. This value is the largest "
    "entry of the result, or 1e-15 · size of the summed terms / bound, if that number is larger."
)


@dataclass(frozen=True)
class RightDigits:
    """Number of correct digits of a result: the minimum over all states with a result.

    digits:   correct digits of the worst entry, relative to the largest entry;
              None if all entries are 0 in every state
    state:    index of the state with the minimum
    largest:  the largest entry in that state
    solved: number of the `states` with a result
    """

    array: str
    digits: float | None
    state: int | None
    largest: float
    solved: int
    states: int

    def __str__(self) -> str:
        digits = "none" if self.digits is None else f"{self.digits:.1f}"
        some = f" ({self.solved} of {self.states} states)"
        return f"{self.array} {digits}{some if self.solved < self.states else ''}"


@dataclass(frozen=True)
class Check:
    """One comparison, or the reason why there is none.

    error:  largest difference in the worst state, relative to the quantity in YARDSTICK
    bound:  its upper bound there; `why` is the reason, a key of WHY
    state:  index of the worst state, counted from 0
    detail: the reason if nothing was compared, otherwise additional information
    digits: correct digits of every result computed with 50-digit arithmetic
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
        """Error divided by its bound; infinite for a result that is not finite."""
        if self.error is None or self.bound is None:
            return 0.0
        if not np.isfinite(self.error):
            return float("inf")
        return self.error / self.bound if self.bound else float(self.error > 0.0) * float("inf")

    def renumbered(self, numbers: Sequence[int], states: int) -> Check:
        """The check with indices for all `states`: state i becomes numbers[i]."""
        renumbered_digits = (
            replace(each, state=_renumbered(each.state, numbers), states=states)
            for each in self.digits
        )
        return replace(
            self, state=_renumbered(self.state, numbers), digits=tuple(renumbered_digits)
        )


def _renumbered(state: int | None, numbers: Sequence[int]) -> int | None:
    return None if state is None else int(numbers[state])


@dataclass(frozen=True)
class Bound:
    """Upper bound of errors: one number, or one per state."""

    value: AnyArray
    why: str

    def at(self, states: int) -> AnyArray:
        return np.broadcast_to(np.asarray(self.value, dtype=float), (states,))


def compared(
    family: str, name: str, computed: AnyArray, true: AnyArray, bound: Bound, terms: AnyArray = 0.0
) -> Check:
    """Compare largest difference and largest entry of each state; the worst state decides.

    Both are arrays (states, …).  `terms` is the magnitude of the summed terms, per state or for
    all:
    if they cancel, round-off is measured relative to them.
    """
    with np.errstate(invalid="ignore"):
        difference = largest(np.asarray(computed) - np.asarray(true))
    return judged(family, name, difference, largest(true), bound, terms)


def judged(
    family: str, name: str, difference: AnyArray, size: AnyArray, bound: Bound, terms: AnyArray
) -> Check:
    """Check largest differences relative to largest entries, both of shape (states,)."""
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
    """The check that uses the largest fraction of its bound."""
    return max(checks, key=lambda check: check.share)


def not_applicable(family: str, name: str, reason: str) -> Check:
    return Check(family, name, "not applicable", detail=reason)


def not_run(family: str, name: str, reason: str) -> Check:
    return Check(family, name, "not run", detail=reason)


def largest(values: AnyArray) -> AnyArray:
    """Largest entry of each state (states,)."""
    flat = np.abs(np.asarray(values, dtype=float)).reshape(len(values), -1)
    return flat.max(axis=1, initial=0.0)


# far below the square root of the smallest double, far above the smallest double
STEP = 1e-30


def run_for_check(
    arm: Arm, name: str, inputs: Mapping[str, Floats], number: Any = float
) -> AlgorithmRun:
    """Run an algorithm; inputs have shape (..., n), results (..., …) of the same number type."""
    algorithm = ALGORITHMS[name]
    values = {need: np.asarray(inputs[need]) for need in algorithm.needs}
    return run.run_on(parameters_of(arm), algorithm.run, algorithm.gives, values, number)
