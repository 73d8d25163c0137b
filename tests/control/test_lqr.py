"""Regulators: published gains, other programs, and the equation itself."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import robolin
from robolin.control.state_space import model_at
from robolin.core.arm import Arm
from tests.control.octave import octave
from tests.robots import random_arm

UPRIGHT = [np.pi, 0.0]


def acrobot() -> robolin.StateSpace:
    return robolin.state_space(robolin.load("acrobot"), UPRIGHT, passive="shoulder")


def cart_pole() -> robolin.StateSpace:
    return robolin.state_space(robolin.load("cart-pole"), 0.0, actuated="slide")


def two_link() -> robolin.StateSpace:
    return robolin.state_space(robolin.load("two-link"), [0.4, -0.9])


def test_the_acrobot_has_its_published_gain() -> None:
    """Upright, Q = diag(10, 10, 1, 1) and R = 1: the gain of the literature to all its digits."""
    K = robolin.lqr(acrobot(), [10.0, 10.0, 1.0, 1.0]).K
    assert np.array_equal(np.round(K, 4), [[-278.4422, -112.2913, -119.7246, -56.8282]])


def test_the_cart_pole_has_its_published_gains() -> None:
    """The gains of the Control Tutorials, positions first here: x, φ, ẋ, φ̇."""
    first = robolin.lqr(cart_pole(), [1.0, 1.0, 0.0, 0.0]).K
    second = robolin.lqr(cart_pole(), [5000.0, 100.0, 0.0, 0.0]).K
    assert np.array_equal(np.round(first, 4), [[-1.0000, 18.6854, -1.6567, 3.4594]])
    assert np.array_equal(np.round(second, 4), [[-70.7107, 105.5298, -37.8345, 20.9238]])


@pytest.mark.parametrize("model", [acrobot(), cart_pole(), two_link()], ids=lambda m: m.arm.name)
def test_python_control_finds_the_same(model: robolin.StateSpace) -> None:
    """K and P agree with control.lqr, with dlqr where sampled, and the Kalman gain with lqe."""
    control = pytest.importorskip("control")
    Q, R = np.diag([3.0, 2.0, 1.0, 0.5]), 0.7 * np.eye(len(model.inputs))
    cross = 0.01 * np.ones((4, len(model.inputs)))
    for each, solver in ((model, control.lqr), (model.discretize(0.01), control.dlqr)):
        ours = robolin.lqr(each, Q, R, cross)
        K, P, poles = solver(each.A, each.B, Q, R, cross)
        assert np.abs(ours.K - K).max() <= 1e-8 * np.abs(K).max()
        assert np.abs(ours.P - P).max() <= 1e-8 * np.abs(P).max()
        assert np.allclose(np.sort_complex(ours.poles.values), np.sort_complex(poles), rtol=1e-6)

    L, covariance, _ = control.lqe(model.A, np.eye(4), model.C, Q, np.eye(4))
    observer = robolin.kalman(model, Q)
    assert np.abs(observer.L - L).max() <= 1e-8 * np.abs(L).max()
    assert np.abs(observer.covariance - covariance).max() <= 1e-8 * np.abs(covariance).max()
    assert observer.poles.stable


def regulated(seed: int) -> tuple[Arm, np.random.Generator, np.ndarray, Any, Any]:
    """A random arm of 1 to 7 joints, a state of it, its model there and a regulator."""
    arm = random_arm(100 + seed, 1 + seed % 7, seed % 2 == 1 and seed % 7 > 0, armature=True)
    rng = np.random.default_rng(seed)
    q = rng.uniform(-1.5, 1.5, arm.n)
    model = robolin.state_space(arm, q)
    return arm, rng, q, model, robolin.lqr(model, 10.0, 0.1)


@pytest.mark.parametrize("seed", range(30))
def test_random_arms_are_regulated(seed: int) -> None:
    """The Riccati equation is met to 1e-10, and the loop is stable."""
    _, _, _, model, regulator = regulated(seed)

    P, K = regulator.P, regulator.K
    left = model.A.T @ P + P @ model.A - K.T @ regulator.R @ K + regulator.Q
    assert np.abs(left).max() <= 1e-10 * np.abs(regulator.Q).max()
    assert np.linalg.eigvalsh(P).min() > 0.0
    assert regulator.poles.stable


@pytest.mark.parametrize(
    "seed", [1, *(pytest.param(s, marks=pytest.mark.slow) for s in (0, *range(2, 30)))]
)
def test_the_nonlinear_arm_costs_what_is_predicted(seed: int) -> None:
    """Regulated near its rest, an arm of any number of joints costs xᵀ P x within 1 %."""
    arm, rng, q, _, regulator = regulated(seed)
    start = rng.normal(size=arm.n)
    start *= 1e-3 / np.linalg.norm(start)
    # steps that follow the fastest pole
    dt = 0.4 / regulator.poles.frequency.max()
    motion = robolin.simulate(
        arm, q + start, duration=40 * dt, dt=dt, control=regulator.feedback(), engine="compiled"
    )
    cost = regulator.motion_cost(motion)
    assert cost.spent > 0.05 * cost.predicted
    assert abs(cost.spent + cost.left - cost.predicted) <= 0.01 * cost.predicted
    assert motion.lyapunov is not None
    assert np.isclose(motion.lyapunov[0], cost.predicted, rtol=1e-9)


def test_weights_are_given_by_name() -> None:
    """Names of joints take precedence over names of groups; unnamed weights are 1."""
    model = two_link()
    named = robolin.lqr(model, {"q": 100, "elbow/q": 500, "shoulder/velocity": 3}, {"elbow": 0.1})
    assert np.array_equal(np.diag(named.Q), [100.0, 500.0, 3.0, 1.0])
    assert np.array_equal(np.diag(named.R), [1.0, 0.1])


def test_bryson_takes_the_limits_of_the_file() -> None:
    """Weights are 1/(largest)²: half the travel, the velocity and the effort allowed."""
    arm = robolin.load("panda")
    regulator = robolin.lqr(robolin.state_space(arm, np.linspace(-0.5, 0.5, 7)), bryson=True)
    limits = arm.joints[3].limits
    assert np.isclose(regulator.Q[3, 3], 4.0 / (limits.upper - limits.lower) ** 2, rtol=1e-15)
    assert regulator.Q[10, 10] == 1.0 / limits.velocity**2
    assert regulator.R[3, 3] == 1.0 / limits.effort**2
    with pytest.raises(robolin.RobolinError, match="the position limit of joint 'shoulder'"):
        robolin.lqr(two_link(), bryson=True)


@pytest.mark.parametrize("dt", [None, 0.01])
def test_integrals_leave_no_error(dt: float | None) -> None:
    """Under a steady push, the joint whose integral is fed back ends where it should."""
    model = two_link()
    model = model if dt is None else model.discretize(dt)
    regulator = robolin.lqr(model, integral="elbow/position")
    assert regulator.model.states[-1] == "elbow/position/integral"
    closed = regulator.closed_loop
    one = np.zeros((5, 5)) if dt is None else np.eye(5)
    push = np.concatenate([model.B @ [1.0, 1.0], [0.0]])
    rest = np.linalg.solve(one - closed.A, push)
    assert abs(rest[1]) < 1e-12 < abs(rest[0])


def test_schedules_are_the_gains_of_each_row() -> None:
    """A batch has the gains that each of its models has by itself, to the bit."""
    arm = robolin.load("two-link")
    q = np.random.default_rng(0).uniform(-1.0, 1.0, (3, 2))
    together = robolin.lqr(robolin.state_space(arm, q))
    alone = robolin.lqr(robolin.state_space(arm, q[1]))
    assert together.K.shape == (3, 2, 4)
    assert np.array_equal(together.K[1], alone.K)


@pytest.mark.parametrize("dt", [None, 0.01])
def test_scipy_finds_the_same_for_every_row(dt: float | None) -> None:
    """P of a batch agrees with SciPy to 1e-12, and the residual is at round-off."""
    linalg = pytest.importorskip("scipy.linalg")
    solve = linalg.solve_continuous_are if dt is None else linalg.solve_discrete_are
    q = np.random.default_rng(1).uniform(-1.0, 1.0, (20, 7))
    model = robolin.state_space(robolin.load("panda"), q)
    model = model if dt is None else model.discretize(dt)
    regulator = robolin.lqr(model, 10.0, 0.1)
    assert regulator.residual.max() < 1e-14
    for A, B, P in zip(model.A, model.B, regulator.P, strict=True):
        expected = solve(A, B, 10.0 * np.eye(14), 0.1 * np.eye(7))
        assert np.abs(P - expected).max() <= 1e-12 * np.abs(expected).max()


def test_a_row_without_a_regulator_does_not_change_the_others() -> None:
    """A singular pencil is solved by SciPy, and the bits of the other rows stay."""
    from robolin.control import riccati_doubling

    rng = np.random.default_rng(2)
    A, B = rng.normal(size=(3, 4, 4)), rng.normal(size=(3, 4, 2))
    weights = [riccati_doubling.Weights(np.eye(4), np.eye(2), np.zeros((4, 2)))] * 3
    before = riccati_doubling.solve_riccati(A, B, weights, False)
    # without inputs and with the weight 0, the Hamiltonian of A = 0 is singular
    A[1], B[1] = 0.0, 0.0
    weights[1] = riccati_doubling.Weights(np.zeros((4, 4)), np.eye(2), np.zeros((4, 2)))
    after = riccati_doubling.solve_riccati(A, B, weights, False)
    for row in (0, 2):
        assert np.array_equal(before.P[row], after.P[row])
        assert np.array_equal(before.K[row], after.K[row])
    assert not after.K[1].any()


@pytest.mark.parametrize("dt", [None, 0.01])
@pytest.mark.parametrize("weights", [0.0, {"q": 0.0, "qd": 0.0, "elbow/q": 1.0}], ids=["0", "one"])
def test_unstable_modes_without_a_weight_are_stabilized(dt: float | None, weights: Any) -> None:
    """Upright and without a weight, P = 0 solves the equation, but the gain is SciPy's."""
    linalg = pytest.importorskip("scipy.linalg")
    solve = linalg.solve_continuous_are if dt is None else linalg.solve_discrete_are
    model = robolin.state_space(robolin.load("two-link"), [[np.pi / 2, 0.0], [-np.pi / 2, 0.1]])
    model = model if dt is None else model.discretize(dt)
    # the second row hangs: its marginal modes need a weight
    upright = model_at(model, 0)
    regulator = robolin.lqr(upright, weights)
    expected = solve(upright.A, upright.B, regulator.Q, regulator.R)
    assert np.abs(regulator.P - expected).max() <= 1e-9 * np.abs(expected).max()
    assert regulator.poles.stable
    assert np.array_equal(robolin.lqr(model).K[1], robolin.lqr(model_at(model, 1)).K)
    assert robolin.kalman(upright, 0.0).poles.stable


@pytest.mark.parametrize("dt", [None, 0.01])
def test_an_unweighted_unstable_part_is_stabilized(dt: float | None) -> None:
    """The pendulum without a weight, of two separate ones, has mirrored poles."""
    from robolin.control.riccati_doubling import Weights, solve_riccati

    pendulum = np.array([[0.0, 1.0], [9.0, 0.0]])
    zero, one = np.zeros((2, 2)), np.array([[0.0], [1.0]])
    A = np.block([[pendulum, zero], [zero, pendulum]])
    B = np.block([[one, 0.0 * one], [0.0 * one, one]])
    if dt is not None:
        linalg = pytest.importorskip("scipy.linalg")
        both = linalg.expm(dt * np.block([[A, B], [np.zeros((2, 6))]]))
        A, B = both[:4, :4], both[:4, 4:]
    weights = Weights(np.diag([1.0, 0.0, 0.0, 0.0]), np.eye(2), np.zeros((4, 2)))
    K = solve_riccati(A[None], B[None], [weights], dt is not None).K[0]
    poles = np.linalg.eigvals(A[2:, 2:] - B[2:, 1:] @ K[1:, 2:])
    # without a weight the cheapest gain mirrors the pole at 3 1/s onto the one at -3 1/s
    mirrored = -3.0 if dt is None else np.exp(-3.0 * dt)
    assert np.allclose(poles, mirrored, rtol=0.0, atol=1e-6)


def sampled_gain_of_many_digits(model: robolin.StateSpace, K: np.ndarray) -> np.ndarray:
    """The gain of a sampled model with one input, Q = R = 1: Newton's steps in 50 digits."""
    mpmath = pytest.importorskip("mpmath")
    with mpmath.workdps(50):
        A, B, gain = (mpmath.matrix(array.tolist()) for array in (model.A, model.B, K))
        n = A.rows
        for _ in range(4):
            closed, cost = A - B * gain, mpmath.eye(n) + gain.T * gain
            # P = closed* P closed + cost, entry by entry
            equations = mpmath.matrix(n * n, n * n)
            for i, j, k, l in np.ndindex(n, n, n, n):
                equations[n * i + j, n * k + l] = (i == k) * (j == l) - closed[k, i] * closed[l, j]
            solved = mpmath.lu_solve(equations, mpmath.matrix(list(cost)))
            P = mpmath.matrix(n, n)
            for i, j in np.ndindex(n, n):
                P[i, j] = solved[n * i + j]
            gain = (B.T * P * A) / (1 + (B.T * P * B)[0, 0])
        return np.array([float(entry) for entry in gain])


def test_a_sampled_gain_keeps_its_digits() -> None:
    """P of the sampled Acrobot has a condition of 3e5, yet twelve digits of K are right."""
    sampled = acrobot().discretize(0.01)
    K = robolin.lqr(sampled).K
    assert np.allclose(K[0], sampled_gain_of_many_digits(sampled, K), rtol=3e-12)


def test_octave_finds_the_same(tmp_path: Path) -> None:
    """K of the Acrobot, and of its sampled model, are those of Octave's lqr and dlqr.

    The pencil of dlqr loses the condition of P: 50 digits show a rounding error of 1.2e-9.
    """
    model = acrobot()
    sampled = model.discretize(0.01)
    script = "r.K = lqr(s.A, s.B, eye(4), 1); r.Kd = dlqr(s.Ad, s.Bd, eye(4), 1)"
    by_octave = octave(script, tmp_path, A=model.A, B=model.B, Ad=sampled.A, Bd=sampled.B)
    assert np.allclose(robolin.lqr(model).K[0], by_octave["K"], rtol=1e-9)
    assert np.allclose(robolin.lqr(sampled).K[0], by_octave["Kd"], rtol=1e-8)


def test_poles_are_placed_as_requested() -> None:
    """The closed loop has the requested poles; an uncontrollable model is reported."""
    requested = [-1.0, -2.0, -3.0 + 1.0j, -3.0 - 1.0j]
    placed = robolin.place_poles(acrobot(), requested)
    assert np.allclose(np.sort_complex(placed.poles.values), np.sort_complex(requested), atol=1e-8)
    stuck = replace(acrobot(), B=np.zeros((4, 1)))
    with pytest.raises(robolin.RobolinError, match="the poles cannot be placed"):
        robolin.place_poles(stuck, requested)
    with pytest.raises(robolin.UsageError, match="poles: must be 4 finite numbers, got shape"):
        robolin.place_poles(acrobot(), [-1.0])


WRONG = [
    ({"Q": {"elbo/q": 1.0}}, "Q: state 'elbo/q' not found"),
    ({"Q": {"q": "much"}}, "the weight of 'q' must be finite, got 'much'"),
    ({"Q": -1.0}, "Q: must be positive semidefinite; its smallest eigenvalue is -1"),
    ({"Q": [1.0, 2.0]}, "got (2,)"),
    ({"Q": np.triu(np.ones((4, 4)))}, "Q: must be symmetric"),
    ({"Q": np.nan}, "Q: must be finite"),
    ({"Q": "much"}, "Q: must be an array of numbers:"),
    ({"N": "much"}, "N: must be an array of numbers:"),
    ({"R": 0.0}, "R: must be positive definite; its smallest eigenvalue is"),
    ({"R": {"shoulder": 1.0}}, "R: actuated joint 'shoulder' not found"),
    ({"R": [[0.0]]}, "R: must be positive definite; its smallest eigenvalue is 0"),
    ({"N": [1.0]}, "N: must be finite and of shape (4, 1), got (1,)"),
    (
        {"N": 100.0 * np.ones((4, 1))},
        "[[Q, N], [Nᵀ, R]]: must be positive semidefinite; its smallest eigenvalue is -199",
    ),
    ({"integral": "tip/x"}, "integral: output 'tip/x' not found"),
    ({"Q": 1.0, "bryson": True}, "Q: Q and bryson cannot be combined"),
]


@pytest.mark.parametrize("wrong, message", WRONG, ids=[row[1] for row in WRONG])
def test_wrong_weights_are_rejected(wrong: dict[str, object], message: str) -> None:
    """Weights of the wrong name, sign or shape are rejected."""
    with pytest.raises(robolin.UsageError) as caught:
        robolin.lqr(acrobot(), **wrong)
    assert message in str(caught.value)


def test_lqr_requires_models() -> None:
    """An arm is not a model, and a batch without models has no gains."""
    with pytest.raises(robolin.UsageError, match="model: must be a StateSpace, got Arm"):
        robolin.lqr(robolin.load("two-link"))
    with pytest.raises(
        robolin.UsageError, match=r"the batch of models is empty: its shape is \(0,\)"
    ):
        robolin.lqr(robolin.state_space(robolin.load("two-link"), np.zeros((0, 2))))
    assert robolin.state_space(robolin.load("two-link"), np.zeros((0, 2))).poles().values.size == 0


def test_an_uncontrollable_mode_is_named() -> None:
    """If no gains stabilize a model, the mode and its joints are named."""
    free = robolin.load("panda", damping=False)
    model = robolin.state_space(free, np.linspace(0.2, 0.9, 7), passive="panda_joint1")
    with pytest.raises(robolin.RobolinError, match="the model is not stabilizable:") as caught:
        robolin.lqr(model)
    assert "panda_joint1" in caught.value.message


def test_a_mode_that_no_weight_sees_is_named() -> None:
    """A free joint without weight on its position cannot be brought to rest by the cost."""
    arm = robolin.load("cart-pole", damping=False)
    model = robolin.state_space(arm, 0.0)
    with pytest.raises(
        robolin.RobolinError, match="no stabilizing gains exist for these weights:"
    ) as caught:
        robolin.lqr(model, {"slide/q": 0.0})
    assert (
        "these weights: the mode with pole 0 (joint 'slide') is marginally stable and has no weight"
        in caught.value.message
    )


SINGULAR = {
    "zero": np.zeros((2, 2)),
    "one zero on the diagonal": np.diag([1.0, 0.0]),
    "one direction without weight": np.ones((2, 2)),
    "rounding above zero": np.diag([1.0, 1e-17]),
    "small and singular": 1e-9 * np.ones((2, 2)),
}


@pytest.mark.parametrize("R", SINGULAR.values(), ids=SINGULAR)
@pytest.mark.parametrize("sampled", [False, True], ids=["continuous", "sampled"])
def test_torque_weights_without_an_inverse_are_rejected(R: np.ndarray, sampled: bool) -> None:
    """R with an eigenvalue of zero is rejected by name in lqr and in tvlqr, at any scale."""
    model = robolin.state_space(robolin.load("two-link"), np.array([[0.3, -0.5], [0.4, -0.4]]))
    model = model.discretize(0.01) if sampled else model
    with pytest.raises(
        robolin.UsageError, match="R: must be positive definite; its smallest eigenvalue is"
    ):
        robolin.lqr(model[0], 1.0, R)
    with pytest.raises(
        robolin.UsageError, match="R: must be positive definite; its smallest eigenvalue is"
    ):
        robolin.tvlqr(model, 1.0, R, dt=0.01)
    # states may have no weight, and small weights of torques are weights
    assert robolin.lqr(model[0], np.diag([1.0, 1.0, 0.0, 0.0]), 1e-9 * np.eye(2)).poles.stable
