"""The convex fit: agreement with another solver, and bodies that can exist."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from benchmarks.identifying import clarabel_minimum, cost
from robolin.analysis.identify.consistent_fit import (
    ConvexFit,
    is_possible,
    linear_from_pseudo,
    prior_of,
    prior_weight,
    pseudo_inertia,
    solve_consistent,
)
from robolin.core.arm_parameters import linear_values
from tests.robots import random_body


def random_fit(seed: int, bodies: int = 3) -> ConvexFit:
    """Data that pull some bodies out of the possible ones, and some frictions below zero."""
    rng = np.random.default_rng(seed)
    own = [np.array(linear_values(random_body(rng))) for _ in range(bodies)]
    start = np.concatenate([*own, np.full(4, 0.5)])
    size = len(start)
    factor = np.triu(rng.normal(size=(size, size)))
    # ten combinations are not determined
    factor[-10:] = 0.0
    target = factor @ (start * (1.0 + 0.8 * rng.normal(size=size)) - 0.4 * (start == 0.5))
    return ConvexFit(
        factor=30.0 * factor,
        target=30.0 * target,
        start=start,
        bodies=[10 * i for i in range(bodies)],
        trust=np.full(bodies, 100.0),
        positive=np.arange(10 * bodies, size),
        spread=np.concatenate([np.full(10 * bodies, np.inf), np.full(4, 10.0)]),
    )


@pytest.mark.parametrize("seed", range(5))
def test_the_minimum_is_that_of_clarabel(seed: int) -> None:
    """An interior-point solver for cones finds the same values."""
    pytest.importorskip("clarabel")
    pytest.importorskip("scipy.sparse")
    fit = random_fit(seed)
    scale = np.sqrt(np.diag(fit.factor.T @ fit.factor + prior_weight(fit)))
    expected = clarabel_minimum(fit)

    x = solve_consistent(fit)

    assert cost(fit, x) == pytest.approx(cost(fit, expected), rel=1e-6)
    np.testing.assert_allclose(x * scale, expected * scale, atol=1e-6 * np.abs(x * scale).max())


@pytest.mark.parametrize("seed", range(4))
def test_every_body_is_possible_and_no_friction_negative(seed: int) -> None:
    """Plain least squares of the same data has impossible bodies."""
    fit = random_fit(seed)
    x = solve_consistent(fit)
    plain = np.linalg.lstsq(fit.factor, fit.target, rcond=None)[0]

    assert all(is_possible(x[b : b + 10]) for b in fit.bodies)
    assert (x[fit.positive] > 0.0).all()
    assert not all(is_possible(plain[b : b + 10]) for b in fit.bodies)


def test_a_fit_without_data_returns_the_file() -> None:
    """The prior alone has its minimum at the start."""
    fit = random_fit(0)
    empty = ConvexFit(
        0.0 * fit.factor,
        0.0 * fit.target,
        fit.start,
        fit.bodies,
        fit.trust,
        fit.positive,
        fit.spread,
    )
    np.testing.assert_allclose(solve_consistent(empty), fit.start, rtol=1e-3)


def test_pseudo_inertias_are_positive_for_bodies_that_exist() -> None:
    """A body is possible exactly if no axis has more than the sum of the other two moments."""
    rng = np.random.default_rng(0)
    for _ in range(20):
        values = np.array(linear_values(random_body(rng)))
        np.testing.assert_allclose(linear_from_pseudo(pseudo_inertia(values)), values, atol=1e-14)
        assert is_possible(values)
    assert not is_possible(np.array([1.0, 0, 0, 0, 0.1, 0, 0, 0.1, 0, 0.3]))
    rod = np.array([1.0, 0, 0, 0, 0.1, 0, 0, 0.1, 0, 0.0])
    assert is_possible(rod)
    np.linalg.cholesky(pseudo_inertia(prior_of(rod, 1.0, 0.1)))


@pytest.mark.parametrize("seed", range(6))
def test_data_that_contradict_every_body_leave_possible_ones(seed: int) -> None:
    """Weights of a million put the minimum on the boundary as closely as numbers allow."""
    fit = random_fit(seed)
    hard = replace(fit, factor=1e6 * fit.factor, target=1e6 * fit.target)
    x = solve_consistent(hard)
    assert all(is_possible(x[b : b + 10]) for b in fit.bodies)
    assert (x[fit.positive] > 0.0).all()
