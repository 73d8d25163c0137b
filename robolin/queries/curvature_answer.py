"""The answer of `diagonalize --curvature`: Riemann symbols, and whether there are any."""

from __future__ import annotations

from typing import Any

import numpy as np

from robolin.analysis.curvature import Curvature, curvature, independent_symbols
from robolin.core.arm import Arm
from robolin.core.quantity_table import COLUMN_WORDS
from robolin.core.results.result import Array, Result
from robolin.core.units import unit_of
from robolin.queries.query_context import PosedQuestion
from robolin.queries.sampled_states import SampledStates, sampled_states


def answer_curvature(posed: PosedQuestion) -> Result:
    """Look for curvature at every configuration."""
    posed.tell_of_arm()
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
