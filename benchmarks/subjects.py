"""Robots and states of the benchmarks."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace

import numpy as np

import robolin
from robolin.core.arm import Arm
from tests.robots import random_arm, random_states

# verb -> its inputs, and the name of its result if that is a single array
VERBS = {
    "inverse": (("q", "qd", "qdd"), "tau"),
    "forward": (("q", "qd", "tau"), "qdd"),
    "mass-matrix": (("q",), "mass_matrix"),
    "linearize-inverse": (("q", "qd", "qdd"), ""),
    "linearize-forward": (("q", "qd", "tau"), ""),
    "perturb-inverse": (("q", "qd", "qdd", "dq", "dqd", "dqdd"), "dtau"),
    "perturb-forward": (("q", "qd", "tau", "dq", "dqd", "dtau"), "dqdd"),
    "diagonalize": (("q", "qd", "tau"), ""),
}

CHAINS = (3, 6, 12, 30, 60, 120)
TREE = 30
SEED = 7

# size limit for the results of one call, so that large robots fit in memory
MOST_BYTES = 192 * 1024 * 1024

States = dict[str, np.ndarray]


@dataclass(frozen=True)
class Subject:
    """A robot with its name in tables; `urdf` is the bundled file that peers can read."""

    title: str
    arm: Arm
    urdf: str = ""

    def states(self, most: int) -> States:
        """Random states with consistent torques, at most `most` and as many as memory allows."""
        bytes_each = 8 * (3 * self.arm.n**2 + self.arm.n)
        count = max(2, min(most, MOST_BYTES // bytes_each))
        states = asdict(random_states(self.arm, count, SEED))
        motion = (states[name] for name in ("q", "qd", "qdd"))
        return states | {"tau": robolin.inverse(self.arm, *motion, engine="compiled")}


def panda() -> Subject:
    """The bundled Panda without damping, which Pinocchio ignores."""
    return Subject("Panda, 7 joints", robolin.load("panda", damping=False), "panda")


def tree() -> Subject:
    """A tree of 30 joints with branches of different lengths."""
    return branched(TREE)


def branched(joints: int) -> Subject:
    return Subject(f"tree, {joints} joints", _in_order(random_arm(SEED, joints, tree=True)))


def chain(joints: int) -> Subject:
    """A serial chain of revolute joints with skew axes and off-axis bodies."""
    return Subject(f"chain, {joints} joints", _in_order(random_arm(SEED, joints, prismatic=False)))


def _in_order(arm: Arm) -> Arm:
    """The robot with joints ordered from base to tip, as in Pinocchio and MuJoCo."""
    return replace(arm, joint_names=tuple(f"joint{i}" for i in range(arm.n)))
