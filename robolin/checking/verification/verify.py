"""Whether robolin is right about one arm: everything that can be checked without another model."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from robolin.checking.verification.algorithms import algorithms
from robolin.checking.verification.check_context import Subject
from robolin.checking.verification.checks import Check
from robolin.checking.verification.derivatives import derivatives
from robolin.checking.verification.digits import digits
from robolin.checking.verification.engines import engines
from robolin.checking.verification.identities import identities
from robolin.checking.verification.loop_checks import closed_loops
from robolin.checking.verification.peers import PeerComparison, compared_with, require_peer
from robolin.checking.verification.states import ILL_CONDITIONED, checked_states, default_samples
from robolin.core.arm import Arm
from robolin.core.array_checks import require_arm
from robolin.core.arrays import Floats
from robolin.core.notebook import Shown
from robolin.engine.singular_pivot import no_inertia
from robolin.errors import UsageError


@dataclass(frozen=True)
class Verification(Shown):
    """What was found about an arm.

    Fields:
        arm: its name
        joints: its joints, n of them
        seed: which states were drawn
        states: q, qd, qdd and the changes, each (samples, n), in SI units
        condition: the condition number of the mass matrix (samples,), a number
        checks: every comparison, or the reason why there is none
        defects: what is wrong with the arm itself, in words
        comparison: how another program was made to look at the same arm, or None

    Example:
        >>> found = robolin.verify(robolin.load("two-link"), samples=2)
        >>> found.passed, found.joints, found.states["q"].shape
        (True, ('shoulder', 'elbow'), (2, 2))
    """

    arm: str
    joints: tuple[str, ...]
    seed: int
    states: Mapping[str, Floats] = field(repr=False)
    condition: Floats = field(repr=False)
    checks: tuple[Check, ...]
    defects: tuple[str, ...] = ()
    comparison: PeerComparison | None = None

    @property
    def passed(self) -> bool:
        """Whether nothing is out of bounds and nothing is wrong with the arm."""
        return not self.failed and not self.defects

    @property
    def failed(self) -> tuple[Check, ...]:
        """The checks whose error is beyond its bound."""
        return tuple(check for check in self.checks if check.verdict == "failed")

    @property
    def worst(self) -> Check:
        """The comparison that uses up most of its bound."""
        return max(self.checks, key=lambda check: check.share)

    def state(self, number: int) -> dict[str, list[float]]:
        """Where the arm is in one of the states that were looked at.

        Args:
            number: which state, as checks count them, from 0 on

        Returns:
            'q', 'qd' and 'qdd' -> (n,), in rad or m, rad/s or m/s, and rad/s² or m/s²

        Raises:
            UsageError: a state that is not there

        Example:
            >>> found = robolin.verify(robolin.load("two-link"), samples=1)
            >>> found.state(0)["q"]
            [0.0, 0.0]
        """
        if not 0 <= number < len(self.states["q"]):
            hint = f"there are {len(self.states['q'])}, counted from 0"
            raise UsageError(f"there is no state {number}", hint=hint)
        return {name: self.states[name][number].tolist() for name in ("q", "qd", "qdd")}


def verify(
    arm: Arm, *, samples: int | None = None, seed: int = 0, against: str | None = None
) -> Verification:
    """Check robolin's answers for an arm at states inside its limits.

    Derivatives, identities, algorithms, engines and digits are compared, each with a bound.

    Args:
        arm: the arm, from `robolin.load`
        samples: how many states; None takes fewer for arms of many joints
        seed: which states, 0, 1, 2, …
        against: "pinocchio" or "mujoco", if it is installed; None for neither

    Returns:
        a `Verification`; arrays in it have shape (samples, …)

    Raises:
        UsageError: no arm, no such program, or a number that is none
        RobolinError: a program that cannot read the arm

    Example:
        >>> found = robolin.verify(robolin.load("two-link"), samples=2)
        >>> found.passed, found.failed, found.defects
        (True, (), ())
        >>> found.checks[0].name
        'dtau_dq = ∂tau/∂q'
    """
    require_arm(arm)
    if samples is not None and samples < 1:
        raise UsageError(f"samples is {samples}, not a number of states", hint="1, 2, … or None")
    if seed < 0:
        raise UsageError(f"seed is {seed}", hint="0, 1, 2, …")
    if against is not None:
        require_peer(against)
    drawn = Subject(arm, checked_states(arm, samples or default_samples(arm), seed))
    on, defects = _sound(drawn)
    checks = [check for family in _FAMILIES for check in family(on)]
    comparison = None
    if against is not None:
        comparison, found = compared_with(against, on)
        checks += found
    return Verification(
        arm.name, arm.joint_names, seed, on.states, on.condition, tuple(checks), defects, comparison
    )


_FAMILIES: tuple[Callable[[Subject], Iterator[Check]], ...] = (
    derivatives,
    identities,
    algorithms,
    engines,
    digits,
    closed_loops,
)


def _sound(on: Subject) -> tuple[Subject, tuple[str, ...]]:
    """The states where the mass matrix can be divided by, and what is wrong in the others.

    Where it can be divided by nowhere, all states are kept.
    """
    count = len(on.q)
    bad = on.condition > ILL_CONDITIONED
    defects = []
    for short in on.shortfalls.values():
        bad[short.rows] = True
        error = no_inertia(short)
        where = _some(len(short.rows), count)
        defects.append(f"{error.message}{where}; {error.hint}")
    if not defects and bad.any():
        defects.append(_singular(on) + _some(int(bad.sum()), count))
    if bad.all() or not bad.any():
        return on, tuple(defects)
    return Subject(on.arm, {name: x[~bad] for name, x in on.states.items()}), tuple(defects)


def _some(bad: int, count: int) -> str:
    return f" (in {bad} of {count} states, left out of the checks)" if bad < count else ""


def _singular(on: Subject) -> str:
    """Where the mass matrix is all but singular, and what to think of it."""
    worst = int(np.argmax(on.condition))
    q = ", ".join(f"{x:.4g}" for x in on.q[worst])
    return (
        f"the mass matrix is all but singular, cond(M) = {on.condition[worst]:.1e} at q = {q}: "
        "axes of links without mass line up there, or masses differ by many orders of magnitude; "
        "forward results keep hardly a digit"
    )
