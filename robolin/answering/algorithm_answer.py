"""What the dynamics verbs share: algorithms by name, run on one state or on many."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from robolin.answering.doubtful_states import DoubtfulStates
from robolin.answering.joint_values import accelerations_told
from robolin.answering.loop_answer import (
    NO_LOOPS,
    TITLES,
    LoopOptions,
    closed_arrays,
    closed_changes,
    closed_state,
    fully,
    loop_options,
)
from robolin.answering.motion import (
    NeededValues,
    Run,
    TorqueRule,
    Values,
    completed_point,
    one_state,
)
from robolin.answering.named_arrays import algorithm_arrays, point_arrays
from robolin.answering.odd_states import weighs_nothing
from robolin.answering.posed_question import PosedQuestion
from robolin.arm import Arm
from robolin.arrays import Floats
from robolin.dynamics.catalogue import ALGORITHMS
from robolin.errors import RobolinError
from robolin.evaluation.evaluate import KINEMATIC, RunOptions
from robolin.evaluation.methods import Method, algorithm_for
from robolin.evaluation.prescribed_joints import prescribed_line, require_prescribed_inputs
from robolin.loops.any_arm import evaluate_any_arm, evaluate_any_arm_rows, why_any_arm_unanswered
from robolin.results.result import Array, Result, ResultStream


@dataclass(frozen=True)
class Algorithms:
    """The algorithms that answer a question, and what stands in for a torque not given.

    divides: whether the answer divides by the mass matrix, so that its condition matters
    named:   what an algorithm gives as named arrays, where its axes alone do not say it
    prescribed: 1 for every coordinate (n,) that moves as it is told, 0 for the others
    """

    names: tuple[str, ...]
    method: Method = "auto"
    torque: TorqueRule = "zero"
    divides: bool = False
    named: Callable[[Arm, Values], Iterable[Array]] | None = None
    loops: LoopOptions = NO_LOOPS
    prescribed: Floats | None = None

    @property
    def needs(self) -> tuple[str, ...]:
        """The state the algorithms work on, small changes and what they derive aside."""
        names = dict.fromkeys(name for a in self.names for name in ALGORITHMS[a].needs)
        changes = ("dq", "dqd", "dqdd", "dtau", "prescribed")
        if self.prescribed is None and ("tau" in names or "dtau" in names):
            # accelerations then follow from the torques
            names = {**names, "tau": None}
            names.pop("qdd", None)
        return tuple(name for name in names if name not in changes)


def answer_by_algorithms(
    posed: PosedQuestion, algorithms: Algorithms, arm: Arm | None = None
) -> Result | ResultStream:
    """The answer for one state, or for every row; `arm` is the one asked about, if made anew."""
    posed = replace(posed, arm=arm or posed.arm)
    posed.tell_of_arm()
    if not KINEMATIC.issuperset(algorithms.names):
        posed.doubt(*filter(None, [weighs_nothing(posed.arm)]))
    algorithms = replace(algorithms, loops=loop_options(posed.question))
    algorithms.loops.require_useful(posed.arm)
    if posed.states.trajectory is None and not posed.states.arrays:
        return _answer_state(posed, algorithms)
    from robolin.answering.trajectory_answer import answer_rows

    return answer_rows(posed, algorithms)


def _answer_state(posed: PosedQuestion, algorithms: Algorithms) -> Result:
    arm, needs = posed.arm, algorithms.needs
    motion, given = one_state(arm, posed.question, posed.states, needs, algorithms.torque)
    if algorithms.prescribed is not None:
        told = (given.get(name, np.zeros(arm.n)) for name in ("qdd", "tau"))
        require_prescribed_inputs(arm, algorithms.prescribed, *told)

    doubtful = DoubtfulStates(posed, algorithms.divides)
    doubtful.look(given.get("q", np.zeros(arm.n)))
    doubtful.tell()

    def run(algorithm: str, values: Values) -> Values:
        method = algorithms.loops.method
        return evaluate_any_arm(
            arm, algorithm, values, method=algorithms.method, loop_method=method
        )

    if posed.settings.verbose and algorithms.divides and not arm.loops:
        worst = condition(run("mass-matrix", given | motion.values(arm, given, run)))
        posed.note(f"cond(M) = {worst:.3g}")
    arrays, values = arrays_of(algorithms, arm, motion, given, run)
    lines = contract_lines(algorithms, arm, motion, told=given.get("qdd"))
    if posed.verb.linear:
        point = completed_point(values, run)
        lines["operating point"] = {name: point[name].tolist() for name in point}
    result = posed.result(arrays, lines)
    if posed.settings.watch:
        posed.settings.watch(closed_state(arm, algorithms.loops, given), result)
    return result


def arrays_of(
    algorithms: Algorithms, arm: Arm, motion: NeededValues, given: Values, run: Run
) -> tuple[tuple[Array, ...], Values]:
    """Everything the question asks for, from the values that are given; and the values used."""
    values = motion.values(arm, closed_state(arm, algorithms.loops, given), run)
    values |= closed_changes(arm, algorithms.loops, values)
    if algorithms.prescribed is not None:
        values["prescribed"] = algorithms.prescribed
    arrays: dict[str, Array] = {}
    for algorithm in algorithms.names:
        if "qdd" in ALGORITHMS[algorithm].needs and "qdd" not in values:
            values["qdd"] = run("forward", values)["qdd"]
        found = run(fully(arm, algorithm), values)
        values |= {name: found[name] for name in ("qdd", "tau") if name in found}
        own = algorithms.named
        named = own(arm, found) if own else algorithm_arrays(arm, algorithm, found)
        arrays |= {array.name: array for array in named}
        if arm.loops and algorithm not in KINEMATIC:
            more = closed_arrays(arm, algorithms.loops, values, found)
            arrays |= {array.name: array for array in more}
    return tuple(arrays.values()), values


def arrays_with_point(
    algorithms: Algorithms, arm: Arm, motion: NeededValues, given: Values, run: Run
) -> tuple[Array, ...]:
    """Everything the question asks for of some rows, and the point that each of them is about."""
    arrays, values = arrays_of(algorithms, arm, motion, given, run)
    rows, told = given["q"].shape[:-1], [array.name for array in arrays]
    return (*arrays, *point_arrays(arm, completed_point(values, run), rows, told))


def contract_lines(
    algorithms: Algorithms,
    arm: Arm,
    motion: NeededValues,
    rows: int | None = None,
    told: Floats | None = None,
) -> dict[str, Any]:
    """What the contract tells beside what it tells of the arm; `told` are accelerations given."""
    lines = {**motion.contract_lines(rows), **algorithms.loops.contract_lines}
    if (driven := algorithms.prescribed) is not None:
        values = None if told is None else told.tolist()
        by_row = rows is not None and "qdd" in motion.given
        origin = "of every row" if by_row else accelerations_told(arm, driven, values)
        lines["prescribed"] = prescribed_line(arm, driven, origin)
    return {**lines, **_algorithm_lines(algorithms, arm)}


def condition(found: Values) -> float:
    """The condition of the mass matrix, in the worst row if there are several."""
    matrices = found["mass_matrix"]
    fine = np.isfinite(matrices).all(axis=(-2, -1))
    return float(np.max(np.linalg.cond(matrices[fine]), initial=0.0))


def _algorithm_lines(algorithms: Algorithms, arm: Arm) -> dict[str, str]:
    """The algorithms' titles and papers, each with what it answered where there are several."""
    if arm.loops and algorithms.divides:
        return {"algorithm": TITLES[algorithms.loops.method or "null-space"]}
    chosen = {
        ", ".join(ALGORITHMS[verb].gives): ALGORITHMS[algorithm_for(arm, verb, algorithms.method)]
        for verb in algorithms.names
    }
    titles = {name: each.title for name, each in chosen.items()}
    lines = {"algorithm": _by_array(titles, len(chosen))}
    papers = {name: each.source for name, each in chosen.items() if each.source}
    return {**lines, "paper": _by_array(papers, len(chosen))} if papers else lines


def _by_array(texts: Mapping[str, str], algorithms: int) -> str:
    """Each text with the arrays it is about, unless one algorithm gave all of them."""
    if algorithms == 1:
        return next(iter(texts.values()))
    return "; ".join(f"{arrays}: {text}" for arrays, text in texts.items())


@dataclass(frozen=True)
class _Evaluation:
    """What an algorithm was run on, and the rows to look at again."""

    algorithm: str
    values: Values
    suspects: frozenset[int]


class Batch:
    """Some rows of a trajectory: algorithms are run on all of them, bad ones or not."""

    def __init__(self, arm: Arm, how: RunOptions) -> None:
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
