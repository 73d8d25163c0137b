"""Algorithms on some rows at once, and which of the rows they could not answer."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from robolin.answering.motion import Values
from robolin.arm import Arm
from robolin.errors import RobolinError
from robolin.evaluation.evaluate import How
from robolin.loops.any_arm import evaluate_any_arm_rows, why_any_arm_unanswered


@dataclass(frozen=True)
class _Evaluation:
    """What an algorithm was run on, and the rows to look at again."""

    algorithm: str
    values: Values
    suspects: frozenset[int]


class Batch:
    """Some rows of a trajectory: algorithms are run on all of them, bad ones or not."""

    def __init__(self, arm: Arm, how: How) -> None:
        self._arm, self._how = arm, how
        self._evaluations: list[_Evaluation] = []

    def run(self, algorithm: str, values: Values) -> Values:
        """The algorithm's arrays; rows that could not be answered hold anything."""
        arrays, complaints = evaluate_any_arm_rows(self._arm, algorithm, values, **self._how)
        suspects = frozenset(np.flatnonzero(complaints).tolist())
        self._evaluations.append(_Evaluation(algorithm, values, suspects))
        return arrays

    @property
    def suspects(self) -> list[int]:
        """The rows that some algorithm complained of."""
        none: frozenset[int] = frozenset()
        return sorted(none.union(*(evaluation.suspects for evaluation in self._evaluations)))

    def complaint(self, row: int) -> RobolinError | None:
        """What is wrong with a row, or None."""
        for evaluation in self._evaluations:
            if row in evaluation.suspects:
                state = {k: v[row] if v.ndim > 1 else v for k, v in evaluation.values.items()}
                error = why_any_arm_unanswered(
                    self._arm, evaluation.algorithm, state, 0, **self._how
                )
                if error is not None:
                    return error
        return None
