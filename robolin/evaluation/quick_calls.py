"""Fast path for one state: a kernel as a built-in function, or a portable call where it is not.

A quick call takes the arrays of one state, or of a batch with one state, and returns its results:
an array or a tuple of arrays.  It returns None for other arguments, and for results that need
checking.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from itertools import repeat
from typing import TYPE_CHECKING, Any, TypeVar

from robolin.core.arm import CACHE_SLOT, Arm, cached_on_arm
from robolin.core.arrays import AnyArray, Arrays, JointValues, np
from robolin.core.former_names import wrong_arguments
from robolin.dynamics.catalogue import ALGORITHMS

if TYPE_CHECKING:
    from robolin.engine.compiled.plan import Plan
    from robolin.evaluation.evaluate import ArmCache

QuickCall = Callable[..., Any]
F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T")

# nanoseconds of work in a batch up to which calls of one state are faster: a batch has 30 µs of
# overhead, but its states share the lanes
FEW_ROWS_WORK = 900

# verbs whose quick calls return copies of the inputs after the results
WITH_OPERATING_POINT = ("linearize-inverse", "linearize-forward")


def no_quick_call(*_: object, **__: object) -> None:
    """Quick call that always returns None."""


def with_quick_call(call: Callable[..., Any]) -> Callable[[F], F]:
    """Decorator that replaces a public function with `call`, and keeps its signature.

    call: tries the quick call, then calls `full_call`.  It has the positional arguments of the
          public function.  All others are in *more and **options, because each default value
          adds 2 % to the time of a call
    """

    def decorate(function: F) -> F:
        return wraps(function)(call)  # type: ignore[return-value]

    return decorate


def full_call(call: Callable[..., T], state: Sequence[Any], options: Mapping[str, Any]) -> T:
    """Call the public function; reject arguments that it does not have.

    call:  the function of `with_quick_call`; it runs again without options if all of them have
           their default values
    state: the positional arguments, including surplus ones
    """
    function: Any = call.__wrapped__  # type: ignore[attr-defined]
    known = function.__kwdefaults__
    if len(state) > function.__code__.co_argcount or not options.keys() <= known.keys():
        raise wrong_arguments(call, len(state), options)
    for name, value in options.items():
        if value is not known[name] and (type(value) is not str or value != known[name]):
            break
    else:
        if options:
            return call(*state)
    result: T = function(*state, **options)
    return result


def quick_call_of(plan: Plan, copies: int = 0) -> QuickCall:
    """The quick call of a kernel; copies of the first inputs follow its results."""
    from robolin.engine.compiled.call_table import CallTable, PortableCall, is_supported

    kernel = plan.kernel_call()
    if not is_supported(kernel, copies):
        return PortableCall(plan.kernel_call, copies=copies) if kernel.joints else no_quick_call
    doc = "The results for one state, or None."
    batch_of_one = CallTable(kernel, no_quick_call, doc, batch=(1,), copies=copies).call
    return CallTable(kernel, batch_of_one, doc, copies=copies).call


def keep_quick_call(arm: Arm, verb: str, name: str, cache: ArmCache) -> None:
    """Cache the quick call of a verb where public functions and `quick_call` find it.

    name: its algorithm
    """

    def make(_: Arm) -> QuickCall:
        if verb not in WITH_OPERATING_POINT:
            return cache.quick_call(name)
        return quick_call_of(cache.single_state_plan(name), len(ALGORITHMS[name].needs))

    cached_on_arm(arm, verb, make)


def quick_call(arm: Arm, verb: str, engine: str = "auto") -> QuickCall:
    """The quick call of a verb, once `evaluate` has cached it on the arm.

    The lookup is direct because it runs up to a million times a second.
    """
    if engine == "python":
        return no_quick_call
    try:
        # another function call would add 3 % to the time of a state
        call: QuickCall = arm.__dict__[CACHE_SLOT][verb]
    except (AttributeError, KeyError):
        return no_quick_call
    return call


def call_with_arrays(quick: QuickCall, arm: Arm, *state: Any) -> Any:
    """Call again with an array for each number or list of numbers, or return None.

    Checks and broadcasting in `evaluate` would take ten times as long.
    """
    if quick is no_quick_call:
        return None
    arrays: list[AnyArray] = []
    shape: tuple[int, ...] = (arm.n,)
    for value in state:
        if type(value) is np.ndarray and value.shape in (shape, (1, *shape)):
            array = value
        elif type(value) is float:
            array = np.empty(shape)
            array.fill(value)
        elif type(value) in (list, tuple) and {*map(type, value)} == {float}:
            array = np.array(value)
        else:
            return None
        # the first argument has the positions, and its shape is that of the result
        shape = array.shape if not arrays else shape
        arrays.append(array)
    return quick(*arrays)


def _count_few_rows(n: int, state: Sequence[JointValues], row_work: int) -> int:
    """Number of rows if calls of one state are faster than a batch; 0 otherwise.

    The state has arrays (rows, n), and single numbers for all rows.
    """
    rows = 0
    for value in state:
        if type(value) is np.ndarray and value.ndim == 2 and value.dtype == float:
            rows = rows or len(value)
            if value.shape != (rows, n):
                return 0
        elif type(value) is not float:
            return 0
    return rows if rows > 1 and rows * row_work <= FEW_ROWS_WORK else 0


def few_states(
    arm: Arm, name: str, cache: ArmCache, state: Sequence[JointValues]
) -> tuple[Arrays, AnyArray] | None:
    """Results of a few rows, one by one; None for other inputs, or if a result needs checking."""
    rows = _count_few_rows(arm.n, state, cache.loaded_plan(name).row_work)
    if not rows:
        return None
    call = cache.quick_call(name)
    columns = (value if type(value) is np.ndarray else repeat(value, rows) for value in state)
    results = [call(*row) for row in zip(*columns, strict=True)]
    if any(result is None for result in results):
        return None
    gives = ALGORITHMS[name].gives
    parts = zip(*results, strict=True) if len(gives) > 1 else (results,)
    arrays = {key: np.array(part) for key, part in zip(gives, parts, strict=True)}
    return arrays, np.zeros(rows)
