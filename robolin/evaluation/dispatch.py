"""Questions that any arm is asked: a tree answers by itself, loops are kept closed.

What keeps loops closed is imported where there are any.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Unpack

import numpy as np

from robolin.core.arm import Arm
from robolin.core.array_checks import require_arm
from robolin.core.arrays import Arrays, Floats, JointValues
from robolin.errors import RobolinError
from robolin.evaluation import evaluate as trees
from robolin.evaluation.evaluate import Meanwhile, RunOptions, require_answers


def evaluate_arm(
    arm: Arm,
    verb: str,
    values: Mapping[str, JointValues],
    meanwhile: Meanwhile | None = None,
    **how: Unpack[RunOptions],
) -> Arrays:
    """Named results for a state or a batch; a state that cannot be answered is an error."""
    if not _closed(arm, verb):
        return trees.evaluate(arm, verb, values, meanwhile, **how)
    from robolin.evaluation.loops.loop_evaluation import evaluate_closed, why_closed_unanswered

    results, unanswered = evaluate_closed(arm, verb, values, how)
    require_answers(unanswered, lambda row: why_closed_unanswered(arm, verb, values, row, how))
    return results


def evaluate_any_arm_rows(
    arm: Arm, verb: str, values: Mapping[str, JointValues], **how: Unpack[RunOptions]
) -> tuple[Arrays, Floats]:
    """Results, and for each row a number that is 0 if nothing seemed wrong with it."""
    if not _closed(arm, verb):
        return trees.evaluate_rows(arm, verb, values, **how)
    from robolin.evaluation.loops.loop_evaluation import evaluate_closed

    return evaluate_closed(arm, verb, values, how)


def why_any_arm_unanswered(
    arm: Arm, verb: str, values: Mapping[str, JointValues], row: int, **how: Unpack[RunOptions]
) -> RobolinError | None:
    """What is wrong with one row, found out by running it again by itself; None if nothing is."""
    if not _closed(arm, verb):
        return trees.explain_failure(arm, verb, values, row, **how)
    from robolin.evaluation.loops.loop_evaluation import why_closed_unanswered

    return why_closed_unanswered(arm, verb, values, row, how)


def _closed(arm: Arm, verb: str) -> bool:
    """Whether closed loops make another question of it."""
    require_arm(arm)
    return bool(arm.loops) and not trees.independent_of_loops(verb)


@dataclass(frozen=True)
class _Evaluation:
    """What an algorithm was run on, and the rows to look at again."""

    algorithm: str
    values: Mapping[str, Floats]
    suspects: frozenset[int]


class Batch:
    """Some rows of a trajectory: algorithms are run on all of them, bad ones or not."""

    def __init__(self, arm: Arm, how: RunOptions) -> None:
        self._arm, self._how = arm, how
        self._evaluations: list[_Evaluation] = []

    def run(self, algorithm: str, values: Mapping[str, Floats]) -> Arrays:
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
