"""States that are answered although something is likely to be wrong with them, and told of.

Whatever the verb, each kind is told once, however many rows it is true of.
"""

from __future__ import annotations

from collections.abc import Callable

from robolin.answering.conditioning import Conditioning
from robolin.answering.odd_states import OddStates
from robolin.answering.posed_question import PosedQuestion
from robolin.arrays import Floats


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
