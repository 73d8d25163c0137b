"""Limits of the joints as arrays, mimic joints included, and checks of arms and joint values."""

from __future__ import annotations

import numpy as np

from robolin.core.arm import Arm
from robolin.core.arrays import (
    Floats,
    JointValues,
    as_joint_array,
    require_arm,
    require_real,
    require_tree,
)
from robolin.core.records import dataclass
from robolin.errors import RobolinError, UsageError


@dataclass(frozen=True, eq=False)
class JointRanges:
    """Lower and upper ends (n,) per quantity, infinite without a limit."""

    q_lower: Floats
    q_upper: Floats
    qd_upper: Floats
    tau_lower: Floats
    tau_upper: Floats


def joint_ranges(arm: Arm) -> JointRanges:
    """Limits of the robot file; a joint that others mimic has theirs too."""
    n = arm.n
    q_lower, q_upper = np.full(n, -np.inf), np.full(n, np.inf)
    qd_upper, tau_lower, tau_upper = np.full(n, np.inf), np.full(n, -np.inf), np.full(n, np.inf)
    for link, i in zip(arm.links_tip_to_base, arm.coordinates, strict=True):
        joint, limits = link.joint, link.joint.limits
        ratio, offset = (joint.mimic.ratio, joint.mimic.offset) if joint.mimic else (1.0, 0.0)
        if ratio == 0.0:
            continue
        if joint.kind != "continuous":
            ends = (
                (-np.inf if limits.lower is None else limits.lower) - offset,
                (np.inf if limits.upper is None else limits.upper) - offset,
            )
            q_lower[i] = max(q_lower[i], min(end / ratio for end in ends))
            q_upper[i] = min(q_upper[i], max(end / ratio for end in ends))
        if limits.velocity is not None:
            qd_upper[i] = min(qd_upper[i], limits.velocity / abs(ratio))
        if joint.mimic is None:
            tau_lower[i], tau_upper[i] = limits.effort_range
    return JointRanges(q_lower, q_upper, qd_upper, tau_lower, tau_upper)


def scaled_ranges(
    arm: Arm,
    limits: bool,
    limit_scale: float,
    max_effort: JointValues | None,
    max_velocity: JointValues | None,
) -> JointRanges:
    """Limits of the file, scaled (positions are not), or those that replace them."""
    require_real(limit_scale=limit_scale)
    scale = limit_scale
    ranges, n = joint_ranges(arm), arm.n
    if not limits:
        none = np.full(n, np.inf)
        ranges = JointRanges(-none, none, none, -none, none)
    speed, low, high = scale * ranges.qd_upper, scale * ranges.tau_lower, scale * ranges.tau_upper
    if max_velocity is not None:
        speed = require_positive(arm, "max_velocity", max_velocity)
    if max_effort is not None:
        high = require_positive(arm, "max_effort", max_effort)
        low = -high
    return JointRanges(ranges.q_lower, ranges.q_upper, speed, low, high)


def require_positive(arm: Arm, name: str, value: JointValues) -> Floats:
    """One positive number per joint."""
    array = as_joint_array(arm, name, value)
    if array.ndim != 1 or not (array > 0.0).all():
        raise UsageError("must be one number > 0, or one number per joint", where=name)
    return array


def require_simple(arm: Arm, verb: str = "optimize") -> Arm:
    """Reject arms whose configurations are not vectors, or that have loops."""
    require_arm(arm)
    require_tree(arm, verb)
    if arm.groups:
        group = arm.groups[0]
        raise RobolinError(
            f"{verb} supports revolute and prismatic joints only; '{group.name}' is a "
            f"{group.kind} joint",
            where=arm.source,
            hint="fix the base, or lock the joint with --lock",
        )
    return arm


def require_one(name: str, array: Floats) -> Floats:
    """Reject anything but one finite value per joint."""
    if array.ndim != 1 or not np.isfinite(array).all():
        raise RobolinError(f"{name}: must be one finite value per joint (n,)")
    return array
