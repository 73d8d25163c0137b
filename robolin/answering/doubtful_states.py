"""States that are answered although something is likely to be wrong with them, and told of.

Whatever the verb, each kind is told once, however many rows it is true of.
"""

from __future__ import annotations

from collections.abc import Callable

from robolin.answering.conditioning import Conditioning
from robolin.answering.odd_states import OddStates, weighs_nothing
from robolin.answering.posed_question import PosedQuestion
from robolin.arm import Arm
from robolin.arrays import Floats, JointValues
from robolin.input_checks import array_of, require_arm


class DoubtfulStates:
    """The states of one question: positions far outside limits, and a mass matrix near singular.

    divides: whether the answer divides by the mass matrix, so that its condition matters
    """

    def __init__(self, posed: PosedQuestion, divides: bool) -> None:
        self._posed, self._divides = posed, divides
        self._odd = OddStates(posed.arm)
        self._conditioning = Conditioning(posed.arm, posed.settings.jobs)

    def look(self, q: Floats, place: Callable[[int], str] = lambda row: "") -> None:
        """Take note of one state (n,) or of rows (rows, n); under --strict odd ones are refused."""
        self._odd.look(q)
        if self._divides:
            self._conditioning.look(q, place)
        if (self._posed.arm.loaded_with or {}).get("strict"):
            # before anything of it is handed on
            first = place(0)
            where = f"{first}: " if first else ""
            self._posed.doubt(*(f"{where}{text}" for text in self._odd.warnings()))

    def tell(self, file: str = "") -> None:
        """Say what was found, in the states of this file if they come from one."""
        where = f"{file}: " if file else ""
        self._posed.doubt(*(f"{where}{text}" for text in self._odd.warnings()))
        self._posed.warn(*(f"{where}{text}" for text in self._conditioning.warnings()))


def state_warnings(arm: Arm, q: JointValues, *, jobs: int | None = None) -> tuple[str, ...]:
    """What is likely to be wrong with states before anything is computed about them.

    Functions such as `robolin.inverse` answer for any finite state and say nothing, because one
    state takes them microseconds; commands and `robolin.answer` warn in the words given here.

    Args:
        arm: the arm, from `robolin.load`
        q: positions (..., n) in rad or m, in the order of `arm.joint_names`
        jobs: threads for many states; None takes one per processor

    Returns:
        one sentence each for positions far outside their limits or in degrees, for a mass matrix
        that is all but singular, and for an arm that weighs nothing; nothing if all seems well

    Raises:
        RobolinError: a shape that does not fit the arm
        UsageError: no arm

    Example:
        >>> arm = robolin.load("panda")
        >>> robolin.state_warnings(arm, [0, -0.8, 0, -2.4, 0, 1.6, 0.8])
        ()
        >>> for text in robolin.state_warnings(arm, {"panda_joint1": 45, "panda_joint4": -2}):
        ...     print(text.partition(";")[0])
        joint 'panda_joint1' is at 45 rad, far outside its limits of -2.8973 to 2.8973
    """
    require_arm(arm)
    given = array_of(arm, "q", q)
    rows = given.reshape(-1, arm.n)
    odd, conditioning = OddStates(arm), Conditioning(arm, jobs)
    odd.look(rows)
    conditioning.look(rows, lambda row: f"row {row + 1}" if given.ndim > 1 else "")
    weightless = weighs_nothing(arm)
    if weightless:
        return weightless, *odd.warnings()
    return *odd.warnings(), *conditioning.warnings()
