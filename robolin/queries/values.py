"""Values of a query: the state quantities it starts from, and its results as named arrays."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, cast

from robolin.core.arm import Arm
from robolin.core.arrays import Floats, Numbers, np
from robolin.core.choices import DType
from robolin.core.quantity_table import COLUMN_WORDS, QUANTITIES, unit_of
from robolin.core.records import dataclass
from robolin.core.result import RESERVED_NAMES, Array
from robolin.core.state_array import StateArray
from robolin.core.text import join_and, pluralize
from robolin.core.text_parsing import (
    HOLD_TORQUE,
    FlagText,
    parse_keyed,
    parse_per_joint,
    quaternion_names,
)
from robolin.dynamics.algorithm import Axis, Shape
from robolin.dynamics.catalogue import ALGORITHMS
from robolin.errors import UsageError
from robolin.queries.option_specs import EXCLUDES, conflict
from robolin.queries.request import QueryContext, require_only
from robolin.queries.states import States

if TYPE_CHECKING:
    from robolin.io.trajectories.trajectory import Chunk

Values = Mapping[str, Floats]
TorqueDefault = Literal["zero", "hold"]
# runs an algorithm by name on values, each of shape (n,) or (rows, n)
Run = Callable[[str, Values], Values]

# quantities that accept degrees; ξ is not the velocity of a joint
ANGULAR = ("q", "qd", "qdd", "dq", "dqd", "dqdd", "qdr", "qddr")
# quantities of an operating point
POINT = ("q", "qd", "qdd", "tau")

# what the weights of a gradient multiply
WEIGHTS = {"linearize-inverse": "tau_weights", "linearize-forward": "qdd_weights"}


@dataclass(frozen=True)
class StateInputs:
    """Sources of the state quantities that a query needs.

    present: quantities from flags or columns
    hold:    a missing torque is computed by inverse dynamics
    changes: perturbations of the state, the same for every row
    file:    the trajectory with the columns
    from_quaternion: joints whose rotation was given as a quaternion
    derived: given quantities that are derivatives of others
    time_unit: unit of the file's time, if known
    zero:    zeros (n,) of one state
    """

    needs: tuple[str, ...]
    present: tuple[str, ...]
    hold: bool
    changes: Values = field(default_factory=dict)
    file: str = ""
    from_quaternion: tuple[str, ...] = ()
    derived: tuple[str, ...] = ()
    time_unit: str | None = None
    zero: Floats | None = None

    @property
    def absent(self) -> tuple[str, ...]:
        """Quantities that are needed but not given, and therefore zero."""
        computed = ("tau",) if self.hold else ()
        return tuple(name for name in self.needs if name not in (*self.present, *computed))

    def values(self, arm: Arm, state: Values, run: Run) -> dict[str, Floats]:
        """Return all needed quantities: given, computed or zero."""
        zero = self.zero_of(arm)
        values = {name: state.get(name, zero) for name in self.needs}
        if self.hold and "tau" not in state:
            motion = {name: state.get(name, zero) for name in ("q", "qd", "qdd")}
            values["tau"] = run("hold" if arm.loops else "inverse", motion)["tau"]
        return {**values, **self.changes}

    def zero_of(self, arm: Arm) -> Floats:
        """The value (n,) of a quantity that is not given."""
        return np.zeros(arm.n) if self.zero is None else self.zero

    def missing_columns(self) -> list[str]:
        """Return a warning for every quantity that a trajectory lacks."""
        if not self.file:
            return []
        texts = [missing_columns_text(name) for name in self.absent]
        if self.hold and not {"tau", "qdd"} & set(self.present):
            texts.append("no effort or acceleration columns; efforts are the holding torques")
        return texts

    def contract_lines(self, rows: int | None = None) -> dict[str, str]:
        """Contract entries about state, torque and perturbations."""
        lines = {"state": self._state_line(rows)}
        if "tau" in self.needs:
            lines["torque"] = self._torque_line()
        weighted = [name for name in self.changes if name in WEIGHTS.values()]
        if named := [name for name in self.changes if name not in weighted]:
            lines["perturbed"] = _names([name for name in named if self.changes[name].any()])
        if weighted:
            lines["weights"] = " and ".join(name.removesuffix("_weights") for name in weighted)
        return lines

    def _torque_line(self) -> str:
        if "tau" in self.present:
            return "given"
        if not self.hold:
            return "zero (not given)"
        if "qdd" in self.derived:
            return "torques for the derived accelerations (inverse dynamics)"
        if "qdd" in self.present:
            return "torques for the given accelerations (inverse dynamics)"
        return "holding the arm (inverse dynamics with qdd = 0)"

    def _state_line(self, rows: int | None) -> str:
        """Describe which quantities are given, derived and zero, except the torque."""
        typed = [name for name in self.present if name not in ("tau", *self.derived)]
        zero = [name for name in self.absent if name != "tau"]
        parts = [
            f"{_names(names)} {what}"
            for names, what in ((typed, "given"), (self.derived, "derived"), (zero, "zero"))
            if names
        ]
        if self.from_quaternion:
            parts.append(
                f"angles of {_names(self.from_quaternion)} computed from a normalized quaternion"
            )
        text = ", ".join(parts)
        return f"{pluralize(rows or 0, 'row')} of {self.file}: {text}" if self.file else text


def missing_columns_text(name: str) -> str:
    """Message for a quantity without columns in a file."""
    word = COLUMN_WORDS[name]
    plural = f"{word[:-1]}ies" if word.endswith("y") else f"{word}s"
    remedy = " (--differentiate savgol computes them)" if name in ("qd", "qdd") else ""
    return f"no {word} columns; {plural} are set to 0{remedy}"


def possible_quantities(needs: Sequence[str], torque: TorqueDefault) -> tuple[str, ...]:
    """Accepted quantities: the needed ones, and qdd if a torque can be computed from it."""
    return (*needs, "qdd") if torque == "hold" and "qdd" not in needs else tuple(needs)


def resolve_single(
    context: QueryContext, needs: Sequence[str], torque: TorqueDefault, numpy: bool = True
) -> tuple[StateInputs, dict[str, Floats]]:
    """Resolve one state; return its inputs and the given values, each of shape (n,).

    numpy: False for arrays that do not import NumPy
    """
    array: Any = np.array if numpy else StateArray
    arm, states = context.arm, context.states
    require_useful(states, possible_quantities(needs, torque), both={"qdd", "tau"} <= set(needs))
    typed = states.typed
    hold = "tau" in needs and (torque == "hold" or typed.get("tau") == HOLD_TORQUE)
    # a torque to be computed does not count as given
    names = tuple(name for name in typed if (name, typed[name]) != ("tau", HOLD_TORQUE))
    values = {name: array(_parsed(arm, name, typed[name])) for name in names}
    # joints whose rotation was typed as a quaternion
    quaternions = tuple(
        joint
        for joint, parts in quaternion_names(arm).items()
        if f"{parts[3]}=" in typed.get("q", "")
    )
    changes = {name: array(change) for name, change in _changes(context).items()}
    zero = array([0.0] * arm.n)
    inputs = StateInputs(tuple(needs), names, hold, changes, from_quaternion=quaternions, zero=zero)
    return inputs, values


def _parsed(arm: Arm, quantity: str, text: str) -> list[float]:
    typed = FlagText(f"--{quantity}", text)
    return parse_per_joint(typed, arm, quantity in ANGULAR, quantity == "q")


def resolve_batch(
    context: QueryContext,
    needs: Sequence[str],
    torque: TorqueDefault,
    columns: Sequence[str],
    file: str,
    derived: Sequence[str],
) -> StateInputs:
    """Resolve the inputs of a trajectory's columns or of arrays with rows."""
    decided = "tau" in columns and "qdd" not in needs
    present = tuple(name for name in columns if name != "qdd" or not decided)
    hold = "tau" in needs and torque == "hold"
    derivatives = tuple(name for name in derived if name in present)
    changes = {name: np.array(change) for name, change in _changes(context).items()}
    return StateInputs(tuple(needs), present, hold, changes, file, derived=derivatives)


def _changes(context: QueryContext) -> dict[str, list[float]]:
    """Perturbations, and the weights of a gradient."""
    texts, weights = context.question.texts("perturb"), context.question.text("weights")
    changes = perturbations(context.arm, texts, context.verb.perturb) if texts else {}
    if weights is not None:
        typed = FlagText("--weights", weights)
        changes[WEIGHTS[context.verb.name]] = parse_per_joint(typed, context.arm, False)
    return changes


def complete_operating_point(values: Values, run: Run, dtype: DType = "float64") -> Values:
    """Return the state with both accelerations and torques, in the type that was used."""
    point = {name: values[name] for name in POINT if name in values}
    if "tau" not in point:
        point["tau"] = run("inverse", point)["tau"]
    elif "qdd" not in point:
        point["qdd"] = run("forward", point)["qdd"]
    return {name: point[name].astype(dtype, copy=False) for name in POINT}


def perturbations(
    arm: Arm, texts: tuple[str, ...], keys: tuple[str, ...]
) -> dict[str, list[float]]:
    """Parse all perturbations by name; missing ones are 0."""
    example = f"--perturb dq={arm.joint_names[0]}=0.01"
    entries = parse_keyed("--perturb", texts, keys, example)
    return {
        key: parse_per_joint(entries[key], arm, key in ANGULAR) if key in entries else [0.0] * arm.n
        for key in keys
    }


def require_useful(states: States, names: Sequence[str], both: bool = False) -> None:
    """Reject quantities that the result does not depend on.

    both: accelerations of some joints and torques of the others are both accepted
    """
    require_only(states, names)
    if "tau" in states.values and "qdd" in states.values and not both:
        hint = "set either the torques or the accelerations"
        raise conflict("tau", EXCLUDES, ["qdd"], hint)


def _names(names: Sequence[str]) -> str:
    return join_and(names) or "nothing"


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
    selected = [each for name, each in switches.items() if context.question.flag(name)]
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
        values = np.full((rows, *axes), _nan_for(computed))
        values[valid] = computed
    kinds = [joint.kind for joint in arm.joints]
    quantity = QUANTITIES[derived.name]
    labels = tuple(
        axis_labels(arm, cast(Axis, axis))
        if isinstance(axis, int) or axis in ("joint", "link", "closure")
        else tuple(str(i + 1) for i in range(size))
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
    if arm.groups:
        from robolin.evaluation.frames import drop_virtual_links

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
        from robolin.evaluation.loop_linear_algebra import row_names

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
            hint = "rename the column"
            raise UsageError(
                "a column of the result has the same name", where=f"--carry={name}", hint=hint
            )
    return (*arrays, *(Array(name, values, (), "") for name, values in chunk.carried.items()))


def first_nan_row(chunk: Chunk, arrays: tuple[Array, ...] | None, failed: int) -> str:
    """Number of the first failed row of a chunk, as in 'row 8'; '' if none failed."""
    if not failed:
        return ""
    values = arrays[0].values.reshape(chunk.rows, -1) if arrays else np.full((1, 1), np.nan)
    location = chunk.location(int(np.argmax(np.isnan(values).all(axis=1))))
    return location.rpartition(", ")[2]


def nan_rows(like: tuple[Array, ...], rows: int) -> tuple[Array, ...]:
    """Return rows of NaN with the shapes of given arrays; integers become floats."""
    return tuple(
        replace(array, values=np.full((rows, *array.values.shape[1:]), _nan_for(array.values)))
        for array in like
    )


def _nan_for(values: Numbers) -> complex:
    return complex(np.nan, np.nan) if np.iscomplexobj(values) else np.nan


def accelerations_text(arm: Arm, prescribed: Floats, qdd: Sequence[float] | None) -> str:
    """Describe the accelerations of prescribed joints: their values, or zero by default.

    prescribed: 1 for every coordinate (n,) with prescribed acceleration, 0 for the others
    """
    from robolin.description.building.contract import group_by_value

    if qdd is None:
        return "zero (not given)"
    joints = zip(arm.joint_names, qdd, prescribed.tolist(), strict=True)
    values = {name: float(value) for name, value, own in joints if own}
    return f"given ({group_by_value(values) or 'zero'})"
