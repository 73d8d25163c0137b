"""Results, operating points and passthrough columns as arrays with names, labels and units."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping

import numpy as np

from robolin.core.arm import Arm
from robolin.core.quantity_table import COLUMN_WORDS
from robolin.core.results.result import Array
from robolin.core.results.sound_arrays import RESERVED_NAMES
from robolin.core.units import unit_of
from robolin.dynamics.algebra.comparison import Axis, Shape
from robolin.dynamics.catalogue import ALGORITHMS
from robolin.errors import UsageError
from robolin.evaluation.frames import drop_virtual_links
from robolin.io.trajectories.trajectory import Chunk
from robolin.queries.values import Values

# angular part first
SPATIAL_LABELS = ("rx", "ry", "rz", "x", "y", "z")
POINT_LABELS = ("x", "y", "z")


def algorithm_arrays(arm: Arm, algorithm: str, computed: Values) -> Iterable[Array]:
    """Return the outputs of an algorithm as named arrays."""
    unnormalized = algorithm == "diagonalize-unnormalized"
    quantities = {"coriolis": "coriolis_unnormalized"} if unnormalized else None
    return named_arrays(arm, ALGORITHMS[algorithm].gives, computed, quantities)


def named_arrays(
    arm: Arm,
    shapes: Mapping[str, Shape],
    computed: Values,
    quantities: Mapping[str, str] | None = None,
) -> Iterable[Array]:
    """Add axis labels and units to values; `quantities` overrides the quantity of a name."""
    kinds = [joint.kind for joint in arm.joints]
    for name, shape in shapes.items():
        labels = tuple(axis_labels(arm, axis) for axis in shape)
        values = drop_virtual_links(arm, shape, computed[name]) if arm.groups else computed[name]
        unit = unit_of((quantities or {}).get(name, name), kinds)
        yield Array(name, values, labels, unit, COLUMN_WORDS.get(name))


def axis_labels(arm: Arm, axis: Axis) -> tuple[str, ...]:
    """Return the labels along one axis of a result."""
    if axis == "joint":
        return arm.joint_names
    if axis == "link":
        return arm.link_names
    if axis == "closure":
        from robolin.evaluation.loops.closure_arrays import row_names

        return row_names(arm)
    known = {len(SPATIAL_LABELS): SPATIAL_LABELS, len(POINT_LABELS): POINT_LABELS}
    return known.get(axis) or tuple(str(i + 1) for i in range(axis))


def operating_point_arrays(
    arm: Arm, point: Values, batch: tuple[int, ...], existing: Collection[str] = ()
) -> Iterator[Array]:
    """Yield the operating point broadcast to all rows, without names in `existing`."""
    kinds = [joint.kind for joint in arm.joints]
    for name, values in point.items():
        if name not in existing:
            rows = np.broadcast_to(values, (*batch, arm.n))
            yield Array(name, rows, (arm.joint_names,), unit_of(name, kinds), COLUMN_WORDS[name])


def with_passthrough(arrays: tuple[Array, ...], chunk: Chunk) -> tuple[Array, ...]:
    """Append the passthrough columns of a chunk, one number per row each."""
    if not chunk.carried:
        return arrays
    taken = {*RESERVED_NAMES, *(array.name for array in arrays)}
    taken |= {name for array in arrays for name in array.column_names()}
    for name in chunk.carried:
        if name in taken:
            hint = "the result has that name already: rename the column"
            raise UsageError("cannot go along", where=f"--carry={name}", hint=hint)
    return (*arrays, *(Array(name, values, (), "") for name, values in chunk.carried.items()))
