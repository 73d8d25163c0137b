"""Optimal motions of fully actuated arms, with the accelerations as unknowns.

Torques are residuals τ = ID(q, v, a), so knots satisfy the dynamics exactly and no guess diverges.
An iteration linearizes the inverse dynamics of all knots in one batch, runs the backward pass, and
searches along the step, which the double integrator scales exactly (Gauss–Newton, iLQR).

Box-DDP polishes torques at their limits: the backward pass fixes them, and the forward pass clamps
the torques of the feedback law and integrates the forward dynamics.
"""

from __future__ import annotations

from dataclasses import field
from typing import Any

import numpy as np

from robolin.control.optimization.augmented_lagrangian import PoseTerminal
from robolin.control.optimization.backward_pass import Gains, NotPositive, StageCost
from robolin.control.optimization.compiled_pass import (
    BatchKernel,
    BoundKernel,
    CompiledPass,
    aligned_zeros,
    stacked_cost,
)
from robolin.control.simulation.feedback_control import FeedbackControl
from robolin.control.simulation.integration import FeedbackStates, feedback_states
from robolin.control.simulation.schedule import Schedule
from robolin.control.simulation.torques import EffortLimits
from robolin.core.arm import Arm
from robolin.core.arrays import Floats
from robolin.core.records import dataclass
from robolin.errors import RobolinError

# step fractions of the line search
STEP_FRACTIONS = (1.0, 0.5, 0.25, 0.1, 0.03, 0.01, 0.003, 0.001)
# fraction below which the damping rises
SHORT_STEP = 0.05
# fraction of the predicted decrease that a step must reach
SUFFICIENT = 1e-4
# relative decrease that is round-off of the cost
COST_ROUNDING = 1e-15
DAMPING_RANGE = (1e-9, 1e9)
# weight of a fixed torque relative to its own; largest number of polishing passes, and the change
# of the positions in rad or m that ends them
FIXED_WEIGHT, POLISH_PASSES, POLISHED = 1e6, 4, 1e-7


@dataclass
class IterationLog:
    """Cost and step fraction of each iteration, and why the iterations ended."""

    costs: list[float] = field(default_factory=list)
    fractions: list[float] = field(default_factory=list)
    reason: str = ""

    @property
    def iterations(self) -> int:
        return len(self.fractions)


class KnotMotion:
    """States, accelerations and torques of all knots, bound to the kernels."""

    x: Floats
    a: Floats
    tau: Floats

    def __init__(
        self,
        N: int,
        n: int,
        inverse: BatchKernel,
        derivative: BatchKernel,
        jacobians: tuple[Floats, Floats, Floats],
    ) -> None:
        self.x, self.a, self.tau = (
            aligned_zeros(N + 1, 2 * n),
            aligned_zeros(N, n),
            aligned_zeros(N + 1, n),
        )
        inputs = self.x[:N, :n], self.x[:N, n:], self.a
        M, Jq, Jv = jacobians
        by_name = {"mass_matrix": M, "dtau_dqdd": M, "dtau_dq": Jq, "dtau_dqd": Jv}
        self.torques: BoundKernel = inverse.bind(inputs, [self.tau[:N]])
        self.linearize: BoundKernel = derivative.bind(
            inputs, [by_name[name] for name in derivative.outputs]
        )


def require(arm: Arm, valid: bool, x: Floats, n: int) -> None:
    """Raise the error of the first knot whose dynamics have no result."""
    if not valid:
        from robolin.api.linear_models import linearize_inverse

        linearize_inverse(arm, x[:-1, :n], x[:-1, n:])
        raise RobolinError("the dynamics of the motion cannot be computed", where=arm.source)


class AccelerationForm:
    """Knots of a motion from one start, and the iterations that improve it."""

    n: int
    current: KnotMotion
    arm: Arm
    dt: float
    pose: PoseTerminal | None
    cost_terms: StageCost
    passes: CompiledPass
    damping: float
    decrease: float
    linearized: bool
    progress: IterationLog

    def __init__(
        self,
        arm: Arm,
        dt: float,
        start: tuple[Floats, Floats],
        a: Floats,
        cost: StageCost,
        pose: PoseTerminal | None = None,
    ) -> None:
        N, n = a.shape
        self.arm, self.dt, self.N, self.n = arm, dt, N, n
        self._jacobians = aligned_zeros(N, n, n), aligned_zeros(N, n, n), aligned_zeros(N, n, n)
        inverse, derivative = BatchKernel(arm, "inverse"), BatchKernel(arm, "linearize-inverse")
        self.current, self._trial = (
            KnotMotion(N, n, inverse, derivative, self._jacobians) for _ in range(2)
        )
        self.block: Floats = stacked_cost(cost)
        self.pose = pose
        self.cost_terms = StageCost(*self.block)
        self.passes = CompiledPass(n, N, dt)
        self.a[...] = a
        self.x[0, :n], self.x[0, n:] = start
        self.roll_out()
        self.damping, self.decrease, self.linearized = 0.0, 0.0, False
        self.progress = IterationLog()

    def roll_out(self) -> None:
        """Integrate the accelerations, and compute the torques and the cost."""
        n, x = self.n, self.x
        # sums in the order of the knots, as in a loop
        np.multiply(self.a, self.dt, out=x[1:, n:])
        np.cumsum(x[:, n:], axis=0, out=x[:, n:])
        np.multiply(x[1:, n:], self.dt, out=x[1:, :n])
        np.cumsum(x[:, :n], axis=0, out=x[:, :n])
        require(self.arm, self.current.torques(), self.x, n)
        self.linearized = False

    def restore(self, x: Floats, a: Floats) -> None:
        """Set the states and accelerations of an earlier motion, bit by bit."""
        self.x[...], self.a[...], self.linearized = x, a, False
        require(self.arm, self.current.torques(), self.x, self.n)

    @property
    def x(self) -> Floats:
        """Positions and velocities (N + 1, 2n)."""
        return self.current.x

    @property
    def a(self) -> Floats:
        """Accelerations (N, n)."""
        return self.current.a

    @property
    def tau(self) -> Floats:
        """Torques (N + 1, n); the last row is 0."""
        return self.current.tau

    def linearize(self) -> None:
        """Derivatives of the torques of all knots."""
        require(self.arm, self.current.linearize(), self.x, self.n)

    def total(self, x: Floats, tau: Floats) -> float:
        """Cost of a motion, with the terms of the limits."""
        cost = self.passes.cost(x, tau, self.block)
        return cost if self.pose is None else cost + float(self.pose.cost(x[-1]))

    def backward(self) -> float:
        """Gains about the motion; the decrease."""
        if not self.linearized:
            self.linearize()
            self.linearized = True
        ends = None if self.pose is None else self.pose.expansion(self.x[-1])
        while True:
            if ends is None:
                self.passes.clear_terminal()
            else:
                self.passes.set_terminal(*ends)
            try:
                self.decrease = self.passes.backward(
                    self.x, self.tau, self._jacobians, self.block, self.damping
                )
            except NotPositive:
                self.damping = max(DAMPING_RANGE[0], 10.0 * self.damping)
                if self.damping > DAMPING_RANGE[1]:
                    raise
                continue
            return self.decrease

    @property
    def iterations(self) -> int:
        """Number of iterations so far."""
        return self.progress.iterations

    def y(self) -> Floats:
        """q, v and τ of the knots (N + 1, 3, n)."""
        return np.concatenate([self.x.reshape(-1, 2, self.n), self.tau[:, None]], axis=1)

    def last(self) -> Floats:
        """The last state (2n,)."""
        state: Floats = self.x[-1]
        return state

    def iterate(self, most: int, tolerance: float) -> bool:
        """Iterate until the predicted decrease is below tolerance · cost; False if it stalls."""
        progress = self.progress
        cost = self.total(self.x, self.tau)
        progress.costs.append(cost)
        for _ in range(most):
            try:
                decrease = self.backward()
            except NotPositive:
                progress.reason = "the quadratic model has no minimum"
                return False
            if 0.5 * decrease <= tolerance * abs(cost) or decrease <= COST_ROUNDING * abs(cost):
                progress.reason = "converged"
                return True
            step = self._search(cost, decrease)
            if step is None:
                if self.damping >= DAMPING_RANGE[1] or 0.5 * decrease <= 1e-9 * abs(cost):
                    progress.reason = "no step reduces the cost"
                    return 0.5 * decrease <= 1e-9 * abs(cost)
                self.damping = max(1e-6 * self._scale(), 10.0 * self.damping)
                continue
            cost, fraction = step
            if fraction < SHORT_STEP:
                # the model is far off: a damped step goes farther
                self.damping = max(1e-6 * self._scale(), 10.0 * self.damping)
            else:
                self.damping = 0.0 if self.damping < 1e-12 else 0.1 * self.damping
            progress.costs.append(cost)
            progress.fractions.append(fraction)
        progress.reason = "the search reached the maximum number of iterations"
        return False

    def _scale(self) -> float:
        """Size of the Hessian by the accelerations."""
        return float(np.abs(self._jacobians[0]).max()) ** 2 * float(self.block[0, :-1, 2].max())

    def _search(self, cost: float, decrease: float) -> tuple[float, float] | None:
        """Move along the step; the new cost and the fraction of the step, or None."""
        dx, da = self.passes.step()
        trial = self._trial
        for fraction in STEP_FRACTIONS:
            np.multiply(dx, fraction, out=trial.x)
            np.add(trial.x, self.x, out=trial.x)
            np.multiply(da, fraction, out=trial.a)
            np.add(trial.a, self.a, out=trial.a)
            if not trial.torques():
                continue
            new = self.total(trial.x, trial.tau)
            if new <= cost - SUFFICIENT * fraction * decrease:
                self.current, self._trial = trial, self.current
                self.linearized = False
                return new, fraction
        return None

    def polish(self, limits: EffortLimits) -> bool:
        """Box-DDP from a motion whose multipliers name the torques at their limits.

        Returns False, with a motion that is not optimal, if the dynamics have no result.
        """
        N, n, x, terms = self.N, self.n, self.x, self.cost_terms
        u, first = terms.multiplier[:N, 2], terms.penalty[:N, 2].copy()
        # 1 at the upper limit, -1 at the lower one
        side = np.sign(u)
        for _ in range(POLISH_PASSES):
            self._fix_torques(limits, side, first)
            states = self._clamped_motion(limits)
            if states is None or states.rates is None or states.rates.missing != [N]:
                return False
            command = states.rates.command[:N]
            moved = float(np.abs(states.q - x[:, :n]).max())
            x[:, :n], x[:, n:], self.a[...] = states.q, states.qd, states.rates.qdd[:N]
            if not self.current.torques():
                return False
            self.linearized = False
            self.progress.costs.append(self.total(x, self.tau))
            self.progress.fractions.append(1.0)
            fixed = side != 0.0
            u[fixed] += (command - np.where(side > 0.0, limits.most, limits.least))[fixed]
            side[fixed & (u * side <= 0.0)] = 0.0
            side[command > limits.most], side[command < limits.least] = 1.0, -1.0
            if moved <= POLISHED:
                break
        return True

    def _fix_torques(self, limits: EffortLimits, side: Floats, first: Floats) -> None:
        """Turn the limits of torques with a side into equations; the others keep their penalty."""
        N, terms, fixed = self.N, self.cost_terms, side != 0.0
        u, penalty = terms.multiplier[:N, 2], terms.penalty[:N, 2]
        stiff = np.where(fixed, FIXED_WEIGHT * terms.weight[:N, 2], first)
        u[fixed] *= penalty[fixed] / stiff[fixed]
        u[~fixed] = 0.0
        penalty[...] = stiff
        terms.lower[:N, 2] = np.where(side > 0.0, limits.most, limits.least)
        terms.upper[:N, 2] = np.where(side < 0.0, limits.least, limits.most)

    def _clamped_motion(self, limits: EffortLimits) -> FeedbackStates | None:
        """Full step of the torques with clamped feedback; None if it has no result."""
        N, n, x = self.N, self.n, self.x
        try:
            self.backward()
            step = np.einsum("kij,kj->ki", self._jacobians[0], self.gains().k)
            tau, K = self.tau[:N] - step, self.torque_gains()
            law = FeedbackControl(
                np.concatenate([K, K[-1:]]),
                x[:, :n].copy(),
                x[:, n:].copy(),
                np.concatenate([tau, tau[-1:]]),
                self.arm.joint_names,
                self.dt * np.arange(N + 1, dtype=np.float64),
            )
            start = x[0, :n].copy(), x[0, n:].copy()
            schedule = Schedule(N * self.dt, integrator="euler", dt=self.dt)
            return feedback_states(
                self.arm, law, start, schedule, limits, {"engine": "compiled", "jobs": 1}
            )
        except (RobolinError, NotPositive):
            return None

    def gains(self) -> Gains:
        """Gains of the last backward pass, in accelerations."""
        return self.passes.gains(self.decrease)

    def torque_gains(self) -> Floats:
        """K_τ = M K - [∂τ/∂q, ∂τ/∂v] of δτ = -K_τ δx: (N, n, 2n)."""
        M, Jq, Jv = self._jacobians
        K: Any = np.einsum("kij,kjl->kil", M, self.gains().K)
        return np.asarray(K - np.concatenate([Jq, Jv], axis=-1))
