"""The time-varying regulator along a trajectory."""

from __future__ import annotations

import numpy as np
import pytest

import robolin

DT = 0.01


def along(rows: int, name: str = "two-link", dt: float = DT) -> robolin.StateSpace:
    """Models along a swing of all joints."""
    arm = robolin.load(name)
    t = dt * np.arange(rows)[:, None]
    w = np.linspace(1.0, 2.0, arm.n)
    return robolin.state_space(arm, np.sin(w * t), w * np.cos(w * t), -(w**2) * np.sin(w * t))


def test_a_constant_model_gives_the_stationary_regulator() -> None:
    """Far from the end, gains along a constant model are those of the sampled lqr."""
    arm = robolin.load("two-link")
    model = robolin.state_space(arm, np.tile([0.3, -0.5], (2000, 1)))
    regulator = robolin.tvlqr(model, 1.0, 0.1, dt=DT)
    still = robolin.lqr(model[0].discretize(DT), 1.0, 0.1)
    assert np.allclose(regulator.K[0], still.K, rtol=1e-9)
    assert np.allclose(regulator.P[0], still.P, rtol=1e-9)


def test_the_cost_equals_its_prediction() -> None:
    """Σ xᵀQx + uᵀRu over the linear motion, and the terminal cost, come to xᵀ P(0) x."""
    regulator = robolin.tvlqr(along(150), 2.0, 0.1, terminal=50.0, dt=DT)
    x = np.array([0.1, -0.2, 0.3, 0.0])
    total, start = 0.0, x @ regulator.P[0] @ x
    for A, B, K in zip(regulator.model.A, regulator.model.B, regulator.K, strict=True):
        u = -K @ x
        total += x @ regulator.Q @ x + u @ regulator.R @ u
        x = A @ x + B @ u
    assert np.isclose(total + 50.0 * x @ x, start, rtol=1e-12)


def test_blocks_are_bit_identical() -> None:
    """Gains and costs do not depend on how a trajectory is split."""
    model = along(200, "panda")
    full = robolin.tvlqr(model, 1.0, 0.01, dt=DT, terminal=10.0)
    cuts = [model[:70], model[70:71], model[71:]]
    parts = list(robolin.tvlqr_blocks(cuts, 1.0, 0.01, dt=DT, terminal=10.0))
    assert [len(part.K) for part in parts] == [70, 1, 129]
    assert np.array_equal(np.concatenate([part.K for part in parts]), full.K)
    assert np.array_equal(np.concatenate([part.P for part in parts]), full.P)


def test_the_nonlinear_arm_comes_back_to_the_motion() -> None:
    """Started next to a fast trajectory, the arm under the gains ends on it."""
    model = along(300)
    law = robolin.tvlqr(model, {"q": 100.0}, 0.01, dt=DT).feedback()
    start = model.q[0] + [0.05, -0.05]
    motion = robolin.simulate(model.arm, start, model.qd[0], duration=2.9, dt=DT, control=law)
    gap = np.abs(motion.q - model.q[: len(motion.q)]).max(axis=1)
    assert gap[0] > 0.04
    # the remaining error is the linear interpolation between rows: dt² q̈ / 8
    assert gap[-1] < 1e-3


def test_the_nonlinear_arm_costs_what_is_predicted() -> None:
    """Near a trajectory, the sum over samples converges to xᵀ P x of the first row.

    Torques follow at all times, while the recursion holds them: the difference is of order dt.  A
    start on the other side cancels the odd part of the difference.
    """
    gaps = []
    for dt in (2.0 * DT, DT):
        model = along(int(1.0 / dt) + 1, dt=dt)
        regulator = robolin.tvlqr(model, 1.0, 1.0, dt=dt)
        start = model.q[0] + 1e-2 * np.array([[1.0, -1.0], [-1.0, 1.0]])
        motion = robolin.simulate(
            model.arm, start, model.qd[0], duration=1, dt=dt, control=regulator.feedback()
        )
        cost = regulator.motion_cost(motion)
        assert (cost.left < 0.15 * cost.spent).all()
        gaps.append(((cost.spent + cost.left) / cost.predicted).mean() - 1.0)
    assert abs(gaps[1]) < 0.03
    assert gaps[0] / gaps[1] == pytest.approx(2.0, rel=0.15)


def test_costs_count_from_the_first_row_to_the_last() -> None:
    """Before the motion begins and after it has ended, nothing is counted."""
    model = along(11)
    regulator = robolin.tvlqr(model, 1.0, 1.0, dt=DT)
    law, q = regulator.feedback(0.05), model.q[0] + [0.01, 0.0]
    motion = robolin.simulate(model.arm, q, model.qd[0], duration=0.2, dt=DT, control=law)
    cost = regulator.motion_cost(motion, 0.05)
    ends = [
        np.concatenate([motion.q[at] - model.q[row], motion.qd[at] - model.qd[row]])
        for at, row in ((5, 0), (15, 10))
    ]
    assert cost.predicted == pytest.approx(ends[0] @ regulator.P[0] @ ends[0], rel=1e-9)
    assert cost.left == pytest.approx(ends[1] @ regulator.P[10] @ ends[1], rel=1e-9)


def test_wrong_trajectories_are_rejected() -> None:
    """A single model, a missing or different time step, and no rows are rejected."""
    model = along(3)
    for wrong, message in (
        (
            lambda: robolin.tvlqr(model[0], dt=DT),
            r"a trajectory requires a batch of models with one axis, got \(\)",
        ),
        (lambda: robolin.tvlqr(model), "dt: the time between the rows is required"),
        (
            lambda: robolin.tvlqr(model.discretize(DT), dt=0.5),
            r"dt: must be the time between the models, 0\.01 s, got 0\.5",
        ),
        (lambda: list(robolin.tvlqr_blocks([], dt=DT)), "the trajectory has no rows"),
        (
            lambda: robolin.tvlqr(model, dt=DT, terminal=-1.0),
            "terminal: must be positive semidefinite; its smallest eigenvalue is -1",
        ),
    ):
        with pytest.raises(robolin.UsageError, match=message):
            wrong()


def finite_horizon_minimum(
    A: np.ndarray, B: np.ndarray, Q: np.ndarray, R: np.ndarray, N: np.ndarray, end: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The first gain (m, N) and the cost (N, N), from one linear system for all inputs."""
    rows, states, inputs = B.shape
    # x(k) = free[k] x(0) + forced[k] u, with all inputs in one vector u
    free, forced = [np.eye(states)], [np.zeros((states, rows * inputs))]
    for k in range(rows):
        chosen = np.zeros((inputs, rows * inputs))
        chosen[:, k * inputs : (k + 1) * inputs] = np.eye(inputs)
        free.append(A[k] @ free[-1])
        forced.append(A[k] @ forced[-1] + B[k] @ chosen)
    # the cost is uᵀ H u + 2 uᵀ G x(0) + x(0)ᵀ F x(0)
    H = forced[-1].T @ end @ forced[-1] + np.kron(np.eye(rows), R)
    G, F = forced[-1].T @ end @ free[-1], free[-1].T @ end @ free[-1]
    for k in range(rows):
        chosen = np.zeros((inputs, rows * inputs))
        chosen[:, k * inputs : (k + 1) * inputs] = np.eye(inputs)
        mixed = chosen.T @ N.T @ forced[k]
        H += forced[k].T @ Q @ forced[k] + mixed + mixed.T
        G += forced[k].T @ Q @ free[k] + chosen.T @ N.T @ free[k]
        F += free[k].T @ Q @ free[k]
    u = np.linalg.solve(H, G)
    return u[:inputs], F - G.T @ u


CROSS = np.array([[0.3, -0.1], [0.2, 0.4], [-0.2, 0.1], [0.05, 0.3]])


@pytest.mark.parametrize("cross", [0.0 * CROSS, CROSS], ids=["no cross term", "cross term"])
def test_gains_minimize_the_sum_over_all_inputs(cross: np.ndarray) -> None:
    """K and P at the first row solve the quadratic program in all inputs together."""
    model, Q, R = along(8, dt=0.1), np.diag([3.0, 2.0, 1.0, 0.5]), np.diag([1.0, 2.0])
    regulator = robolin.tvlqr(model, Q, R, cross, terminal=5.0, dt=0.1)
    K, P = finite_horizon_minimum(
        regulator.model.A, regulator.model.B, Q, R, cross, 5.0 * np.eye(4)
    )
    # both solve systems of 16 unknowns with condition numbers below 1e3
    assert np.allclose(regulator.K[0], K, rtol=0, atol=1e-11 * np.abs(K).max())
    assert np.allclose(regulator.P[0], P, rtol=0, atol=1e-11 * np.abs(P).max())
    blocks = [model[:5], model[5:]]
    parts = list(robolin.tvlqr_blocks(blocks, Q, R, cross, terminal=5.0, dt=0.1))
    assert np.array_equal(np.concatenate([part.K for part in parts]), regulator.K)


def test_motion_cost_includes_the_cross_term() -> None:
    """The cost of a simulated motion with N is the cost without N plus Σ 2 xᵀNu."""
    model = along(21)
    regulator = robolin.tvlqr(model, 1.0, 1.0, CROSS, dt=DT)
    law, start = regulator.feedback(), model.q[0] + [0.02, -0.01]
    motion = robolin.simulate(model.arm, start, model.qd[0], duration=0.2, dt=DT, control=law)
    x = np.concatenate([motion.q - model.q, motion.qd - model.qd], axis=-1)[:-1]
    u = (motion.tau - model.tau)[:-1]
    cost = (x**2).sum() + (u**2).sum() + 2.0 * np.einsum("ki,ij,kj", x, CROSS, u)
    assert regulator.motion_cost(motion).spent == pytest.approx(cost, rel=1e-9)
