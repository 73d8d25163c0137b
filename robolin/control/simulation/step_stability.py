"""Checks of feedback gains: stability of fixed steps, and the arm of the design."""

from __future__ import annotations

from math import floor, log10

import numpy as np

from robolin.control.simulation.controllers import Law
from robolin.control.simulation.feedback_control import FeedbackControl, StateFeedback
from robolin.control.simulation.schedule import Schedule
from robolin.core.arm import Arm
from robolin.core.arrays import Complexes
from robolin.description.arm_differences import in_words, moving_differences
from robolin.errors import RobolinError
from robolin.evaluation.evaluate import RunOptions, evaluate_arm

# |λ| dt up to which rk4 is stable for every decaying mode; its limit is 2.6157, near 121°
DAMPED = 2.6


def require_short_steps(
    arm: Arm, law: Law | None, schedule: Schedule, run_options: RunOptions
) -> None:
    """Reject steps of rk4 that make a stable closed-loop mode grow.

    Torques that are constant between samples close no loop within a step.
    """
    if not isinstance(law, FeedbackControl) or law.dt is not None or not schedule.fixed:
        return
    poles = _poles(arm, StateFeedback(arm, law), law, schedule.duration, run_options)
    step = schedule.longest
    z = step * poles[poles.real < 0.0]
    grown = 1.0 + z * (1.0 + z / 2.0 * (1.0 + z / 3.0 * (1.0 + z / 4.0)))
    if not ((np.abs(z) > DAMPED) & (np.abs(grown) > 1.0)).any():
        return
    fastest = float(np.abs(z).max()) / step
    dt = _rounded_down(DAMPED / fastest)
    raise RobolinError(
        f"the gains give a mode that decays at {fastest:.4g} 1/s, which steps of {step:g} s "
        "make unstable",
        where="dt",
        hint=f"use --integrator radau, or --dt {dt:g} or less; in Python integrator='radau' or "
        f"dt={dt:g}",
    )


def _poles(
    arm: Arm,
    feedback: StateFeedback,
    law: FeedbackControl,
    duration: float,
    run_options: RunOptions,
) -> Complexes:
    """Closed-loop poles in 1/s, for every row of gains until the end."""
    at = feedback.rows(duration)
    values = {name: at[name] for name in ("q", "qd", "tau")}
    model = evaluate_arm(arm, "linearize-forward", values, **run_options)
    kept = np.eye(arm.n) if law.basis is None else np.asarray(law.basis, dtype=float)
    n, motors = kept.shape[-1], feedback.motors
    K, size = at["K"], at["K"].shape[-1]
    closed = np.zeros((*K.shape[:-2], size, size))
    closed[..., :n, n : 2 * n] = np.eye(n)
    closed[..., n : 2 * n, :n] = kept.T @ model["dqdd_dq"] @ kept
    closed[..., n : 2 * n, n : 2 * n] = kept.T @ model["dqdd_dqd"] @ kept
    closed[..., n : 2 * n, :] -= kept.T @ model["dqdd_dtau"][..., motors] @ K
    if size > 2 * n:
        closed[..., 2 * n :, :] = at["integrals"]
    poles: Complexes = np.linalg.eigvals(closed).astype(complex)
    return poles


def _rounded_down(value: float) -> float:
    """Round a positive number down to two digits."""
    unit = floor(log10(value)) - 1
    return float(f"{floor(value / 10.0**unit)}e{unit}")


def require_own_gains(arm: Arm, law: Law | None) -> None:
    """Reject gains that were designed for an arm with other dynamics."""
    if not isinstance(law, FeedbackControl) or law.arm is None or law.arm is arm:
        return
    if differ := moving_differences(arm, law.arm):
        named = f", '{law.arm.name}'" if law.arm.name != arm.name else ""
        raise RobolinError(
            f"the gains are for another robot{named}: {in_words(differ)}",
            where="control",
            hint="compute the gains again, or use feedback(allow_model_mismatch=True)",
        )
