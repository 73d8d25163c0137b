"""Optimal motions of underactuated arms, with the torques as unknowns (iLQR).

Knots are integrated by RK4 with the torque held, and its derivative follows by the chain rule
from the linearized forward dynamics of the four stages:

    dk₁ = A₁,  dk₂ = A₂ (1 + dt/2 dk₁),  dk₃ = A₃ (1 + dt/2 dk₂),  dk₄ = A₄ (1 + dt dk₃)
    ∂x⁺/∂x = 1 + dt/6 (dk₁ + 2 dk₂ + 2 dk₃ + dk₄)        and the same for the torque

Several starts are the lanes of every array: (starts, knots, …).

Box-DDP (Tassa, Mansard & Todorov, ICRA 2014) polishes the best motion: the backward pass fixes
torques at a limit that the cost would exceed, and the forward pass clamps the torques.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from robolin.control.optimization.augmented_lagrangian import GROWTH, MotionTolerances, PoseTerminal
from robolin.control.optimization.backward_pass import StageCost, stage_terms
from robolin.control.optimization.compiled_pass import BatchKernel, BoundKernel
from robolin.control.optimization.inverse_kinematics import matrix_product
from robolin.core.arm import Arm
from robolin.core.arrays import Floats, Indices, Integers, Mask
from robolin.errors import RobolinError
from robolin.evaluation.evaluate import evaluate_arm

STEP_FRACTIONS = np.array([1.0, 0.5, 0.25, 0.1, 0.03, 0.005])
LEAST_DAMPING, MOST_DAMPING = 1e-9, 1e6
SUFFICIENT = 1e-4
# states beyond this size count as diverged
LARGEST_STATE = 1e4
# iterations between two updates of the multipliers, and the number of updates
INNER_ITERATIONS, OUTER_ITERATIONS = 25, 60
# iterations of the polish
POLISH_ITERATIONS = 20
FALL = 0.3


class LinearKnots(NamedTuple):
    """∂x⁺/∂x (..., 2n, 2n) and ∂x⁺/∂u (..., 2n, m)."""

    A: Floats
    B: Floats


class RK4Knots:
    """The dynamics of an arm with held torques at the actuated joints."""

    n: int
    arm: Arm
    actuated: list[int]
    dt: float

    def __init__(self, arm: Arm, actuated: list[int], dt: float) -> None:
        self.arm, self.actuated, self.dt, self.n = arm, actuated, dt, arm.n
        self._forward = BatchKernel(arm, "forward")
        # arrays of each number of rows, with the kernel that is bound to them
        self._bound: dict[int, tuple[Floats, Floats, Floats, BoundKernel]] = {}

    def torque(self, u: Floats) -> Floats:
        """Torques of all joints (..., n)."""
        tau = np.zeros((*u.shape[:-1], self.n))
        tau[..., self.actuated] = u
        return tau

    def rate(self, x: Floats, tau: Floats) -> Floats:
        """ẋ (rows, 2n) of states and torques."""
        n, count = self.n, x.size // (2 * self.n)
        if count not in self._bound:
            self._bound[count] = self._arrays(count)
        states, torques, qdd, run = self._bound[count]
        states[...], torques[...] = x.reshape(count, 2 * n), tau.reshape(count, n)
        if not run():
            qdd[run.status != 0.0] = np.nan
            run.status.fill(0.0)
        return np.concatenate([x[..., n:], qdd.reshape(*x.shape[:-1], n)], axis=-1)

    def _arrays(self, count: int) -> tuple[Floats, Floats, Floats, BoundKernel]:
        states, torques = np.zeros((count, 2 * self.n)), np.zeros((count, self.n))
        qdd = np.zeros((count, self.n))
        inputs = [states[:, : self.n], states[:, self.n :], torques]
        return states, torques, qdd, self._forward.bind(inputs, [qdd])

    def stages(self, x: Floats, tau: Floats) -> tuple[list[Floats], Floats]:
        """States at the four stages, and the next state."""
        h = self.dt
        k1 = self.rate(x, tau)
        x2 = x + (0.5 * h) * k1
        k2 = self.rate(x2, tau)
        x3 = x + (0.5 * h) * k2
        k3 = self.rate(x3, tau)
        x4 = x + h * k3
        k4 = self.rate(x4, tau)
        return [x, x2, x3, x4], x + (h / 6.0) * (k1 + 2.0 * k2 + 2.0 * k3 + k4)

    def linearized(self, x: Floats, u: Floats) -> LinearKnots:
        """Derivatives of the next states."""
        n, h, tau = self.n, self.dt, self.torque(u)
        stages, _ = self.stages(x, tau)
        one = np.eye(2 * n)
        dx, du = np.zeros((*x.shape, 2 * n)), np.zeros((*x.shape, u.shape[-1]))
        total_x, total_u = dx, du
        for at, before, weight in zip(
            stages, (0.0, 0.5 * h, 0.5 * h, h), (1.0, 2.0, 2.0, 1.0), strict=True
        ):
            values = {"q": at[..., :n], "qd": at[..., n:], "tau": tau}
            model = evaluate_arm(self.arm, "linearize-forward", values, jobs=1)
            lower = np.concatenate([model["dqdd_dq"], model["dqdd_dqd"]], axis=-1)
            B = model["dqdd_dtau"][..., self.actuated]
            change_x, change_u = one + before * dx, before * du
            # the upper half of the rate is the velocity
            dx = np.concatenate([change_x[..., n:, :], matrix_product(lower, change_x)], axis=-2)
            du = np.concatenate([change_u[..., n:, :], matrix_product(lower, change_u) + B], -2)
            total_x, total_u = total_x + weight * dx, total_u + weight * du
        return LinearKnots(one + (h / 6.0) * total_x, (h / 6.0) * total_u)


class TorqueForm:
    """Motions from several guesses of the torques, improved together.

    Fields:
        x: states (starts, N + 1, 2n)
        u: torques of the actuated joints (starts, N, m)
        cost_terms: terms of every start (starts, N + 1, 3, n)
        diverged: starts without a finite motion, or whose last backward pass overflowed (starts,)
    """

    n: int
    x: Floats
    u: Floats
    cost: Floats
    damping: Floats
    knots: RK4Knots
    pose: PoseTerminal | None
    cost_terms: StageCost

    def __init__(
        self,
        knots: RK4Knots,
        x0: Floats,
        u: Floats,
        cost: StageCost,
        pose: PoseTerminal | None = None,
    ) -> None:
        S, N, m = u.shape
        self.box: tuple[Floats, Floats] | None = None
        self.knots, self.pose, self.N, self.n = knots, pose, N, knots.n
        self.cost_terms = StageCost(
            *(np.broadcast_to(part, (S, *part.shape)).copy() for part in cost)
        )
        if pose is not None:
            pose.penalty = np.broadcast_to(pose.penalty, (S, pose.residual.rows)).copy()
            pose.multiplier = np.zeros((S, pose.residual.rows))
        zero = np.zeros((S, N, m, 2 * self.n))
        start = np.broadcast_to(x0, (S, 2 * self.n))
        self.x, self.u = self._roll_out(start, u, np.zeros((S, N + 1, 2 * self.n)), 0.0 * u, zero)
        self.cost = self._cost(self.x, self.u, np.arange(S))
        self.K, self.P = zero, np.zeros((S, N + 1, 2 * self.n, 2 * self.n))
        self.damping = np.zeros(S)
        self.diverged: Mask = ~np.isfinite(self.cost)
        self.done: Mask = self.diverged.copy()
        self.iterations: Integers = np.zeros(S, dtype=np.int64)
        self.costs: list[Floats] = [self.cost.copy()]

    def polish(self, start: int, limits: tuple[Floats, Floats], tolerance: float) -> None:
        """Box-DDP of one start, within limits (m,) of the torques of the actuated joints."""
        rows = np.array([start])
        self.cost_terms.penalty[start, :, 2] = 0.0
        self.box = limits
        zero = np.zeros((1, *self.u[start].shape))
        clamped = np.clip(self.u[rows], *limits)
        self.x[rows], self.u[rows] = self._roll_out(
            self.x[rows, 0], clamped, self.x[rows], zero, self.K[rows]
        )
        self.cost[rows] = self._cost(self.x[rows], self.u[rows], rows)
        self.done[:], self.done[start], self.damping[start] = True, False, 0.0
        self.iterate(POLISH_ITERATIONS, tolerance)

    def y(self, rows: Indices | slice = slice(None)) -> Floats:
        """q, v and τ of the knots (starts, N + 1, 3, n)."""
        return self._y(self.x[rows], self.u[rows])

    def _y(self, x: Floats, u: Floats) -> Floats:
        S, N = u.shape[:2]
        tau = np.zeros((S, N + 1, self.n))
        tau[:, :N] = self.knots.torque(u)
        return np.concatenate([x.reshape(S, N + 1, 2, self.n), tau[:, :, None]], axis=2)

    def _terms(self, rows: Indices) -> StageCost:
        return StageCost(*(part[rows] for part in self.cost_terms))

    def _cost(self, x: Floats, u: Floats, rows: Indices) -> Floats:
        """Augmented cost of motions; infinite if they diverge."""
        terms, y = self._terms(rows), self._y(x, u)
        with np.errstate(all="ignore"):
            shifted = y + terms.multiplier
            e = shifted - np.minimum(np.maximum(shifted, terms.lower), terms.upper)
            r = y - terms.reference
            each = terms.weight * (r * r) + terms.penalty * (e * e)
            total = 0.5 * each.sum(axis=(1, 2, 3))
            if self.pose is not None:
                total = total + self._pose(rows).cost(x[:, -1])
        return np.where(np.isfinite(total), total, np.inf)

    def _pose(self, rows: Indices) -> PoseTerminal:
        assert self.pose is not None, "the problem has a goal pose"
        part = PoseTerminal(self.pose.residual, self.pose.penalty[rows], self.pose.hard)
        part.multiplier = self.pose.multiplier[rows]
        return part

    def _roll_out(
        self, x0: Floats, u: Floats, about: Floats, k: Floats, K: Floats
    ) -> tuple[Floats, Floats]:
        """States and torques under u - k - K (x - about), for lanes (lanes, …)."""
        lanes, N, m = u.shape
        x, used = np.zeros((lanes, N + 1, 2 * self.n)), np.zeros((lanes, N, m))
        x[:, 0] = x0
        alive = np.ones(lanes, dtype=bool)
        for i in range(N):
            away = x[:, i] - about[:, i]
            step = u[:, i] - k[:, i]
            for j in range(2 * self.n):
                step = step - K[:, i, :, j] * away[:, j, None]
            if self.box is not None:
                step = np.clip(step, *self.box)
            used[:, i] = step
            with np.errstate(all="ignore"):
                _, after = self.knots.stages(x[:, i], self.knots.torque(step))
            alive &= np.isfinite(after).all(axis=-1) & (np.abs(after).max(axis=-1) < LARGEST_STATE)
            # a lane that diverged stays where it was and gets an infinite cost
            x[:, i + 1] = np.where(alive[:, None], after, x[:, i])
        x[~alive, -1] = np.inf
        return x, used

    def _backward(self, rows: Indices) -> tuple[Floats, Floats, Floats, Mask]:
        """k, K and the decrease of these starts, and which of them have a minimum."""
        n, N = self.n, self.N
        x, u = self.x[rows], self.u[rows]
        S, m = len(rows), u.shape[-1]
        A, B = self.knots.linearized(x[:, :N], u)
        gradient, hessian = stage_terms(self._terms(rows), self._y(x, u))
        diagonal, inputs = np.arange(2 * n), np.arange(m)
        act = self.knots.actuated
        P, p = np.zeros((S, 2 * n, 2 * n)), np.zeros((S, 2 * n))
        if self.pose is not None:
            P, p = self._pose(rows).expansion(x[:, -1])
        P[:, diagonal, diagonal] += hessian[:, N, :2].reshape(S, -1)
        p = p + gradient[:, N, :2].reshape(S, -1)
        k, K = np.zeros((S, N, m)), np.zeros((S, N, m, 2 * n))
        decrease, sound = np.zeros(S), np.ones(S, dtype=bool)
        self.P[rows, N] = P
        for i in reversed(range(N)):
            F = np.concatenate([B[:, i], A[:, i]], axis=-1)
            T = np.concatenate([matrix_product(P, F), p[..., None]], axis=-1)
            W = matrix_product(np.swapaxes(F, -1, -2), T)
            W[:, inputs, inputs] += hessian[:, i, 2][:, act] + self.damping[rows][:, None]
            W[:, inputs, -1] += gradient[:, i, 2][:, act]
            W[:, m + diagonal, m + diagonal] += hessian[:, i, :2].reshape(S, -1)
            W[:, m + diagonal, -1] += gradient[:, i, :2].reshape(S, -1)
            saved = W[:, :m, -1].copy()
            if self.box is not None:
                _fix(W, _pushed_out(u[:, i], saved, self.box))
            solved, positive = _eliminated(W, m)
            sound &= positive
            k[:, i], K[:, i] = solved[..., -1], solved[..., :-1]
            decrease += (k[:, i] * saved).sum(axis=-1)
            P = W[:, m:, m:-1]
            P = 0.5 * (P + np.swapaxes(P, -1, -2))
            p = W[:, m:, -1]
            self.P[rows, i] = P
        return k, K, decrease, sound

    def iterate(self, most: int, tolerance: float) -> None:
        """Improve all starts that are not done; a converged start is done."""
        for _ in range(most):
            rows = np.flatnonzero(~self.done)
            if not len(rows) or not self._improve(rows, tolerance):
                return
            self.iterations[rows] += 1
            self.costs.append(self.cost.copy())

    def _improve(self, rows: Indices, tolerance: float) -> bool:
        """One iteration of these starts; False if all of them have converged."""
        k, K, decrease, sound = self._backward(rows)
        small = sound & (0.5 * decrease <= tolerance * np.abs(self.cost[rows]))
        self.K[rows] = K
        self.diverged[rows] = ~(np.isfinite(k).all(axis=(1, 2)) & np.isfinite(K).all((1, 2, 3)))
        self.done[rows[small]] = True
        keep = ~small
        if keep.any():
            self._search(rows[keep], k[keep], K[keep], decrease[keep])
        return bool(keep.any())

    def _search(self, rows: Indices, k: Floats, K: Floats, decrease: Floats) -> None:
        """Try all step fractions of all starts in one batch; keep the best of each."""
        S, L = len(rows), len(STEP_FRACTIONS)
        lanes = np.repeat(np.arange(S), L)
        fractions = np.tile(STEP_FRACTIONS, S)
        own = rows[lanes]
        x, u = self._roll_out(
            self.x[own, 0],
            self.u[own],
            self.x[own],
            fractions[:, None, None] * k[lanes],
            K[lanes],
        )
        costs = self._cost(x, u, own).reshape(S, L)
        best = np.argmin(costs, axis=1)
        reached = costs[np.arange(S), best]
        better = reached < self.cost[rows] - SUFFICIENT * STEP_FRACTIONS[best] * decrease
        pick = (np.arange(S) * L + best)[better]
        good = rows[better]
        self.x[good], self.u[good], self.cost[good] = x[pick], u[pick], reached[better]
        raised = np.maximum(10.0 * self.damping[rows], LEAST_DAMPING * self._scale())
        self.damping[rows] = np.where(better, 0.2 * self.damping[rows], raised)
        self.damping[self.damping < 1e-3 * LEAST_DAMPING * self._scale()] = 0.0
        self.done[rows[self.damping[rows] > MOST_DAMPING * self._scale()]] = True

    def _scale(self) -> float:
        return float(self.cost_terms.weight[..., 2, :].max())


def _pushed_out(u: Floats, gradient: Floats, box: tuple[Floats, Floats]) -> Mask:
    """Torques at a limit (starts, m) that a decrease of the cost moves beyond it."""
    lower, upper = box
    return ((u <= lower) & (gradient > 0.0)) | ((u >= upper) & (gradient < 0.0))


def _fix(W: Floats, fixed: Mask) -> None:
    """Replace the equations of fixed torques by δu = 0, in place."""
    starts, rows = np.nonzero(fixed)
    W[starts, rows, :] = 0.0
    W[starts, :, rows] = 0.0
    W[starts, rows, rows] = 1.0


def _eliminated(W: Floats, m: int) -> tuple[Floats, Mask]:
    """Eliminate the first m rows of W (starts, M, M + 1) in place; their solution."""
    positive = np.ones(len(W), dtype=bool)
    inverse = np.zeros((len(W), m))
    for i in range(m):
        pivot = W[:, i, i]
        positive &= pivot > 0.0
        inverse[:, i] = 1.0 / np.where(pivot > 0.0, pivot, 1.0)
        ratio = W[:, i + 1 :, i] * inverse[:, i, None]
        W[:, i + 1 :, i:] -= ratio[..., None] * W[:, None, i, i:]
    X = np.zeros((len(W), m, W.shape[2] - m))
    for i in reversed(range(m)):
        row = W[:, i, m:].copy()
        for j in range(i + 1, m):
            row -= W[:, i, j, None] * X[:, j]
        X[:, i] = row * inverse[:, i, None]
    return X, positive


# starts that diverge overflow; they are counted and never selected
@np.errstate(all="ignore")
def satisfy_all(
    form: TorqueForm, tolerances: MotionTolerances, tolerance: float, most: int
) -> Floats:
    """Minimize all starts under the limits; the violation of each, relative to the tolerances."""
    S = len(form.x)
    inner, used = 1e-3, 0
    before = np.full(S, np.inf)
    # these starts have no motion to improve
    diverged = form.diverged.copy()
    if diverged.all():
        raise RobolinError(
            "the simulated motion diverges for every initial guess",
            hint="use a shorter --dt, or another initial guess (--from, --seed)",
        )
    excess = violations(form, tolerances)
    for _ in range(OUTER_ITERATIONS):
        form.done = diverged.copy()
        count = min(INNER_ITERATIONS, most - used)
        form.iterate(count, max(inner, tolerance))
        used += count
        excess = violations(form, tolerances)
        last = inner <= tolerance
        if (last and ((excess <= 1.0) | diverged).all()) or used >= most:
            break
        _update(form, excess > np.maximum(FALL * before, 1.0))
        before, inner = excess, max(0.1 * inner, tolerance)
    return np.where(diverged | form.diverged, np.inf, excess)


def violations(form: TorqueForm, tolerances: MotionTolerances) -> Floats:
    """Largest violation of each start, relative to the tolerances."""
    cost, y = form.cost_terms, form.y()
    beyond = np.maximum(np.maximum(cost.lower - y, y - cost.upper), 0.0)
    fixed = cost.lower == cost.upper
    with np.errstate(invalid="ignore"):
        limits = np.where(fixed, 0.0, beyond / tolerances.limits).max(axis=(1, 2, 3))
        goal = np.where(fixed, beyond, 0.0).max(axis=(1, 2, 3)) / tolerances.goal
    if form.pose is not None and form.pose.hard:
        error = np.abs(form.pose.error(form.x[:, -1])).max(axis=-1)
        goal = np.maximum(goal, error / tolerances.goal)
    worst: Floats = np.nan_to_num(np.maximum(limits, goal), nan=np.inf, posinf=np.inf)
    return worst


def _update(form: TorqueForm, slow: Mask) -> None:
    """Move the multipliers; raise the penalties of starts whose violation does not fall."""
    cost, y = form.cost_terms, form.y()
    shifted = y + cost.multiplier
    cost.multiplier[...] = shifted - np.minimum(np.maximum(shifted, cost.lower), cost.upper)
    factor = np.where(slow, GROWTH, 1.0)
    cost.penalty[...] *= factor[:, None, None, None]
    cost.multiplier[...] /= factor[:, None, None, None]
    if form.pose is not None:
        form.pose.update(form.x[:, -1])
        if form.pose.hard:
            form.pose.grow(factor[:, None])
    form.cost = form._cost(form.x, form.u, np.arange(len(form.x)))
