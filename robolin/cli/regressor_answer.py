"""The answers of `regressor`: the matrix, its rank, and the parameters it multiplies."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from robolin.analysis.identification import identifiable, public_columns
from robolin.analysis.link_parameters import joint_slides, parameters
from robolin.arm import Arm
from robolin.cli.answer import Question, answer, arm_inputs
from robolin.cli.flags.flag import recorded
from robolin.cli.flags.model_flags import Model
from robolin.cli.flags.output_flags import Output
from robolin.cli.flags.sample_flags import Samples, looked_at
from robolin.cli.flags.state_flags import State
from robolin.cli.motion import Values
from robolin.errors import UsageError
from robolin.quantities import labelled_unit
from robolin.results.result import Array, Result


def answer_regressor(model: Model, state: State, out: Output) -> None:
    """The matrix, for one state or every row of a file."""
    if model.options.wrenches:
        out.note("what wrenches take is no part of the regressor: it adds to the torques")
    answer(Question("regressor", ("regressor",), named=_columns), model, state, out)


def answer_rank(model: Model, state: State, samples: Samples, out: Output) -> None:
    """How many parameters count, over all states together."""
    arm = _arm(model, out)
    looked = looked_at(arm, state, samples, ("q", "qd", "qdd"), out)
    found = identifiable(arm, **looked.values, jobs=out.jobs)
    said = {
        "state": looked.said,
        "algorithm": "singular values of the stacked regressor, columns of length one",
        "identifiable": f"{found.rank} numbers of {len(found.names)} parameters",
        "condition": f"{found.condition:.3g}",
    }
    arrays = (
        Array("rank", np.array(float(found.rank)), (), "1"),
        Array("share", found.share, (found.names,), "1"),
    )
    _write(arm, arrays, said, {**arm_inputs(arm), **looked.inputs}, out)


def answer_parameters(model: Model, state: State, out: Output) -> None:
    """What the arm's parameters are."""
    if state.typed or state.trajectory:
        hint = "parameters are the same in every state"
        raise UsageError("goes without a state", where="--parameters", hint=hint)
    arm = _arm(model, out)
    listed = parameters(arm)
    values = np.array([p.value for p in listed])
    labels = (tuple(p.label for p in listed),)
    array = Array(
        "parameters", values, labels, labelled_unit("parameters", labels, joint_slides(arm))
    )
    _write(arm, (array,), {}, arm_inputs(arm), out)


def _columns(arm: Arm, found: Values) -> Iterator[Array]:
    labels = (arm.joint_names, tuple(p.label for p in parameters(arm)))
    matrix = public_columns(arm, found["regressor"])
    yield Array("regressor", matrix, labels, labelled_unit("regressor", labels, joint_slides(arm)))


def _arm(model: Model, out: Output) -> Arm:
    out.require_target()
    arm = model.arm()
    out.note(*(f"{arm.name}: {note}" for note in arm.contract["notes"]))
    return arm


def _write(
    arm: Arm,
    arrays: tuple[Array, ...],
    said: Mapping[str, Any],
    inputs: Mapping[str, str],
    out: Output,
) -> None:
    out.write(
        Result(
            verb="regressor",
            arrays=arrays,
            joints=arm.joint_names,
            contract={**arm.contract, **said},
            options=recorded(),
            inputs=inputs,
            model=arm.figures,
        )
    )
