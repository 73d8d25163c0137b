"""First guesses of a motion: a smooth path to the goal, another motion, or random torques."""

from __future__ import annotations

import numpy as np

from robolin.control.optimization.inverse_kinematics import solutions
from robolin.control.optimization.problem import Problem, TimedMotion, sampled_motion
from robolin.core.arrays import Floats
from robolin.errors import UsageError

# starts with an unknown final position
POSE_STARTS = 4
# height of the random bumps of other starts, relative to the distance
BUMP = 0.1
# torques of random starts relative to the limits, and the number of their waves
TORQUE_SHARE, WAVES = 0.4, 6


def guesses(
    problem: Problem, starts: int | None, seed: int, initial: TimedMotion | None
) -> list[Floats]:
    """Accelerations (N, n) of the starts: to each solution of a pose, then with random bumps."""
    if initial is not None:
        positions = [sampled_motion(problem.arm, initial, problem.time)[:, 0]]
        return [accelerations_of(problem, each) for each in positions]
    if problem.reference is not None:
        return [accelerations_of(problem, problem.reference[:, 0])]
    count = starts or (1 if problem.residual is None else POSE_STARTS)
    ends = [problem.start[0] if problem.goal is None else problem.goal]
    if problem.residual is not None:
        bounds = problem.ranges.q_lower, problem.ranges.q_upper
        first = np.clip(problem.start[0], *bounds)
        reaching, _ = solutions(problem.residual, first, bounds, 8 * count, seed, 1e-7)
        ends = list(reaching[:count]) or ends
    rng, found_paths = np.random.default_rng(seed), []
    for i in range(count):
        path = smooth_path(problem, ends[i % len(ends)])
        if i >= len(ends):
            size = BUMP * (1.0 + np.abs(path[-1] - path[0]))
            wave = np.sin(np.pi * problem.time / problem.duration) ** 2
            path = path + (rng.normal(size=problem.n) * size) * wave[:, None]
        found_paths.append(accelerations_of(problem, path))
    return found_paths


def smooth_path(problem: Problem, end: Floats) -> Floats:
    """Positions (N + 1, n) from the start to an end, at rest at both (minimum jerk)."""
    s = (problem.time / problem.duration)[:, None]
    share = s * s * s * (10.0 - 15.0 * s + 6.0 * s * s)
    path: Floats = problem.start[0] + share * (end - problem.start[0])
    return path


def accelerations_of(problem: Problem, path: Floats) -> Floats:
    """Accelerations (N, n) that move through positions at the knots from the given velocity."""
    velocity = np.concatenate([problem.start[1][None], np.diff(path, axis=0) / problem.dt])
    a: Floats = np.diff(velocity, axis=0) / problem.dt
    return a


def torque_guesses(problem: Problem, starts: int, seed: int, initial: TimedMotion | None) -> Floats:
    """Torques (starts, N, m): zero or those of a motion, then random smooth ones."""
    N, m = problem.N, len(problem.actuated)
    rng, time = np.random.default_rng(seed), problem.time[:N] / problem.duration
    most = np.minimum(problem.ranges.tau_upper, -problem.ranges.tau_lower)[list(problem.actuated)]
    size = np.where(np.isfinite(most), TORQUE_SHARE * most, 1.0)
    u = np.zeros((starts, N, m))
    for i in range(1, starts):
        for wave in range(1, WAVES + 1):
            phase, height = rng.uniform(0.0, 2.0 * np.pi, m), rng.normal(size=m)
            u[i] += size * height * np.sin(np.pi * wave * time[:, None] + phase)
    if initial is not None:
        tau = getattr(initial, "tau", None)
        if tau is None:
            raise UsageError("must have torques for an arm with passive joints", where="initial")
        at = np.asarray(initial.time, dtype=float)
        torques = np.asarray(tau, dtype=float)[:, list(problem.actuated)]
        u[0] = np.stack([np.interp(problem.time[:N], at, torques[:, i]) for i in range(m)], axis=-1)
    return u
