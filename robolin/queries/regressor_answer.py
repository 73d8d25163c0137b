"""The `regressor` query: the regressor matrix, its rank, and the inertial parameters."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from robolin.analysis.identification import (
    identifiable,
    offset_names,
    public_columns,
    random_motions,
    with_offset_columns,
)
from robolin.analysis.link_geometry import geometry_names, public_geometry
from robolin.analysis.link_parameters import joint_slides, parameters
from robolin.core.arm import Arm
from robolin.core.arrays import Floats
from robolin.core.quantity_table import unit_of, units_along
from robolin.core.result import Array, Result, ResultStream
from robolin.core.text import pluralize
from robolin.io.trajectories.read import read_trajectory
from robolin.queries.algorithm_answer import AlgorithmQuery, answer_by_algorithms
from robolin.queries.request import QueryContext, display_name
from robolin.queries.runner import ArrayRows
from robolin.queries.values import Values, resolve_single


def answer_regressor(context: QueryContext) -> Result | ResultStream:
    """Compute the regressor for one state or every row, its rank, or the parameters."""
    if context.question.flag("rank"):
        return _rank(context)
    if context.question.flag("parameters"):
        return _parameters(context)
    if context.question.flag("geometry"):
        return answer_by_algorithms(
            context, AlgorithmQuery(("geometry-derivative",), named=_geometry)
        )
    if context.arm.wrenches:
        context.note("the regressor does not include the torques of external wrenches")
    springs = ("spring-regressor",) if context.arm.has_springs else ()
    slotine_li = context.question.flag("slotine-li")
    names = ("slotine-li-regressor" if slotine_li else "regressor", *springs)
    named = _columns_and_offsets if context.question.flag("offsets") else _columns
    return answer_by_algorithms(context, AlgorithmQuery(names, named=named, joined=True))


def _rank(context: QueryContext) -> Result:
    """Count the identifiable parameters over all states."""
    context.emit_arm_notes()
    states = sampled_states(context, ("q", "qd", "qdd"))
    q, qd, qdd = (states.values[name] for name in ("q", "qd", "qdd"))
    identified = identifiable(context.arm, q, qd, qdd, jobs=context.settings.jobs)
    lines = {
        "state": states.origin,
        "algorithm": "singular values of the stacked regressor with normalized columns",
        "identifiable": f"{identified.rank} numbers of {len(identified.names)} parameters",
        "condition": f"{identified.condition:.3g}",
    }
    arrays = (
        Array("rank", np.array(float(identified.rank)), (), unit_of("rank", ())),
        Array("share", identified.share, (identified.names,), unit_of("share", ())),
    )
    return context.result(arrays, lines, states.inputs)


def _parameters(context: QueryContext) -> Result:
    """List the inertial parameters of the arm."""
    context.emit_arm_notes()
    listed = parameters(context.arm)
    values = np.array([p.value for p in listed])
    labels = (tuple(p.label for p in listed),)
    unit = _unit(context.arm, "parameters", labels)
    array = Array("parameters", values, labels, unit)
    return context.result((array,), {})


def _columns(arm: Arm, computed: Values) -> Iterator[Array]:
    names = tuple(p.label for p in parameters(arm))
    springs = computed["spring_regressor"] if arm.has_springs else None
    matrix = public_columns(arm, computed["regressor"], springs)
    labels = (arm.joint_names, names)
    yield Array("regressor", matrix, labels, _unit(arm, "regressor", labels))


def _columns_and_offsets(arm: Arm, computed: Values) -> Iterator[Array]:
    for array in _columns(arm, computed):
        labels = (arm.joint_names, (*array.labels[1], *offset_names(arm)))
        matrix = with_offset_columns(array.values)
        yield Array("regressor", matrix, labels, _unit(arm, "regressor", labels))


def _geometry(arm: Arm, computed: Values) -> Iterator[Array]:
    labels = (arm.joint_names, geometry_names(arm))
    unit = _unit(arm, "dtau_dgeometry", labels)
    yield Array("dtau_dgeometry", public_geometry(arm, computed["dtau_dgeometry"]), labels, unit)


def _unit(arm: Arm, quantity: str, labels: Sequence[Sequence[str]]) -> str:
    kinds = [joint.kind for joint in arm.joints]
    return unit_of(quantity, kinds, units_along(quantity, labels, joint_slides(arm)))


@dataclass(frozen=True)
class SampledStates:
    """States, each array of shape (n,) or (rows, n).

    origin: description of their source
    inputs: the file they were read from, and its hash
    """

    values: Mapping[str, Floats]
    origin: str
    inputs: dict[str, str] = field(default_factory=dict)
    time: Floats | None = None


def sampled_states(context: QueryContext, needs: Sequence[str]) -> SampledStates:
    """Return the states to evaluate; missing quantities are zero."""
    arm, states = context.arm, context.states
    if states.samples is not None:
        return _random_states(context, needs)
    if states.trajectory is not None:
        return _read_states(context, states.trajectory, needs)
    if states.arrays:
        return _array_states(context, needs)
    motion, point = resolve_single(context, needs, "zero")
    values = motion.values(arm, point, lambda verb, values: {})
    lines = motion.contract_lines()
    return SampledStates({name: values[name] for name in needs}, lines["state"])


def _random_states(context: QueryContext, needs: Sequence[str]) -> SampledStates:
    states = context.states
    count, seed = states.samples or 1, states.seed or 0
    quantities = dict(
        zip(("q", "qd", "qdd"), random_motions(context.arm, count, seed), strict=True)
    )
    origin = f"{pluralize(count, 'random state')}, seed {seed}"
    return SampledStates({name: quantities[name] for name in needs}, origin)


def _read_states(context: QueryContext, path: str, needs: Sequence[str]) -> SampledStates:
    arm = context.arm
    read_options = (context.rules, context.states.row_slice, context.settings.known)
    rows = read_trajectory(path, arm.joint_names, ("q",), tuple(needs[1:]), *read_options)
    file = display_name(path)
    context.note(*(f"{file}: {note}" for note in rows.notes))
    zero = np.zeros((rows.rows, arm.n))
    columns = {name: getattr(rows, name) for name in needs}
    values = {name: zero if column is None else column for name, column in columns.items()}
    origin = f"{rows.rows} rows of {file}"
    if derived := rows.lines.get("differentiated"):
        origin += f", {derived}"
    return SampledStates(values, origin, {file: rows.digest}, rows.time)


def _array_states(context: QueryContext, needs: Sequence[str]) -> SampledStates:
    arrays = context.states.arrays
    source = ArrayRows(context.arm, arrays)
    (chunk,) = source.chunks(source.size, gaps=False)
    zero = np.zeros((source.size, context.arm.n))
    values = {name: chunk.columns.get(name, zero) for name in needs}
    return SampledStates(values, f"{source.size} rows of {source.name}")
