"""Inertia as a box: the even box with the mass and the principal moments of a link."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from robolin.core.arm_parts import Inertia
from robolin.core.arrays import Floats


@dataclass(frozen=True, eq=False)
class EquivalentBox:
    """Half lengths (3,) in m along axes (3, 3), which are columns in the link's own axes."""

    half: Floats
    axes: Floats


def equivalent_box(body: Inertia) -> EquivalentBox | None:
    """The box of a body; None where it has no mass, or moments that no body has.

    A box with half lengths a, b, c has the moment m (b² + c²)/3 about its first axis, so that
    a² = 3 (I₂ + I₃ - I₁)/(2 m).
    """
    if not body.mass > 0.0:
        return None
    xx, xy, xz, yy, yz, zz = body.rotary
    tensor = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    if not np.isfinite(tensor).all():
        return None
    moments, axes = np.linalg.eigh(tensor)
    squares = 1.5 * (moments.sum() - 2.0 * moments) / body.mass
    # a rod has one half length of 0, up to rounding
    if (squares < -1e-9 * abs(squares).max()).any():
        return None
    return EquivalentBox(np.sqrt(np.maximum(squares, 0.0)), axes)
