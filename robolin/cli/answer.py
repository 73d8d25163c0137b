"""What all dynamics verbs share: build the arm and the motion, run, and write the result."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import PurePath

import numpy as np

from robolin.arm import Arm
from robolin.cli.batches import Floats, evaluated
from robolin.cli.flags import recorded
from robolin.cli.model_flags import Model
from robolin.cli.motion import Motion, Torque, motion_of
from robolin.cli.output_flags import Output
from robolin.cli.state_flags import State
from robolin.dynamics.catalogue import ALGORITHMS
from robolin.errors import RobolinError, raise_all
from robolin.evaluate import Method, algorithm_name
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
        derived = ("qdd",) if "tau" in names else ()
        changes = ("dq", "dqd", "dqdd", "dtau")
        return tuple(name for name in names if name not in (*derived, *changes))


def answer(question: Question, model: Model, state: State, out: Output) -> None:
    """Answer the question and write the result."""
    arm = model.arm()
    out.note(*(f"{arm.name}: {note}" for note in arm.contract["notes"]))
    motion = motion_of(arm, state, question.needs, question.torque)
    _tell(motion, model.options.strict, out)
    if out.verbose and question.forward:
        out.note(_condition(arm, motion))
    out.write(_result(question, arm, motion))


def _tell(motion: Motion, strict: bool, out: Output) -> None:
    """Say what was assumed about a trajectory; under --strict what is missing is an error."""
    file = motion.given.file
    missing = motion.missing_columns()
    if strict:
        hint = "add the columns, or leave out --strict"
        raise_all([RobolinError(text, where=file, hint=hint) for text in missing])
    out.note(*(f"{file}: {note}" for note in motion.given.notes))
    out.warn(*(f"{file}: {text}" for text in missing))


def _result(question: Question, arm: Arm, motion: Motion) -> Result:
    method, file = question.method, motion.given.file
    arrays: dict[str, Array] = {}
    for algorithm in question.algorithms:
        values = motion.values
        if "qdd" in ALGORITHMS[algorithm].needs and "qdd" not in values:
            qdd = evaluated(arm, "forward", values, method, file)["qdd"]
            values = {**values, "qdd": qdd}
        found = evaluated(arm, algorithm, values, method, file)
        arrays |= {array.name: array for array in _arrays(arm, algorithm, found)}
    source = "stdin" if arm.source == "-" else PurePath(arm.source).name
    return Result(
        verb=question.verb,
        arrays=tuple(arrays.values()),
        joints=arm.joint_names,
        contract={**arm.contract, **motion.said, "algorithm": _titles(question, arm)},
        options=recorded(),
        inputs={source: arm.digest, **motion.given.inputs},
        time=motion.given.time,
    )


def _arrays(arm: Arm, algorithm: str, found: Mapping[str, Floats]) -> Iterable[Array]:
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


def _condition(arm: Arm, motion: Motion) -> str:
    matrices = evaluated(arm, "mass-matrix", motion.values)["mass_matrix"]
    worst = float(np.max(np.linalg.cond(matrices)))
    rows = " in the worst row" if matrices.ndim == 3 else ""
    return f"cond(M) = {worst:.3g}{rows}"
