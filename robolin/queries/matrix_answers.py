"""The `jacobian`, `momentum`, `diagonalize` and `regressor` queries, for one state or rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from typing import Any

import numpy as np

from robolin.analysis.curvature import Curvature, curvature, independent_symbols
from robolin.analysis.identification import (
    identifiable,
    offset_names,
    public_columns,
    random_motions,
    with_offset_columns,
)
from robolin.analysis.link_parameters import (
    geometry_names,
    joint_slides,
    parameters,
    public_geometry,
)
from robolin.api.frame_kinematics import DIRECTIONS, require_mass
from robolin.core.arm import Arm, with_load_options
from robolin.core.arrays import Floats
from robolin.core.quantity_table import COLUMN_WORDS, unit_of, units_along
from robolin.core.records import dataclass
from robolin.core.result import Array, Result, ResultStream
from robolin.core.text import pluralize
from robolin.core.text_parsing import numbers
from robolin.evaluation.frames import FRAME_SHAPES, at_frame, in_frame_axes, joints_to_frame
from robolin.io.trajectories.read import read_trajectory
from robolin.queries.algorithm_answer import AlgorithmQuery, answer_by_algorithms
from robolin.queries.question import Question, parsed_option
from robolin.queries.request import QueryContext, display_name
from robolin.queries.runner import ArrayRows
from robolin.queries.values import Values, named_arrays, resolve_single

_AXES = {"world": "world", "frame": "the frame's own"}
_SINGULAR = "fewer than six joints move {}: operational_inertia and bias_wrench are omitted"


def answer_jacobian(context: QueryContext) -> Result | ResultStream:
    """Compute the Jacobian of a frame, optionally its derivatives and operational space."""
    question, arm = context.question, _with_frame(context.arm, context.question)
    note_frame(context, arm, question.text("frame"))
    names = ["jacobian", *(["frame-derivatives"] if question.flag("derivatives") else [])]
    divides = question.flag("operational-space") or question.flag("operational-space-inverse")
    if divides:
        names.append(_operational(context, arm))
    named = _in_frame_axes if _reference(question) == "frame" else _in_world_axes
    return answer_by_algorithms(
        context, AlgorithmQuery(tuple(names), divides=divides, named=named), arm
    )


def note_frame(context: QueryContext, arm: Arm, named: str | None) -> None:
    """Note the default frame's name, since the columns of a file do not contain it."""
    if not named and arm.tip is not None:
        context.note(f"{arm.name}: the frame is '{arm.tip.name}'")


def _reference(question: Question) -> str:
    return question.text("reference") or "world"


def _with_frame(arm: Arm, question: Question) -> Arm:
    """Return the arm with the selected frame and point as its tip."""
    point = parsed_option(question, "point", numbers, "x, y, z in m", 3) or [0.0, 0.0, 0.0]
    arm = at_frame(arm, question.text("frame"), point)
    axes = f"{arm.contract['frame']}, vectors in {_AXES[_reference(question)]} axes"
    contract = {**arm.contract, "frame": axes}
    if arm.loops:
        contract["loops"] += "; all joints are independent, as in the tree"
    return with_load_options(replace(arm, contract=contract), arm.loaded_with)


def _operational(context: QueryContext, arm: Arm) -> str:
    """Select the operational-space algorithm; note if only the inverse exists."""
    spans, requested = (
        joints_to_frame(arm) >= DIRECTIONS,
        context.question.flag("operational-space"),
    )
    if requested and not spans:
        assert arm.tip is not None, "at_frame sets the tip"
        context.note(_SINGULAR.format(f"'{arm.tip.name}'"))
    return "operational-space" if requested and spans else "operational-space-inverse"


def _in_world_axes(arm: Arm, computed: Values) -> Iterable[Array]:
    return named_arrays(arm, {name: FRAME_SHAPES[name] for name in computed}, computed)


def _in_frame_axes(arm: Arm, computed: Values) -> Iterable[Array]:
    return _in_world_axes(arm, in_frame_axes(computed))


def answer_momentum(context: QueryContext) -> Result | ResultStream:
    """Compute the centre of mass, its Jacobian and the momentum about it."""
    require_mass(context.arm)
    return answer_by_algorithms(context, AlgorithmQuery(("momentum",)))


def answer_curvature(context: QueryContext) -> Result:
    """Compute the Riemann curvature at every configuration."""
    context.emit_arm_notes()
    arm = context.arm
    states = sampled_states(context, ("q",))
    q = states.values["q"]
    curved = curvature(arm, q, jobs=context.settings.jobs)
    kinds = [joint.kind for joint in arm.joints]
    arrays = [
        Array("q", q, (arm.joint_names,), unit_of("q", kinds), COLUMN_WORDS["q"]),
        Array("curvature", curved.relative, (), unit_of("curvature", kinds)),
    ]
    if context.question.flag("symbols") and curved.independent:
        arrays.append(_symbols(arm, curved, unit_of("riemann", kinds)))
    lines = _contract_lines(arm, states, curved)
    context.settings.notify("summary", f"{lines['verdict']}; {lines['largest symbol']}")
    return context.result(tuple(arrays), lines, states.inputs, states.time)


def _symbols(arm: Arm, curved: Curvature, unit: str) -> Array:
    """Return the independent Riemann symbols as one vector, labelled by their four joints."""
    indices = independent_symbols(arm.n)
    labels = tuple("/".join(arm.joint_names[i] for i in four) for four in indices)
    h, i, j, k = np.array(indices).T
    return Array("riemann", curved.symbols[..., h, i, j, k], (labels,), unit)


def _contract_lines(arm: Arm, states: SampledStates, curved: Curvature) -> dict[str, Any]:
    where = f", in row {curved.at[0] + 1}" if curved.at else ""
    index = tuple(arm.joint_names.index(name) for name in curved.largest)
    value = float(curved.symbols[(*curved.at, *index)])
    return {
        "state": states.origin,
        "algorithm": "Riemann symbols of the first kind from exact derivatives, O(n⁵)",
        "verdict": _verdict(arm, curved),
        "largest symbol": f"R({', '.join(curved.largest)}) = {value:.6g}{where}",
        "independent symbols": curved.independent,
    }


def _verdict(arm: Arm, curved: Curvature) -> str:
    if not curved.flat:
        return "not flat: no coordinates make the mass matrix constant"
    if arm.n == 1:
        return "flat: one joint has no curvature"
    count = curved.relative.size
    scope = f"all {count} configurations" if count > 1 else "the one configuration"
    return (
        f"flat in {scope} tested; if flat everywhere, coordinates exist that make the mass "
        "matrix constant"
    )


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
        "identifiable": f"{identified.rank} combinations of {len(identified.names)} parameters",
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
