"""Random configurations and motions of an arm, the same for the same seed."""

from __future__ import annotations

import numpy as np

from robolin.arm import Arm, Joint
from robolin.checks import Array

# where a joint without limits is looked at: any angle, and half a metre either way
ANY_ANGLE, SOME_WAY = np.pi, 0.5


def random_configurations(arm: Arm, count: int, seed: int = 0) -> Array:
    """q of shape (count, n), anywhere between the joints' limits with equal chance."""
    low, high = np.array([_range(joint) for joint in arm.joints]).T
    return low + (high - low) * np.random.default_rng(seed).random((count, arm.n))


def random_motions(arm: Arm, count: int, seed: int = 0) -> tuple[Array, Array, Array]:
    """q as above, with q̇ of about 1 and q̈ of about 2, each of shape (count, n)."""
    rng = np.random.default_rng([seed, 1])
    qd, qdd = rng.normal(size=(2, count, arm.n))
    return random_configurations(arm, count, seed), qd, 2.0 * qdd


def _range(joint: Joint) -> tuple[float, float]:
    """The joint's limits, or as far as it makes sense to look on a side without one."""
    reach, limits = ANY_ANGLE if joint.turns else SOME_WAY, joint.limits
    lower = -reach if limits.lower is None else limits.lower
    upper = reach if limits.upper is None else limits.upper
    return lower, upper
