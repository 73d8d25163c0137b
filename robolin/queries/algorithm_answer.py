"""The answers of verbs that are algorithms by name, run on one state or on many."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np

from robolin.core.arm import Arm
from robolin.core.arrays import Floats
from robolin.core.results.result import Array, Result, ResultStream
from robolin.dynamics.algorithm import PAPERS
from robolin.dynamics.catalogue import ALGORITHMS
from robolin.errors import UsageError
from robolin.evaluation.dispatch import evaluate_arm
from robolin.evaluation.evaluate import KINEMATIC
from robolin.evaluation.methods import Method, algorithm_for
from robolin.evaluation.prescribed_joints import (
    METHOD_NOT_SELECTABLE,
    prescribed_joints,
    prescribed_line,
    require_prescribed_inputs,
)
from robolin.queries.joint_range import massless_warning
from robolin.queries.joint_values import accelerations_text
from robolin.queries.loop_answer import (
    LOOP_FLAGS,
    NO_LOOPS,
    TITLES,
    LoopOptions,
    closed_arrays,
    closed_changes,
    closed_state,
    loop_options,
    with_closure_forces,
)
from robolin.queries.named_arrays import algorithm_arrays, operating_point_arrays
from robolin.queries.query_context import QueryContext
from robolin.queries.question import Question
from robolin.queries.state_monitor import StateMonitor
from robolin.queries.values import (
    Run,
    StateInputs,
    TorqueDefault,
    Values,
    complete_operating_point,
    one_state,
)


def answer_inverse(posed: QueryContext) -> Result | ResultStream:
    """Torques for a motion."""
    return answer_by_algorithms(posed, AlgorithmQuery(("inverse",)))


def answer_forward(posed: QueryContext) -> Result | ResultStream:
    """Accelerations for torques, of joints and on request of links and a frame."""
    frame = posed.question.text("tip-acceleration")
    driven = _prescribed(posed)
    wanted = {
        "forward" if driven is None else "forward-prescribed": True,
        "link-accelerations": posed.question.asked("links"),
        "tip-acceleration": frame is not None,
    }
    method = _method(posed.question)
    algorithms = AlgorithmQuery(_asked(wanted), method, divides=True, prescribed=driven)
    if frame is None:
        return answer_by_algorithms(posed, algorithms)
    from robolin.evaluation.frames import at_frame
    from robolin.queries.jacobian_answer import tell_frame

    # '' stands for the frame there is by default
    placed = at_frame(posed.arm, frame or None, flag="--tip-acceleration LINK")
    tell_frame(posed, placed, frame)
    return answer_by_algorithms(posed, algorithms, placed)


# algorithms that answered before others took their place; results of both agree to rounding
FORMER_ALGORITHMS = {"mass-matrix-inverse": "mass-matrix-inverse-columns"}


def answer_mass_matrix(posed: QueryContext) -> Result | ResultStream:
    """The mass matrix itself, then everything asked for."""
    asked = posed.question.asked
    wanted = {
        "mass-matrix": True,
        "mass-matrix-inverse": asked("inverse"),
        "mass-matrix-factor": asked("factor"),
        "mass-matrix-derivative": asked("derivative"),
        "coriolis-matrix": asked("coriolis"),
    }
    divides = asked("inverse") or asked("factor")
    names = _asked(wanted)
    if posed.settings.former:
        names = tuple(FORMER_ALGORITHMS.get(name, name) for name in names)
    return answer_by_algorithms(posed, AlgorithmQuery(names, divides=divides))


def answer_linearize_inverse(posed: QueryContext) -> Result | ResultStream:
    """How torques change, with every small change or with one."""
    perturbed = posed.question.texts("perturb")
    name = "perturb-inverse" if perturbed else "linearize-inverse"
    return answer_by_algorithms(posed, AlgorithmQuery((name,)))


def answer_linearize_forward(posed: QueryContext) -> Result | ResultStream:
    """How accelerations change, with every small change or with one."""
    perturbed, driven = posed.question.texts("perturb"), _prescribed(posed)
    name = "perturb-forward" if perturbed else "linearize-forward"
    if driven is not None:
        name = "linearize-forward-prescribed"
    method = _method(posed.question)
    asked = AlgorithmQuery((name,), method, torque="hold", divides=True, prescribed=driven)
    return answer_by_algorithms(posed, asked)


def _prescribed(posed: QueryContext) -> Floats | None:
    """Which joints move as they are told; None if nobody said so."""
    text = posed.question.text("prescribe")
    if text is None:
        return None
    for label, hint in (
        ("method", METHOD_NOT_SELECTABLE),
        ("perturb", "multiply the matrices by the change"),
    ):
        if label in posed.question.asks:
            message = "cannot go together with --prescribe"
            raise UsageError(message, where=f"--{label}", hint=hint)
    return prescribed_joints(posed.arm, text, "--prescribe")


def _asked(wanted: dict[str, bool]) -> tuple[str, ...]:
    return tuple(name for name, asked in wanted.items() if asked)


def _method(question: Question) -> Method:
    return cast(Method, question.text("method") or "auto")


@dataclass(frozen=True)
class AlgorithmQuery:
    """The algorithms that answer a question, and what stands in for a torque not given.

    divides: whether the answer divides by the mass matrix, so that its condition matters
    named:   what an algorithm gives as named arrays, where its axes alone do not say it
    joined:  whether `named` needs the results of all algorithms at once
    prescribed: 1 for every coordinate (n,) that moves as it is told, 0 for the others
    """

    names: tuple[str, ...]
    method: Method = "auto"
    torque: TorqueDefault = "zero"
    divides: bool = False
    named: Callable[[Arm, Values], Iterable[Array]] | None = None
    joined: bool = False
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
    posed: QueryContext, algorithms: AlgorithmQuery, arm: Arm | None = None
) -> Result | ResultStream:
    """The answer for one state, or for every row; `arm` is the one asked about, if made anew."""
    posed = replace(posed, arm=arm or posed.arm)
    posed.emit_arm_notes()
    if not KINEMATIC.issuperset(algorithms.names):
        posed.doubt(*filter(None, [massless_warning(posed.arm)]))
    if posed.arm.loops or LOOP_FLAGS & posed.question.asks.keys():
        algorithms = replace(algorithms, loops=loop_options(posed.question))
        algorithms.loops.require_useful(posed.arm)
    if posed.states.trajectory is None and not posed.states.arrays:
        return _answer_state(posed, algorithms)
    from robolin.queries.trajectory_runner import answer_rows

    return answer_rows(posed, algorithms)


def _answer_state(posed: QueryContext, algorithms: AlgorithmQuery) -> Result:
    arm, needs = posed.arm, algorithms.needs
    motion, given = one_state(arm, posed.question, posed.states, needs, algorithms.torque)
    if algorithms.prescribed is not None:
        told = (given.get(name, np.zeros(arm.n)) for name in ("qdd", "tau"))
        require_prescribed_inputs(arm, algorithms.prescribed, *told)

    doubtful = StateMonitor(posed, algorithms.divides)
    doubtful.look(given.get("q", np.zeros(arm.n)))
    doubtful.tell()

    def run(algorithm: str, values: Values) -> Values:
        method = algorithms.loops.method
        return evaluate_arm(arm, algorithm, values, method=algorithms.method, loop_method=method)

    if posed.settings.verbose and algorithms.divides and not arm.loops:
        worst = condition(run("mass-matrix", given | motion.values(arm, given, run)))
        posed.note(f"cond(M) = {worst:.3g}")
    arrays, values = arrays_of(algorithms, arm, motion, given, run)
    lines = contract_lines(algorithms, arm, motion, told=given.get("qdd"))
    if posed.verb.linear:
        point = complete_operating_point(values, run)
        lines["operating point"] = {name: point[name].tolist() for name in point}
    result = posed.result(arrays, lines)
    if posed.settings.watch:
        posed.settings.watch(closed_state(arm, algorithms.loops, given), result)
    return result


def arrays_of(
    algorithms: AlgorithmQuery, arm: Arm, motion: StateInputs, given: Values, run: Run
) -> tuple[tuple[Array, ...], Values]:
    """Everything the question asks for, from the values that are given; and the values used."""
    if arm.loops:
        given = closed_state(arm, algorithms.loops, given)
    values = motion.values(arm, given, run)
    if arm.loops:
        values |= closed_changes(arm, algorithms.loops, values)
    if algorithms.prescribed is not None:
        values["prescribed"] = algorithms.prescribed
    arrays: dict[str, Array] = {}
    earlier: Values = {}
    for algorithm in algorithms.names:
        if "qdd" in ALGORITHMS[algorithm].needs and "qdd" not in values:
            values["qdd"] = run("forward", values)["qdd"]
        found = run(with_closure_forces(algorithm) if arm.loops else algorithm, values)
        values |= {name: found[name] for name in ("qdd", "tau") if name in found}
        if algorithms.joined:
            found = earlier = {**earlier, **found}
            if algorithm != algorithms.names[-1]:
                continue
        own = algorithms.named
        named = own(arm, found) if own else algorithm_arrays(arm, algorithm, found)
        arrays |= {array.name: array for array in named}
        if arm.loops and algorithm not in KINEMATIC:
            more = closed_arrays(arm, algorithms.loops, values, found)
            arrays |= {array.name: array for array in more}
    return tuple(arrays.values()), values


def arrays_and_operating_point(
    algorithms: AlgorithmQuery, arm: Arm, motion: StateInputs, given: Values, run: Run
) -> tuple[Array, ...]:
    """Everything the question asks for of some rows, and the point that each of them is about."""
    arrays, values = arrays_of(algorithms, arm, motion, given, run)
    rows, told = given["q"].shape[:-1], [array.name for array in arrays]
    return (
        *arrays,
        *operating_point_arrays(arm, complete_operating_point(values, run), rows, told),
    )


def contract_lines(
    algorithms: AlgorithmQuery,
    arm: Arm,
    motion: StateInputs,
    rows: int | None = None,
    told: Floats | None = None,
) -> dict[str, Any]:
    """What the contract tells beside what it tells of the arm; `told` are accelerations given."""
    lines: dict[str, Any] = motion.contract_lines(rows)
    if arm.loops:
        lines |= algorithms.loops.contract_lines
    if (driven := algorithms.prescribed) is not None:
        values = None if told is None else told.tolist()
        by_row = rows is not None and "qdd" in motion.given
        origin = "of every row" if by_row else accelerations_text(arm, driven, values)
        lines["prescribed"] = prescribed_line(arm, driven, origin)
    return {**lines, **_algorithm_lines(algorithms, arm)}


def condition(found: Values) -> float:
    """The condition of the mass matrix, in the worst row if there are several."""
    matrices = found["mass_matrix"]
    fine = np.isfinite(matrices).all(axis=(-2, -1))
    return float(np.max(np.linalg.cond(matrices[fine]), initial=0.0))


def _algorithm_lines(algorithms: AlgorithmQuery, arm: Arm) -> dict[str, str]:
    """The algorithms' titles and papers, each with what it answered where there are several."""
    if arm.loops and algorithms.divides:
        return {"algorithm": TITLES[algorithms.loops.method or "null-space"]}
    chosen = {
        ", ".join(ALGORITHMS[verb].gives): ALGORITHMS[algorithm_for(arm, verb, algorithms.method)]
        for verb in algorithms.names
    }
    titles = {name: each.title for name, each in chosen.items()}
    lines = {"algorithm": _by_array(titles, len(chosen))}
    papers = {name: _published(each.paper) for name, each in chosen.items() if each.paper}
    return {**lines, "paper": _by_array(papers, len(chosen))} if papers else lines


def _published(paper: str) -> str:
    """Where an algorithm is published, in words."""
    tag, _, place = paper.partition(" ")
    return f"{place} of {PAPERS[tag]}"


def _by_array(texts: Mapping[str, str], algorithms: int) -> str:
    """Each text with the arrays it is about, unless one algorithm gave all of them."""
    if algorithms == 1:
        return next(iter(texts.values()))
    return "; ".join(f"{arrays}: {text}" for arrays, text in texts.items())
