"""The error for a problem without a motion: which limit, which joint, when, and what to do."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from robolin.control.optimization.acceleration_form import AccelerationForm
from robolin.control.optimization.augmented_lagrangian import satisfy, violation
from robolin.control.optimization.first_guess import guesses
from robolin.control.optimization.optimal_motion import goal_error
from robolin.control.optimization.problem import Problem
from robolin.core.arrays import Floats
from robolin.core.quantity_table import joint_unit
from robolin.errors import RobolinError

# factors of the duration that are tried after a failure, and steps of the bisection
LONGER, BISECTIONS = (1.3, 1.7, 2.5, 4.0, 8.0), 6
# violation in tolerances that counts as none in that search
NEARLY_INSIDE = 100.0


def infeasible(
    problem: Problem,
    y: Floats,
    seed: int,
    iterations: int,
    tolerance: float,
    search: bool = True,
) -> RobolinError:
    """The error for a motion beyond the limits: the worst joint and time, and what to do."""
    within = f"no motion within the limits found in {problem.duration:g} s"
    text = f"{within}: {_reason(problem, y, seed, iterations) if search else ''}"
    if not search or text.endswith(": "):
        left = ", ".join(f"{x:.3g} {unit}" for unit, x in goal_error(problem, y[-1, 0]).items())
        text = f"{within}: the best one ends {left} from the goal"
    hint = "allow more time with --duration, more starts with --starts, or other limits"
    if search and problem.reference is None:
        shortest = _shortest(problem, seed, iterations, tolerance)
        if shortest is not None:
            hint = f"use --duration {shortest:.3g} or more"
    return RobolinError(text, where=problem.arm.source, hint=hint)


def _reason(problem: Problem, y: Floats, seed: int, iterations: int) -> str:
    """Largest excess of the motion without velocity and effort limits: joint, time and limit."""
    arm, none = problem.arm, np.full(problem.n, np.inf)
    free = replace(
        problem, ranges=replace(problem.ranges, qd_upper=none, tau_lower=-none, tau_upper=none)
    )
    form = AccelerationForm(
        arm,
        free.dt,
        free.start,
        guesses(free, 1, seed, None)[0],
        free.stage_cost(),
        free.terminal(),
    )
    satisfy(form, free.tolerances(), 1e-3, iterations)
    y, cost = form.y(), problem.stage_cost()
    limit = np.where(y > 0.0, cost.upper, -cost.lower)[:-1, 1:]
    share = np.abs(y[:-1, 1:]) / limit
    knot, quantity, i = np.unravel_index(int(np.argmax(share)), share.shape)
    if share[knot, quantity, i] <= 1.0:
        return ""
    word = ("velocity", "effort")[quantity]
    unit = joint_unit(word, arm.joints[i].turns)
    return (
        f"joint '{arm.joint_names[i]}' needs {y[knot, quantity + 1, i]:.4g} {unit} at "
        f"{knot * problem.dt:.3g} s, its {word} limit is {limit[knot, quantity, i]:.4g} {unit}"
    )


def _shortest(problem: Problem, seed: int, iterations: int, tolerance: float) -> float | None:
    """About the shortest duration with a motion within the limits, by bisection; None if > 8 ×."""

    def works(duration: float) -> bool:
        longer = replace(problem, dt=duration / problem.N)
        form = AccelerationForm(
            longer.arm, longer.dt, longer.start, guesses(longer, 1, seed, None)[0],
            longer.stage_cost(), longer.terminal(),
        )  # fmt: skip
        tolerances = longer.tolerances()
        satisfy(form, tolerances, max(tolerance, 1e-4), iterations)
        return violation(form, tolerances).worst <= NEARLY_INSIDE

    low = problem.duration
    high = next((low * factor for factor in LONGER if works(low * factor)), None)
    if high is None:
        return None
    for _ in range(BISECTIONS):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if works(middle) else (middle, high)
    # round up, so that the printed duration works
    return float(np.ceil(1000.0 * high)) / 1000.0
