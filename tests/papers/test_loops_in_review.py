"""Closed loops in Featherstone and Orin's review [O], equations 15 to 22, solved by NumPy.

M and C are those of the spanning tree.  Rows are the independent ones that robolin keeps.
Joints of closures are passive here; for motors in them see
tests/evaluation/loops/test_loop_joint_torques.py.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest
from scipy.linalg import null_space

import robolin
from robolin.checking.verification.checks import run_for_check
from robolin.evaluation.loop_linear_algebra import Closures
from tests.evaluation.loops.closed_arms import Closed, sample
from tests.operator_algebra.subjects import apart

# measured at 1e-13; the KKT matrices have condition numbers up to 1e4
AGREE = 1e-12
STEP = 1e-30

every_arm = pytest.mark.parametrize("closed", sample(), ids=lambda closed: closed.arm.name)


@dataclass(frozen=True)
class Tree:
    """One closed state: M, C and τ of the spanning tree, L and c of its closures, and q̈, λ."""

    M: np.ndarray
    C: np.ndarray
    tau: np.ndarray
    L: np.ndarray
    c: np.ndarray
    qdd: np.ndarray
    lam: np.ndarray


def states(closed: Closed) -> tuple[Tree, ...]:
    arm = replace(closed.arm, loops=())
    rows = robolin.loop_constraints(closed.arm, closed.q, closed.qd)
    loop = robolin.loop_forces(closed.arm, closed.q, closed.qd, closed.tau)
    M = robolin.mass_matrix(arm, closed.q)
    C = robolin.inverse(arm, closed.q, closed.qd)
    return tuple(
        Tree(
            M[i],
            C[i],
            closed.tau[i],
            rows.jacobian[i][loop.kept[i]],
            rows.bias[i][loop.kept[i]],
            loop.qdd[i],
            loop.lam[i][loop.kept[i]],
        )
        for i in range(len(closed.q))
    )


@every_arm
def test_O_eq_15_and_19(closed: Closed) -> None:
    """M q̈ + C = τ + τ_c with τ_c = L* λ."""
    for s in states(closed):
        size = float(np.abs(s.L.T @ s.lam).max())
        assert apart(s.M @ s.qdd + s.C, s.tau + s.L.T @ s.lam, made_of=size) <= AGREE


@every_arm
def test_O_eq_16_to_18(closed: Closed) -> None:
    """φ(q) = 0, φ' q̈ + φ̇' q̇ = 0 for all its rows, and L q̈ = c for independent ones."""
    closures = Closures(closed.arm, closed.q)
    moving = {"q": closed.q + 1j * STEP * closed.qd, "qd": closed.qd}
    moved = run_for_check(closed.arm, "closures", moving).arrays["closure_jacobian"].imag / STEP
    loop = robolin.loop_forces(closed.arm, closed.q, closed.qd, closed.tau)
    along = np.einsum("bij,bj->bi", closures.jacobian, loop.qdd)
    turning = np.einsum("bij,bj->bi", moved, closed.qd)

    assert apart(closures.open_by, np.zeros_like(closures.open_by), made_of=1.0) <= AGREE
    assert apart(along, -turning) <= AGREE
    for s in states(closed):
        assert apart(s.L @ s.qdd, s.c, made_of=float(np.abs(s.qdd).max())) <= AGREE
        assert np.linalg.matrix_rank(s.L) == len(s.L)


@every_arm
def test_O_eq_20(closed: Closed) -> None:
    """[[M, L*], [L, 0]] [q̈; -λ] = [τ - C; c], solved as it stands."""
    for s in states(closed):
        zero = np.zeros((len(s.L), len(s.L)))
        system = np.block([[s.M, s.L.T], [s.L, zero]])
        solution = np.linalg.solve(system, np.concatenate([s.tau - s.C, s.c]))
        assert apart(solution[: len(s.M)], s.qdd) <= AGREE
        assert apart(-solution[len(s.M) :], s.lam) <= AGREE


@every_arm
def test_O_eq_21(closed: Closed) -> None:
    """L M⁻¹ L* λ = c - L M⁻¹ (τ - C)."""
    for s in states(closed):
        free = np.linalg.solve(s.M, s.tau - s.C)
        flexible = s.L @ np.linalg.solve(s.M, s.L.T)
        assert apart(np.linalg.solve(flexible, s.c - s.L @ free), s.lam) <= AGREE


@every_arm
def test_O_eq_22(closed: Closed) -> None:
    """q̈ = K y + q̈₀ with L K = 0, and K* M K y = K* (τ - C - M q̈₀)."""
    for s in states(closed):
        K, some = null_space(s.L), np.linalg.lstsq(s.L, s.c, rcond=None)[0]
        y = np.linalg.solve(K.T @ s.M @ K, K.T @ (s.tau - s.C - s.M @ some))
        assert apart(K @ y + some, s.qdd) <= AGREE
