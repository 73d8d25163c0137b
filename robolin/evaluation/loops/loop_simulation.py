"""Simulation of arms with closed loops: accelerations and drift correction of the closures.

Integration satisfies only L q̈ = c, so the gaps grow slowly with rounding and step size.  Either
every step ends with a projection onto the closures, or Baumgarte stabilisation reduces the gaps
continuously.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from robolin.core.arm import Arm
from robolin.core.arrays import Floats, JointValues
from robolin.core.choices import LoopMethod
from robolin.errors import RobolinError, UsageError
from robolin.evaluation.evaluate import RunOptions, evaluate_arm, evaluate_rows
from robolin.evaluation.loops.assemble import assemble, closed_nearby
from robolin.evaluation.loops.loop_dynamics import (
    Baumgarte,
    Mechanism,
    has_kernel,
    without_closures,
)
from robolin.evaluation.quick_calls import fast_call


@dataclass(frozen=True)
class LoopMotion:
    """q̈ (..., n) of an arm with loops, for states that may violate their closures slightly."""

    arm: Arm
    options: RunOptions
    method: LoopMethod = "null-space"
    baumgarte: Baumgarte | None = None

    def __call__(self, t: float, q: Floats, qd: Floats, tau: Floats) -> Floats:
        if self.baumgarte is None and has_kernel(self.arm, self.method):
            quick = fast_call(self.arm, "forward-closed", self.options.get("engine", "auto"))
            fast_result: tuple[Floats, ...] | None = quick(q, qd, tau)
            if fast_result is not None:
                return fast_result[0]
            values = {"q": q, "qd": qd, "tau": tau}
            results, unanswered = evaluate_rows(self.arm, "forward-closed", values, **self.options)
            if not unanswered.any():
                return results["qdd"]
        return self._by_lapack(q, qd, tau)

    def _by_lapack(self, q: Floats, qd: Floats, tau: Floats) -> Floats:
        batch, n = q.shape[:-1], self.arm.n
        q, qd, tau = (np.broadcast_to(x, (*batch, n)).reshape(-1, n) for x in (q, qd, tau))
        mechanism = Mechanism(self.arm, q, qd, tau, self.method, self.options)
        qdd, _, dead_point = mechanism.motion(self.baumgarte)
        if dead_point.any():
            raise RobolinError(
                "the constraints are singular: the linkage has reached a dead point",
                hint="start at another state, or end the simulation before",
            )
        return qdd.reshape((*batch, n))


@dataclass(frozen=True)
class Projection:
    """Projection of q and q̇ (..., n) onto the closures."""

    arm: Arm
    options: RunOptions

    def __call__(self, q: Floats, qd: Floats) -> tuple[Floats, Floats]:
        nearby = closed_nearby(self.arm, q, qd, self.options) if q.ndim == 1 else None
        if nearby is not None:
            return nearby
        n = self.arm.n
        projected = assemble(self.arm, q.reshape(-1, n), qd.reshape(-1, n), options=self.options)
        return projected.q.reshape(q.shape), projected.qd.reshape(qd.shape)


@dataclass(frozen=True)
class SimulatedLoops:
    """An arm with loops for simulation: its tree, accelerations and projection."""

    tree: Arm
    accelerations: LoopMotion
    project: Projection | None


def simulated_loops(
    arm: Arm,
    q: JointValues,
    qd: JointValues,
    options: RunOptions,
    baumgarte: tuple[float, float] | None = None,
    fixed_steps: bool = True,
) -> SimulatedLoops:
    """Prepare an arm with loops for simulation from a closed initial state.

    baumgarte: alpha and beta in 1/s, instead of a projection after each step
    """
    # raises if the state violates its closures or has no acceleration
    evaluate_arm(arm, "forward", {"q": q, "qd": qd, "tau": 0.0})
    if baumgarte is None and not fixed_steps:
        hint = "add --baumgarte 10,10 (baumgarte=(10, 10)), or remove --rtol (rtol)"
        raise UsageError("projection onto the constraints requires fixed steps", hint=hint)
    terms = None if baumgarte is None else _terms(baumgarte)
    options = {"engine": options.get("engine", "auto"), "jobs": options.get("jobs")}
    project = Projection(arm, options) if terms is None else None
    return SimulatedLoops(without_closures(arm), LoopMotion(arm, options, baumgarte=terms), project)


def _terms(baumgarte: tuple[float, float]) -> Baumgarte:
    alpha, beta = (float(each) for each in baumgarte)
    if not (0.0 <= alpha < np.inf and 0.0 <= beta < np.inf):
        hint = "write for example baumgarte=(10, 10): alpha = beta damps critically"
        raise UsageError(f"baumgarte: must be two rates ≥ 0, got {alpha:g}, {beta:g}", hint=hint)
    return Baumgarte(alpha, beta)
