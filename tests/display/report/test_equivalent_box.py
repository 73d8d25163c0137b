"""A uniform box comes back from its inertia."""

from __future__ import annotations

import numpy as np
import pytest

from robolin.core.arm import Inertia
from robolin.display.report.arm_section import equivalent_box

HALF = np.array([0.1, 0.3, 0.7])


def box_inertia(half: np.ndarray, mass: float, turn: np.ndarray) -> Inertia:
    """Moments m (b² + c²)/3 of a rotated box with half lengths a, b, c."""
    principal = mass * (np.sum(half**2) - half**2) / 3.0
    full = turn @ np.diag(principal) @ turn.T
    rotary = tuple(full[i, j].item() for i in range(3) for j in range(i, 3))
    return Inertia(mass, (0.0, 0.0, 0.0), rotary)


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("mass", [0.2, 5.0])
def test_a_box_has_its_own_sides(mass: float, turned: bool) -> None:
    """Half lengths and axes are those of the box, for any mass and orientation."""
    turn = np.eye(3)
    if turned:
        turn, _ = np.linalg.qr(np.random.default_rng(1).normal(size=(3, 3)))
    box = equivalent_box(box_inertia(HALF, mass, turn))
    assert box is not None
    order = np.argsort(box.half)
    assert np.allclose(box.half[order], HALF, rtol=1e-12)
    # axes have no sign
    assert np.allclose(np.abs(box.axes[:, order]), np.abs(turn), atol=1e-12)


def test_rods_are_boxes_and_impossible_bodies_are_none() -> None:
    """A thin rod has two sides of zero; what has no mass, or moments of no body, has no box."""
    rod = equivalent_box(box_inertia(np.array([0.0, 0.0, 0.5]), 2.0, np.eye(3)))
    assert rod is not None
    assert sorted(rod.half.tolist()) == pytest.approx([0.0, 0.0, 0.5], abs=1e-9)
    assert equivalent_box(Inertia(0.0)) is None
    assert equivalent_box(Inertia(1.0, (0.0, 0.0, 0.0), (1.0, 0.0, 0.0, 1.0, 0.0, 3.0))) is None
