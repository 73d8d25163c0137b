"""States to check an arm in: inside its limits, the same ones for the same seed."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from robolin.arm import Arm, Joint
from robolin.verification.checks import Array

# how far a joint goes, and how fast, where its limits do not say or say more
TURN, SLIDE, SPEED = float(np.pi), 1.0, 2.0

# limits of more than this many of the above stand for none
WIDEST = 4.0

# how far away an arm is looked at whose base slides, unless a limit keeps it nearer
FAR = 100.0
# the state in which it is
FAR_STATE = 3

CHANGES = ("dq", "dqd", "dqdd", "dtau")


def default_samples(arm: Arm) -> int:
    """So many states that a check of any arm takes a few seconds."""
    return 20 if len(arm.links) <= 12 else 12 if len(arm.links) <= 30 else 6


def sampled_states(arm: Arm, samples: int, seed: int) -> Mapping[str, Array]:
    """q, q̇, q̈ and small changes of them and of τ, each of shape (samples, n).

    The first states are the middle of the limits, their lower and their upper ends; the others
    are drawn evenly.  Velocities stay inside their limits, accelerations are about 2.
    The one after the ends of the limits is far away where an arm slides on its base.
    """
    rng = np.random.default_rng(seed)
    low, high = np.array([_range(joint) for joint in arm.joints]).T
    # drawn state by state: more samples add states and change none
    drawn = rng.random((samples, 2, arm.n))
    shares = drawn[:, 0]
    for i, share in enumerate((0.5, 0.0, 1.0)[:samples]):
        shares[i] = share
    q = low + (high - low) * shares
    for k in arm.sliding_base if samples > FAR_STATE else ():
        q[FAR_STATE, arm.coordinates[k - 1]] = _far(arm.link(k).joint)
    speed = np.array([_speed(joint) for joint in arm.joints])
    normal = np.random.default_rng([seed, 1]).normal(size=(samples, 1 + len(CHANGES), arm.n))
    return {
        "q": q,
        "qd": speed * (2.0 * drawn[:, 1] - 1.0),
        "qdd": 2.0 * normal[:, 0],
        **{name: normal[:, i] for i, name in enumerate(CHANGES, start=1)},
        "gain": 0.5 + np.random.default_rng([seed, 2]).random((samples, arm.n)),
    }


def _range(joint: Joint) -> tuple[float, float]:
    """Between the limits; on a side without one, as far as it makes sense to look."""
    reach, limits = TURN if joint.turns else SLIDE, joint.limits
    lower = -reach if limits.lower is None else max(limits.lower, -WIDEST * reach)
    upper = reach if limits.upper is None else min(limits.upper, WIDEST * reach)
    if joint.kind == "continuous" or lower > upper:
        return -reach, reach
    return lower, upper


def _far(joint: Joint) -> float:
    """A place along a slide, far away if its limits allow that."""
    upper = joint.limits.upper
    return FAR if upper is None else min(upper, FAR)


def _speed(joint: Joint) -> float:
    """Below the limit; a limit of 0 stands for one that nobody knew."""
    limit = joint.limits.velocity
    return min(limit, SPEED) if limit else SPEED
