"""From values to results: choose the algorithm, choose how to run it, explain what fails."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any, Literal, TypedDict, Unpack, get_args

from numpy.typing import ArrayLike

from robolin.arm import Arm
from robolin.dynamics.catalogue import ALGORITHMS, ONE_FREEDOM
from robolin.engine.parameters import Parameters, parameters_of
from robolin.engine.run import Arrays, no_inertia, run
from robolin.errors import RobolinError, UsageError
from robolin.evaluation.unanswered import (
    error_in,
    infinite_rows,
    require_answers,
    row_of,
    unsound_rows,
)
from robolin.input_checks import (
    Array,
    array_of,
    batch_of,
    is_one_state,
    require_arm,
    require_finite_results,
    require_loops,
    require_sound,
    require_tree,
    spread,
)

Method = Literal[
    "auto",
    "operator",
    "conventional",
    "bias-free",
    "bias-free-links",
    "three-sweeps",
    "a",
    "b",
    "c",
    "d",
]
Engine = Literal["auto", "python", "compiled"]
LoopMethod = Literal["kkt", "schur", "null-space"]

METHODS = get_args(Method)
# the four recursions for forward dynamics, by the letters they have in their paper
LETTERS: Mapping[str, str] = {
    "a": "bias-free",
    "b": "bias-free-links",
    "c": "three-sweeps",
    "d": "operator",
}
ENGINES = ("auto", "python", "compiled")

# joints up to which elimination beats the recursions on the compiled engine, as measured in
# docs/performance.md; one state on floats follows the same rule so that its bits are the same
CONVENTIONAL_UP_TO = {"linearize-forward": 12, "perturb-forward": 8}

# what follows from q, q̇ and q̈ alone, whether or not loops are closed
KINEMATIC = frozenset(
    {"jacobian", "frame-motion", "frame-derivatives", "link-accelerations", "tip-acceleration"}
)

# below this many states a kernel that is not in memory yet is not worth loading
FEW_STATES = 64


class How(TypedDict, total=False):
    """How to run: which algorithm, on what engine, by how many threads; never what comes out."""

    method: Method
    engine: Engine
    jobs: int | None
    loop_method: LoopMethod | None


class Ready:
    """What was worked out about an arm and is kept with it: its numbers, and kernels for them."""

    def __init__(self, arm: Arm) -> None:
        self.parameters: Parameters = parameters_of(arm)
        self.names: dict[tuple[str, str], str] = {}
        self.plans: dict[str, Any] = {}
        self._prepared: Any = None

    def plan(self, name: str) -> Any:
        """The kernel of an algorithm for this arm; compiled, if it must be."""
        from robolin.engine.compiled.plan import Plan, prepared, recipe_for

        if name in self.plans:
            return self.plans[name]
        self._prepared = self._prepared or prepared(self.parameters)
        recipe = recipe_for(name, ALGORITHMS[name], self._prepared)
        return self.plans.setdefault(name, Plan(self._prepared, recipe))


def ready(arm: Arm) -> Ready:
    """Kept in the arm itself, as a cached property would be, so that it goes when the arm goes."""
    found: Ready | None = arm.__dict__.get("_ready")
    if found is None:
        found = arm.__dict__["_ready"] = Ready(arm)
    return found


def evaluate(arm: Arm, verb: str, values: Mapping[str, ArrayLike], **how: Unpack[How]) -> Arrays:
    """Named results for a state or a batch; a state that cannot be answered is an error."""
    results, unanswered = evaluate_rows(arm, verb, values, **how)
    require_answers(unanswered, lambda row: why_unanswered(arm, verb, values, row, **how))
    return results


def evaluate_rows(
    arm: Arm, verb: str, values: Mapping[str, ArrayLike], **how: Unpack[How]
) -> tuple[Arrays, Array]:
    """Results, and for each row a number that is 0 if nothing seemed wrong with it."""
    require_arm(arm)
    if how:
        require_known(how)
    engine, known = how.get("engine", "auto"), ready(arm)
    question = (verb, how.get("method", "auto"))
    name = known.names.get(question)
    if name is None:
        if not same_when_closed(verb):
            require_tree(arm, verb)
        name = known.names[question] = algorithm_name(arm, *question)
    algorithm, plan = ALGORITHMS[name], known.plans.get(name)
    if plan is not None and engine != "python":
        given = [values[each] for each in algorithm.needs]
        if is_one_state(arm, given):
            state: tuple[Arrays, Array] = plan.one(given)
            return state

    arrays = {each: array_of(arm, each, values[each]) for each in algorithm.needs}
    batch = batch_of(arrays)
    few = prod(batch) < FEW_STATES and plan is None
    if engine == "python" or (engine == "auto" and few):
        return _run_directly(arm, name, arrays, batch)
    inputs = [spread(array, batch) for array in arrays.values()]
    rows: tuple[Arrays, Array] = known.plan(name).many(inputs, batch, how.get("jobs"))
    return rows


def require_known(how: How) -> None:
    """Only options there are, with values they may have."""
    for name in how:
        if name not in How.__annotations__:
            raise UsageError(
                f"there is no option '{name}'",
                hint=f"options are {_listed([*How.__annotations__])}",
            )
    for word, known in (("method", METHODS), ("engine", ENGINES)):
        chosen = how.get(word, "auto")
        if chosen not in known:
            raise UsageError(f"there is no {word} '{chosen}'", hint=f"{word}s are {_listed(known)}")
    jobs = how.get("jobs")
    if jobs is not None and (not isinstance(jobs, int) or jobs < 1):
        raise UsageError(f"jobs is {jobs!r}, not a number of threads", hint="1, 2, … or None")


def _listed(words: Sequence[str]) -> str:
    return f"{', '.join(words[:-1])} and {words[-1]}"


def _run_directly(
    arm: Arm, name: str, arrays: Mapping[str, Array], batch: tuple[int, ...]
) -> tuple[Arrays, Array]:
    """Floats for one state, NumPy arrays for several."""
    algorithm = ALGORITHMS[name]
    results, shortfalls = run(ready(arm).parameters, algorithm.run, algorithm.gives, arrays)
    unanswered = unsound_rows(arm, arrays, batch) | infinite_rows(results, batch)
    for shortfall in shortfalls:
        unanswered[... if shortfall.rows is None else shortfall.rows] = True
    return results, unanswered


def why_unanswered(
    arm: Arm, verb: str, values: Mapping[str, ArrayLike], row: int, **how: Unpack[How]
) -> RobolinError | None:
    """What is wrong with one row, found out by running it again by itself; None if nothing is."""
    algorithm = ALGORITHMS[algorithm_name(arm, verb, how.get("method", "auto"))]
    arrays = {each: array_of(arm, each, values[each]) for each in algorithm.needs}
    batch = batch_of(arrays)
    state = row_of(arm, arrays, batch, row)

    def require_answer() -> None:
        require_sound(arm, state)
        results, shortfalls = run(ready(arm).parameters, algorithm.run, algorithm.gives, state)
        if shortfalls:
            raise no_inertia(shortfalls[0], arm.source)
        require_finite_results(results)

    return error_in(row, batch, require_answer)


def same_when_closed(verb: str) -> bool:
    """Whether the answer is the same with loops closed, or is about the closures themselves."""
    return verb in KINEMATIC or (verb in ALGORITHMS and ALGORITHMS[verb].kind == "closed")


def algorithm_name(arm: Arm, verb: str, method: Method = "auto") -> str:
    """The algorithm that answers `verb` on this arm."""
    if arm.groups and verb in ONE_FREEDOM:
        raise _not_with_groups(arm, verb)
    if ALGORITHMS[verb].kind == "closed":
        require_loops(arm)
        return verb
    conventional, chosen = f"{verb}-conventional", f"{verb}-{LETTERS.get(method, method)}"
    if method == "conventional" and conventional in ALGORITHMS:
        return conventional
    if method == "auto" and arm.n <= CONVENTIONAL_UP_TO.get(verb, 0):
        return conventional
    if ALGORITHMS[verb].kind != "any" and arm.has_mimic:
        if method == "auto" and conventional in ALGORITHMS:
            return conventional
        raise _not_with_mimic(arm, conventional in ALGORITHMS)
    if chosen in ALGORITHMS:
        return chosen
    if ALGORITHMS[verb].kind == "serial" and not arm.serial:
        return f"{verb}-tree"
    return verb


def _not_with_groups(arm: Arm, verb: str) -> RobolinError:
    group = arm.groups[0]
    carried = f"choose a base outboard of it: --base {arm.link(group.body).name}"
    return RobolinError(
        f"{verb}: shown only for joints with one freedom each, but '{group.name}' is {group.kind}",
        where=arm.source,
        hint="leave out --floating-base" if arm.floating_base else carried,
    )


def _not_with_mimic(arm: Arm, another_method: bool) -> RobolinError:
    mimics = {link.joint.name: link.joint.mimic for link in arm.links if link.joint.mimic}
    follower, mimic = next(iter(mimics.items()))
    other = "use the method 'auto' or 'conventional', or " if another_method else ""
    return RobolinError(
        "the recursions through articulated bodies need independent joints, "
        f"but '{follower}' follows '{mimic.leader}'",
        where=arm.source,
        hint=f"{other}lock the joint that is followed: --lock {mimic.leader}=0",
    )
