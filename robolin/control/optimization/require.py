"""Checks of arms and joint values that optimal motions share."""

from __future__ import annotations

import numpy as np

from robolin.core.arm import Arm
from robolin.core.arrays import Floats, require_arm, require_tree
from robolin.errors import RobolinError


def require_simple(arm: Arm) -> Arm:
    """Reject arms whose configurations are not vectors, or that have loops."""
    require_arm(arm)
    require_tree(arm, "optimize")
    if arm.groups:
        group = arm.groups[0]
        raise RobolinError(
            f"optimize supports revolute and prismatic joints only; '{group.name}' is a "
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
