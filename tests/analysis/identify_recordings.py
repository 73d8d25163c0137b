"""Recordings made from a known arm, with the faults of real ones."""

from __future__ import annotations

import numpy as np

import robolin
from robolin.analysis.identify.recording import Recording
from robolin.core.arm import Arm
from robolin.core.arm_parameters import parameters

V0 = 0.05


def excitation(n: int, time: np.ndarray, seed: int = 0) -> tuple[np.ndarray, ...]:
    """Sums of five sines per joint: positions, velocities, accelerations (rows, n)."""
    rng = np.random.default_rng(seed)
    frequency = 2.0 * np.pi * 0.13 * np.arange(1, 6)[:, None]
    size, phase = 0.35 * rng.uniform(0.4, 1.0, (2, 5, n)) / np.arange(1, 6)[:, None] ** 0.5
    angle = frequency * time[:, None, None] + 30.0 * phase
    q = np.sum(size * np.sin(angle), axis=1)
    qd = np.sum(size * frequency * np.cos(angle), axis=1)
    qdd = np.sum(-size * frequency**2 * np.sin(angle), axis=1)
    return q, qd, qdd


def true_arm(arm: Arm, seed: int = 0) -> Arm:
    """The arm with other masses and inertias, all possible, and with damping and armature."""
    rng = np.random.default_rng([seed, 3])
    values = {each.label: each.value for each in parameters(arm)}
    for link in arm.links:
        # a body scaled as a whole stays possible
        factor = float(rng.uniform(0.8, 1.25))
        for name in values:
            if name.startswith(f"{link.name}/"):
                values[name] *= factor
        values[f"{link.joint.name}/damping"] = float(rng.uniform(0.5, 2.0))
        values[f"{link.joint.name}/armature"] = float(rng.uniform(0.05, 0.2))
    return arm.with_parameters(values)


def recorded(
    arm: Arm,
    seconds: float = 20.0,
    *,
    seed: int = 0,
    rate: float = 100.0,
    coulomb: float = 0.0,
    offset: float = 0.0,
    noise: float = 0.0,
    lag: float = 0.0,
    exact: bool = False,
    start: float = 0.0,
) -> Recording:
    """A recording of the excitation; exact ones have accelerations."""
    time = start + np.arange(0.0, seconds, 1.0 / rate)
    q, qd, qdd = excitation(arm.n, time, seed)
    earlier = excitation(arm.n, time - lag, seed)
    tau = robolin.inverse(arm, *earlier) + coulomb * np.tanh(earlier[1] / V0) + offset
    rng = np.random.default_rng([seed, 7])
    tau = tau + noise * np.sqrt(np.mean(tau**2, axis=0)) * rng.normal(size=tau.shape)
    return Recording(time, q, tau, qd, qdd if exact else None, f"seed {seed}")
