"""Limits and goals by an augmented Lagrangian: lower ≤ y ≤ upper at every knot.

    cost + ½ ρ |y + u - clamp(y + u)|²,      u ← y + u - clamp(y + u) after each solve

u is the multiplier divided by ρ.  ρ grows by ten for quantities whose violation does not fall.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np

from robolin.control.optimization.backward_pass import StageCost
from robolin.control.optimization.inverse_kinematics import PoseResidual
from robolin.core.arrays import Floats, Mask
from robolin.core.records import dataclass

OUTER_ITERATIONS = 40
# violation that counts as a fall of the last one: of limits, and of the goal
FALL, GOAL_FALL = 0.25, 0.05
GROWTH, LARGEST_GROWTH = 10.0, 1e6
# inner tolerance before the limits hold, and how fast it falls
FIRST_TOLERANCE, TIGHTEN = 1e-3, 0.1
# smallest inner tolerance relative to that of the cost
FINEST = 1e-4
# iterations of the cost between two updates of the multipliers; more for long chains, whose
# motion the penalties would fix before it is optimal
INNER_ITERATIONS, PATIENT_ITERATIONS = 8, 60
# a goal within this many tolerances, 0.1 mm or 0.006 deg, is accepted if iterations end
ACCEPTED_GOAL = 100.0


class Violation(NamedTuple):
    """Largest violations of the limits, and the distance from the goal.

    limits: of q, v and τ (3, n), relative to the tolerance: ≤ 1 is within
    goal: at the last knot, relative to the tolerance
    """

    limits: Floats
    goal: float

    @property
    def worst(self) -> float:
        return max(float(self.limits.max(initial=0.0)), self.goal)


class PoseTerminal:
    """Cost ½ ρ |e + u|² of the pose error e at the last knot; a soft goal has u = 0 always."""

    multiplier: Floats
    n: int
    residual: PoseResidual
    penalty: Floats
    hard: bool

    def __init__(self, residual: PoseResidual, penalty: Floats, hard: bool) -> None:
        self.residual, self.penalty, self.hard = residual, penalty, hard
        self.multiplier = np.zeros(residual.rows)
        self.n = residual.arm.n

    def cost(self, x: Floats) -> Floats:
        """Cost (...) of the last states (..., 2n)."""
        e = self.error(x) + self.multiplier
        terms = self.penalty * (e * e)
        total = 0.5 * terms[..., 0]
        for i in range(1, terms.shape[-1]):
            total = total + 0.5 * terms[..., i]
        return np.asarray(total)

    def expansion(self, x: Floats) -> tuple[Floats, Floats]:
        """Hessian (..., 2n, 2n) and gradient (..., 2n) at the last states."""
        n = self.n
        pose = self.residual(x[..., :n])
        hessian, gradient = np.zeros((*x.shape, 2 * n)), np.zeros(x.shape)
        weighted = self.penalty * (pose.error + self.multiplier)
        for i in range(self.residual.rows):
            row = pose.jacobian[..., i, :]
            scaled = (self.penalty[..., i, None] * row)[..., :, None]
            hessian[..., :n, :n] += scaled * row[..., None, :]
            gradient[..., :n] -= weighted[..., i, None] * row
        return hessian, gradient

    def error(self, x: Floats) -> Floats:
        """Pose error (m,)."""
        return self.residual(x[..., : self.n]).error

    def update(self, x: Floats) -> None:
        """Move the multiplier by the error."""
        if self.hard:
            self.multiplier = self.multiplier + self.error(x)

    def grow(self, factor: float | Floats) -> None:
        """Raise the penalty; the multiplier times the penalty stays."""
        self.penalty = factor * self.penalty
        self.multiplier = self.multiplier / factor


class Form(Protocol):
    """A motion with an augmented cost."""

    cost_terms: StageCost
    pose: PoseTerminal | None

    @property
    def iterations(self) -> int:
        """Number of iterations so far."""

    def y(self) -> Floats:
        """q, v and τ of the knots (N + 1, 3, n)."""

    def last(self) -> Floats:
        """The last state (2n,)."""

    def iterate(self, most: int, tolerance: float) -> bool:
        """Improve the motion; True if it converges."""


@dataclass(frozen=True)
class MotionTolerances:
    """Largest violations in the unit of each quantity: of limits (3, n), and of a goal."""

    limits: Floats
    goal: float


def violation(form: Form, tolerances: MotionTolerances) -> Violation:
    """Violations of the limits and of the goal, relative to the tolerances."""
    cost, y = form.cost_terms, form.y()
    beyond = np.maximum(np.maximum(cost.lower - y, y - cost.upper), 0.0)
    fixed = cost.lower == cost.upper
    path = np.where(fixed, 0.0, beyond).max(axis=0) / tolerances.limits
    goal = float(np.where(fixed, beyond, 0.0).max()) / tolerances.goal
    if form.pose is not None and form.pose.hard:
        goal = max(goal, float(np.abs(form.pose.error(form.last())).max()) / tolerances.goal)
    return Violation(path, goal)


def satisfy(
    form: Form,
    tolerances: MotionTolerances,
    tolerance: float,
    most: int,
    between: int = INNER_ITERATIONS,
) -> tuple[bool, bool]:
    """Minimize under the limits; return whether the cost converged, and whether limits hold.

    between: iterations of the cost between two updates of the multipliers
    """
    inner, used, first_penalty = FIRST_TOLERANCE, form.iterations, form.cost_terms.penalty.copy()
    converged = False
    constrained = bool((form.cost_terms.penalty > 0.0).any()) or (
        form.pose is not None and form.pose.hard
    )
    if not constrained:
        return form.iterate(most, tolerance), True
    before = np.inf * np.ones_like(tolerances.limits)
    goal_before = np.inf
    for _ in range(OUTER_ITERATIONS):
        converged = form.iterate(min(between, most - used), inner)
        used = form.iterations
        excess = violation(form, tolerances)
        if excess.worst <= 1.0 and inner <= tolerance:
            if converged or used >= most:
                return converged, True
        elif excess.worst <= 1.0:
            # the limits hold: now converge the cost
            inner = tolerance
        _update(form)
        slow = (excess.limits > FALL * before) & (excess.limits > 1.0)
        slow_goal = excess.goal > max(GOAL_FALL * goal_before, 1.0)
        if (form.cost_terms.penalty > 0.5 * LARGEST_GROWTH * first_penalty).any():
            # no penalty brings the motion inside: there is none
            if slow.any() or slow_goal:
                break
        else:
            _grow(form, slow, slow_goal)
        before, goal_before = excess.limits, excess.goal
        # beyond the limits, smaller decreases still move the motion
        inner = max(inner * TIGHTEN, tolerance if excess.worst <= 1.0 else FINEST * tolerance)
        if used >= most:
            break
    last = violation(form, tolerances)
    near = last.goal <= ACCEPTED_GOAL and float(last.limits.max(initial=0.0)) <= 1.0
    return converged, near


def _update(form: Form) -> None:
    cost, y = form.cost_terms, form.y()
    shifted = y + cost.multiplier
    cost.multiplier[...] = shifted - np.minimum(np.maximum(shifted, cost.lower), cost.upper)
    if form.pose is not None:
        form.pose.update(form.last())


def _grow(form: Form, slow: Mask, goal: bool) -> None:
    cost = form.cost_terms
    fixed = cost.lower == cost.upper
    raised = np.where(fixed, goal, slow[None]) & (cost.penalty > 0.0)
    cost.penalty[raised] *= GROWTH
    cost.multiplier[raised] /= GROWTH
    if goal and form.pose is not None and form.pose.hard:
        form.pose.grow(GROWTH)
