"""Evaluate verbs on arms with closed loops, with a failure code per row and its explanation."""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum

import numpy as np

from robolin.core.arm import Arm
from robolin.core.arrays import (
    Arrays,
    Floats,
    JointValues,
    batch_of,
    joint_arrays,
    nonfinite_input_rows,
    nonfinite_result_rows,
    require_sound,
    require_tree,
    row_of,
)
from robolin.core.quantity_table import joint_unit
from robolin.dynamics.catalogue import ALGORITHMS
from robolin.errors import RobolinError, UsageError
from robolin.evaluation.evaluate import (
    RunOptions,
    error_in,
    evaluate,
    evaluate_rows,
    require_known,
)
from robolin.evaluation.loop_dynamics import (
    LoopSolution,
    Mechanism,
    loop_solution,
    without_closures,
)
from robolin.evaluation.loop_linear_algebra import LOOP_SOLVERS, Closures, row_names

# largest constraint violation in m and rad, and of its rate in m/s and rad/s
CLOSURE_TOLERANCE = 1e-6

LOOP_STATE = ("q", "qd", "tau")
PERTURBED_STATE = ("dq", "dqd", "dtau")
NEEDED_STATE: dict[str, tuple[str, ...]] = {
    "forward": LOOP_STATE,
    "linearize-forward": LOOP_STATE,
    "perturb-forward": (*LOOP_STATE, *PERTURBED_STATE),
    "loop-forces": LOOP_STATE,
    "linearize-loops": LOOP_STATE,
    # torques for the given accelerations without constraint forces
    "hold": ("q", "qd", "qdd"),
}
FORWARD_RESULTS = ("qdd",)
LINEARIZED = tuple(ALGORITHMS["linearize-forward"].gives)

# verb -> its variant with constraint forces, for arms with loops
FULL = {"forward": "loop-forces", "linearize-forward": "linearize-loops"}

CLOSE_HINT = "add --close least (robolin.close) to project the state onto the constraints"
CLOSE_CHANGE = (
    "add --close JOINTS (robolin.close_change) to keep the changes of these joints and adapt "
    "the other joints"
)


class LoopFailure(IntEnum):
    """Reason why a state has no result; the first one that applies."""

    NONE = 0
    UNSOUND = 1
    OPEN = 2
    OPENING = 3
    NO_INERTIA = 4
    DEAD_POINT = 5
    INCONSISTENT_CHANGE = 6
    TOO_LARGE = 7


def evaluate_closed(
    arm: Arm, verb: str, values: Mapping[str, JointValues], options: RunOptions
) -> tuple[Arrays, Floats]:
    """Results on an arm with loops, and a `LoopFailure` per row, 0 for none."""
    require_known(options)
    if options.get("dtype") == "float32":
        hint = "use float64: loop constraints are solved in double precision"
        raise UsageError(
            "cannot be float32 for a robot with closed loops", where="dtype", hint=hint
        )
    if verb not in NEEDED_STATE:
        require_tree(arm, verb)
    _require_method(options)
    if verb == "hold":
        return evaluate_rows(without_closures(arm), "inverse", values, **_of_tree(options))
    arrays = joint_arrays(arm, {name: values[name] for name in NEEDED_STATE[verb]})
    batch = batch_of(arrays)
    flat = {
        name: np.broadcast_to(array, (*batch, arm.n)).reshape(-1, arm.n).copy()
        for name, array in arrays.items()
    }
    unsound = nonfinite_input_rows(arm, flat, (len(flat["q"]),))
    for array in flat.values():
        array[unsound] = 0.0
    with np.errstate(all="ignore"):
        results, solution = _results(arm, verb, flat, options)
        failure = np.where(unsound, LoopFailure.UNSOUND, _failures(arm, flat, solution, results))
    return {name: x.reshape((*batch, *x.shape[1:])) for name, x in results.items()}, failure


def _results(
    arm: Arm, verb: str, flat: Mapping[str, Floats], options: RunOptions
) -> tuple[Arrays, LoopSolution]:
    q, qd, tau = (flat[name] for name in LOOP_STATE)
    method = options.get("loop_method")
    solution = loop_solution(arm, q, qd, tau, method, _of_tree(options))
    results = {
        "qdd": solution.qdd,
        "lam": solution.lam,
        "rank": solution.kept.sum(axis=-1).astype(float),
        "kept": solution.kept,
    }
    if verb in ("forward", "loop-forces"):
        return (results if verb == "loop-forces" else _only(results, FORWARD_RESULTS)), solution
    mechanism = Mechanism(arm, q, qd, tau, method or "null-space", _of_tree(options))
    results |= vars(mechanism.gradients(solution))
    if verb == "perturb-forward":
        along = {"dq": "dqdd_dq", "dqd": "dqdd_dqd", "dtau": "dqdd_dtau"}
        parts = [results[name] @ flat[change][..., None] for change, name in along.items()]
        return {"dqdd": sum(parts)[..., 0]}, solution
    return (_only(results, LINEARIZED) if verb == "linearize-forward" else results), solution


def _only(results: Arrays, names: tuple[str, ...]) -> Arrays:
    return {name: results[name] for name in names}


def _of_tree(options: RunOptions) -> RunOptions:
    """Run options of the algorithms for the tree."""
    return {"engine": options.get("engine", "auto"), "jobs": options.get("jobs")}


def _failures(
    arm: Arm, flat: Mapping[str, Floats], solution: LoopSolution, results: Arrays
) -> Floats:
    """The first failure of every row."""
    slack = _slack(flat["qd"])[:, None]
    reasons = {
        LoopFailure.OPEN: (np.abs(solution.open_by) > CLOSURE_TOLERANCE).any(axis=-1),
        LoopFailure.OPENING: (np.abs(solution.opening) > slack).any(axis=-1),
        LoopFailure.NO_INERTIA: solution.no_inertia,
        LoopFailure.DEAD_POINT: solution.dead_point,
        LoopFailure.INCONSISTENT_CHANGE: _inconsistent_changes(arm, flat),
        LoopFailure.TOO_LARGE: nonfinite_result_rows(results, (len(slack),)),
    }
    return np.select(list(reasons.values()), list(reasons), LoopFailure.NONE)


def _inconsistent_changes(arm: Arm, flat: Mapping[str, Floats]) -> Floats:
    """Mask (B,) of rows whose change violates the closures, relative to its size."""
    if "dq" not in flat:
        return np.zeros(len(flat["q"]), dtype=bool)
    opened_by = Closures(arm, flat["q"], flat["qd"]).change(flat["dq"], flat["dqd"])
    dq, dqd, qd = (np.abs(flat[name]).max(axis=-1) for name in ("dq", "dqd", "qd"))
    # the violation of velocities also depends on the change of positions
    sizes = np.stack([dq, dqd + dq * (1.0 + qd)])
    return np.asarray((np.abs(opened_by).max(axis=-1) > CLOSURE_TOLERANCE * sizes).any(axis=0))


def _slack(qd: Floats) -> Floats:
    """Tolerance of the velocity constraint, relative for large velocities."""
    return np.asarray(CLOSURE_TOLERANCE * np.maximum(1.0, np.abs(qd).max(axis=-1)))


def why_closed_unanswered(
    arm: Arm, verb: str, values: Mapping[str, JointValues], row: int, options: RunOptions
) -> RobolinError | None:
    """Run one row again to find its error; None if it is valid."""
    arrays = joint_arrays(arm, {name: values[name] for name in NEEDED_STATE[verb]})
    batch = batch_of(arrays)
    state = row_of(arm, arrays, batch, row)

    def require_answer() -> None:
        require_sound(arm, state)
        _require_answer(arm, verb, state, options)

    return error_in(row, batch, require_answer)


def _require_answer(arm: Arm, verb: str, state: Mapping[str, Floats], options: RunOptions) -> None:
    """Raise the error of a single state with finite values."""
    if verb == "hold":
        evaluate(without_closures(arm), "inverse", state, **_of_tree(options))
        return
    failure = LoopFailure(int(evaluate_closed(arm, verb, state, options)[1][0]))
    closures = Closures(arm, state["q"][None], state["qd"][None])
    if failure == LoopFailure.OPEN:
        raise RobolinError(_farthest(arm, closures.open_by[0]), hint=CLOSE_HINT)
    if failure == LoopFailure.OPENING:
        text = _farthest(arm, closures.opening[0], "has a velocity violation of", "/s")
        raise RobolinError(text, hint=CLOSE_HINT)
    if failure == LoopFailure.INCONSISTENT_CHANGE:
        raise RobolinError(_torn_by(arm, closures, state), hint=CLOSE_CHANGE)
    if failure == LoopFailure.TOO_LARGE and options.get("loop_method") == "schur":
        evaluate(without_closures(arm), "mass-matrix-inverse", {"q": state["q"]})
    if failure in EXPLAINED:
        message, hint, names_source = EXPLAINED[failure]
        raise RobolinError(message, where=arm.source if names_source else "", hint=hint)


# fixed message and hint of a failure, and whether the error names the source of the arm
EXPLAINED = {
    LoopFailure.NO_INERTIA: (
        "the constraints allow a motion without inertia, so its acceleration is undefined",
        "add mass to the links, or add armature to the joints",
        True,
    ),
    LoopFailure.DEAD_POINT: (
        "the constraints are singular: the linkage is at a dead point with nonzero velocity",
        "start at another position, or start with velocity 0",
        True,
    ),
    LoopFailure.TOO_LARGE: (
        "the result is too large for double precision",
        "check the units and the magnitudes of the values",
        False,
    ),
}


def _farthest(
    arm: Arm, gaps: Floats, verb: str = "has a constraint violation of", per: str = ""
) -> str:
    """Text with the closure of the largest violation, and its size."""
    at = int(np.abs(gaps).argmax())
    loop, component = row_names(arm)[at].rsplit("/", 1)
    unit = joint_unit("position", turns=not component.startswith("f"))
    others = (np.abs(gaps) > CLOSURE_TOLERANCE).sum()
    more = f" ({others} of {len(gaps)} equations are violated)" if others > 1 else ""
    return f"the closure of loop '{loop}' {verb} {abs(gaps[at]):.3g} {unit}{per}{more}"


def _torn_by(arm: Arm, closures: Closures, state: Mapping[str, Floats]) -> str:
    """Text with the closure that the change violates most, by positions or velocities."""
    dq, dqd = state["dq"], state["dqd"]
    by_q, by_qd = (rows[0] for rows in closures.change(dq[None], dqd[None]))
    if np.abs(by_q).max() > CLOSURE_TOLERANCE * np.abs(dq).max():
        return f"dq: violates the constraints: {_farthest(arm, by_q, 'changes by')}"
    message = _farthest(arm, by_qd, "has a velocity violation of", "/s")
    return f"dqd: violates the constraints: {message}"


def _require_method(options: RunOptions) -> None:
    hint = f"loop methods: {', '.join(LOOP_SOLVERS)}"
    method = options.get("loop_method")
    if method is not None and method not in tuple(LOOP_SOLVERS):
        raise UsageError(f"unknown loop method '{method}'", hint=hint)
    recursion = options.get("method", "auto")
    if recursion != "auto":
        message = f"'{recursion}' supports kinematic trees only, and the robot has closed loops"
        raise UsageError(
            message, where="method", hint=f"omit the method, or use --loop-method; {hint}"
        )
