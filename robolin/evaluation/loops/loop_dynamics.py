"""Accelerations of an arm with closed loops, the forces of its closures, and how both change.

States are flat batches here: q, q̇, τ of shape (B, n).  What is checked about them, and how they
come in, is for `robolin.evaluation.loops.loop_evaluation`.

The algorithm `forward-closed` answers states that are plainly regular, redundant equations
included.  What it has doubts about, such as equations all but dependent or motion that hardly
meets inertia, is worked out again here by LAPACK, and so are the other methods and derivatives.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from robolin.core.arm import Arm, cached_on_arm
from robolin.core.arrays import Floats, Indices
from robolin.core.choices import LoopMethod
from robolin.evaluation.evaluate import RunOptions
from robolin.evaluation.loops.closure_arrays import (
    AS_USUAL,
    Closures,
    closure_row_count,
    evaluate_flat,
    open_by,
)
from robolin.evaluation.loops.solve import (
    LOOP_SOLVERS,
    Mask,
    System,
    independent_row_mask,
    patterns,
    without_inertia,
)

# how far the rows left out may disagree with those kept, beside the accelerations themselves
ROWS_LEFT_OUT_WITHIN = 1e-4
# and beside what torques leave of them in rounding
TORQUE_ROUNDING = 1e-9

# equations up to which a kernel of their own is worth compiling
FEW_ROWS = 12


def without_closures(arm: Arm) -> Arm:
    """The arm without its closures: the tree that its joints make."""
    return cached_on_arm(arm, "opened", lambda closed: replace(closed, loops=()))


@dataclass(frozen=True)
class Baumgarte:
    """Closures drawn shut: the gap e follows ë + 2 alpha ė + beta² e = 0."""

    alpha: float
    beta: float


@dataclass(frozen=True)
class LoopSolution:
    """What the closures do at every state, and where they stand.

    qdd (B, n), lam (B, m), kept (B, m) the independent rows; open_by and opening (B, m);
    dead_point (B,): the rows left out contradict those kept;
    no_inertia (B,): some motion that the closures leave free meets none
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
    """The derivatives of q̈ and λ along τ, q̇ and q."""

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
    how: RunOptions = AS_USUAL,
) -> LoopSolution:
    """Accelerations and closure forces, M q̈ + C = τ + L* λ, L q̈ = c, by the method named."""
    if not has_kernel(arm, method):
        return Mechanism(arm, q, qd, tau, method or "null-space", how).solution()
    found, unanswered = evaluate_flat(arm, "forward-closed", {"q": q, "qd": qd, "tau": tau}, how)
    fine = np.zeros((2, len(q)), dtype=bool)
    parts = (found["qdd"], found["lam"], found["kept"] > 0.5)
    solution = LoopSolution(*parts, open_by(arm, found), found["closure_velocity"], *fine)
    doubtful = np.flatnonzero(unanswered)
    if len(doubtful):
        again = Mechanism(arm, q[doubtful], qd[doubtful], tau[doubtful], how=how).solution()
        for name, values in vars(again).items():
            getattr(solution, name)[doubtful] = values
    return solution


def has_kernel(arm: Arm, method: LoopMethod | None) -> bool:
    """Whether states are first tried by the algorithm over any scalar."""
    return method in (None, "null-space") and closure_row_count(arm) <= FEW_ROWS


class Mechanism:
    """An arm with closures at a batch of states, solved by LAPACK."""

    def __init__(
        self,
        arm: Arm,
        q: Floats,
        qd: Floats,
        tau: Floats,
        method: LoopMethod = "null-space",
        how: RunOptions = AS_USUAL,
    ) -> None:
        self.arm, self.tree, self._how = arm, without_closures(arm), how
        self.q, self.qd, self.tau = q, qd, tau
        self.closures = Closures(arm, q, qd, how)
        self._solve = LOOP_SOLVERS[method]
        self._kept = independent_row_mask(self.closures.jacobian)

    def _of_tree(self, verb: str, **values: Floats) -> dict[str, Floats]:
        """What the tree answers; rows it cannot answer come out as not finite."""
        return evaluate_flat(self.tree, verb, values, self._how)[0]

    @cached_property
    def _M(self) -> Floats:
        return self._of_tree("mass-matrix", q=self.q)["mass_matrix"]

    def _systems(self) -> Iterator[tuple[Indices, Indices, System]]:
        """States that keep the same rows, the rows, and what is to be solved there."""
        for states, rows in patterns(self._kept):
            L = self.closures.jacobian[states][:, rows]

            def inverse(states: Indices = states) -> Floats:
                return self._of_tree("mass-matrix-inverse", q=self.q[states])["mass_matrix_inverse"]

            yield states, rows, System(self._M[states], L, inverse)

    def solution(self) -> LoopSolution:
        """Accelerations and closure forces, and everything that may be wrong with them."""
        qdd, lam, stuck = self.motion()
        gaps, rates = self.closures.open_by, self.closures.opening
        return LoopSolution(qdd, lam, self._kept, gaps, rates, stuck, self._no_inertia())

    def motion(self, baumgarte: Baumgarte | None = None) -> tuple[Floats, Floats, Mask]:
        """M q̈ + C = τ + L* λ, L q̈ = c: q̈ and λ, and where closures contradict each other."""
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
        """(B,): where some motion that the closures leave free meets no inertia."""
        found = np.zeros(len(self.q), dtype=bool)
        for states, _, system in self._systems():
            found[states] = without_inertia(system)
        return found

    def _contradicted(self, qdd: Floats, c: Floats, noise: Floats) -> Mask:
        """Where rows that were left out ask for other accelerations than those kept allow."""
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
