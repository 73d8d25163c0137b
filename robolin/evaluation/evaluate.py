"""Evaluate quantities: select algorithm and engine, run, explain failures.

`evaluate` ignores closed loops; `evaluate_arm` and `Batch` solve their constraints, with modules
that are imported only for arms with closed loops.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from math import prod
from typing import Any, Literal, TypedDict, Unpack, get_args

from robolin.core.arm import Arm, cached_on_arm
from robolin.core.arrays import (
    AnyArray,
    Arrays,
    Floats,
    JointValues,
    batch_of,
    is_batch_of_one,
    is_single_state,
    is_sound,
    joint_arrays,
    kernel_rows,
    nonfinite_input_rows,
    nonfinite_result_rows,
    np,
    on_floats,
    require_arm,
    require_finite_results,
    require_loops,
    require_sound,
    require_tree,
    row_of,
)
from robolin.core.choices import DTYPES, DType, LoopMethod
from robolin.core.state_array import StateArray
from robolin.core.text import join_and
from robolin.dynamics.algorithm import Algorithm
from robolin.dynamics.catalogue import ALGORITHMS, algorithms_by_method
from robolin.engine.parameters import Parameters, parameters_of
from robolin.errors import RobolinError, UsageError
from robolin.evaluation import quick_calls
from robolin.evaluation.methods import (
    CONVENTIONAL_UP_TO,
    METHOD_ALIASES,
    METHODS,
    Method,
    not_with_groups,
    not_with_mimic,
)
from robolin.evaluation.quick_calls import QuickCall, no_quick_call

Engine = Literal["auto", "python", "compiled"]
ENGINES: tuple[Engine, ...] = get_args(Engine)

# quantities that depend on q, q̇ and q̈ only, also with closed loops
KINEMATIC = frozenset(name for name, each in ALGORITHMS.items() if each.kinematic)

# from this many states on, a kernel is loaded or compiled
FEW_STATES = 64
# rows up to which calls of one state may be faster than a batch
FEW_ROWS = 8
# calls after which a kernel is compiled even for small batches
FEW_CALLS = 200

# work from which a kernel is faster even for one state, compilation included: Python takes about
# 4 µs per entry of a result, compiling takes 0.1 to 0.6 s for any arm
MUCH_WORK = 100_000
# steps of an elimination that cost as much as one entry
_STEPS_PER_ENTRY = 8

# function of the arrays and the batch shape that runs while threads wake up
OverlapFunction = Callable[[Mapping[str, Floats], tuple[int, ...]], object]

# lanes of the kernels for single states
MIN_LANES = 2


class EngineChoice(TypedDict, total=False):
    """Options that select algorithm, engine and threads, but not the quantity."""

    method: Method
    engine: Engine
    jobs: int | None


class RunOptions(EngineChoice, total=False):
    """The same with the solver of loop constraints and the type of the results."""

    loop_method: LoopMethod | None
    dtype: DType


def evaluate(
    arm: Arm,
    verb: str,
    values: Mapping[str, JointValues],
    overlap: OverlapFunction | None = None,
    **options: Unpack[RunOptions],
) -> Arrays:
    """Compute named results for a state or a batch; raise for a state without a result."""
    results, unanswered = evaluate_rows(arm, verb, values, overlap, **options)
    require_answers(unanswered, lambda row: explain_failure(arm, verb, values, row, **options))
    return results


def evaluate_rows(
    arm: Arm,
    verb: str,
    values: Mapping[str, JointValues],
    overlap: OverlapFunction | None = None,
    **options: Unpack[RunOptions],
) -> tuple[Arrays, AnyArray]:
    """Compute results, and a status per row: 0 if the row is valid."""
    require_arm(arm)
    if options:
        require_known(options)
        _require_nothing_of_loops(arm, options)
    engine, cache = options.get("engine", "auto"), arm_cache(arm)
    key = (verb, options.get("method", "auto"))
    name = cache.names.get(key)
    if name is None:
        name = cache.names[key] = select_algorithm(arm, *key)
    single = options.get("dtype") == "float32"
    if engine != "python" and cache.loaded_plan(name) and not single:
        state = _one_or_few_states(arm, key, name, values)
        if state is not None:
            return state

    needed = {each: values[each] for each in ALGORITHMS[name].needs}
    if single:
        from robolin.evaluation.float32 import evaluate_float32

        return evaluate_float32(arm, name, needed, options, overlap)
    arrays = joint_arrays(arm, needed)
    batch = batch_of(arrays)
    if engine == "python" or (engine == "auto" and not _worth_a_kernel(arm, name, prod(batch))):
        return run_directly(arm, name, arrays, batch)
    inputs = [kernel_rows(array, batch) for array in arrays.values()]
    overlapped = partial(overlap, arrays, batch) if overlap else lambda: None
    one = prod(batch) == 1 and name not in cache.plans
    plan, jobs = cache.single_state_plan(name) if one else cache.plan(name), options.get("jobs")
    rows: tuple[Arrays, AnyArray] = plan.call_batch(inputs, batch, jobs, overlap=overlapped)
    return rows


def select_algorithm(arm: Arm, verb: str, method: Method) -> str:
    """Name of the algorithm for a quantity; raise if closed loops rule it out."""
    if not independent_of_loops(verb):
        require_tree(arm, verb)
    if _about_closures(verb):
        require_loops(arm)
    return algorithm_for(arm, verb, method)


def algorithm_for(arm: Arm, verb: str, method: Method = "auto") -> str:
    """Name in the catalogue of the algorithm for `verb` on this arm."""
    if arm.groups and verb in ALGORITHMS and ALGORITHMS[verb].inverts_bodies:
        raise not_with_groups(arm, verb)
    by_method = algorithms_by_method(verb)
    for each in candidate_methods(arm, verb, method):
        for name in by_method.get(each, ()):
            if is_applicable(arm, ALGORITHMS[name]):
                return name
    raise not_with_mimic(arm, "conventional" in by_method)


def candidate_methods(arm: Arm, verb: str, method: Method) -> tuple[str, ...]:
    """The methods to try, in this order."""
    if method != "auto":
        requested = METHOD_ALIASES.get(method, method)
        # ignore a method that only other verbs have
        return (requested,) if requested in algorithms_by_method(verb) else ("operator",)
    if arm.n <= CONVENTIONAL_UP_TO.get(verb, 0):
        return "conventional", "operator"
    return "operator", "conventional"


def is_applicable(arm: Arm, algorithm: Algorithm) -> bool:
    if algorithm.kind in ("any", "reaching", "closed") and not algorithm.independent:
        return True
    return not arm.has_mimic and (algorithm.kind != "serial" or arm.serial)


def _one_or_few_states(
    arm: Arm, key: tuple[str, Method], name: str, values: Mapping[str, JointValues]
) -> tuple[Arrays, AnyArray] | None:
    """Results from a loaded kernel; None unless the values are plainly those of few states.

    A batch also returns None if a result needs checking.
    """
    algorithm, cache, (verb, method) = ALGORITHMS[name], arm_cache(arm), key
    state = [values[each] for each in algorithm.needs]
    single = is_single_state(arm, state)
    if not single and not is_batch_of_one(arm, state):
        few = type(state[0]) is np.ndarray and state[0].size <= FEW_ROWS * arm.n
        return quick_calls.few_states(arm, name, cache, state) if few else None
    call = cache.quick_call(name)
    results = call(*state)
    if results is None and not single:
        return None
    if results is None:
        explained: tuple[Arrays, AnyArray] = cache.loaded_plan(name).call_single(state)
        return explained
    if method == "auto":
        quick_calls.keep_quick_call(arm, verb, name, cache)
    several = results if len(algorithm.gives) > 1 else (results,)
    return dict(zip(algorithm.gives, several, strict=True)), np.zeros(1)


def _worth_a_kernel(arm: Arm, name: str, states: int) -> bool:
    """True if a kernel is in memory, or the work justifies loading or compiling one."""
    cache = arm_cache(arm)
    if name in cache.plans:
        return True
    much = states >= FEW_STATES or work_of(arm, name) >= MUCH_WORK
    if not much and cache.count_call(name) <= FEW_CALLS:
        return False
    from robolin.engine.compiled.kernels import can_compile

    return can_compile()


def work_of(arm: Arm, name: str) -> int:
    """Approximate work of an algorithm for one state, in entries of its results."""
    algorithm, parameters = ALGORITHMS[name], arm_cache(arm).parameters
    entries = sum(prod(parameters.sizes(shape)) for shape in algorithm.gives.values())
    if algorithm.method != "conventional":
        return entries
    # factorization of the mass matrix, then a row or column of it for every entry
    return entries + (arm.n**3 // 6 + arm.n * entries) // _STEPS_PER_ENTRY


def require_known(options: RunOptions) -> None:
    """Reject unknown options and values."""
    for name in options:
        if name not in RunOptions.__annotations__:
            hint = f"options: {join_and([*RunOptions.__annotations__])}"
            raise UsageError(f"unknown option '{name}'", hint=hint)
    for word, known in (("method", METHODS), ("engine", ENGINES), ("dtype", DTYPES)):
        chosen = options.get(word, known[0])
        if chosen not in known:
            raise UsageError(f"unknown {word} '{chosen}'", hint=f"{word}s are {join_and(known)}")
    jobs = options.get("jobs")
    if jobs is not None and (not isinstance(jobs, int) or jobs < 1):
        message = f"jobs: must be a number of threads ≥ 1 or None, got {jobs!r}"
        raise UsageError(message, hint="give 1, 2, … or None")


def _require_nothing_of_loops(arm: Arm, options: RunOptions) -> None:
    """Reject loop_method: this path solves no loop constraints."""
    if options.get("loop_method") is not None:
        message = "has no effect" if arm.loops else "the robot has no closed loops"
        raise UsageError(message, where="loop_method", hint="omit it")


def run_directly(
    arm: Arm, name: str, arrays: Mapping[str, AnyArray], batch: tuple[int, ...]
) -> tuple[Arrays, AnyArray]:
    """Run on floats for a few states, on NumPy arrays for more."""
    # imported here because kernels do not need it
    from robolin.engine.run import run_on

    algorithm = ALGORITHMS[name]
    results, shortfalls, _ = run_on(
        arm_cache(arm).parameters, algorithm.run, algorithm.gives, arrays
    )
    if on_floats(arrays) and on_floats(results):
        sound = not shortfalls and is_sound(arm, arrays, results)
        return results, StateArray([0.0 if sound else 1.0])
    unanswered = nonfinite_input_rows(arm, arrays, batch) | nonfinite_result_rows(results, batch)
    for shortfall in shortfalls:
        unanswered[... if shortfall.rows is None else shortfall.rows] = True
    return results, unanswered


def explain_failure(
    arm: Arm, verb: str, values: Mapping[str, JointValues], row: int, **options: Unpack[RunOptions]
) -> RobolinError | None:
    """Run one row again to find its error; None if it is valid."""
    from robolin.engine.direct import no_inertia
    from robolin.engine.run import run_on

    name = algorithm_for(arm, verb, options.get("method", "auto"))
    algorithm = ALGORITHMS[name]
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

    error = error_in(row, batch, require_answer)
    if error is None and options.get("dtype") == "float32":
        from robolin.evaluation.float32 import explain_float32_failure

        return explain_float32_failure(arm, name, state, batch, row)
    return error


def independent_of_loops(verb: str) -> bool:
    """True if the result is the same with closed loops, or describes the closures."""
    return verb in KINEMATIC or _about_closures(verb)


def _about_closures(verb: str) -> bool:
    return verb in ALGORITHMS and ALGORITHMS[verb].kind == "closed"


class ArmCache:
    """Cached values of an arm: parameters, selected algorithms and kernels."""

    def __init__(self, arm: Arm) -> None:
        self.parameters: Parameters = parameters_of(arm)
        self.names: dict[tuple[str, str], str] = {}
        self.plans: dict[str, Any] = {}
        self._run_counts: dict[str, int] = {}
        self._narrow_plans: dict[str, Any] = {}
        self._calls: dict[str, QuickCall] = {}
        self.tables: Any = None

    def count_call(self, name: str) -> int:
        """Count a run without a kernel; return the number of such runs."""
        self._run_counts[name] = self._run_counts.get(name, 0) + 1
        return self._run_counts[name]

    def plan(self, name: str) -> Any:
        """The kernel of an algorithm for this arm, compiled if necessary."""
        if name not in self.plans:
            self.plans.setdefault(name, self._new_plan(name))
        return self.plans[name]

    def single_state_plan(self, name: str) -> Any:
        """The kernel with the fewest lanes, the fastest for one state."""
        if name not in self._narrow_plans:
            self._narrow_plans.setdefault(name, self._new_plan(name, MIN_LANES))
        return self._narrow_plans[name]

    def plan_of_width(self, name: str, width: int | None) -> Any:
        """The kernel with this number of lanes; None for the number of this machine."""
        if width == MIN_LANES:
            return self.single_state_plan(name)
        return self.plan(name) if width is None else self._new_plan(name, width)

    def kernel_spec_of(self, name: str, width: int | None = None) -> Any:
        from robolin.engine.compiled.plan import arm_tables, kernel_spec

        self.tables = self.tables or arm_tables(self.parameters)
        return kernel_spec(name, ALGORITHMS[name], self.tables, width)

    def _new_plan(self, name: str, width: int | None = None) -> Any:
        from robolin.engine.compiled.plan import Plan

        spec = self.kernel_spec_of(name, width)
        return Plan(self.tables, spec)

    def loaded_plan(self, name: str) -> Any:
        """A kernel that is in memory, None without one."""
        return self.plans.get(name) or self._narrow_plans.get(name)

    def quick_call(self, name: str) -> QuickCall:
        """The call of the kernel with the fewest lanes, compiled only if many calls follow."""
        call = self._calls.get(name)
        if call is None:
            if name in self.plans and name not in self._narrow_plans:
                from robolin.engine.compiled.kernels import is_cached

                few = self.count_call(name) <= FEW_CALLS
                if few and not is_cached(self.kernel_spec_of(name, MIN_LANES)):
                    return no_quick_call
            plan = self.single_state_plan(name)
            call = self._calls.setdefault(name, quick_calls.quick_call_of(plan))
        return call


def arm_cache(arm: Arm) -> ArmCache:
    """The cache of an arm, created on first use."""
    return cached_on_arm(arm, "evaluation", ArmCache)


def require_answers(unanswered: AnyArray, why: Callable[[int], RobolinError | None]) -> None:
    """Raise the error of the first invalid row."""
    if unanswered[0] if unanswered.size == 1 else unanswered.any():
        for row in np.flatnonzero(unanswered):
            error = why(int(row))
            if error is not None:
                raise error


def error_in(row: int, batch: tuple[int, ...], require: Callable[[], None]) -> RobolinError | None:
    """The error that `require` raises, with the row number added; None if it raises none."""
    try:
        require()
    except RobolinError as error:
        prefix = f"state {row}: " if batch else ""
        return RobolinError(prefix + error.message, where=error.where, hint=error.hint)
    return None


def evaluate_arm(
    arm: Arm,
    verb: str,
    values: Mapping[str, JointValues],
    overlap: OverlapFunction | None = None,
    **options: Unpack[RunOptions],
) -> Arrays:
    """Compute named results for a state or a batch; raise for a state without a result."""
    if not _closed(arm, verb):
        return evaluate(arm, verb, values, overlap, **options)
    from robolin.evaluation.loop_evaluation import evaluate_closed, why_closed_unanswered

    results, unanswered = evaluate_closed(arm, verb, values, options)
    require_answers(unanswered, lambda row: why_closed_unanswered(arm, verb, values, row, options))
    return results


def evaluate_any_arm_rows(
    arm: Arm, verb: str, values: Mapping[str, JointValues], **options: Unpack[RunOptions]
) -> tuple[Arrays, Floats]:
    """Compute results, and a status per row: 0 if the row is valid."""
    if not _closed(arm, verb):
        return evaluate_rows(arm, verb, values, **options)
    from robolin.evaluation.loop_evaluation import evaluate_closed

    return evaluate_closed(arm, verb, values, options)


def why_any_arm_unanswered(
    arm: Arm, verb: str, values: Mapping[str, JointValues], row: int, **options: Unpack[RunOptions]
) -> RobolinError | None:
    """Run one row again to find its error; None if it is valid."""
    if not _closed(arm, verb):
        return explain_failure(arm, verb, values, row, **options)
    from robolin.evaluation.loop_evaluation import why_closed_unanswered

    return why_closed_unanswered(arm, verb, values, row, options)


def _closed(arm: Arm, verb: str) -> bool:
    """True if the closed loops of the arm change the result."""
    require_arm(arm)
    return bool(arm.loops) and not independent_of_loops(verb)
