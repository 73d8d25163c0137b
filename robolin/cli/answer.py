"""What all dynamics verbs share: build the arm and the motion, run, and write the result."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

import numpy as np

from robolin.arm import Arm
from robolin.cli.flags import recorded
from robolin.cli.model_flags import Model
from robolin.cli.motion import Motion, Run, Torque, Values, typed_motion
from robolin.cli.output_flags import Output
from robolin.cli.state_flags import State
from robolin.dynamics.catalogue import ALGORITHMS
from robolin.evaluate import Method, algorithm_name, evaluate
from robolin.output.result import Array, Result
from robolin.output.units import unit_of

COLUMNS = {"qd": "velocity", "qdd": "acceleration", "tau": "effort"}


@dataclass(frozen=True)
class Question:
    """A verb, the algorithms that answer it, and what stands in for a torque not given.

    forward: whether the answer divides by the mass matrix, so that its condition matters
    """

    verb: str
    algorithms: tuple[str, ...]
    method: Method = "auto"
    torque: Torque = "zero"
    forward: bool = False

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


def answer(question: Question, model: Model, state: State, out: Output) -> None:
    """Answer the question and write the result."""
    out.require_target()
    arm = model.arm()
    out.note(*(f"{arm.name}: {note}" for note in arm.contract["notes"]))
    if state.trajectory is None:
        _answer_state(question, arm, state, out)
    else:
        from robolin.cli.rows import answer_rows

        answer_rows(question, arm, state, out, model.options.strict)


def _answer_state(question: Question, arm: Arm, state: State, out: Output) -> None:
    motion, given = typed_motion(arm, state, question.needs, question.torque)

    def run(algorithm: str, values: Values) -> Values:
        return evaluate(arm, algorithm, values, method=question.method)

    if out.verbose and question.forward:
        worst = condition(run("mass-matrix", given | motion.values(arm, given, run)))
        out.note(f"cond(M) = {worst:.3g}")
    out.write(
        Result(
            verb=question.verb,
            arrays=arrays_of(question, arm, motion, given, run),
            joints=arm.joint_names,
            contract=contract_of(question, arm, motion),
            options=recorded(),
            inputs=arm_inputs(arm),
        )
    )


def arrays_of(
    question: Question, arm: Arm, motion: Motion, given: Values, run: Run
) -> tuple[Array, ...]:
    """Everything the question asks for, from the values that are given."""
    values = motion.values(arm, given, run)
    arrays: dict[str, Array] = {}
    for algorithm in question.algorithms:
        if "qdd" in ALGORITHMS[algorithm].needs and "qdd" not in values:
            values["qdd"] = run("forward", values)["qdd"]
        found = run(algorithm, values)
        arrays |= {array.name: array for array in _named(arm, algorithm, found)}
    return tuple(arrays.values())


def contract_of(
    question: Question, arm: Arm, motion: Motion, rows: int | None = None
) -> dict[str, Any]:
    """What the answer includes."""
    return {**arm.contract, **motion.said(rows), "algorithm": _titles(question, arm)}


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
    kinds = [joint.kind for joint in arm.joints]
    for name, rank in ALGORITHMS[algorithm].gives.items():
        quantity = name
        if name == "coriolis" and algorithm == "diagonalize-unnormalized":
            quantity = "coriolis_unnormalized"
        labels = (arm.joint_names,) * rank
        yield Array(name, found[name], labels, unit_of(quantity, kinds), COLUMNS.get(name))


def _titles(question: Question, arm: Arm) -> str:
    """The algorithm's title, each with what it answered where there are several."""
    titles = {
        ", ".join(ALGORITHMS[verb].gives): ALGORITHMS[
            algorithm_name(arm, verb, question.method)
        ].title
        for verb in question.algorithms
    }
    if len(titles) == 1:
        return next(iter(titles.values()))
    return "; ".join(f"{arrays}: {title}" for arrays, title in titles.items())
