"""The answers of `diagonalize`: coordinates without a mass matrix, or whether there are any."""

from __future__ import annotations

from typing import Any

import numpy as np

from robolin.analysis.curvature import Curvature, curvature, independent_symbols
from robolin.core.arm import Arm
from robolin.core.quantity_table import COLUMN_WORDS
from robolin.core.results.result import Array, Result, ResultStream
from robolin.core.units import unit_of
from robolin.errors import UsageError
from robolin.queries.algorithm_answer import AlgorithmQuery, answer_by_algorithms
from robolin.queries.query_context import QueryContext
from robolin.queries.question import Question
from robolin.queries.regressor_answer import SampledStates, sampled_states
from robolin.queries.state_parsing import reject_samples
from robolin.queries.states import States


def answer_diagonalize(posed: QueryContext) -> Result | ResultStream:
    """One state's coordinates, one way or back; or the curvature of all of them."""
    question = posed.question
    if question.asked("curvature"):
        return answer_curvature(posed)
    name = "undiagonalize" if question.asked("inverse-transform") else "diagonalize"
    if question.asked("unnormalized"):
        name = f"{name}-unnormalized"
    return answer_by_algorithms(posed, AlgorithmQuery((name,), divides=True))


def require_sense(question: Question, states: States, arm: str) -> None:
    """Refuse what would have no effect, and a way back that starts nowhere."""
    if question.asked("curvature"):
        for name in ("unnormalized", "inverse-transform"):
            if question.asked(name):
                message = f"cannot go together with --{name}"
                hint = "curvature concerns all configurations, not one state's coordinates"
                raise UsageError(message, where="--curvature", hint=hint)
        return
    reject_samples(states, "--curvature")
    if question.asked("symbols"):
        raise UsageError("has no effect here", where="--symbols", hint="it goes with --curvature")
    velocity = "xi" if question.asked("unnormalized") else "nu"
    if question.asked("inverse-transform") and velocity not in states.values:
        raise UsageError(
            f"needs the velocities it starts from: --{velocity}",
            where="--inverse-transform",
            hint=f"for example --{velocity} 0.1,0.2 on an arm with two joints",
        )


def answer_curvature(posed: QueryContext) -> Result:
    """Look for curvature at every configuration."""
    posed.emit_arm_notes()
    arm = posed.arm
    states = sampled_states(posed, ("q",))
    q = states.values["q"]
    found = curvature(arm, q, jobs=posed.settings.jobs)
    kinds = [joint.kind for joint in arm.joints]
    arrays = [
        Array("q", q, (arm.joint_names,), unit_of("q", kinds), COLUMN_WORDS["q"]),
        Array("curvature", found.relative, (), unit_of("curvature", kinds)),
    ]
    if posed.question.asked("symbols") and found.independent:
        arrays.append(_symbols(arm, found, unit_of("riemann", kinds)))
    lines = _contract_lines(arm, states, found)
    posed.settings.notify("summary", f"{lines['verdict']}; {lines['largest symbol']}")
    return posed.result(tuple(arrays), lines, states.inputs, states.time)


def _symbols(arm: Arm, found: Curvature, unit: str) -> Array:
    """The independent symbols as one vector, named by their four joints."""
    places = independent_symbols(arm.n)
    labels = tuple("/".join(arm.joint_names[i] for i in four) for four in places)
    h, i, j, k = np.array(places).T
    return Array("riemann", found.symbols[..., h, i, j, k], (labels,), unit)


def _contract_lines(arm: Arm, states: SampledStates, found: Curvature) -> dict[str, Any]:
    where = f", in row {found.at[0] + 1}" if found.at else ""
    place = tuple(arm.joint_names.index(name) for name in found.largest)
    value = float(found.symbols[(*found.at, *place)])
    return {
        "state": states.origin,
        "algorithm": "Riemann symbols of the first kind from exact derivatives, O(n⁵)",
        "verdict": _verdict(arm, found),
        "largest symbol": f"R({', '.join(found.largest)}) = {value:.6g}{where}",
        "independent symbols": found.independent,
    }


def _verdict(arm: Arm, found: Curvature) -> str:
    if not found.flat:
        return "not flat: no coordinates make the mass matrix diagonal everywhere"
    if arm.n == 1:
        return "flat: one joint has no curvature"
    count = found.relative.size
    looked = f"all {count} configurations" if count > 1 else "the one configuration"
    return (
        f"flat in {looked} looked at; if so everywhere, coordinates make the mass matrix diagonal"
    )
