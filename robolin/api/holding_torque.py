"""Torques as numbers, or by the word for those that hold the arm."""

from __future__ import annotations

from robolin.core.arm import Arm
from robolin.core.array_checks import require_arm
from robolin.core.arrays import JointValues
from robolin.errors import UsageError
from robolin.evaluation.dispatch import evaluate_any_arm
from robolin.evaluation.evaluate import RunOptions

HOLD = "hold"


def torque_or_hold(
    arm: Arm,
    q: JointValues,
    qd: JointValues,
    tau: JointValues | str,
    how: RunOptions,
    qdd: JointValues = 0.0,
) -> JointValues:
    """The torques, or those of q̈ = 0 or as given; on closed loops the closures bear nothing."""
    if not isinstance(tau, str):
        return tau
    require_arm(arm)
    if tau != HOLD:
        raise UsageError(f"tau is {tau!r}", hint="torques, or 'hold' for those that keep q̈ = 0")
    run: RunOptions = {"engine": how.get("engine", "auto"), "jobs": how.get("jobs")}
    verb = "hold" if arm.loops else "inverse"
    return evaluate_any_arm(arm, verb, {"q": q, "qd": qd, "qdd": qdd}, **run)["tau"]
