"""The answer of `diagonalize --curvature`: Riemann symbols, and whether there are any."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from robolin.analysis.curvature import Curvature, curvature, independent_symbols
from robolin.arm import Arm
from robolin.cli.answer import arm_inputs
from robolin.cli.flags.flag import recorded
from robolin.cli.flags.model_flags import Model
from robolin.cli.flags.output_flags import Output
from robolin.cli.flags.sample_flags import Looked, Samples, looked_at
from robolin.cli.flags.state_flags import State
from robolin.quantities import COLUMN_WORDS, unit_of
from robolin.results.result import Array, Result


@dataclass(frozen=True)
class Survey:
    """Which configurations to look at, and whether to show every symbol."""

    state: State
    samples: Samples
    symbols: bool


def answer_curvature(model: Model, survey: Survey, out: Output) -> None:
    """Look for curvature and write what was found."""
    out.require_target()
    arm = model.arm()
    out.note(*(f"{arm.name}: {note}" for note in arm.contract["notes"]))
    looked = looked_at(arm, survey.state, survey.samples, ("q",), out)
    q = looked.values["q"]
    found = curvature(arm, q, jobs=out.jobs)
    kinds = [joint.kind for joint in arm.joints]
    arrays = [
        Array("q", q, (arm.joint_names,), unit_of("q", kinds), COLUMN_WORDS["q"]),
        Array("curvature", found.relative, (), unit_of("curvature", kinds)),
    ]
    if survey.symbols and found.independent:
        arrays.append(_symbols(arm, found, unit_of("riemann", kinds)))
    said = _said(arm, looked, found)
    if out.form_written() == "csv":
        out.note(f"{said['verdict']}; {said['largest symbol']}")
    out.write(
        Result(
            verb="diagonalize",
            arrays=tuple(arrays),
            joints=arm.joint_names,
            contract={**arm.contract, **said},
            options=recorded(),
            inputs={**arm_inputs(arm), **looked.inputs},
            model=arm.figures,
            time=looked.time,
        )
    )


def _symbols(arm: Arm, found: Curvature, unit: str) -> Array:
    """The independent symbols as one vector, named by their four joints."""
    places = independent_symbols(arm.n)
    labels = tuple("/".join(arm.joint_names[i] for i in four) for four in places)
    h, i, j, k = np.array(places).T
    return Array("riemann", found.symbols[..., h, i, j, k], (labels,), unit)


def _said(arm: Arm, looked: Looked, found: Curvature) -> dict[str, Any]:
    where = f", in row {found.at[0] + 1}" if found.at else ""
    place = tuple(arm.joint_names.index(name) for name in found.largest)
    value = float(found.symbols[(*found.at, *place)])
    return {
        "state": looked.said,
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
