"""Joints that move as they are told, among what the public functions are given."""

from __future__ import annotations

from collections.abc import Mapping

from robolin.arm import Arm
from robolin.arrays import JointValues
from robolin.errors import UsageError
from robolin.evaluation.evaluate import How
from robolin.evaluation.prescribed_joints import Named, prescribed_joints, require_prescribed_inputs
from robolin.input_checks import array_of, require_arm


def prescribed_values(
    arm: Arm,
    values: Mapping[str, JointValues],
    prescribe: Named | None,
    qdd: JointValues | None,
    how: How,
) -> dict[str, JointValues]:
    """The values of a state with its torques, and what the joints named are told to do."""
    require_arm(arm)
    if prescribe is None:
        hint = "prescribe= says which joints move as it tells"
        raise UsageError("has no effect without prescribe", where="qdd", hint=hint)
    if how.get("method", "auto") != "auto" or how.get("loop_method") is not None:
        hint = "there is one where joints move as prescribed"
        raise UsageError("cannot go together with prescribe", where="method", hint=hint)
    driven = prescribed_joints(arm, prescribe)
    told = array_of(arm, "qdd", 0.0 if qdd is None else qdd)
    require_prescribed_inputs(arm, driven, told, array_of(arm, "tau", values["tau"]))
    return {**values, "qdd": told, "prescribed": driven}
