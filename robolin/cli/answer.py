"""What all dynamics verbs share: build the arm and the motion, run, and write the result."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

import numpy as np

from robolin.algebra.axes import Axis, Shape
from robolin.arm import Arm
from robolin.cli.flags.flag import recorded
from robolin.cli.flags.loop_flags import NO_LOOPS, Loops
from robolin.cli.flags.model_flags import Model
from robolin.cli.flags.output_flags import Output
from robolin.cli.flags.state_flags import State
from robolin.cli.loop_answer import TITLES, closed_arrays, closed_changes, closed_state, fully
from robolin.cli.motion import Motion, Run, Torque, Values, typed_motion
from robolin.dynamics.catalogue import ALGORITHMS
from robolin.evaluation.evaluate import KINEMATIC
from robolin.evaluation.methods import Method, algorithm_for
from robolin.kinematics.frame_axes import of_real_links
from robolin.loops.any_arm import evaluate
from robolin.loops.closure_arrays import row_names
from robolin.quantities import COLUMN_WORDS, unit_of
from robolin.results.result import Array, Result

# angular part first
SPATIAL = ("rx", "ry", "rz", "x", "y", "z")
POINT = ("x", "y", "z")


@dataclass(frozen=True)
class Question:
    """A verb, the algorithms that answer it, and what stands in for a torque not given.

    forward: whether the answer divides by the mass matrix, so that its condition matters
    named:   what an algorithm gives as named arrays, where its axes alone do not say it
    loops:   what was asked about closed loops
    watch:   is shown each part of the answer with the state it belongs to, in order
    """

    verb: str
    algorithms: tuple[str, ...]
    method: Method = "auto"
    torque: Torque = "zero"
    forward: bool = False
    named: Callable[[Arm, Values], Iterable[Array]] | None = None
    loops: Loops = NO_LOOPS
    watch: Callable[[Values, Result], None] | None = None

    @property
    def needs(self) -> tuple[str, ...]:
        """The state the algorithms work on, small changes and what they derive aside."""
        names = dict.fromkeys(name for a in self.algorithms for name in ALGORITHMS[a].needs)
        changes = ("dq", "dqd", "dqdd", "dtau")
        if "tau" in names or "dtau" in names:
            # accelerations then follow from the torques
            names = {**names, "tau": None}
            names.pop("qdd", None)
        return tuple(name for name in names if name not in changes)


def answer(
    question: Question, model: Model, state: State, out: Output, arm: Arm | None = None
) -> None:
    """Answer the question about the model, or the arm made of it already, and write the result."""
    out.require_target()
    arm = arm or model.arm()
    out.note(*(f"{arm.name}: {note}" for note in arm.contract["notes"]))
    question.loops.require_useful(arm)
    if state.trajectory is None:
        _answer_state(question, arm, state, out)
    else:
        from robolin.cli.rows import answer_rows

        answer_rows(question, arm, state, out, model.options.strict)


def _answer_state(question: Question, arm: Arm, state: State, out: Output) -> None:
    motion, given = typed_motion(arm, state, question.needs, question.torque)

    def run(algorithm: str, values: Values) -> Values:
        method = question.loops.method
        return evaluate(arm, algorithm, values, method=question.method, loop_method=method)

    if out.verbose and question.forward and not arm.loops:
        worst = condition(run("mass-matrix", given | motion.values(arm, given, run)))
        out.note(f"cond(M) = {worst:.3g}")
    result = Result(
        verb=question.verb,
        arrays=arrays_of(question, arm, motion, given, run),
        joints=arm.joint_names,
        contract=contract_of(question, arm, motion),
        options=recorded(),
        inputs=arm_inputs(arm),
        model=arm.figures,
    )
    if question.watch:
        question.watch(closed_state(arm, question.loops, given), result)
    out.write(result)


def arrays_of(
    question: Question, arm: Arm, motion: Motion, given: Values, run: Run
) -> tuple[Array, ...]:
    """Everything the question asks for, from the values that are given."""
    values = motion.values(arm, closed_state(arm, question.loops, given), run)
    values |= closed_changes(arm, question.loops, values)
    arrays: dict[str, Array] = {}
    for algorithm in question.algorithms:
        if "qdd" in ALGORITHMS[algorithm].needs and "qdd" not in values:
            values["qdd"] = run("forward", values)["qdd"]
        found = run(fully(arm, algorithm), values)
        values |= {name: found[name] for name in found if name == "qdd"}
        named = question.named(arm, found) if question.named else _named(arm, algorithm, found)
        arrays |= {array.name: array for array in named}
        if arm.loops and algorithm not in KINEMATIC:
            more = closed_arrays(arm, question.loops, values, found)
            arrays |= {array.name: array for array in more}
    return tuple(arrays.values())


def contract_of(
    question: Question, arm: Arm, motion: Motion, rows: int | None = None
) -> dict[str, Any]:
    """What the answer includes."""
    said = {**motion.said(rows), **question.loops.closing_said}
    return {**arm.contract, **said, "algorithm": _titles(question, arm)}


def arm_inputs(arm: Arm) -> dict[str, str]:
    """The file the arm comes from, by its base name, and its digest."""
    source = "stdin" if arm.source == "-" else PurePath(arm.source).name
    return {source: arm.digest}


def condition(found: Values) -> float:
    """The condition of the mass matrix, in the worst row if there are several."""
    matrices = found["mass_matrix"]
    fine = np.isfinite(matrices).all(axis=(-2, -1))
    return float(np.max(np.linalg.cond(matrices[fine]), initial=0.0))


def _named(arm: Arm, algorithm: str, found: Values) -> Iterable[Array]:
    rough = algorithm == "diagonalize-unnormalized"
    quantities = {"coriolis": "coriolis_unnormalized"} if rough else None
    return named_arrays(arm, ALGORITHMS[algorithm].gives, found, quantities)


def named_arrays(
    arm: Arm,
    shapes: Mapping[str, Shape],
    found: Values,
    quantities: Mapping[str, str] | None = None,
) -> Iterable[Array]:
    """Values with the labels of their axes and the units of their names, or other quantities'."""
    kinds = [joint.kind for joint in arm.joints]
    for name, shape in shapes.items():
        labels = tuple(axis_labels(arm, axis) for axis in shape)
        unit, values = unit_of((quantities or {}).get(name, name), kinds), found[name]
        yield Array(name, of_real_links(arm, shape, values), labels, unit, COLUMN_WORDS.get(name))


def axis_labels(arm: Arm, axis: Axis) -> tuple[str, ...]:
    """The names along one axis of a result."""
    if axis == "joint":
        return arm.joint_names
    if axis == "link":
        return arm.link_names
    if axis == "closure":
        return row_names(arm)
    known = {len(SPATIAL): SPATIAL, len(POINT): POINT}
    return known.get(axis) or tuple(str(i + 1) for i in range(axis))


def _titles(question: Question, arm: Arm) -> str:
    """The algorithm's title, each with what it answered where there are several."""
    if arm.loops and question.forward:
        return TITLES[question.loops.method or "null-space"]
    titles = {
        ", ".join(ALGORITHMS[verb].gives): ALGORITHMS[
            algorithm_for(arm, verb, question.method)
        ].title
        for verb in question.algorithms
    }
    if len(titles) == 1:
        return next(iter(titles.values()))
    return "; ".join(f"{arrays}: {title}" for arrays, title in titles.items())
