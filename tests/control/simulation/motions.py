"""Arms and states to set in motion."""

from __future__ import annotations

import numpy as np

import robolin
from robolin.core.arm import Arm
from robolin.description.robot_source import bundled_names


def bundled() -> list[Arm]:
    """Every arm that comes with robolin, as its file has it."""
    return [robolin.load(name) for name in bundled_names()]


def gentle_state(arm: Arm) -> tuple[np.ndarray, np.ndarray]:
    """A position within ±1 and velocities within ±¼, on the closures of loops."""
    rng = np.random.default_rng(arm.n)
    q, qd = rng.uniform(-1.0, 1.0, arm.n), rng.uniform(-0.25, 0.25, arm.n)
    if arm.loops:
        # near the pose the file is drawn in, where the loops can be closed
        closed = robolin.close(arm, 0.1 * q, qd)
        return closed.q, closed.qd
    return q, qd


def pendulum() -> Arm:
    """A uniform rod of 2 m and 2 kg that swings about its end and hangs down at q = -π/2."""
    return robolin.load("two-link", lock={"elbow": 0.0})


# its small swings: ω² = 3 g / (2 length)
PENDULUM_SQUARED = 1.5 * 9.81 / 2.0
