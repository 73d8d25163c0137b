"""Random configurations and motions of an arm, the same for the same seed."""

from __future__ import annotations

import numpy as np

from robolin.core.arm import Arm, Joint
from robolin.core.arrays import AnyArray

# how far to either side a joint is looked at: all angles there are, half a metre where a slide has
# no limits, and no further than ten where it has
ANY_ANGLE, SOME_WAY, FAR_AWAY = np.pi, 0.5, 10.0


def random_configurations(arm: Arm, count: int, seed: int = 0) -> AnyArray:
    """q of shape (count, n), anywhere between the joints' limits with equal chance."""
    low, high = np.array([_range(joint) for joint in arm.joints]).T
    return low + (high - low) * np.random.default_rng(seed).random((count, arm.n))


def random_motions(arm: Arm, count: int, seed: int = 0) -> tuple[AnyArray, AnyArray, AnyArray]:
    """q as above, with q̇ of about 1 and q̈ of about 2, each of shape (count, n)."""
    rng = np.random.default_rng([seed, 1])
    qd, qdd = rng.normal(size=(2, count, arm.n))
    return random_configurations(arm, count, seed), qd, 2.0 * qdd


def _range(joint: Joint) -> tuple[float, float]:
    """The joint's limits, or as far as it makes sense to look where it has none or remote ones."""
    lower, upper = joint.limits.lower, joint.limits.upper
    reach = ANY_ANGLE if joint.turns else SOME_WAY
    if lower is None:
        lower = -reach if upper is None else upper - 2.0 * reach
    if upper is None:
        upper = lower + 2.0 * reach
    middle, half = 0.5 * (lower + upper), 0.5 * (upper - lower)
    half = min(half, ANY_ANGLE if joint.turns else FAR_AWAY)
    return middle - half, middle + half
