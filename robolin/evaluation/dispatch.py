"""Evaluate quantities on any arm: trees directly, arms with closed loops with their constraints.

The modules for closed loops are imported only for arms that have them.
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
from robolin.evaluation.evaluate import OverlapFunction, RunOptions, require_answers


def evaluate_arm(
    arm: Arm,
    verb: str,
    values: Mapping[str, JointValues],
    overlap: OverlapFunction | None = None,
    **options: Unpack[RunOptions],
) -> Arrays:
    """Compute named results for a state or a batch; raise for a state without a result."""
    if not _closed(arm, verb):
        return trees.evaluate(arm, verb, values, overlap, **options)
    from robolin.evaluation.loops.loop_evaluation import evaluate_closed, why_closed_unanswered

    results, unanswered = evaluate_closed(arm, verb, values, options)
    require_answers(unanswered, lambda row: why_closed_unanswered(arm, verb, values, row, options))
    return results


def evaluate_any_arm_rows(
    arm: Arm, verb: str, values: Mapping[str, JointValues], **options: Unpack[RunOptions]
) -> tuple[Arrays, Floats]:
    """Compute results, and a status per row: 0 if the row is valid."""
    if not _closed(arm, verb):
        return trees.evaluate_rows(arm, verb, values, **options)
    from robolin.evaluation.loops.loop_evaluation import evaluate_closed

    return evaluate_closed(arm, verb, values, options)


def why_any_arm_unanswered(
    arm: Arm, verb: str, values: Mapping[str, JointValues], row: int, **options: Unpack[RunOptions]
) -> RobolinError | None:
    """Run one row again to find its error; None if it is valid."""
    if not _closed(arm, verb):
        return trees.explain_failure(arm, verb, values, row, **options)
    from robolin.evaluation.loops.loop_evaluation import why_closed_unanswered

    return why_closed_unanswered(arm, verb, values, row, options)


def _closed(arm: Arm, verb: str) -> bool:
    """True if the closed loops of the arm change the result."""
    require_arm(arm)
    return bool(arm.loops) and not trees.independent_of_loops(verb)


@dataclass(frozen=True)
class _Evaluation:
    """Inputs of an algorithm that was run, and the rows with a nonzero status."""

    algorithm: str
    values: Mapping[str, Floats]
    suspects: frozenset[int]


class Batch:
    """Rows of a trajectory; algorithms run on all rows, including invalid ones."""

    def __init__(self, arm: Arm, options: RunOptions) -> None:
        self._arm, self._options = arm, options
        self._evaluations: list[_Evaluation] = []

    def run(self, algorithm: str, values: Mapping[str, Floats]) -> Arrays:
        """Run an algorithm; rows without a result contain arbitrary values."""
        arrays, status = evaluate_any_arm_rows(self._arm, algorithm, values, **self._options)
        suspects = frozenset(np.flatnonzero(status).tolist())
        self._evaluations.append(_Evaluation(algorithm, values, suspects))
        return arrays

    @property
    def suspects(self) -> list[int]:
        """The rows with a nonzero status in some algorithm."""
        none: frozenset[int] = frozenset()
        return sorted(none.union(*(evaluation.suspects for evaluation in self._evaluations)))

    def complaint(self, row: int) -> RobolinError | None:
        """The error of a row, or None."""
        for evaluation in self._evaluations:
            if row in evaluation.suspects:
                state = {k: v[row] if v.ndim > 1 else v for k, v in evaluation.values.items()}
                error = why_any_arm_unanswered(
                    self._arm, evaluation.algorithm, state, 0, **self._options
                )
                if error is not None:
                    return error
        return None
