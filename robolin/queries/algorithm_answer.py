"""Queries that run named algorithms, on one state or on a batch."""

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
    resolve_single,
)


def answer_inverse(context: QueryContext) -> Result | ResultStream:
    """Compute inverse dynamics: torques for a motion."""
    return answer_by_algorithms(context, AlgorithmQuery(("inverse",)))


def answer_forward(context: QueryContext) -> Result | ResultStream:
    """Compute forward dynamics: accelerations of joints, optionally of links and a frame."""
    frame = context.question.text("tip-acceleration")
    prescribed = _prescribed(context)
    selected = {
        "forward" if prescribed is None else "forward-prescribed": True,
        "link-accelerations": context.question.asked("links"),
        "tip-acceleration": frame is not None,
    }
    method = _method(context.question)
    algorithms = AlgorithmQuery(_enabled(selected), method, divides=True, prescribed=prescribed)
    if frame is None:
        return answer_by_algorithms(context, algorithms)
    from robolin.evaluation.frames import at_frame
    from robolin.queries.jacobian_answer import note_frame

    # '' selects the default frame
    placed = at_frame(context.arm, frame or None, flag="--tip-acceleration LINK")
    note_frame(context, placed, frame)
    return answer_by_algorithms(context, algorithms, placed)


# algorithms used by earlier versions; their results agree up to round-off
FORMER_ALGORITHMS = {"mass-matrix-inverse": "mass-matrix-inverse-columns"}


def answer_mass_matrix(context: QueryContext) -> Result | ResultStream:
    """Compute the mass matrix and the matrices that the options select."""
    is_set = context.question.asked
    selected = {
        "mass-matrix": True,
        "mass-matrix-inverse": is_set("inverse"),
        "mass-matrix-factor": is_set("factor"),
        "mass-matrix-derivative": is_set("derivative"),
        "coriolis-matrix": is_set("coriolis"),
    }
    divides = is_set("inverse") or is_set("factor")
    names = _enabled(selected)
    if context.settings.former:
        names = tuple(FORMER_ALGORITHMS.get(name, name) for name in names)
    return answer_by_algorithms(context, AlgorithmQuery(names, divides=divides))


def answer_linearize_inverse(context: QueryContext) -> Result | ResultStream:
    """Compute derivatives of inverse dynamics, or their product with one perturbation."""
    perturbed = context.question.texts("perturb")
    name = "perturb-inverse" if perturbed else "linearize-inverse"
    return answer_by_algorithms(context, AlgorithmQuery((name,)))


def answer_linearize_forward(context: QueryContext) -> Result | ResultStream:
    """Compute derivatives of forward dynamics, or their product with one perturbation."""
    perturbed, prescribed = context.question.texts("perturb"), _prescribed(context)
    name = "perturb-forward" if perturbed else "linearize-forward"
    if prescribed is not None:
        name = "linearize-forward-prescribed"
    method = _method(context.question)
    algorithms = AlgorithmQuery((name,), method, torque="hold", divides=True, prescribed=prescribed)
    return answer_by_algorithms(context, algorithms)


def _prescribed(context: QueryContext) -> Floats | None:
    """Return the mask (n,) of joints with prescribed acceleration; None without --prescribe."""
    text = context.question.text("prescribe")
    if text is None:
        return None
    for label, hint in (
        ("method", METHOD_NOT_SELECTABLE),
        ("perturb", "multiply the matrices by the change"),
    ):
        if label in context.question.asks:
            message = "cannot go together with --prescribe"
            raise UsageError(message, where=f"--{label}", hint=hint)
    return prescribed_joints(context.arm, text, "--prescribe")


def _enabled(selected: dict[str, bool]) -> tuple[str, ...]:
    return tuple(name for name, enabled in selected.items() if enabled)


def _method(question: Question) -> Method:
    return cast(Method, question.text("method") or "auto")


@dataclass(frozen=True)
class AlgorithmQuery:
    """The algorithms that evaluate a question, and the default torque.

    divides:    the result divides by the mass matrix, so its condition number matters
    named:      converts the algorithm's values to named arrays where its axes are not enough
    joined:     `named` needs the outputs of all algorithms together
    prescribed: 1 for every coordinate (n,) with prescribed acceleration, 0 for the others
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
        """State quantities that the algorithms need, without perturbations and derived ones."""
        names = dict.fromkeys(name for a in self.names for name in ALGORITHMS[a].needs)
        changes = ("dq", "dqd", "dqdd", "dtau", "prescribed")
        if self.prescribed is None and ("tau" in names or "dtau" in names):
            # the torques determine the accelerations
            names = {**names, "tau": None}
            names.pop("qdd", None)
        return tuple(name for name in names if name not in changes)


def answer_by_algorithms(
    context: QueryContext, algorithms: AlgorithmQuery, arm: Arm | None = None
) -> Result | ResultStream:
    """Evaluate one state or every row; `arm` replaces the arm of the context if given."""
    context = replace(context, arm=arm or context.arm)
    context.emit_arm_notes()
    if not KINEMATIC.issuperset(algorithms.names):
        context.warn_or_raise(*filter(None, [massless_warning(context.arm)]))
    if context.arm.loops or LOOP_FLAGS & context.question.asks.keys():
        algorithms = replace(algorithms, loops=loop_options(context.question))
        algorithms.loops.require_useful(context.arm)
    if context.states.trajectory is None and not context.states.arrays:
        return _answer_state(context, algorithms)
    from robolin.queries.trajectory_runner import answer_rows

    return answer_rows(context, algorithms)


def _answer_state(context: QueryContext, algorithms: AlgorithmQuery) -> Result:
    arm, needs = context.arm, algorithms.needs
    motion, given = resolve_single(arm, context.question, context.states, needs, algorithms.torque)
    if algorithms.prescribed is not None:
        prescribed_inputs = (given.get(name, np.zeros(arm.n)) for name in ("qdd", "tau"))
        require_prescribed_inputs(arm, algorithms.prescribed, *prescribed_inputs)

    monitor = StateMonitor(context, algorithms.divides)
    monitor.update(given.get("q", np.zeros(arm.n)))
    monitor.report()

    def run(algorithm: str, values: Values) -> Values:
        method = algorithms.loops.method
        return evaluate_arm(arm, algorithm, values, method=algorithms.method, loop_method=method)

    if context.settings.verbose and algorithms.divides and not arm.loops:
        worst = condition(run("mass-matrix", given | motion.values(arm, given, run)))
        context.note(f"cond(M) = {worst:.3g}")
    arrays, values = arrays_of(algorithms, arm, motion, given, run)
    lines = contract_lines(algorithms, arm, motion, qdd=given.get("qdd"))
    if context.verb.linear:
        point = complete_operating_point(values, run)
        lines["operating point"] = {name: point[name].tolist() for name in point}
    result = context.result(arrays, lines)
    if context.settings.watch:
        context.settings.watch(closed_state(arm, algorithms.loops, given), result)
    return result


def arrays_of(
    algorithms: AlgorithmQuery, arm: Arm, motion: StateInputs, given: Values, run: Run
) -> tuple[tuple[Array, ...], Values]:
    """Compute the requested arrays from the given values; return them with all values used."""
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
        computed = run(with_closure_forces(algorithm) if arm.loops else algorithm, values)
        values |= {name: computed[name] for name in ("qdd", "tau") if name in computed}
        if algorithms.joined:
            computed = earlier = {**earlier, **computed}
            if algorithm != algorithms.names[-1]:
                continue
        own = algorithms.named
        named = own(arm, computed) if own else algorithm_arrays(arm, algorithm, computed)
        arrays |= {array.name: array for array in named}
        if arm.loops and algorithm not in KINEMATIC:
            loop_arrays = closed_arrays(arm, algorithms.loops, values, computed)
            arrays |= {array.name: array for array in loop_arrays}
    return tuple(arrays.values()), values


def arrays_and_operating_point(
    algorithms: AlgorithmQuery, arm: Arm, motion: StateInputs, given: Values, run: Run
) -> tuple[Array, ...]:
    """Compute the requested arrays of some rows and each row's operating point."""
    arrays, values = arrays_of(algorithms, arm, motion, given, run)
    rows, existing = given["q"].shape[:-1], [array.name for array in arrays]
    return (
        *arrays,
        *operating_point_arrays(arm, complete_operating_point(values, run), rows, existing),
    )


def contract_lines(
    algorithms: AlgorithmQuery,
    arm: Arm,
    motion: StateInputs,
    rows: int | None = None,
    qdd: Floats | None = None,
) -> dict[str, Any]:
    """Contract entries of the query; `qdd` are typed accelerations of prescribed joints."""
    lines: dict[str, Any] = motion.contract_lines(rows)
    if arm.loops:
        lines |= algorithms.loops.contract_lines
    if (prescribed := algorithms.prescribed) is not None:
        values = None if qdd is None else qdd.tolist()
        by_row = rows is not None and "qdd" in motion.given
        origin = "of every row" if by_row else accelerations_text(arm, prescribed, values)
        lines["prescribed"] = prescribed_line(arm, prescribed, origin)
    return {**lines, **_algorithm_lines(algorithms, arm)}


def condition(computed: Values) -> float:
    """Return the largest condition number of the mass matrices."""
    matrices = computed["mass_matrix"]
    fine = np.isfinite(matrices).all(axis=(-2, -1))
    return float(np.max(np.linalg.cond(matrices[fine]), initial=0.0))


def _algorithm_lines(algorithms: AlgorithmQuery, arm: Arm) -> dict[str, str]:
    """Titles and papers of the algorithms, with their arrays if there are several algorithms."""
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
    """Return the citation of an algorithm as text."""
    tag, _, location = paper.partition(" ")
    return f"{location} of {PAPERS[tag]}"


def _by_array(texts: Mapping[str, str], algorithms: int) -> str:
    """Prefix each text with its arrays, unless one algorithm computed all of them."""
    if algorithms == 1:
        return next(iter(texts.values()))
    return "; ".join(f"{arrays}: {text}" for arrays, text in texts.items())
