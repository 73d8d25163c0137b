"""The `diagonalize` query: diagonalizing quasi-velocities, or the curvature of the mass matrix."""

from __future__ import annotations

from typing import Any

import numpy as np

from robolin.analysis.curvature import Curvature, curvature, independent_symbols
from robolin.core.arm import Arm
from robolin.core.quantity_table import COLUMN_WORDS, unit_of
from robolin.core.result import Array, Result, ResultStream
from robolin.queries.algorithm_answer import AlgorithmQuery, answer_by_algorithms
from robolin.queries.regressor_answer import SampledStates, sampled_states
from robolin.queries.request import QueryContext


def answer_diagonalize(context: QueryContext) -> Result | ResultStream:
    """Transform states to diagonalizing velocities or back; or compute the curvature."""
    question = context.question
    if question.flag("curvature"):
        return answer_curvature(context)
    name = "undiagonalize" if question.flag("inverse-transform") else "diagonalize"
    if question.flag("unnormalized"):
        name = f"{name}-unnormalized"
    return answer_by_algorithms(context, AlgorithmQuery((name,), divides=True))


def answer_curvature(context: QueryContext) -> Result:
    """Compute the Riemann curvature at every configuration."""
    context.emit_arm_notes()
    arm = context.arm
    states = sampled_states(context, ("q",))
    q = states.values["q"]
    curved = curvature(arm, q, jobs=context.settings.jobs)
    kinds = [joint.kind for joint in arm.joints]
    arrays = [
        Array("q", q, (arm.joint_names,), unit_of("q", kinds), COLUMN_WORDS["q"]),
        Array("curvature", curved.relative, (), unit_of("curvature", kinds)),
    ]
    if context.question.flag("symbols") and curved.independent:
        arrays.append(_symbols(arm, curved, unit_of("riemann", kinds)))
    lines = _contract_lines(arm, states, curved)
    context.settings.notify("summary", f"{lines['verdict']}; {lines['largest symbol']}")
    return context.result(tuple(arrays), lines, states.inputs, states.time)


def _symbols(arm: Arm, curved: Curvature, unit: str) -> Array:
    """Return the independent Riemann symbols as one vector, labelled by their four joints."""
    indices = independent_symbols(arm.n)
    labels = tuple("/".join(arm.joint_names[i] for i in four) for four in indices)
    h, i, j, k = np.array(indices).T
    return Array("riemann", curved.symbols[..., h, i, j, k], (labels,), unit)


def _contract_lines(arm: Arm, states: SampledStates, curved: Curvature) -> dict[str, Any]:
    where = f", in row {curved.at[0] + 1}" if curved.at else ""
    index = tuple(arm.joint_names.index(name) for name in curved.largest)
    value = float(curved.symbols[(*curved.at, *index)])
    return {
        "state": states.origin,
        "algorithm": "Riemann symbols of the first kind from exact derivatives, O(n⁵)",
        "verdict": _verdict(arm, curved),
        "largest symbol": f"R({', '.join(curved.largest)}) = {value:.6g}{where}",
        "independent symbols": curved.independent,
    }


def _verdict(arm: Arm, curved: Curvature) -> str:
    if not curved.flat:
        return "not flat: no coordinates make the mass matrix diagonal everywhere"
    if arm.n == 1:
        return "flat: one joint has no curvature"
    count = curved.relative.size
    scope = f"all {count} configurations" if count > 1 else "the one configuration"
    return (
        f"flat in {scope} tested; if flat everywhere, coordinates exist that make the mass "
        "matrix diagonal"
    )
