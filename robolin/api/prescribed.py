"""Joints that move as they are told, among what the public functions are given."""

from __future__ import annotations

from collections.abc import Mapping

from robolin.api.holding_torque import torque_or_hold
from robolin.core.arm import Arm
from robolin.core.array_checks import array_of, require_arm, require_same_rows
from robolin.core.arrays import JointValues
from robolin.errors import UsageError
from robolin.evaluation.evaluate import RunOptions
from robolin.evaluation.prescribed_joints import (
    METHOD_BY_ARM,
    JointsNamed,
    prescribed_accelerations,
    prescribed_joints,
    require_prescribed_inputs,
)


def prescribed_values(
    arm: Arm,
    values: Mapping[str, JointValues | str],
    prescribe: JointsNamed | None,
    qdd: JointValues | None,
    how: RunOptions,
) -> dict[str, JointValues]:
    """The values of a state with its torques, and what the joints named are told to do.

    Torques that hold the arm are those of no other acceleration than the told ones.
    """
    require_arm(arm)
    if prescribe is None:
        hint = "prescribe= says which joints move as it tells"
        raise UsageError("has no effect without prescribe", where="qdd", hint=hint)
    if how.get("method", "auto") != "auto" or how.get("loop_method") is not None:
        raise UsageError("cannot go together with prescribe", where="method", hint=METHOD_BY_ARM)
    require_same_rows({**values, "qdd": qdd})
    driven = prescribed_joints(arm, prescribe)
    told = prescribed_accelerations(arm, driven, 0.0 if qdd is None else qdd)
    given = values["tau"]
    own = 0.0 if isinstance(given, str) else given
    require_prescribed_inputs(arm, driven, told, array_of(arm, "tau", own))
    q, qd = values["q"], values["qd"]
    tau = torque_or_hold(arm, q, qd, given, how, told)
    return {"q": q, "qd": qd, "tau": tau, "qdd": told, "prescribed": driven}
