"""Arms with closed loops: random trees whose frames are closed where they happen to meet."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

import robolin
from robolin.arm import Arm, Frame, Loop, Pose
from tests.dynamics.world import placed
from tests.robots import random_arm, random_pose, with_follower

METHODS = ("kkt", "schur", "null-space")


@dataclass(frozen=True)
class Closed:
    """An arm, and states (count, n) that are on its closures, with torques."""

    arm: Arm
    q: np.ndarray
    qd: np.ndarray
    tau: np.ndarray


def looped(arm: Arm, q: np.ndarray, kinds: tuple[str, ...], seed: int) -> Arm:
    """The arm with closures that are closed at q: from its outermost links to others or the base."""
    rng = np.random.default_rng(seed)
    at = placed(arm, q)
    R = [*at.R, np.eye(3)]
    p = [*at.p, np.zeros(3)]
    loops = []
    for i, kind in enumerate(kinds):
        # links nobody carries come first; the other end is on a link they do not hang on
        first = 1 + i
        second = arm.base if i == 0 else int(rng.integers(first + 1, arm.base + 1))
        pose = random_pose(rng)
        E, t = np.reshape(pose.rotation, (3, 3)), np.array(pose.translation)
        world_R, world_p = R[first - 1] @ E, p[first - 1] + R[first - 1] @ t
        back = R[second - 1].T
        seen = Pose(tuple((back @ world_R).ravel()), tuple(back @ (world_p - p[second - 1])))
        ends = (Frame(f"first{i}", first, pose), Frame(f"second{i}", second, seen))
        loops.append(Loop(f"loop{i}", kind, *ends))
    return replace(arm, name=f"{arm.name}-{'-'.join(kinds)}", loops=tuple(loops))


def closed(seed: int, joints: int, kinds: tuple[str, ...], count: int = 3, **how: bool) -> Closed:
    """A random arm with closures of these kinds, at states near the one they were made at."""
    mimic = how.pop("mimic", False)
    tree = random_arm(seed, joints, how.pop("tree", True), armature=True, damping=True, **how)
    tree = with_follower(tree) if mimic else tree
    rng = np.random.default_rng([7, seed])
    q = rng.uniform(-1.0, 1.0, tree.n)
    arm = looped(tree, q, kinds, seed)
    near = q + 0.05 * rng.normal(size=(count, arm.n))
    state = robolin.close(arm, near, rng.normal(size=near.shape))
    return Closed(arm, state.q, state.qd, rng.normal(size=near.shape) * 5.0)


def sample() -> list[Closed]:
    """Chains and trees of turning and sliding joints, closed once or twice, some with followers."""
    return [
        closed(0, 6, ("point",), tree=False),
        closed(1, 9, ("rigid",), tree=False),
        closed(2, 8, ("point",)),
        closed(3, 10, ("rigid",)),
        closed(4, 12, ("point", "rigid")),
        closed(5, 9, ("point",), mimic=True),
        closed(6, 12, ("rigid", "point"), mimic=True),
    ]


def relative(found: np.ndarray, true: np.ndarray) -> float:
    """The largest difference beside the largest entry."""
    return float(np.abs(found - true).max() / np.abs(true).max())
