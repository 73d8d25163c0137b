"""From values to results: choose the algorithm, choose how to run it, explain what fails."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from math import prod
from typing import Any, Literal, TypedDict, Unpack, get_args

import numpy as np

from robolin.core.arm import Arm, cached_on_arm
from robolin.core.array_checks import (
    batch_of,
    is_single_state,
    joint_arrays,
    kernel_rows,
    require_arm,
    require_finite_results,
    require_loops,
    require_sound,
    require_tree,
)
from robolin.core.arrays import AnyArray, Arrays, Floats, JointValues
from robolin.core.choices import LoopMethod
from robolin.core.text import join_and
from robolin.dynamics.algebra.trigonometry import LARGEST_ANGLE
from robolin.dynamics.catalogue import ALGORITHMS
from robolin.engine.parameters import Parameters, parameters_of
from robolin.errors import RobolinError, UsageError
from robolin.evaluation.methods import METHODS, Method, algorithm_for
from robolin.evaluation.quick_calls import QuickCall, quick_call_of

Engine = Literal["auto", "python", "compiled"]
ENGINES: tuple[Engine, ...] = get_args(Engine)

# what follows from q, q̇ and q̈ alone, whether or not loops are closed
KINEMATIC = frozenset(name for name, each in ALGORITHMS.items() if each.kinematic)

# below this many states a kernel that is not in memory yet is not worth loading
FEW_STATES = 64
# nor is it for so many calls of few states each; whoever goes on calling is given one
FEW_CALLS = 200

# work from which a kernel is quicker even for one state, and even if it has to be compiled first:
# Python takes some 4 µs for each entry of a result, compiling 0.1 to 0.6 s whatever the arm
MUCH_WORK = 100_000
# an entry costs as much as so many steps of an elimination
_STEPS_PER_ENTRY = 8

# what is done with the arrays of many states, and their batch, while threads get going for them
Meanwhile = Callable[[Mapping[str, Floats], tuple[int, ...]], object]

# lanes of the kernels that are called for one state at a time
MIN_LANES = 2


class RunOptions(TypedDict, total=False):
    """How to run: which algorithm, on what engine, by how many threads; never what comes out."""

    method: Method
    engine: Engine
    jobs: int | None
    loop_method: LoopMethod | None


def evaluate(
    arm: Arm,
    verb: str,
    values: Mapping[str, JointValues],
    meanwhile: Meanwhile | None = None,
    **how: Unpack[RunOptions],
) -> Arrays:
    """Named results for a state or a batch; a state that cannot be answered is an error."""
    results, unanswered = evaluate_rows(arm, verb, values, meanwhile, **how)
    require_answers(unanswered, lambda row: explain_failure(arm, verb, values, row, **how))
    return results


def evaluate_rows(
    arm: Arm,
    verb: str,
    values: Mapping[str, JointValues],
    meanwhile: Meanwhile | None = None,
    **how: Unpack[RunOptions],
) -> tuple[Arrays, AnyArray]:
    """Results, and for each row a number that is 0 if nothing seemed wrong with it."""
    require_arm(arm)
    if how:
        require_known(how)
        _require_nothing_of_loops(arm, how)
    engine, cache = how.get("engine", "auto"), arm_cache(arm)
    question = (verb, how.get("method", "auto"))
    name = cache.names.get(question)
    if name is None:
        name = cache.names[question] = select_algorithm(arm, *question)
    if engine != "python" and name in cache.plans:
        state = _one_state(arm, question, name, values)
        if state is not None:
            return state

    arrays = joint_arrays(arm, {each: values[each] for each in ALGORITHMS[name].needs})
    batch = batch_of(arrays)
    if engine == "python" or (engine == "auto" and not _worth_a_kernel(arm, name, prod(batch))):
        return _run_directly(arm, name, arrays, batch)
    inputs = [kernel_rows(array, batch) for array in arrays.values()]
    also = partial(meanwhile, arrays, batch) if meanwhile else lambda: None
    rows: tuple[Arrays, AnyArray] = cache.plan(name).many(
        inputs, batch, how.get("jobs"), overlap=also
    )
    return rows


def select_algorithm(arm: Arm, verb: str, method: Method) -> str:
    """The algorithm that answers, unless closed loops make another question of it."""
    if not independent_of_loops(verb):
        require_tree(arm, verb)
    if _about_closures(verb):
        require_loops(arm)
    return algorithm_for(arm, verb, method)


def _one_state(
    arm: Arm, question: tuple[str, Method], name: str, values: Mapping[str, JointValues]
) -> tuple[Arrays, AnyArray] | None:
    """The results by a kernel that is loaded; None unless the values are plainly one state's."""
    algorithm, cache, (verb, method) = ALGORITHMS[name], arm_cache(arm), question
    given = [values[each] for each in algorithm.needs]
    if not is_single_state(arm, given):
        return None
    call = cache.fast_call(name)
    found = call(*given)
    if found is None:
        explained: tuple[Arrays, AnyArray] = cache.plans[name].one(given)
        return explained
    if method == "auto":
        # where functions look first from now on
        cached_on_arm(arm, verb, lambda _: call)
    several = found if len(algorithm.gives) > 1 else (found,)
    return dict(zip(algorithm.gives, several, strict=True)), np.zeros(1)


def _worth_a_kernel(arm: Arm, name: str, states: int) -> bool:
    """Whether a kernel is in memory, or so much is asked that one should be."""
    cache = arm_cache(arm)
    if name in cache.plans or states >= FEW_STATES or work_of(arm, name) >= MUCH_WORK:
        return True
    return cache.count_call(name) > FEW_CALLS


def work_of(arm: Arm, name: str) -> int:
    """About how much an algorithm has to do for one state of an arm, in entries of its results."""
    algorithm, parameters = ALGORITHMS[name], arm_cache(arm).parameters
    entries = sum(prod(parameters.sizes(shape)) for shape in algorithm.gives.values())
    if algorithm.method != "conventional":
        return entries
    # a factor of the mass matrix first, then a row or column of it for every entry
    return entries + (arm.n**3 // 6 + arm.n * entries) // _STEPS_PER_ENTRY


def require_known(how: RunOptions) -> None:
    """Only options there are, with values they may have."""
    for name in how:
        if name not in RunOptions.__annotations__:
            hint = f"options are {join_and([*RunOptions.__annotations__])}"
            raise UsageError(f"there is no option '{name}'", hint=hint)
    for word, known in (("method", METHODS), ("engine", ENGINES)):
        chosen = how.get(word, "auto")
        if chosen not in known:
            raise UsageError(
                f"there is no {word} '{chosen}'", hint=f"{word}s are {join_and(known)}"
            )
    jobs = how.get("jobs")
    if jobs is not None and (not isinstance(jobs, int) or jobs < 1):
        raise UsageError(f"jobs is {jobs!r}, not a number of threads", hint="1, 2, … or None")


def _require_nothing_of_loops(arm: Arm, how: RunOptions) -> None:
    """Refuse a way to solve closures, which nobody solves here."""
    if how.get("loop_method") is not None:
        message = "closures change nothing here" if arm.loops else "the arm has no closed loops"
        raise UsageError(message, where="loop_method", hint="leave it out")


def _run_directly(
    arm: Arm, name: str, arrays: Mapping[str, AnyArray], batch: tuple[int, ...]
) -> tuple[Arrays, AnyArray]:
    """Floats for one state or a few, NumPy arrays for more."""
    # kernels need nothing of this
    from robolin.engine.run import run_on

    algorithm = ALGORITHMS[name]
    results, shortfalls, _ = run_on(
        arm_cache(arm).parameters, algorithm.run, algorithm.gives, arrays
    )
    unanswered = nonfinite_input_rows(arm, arrays, batch) | nonfinite_result_rows(results, batch)
    for shortfall in shortfalls:
        unanswered[... if shortfall.rows is None else shortfall.rows] = True
    return results, unanswered


def explain_failure(
    arm: Arm, verb: str, values: Mapping[str, JointValues], row: int, **how: Unpack[RunOptions]
) -> RobolinError | None:
    """What is wrong with one row, found out by running it again by itself; None if nothing is."""
    from robolin.engine.run import run_on
    from robolin.engine.singular_pivot import no_inertia

    algorithm = ALGORITHMS[algorithm_for(arm, verb, how.get("method", "auto"))]
    arrays = joint_arrays(arm, {each: values[each] for each in algorithm.needs})
    batch = batch_of(arrays)
    state = row_of(arm, arrays, batch, row)

    def require_answer() -> None:
        require_sound(arm, state)
        results, shortfalls, _ = run_on(
            arm_cache(arm).parameters, algorithm.run, algorithm.gives, state
        )
        if shortfalls:
            raise no_inertia(shortfalls[0], arm.source)
        require_finite_results(results)

    return error_in(row, batch, require_answer)


def independent_of_loops(verb: str) -> bool:
    """Whether the answer is the same with loops closed, or is about the closures themselves."""
    return verb in KINEMATIC or _about_closures(verb)


def _about_closures(verb: str) -> bool:
    return verb in ALGORITHMS and ALGORITHMS[verb].kind == "closed"


class ArmCache:
    """What is worked out about an arm once: its numbers, algorithms by question, and kernels."""

    def __init__(self, arm: Arm) -> None:
        self.parameters: Parameters = parameters_of(arm)
        self.names: dict[tuple[str, str], str] = {}
        self.plans: dict[str, Any] = {}
        self._calls_so_far: dict[str, int] = {}
        self._narrow_plans: dict[str, Any] = {}
        self._calls: dict[str, QuickCall] = {}
        self._tables: Any = None

    def count_call(self, name: str) -> int:
        """How often an algorithm ran without a kernel, this time included."""
        self._calls_so_far[name] = self._calls_so_far.get(name, 0) + 1
        return self._calls_so_far[name]

    def plan(self, name: str) -> Any:
        """The kernel of an algorithm for this arm; compiled, if it must be."""
        if name not in self.plans:
            self.plans.setdefault(name, self._new_plan(name))
        return self.plans[name]

    def single_state_plan(self, name: str) -> Any:
        """The same on the narrowest lanes, which are the quickest for one state."""
        if name not in self._narrow_plans:
            self._narrow_plans.setdefault(name, self._new_plan(name, MIN_LANES))
        return self._narrow_plans[name]

    def _recipe(self, name: str, width: int | None = None) -> Any:
        from robolin.engine.compiled.plan import arm_tables, kernel_spec

        self._tables = self._tables or arm_tables(self.parameters)
        return kernel_spec(name, ALGORITHMS[name], self._tables, width)

    def _new_plan(self, name: str, width: int | None = None) -> Any:
        from robolin.engine.compiled.plan import Plan

        recipe = self._recipe(name, width)
        return Plan(self._tables, recipe)

    def fast_call(self, name: str) -> QuickCall:
        """The quick call of an algorithm, on narrow lanes unless those had to be compiled."""
        call = self._calls.get(name)
        if call is None:
            from robolin.engine.compiled.kernels import is_cached

            narrow = is_cached(self._recipe(name, MIN_LANES))
            plan = self.single_state_plan(name) if narrow else self.plan(name)
            call = self._calls.setdefault(name, quick_call_of(plan))
        return call


def arm_cache(arm: Arm) -> ArmCache:
    """The arm's own cache, made when it is first asked for."""
    return cached_on_arm(arm, "evaluation", ArmCache)


def nonfinite_input_rows(
    arm: Arm, arrays: Mapping[str, AnyArray], batch: tuple[int, ...]
) -> AnyArray:
    """Which rows have values that are not finite, or angles that may be too large."""
    found = np.zeros(batch, dtype=bool)
    for name, array in arrays.items():
        doubtful = ~np.isfinite(array)
        if name == "q":
            doubtful |= np.abs(array) > LARGEST_ANGLE / _largest_ratio(arm)
        found |= doubtful.any(axis=-1)
    return found.ravel()


def nonfinite_result_rows(results: Mapping[str, AnyArray], batch: tuple[int, ...]) -> AnyArray:
    """Which rows have results that do not fit in a double."""
    found = np.zeros(int(np.prod(batch)), dtype=bool)
    for values in results.values():
        own = tuple(range(len(batch), values.ndim))
        found |= ~np.isfinite(values).all(axis=own).ravel()
    return found


def require_answers(unanswered: AnyArray, why: Callable[[int], RobolinError | None]) -> None:
    """Raise what is wrong with the first row that something is wrong with."""
    if unanswered[0] if unanswered.size == 1 else unanswered.any():
        for row in np.flatnonzero(unanswered):
            error = why(int(row))
            if error is not None:
                raise error


def row_of(arm: Arm, arrays: Mapping[str, AnyArray], batch: tuple[int, ...], row: int) -> Arrays:
    """The values (n,) of one row."""
    return {
        name: np.broadcast_to(array, (*batch, arm.n)).reshape(-1, arm.n)[row]
        for name, array in arrays.items()
    }


def error_in(row: int, batch: tuple[int, ...], require: Callable[[], None]) -> RobolinError | None:
    """What `require` raises about a row, told with its number; None if it raises nothing."""
    try:
        require()
    except RobolinError as error:
        prefix = f"state {row}: " if batch else ""
        return RobolinError(prefix + error.message, where=error.where, hint=error.hint)
    return None


def _largest_ratio(arm: Arm) -> float:
    """How far a joint that mimics another may turn for each radian of it, at the most."""
    mimics = (link.joint.mimic for link in arm.links if link.joint.mimic)
    return max([1.0, *(abs(mimic.ratio) + abs(mimic.offset) for mimic in mimics)])
