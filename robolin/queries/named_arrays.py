"""Results, derived arrays, operating points and passthrough columns as named arrays."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from robolin.core.arm import Arm
from robolin.core.arrays import Floats
from robolin.core.quantity_table import COLUMN_WORDS, QUANTITIES
from robolin.core.results.result import Array
from robolin.core.results.sound_arrays import RESERVED_NAMES
from robolin.core.units import unit_of
from robolin.dynamics.algebra.comparison import Axis, Shape
from robolin.dynamics.catalogue import ALGORITHMS
from robolin.errors import UsageError
from robolin.evaluation.frames import drop_virtual_links
from robolin.io.trajectories.trajectory import Chunk
from robolin.queries.query_context import QueryContext
from robolin.queries.values import Values

# angular part first
SPATIAL_LABELS = ("rx", "ry", "rz", "x", "y", "z")
POINT_LABELS = ("x", "y", "z")


class DerivedArray(NamedTuple):
    """An array that a switch adds to a result, computed from other arrays of the result.

    name:    its entry in the table of quantities, which has its unit and axes
    needs:   names of the other arrays
    compute: function of their values; one state, or rows along the first axis
    """

    name: str
    needs: tuple[str, ...]
    compute: Callable[..., Floats]


# command -> switch -> the array that it adds, for one state and for every row
DERIVED_ARRAYS: dict[str, dict[str, DerivedArray]] = {}


def with_derived(context: QueryContext, arrays: tuple[Array, ...]) -> tuple[Array, ...]:
    """Append the derived arrays that the question selects."""
    switches = DERIVED_ARRAYS.get(context.question.verb, {})
    selected = [each for name, each in switches.items() if context.question.asked(name)]
    by_name = {array.name: array for array in arrays}
    return (
        *arrays,
        *(
            _derived_array(context.arm, each, [by_name[name] for name in each.needs])
            for each in selected
        ),
    )


def _derived_array(arm: Arm, derived: DerivedArray, inputs: list[Array]) -> Array:
    """Compute a derived array; rows without a result are NaN and are not passed to the function."""
    if inputs[0].batch is None:
        values = np.asarray(derived.compute(*(array.values for array in inputs)))
        axes = values.shape
    else:
        rows = inputs[0].batch
        valid = np.all([np.isfinite(x.values.reshape(rows, -1)).all(1) for x in inputs], axis=0)
        computed = np.asarray(derived.compute(*(array.values[valid] for array in inputs)))
        axes = computed.shape[1:]
        values = np.full((rows, *axes), np.nan)
        values[valid] = computed
    kinds = [joint.kind for joint in arm.joints]
    quantity = QUANTITIES[derived.name]
    labels = tuple(
        arm.joint_names if axis == "joint" else tuple(str(i + 1) for i in range(size))
        for axis, size in zip(quantity.axes, axes, strict=True)
    )
    return Array(derived.name, values, labels, unit_of(derived.name, kinds), quantity.column)


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


def nan_rows(like: tuple[Array, ...], rows: int) -> tuple[Array, ...]:
    """Return rows of NaN with the shapes of given arrays; integers become floats."""
    return tuple(
        replace(array, values=np.full((rows, *array.values.shape[1:]), _nan_for(array)))
        for array in like
    )


def _nan_for(array: Array) -> complex:
    return complex(np.nan, np.nan) if np.iscomplexobj(array.values) else np.nan
