"""States to check an arm in: inside its limits, the same ones for the same seed."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from robolin.checking.verification.running import run_for_check
from robolin.core.arm import Arm, Joint
from robolin.core.arrays import Floats

# how far a joint goes, and how fast, where its limits do not say or say more
TURN, SLIDE, SPEED = float(np.pi), 1.0, 2.0

# limits of more than this many of the above stand for none
WIDEST_LIMITS = 4.0

# how far away an arm is looked at that can slide or float there
FAR_PLACED = 100.0

# how steep a body that turns freely stands at most: upright its angles have no derivatives
STEEPEST = 1.2

# of so many poses the worst conditioned one is looked at
POSES = 200

# forward results keep so few digits beyond this that nobody should rely on them
ILL_CONDITIONED = 1e12

SAMPLED_CHANGES = ("dq", "dqd", "dqdd", "dtau")


def default_samples(arm: Arm) -> int:
    """So many states that a check of any arm takes a few seconds."""
    return 20 if len(arm.links) <= 12 else 12 if len(arm.links) <= 30 else 6


def checked_states(arm: Arm, samples: int, seed: int) -> Mapping[str, Floats]:
    """q, q̇, q̈, small changes of them and of τ, and which q̈ are prescribed, all (samples, n).

    The first states are the middle of the limits, a badly conditioned one, one far away if the arm
    can go there, and the lower and upper ends of the limits; the others are drawn evenly.
    Velocities stay inside their limits, accelerations are about 2.
    """
    rng = np.random.default_rng(seed)
    low, high = np.array([_range(joint) for joint in arm.joints]).T
    for at in map(arm.places, arm.groups):
        if {"rx", "ry", "rz"} <= at.keys():
            pitch = at["ry"]
            low[pitch], high[pitch] = max(low[pitch], -STEEPEST), min(high[pitch], STEEPEST)
    # drawn state by state: more samples add states and change none
    drawn = rng.random((samples, 2, arm.n))
    q = low + (high - low) * drawn[:, 0]
    chosen = [(low + high) / 2.0, _badly_conditioned(arm, low, high, seed)]
    far = np.array([_far(joint) for joint in arm.joints])
    if np.isfinite(far).any():
        chosen.append(np.where(np.isfinite(far), far, q[0]))
    chosen += [low, high]
    q[: len(chosen)] = chosen[:samples]
    speed = np.array([_speed(joint) for joint in arm.joints])
    normal = np.random.default_rng([seed, 1]).normal(
        size=(samples, 1 + len(SAMPLED_CHANGES), arm.n)
    )
    return {
        "q": q,
        "qd": speed * (2.0 * drawn[:, 1] - 1.0),
        "qdd": 2.0 * normal[:, 0],
        # every other joint moves as told, in the next state the others
        "prescribed": 1.0 * ((np.arange(arm.n) + np.arange(samples)[:, None]) % 2 == 0),
        **{name: normal[:, i] for i, name in enumerate(SAMPLED_CHANGES, start=1)},
        "gain": 0.5 + np.random.default_rng([seed, 2]).random((samples, arm.n)),
    }


def _range(joint: Joint) -> tuple[float, float]:
    """Between the limits; on a side without one, as far as it makes sense to look."""
    reach, limits = TURN if joint.turns else SLIDE, joint.limits
    lower = -reach if limits.lower is None else max(limits.lower, -WIDEST_LIMITS * reach)
    upper = reach if limits.upper is None else min(limits.upper, WIDEST_LIMITS * reach)
    if joint.kind == "continuous" or lower > upper:
        return -reach, reach
    return lower, upper


def _badly_conditioned(arm: Arm, low: Floats, high: Floats, seed: int) -> Floats:
    """Of some poses inside the limits, the one whose mass matrix is hardest to divide by."""
    shares = np.random.default_rng([seed, 3]).random((POSES, arm.n))
    poses = low + (high - low) * shares
    condition = np.linalg.cond(
        run_for_check(arm, "mass-matrix", {"q": poses}).arrays["mass_matrix"]
    )
    # where it cannot be divided by at all there are no digits to count
    worst: Floats = poses[int(np.argmax(np.where(condition <= ILL_CONDITIONED, condition, 0.0)))]
    return worst


def _far(joint: Joint) -> float:
    """A place far along a slide, NaN where the joint turns or its limits keep it near."""
    upper = np.inf if joint.limits.upper is None else joint.limits.upper
    return np.nan if joint.turns or upper <= WIDEST_LIMITS * SLIDE else min(upper, FAR_PLACED)


def _speed(joint: Joint) -> float:
    """Below the limit; a limit of 0 stands for one that nobody knew."""
    limit = joint.limits.velocity
    return min(limit, SPEED) if limit else SPEED
