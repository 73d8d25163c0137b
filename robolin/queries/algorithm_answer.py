"""Queries that run named algorithms, on one state or on a batch."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any, cast

from robolin.core.arm import Arm
from robolin.core.arrays import Arrays, Floats, np
from robolin.core.choices import DType
from robolin.core.records import dataclass
from robolin.core.result import Array, Result, ResultStream
from robolin.dynamics.algebra.chain import TORQUE_INPUTS
from robolin.dynamics.algorithm import PAPERS
from robolin.dynamics.catalogue import ALGORITHMS
from robolin.errors import RobolinError
from robolin.evaluation.constant_inputs import (
    prescribed_joints,
    prescribed_line,
    require_prescribed_inputs,
)
from robolin.evaluation.evaluate import (
    FEW_STATES,
    KINEMATIC,
    RunOptions,
    algorithm_for,
    evaluate_any_arm_rows,
    evaluate_arm,
    why_any_arm_unanswered,
)
from robolin.evaluation.methods import Method
from robolin.queries.loop_answer import (
    LOOP_FLAGS,
    NO_LOOPS,
    TITLES,
    LoopOptions,
    closed_arrays,
    closed_changes,
    closed_state,
    loop_options,
    with_closure_forces,
)
from robolin.queries.question import Question
from robolin.queries.request import QueryContext
from robolin.queries.runner import located_error, run_function
from robolin.queries.state_monitor import massless_warning
from robolin.queries.values import (
    Run,
    StateInputs,
    TorqueDefault,
    Values,
    accelerations_text,
    algorithm_arrays,
    complete_operating_point,
    operating_point_arrays,
)

if TYPE_CHECKING:
    from robolin.io.trajectories.trajectory import Chunk


def answer_inverse(context: QueryContext) -> Result | ResultStream:
    """Compute inverse dynamics: torques for a motion."""
    if context.question.flag("residual"):
        from robolin.queries.measured_torques import ResidualQuery

        return answer_by_algorithms(context, ResidualQuery(("inverse",)))
    if context.question.flag("external"):
        from robolin.queries.measured_torques import external_query

        return answer_by_algorithms(context, external_query(context))
    return answer_by_algorithms(context, AlgorithmQuery(("inverse",)))


def answer_forward(context: QueryContext) -> Result | ResultStream:
    """Compute forward dynamics: accelerations of joints, optionally of links and a frame."""
    frame = context.question.text("tip-acceleration")
    prescribed = _prescribed(context)
    selected = {
        "forward" if prescribed is None else "forward-prescribed": True,
        "link-accelerations": context.question.flag("links"),
        "tip-acceleration": frame is not None,
    }
    method = _method(context.question)
    algorithms = AlgorithmQuery(_enabled(selected), method, divides=True, prescribed=prescribed)
    if frame is None:
        return answer_by_algorithms(context, algorithms)
    from robolin.evaluation.frames import at_frame
    from robolin.queries.matrix_answers import note_frame

    # '' selects the default frame
    placed = at_frame(context.arm, frame or None, flag="--tip-acceleration LINK")
    note_frame(context, placed, frame)
    return answer_by_algorithms(context, algorithms, placed)


# algorithms used by earlier versions; their results agree up to round-off
FORMER_ALGORITHMS = {"mass-matrix-inverse": "mass-matrix-inverse-columns"}


def answer_mass_matrix(context: QueryContext) -> Result | ResultStream:
    """Compute the mass matrix and the matrices that the options select."""
    is_set = context.question.flag
    selected = {
        "mass-matrix": True,
        "mass-matrix-inverse": is_set("inverse"),
        "mass-matrix-factor": is_set("factor"),
        "mass-matrix-derivative": is_set("derivative"),
        "coriolis-matrix": is_set("coriolis"),
    }
    divides = is_set("inverse") or is_set("factor")
    names = _enabled(selected)
    if context.settings.former:
        names = tuple(FORMER_ALGORITHMS.get(name, name) for name in names)
    return answer_by_algorithms(context, AlgorithmQuery(names, divides=divides))


def answer_linearize_inverse(context: QueryContext) -> Result | ResultStream:
    """Compute derivatives of inverse dynamics, or their product with weights or a perturbation."""
    name = f"{_derivative(context.question)}-inverse"
    return answer_by_algorithms(context, AlgorithmQuery((name,)))


def answer_linearize_forward(context: QueryContext) -> Result | ResultStream:
    """Compute derivatives of forward dynamics, or their product with weights or a perturbation."""
    name, prescribed = f"{_derivative(context.question)}-forward", _prescribed(context)
    if prescribed is not None:
        name = "linearize-forward-prescribed"
    method = _method(context.question)
    algorithms = AlgorithmQuery((name,), method, torque="hold", divides=True, prescribed=prescribed)
    return answer_by_algorithms(context, algorithms)


def answer_diagonalize(context: QueryContext) -> Result | ResultStream:
    """Transform states to diagonalizing velocities or back; or compute the curvature."""
    is_set = context.question.flag
    if is_set("curvature"):
        from robolin.queries.matrix_answers import answer_curvature

        return answer_curvature(context)
    name = "undiagonalize" if is_set("inverse-transform") else "diagonalize"
    if is_set("unnormalized"):
        name = f"{name}-unnormalized"
    return answer_by_algorithms(context, AlgorithmQuery((name,), divides=True))


def _derivative(question: Question) -> str:
    """The matrices, or without them: a gradient, a change, or the change of a gradient."""
    if question.text("weights") is not None:
        return "hessian" if question.texts("perturb") else "gradient"
    return "perturb" if question.texts("perturb") else "linearize"


def _prescribed(context: QueryContext) -> Floats | None:
    """Return the mask (n,) of joints with prescribed acceleration; None without --prescribe."""
    text = context.question.text("prescribe")
    if text is None:
        return None
    return prescribed_joints(context.arm, text, "--prescribe")


def _enabled(selected: dict[str, bool]) -> tuple[str, ...]:
    return tuple(name for name, enabled in selected.items() if enabled)


def _method(question: Question) -> Method:
    return cast(Method, question.text("method") or "auto")


# results of 4 MB are still in the processor's cache when they are written; smaller parts
# do not help, because passing on a part takes a millisecond or two
_NUMBERS_PER_PART = 1 << 19


@dataclass
class AlgorithmQuery:
    """The algorithms that evaluate a question, as a function of states.

    torque:     a torque that is not given is zero, or holds the arm
    divides:    the result divides by the mass matrix, so its condition number matters
    named:      converts the algorithm's values to named arrays where its axes are not enough
    joined:     `named` needs the outputs of all algorithms together
    prescribed: 1 for every coordinate (n,) with prescribed acceleration, 0 for the others
    contract_entries: contract entries that the evaluation adds
    """

    names: tuple[str, ...]
    method: Method = "auto"
    dtype: DType = "float64"
    torque: TorqueDefault = "zero"
    divides: bool = False
    named: Callable[[Arm, Values], Iterable[Array]] | None = None
    joined: bool = False
    loops: LoopOptions = NO_LOOPS
    prescribed: Floats | None = None
    contract_entries: dict[str, Any] = field(default_factory=dict)
    # largest condition number of the mass matrix so far, for --verbose
    _worst: float = 0.0
    # typed accelerations of prescribed joints
    _qdd: Floats | None = None

    @property
    def needs(self) -> tuple[str, ...]:
        """State quantities that the algorithms need, without perturbations and derived ones."""
        names = dict.fromkeys(name for a in self.names for name in ALGORITHMS[a].needs)
        changes = ("dq", "dqd", "dqdd", "dtau", "prescribed", "tau_weights", "qdd_weights")
        if self.prescribed is None and not names.keys().isdisjoint(TORQUE_INPUTS):
            # the torques determine the accelerations
            names = {**names, "tau": None}
            names.pop("qdd", None)
        return tuple(name for name in names if name not in changes)

    def start(self, context: QueryContext, values: Values) -> Values:
        """Reject accelerations of free joints and torques of prescribed ones."""
        arm, self._qdd = context.arm, values.get("qdd")
        if self.prescribed is not None:
            inputs = (values.get(name, np.zeros(arm.n)) for name in ("qdd", "tau"))
            require_prescribed_inputs(arm, self.prescribed, *inputs)
        return values

    def state(self, context: QueryContext, inputs: StateInputs, state: Values) -> tuple[Array, ...]:
        """Evaluate one state; a state without a result raises an error."""
        arm, options = context.arm, self._run_options()

        def run(algorithm: str, values: Values) -> Values:
            return evaluate_arm(arm, algorithm, values, **options)

        if self._reports_condition(context):
            worst = condition(run("mass-matrix", {**state, **inputs.values(arm, state, run)}))
            context.note(f"cond(M) = {worst:.3g}")
        arrays, values = self._arrays(arm, inputs, state, run)
        if context.verb.linear:
            point = complete_operating_point(values, run, self.dtype)
            lists = {name: point[name].tolist() for name in point}
            self.contract_entries["operating point"] = lists
        return arrays

    def rows(
        self, context: QueryContext, inputs: StateInputs, chunk: Chunk, jobs: int | None
    ) -> tuple[tuple[Array, ...], int]:
        """Evaluate all rows together, then look for rows without a result."""
        arm = context.arm
        batch = Batch(arm, {**self._run_options(), "jobs": jobs})
        arrays, values = self._arrays(arm, inputs, chunk.columns, batch.run)
        if context.verb.linear:
            point = complete_operating_point(values, batch.run, self.dtype)
            existing = [array.name for array in arrays]
            arrays += tuple(operating_point_arrays(arm, point, (chunk.rows,), existing))
        bad = _bad_rows(batch, chunk, arrays) if context.skips_bad_rows else []
        if not context.skips_bad_rows:
            _require_answers(batch, chunk)
        if self._reports_condition(context):
            worst = condition(batch.run("mass-matrix", chunk.columns))
            self._worst = max(self._worst, worst)
        return tuple(_with_nan(array, bad) for array in arrays), len(bad)

    def rows_per_chunk(self, context: QueryContext, numbers: float) -> int:
        """Rows whose results stay in the cache."""
        return max(FEW_STATES, int(_NUMBERS_PER_PART / (numbers or _NUMBERS_PER_PART)))

    def notes(self) -> list[str]:
        """Condition number of the mass matrix over all rows, for --verbose."""
        return [f"cond(M) = {self._worst:.3g} in the worst row"] if self._worst else []

    def lines(self, context: QueryContext, inputs: StateInputs, rows: int | None) -> dict[str, Any]:
        """Contract entries of the algorithms and of prescribed joints."""
        arm, lines = context.arm, {}
        if self.prescribed is not None:
            values = None if self._qdd is None else self._qdd.tolist()
            by_row = rows is not None and "qdd" in inputs.present
            origin = "of every row" if by_row else accelerations_text(arm, self.prescribed, values)
            lines["prescribed"] = prescribed_line(arm, self.prescribed, origin)
        return {**lines, **_algorithm_lines(self, arm)}

    def _run_options(self) -> RunOptions:
        options: RunOptions = {"method": self.method, "loop_method": self.loops.method}
        return options if self.dtype == "float64" else {**options, "dtype": self.dtype}

    def _reports_condition(self, context: QueryContext) -> bool:
        return context.settings.verbose and self.divides and not context.arm.loops

    def _arrays(
        self, arm: Arm, inputs: StateInputs, state: Values, run: Run
    ) -> tuple[tuple[Array, ...], Values]:
        """Compute the requested arrays; return them with all values used."""
        if arm.loops:
            state = closed_state(arm, self.loops, state)
        values = inputs.values(arm, state, run)
        if arm.loops:
            values |= closed_changes(arm, self.loops, values)
        if self.prescribed is not None:
            values["prescribed"] = self.prescribed
        arrays: dict[str, Array] = {}
        earlier: Values = {}
        for algorithm in self.names:
            if "qdd" in ALGORITHMS[algorithm].needs and "qdd" not in values:
                values["qdd"] = run("forward", values)["qdd"]
            computed = run(with_closure_forces(algorithm) if arm.loops else algorithm, values)
            values |= {name: computed[name] for name in ("qdd", "tau") if name in computed}
            if self.joined:
                computed = earlier = {**earlier, **computed}
                if algorithm != self.names[-1]:
                    continue
            own = self.named
            named = own(arm, computed) if own else algorithm_arrays(arm, algorithm, computed)
            arrays |= {array.name: array for array in named}
            if arm.loops and algorithm not in KINEMATIC:
                loop_arrays = closed_arrays(arm, self.loops, values, computed)
                arrays |= {array.name: array for array in loop_arrays}
        return tuple(arrays.values()), values


def answer_by_algorithms(
    context: QueryContext, algorithms: AlgorithmQuery, arm: Arm | None = None
) -> Result | ResultStream:
    """Evaluate one state or every row; `arm` replaces the arm of the context if given."""
    context = replace(context, arm=arm or context.arm)
    context.emit_arm_notes()
    if not KINEMATIC.issuperset(algorithms.names):
        context.warn_or_raise(*filter(None, [massless_warning(context.arm)]))
    if context.arm.loops or LOOP_FLAGS & context.question.options.keys():
        algorithms = replace(algorithms, loops=loop_options(context.question))
        algorithms.loops.require_useful(context.arm)
    dtype = cast(DType, context.question.text("dtype") or "float64")
    numpy = (
        not context.settings.printed
        or dtype != "float64"
        or algorithms.named is not None
        or algorithms.prescribed is not None
        or bool(context.arm.loops)
    )
    return run_function(context, replace(algorithms, dtype=dtype), numpy)


@dataclass(frozen=True)
class _Evaluation:
    """Inputs of an algorithm that was run, and the rows with a nonzero status."""

    algorithm: str
    values: Mapping[str, Floats]
    suspects: frozenset[int]


class Batch:
    """Rows of a trajectory; algorithms run on all rows, including invalid ones."""

    def __init__(self, arm: Arm, options: RunOptions) -> None:
        self._arm, self._options = arm, options
        self._evaluations: list[_Evaluation] = []

    def run(self, algorithm: str, values: Mapping[str, Floats]) -> Arrays:
        """Run an algorithm; rows without a result contain arbitrary values."""
        arrays, status = evaluate_any_arm_rows(self._arm, algorithm, values, **self._options)
        suspects = frozenset(np.flatnonzero(status).tolist())
        self._evaluations.append(_Evaluation(algorithm, values, suspects))
        return arrays

    @property
    def suspects(self) -> list[int]:
        """The rows with a nonzero status in some algorithm."""
        none: frozenset[int] = frozenset()
        return sorted(none.union(*(evaluation.suspects for evaluation in self._evaluations)))

    def complaint(self, row: int) -> RobolinError | None:
        """The error of a row, or None."""
        for evaluation in self._evaluations:
            if row in evaluation.suspects:
                state = {k: v[row] if v.ndim > 1 else v for k, v in evaluation.values.items()}
                error = why_any_arm_unanswered(
                    self._arm, evaluation.algorithm, state, 0, **self._options
                )
                if error is not None:
                    return error
        return None


def _bad_rows(batch: Batch, chunk: Chunk, arrays: tuple[Array, ...]) -> list[int]:
    """Rows without a result: gaps of the file, and rows whose evaluation failed."""
    bad = set() if chunk.gaps is None else set(np.flatnonzero(chunk.gaps).tolist())
    for row in batch.suspects:
        # checking a row again is slow, and unnecessary if its results are not finite
        finite = all(np.isfinite(array.values[row]).all() for array in arrays)
        if row not in bad and (not finite or batch.complaint(row)):
            bad.add(row)
    return sorted(bad)


def _with_nan(array: Array, rows: list[int]) -> Array:
    """Return a copy of the array with NaN in these rows."""
    if not rows:
        return array
    values = np.array(array.values)
    values[rows] = np.nan
    return replace(array, values=values)


def _require_answers(batch: Batch, chunk: Chunk) -> None:
    """Raise for the first row without a result, with its location in the file."""
    for row in batch.suspects:
        error = batch.complaint(row)
        if error is not None:
            raise located_error(error, chunk.location(row))


def condition(computed: Values) -> float:
    """Return the largest condition number of the mass matrices."""
    matrices = computed["mass_matrix"]
    fine = np.isfinite(matrices).all(axis=(-2, -1))
    return float(np.max(np.linalg.cond(matrices[fine]), initial=0.0))


def _algorithm_lines(algorithms: AlgorithmQuery, arm: Arm) -> dict[str, str]:
    """Titles and papers of the algorithms, with their arrays if there are several algorithms."""
    if arm.loops and algorithms.divides:
        return {"algorithm": TITLES[algorithms.loops.method or "null-space"]}
    chosen = {
        ", ".join(ALGORITHMS[verb].gives): ALGORITHMS[algorithm_for(arm, verb, algorithms.method)]
        for verb in algorithms.names
    }
    titles = {name: each.title for name, each in chosen.items()}
    lines = {"algorithm": _by_array(titles, len(chosen))}
    papers = {name: _published(each.paper) for name, each in chosen.items() if each.paper}
    return {**lines, "paper": _by_array(papers, len(chosen))} if papers else lines


def _published(paper: str) -> str:
    """Return the citation of an algorithm as text."""
    tag, _, location = paper.partition(" ")
    return f"{location} of {PAPERS[tag]}"


def _by_array(texts: Mapping[str, str], algorithms: int) -> str:
    """Prefix each text with its arrays, unless one algorithm computed all of them."""
    if algorithms == 1:
        return next(iter(texts.values()))
    return "; ".join(f"{arrays}: {text}" for arrays, text in texts.items())
