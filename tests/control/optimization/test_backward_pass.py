"""The backward pass: compiled code has the bits of the NumPy reference, which solves LQR."""

from __future__ import annotations

import numpy as np
import pytest

from robolin.control.optimization.backward_pass import (
    NotPositive,
    StageCost,
    backward_pass,
    stage_cost,
    stage_terms,
    step_of,
)
from robolin.control.optimization.compiled_pass import CompiledPass, aligned_zeros, stacked_cost
from robolin.core.arrays import Floats

DT = 0.01


class Case:
    """A random motion with active limits."""

    def __init__(self, n: int, N: int, seed: int = 0) -> None:
        rng = np.random.default_rng(seed)
        self.n, self.N = n, N
        half = rng.normal(size=(N, n, n))
        self.M, self.Jq, self.Jv = (
            aligned_zeros(N, n, n),
            aligned_zeros(N, n, n),
            aligned_zeros(N, n, n),
        )
        self.M[...] = half @ np.swapaxes(half, 1, 2) / n + np.eye(n)
        self.Jq[...], self.Jv[...] = rng.normal(size=(2, N, n, n))
        self.x, self.tau = aligned_zeros(N + 1, 2 * n), aligned_zeros(N + 1, n)
        self.x[...] = rng.normal(size=self.x.shape)
        self.tau[:N] = rng.normal(size=(N, n))
        shape = (N + 1, 3, n)
        weight, penalty = rng.uniform(0.1, 1.0, shape), np.full(shape, 10.0)
        weight[N, 2] = penalty[N, 2] = 0.0
        ones = np.ones(shape)
        reference, multiplier = rng.normal(size=shape), 0.1 * rng.normal(size=shape)
        lower, upper = -ones, ones.copy()
        # the last state is fixed, and is exactly there
        lower[N, :2] = upper[N, :2] = self.x[N].reshape(2, n)
        multiplier[N, :2] = 0.0
        self.cost = StageCost(weight, reference, lower, upper, multiplier, penalty)
        square = rng.normal(size=(2 * n, 2 * n))
        half = np.triu(square @ square.T)
        self.terminal = half + np.triu(half, 1).T, rng.normal(size=2 * n)

    @property
    def y(self) -> Floats:
        states = self.x.reshape(self.N + 1, 2, self.n)
        return np.concatenate([states, self.tau[:, None]], axis=1)


# numbers of joints for which no other test compiles code, so that it is compiled once
OPTIMIZED = (1, 13)


@pytest.mark.parametrize("n", [1, 2, 7, pytest.param(13, marks=pytest.mark.slow)])
def test_compiled_code_has_the_bits_of_the_reference(
    n: int, request: pytest.FixtureRequest
) -> None:
    """Gains, cost-to-go, step and cost are equal to the last bit, for any number of joints."""
    if n in OPTIMIZED:
        request.getfixturevalue("optimized_modules")
    case = Case(n, 6)
    jacobians = case.M, case.Jq, case.Jv
    expected = backward_pass(DT, case.y, jacobians, case.cost, case.terminal, 1e-3)
    compiled, block = CompiledPass(n, case.N, DT), stacked_cost(case.cost)
    compiled.set_terminal(*case.terminal)
    computed = compiled.gains(compiled.backward(case.x, case.tau, jacobians, block, 1e-3))
    for name, values in expected._asdict().items():
        np.testing.assert_array_equal(getattr(computed, name), values, err_msg=name)
    step = step_of(DT, expected)
    dx, da = compiled.step()
    np.testing.assert_array_equal(dx, step[:, :2].reshape(case.N + 1, 2 * n))
    np.testing.assert_array_equal(da, step[:-1, 2])
    assert compiled.cost(case.x, case.tau, block) == stage_cost(case.cost, case.y)


def test_an_equation_that_holds_exactly_keeps_its_stiffness() -> None:
    """A goal that is reached acts on every change; a limit that is touched does not."""
    y, zero, one = np.full((1, 3, 2), 0.5), np.zeros((1, 3, 2)), np.ones((1, 3, 2))
    fixed, touched = (StageCost(one, y, low, y, zero, 10.0 * one) for low in (y, -one))
    for cost, hessian in ((fixed, 11.0), (touched, 1.0)):
        gradient, diagonal = stage_terms(cost, y)
        np.testing.assert_array_equal(gradient, zero)
        np.testing.assert_array_equal(diagonal, hessian * one)


def test_one_pass_solves_a_linear_problem() -> None:
    """For a double integrator the gains are those of the dense least-squares problem."""
    n, N = 1, 4
    ones = np.ones((N, n, n))
    shape = (N + 1, 3, n)
    weight = np.ones(shape)
    weight[N, 2] = 0.0
    zero, none = np.zeros(shape), np.full(shape, np.inf)
    cost = StageCost(weight, zero, -none, none, zero, zero)
    x = np.zeros((N + 1, 2))
    x[:, 0] = 1.0
    y = np.concatenate([x.reshape(N + 1, 2, n), np.zeros((N + 1, 1, n))], axis=1)
    ends = np.zeros((2, 2)), np.zeros(2)
    gains = backward_pass(0.5, y, (ones, 0.0 * ones, 0.0 * ones), cost, ends)
    step = step_of(0.5, gains)
    # q and v of all knots as linear functions of a
    velocity = 0.5 * np.tril(np.ones((N + 1, N)), -1)
    position = np.zeros((N + 1, N))
    for k in range(N):
        position[k + 1] = position[k] + 0.5 * velocity[k + 1]
    stacked_rows = np.concatenate([position, velocity, np.eye(N)])
    target = np.concatenate([np.ones(N + 1), np.zeros(2 * N + 1)])
    best = -np.linalg.lstsq(stacked_rows, target, rcond=None)[0]
    np.testing.assert_allclose(step[:-1, 2, 0], best, atol=1e-12)


def test_a_model_without_minimum_is_reported() -> None:
    """Zero weights have no minimum; compiled code and reference report it."""
    case = Case(2, 3)
    zero = np.zeros_like(case.cost.weight)
    cost = case.cost._replace(weight=zero, penalty=zero)
    ends = np.zeros((4, 4)), np.zeros(4)
    jacobians = case.M, case.Jq, case.Jv
    with pytest.raises(NotPositive):
        backward_pass(DT, case.y, jacobians, cost, ends)
    compiled = CompiledPass(2, 3, DT)
    compiled.set_terminal(*ends)
    with pytest.raises(NotPositive):
        compiled.backward(case.x, case.tau, jacobians, stacked_cost(cost), 0.0)
