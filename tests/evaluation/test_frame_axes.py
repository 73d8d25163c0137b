"""Results in the axes of a frame are those in the world's axes, turned."""

from __future__ import annotations

import numpy as np
import pytest

import robolin


@pytest.mark.parametrize("reference", ["world", "frame"])
@pytest.mark.parametrize("rows", [1, 5])
def test_operational_inertia_is_symmetric_to_the_bit(reference: str, rows: int) -> None:
    """In the frame's own axes as in the world's, a matrix and its transpose are the same bits."""
    arm = robolin.load("ur5", tip="tool0")
    q = np.random.default_rng(2).uniform(-1.5, 1.5, (rows, arm.n))
    computed = robolin.operational_space(arm, q, reference=reference)
    turn = np.kron(np.eye(2), robolin.jacobian(arm, q).rotation)
    world = robolin.operational_space(arm, q)
    for name in ("operational_inertia", "operational_inertia_inverse"):
        values, usual = getattr(computed, name), getattr(world, name)
        assert np.array_equal(values, np.swapaxes(values, -1, -2))
        expected = np.swapaxes(turn, -1, -2) @ usual @ turn if reference == "frame" else usual
        # a rotation does not depend on the condition of the inertia
        assert np.allclose(values, expected, rtol=0, atol=1e-13 * np.abs(usual).max())
