"""Nominal motions for tests, simulated with only q̈ from the code under test."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

import robolin
from robolin.core.arm import Arm, Inertia
from robolin.core.configuration import integrate

Torque = Callable[[float], np.ndarray]


@dataclass(frozen=True)
class Motion:
    """Rows of a motion: time (rows,), the others (rows, n)."""

    time: np.ndarray
    q: np.ndarray
    qd: np.ndarray
    tau: np.ndarray


def simulated(arm: Arm, time: np.ndarray, q: np.ndarray, qd: np.ndarray, torque: Torque) -> Motion:
    """Runge–Kutta of order 4 from row to row, the torque a function of time."""

    def qdd(q: np.ndarray, qd: np.ndarray, t: float) -> np.ndarray:
        return robolin.forward(arm, q, qd, torque(t), engine="compiled")

    rows = [(q, qd)]
    for t, after in pairwise(time):
        h, middle = after - t, 0.5 * (t + after)
        a1 = qdd(q, qd, t)
        a2 = qdd(q + h / 2 * qd, qd + h / 2 * a1, middle)
        a3 = qdd(q + h / 2 * qd + h * h / 4 * a1, qd + h / 2 * a2, middle)
        a4 = qdd(q + h * qd + h * h / 2 * a2, qd + h * a3, after)
        q, qd = q + h * qd + h * h / 6 * (a1 + a2 + a3), qd + h / 6 * (a1 + 2 * a2 + 2 * a3 + a4)
        rows.append((q, qd))
    positions, velocities = np.array(rows).swapaxes(0, 1)
    return Motion(time, positions, velocities, np.array([torque(t) for t in time]))


@dataclass(frozen=True)
class Swing:
    """An arm with an initial state and speed, driven by smooth torques."""

    arm: Arm
    q: np.ndarray
    qd: np.ndarray
    torque: Torque
    time: np.ndarray

    def motion(self) -> Motion:
        return simulated(self.arm, self.time, self.q, self.qd, self.torque)


def swing(arm: Arm, seed: int, duration: float = 0.4, step: float = 0.001) -> Swing:
    """The torques that hold the arm in its initial state, plus a slow wave."""
    rng = np.random.default_rng(seed)
    q, qd = rng.uniform(-1.0, 1.0, arm.n), 0.5 * rng.normal(size=arm.n)
    hold = robolin.inverse(arm, q)
    waves, phases = 0.1 * np.abs(hold).mean() * rng.normal(size=arm.n), rng.uniform(1, 5, arm.n)
    time = np.linspace(0.0, duration, round(duration / step) + 1)
    return Swing(arm, q, qd, lambda t: hold + waves * np.sin(phases * t), time)


def moved(start: Swing, dq: np.ndarray, dqd: np.ndarray) -> Swing:
    return replace(start, q=integrate(start.arm, start.q, dq), qd=start.qd + dqd)


def pushed(start: Swing, more: Torque) -> Swing:
    return replace(start, torque=lambda t: start.torque(t) + more(t))


def rebuilt(start: Swing, changes: dict[str, float]) -> Swing:
    """The arm with natural parameters changed by these amounts, in full and not to first order."""
    arm = start.arm
    links = []
    for link in arm.links_tip_to_base:
        body, joint = link.inertia, link.joint

        def by(owner: str, *names: str) -> np.ndarray:
            return np.array([changes.get(f"{owner}/{name}", 0.0) for name in names])

        body = Inertia(
            body.mass + float(by(link.name, "mass")[0]),
            tuple(np.array(body.com) + by(link.name, "com_x", "com_y", "com_z")),
            tuple(np.array(body.rotary) + by(link.name, "ixx", "ixy", "ixz", "iyy", "iyz", "izz")),
        )
        lossy = dict(zip(LOSSES, by(joint.name, *LOSSES).tolist(), strict=True))
        joint = replace(joint, **{name: getattr(joint, name) + x for name, x in lossy.items()})
        links.append(replace(link, inertia=body, joint=joint))
    return replace(start, arm=replace(arm, links_tip_to_base=tuple(links)))


LOSSES = ("damping", "armature", "friction", "stiffness", "rest")
