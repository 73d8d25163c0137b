"""Arms with closed loops: random joints, closed between two frames in their initial pose."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache

import numpy as np

import robolin
from robolin.core.arm import Arm, Frame, Loop, Pose
from tests.dynamics.world import placed
from tests.robots import random_arm, random_pose, with_follower

METHODS = ("kkt", "schur", "null-space")

# a closure: its kind and the numbers of the links it connects, 0 for the base
Closure = tuple[str, int, int]


@dataclass(frozen=True)
class Closed:
    """An arm, and states (count, n) that are on its closures, with torques."""

    arm: Arm
    q: np.ndarray
    qd: np.ndarray
    tau: np.ndarray


def looped(arm: Arm, q: np.ndarray, closures: tuple[Closure, ...], seed: int) -> Arm:
    """The arm with closures between frames that meet at q."""
    rng = np.random.default_rng(seed)
    at = placed(arm, q)
    R, p = [np.eye(3), *at.R], [np.zeros(3), *at.p]
    loops = []
    for i, (kind, first, second) in enumerate(closures):
        pose = random_pose(rng)
        E, t = np.reshape(pose.rotation, (3, 3)), np.array(pose.translation)
        world_R, world_p = R[first] @ E, p[first] + R[first] @ t
        turn, way = R[second].T @ world_R, R[second].T @ (world_p - p[second])
        seen = Pose(tuple(turn.ravel().tolist()), tuple(way.tolist()))
        ends = (Frame(f"a{i}", first, pose), Frame(f"b{i}", second or arm.base, seen))
        loops.append(Loop(f"loop{i}", kind, *ends))
    name = "-".join([arm.name, *(kind for kind, _, _ in closures)])
    return replace(arm, name=name, loops=tuple(loops))


def forked(arm: Arm, at: int) -> Arm:
    """A chain cut in two: link `at`, and all outboard of it, sit on the base."""
    links = tuple(
        replace(link, parent=arm.base) if k == at else link
        for k, link in enumerate(arm.links_tip_to_base, start=1)
    )
    return replace(arm, name=arm.name.replace("chain", "fork"), links_tip_to_base=links)


def closed(
    seed: int, joints: int, *closures: Closure, fork: int = 0, mimic: bool = False
) -> Closed:
    """A random arm with these closures, at two states near the one they were made at."""
    arm = random_arm(seed, joints, armature=seed % 2 == 0, damping=True)
    arm = forked(arm, fork) if fork else arm
    arm = with_follower(arm) if mimic else arm
    rng = np.random.default_rng([7, seed])
    q = rng.uniform(-1.0, 1.0, arm.n)
    arm = looped(arm, q, closures, seed)
    near = q + 0.05 * rng.normal(size=(2, arm.n))
    state = robolin.close(arm, near, rng.normal(size=near.shape))
    return Closed(arm, state.q, state.qd, rng.normal(size=near.shape) * 5.0)


@cache
def sample() -> tuple[Closed, ...]:
    """Chains and forks of turning and sliding joints, closed once or twice, some with followers."""
    return (
        closed(0, 6, ("point", 1, 0)),
        closed(1, 9, ("rigid", 1, 0)),
        closed(2, 8, ("point", 1, 5), fork=4),
        closed(3, 10, ("rigid", 6, 1), fork=5),
        closed(4, 14, ("rigid", 1, 8), ("point", 3, 0), fork=7),
        closed(5, 7, ("point", 1, 0), mimic=True),
        closed(6, 13, ("rigid", 2, 9), fork=7, mimic=True),
    )


def relative(computed: np.ndarray, true: np.ndarray) -> float:
    """The largest difference relative to the largest entry."""
    return float(np.abs(computed - true).max() / np.abs(true).max())
