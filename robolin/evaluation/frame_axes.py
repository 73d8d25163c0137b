"""Results in the axes that users see: a frame's own in space, and one row for each real link."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from robolin.core.arm import Arm
from robolin.core.arrays import AnyArray
from robolin.dynamics.algebra.axes import Shape
from robolin.dynamics.catalogue import ALGORITHMS

SPATIAL_SIZE = 6

FRAME_SHAPES: Mapping[str, Shape] = {
    **ALGORITHMS["frame-derivatives"].gives,
    **ALGORITHMS["operational-space"].gives,
    **ALGORITHMS["jacobian"].gives,
}


def of_real_links(arm: Arm, shape: Shape, values: AnyArray) -> AnyArray:
    """The values without the rows of links that only stand for a freedom of a joint."""
    if not arm.groups or "link" not in shape:
        return values
    rows = [len(arm.links) - k for k in arm.bodies]
    return np.take(values, rows, axis=shape.index("link") - len(shape))


def in_frame_axes(found: Mapping[str, AnyArray]) -> dict[str, AnyArray]:
    """Every spatial axis turned by the transpose of `rotation`; the pose stays the world's."""
    return {
        name: _turned(values, FRAME_SHAPES[name], found["rotation"])
        for name, values in found.items()
    }


def _turned(values: AnyArray, shape: Shape, rotation: AnyArray) -> AnyArray:
    # room for the axes of the values, so that each state is turned by its own rotation
    axes = rotation.reshape(*rotation.shape[:-2], *(1,) * (len(shape) - 1), *rotation.shape[-2:])
    for i, length in enumerate(shape):
        if length == SPATIAL_SIZE:
            vectors = np.moveaxis(values, i - len(shape), -1)
            halves = [_along(axes, vectors[..., :3]), _along(axes, vectors[..., 3:])]
            values = np.moveaxis(np.concatenate(halves, axis=-1), -1, i - len(shape))
    if shape == (SPATIAL_SIZE, SPATIAL_SIZE):
        # rounding must not make a symmetric matrix any less so
        values = np.triu(values) + np.swapaxes(np.triu(values, 1), -1, -2)
    return np.ascontiguousarray(values)


def _along(R: AnyArray, x: AnyArray) -> AnyArray:
    """R* x, added up in a fixed order so that every machine gives the same bits."""
    return R[..., 0, :] * x[..., :1] + R[..., 1, :] * x[..., 1:2] + R[..., 2, :] * x[..., 2:]
