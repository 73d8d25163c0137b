"""A verb on an arm as a function of the arrays of one state, with argument checks.

`PythonCall` is that function in Python, with an error message for each check.  `NativeCall` makes
a built-in function that takes a microsecond and falls back to `PythonCall`.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable, Collection, Sequence
from functools import cache
from typing import Any

import numpy as np

from robolin.core.arm import Arm, cached_on_arm
from robolin.core.arrays import AnyArray, Floats
from robolin.core.text import did_you_mean, pluralize
from robolin.dynamics.catalogue import ALGORITHMS
from robolin.engine.compiled.call_table import CallTable, PortableCall, is_supported
from robolin.engine.compiled.kernels import can_compile, host_width, require_compiler
from robolin.engine.compiled.native import NativeKernel
from robolin.engine.compiled.plan import KernelCall
from robolin.engine.compiled.straight_kernel import StraightKernel, StraightKernels
from robolin.errors import RobolinError, UsageError
from robolin.evaluation.constant_inputs import JointsNamed, require_prescribed_of_use
from robolin.evaluation.evaluate import (
    MIN_LANES,
    arm_cache,
    explain_failure,
    independent_of_loops,
    run_directly,
    select_algorithm,
)
from robolin.evaluation.frames import reject_unused_frame
from robolin.evaluation.methods import Method, reject_unused_method
from robolin.evaluation.quick_calls import keep_quick_call


class PythonCall:
    """Compute one state into new arrays or into `out`; reject invalid arguments.

    fixed: the last input of the algorithm, if it is constant in all states
    """

    result_type: Any
    arm: Arm
    verb: str
    fixed: Floats | None

    def __init__(
        self, arm: Arm, verb: str, method: Method = "auto", fixed: Floats | None = None
    ) -> None:
        self.arm, self.verb, self.method, self.fixed = arm, verb, method, fixed
        self._name = _required_algorithm(arm, verb, method)
        needs = ALGORITHMS[self._name].needs
        self.needs: tuple[str, ...] = needs if fixed is None else needs[:-1]
        self.kernel: KernelCall | None = None
        self._into: Callable[[Sequence[AnyArray], Sequence[AnyArray]], float] = self._compute_into
        self._portable: PortableCall | None = None
        if can_compile():
            plan = arm_cache(arm).single_state_plan(self._name)
            self.kernel = plan.kernel_call()
            if arm.n:
                self._portable = PortableCall(plan.kernel_call, fixed)
                self._into = self._portable.into
        parameters = arm_cache(arm).parameters
        self._shapes = {
            name: parameters.sizes(shape) for name, shape in ALGORITHMS[self._name].gives.items()
        }
        self._row_shape = (arm.n,)
        self.gives = tuple(self._shapes)
        self.result_type = result_type(verb, self.gives) if len(self.gives) > 1 else None

    def __reduce__(self) -> tuple[Any, ...]:
        return PythonCall, (self.arm, self.verb, self.method, self.fixed)

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        quick = self._quick_results(arguments, named)
        if quick is not None:
            return quick
        *inputs, out = self._bind(arguments, named)
        for name, value in zip(self.needs, inputs, strict=True):
            if not _is_usual_array(value, self._row_shape):
                _require_array(name, value, self._row_shape)
        results = self._new_arrays() if out is None else self._output_arrays(out)
        if out is not None:
            _require_apart([*inputs, *results], len(inputs))
        every = inputs if self.fixed is None else [*inputs, self.fixed]
        if self._into(every, results):
            self._require_answer(every)
        if out is not None:
            return out
        return results[0] if self.result_type is None else self.result_type(*results)

    def _quick_results(self, arguments: Sequence[Any], named: dict[str, Any]) -> Any:
        """The results of the usual arrays; None for other arguments and without a result."""
        if self._portable is None:
            return None
        if not named:
            quick = self._portable.checked(arguments, None)
            return quick if quick is None or self.result_type is None else self.result_type(*quick)
        out = named.get("out")
        if out is None or len(named) != 1:
            return None
        if self.result_type is None:
            quick = self._portable.checked(arguments, (out,))
        elif isinstance(out, (tuple, list)):
            quick = self._portable.checked(arguments, out)
        else:
            quick = None
        return None if quick is None else out

    def _compute_into(self, inputs: Sequence[AnyArray], outputs: Sequence[AnyArray]) -> float:
        """Compute one state without a kernel; return its status, 0 if it has a result."""
        values = dict(zip(ALGORITHMS[self._name].needs, inputs, strict=True))
        results, status = run_directly(self.arm, self._name, values, ())
        for output, array in zip(outputs, results.values(), strict=True):
            output[...] = array
        return float(status[0])

    def _bind(self, arguments: Sequence[Any], named: dict[str, Any]) -> list[Any]:
        """Bind positional and keyword arguments; `out` is last."""
        if len(arguments) == len(self.needs) and len(named) == 1 and "out" in named:
            return [*arguments, named["out"]]
        names = (*self.needs, "out")
        if len(arguments) > len(names):
            most = pluralize(len(self.needs), "array")
            raise TypeError(
                f"{self.verb}: must be called with at most {most} and out, got "
                f"{len(arguments)} arguments"
            )
        values = dict(zip(names, arguments, strict=False))
        for name, value in named.items():
            if name not in names:
                raise TypeError(
                    f"{self.verb}: unknown argument '{name}'; arguments are {', '.join(names)}"
                )
            if name in values:
                raise TypeError(f"{self.verb}: argument '{name}' is given twice")
            values[name] = value
        missing = [name for name in self.needs if name not in values]
        if missing:
            raise TypeError(f"{self.verb}: missing arguments {', '.join(missing)}")
        return [values.get(name) for name in names]

    def _new_arrays(self) -> list[AnyArray]:
        return [np.empty(shape) for shape in self._shapes.values()]

    def _output_arrays(self, out: Any) -> list[AnyArray]:
        """Validate `out` and return its arrays."""
        shapes = self._shapes
        if self.result_type is None:
            arrays = [out]
        elif isinstance(out, (tuple, list)):
            arrays = list(out)
        else:
            names = ", ".join(shapes)
            raise TypeError(f"out: must be a tuple of arrays ({names}), got {type(out).__name__}")
        if len(arrays) != len(shapes):
            raise ValueError(f"out: must have {len(shapes)} arrays, got {len(arrays)}")
        for (name, shape), array in zip(shapes.items(), arrays, strict=True):
            if _is_usual_array(array, shape):
                continue
            where = "out" if self.result_type is None else f"{name} of out"
            _require_array(where, array, shape)
            if not array.flags.writeable:
                raise ValueError(f"{where}: is read-only")
        return arrays

    def _require_answer(self, inputs: Sequence[AnyArray]) -> None:
        """Raise the error of a state with a nonzero status, if it has one."""
        values = dict(zip(ALGORITHMS[self._name].needs, inputs, strict=True))
        error = explain_failure(self.arm, self.verb, values, 0, method=self.method)
        if error is not None:
            raise error


class NativeCall(CallTable):
    """The `self` object of the built-in function of an arm.

    Python pickles a built-in method by its `self` and name; `__reduce__` creates a new `self`.
    """

    def __init__(self, plain: PythonCall) -> None:
        head = f"call({', '.join(plain.needs)}, out=None)\n--\n\n"
        doc = f"{head}Compute {', '.join(plain.gives)} for one state of the arm '{plain.arm.name}'."
        assert plain.kernel is not None, "a built-in function has a kernel"
        super().__init__(plain.kernel, plain, doc, plain.result_type, plain.fixed)
        self._plain = plain

    def __reduce__(self) -> tuple[Any, ...]:
        return NativeCall, (self._plain,)


def compiled_call(
    arm: Arm, verb: str, method: Method = "auto", fixed: Floats | None = None
) -> Callable[..., Any]:
    """Function of one state for a verb: built-in if supported, else a `PythonCall`."""
    plain = PythonCall(arm, verb, method, fixed)
    if plain.kernel is None:
        return plain
    if method == "auto" and fixed is None:
        keep_quick_call(arm, verb, _required_algorithm(arm, verb, method), arm_cache(arm))
    return NativeCall(plain).call if is_supported(plain.kernel) else plain


def kernel_of(arm: Arm, verb: str, method: Method, width: int | None) -> NativeKernel:
    """The kernel of a verb by address."""
    require_compiler("a kernel by address")
    name = _required_algorithm(arm, verb, method)
    plan = arm_cache(arm).plan_of_width(name, width)
    return NativeKernel.of(plan, name, ALGORITHMS[name].needs)


def fastest_kernel_of(
    arm: Arm, verb: str, width: int | None, blocks: int
) -> NativeKernel | StraightKernel:
    """The kernel of a verb by address: straight-line code if it pays, else the general kernel.

    width: MIN_LANES for one state, None for many
    blocks: number of calls with one block of rows
    """
    name = _required_algorithm(arm, verb, "auto")
    lanes = 1 if width == MIN_LANES else width or host_width()
    spec = arm_cache(arm).kernel_spec_of(name, lanes)
    straight = straight_kernels(arm).get(spec, blocks)
    return straight or kernel_of(arm, verb, "auto", width)


def straight_kernels(arm: Arm) -> StraightKernels:
    """The straight-line kernels of an arm."""
    return cached_on_arm(arm, "straight kernels", lambda _: StraightKernels(arm_cache(arm).tables))


def kernel_verb(verb: str) -> str:
    """Validate a verb or an algorithm that has a kernel; return its name in the catalogue."""
    # variants with prescribed joints are selected by the argument `prescribe`
    own = {name: each for name, each in ALGORITHMS.items() if "prescribed" not in each.needs}
    verbs = tuple(dict.fromkeys(each.verb or name for name, each in own.items()))
    return resolve_verb(verb, verbs, "to compile", algorithms=own)


def _required_algorithm(arm: Arm, verb: str, method: Method) -> str:
    """Name of the algorithm whose kernel alone computes the verb; raise if there is none."""
    if arm.loops and not independent_of_loops(verb):
        raise RobolinError(
            f"{verb} cannot be compiled for robots with closed loops",
            where=arm.source,
            hint="use robolin.forward, or add open_loops=True to ignore the loop constraints",
        )
    name = select_algorithm(arm, verb, method)
    if arm.groups and any("link" in shape for shape in ALGORITHMS[name].gives.values()):
        group = arm.groups[0].name
        message = (
            f"{verb} returns one result per link, but a kernel represents '{group}' by "
            "several links"
        )
        raise RobolinError(
            message, where=arm.source, hint=f"call robolin.{verb.replace('-', '_')} instead"
        )
    return name


@cache
def result_type(verb: str, names: tuple[str, ...]) -> Any:
    """Named tuple type of the results of a verb."""
    title = "".join(word.capitalize() for word in verb.split("-"))
    base: Any = namedtuple(title, names)  # type: ignore[misc]

    def again(self: Any) -> tuple[Any, ...]:
        return _result, (verb, names, tuple(self))

    about = f"The results of {verb} for one state: one array per result."
    return type(title, (base,), {"__slots__": (), "__doc__": about, "__reduce__": again})


def _result(verb: str, names: tuple[str, ...], arrays: tuple[AnyArray, ...]) -> Any:
    return result_type(verb, names)(*arrays)


_FLOAT64 = np.dtype(np.float64)


def _is_usual_array(value: Any, shape: tuple[int, ...]) -> bool:
    """True for a contiguous, aligned and writable array of doubles; other arrays may do too."""
    return (
        type(value) is np.ndarray
        and value.dtype is _FLOAT64
        and value.shape == shape
        and bool(value.flags.carray)
    )


def _require_array(name: str, value: Any, shape: tuple[int, ...]) -> None:
    """Reject anything but a contiguous float64 array of this shape."""
    if type(value) is not np.ndarray:
        raise TypeError(f"{name}: must be a numpy.ndarray, got {type(value).__name__}")
    if value.dtype != np.float64 or not value.dtype.isnative:
        raise TypeError(f"{name}: must have type float64, got {value.dtype}")
    if value.shape != shape:
        raise ValueError(f"{name}: must have shape {shape}, got {value.shape}")
    if not (value.flags.c_contiguous and value.flags.aligned):
        raise ValueError(f"{name}: must be contiguous; use numpy.ascontiguousarray")


def _require_apart(arrays: Sequence[AnyArray], inputs: int) -> None:
    """Reject output arrays that share memory with another array."""
    different = len({id(array) for array in arrays}) == len(arrays)
    if different and all(array.flags.owndata for array in arrays):
        return
    for i, array in enumerate(arrays[inputs:], inputs):
        for other in arrays[:i]:
            # exact for contiguous arrays
            if np.may_share_memory(array, other):
                raise ValueError("out: must not share memory with another argument")


def reject_unused_options(
    verbs: Sequence[str],
    method: str,
    frame: str | None,
    point: Sequence[float],
    prescribe: JointsNamed | None,
) -> None:
    """Reject a frame, prescribed joints or a method that none of the verbs uses."""
    reject_unused_frame(verbs, frame, point)
    require_prescribed_of_use(verbs, prescribe, method)
    reject_unused_method(verbs, method)


def resolve_verb(
    verb: object, known: Sequence[str], end: str, algorithms: Collection[str] = ()
) -> str:
    """Validate the name of a function, written with - or _, and return it with -.

    end:        end of the error message, such as 'to compile'
    algorithms: other accepted names, which hints do not list
    """
    if not isinstance(verb, str):
        hint = "pass the name of a function as a string, such as 'inverse'"
        raise UsageError(f"unknown function {verb!r} {end}", hint=hint)
    spelt = verb.replace("_", "-")
    if spelt not in known and spelt not in algorithms:
        require_prescribed_of_use([spelt], None)
        hint = did_you_mean(spelt, known)
        raise UsageError(f"unknown function '{verb}' {end}", hint=hint)
    return spelt
