"""Forward dynamics of arms with closed loops: accelerations, constraint forces, derivatives.

States are flat batches: q, q̇, τ of shape (B, n).  `loop_evaluation` validates them.

The algorithm `forward-closed` computes clearly regular states, also with redundant equations.
This module computes doubtful states again with LAPACK: nearly dependent equations, or motions with
almost no inertia.  It also provides the other methods and the derivatives.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property

import numpy as np

from robolin.core.arm import Arm, cached_on_arm
from robolin.core.arrays import Floats, Indices
from robolin.core.choices import LoopMethod
from robolin.core.records import dataclass
from robolin.evaluation.evaluate import RunOptions
from robolin.evaluation.loop_linear_algebra import (
    DEFAULT_OPTIONS,
    LOOP_SOLVERS,
    Closures,
    Mask,
    System,
    closure_row_count,
    evaluate_flat,
    independent_row_mask,
    open_by,
    patterns,
    without_inertia,
)

# largest residual of the redundant rows relative to the accelerations
ROWS_LEFT_OUT_WITHIN = 1e-4
# allowance for rounding, relative to the torques
TORQUE_ROUNDING = 1e-9

# number of equations up to which a kernel is compiled
FEW_ROWS = 12


def without_closures(arm: Arm) -> Arm:
    """The kinematic tree of the arm, without its loop closures."""
    return cached_on_arm(arm, "opened", lambda closed: replace(closed, loops=()))


@dataclass(frozen=True)
class Baumgarte:
    """Baumgarte stabilisation: the gap e follows ë + 2 alpha ė + beta² e = 0."""

    alpha: float
    beta: float


@dataclass(frozen=True)
class LoopSolution:
    """Accelerations, constraint forces and constraint violations of all states.

    qdd (B, n), lam (B, m); kept (B, m): mask of the independent rows; open_by and opening (B, m);
    dead_point (B,): the redundant rows contradict the independent ones;
    no_inertia (B,): a motion that the closures allow has no inertia
    """

    qdd: Floats
    lam: Floats
    kept: Mask
    open_by: Floats
    opening: Floats
    dead_point: Mask
    no_inertia: Mask


@dataclass(frozen=True)
class Gradients:
    """Derivatives of q̈ and λ with respect to τ, q̇ and q."""

    dqdd_dtau: Floats
    dqdd_dqd: Floats
    dqdd_dq: Floats
    dlam_dtau: Floats
    dlam_dqd: Floats
    dlam_dq: Floats


def loop_solution(
    arm: Arm,
    q: Floats,
    qd: Floats,
    tau: Floats,
    method: LoopMethod | None = None,
    options: RunOptions = DEFAULT_OPTIONS,
) -> LoopSolution:
    """Solve M q̈ + C = τ + L* λ, L q̈ = c for accelerations and constraint forces."""
    if not has_kernel(arm, method):
        return Mechanism(arm, q, qd, tau, method or "null-space", options).solution()
    results, unanswered = evaluate_flat(
        arm, "forward-closed", {"q": q, "qd": qd, "tau": tau}, options
    )
    fine = np.zeros((2, len(q)), dtype=bool)
    parts = (results["qdd"], results["lam"], results["kept"] > 0.5)
    solution = LoopSolution(*parts, open_by(arm, results), results["closure_velocity"], *fine)
    doubtful = np.flatnonzero(unanswered)
    if len(doubtful):
        again = Mechanism(arm, q[doubtful], qd[doubtful], tau[doubtful], options=options).solution()
        for name, values in vars(again).items():
            getattr(solution, name)[doubtful] = values
    return solution


def has_kernel(arm: Arm, method: LoopMethod | None) -> bool:
    """True if states are computed by a kernel first, and by LAPACK only if doubtful."""
    return method in (None, "null-space") and closure_row_count(arm) <= FEW_ROWS


class Mechanism:
    """An arm with closures at a batch of states, solved by LAPACK."""

    tree: Arm
    arm: Arm
    q: Floats
    qd: Floats
    tau: Floats
    closures: Closures

    def __init__(
        self,
        arm: Arm,
        q: Floats,
        qd: Floats,
        tau: Floats,
        method: LoopMethod = "null-space",
        options: RunOptions = DEFAULT_OPTIONS,
    ) -> None:
        self.arm, self.tree, self._options = arm, without_closures(arm), options
        self.q, self.qd, self.tau = q, qd, tau
        self.closures = Closures(arm, q, qd, options)
        self._solve = LOOP_SOLVERS[method]
        self._kept = independent_row_mask(self.closures.jacobian)

    def _of_tree(self, verb: str, **values: Floats) -> dict[str, Floats]:
        """Results of the tree; rows without a result are not finite."""
        return evaluate_flat(self.tree, verb, values, self._options)[0]

    @cached_property
    def _M(self) -> Floats:
        return self._of_tree("mass-matrix", q=self.q)["mass_matrix"]

    def _systems(self) -> Iterator[tuple[Indices, Indices, System]]:
        """Groups of states with the same independent rows: state indices, rows, linear system."""
        for states, rows in patterns(self._kept):
            L = self.closures.jacobian[states][:, rows]

            def inverse(states: Indices = states) -> Floats:
                return self._of_tree("mass-matrix-inverse", q=self.q[states])["mass_matrix_inverse"]

            yield states, rows, System(self._M[states], L, inverse)

    def solution(self) -> LoopSolution:
        """Accelerations and constraint forces, with all failure masks."""
        qdd, lam, stuck = self.motion()
        gaps, rates = self.closures.open_by, self.closures.opening
        return LoopSolution(qdd, lam, self._kept, gaps, rates, stuck, self._no_inertia())

    def motion(self, baumgarte: Baumgarte | None = None) -> tuple[Floats, Floats, Mask]:
        """Solve M q̈ + C = τ + L* λ, L q̈ = c: q̈, λ, and the mask of contradicting closures."""
        C = self._of_tree("inverse", q=self.q, qd=self.qd, qdd=np.zeros_like(self.q))["tau"]
        c = self.closures.bias
        if baumgarte is not None:
            rates, gaps = self.closures.opening, self.closures.open_by
            c = c - 2.0 * baumgarte.alpha * rates - baumgarte.beta**2 * gaps
        qdd, lam = np.zeros_like(self.q), np.zeros_like(c)
        for states, rows, system in self._systems():
            top, bottom = (self.tau - C)[states][..., None], c[states][:, rows][..., None]
            x, force = self._solve(system, top, bottom)
            qdd[states], lam[np.ix_(states, rows)] = x[..., 0], force[..., 0]
        noise = TORQUE_ROUNDING * (1.0 + np.abs(self.tau - C).max(axis=-1))
        return qdd, lam, self._contradicted(qdd, c, noise)

    def _no_inertia(self) -> Mask:
        """Mask (B,) of states in which a motion that the closures allow has no inertia."""
        mask = np.zeros(len(self.q), dtype=bool)
        for states, _, system in self._systems():
            mask[states] = without_inertia(system)
        return mask

    def _contradicted(self, qdd: Floats, c: Floats, noise: Floats) -> Mask:
        """Mask (B,) of states whose redundant rows contradict the independent ones."""
        if self._kept.all():
            return np.zeros(len(qdd), dtype=bool)
        parts = np.abs(self.closures.jacobian) @ np.abs(qdd)[..., None]
        size = parts[..., 0].max(axis=-1) + np.abs(c).max(axis=-1)
        left = np.einsum("bij,bj->bi", self.closures.jacobian, qdd) - c
        return np.asarray(np.abs(left).max(axis=-1) > ROWS_LEFT_OUT_WITHIN * size + noise)

    def gradients(self, nominal: LoopSolution) -> Gradients:
        """The linearization around the nominal motion, by the same system.

        [[M, L*], [L, 0]] [dq̈; -dλ] = [dτ - A dq̇ - B' dq; -Gv dq̇ - Gq dq]

        A and B are those of the tree at the nominal q̈; B' = B - ∂(L* λ)/∂q, the closure's force
        keeping its direction; Gq and Gv are the gradients of the closures' acceleration.
        """
        tree = self._of_tree("linearize-inverse", q=self.q, qd=self.qd, qdd=nominal.qdd)
        closed = self.closures.linearized(nominal.qdd)
        Gq, Gv = closed["dclosure_acceleration_dq"], closed["dclosure_acceleration_dqd"]
        pulled = np.einsum("bi,bijk->bjk", nominal.lam, closed["dclosure_jacobian_dq"])
        batch, n = self.q.shape
        unit = np.broadcast_to(np.eye(n), (batch, n, n))
        top = np.concatenate([unit, -tree["dtau_dqd"], pulled - tree["dtau_dq"]], axis=-1)
        bottom = np.concatenate([np.zeros_like(Gv), -Gv, -Gq], axis=-1)
        dqdd, dlam = np.zeros_like(top), np.zeros_like(bottom)
        for states, rows, system in self._systems():
            x, force = self._solve(system, top[states], bottom[states][:, rows])
            dqdd[states], dlam[np.ix_(states, rows)] = x, force
        return Gradients(*np.split(dqdd, 3, axis=-1), *np.split(dlam, 3, axis=-1))
