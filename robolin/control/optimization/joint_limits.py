"""Limits of the joints as arrays: positions, velocities and efforts, mimic joints included."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from robolin.core.arm import Arm
from robolin.core.arrays import Floats


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
