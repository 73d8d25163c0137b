"""Linear models as functions of states: their options, their arrays, and rows that fail."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import field
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from robolin.core.arm import Arm
from robolin.core.arrays import Floats, Integers, Mask
from robolin.core.quantity_table import QUANTITIES, joint_unit, rate_of, unit_alternatives, unit_of
from robolin.core.records import dataclass
from robolin.core.result import Array, Result, ResultStream
from robolin.core.text_parsing import parse_names, parse_seconds
from robolin.core.threads import threads_for
from robolin.errors import RobolinError, UsageError
from robolin.io.trajectories.trajectory import Chunk
from robolin.queries.loop_answer import (
    LOOP_FLAGS,
    NO_LOOPS,
    LoopOptions,
    closed_state,
    loop_options,
)
from robolin.queries.question import Question, parsed_option
from robolin.queries.request import QueryContext
from robolin.queries.runner import located_error, run_function
from robolin.queries.values import (
    POINT,
    StateInputs,
    TorqueDefault,
    Values,
    nan_rows,
    operating_point_arrays,
)

if TYPE_CHECKING:
    from robolin.control.state_space import StateSpace
    from robolin.control.trim import Trim
    from robolin.core.choices import Discretization

ModelArrays = tuple[Array, ...]

# entries of A and B per part: small enough to reuse its memory for the next part
_ENTRIES_PER_PART, _MIN_ROWS = 1 << 20, 64
# change of --trim in rad or m that has a note, and number of joints that the note names
_LEAST_MOVE, _FEW_MOVES = 1e-6, 4
# matrices of the size of A that a matrix exponential keeps in memory
_MATRICES_IN_MEMORY = 4

# A and B have 6 n² entries; about five times as many intermediate numbers are computed
_INTERMEDIATE_FACTOR = 5


@dataclass(frozen=True)
class LinearModelSpec:
    """Options of a linear model, independent of its operating point."""

    arm: Arm
    actuated: tuple[str, ...] | None
    passive: tuple[str, ...] | None
    outputs: tuple[str, ...]
    reference: str
    dt: float | None
    discretize: Discretization
    trim: bool
    keep: tuple[str, ...]
    loops: LoopOptions

    def model(self, values: Mapping[str, Floats], jobs: int | None = None) -> StateSpace:
        """Linearize about q, qd and tau, or about q, qd and qdd."""
        from robolin.control.linear_model import state_space

        state = closed_state(self.arm, self.loops, values) if self.arm.loops else values
        return state_space(
            self.arm,
            state.get("q", 0.0),
            state.get("qd", 0.0),
            None if "tau" in state else state.get("qdd"),
            state.get("tau", "hold"),
            actuated=self.actuated,
            passive=self.passive,
            outputs=self.outputs,
            reference=self.reference,
            dt=self.dt,
            method=self.discretize,
            jobs=jobs or threads_for(_workload(self.arm, state)),
        )

    def is_feasible(self, values: Mapping[str, Floats]) -> Mask:
        """(rows,): False where a passive joint would need a torque.

        Closed loops are not checked: constraint forces may carry the load of passive joints.
        """
        from robolin.control.operating_point import actuated_indices, passive_joints_unloaded

        rows = len(values["q"])
        if self.arm.loops:
            return np.ones(rows, dtype=bool)
        actuated = actuated_indices(self.arm, self.actuated, self.passive)
        return passive_joints_unloaded(self.arm, values, actuated)

    def trimmed(self, q: Floats) -> Trim:
        """Return the equilibrium near q."""
        from robolin.control.trim import trim

        return trim(self.arm, q, actuated=self.actuated, passive=self.passive, keep=self.keep)


def spec_from_question(arm: Arm, question: Question) -> LinearModelSpec:
    """Return the linear model that a question specifies."""
    loops = NO_LOOPS
    if arm.loops or LOOP_FLAGS & question.options.keys():
        loops = loop_options(question)
        loops.require_useful(arm)
    return LinearModelSpec(
        arm,
        _names(question, "actuated"),
        _names(question, "passive"),
        _names(question, "outputs") or ("q", "qd"),
        question.text("reference") or "world",
        seconds(question, "dt"),
        cast("Discretization", question.text("discretize") or "zoh"),
        question.flag("trim"),
        _names(question, "keep") or (),
        loops,
    )


def seconds(question: Question, label: str) -> float | None:
    """Parse a positive time in s; None if the option is absent."""
    return parsed_option(question, label, parse_seconds)


def _workload(arm: Arm, values: Mapping[str, Floats]) -> int:
    """Approximate number of floating-point results computed for these models."""
    rows = max((len(each) for each in values.values() if each.ndim > 1), default=1)
    return rows * _INTERMEDIATE_FACTOR * 6 * arm.n**2


def _names(question: Question, label: str) -> tuple[str, ...] | None:
    text = question.text(label)
    return None if text is None else parse_names(text)


# names of the model axes in tables and files
_KINDS = {"model state": "state", "joint": ""}
# arrays whose name belongs to another quantity
_QUANTITIES = {"D": "feedthrough"}


def matrix_arrays(model: StateSpace) -> tuple[Array, ...]:
    """Return A, B, drift, C, D and y as named arrays."""
    names = ("A", "B", "drift", "C", "D", "y")
    return tuple(model_array(model, name, getattr(model, name)) for name in names)


def model_point_arrays(model: StateSpace) -> tuple[Array, ...]:
    """Return the operating point, and for closed loops the basis of independent motions."""
    point = {name: getattr(model, name) for name in POINT}
    arrays = tuple(operating_point_arrays(model.arm, point, model.batch))
    return arrays if model.basis is None else (*arrays, model_array(model, "basis", model.basis))


def model_array(model: StateSpace, name: str, values: Any) -> Array:
    """Return an array of a model with labels and unit from the quantity table."""
    quantity = _QUANTITIES.get(name, name)
    axes = QUANTITIES[quantity].axes
    sizes = values.shape[values.ndim - len(axes) :]
    labels = tuple(_labels(model, str(axis), size) for axis, size in zip(axes, sizes, strict=True))
    kinds = [joint.kind for joint in model.arm.joints]
    words = tuple(_KINDS.get(str(axis), str(axis)) for axis in axes)
    return Array(name, values, labels, unit_of(quantity, kinds, _units(model)), None, words)


def _labels(model: StateSpace, axis: str, size: int) -> tuple[str, ...]:
    """Labels along an axis; modes are numbered, the slowest first."""
    named = {
        "model state": model.states,
        "input": model.inputs,
        "output": model.outputs,
        "joint": model.arm.joint_names,
        "motion": tuple(f"motion{i + 1}" for i in range(size)),
        "mode": tuple(str(i + 1) for i in range(size)),
    }
    return named[axis]


def _units(model: StateSpace) -> dict[str, str]:
    """Units of the model's states, inputs, outputs and rates (per sample if discrete)."""
    x, u, y = (
        unit_alternatives(model.units[name] for name in names)
        for names in (model.states, model.inputs, model.outputs)
    )
    units = {"model state": x, "model input": u, "model output": y}
    if model.dt is not None:
        return {**units, "model rate": x, "pole": unit_of("stability", ())}
    return {**units, "model rate": rate_of(x)}


def model_lines(model: StateSpace) -> dict[str, Any]:
    """Contract entries of one model: actuated joints, operating point and sample time."""
    actuated = [model.arm.joint_names[i] for i in model.actuated]
    all_actuated = len(actuated) == model.arm.n
    lines: dict[str, Any] = {"actuated": "all joints" if all_actuated else ", ".join(actuated)}
    if not model.batch:
        lines["operating point"] = _point_line(model)
    if model.dt is not None:
        lines["sample time"] = f"{model.dt:g} s"
    return lines


def units_line(model: StateSpace, names: Sequence[str]) -> Mapping[str, str]:
    """Units by name."""
    return {name: model.units[name] for name in names}


def _point_line(model: StateSpace) -> str:
    from robolin.control.operating_point import is_equilibrium

    if is_equilibrium(model.arm, model.q, model.qd, model.qdd, model.tau):
        return "an equilibrium"
    return "not an equilibrium: drift is not zero, and poles describe deviations from the motion"


@dataclass
class LinearModelTask:
    """Arrays of linear models, as a function of states.

    arrays: function of a state (n,) or of states (rows, n); one row that fails raises an error
    contract_entries: contract entries that the evaluation adds
    """

    spec: LinearModelSpec
    arrays: Callable[[Values], ModelArrays]
    contract_entries: dict[str, Any] = field(default_factory=dict)
    torque: TorqueDefault = "hold"
    divides: bool = True
    # arrays of the first valid rows: they define the shape of failed rows
    _like: ModelArrays | None = None

    @property
    def loops(self) -> LoopOptions:
        return self.spec.loops

    @property
    def needs(self) -> tuple[str, ...]:
        return ("q", "qd", "tau")

    def start(self, context: QueryContext, values: Values) -> Values:
        """Return the state, or with --trim the equilibrium near it."""
        joints = context.arm.joint_names
        values = {"q": np.zeros(len(joints)), **values}
        if not self.spec.trim:
            return values
        equilibrium = self.spec.trimmed(values["q"])
        farthest = int(np.abs(equilibrium.moved).argmax())
        _note_moved(context, values["q"], equilibrium)
        self.contract_entries["torque"] = "holding the equilibrium"
        self.contract_entries["trim"] = (
            f"{equilibrium.iterations} steps; largest change {equilibrium.moved[farthest]:.4g} of "
            f"{joints[farthest]}; residual {equilibrium.residual:.2g} at passive joints"
        )
        return {"q": equilibrium.q, "tau": equilibrium.tau}

    def state(self, context: QueryContext, inputs: StateInputs, values: Values) -> ModelArrays:
        """Evaluate one state."""
        return self.arrays(values)

    def rows(
        self, context: QueryContext, inputs: StateInputs, chunk: Chunk, jobs: int | None
    ) -> tuple[ModelArrays | None, int]:
        """Evaluate rows together; isolate the rows that fail, or raise the error of the first.

        `jobs` is not used: it follows from the size of the result, and the work for a model is
        larger.  `LinearModelSpec.model` sets the number of threads.
        """
        if not context.skips_bad_rows:
            with first_row_error(chunk, self.arrays):
                return self.arrays(chunk.columns), 0
        valid = np.ones(chunk.rows, bool) if chunk.gaps is None else ~np.array(chunk.gaps)
        solved = solve_valid_rows(self, chunk.columns, valid)
        failed = chunk.rows - sum(len(rows) for rows, _ in solved)
        if solved:
            self._like = solved[0][1]
        if self._like is None:
            return None, failed
        arrays = nan_rows(self._like, chunk.rows)
        for rows, some in solved:
            for array, values in zip(arrays, some, strict=True):
                array.values[rows] = values.values
        return arrays, failed

    def rows_per_chunk(self, context: QueryContext, numbers: float) -> int:
        """Rows whose models fit the memory budget; one for live input, which must not wait."""
        if context.settings.live:
            return 1
        matrices = 1 if self.spec.dt is None else _MATRICES_IN_MEMORY
        return max(_MIN_ROWS, _ENTRIES_PER_PART // (6 * context.arm.n**2 * matrices))

    def notes(self) -> list[str]:
        return []

    def lines(self, context: QueryContext, inputs: StateInputs, rows: int | None) -> dict[str, Any]:
        return {}


def _note_moved(context: QueryContext, q: Floats, equilibrium: Trim) -> None:
    """Note the positions that --trim changes."""
    texts = [
        f"{joint.name} {q[i]:.6g} to {equilibrium.q[i]:.6g} {joint_unit('position', joint.turns)}"
        for i, joint in enumerate(context.arm.joints)
        if abs(equilibrium.moved[i]) > _LEAST_MOVE
    ]
    if texts:
        more = f" and {len(texts) - _FEW_MOVES} more" * (len(texts) > _FEW_MOVES)
        context.note(f"--trim changes q: {', '.join(texts[:_FEW_MOVES])}{more}")


def answer_models(context: QueryContext, task: LinearModelTask) -> Result | ResultStream:
    """Evaluate a task for one state or for every row."""
    context.emit_arm_notes()
    return run_function(context, task)


@contextmanager
def first_row_error(chunk: Chunk, function: Callable[[Values], object]) -> Iterator[None]:
    """Replace the error of rows evaluated together by that of the first row that fails."""
    try:
        yield
    except UsageError:
        raise
    except RobolinError:
        raise _first_row_error(chunk, function) from None


def _first_row_error(chunk: Chunk, function: Callable[[Values], object]) -> RobolinError:
    for row in range(chunk.rows):
        try:
            function({name: column[row] for name, column in chunk.columns.items()})
        except RobolinError as error:
            return located_error(error, chunk.location(row))
    return RobolinError("some rows have no result", where=chunk.location(0))


def solve_valid_rows(
    task: LinearModelTask, values: Values, valid: Mask
) -> list[tuple[Integers, ModelArrays]]:
    """Evaluate the rows that have a result; return pairs of row indices and arrays."""
    rows = np.flatnonzero(valid)
    if not len(rows):
        return []
    try:
        return [(rows, task.arrays(_select_rows(values, rows)))]
    except UsageError:
        raise
    except RobolinError:
        rows = rows[task.spec.is_feasible(_select_rows(values, rows))]
        return list(_bisect(task, values, rows))


def _bisect(
    task: LinearModelTask, values: Values, rows: Integers
) -> Iterator[tuple[Integers, ModelArrays]]:
    """Evaluate rows by bisection, which isolates the rows that fail."""
    if not len(rows):
        return
    try:
        yield rows, task.arrays(_select_rows(values, rows))
    except UsageError:
        raise
    except RobolinError:
        middle = len(rows) // 2
        if middle:
            yield from _bisect(task, values, rows[:middle])
            yield from _bisect(task, values, rows[middle:])


def _select_rows(values: Values, rows: Integers) -> dict[str, Floats]:
    return {name: each[rows] for name, each in values.items()}
