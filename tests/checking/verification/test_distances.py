"""Sizes used for rounding bounds are not below the quantities they bound."""

from __future__ import annotations

import numpy as np
import pytest

import robolin
from robolin.checking.verification.check_context import lever_scaled_mass, reaches, slides_of
from tests.robots import random_arm, with_follower


@pytest.mark.parametrize("ratio", [None, 0.5, -1.7, 1000.0])
@pytest.mark.parametrize("seed", [1, 2])
def test_no_entry_of_the_mass_matrix_exceeds_masses_times_reach_squared(
    seed: int, ratio: float | None
) -> None:
    """Σ mass reach² bounds the mass matrix, followers counted with the square of their ratio."""
    arm = random_arm(seed, 4, prismatic=False)
    arm = arm if ratio is None else with_follower(arm, ratio)
    q = np.random.default_rng(seed).uniform(-3.0, 3.0, (20, arm.n))
    bound = lever_scaled_mass(arm, reaches(arm, q, slides_of(arm, q)), 2)
    # a follower that turns with its leader moves by 1 + |ratio| at the most
    both = 1.0 if ratio is None else (1.0 + 1.0 / max(1.0, abs(ratio))) ** 2
    largest = np.abs(robolin.mass_matrix(arm, q, engine="python")).max(axis=(1, 2))
    assert (largest <= both * bound).all()
    if ratio is None:
        assert (largest >= 1e-2 * bound).all(), "the bound is of the right size"
