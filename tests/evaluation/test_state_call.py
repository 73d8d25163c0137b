"""Compiled functions of one state: the bits of the public functions, from any thread."""

from __future__ import annotations

import gc
import inspect
import math
import pickle
import re
import sys
import weakref
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import robolin
from robolin.api import mass_matrices
from robolin.core.arm import Arm
from robolin.dynamics.catalogue import ALGORITHMS
from robolin.engine.compiled import call_table, call_text, kernels
from robolin.engine.compiled.call_table import CallTable, PortableCall, is_supported
from robolin.errors import RobolinError, UsageError
from robolin.evaluation.evaluate import FEW_CALLS, FEW_STATES, MIN_LANES, arm_cache, evaluate
from robolin.evaluation.frames import ABOUT_A_FRAME, at_frame
from robolin.evaluation.quick_calls import no_quick_call, quick_call
from robolin.evaluation.state_call import PythonCall, compiled_call
from tests.robots import random_arm, random_states, with_follower

CHAIN = random_arm(61, 3)
WITH_QUICK_CALL = ("inverse", "forward", "mass_matrix", "linearize_inverse", "linearize_forward")
TREE = random_arm(62, 5, tree=True)
MIMIC = with_follower(random_arm(63, 4))
PLAIN = robolin.load("two-link")

native = pytest.mark.skipif(bool(call_table.fallback_reason()), reason=call_table.fallback_reason())


def state_of(arm: Arm, needs: tuple[str, ...], seed: int = 3) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {name: rng.uniform(-1.0, 1.0, arm.n) for name in needs}


def results_of(result: Any) -> list[np.ndarray]:
    return list(result) if isinstance(result, tuple) else [result]


def same_bits(computed: Any, expected: Any) -> bool:
    pairs = zip(results_of(computed), results_of(expected), strict=True)
    return all(a.shape == b.shape and a.tobytes() == b.tobytes() for a, b in pairs)


# one result or several, of every number of axes, and as many inputs as there are
QUICK = ("inverse", "energy")
SHAPES = ("mass-matrix-second-derivative", "regressor", "linearize-forward", "jacobian")
SLOW = (*SHAPES, "perturb-inverse", "frame-derivatives")


@pytest.mark.parametrize(
    "verb", [*QUICK, *(pytest.param(verb, marks=pytest.mark.slow) for verb in SLOW)]
)
def test_kernels_can_be_called(verb: str) -> None:
    """A compiled call gives the bits that the same algorithm gives on floats."""
    state = state_of(TREE, ALGORITHMS[verb].needs)
    frame = TREE.links[-1].name if verb in ABOUT_A_FRAME else None
    placed = TREE if frame is None else at_frame(TREE, frame)
    expected = evaluate(placed, verb, state, engine="python")
    computed = robolin.compile(TREE, verb, frame=frame)(*state.values())
    assert same_bits(computed, tuple(expected.values()))


def test_every_verb_fits_the_table() -> None:
    """No algorithm has more inputs, results or axes than a call takes, also with a batch axis."""
    for entry in ALGORITHMS.values():
        assert len(entry.needs) <= call_text.MOST_INPUTS
        assert len(entry.gives) <= call_text.MOST_RESULTS
        assert all(len(shape) < call_text.MOST_AXES for shape in entry.gives.values())


@pytest.mark.parametrize("arm", [CHAIN, MIMIC], ids=["chain", "mimic"])
@pytest.mark.parametrize(
    "verb", ["inverse", pytest.param("linearize-forward", marks=pytest.mark.slow)]
)
def test_plain_and_built_in_calls_agree(arm: Arm, verb: str) -> None:
    """Where the interpreter allows no built-in function, the plain path gives the same bits."""
    call, plain = robolin.compile(arm, verb), PythonCall(arm, verb)
    state = state_of(arm, plain.needs).values()
    assert same_bits(call(*state), plain(*state))
    into = tuple(np.full_like(each, np.nan) for each in results_of(call(*state)))
    out = into if len(into) > 1 else into[0]
    assert plain(*state, out) is out
    assert same_bits(out, call(*state))


@native
def test_calls_are_built_in_here() -> None:
    """On an interpreter that was tested, calls are functions of the interpreter itself."""
    call = robolin.compile(CHAIN, "inverse")
    assert inspect.isbuiltin(call)
    assert list(inspect.signature(call).parameters) == ["q", "qd", "qdd", "out"]
    assert CHAIN.name in (call.__doc__ or "")


def test_an_unsupported_interpreter_uses_the_fallback(monkeypatch: pytest.MonkeyPatch) -> None:
    """If set, or on an untested interpreter, calls use plain Python and state why."""
    assert call_table.fallback_reason.__wrapped__() == call_table.fallback_reason()
    monkeypatch.setattr(sys, "_is_gil_enabled", lambda: True, raising=False)
    for name, value, why in (
        ("SUPPORTED_MINORS", (), "was not tested"),
        ("FUNCTIONS", {"none": "PyNo_SuchThing"}, "does not export the required functions"),
        ("_arrays_are_as_expected", lambda: False, "a different memory layout"),
        ("new_array_address", lambda: 0, "a different memory layout"),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(call_table, name, value)
            assert why in call_table.fallback_reason.__wrapped__()
    monkeypatch.setenv(call_table.PLAIN, "1")
    assert call_table.PLAIN in call_table.fallback_reason.__wrapped__()


def test_without_built_in_functions_everything_works(monkeypatch: pytest.MonkeyPatch) -> None:
    """Public functions and compiled calls give the same bits by the plain path."""
    arm = replace(CHAIN)
    state = state_of(arm, ("q", "qd", "qdd"))
    expected = robolin.inverse(CHAIN, **state, engine="python")
    monkeypatch.setattr(call_table, "fallback_reason", lambda: "this is a test")
    kernels.warn_once.cache_clear()
    with pytest.warns(RuntimeWarning, match="several microseconds instead of 1 µs, because this"):
        call = robolin.compile(arm, "inverse")
    # later calls do not repeat the warning
    assert isinstance(robolin.compile(arm, "inverse"), PythonCall)
    assert isinstance(call, PythonCall)
    assert isinstance(quick_call(arm, "inverse"), PortableCall)
    assert same_bits(call(**state), expected)
    assert same_bits(robolin.inverse(arm, **state, engine="compiled"), expected)
    assert same_bits(robolin.inverse(arm, *state.values()), expected)
    assert same_bits(pickle.loads(pickle.dumps(call))(**state), expected)
    kernels.warn_once.cache_clear()


@pytest.mark.parametrize("verb", ["inverse", "energy"])
def test_the_portable_call(verb: str) -> None:
    """A portable call has the bits of floats, new arrays, and None for all other arguments."""
    call = PortableCall(arm_cache(CHAIN).plan(verb).kernel_call)
    needs = ALGORITHMS[verb].needs
    state = list(state_of(CHAIN, needs).values())
    first, second = call(*state), call(*(2.0 * each for each in state))
    expected = evaluate(CHAIN, verb, dict(zip(needs, state, strict=True)), engine="python")
    assert same_bits(first, tuple(expected.values()))
    assert not same_bits(first, second)
    # a strided array has the same values
    assert same_bits(call(np.repeat(state[0], 2)[::2], *state[1:]), first)
    for other in ([*state[0]], state[0][:2], state[0].astype("f4"), state[0].astype(">f8"), None):
        assert call(other, *state[1:]) is None
    assert call(*state[1:]) is None
    assert call(np.full(CHAIN.n, np.nan), *state[1:]) is None
    into = [np.empty_like(each) for each in results_of(first)]
    assert call.into(state, into) == 0.0
    assert same_bits(tuple(into), first)


@pytest.mark.parametrize("verb", ["inverse", "energy"])
def test_portable_calls_fill_only_arrays_of_their_own(verb: str) -> None:
    """`checked` fills fitting outputs, and nothing if one shares memory or cannot be written."""
    call = PortableCall(arm_cache(CHAIN).plan(verb).kernel_call)
    needs = ALGORITHMS[verb].needs
    state = list(state_of(CHAIN, needs).values())
    expected = results_of(call(*state))
    fresh = [np.empty_like(each) for each in expected]
    assert call.checked(state, fresh) is not None
    assert same_bits(tuple(fresh), tuple(expected))
    assert same_bits(tuple(results_of(call.checked(state, None))), tuple(expected))
    read_only = np.empty_like(fresh[0])
    read_only.flags.writeable = False
    part = np.empty((2, *fresh[0].shape))[0]
    for wrong in (read_only, part, np.empty(CHAIN.n + 1), fresh[0].astype("f4"), [1.0], *state):
        before = [each.copy() for each in state]
        assert call.checked(state, [wrong, *fresh[1:]]) is None
        assert same_bits(tuple(state), tuple(before))
    assert call.checked(state, [fresh[0]] * (len(fresh) + 1)) is None
    assert call.checked([np.repeat(state[0], 2)[::2], *state[1:]], None) is None


def test_portable_calls_may_interrupt_each_other() -> None:
    """A call that starts during another one, as in a signal handler, has its own memory."""
    call = PortableCall(arm_cache(CHAIN).plan("inverse").kernel_call)
    state = list(state_of(CHAIN, ("q", "qd", "qdd")).values())
    expected, nested = call(*state), []
    buffers = call._free.pop()

    def interrupted() -> None:
        buffers.run()
        nested.append(call(*(3.0 * each for each in state)))

    call._free.append(buffers._replace(run=interrupted))
    assert same_bits(call(*state), expected)
    assert not same_bits(nested[0], expected)
    assert len(call._free) == 2


@native
@pytest.mark.parametrize("verb", ["inverse", "energy"])
def test_calls_and_their_results_can_be_pickled(verb: str) -> None:
    """A call made again from its pickle gives the same bits; named tuples keep their names."""
    call = robolin.compile(CHAIN, verb)
    state = state_of(CHAIN, ALGORITHMS[verb].needs).values()
    result, again = call(*state), pickle.loads(pickle.dumps(call))
    assert again is not call
    assert same_bits(again(*state), result)
    assert deepcopy(call)(*state) is not None
    kept = pickle.loads(pickle.dumps(result))
    assert type(kept) is type(result)
    assert same_bits(kept, result)


@pytest.mark.usefixtures("quick_collections")
@pytest.mark.slow
def test_calls_outlive_their_arm() -> None:
    """A call works after the last other reference to the arm is gone, and then frees it."""
    arm = replace(CHAIN)
    state = state_of(arm, ("q", "qd", "qdd")).values()
    expected = robolin.inverse(CHAIN, *state, engine="python")
    call, gone = robolin.compile(arm, "inverse"), weakref.ref(arm)
    del arm
    gc.collect()
    assert same_bits(call(*state), expected)
    del call
    gc.collect()
    assert gone() is None


@pytest.mark.usefixtures("quick_collections")
@native
def test_functions_of_one_object_share_what_they_read() -> None:
    """A function works after another one of the same object was created and deleted."""
    call = robolin.compile(replace(CHAIN), "inverse")
    state = state_of(CHAIN, ("q", "qd", "qdd")).values()
    expected, name = call(*state), call.__name__
    for _ in range(100):
        other = call.__self__.call  # type: ignore[attr-defined]
        assert same_bits(other(*state), expected)
        del other
    gc.collect()
    assert (call.__name__, next(iter(inspect.signature(call).parameters))) == (name, "q")
    assert same_bits(call(*state), expected)


@pytest.mark.usefixtures("quick_collections")
@pytest.mark.slow
@native
def test_calls_leave_no_references_behind() -> None:
    """However a call ends, the reference counts of arrays, tuples and None are correct."""
    import sys

    call = robolin.compile(CHAIN, "energy")
    q, qd = state_of(CHAIN, ("q", "qd")).values()
    out = call(q, qd)
    watched = (q, qd, out, *out, type(out), np.ndarray, call)
    wrong = np.full(3, np.nan)

    def every_way() -> None:
        call(q, qd)
        call(q, qd, None)
        call(q, qd, out)
        call(q, qd, out=out)
        for refused in ((q,), (q, wrong), (q, [1.0]), (q, qd, (q, qd))):
            with pytest.raises((TypeError, ValueError, RobolinError)):
                call(*refused)

    every_way()
    gc.collect()
    before = [sys.getrefcount(each) for each in watched]
    for _ in range(20):
        every_way()
    gc.collect()
    assert [sys.getrefcount(each) for each in watched] == before


@pytest.mark.parametrize("portable", [False, True])
def test_threads_share_a_call(portable: bool) -> None:
    """Concurrent calls from several threads give every thread its own results."""
    plain: Any = PythonCall(TREE, "energy")
    call = plain if portable else robolin.compile(TREE, "energy")
    states = random_states(TREE, 40)
    rows = list(zip(states.q, states.qd, strict=True))
    expected = [call(*row) for row in rows]

    def work(start: int) -> bool:
        turned = [*range(start, len(rows)), *range(start)] * 10
        return all(same_bits(call(*rows[i]), expected[i]) for i in turned)

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(work, range(4)))


def test_unsupported_calls_are_rejected() -> None:
    """Unknown functions and methods, closed loops and a missing arm are errors."""
    for verb in (3, None, ["inverse"]):
        with pytest.raises(
            UsageError,
            match=re.escape(f"unknown function {verb!r} to compile\nhint: pass the name"),
        ):
            robolin.compile(CHAIN, verb)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="unknown method 'best'"):
        robolin.compile(CHAIN, "inverse", method="best")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="arm: must be a loaded robot, got 'panda'"):
        robolin.compile("panda", "inverse")  # type: ignore[arg-type]
    with pytest.raises(
        RobolinError, match="four-bar: forward cannot be compiled for robots with closed loops"
    ):
        robolin.compile(robolin.load("four-bar"), "forward")
    floating = robolin.load("two-link", floating_base=True)
    with pytest.raises(
        RobolinError,
        match="link-accelerations returns one result per link, but a kernel represents 'base' by "
        "several links",
    ):
        robolin.compile(floating, "link-accelerations")


def test_commands_and_functions_have_the_same_names() -> None:
    """The name of the function is accepted as the command; both give the same call."""
    q, qd, tau = state_of(PLAIN, ("q", "qd", "tau")).values()
    call, other = (robolin.compile(PLAIN, f"linearize{mark}forward") for mark in "_-")
    assert same_bits(call(q, qd, tau), other(q, qd, tau))


def test_a_frame_and_a_point_are_those_of_the_functions() -> None:
    """A compiled call about a frame gives the bits of the function; without one it is an error."""
    q, qd = state_of(PLAIN, ("q", "qd")).values()
    about: dict[str, Any] = {"frame": "tip", "point": (0.1, 0.0, 0.2)}
    computed = robolin.compile(PLAIN, "jacobian", **about)(q, qd)
    expected = robolin.jacobian(PLAIN, q, qd, **about)
    for name in computed._fields:
        assert same_bits(getattr(computed, name), getattr(expected, name))
    with pytest.raises(UsageError, match="frames and no default frame"):
        robolin.compile(robolin.load("ur5"), "jacobian")


@pytest.mark.parametrize("plain", [False, True])
def test_prescribed_joints(plain: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """The call takes accelerations too and returns torques, with the bits of the function."""
    if plain:
        monkeypatch.setattr("robolin.evaluation.state_call.is_supported", lambda kernel: False)
    call = robolin.compile(PLAIN, "forward", prescribe="elbow")
    state = state_of(PLAIN, ("q", "qd", "tau", "qdd"))
    # unused inputs are not checked
    computed, other = call(**state), {**state, "tau": state["tau"] + [0.0, 9.0]}
    assert same_bits(call(**other, out=computed), computed)
    options = {**state, "prescribed": np.array([0.0, 1.0])}
    expected = evaluate(PLAIN, "forward-prescribed", options, engine="python")
    assert same_bits(computed, tuple(expected.values()))
    assert computed._fields == ("qdd", "tau")
    assert same_bits(pickle.loads(pickle.dumps(call))(**state), computed)
    with pytest.raises(RobolinError, match="must be finite"):
        call(**{**state, "qd": np.array([np.nan, 0.0])})
    with pytest.raises(ValueError, match="must not share memory"):
        call(**state, out=(state["q"], state["q"]))


@pytest.mark.parametrize(
    ("verb", "chosen", "message"),
    [
        ("invrse", {}, "unknown function 'invrse' .*\nhint: did you mean 'inverse'"),
        ("nope", {}, "unknown function 'nope' .*\nhint: choose one of '"),
        ("inverse", {"frame": "tip"}, "frame: 'inverse' does not use a frame"),
        ("inverse", {"point": (0.0, 0.0, 1.0)}, "point: 'inverse' does not use a frame"),
        ("inverse", {"point": 1.0}, "give x, y, z in m"),
        ("jacobian", {"frame": "elsewhere"}, "two-link: frame: link 'elsewhere' not found"),
        ("inverse", {"prescribe": "elbow"}, "prescribe: has no effect on 'inverse'"),
        ("forward", {"prescribe": "nobody"}, "prescribe: movable joint 'nobody' not found"),
        ("forward", {"prescribe": "elbow", "method": "a"}, "method: cannot be used with prescribe"),
        ("forward-prescribed", {}, "use forward with prescribe='base'"),
        (
            "linearize-forward-prescribed",
            {},
            "use linearize-forward with prescribe='base'",
        ),
        (
            "forward-prescribed-conventional",
            {},
            "use forward with prescribe='base'",
        ),
    ],
)
def test_choices_without_effect_are_refused(
    verb: str, chosen: dict[str, Any], message: str, tmp_path: Path
) -> None:
    """The error names the option, wherever a command becomes a function."""
    for make in (robolin.compile, robolin.casadi_function):
        with pytest.raises(UsageError, match=message):
            make(PLAIN, verb, **chosen)
    with pytest.raises(UsageError, match=message):
        robolin.generate(PLAIN, [verb], tmp_path / "made", **chosen)


@pytest.mark.parametrize("batch", [(), (1,)])
@pytest.mark.parametrize("verb", ["inverse", "energy"])
def test_copies_of_inputs_follow_the_results(verb: str, batch: tuple[int, ...]) -> None:
    """With copies, built-in and portable calls add new arrays with the bits of the inputs."""
    plan, needs = arm_cache(CHAIN).plan(verb), ALGORITHMS[verb].needs
    state = [each.reshape(*batch, CHAIN.n) for each in state_of(CHAIN, needs).values()]
    expected = robolin.compile(CHAIN, verb)(*(each.reshape(CHAIN.n) for each in state))
    calls: list[Any] = []
    if not batch:
        calls.append(PortableCall(plan.kernel_call, copies=len(needs)))
    if not call_table.fallback_reason():
        kernel, count = plan.kernel_call(), len(needs)
        calls.append(CallTable(kernel, no_quick_call, "", batch=batch, copies=count).call)
    for call in calls:
        returned = call(*state)
        results = returned[: -len(needs)]
        assert [each.tobytes() for each in results] == [e.tobytes() for e in results_of(expected)]
        copies = returned[-len(needs) :]
        assert same_bits(copies, tuple(state))
        assert not any(np.shares_memory(a, b) for a in copies for b in (*state, *results))
        assert all(each.flags.owndata and each.flags.writeable for each in returned)
        assert call(np.full_like(state[0], np.nan), *state[1:]) is None


@native
@pytest.mark.parametrize("shape", [(4,), (2, 7), (1, 3, 5, 2)])
def test_new_arrays_are_those_of_numpy(shape: tuple[int, ...]) -> None:
    """NumPy's C function gives the type, strides and flags of numpy.empty."""
    made, like = call_table.new_array(shape), np.empty(shape)
    assert type(made) is type(like)
    assert (made.dtype, made.shape, made.strides) == (like.dtype, like.shape, like.strides)
    assert made.flags == like.flags


@native
def test_the_module_is_sound() -> None:
    """LLVM's verifier accepts the function's assembly."""
    offsets = {name: getattr(CallTable, name).offset for name, *_ in CallTable._fields_}
    kernels._llvm().parse_assembly(call_text.call_text(offsets)).verify()


# public functions


def unusual(arm: Arm) -> Iterator[Any]:
    """Values of one or more states that the fast path does not support."""
    q = state_of(arm, ("q",))["q"]
    yield from (list(q), tuple(q), 0.3, 1, {arm.joint_names[0]: 0.2}, q.astype("f4"), q[None])
    yield from (np.tile(q, (3, 1)), np.stack([q, q], axis=1)[:, 0], q.astype(">f8"))


@native
@pytest.mark.parametrize(
    "function",
    [
        *(robolin.inverse, robolin.forward, robolin.mass_matrix),
        *(robolin.linearize_inverse, robolin.linearize_forward),
    ],
)
def test_the_fast_path_returns_all_fields(function: Callable[..., Any]) -> None:
    """After many calls of one state, results have the same fields and bits, in new arrays."""
    arm, few = robolin.load("two-link"), 1 if function is robolin.mass_matrix else 3
    state = np.random.default_rng(3).uniform(-1.0, 1.0, (3, 2))[:few]
    many = [np.tile(values, (2 * FEW_STATES, 1)) for values in state]
    true = function(arm, *state, engine="python")
    function(arm, *many)
    for _ in range(FEW_CALLS + 1):
        function(arm, *state)
    assert quick_call(arm, function.__name__.replace("_", "-")) is not no_quick_call
    computed = function(arm, *state)
    assert type(computed) is type(true)
    inputs = list(state)
    for one, other in zip(_arrays(computed), _arrays(true), strict=True):
        assert one.tobytes() == other.tobytes()
        assert not any(np.shares_memory(one, values) for values in inputs)


def _arrays(result: Any) -> list[np.ndarray]:
    if isinstance(result, np.ndarray):
        return [result]
    return [values for values in vars(result).values() if isinstance(values, np.ndarray)]


def test_the_fast_path_is_only_for_plain_states() -> None:
    """With and without a fast path, every argument gives the same bits."""
    arm, other = replace(CHAIN), replace(CHAIN)
    robolin.compile(arm, "inverse")
    assert quick_call(arm, "inverse") is not no_quick_call
    assert quick_call(arm, "inverse", "python") is no_quick_call
    for q in unusual(arm):
        expected = robolin.inverse(other, q, 0.1, 0.2, engine="python")
        assert same_bits(robolin.inverse(arm, q, 0.1, 0.2), expected)
    with pytest.raises(RobolinError, match="must be finite"):
        robolin.inverse(arm, np.full(3, np.nan), np.zeros(3), np.zeros(3))


@native
def test_options_with_default_values_use_the_fast_path(monkeypatch: pytest.MonkeyPatch) -> None:
    """Options that change nothing cost no evaluation of a batch; other options do."""
    arm, q = replace(CHAIN), np.array([0.3, -0.7, 0.2])
    expected = robolin.mass_matrix(arm, q)
    robolin.compile(arm, "mass-matrix")
    monkeypatch.setattr(mass_matrices, "evaluate_arm", None)
    assert robolin.mass_matrix(q=q, arm=arm).tobytes() == expected.tobytes()
    options: Any = {"method": "auto", "engine": "".join(["au", "to"]), "jobs": None}
    assert robolin.mass_matrix(arm, q, **options).tobytes() == expected.tobytes()
    with pytest.raises(TypeError, match="NoneType"):
        robolin.mass_matrix(arm, q, jobs=1)


@pytest.mark.parametrize("name", WITH_QUICK_CALL)
def test_positional_arguments_are_those_of_the_signature(name: str) -> None:
    """The function that is called first has the positional arguments of the documented one."""
    called = getattr(robolin, name)
    documented = called.__wrapped__
    names = [
        each.__code__.co_varnames[: each.__code__.co_argcount] for each in (called, documented)
    ]
    assert names[0] == names[1]
    defaults = documented.__defaults__ or ()
    assert called.__defaults__[len(names[0]) - len(defaults) :] == defaults
    assert inspect.getsource(called).startswith("@with_quick_call(_quick_")


def test_repeated_calls_get_a_kernel() -> None:
    """After many calls of one state each, the next uses a kernel of few lanes, not of many."""
    arm = replace(PLAIN)
    q = np.array([0.3, -0.7])
    for _ in range(FEW_CALLS):
        before = robolin.mass_matrix(arm, q)
    assert arm_cache(arm).loaded_plan("mass-matrix") is None
    assert same_bits(robolin.mass_matrix(arm, q), before)
    assert arm_cache(arm).loaded_plan("mass-matrix").width == MIN_LANES
    assert same_bits(robolin.mass_matrix(arm, q), before)


@native
def test_a_kernel_for_batches_runs_the_first_states() -> None:
    """After a batch, single states use its kernel; after many of them, one with few lanes."""
    arm = replace(PLAIN)
    batch = np.random.default_rng(4).uniform(-1.0, 1.0, (2 * FEW_STATES, 2))
    expected = robolin.mass_matrix(arm, batch)
    loaded = arm_cache(arm).loaded_plan("mass-matrix")
    assert loaded.width == kernels.host_width()
    spec = arm_cache(arm).kernel_spec_of("mass-matrix", MIN_LANES)
    first = kernels.is_cached(spec)
    assert same_bits(robolin.mass_matrix(arm, batch[0]), expected[0])
    assert (quick_call(arm, "mass-matrix") is no_quick_call) is not first
    for _ in range(FEW_CALLS):
        robolin.mass_matrix(arm, batch[0])
    assert quick_call(arm, "mass-matrix") is not no_quick_call
    assert kernels.is_cached(spec)
    assert same_bits(robolin.mass_matrix(arm, batch[1]), expected[1])
    assert arm_cache(arm).loaded_plan("mass-matrix") is loaded


def test_results_too_many_or_too_deep_are_plain(monkeypatch: pytest.MonkeyPatch) -> None:
    """A kernel that does not fit the table is called by the plain path."""
    kernel = arm_cache(CHAIN).plan("inverse").kernel_call()
    shapes = {f"r{i}": (3,) for i in range(call_text.MOST_RESULTS + 1)}
    assert is_supported(kernel) == (not call_table.fallback_reason())
    assert not is_supported(replace(kernel, shapes=shapes))
    assert not is_supported(replace(kernel, shapes={"r": (1,) * (call_text.MOST_AXES + 1)}))
    assert not is_supported(replace(kernel, inputs=call_text.MOST_INPUTS + 1))
    assert compiled_call(CHAIN, "inverse") is not None


@pytest.mark.parametrize("name", ["inverse", "forward", "linearize_inverse", "linearize_forward"])
def test_a_batch_of_one_state_is_that_state(name: str) -> None:
    """Arrays (1, n) give the bits of arrays (n,) with a leading axis, also by the fast call."""
    arm, function = robolin.load("two-link"), getattr(robolin, name)
    state = np.random.default_rng(2).uniform(-1.0, 1.0, (3, arm.n))
    robolin.compile(arm, name.replace("_", "-"))
    for _ in range(3):
        one, row = function(arm, *state), function(arm, *state[:, None])
        fields = getattr(one, "__dataclass_fields__", None) or getattr(one, "_fields", ())
        pairs = [(getattr(one, each), getattr(row, each)) for each in fields] or [(one, row)]
        for alone, batch in pairs:
            if isinstance(alone, np.ndarray):
                assert batch.shape == (1, *alone.shape)
                assert np.array_equal(batch[0], alone)
    bad = state[:, None].copy()
    bad[0, 0, 0] = np.nan
    with pytest.raises(robolin.RobolinError, match="q: must be finite"):
        function(arm, *bad)


@native
@pytest.mark.parametrize("name", ["inverse", "forward", "linearize_inverse", "linearize_forward"])
def test_numbers_and_lists_have_the_bits_of_arrays(name: str) -> None:
    """Omitted arguments, numbers, lists and "hold" take the fast path to the same results."""
    arm, function = robolin.load("two-link"), getattr(robolin, name)
    q, zero = np.array([0.3, -0.7]), np.zeros(2)
    last = robolin.inverse(arm, q) if name == "linearize_forward" else zero
    robolin.compile(arm, name.replace("_", "-"))
    robolin.compile(arm, "inverse")
    cases = [
        (function(arm, q), (q, zero, last)),
        (function(arm, [0.3, -0.7], (0.5, -1.0), 0.2), (q, np.array([0.5, -1.0]), zero + 0.2)),
        (function(arm, 0.3, -0.0), (zero + 0.3, -zero, last)),
        (function(arm, q[None], 0.5), (q[None], zero[None] + 0.5, last[None])),
    ]
    if name == "linearize_forward":
        hold = [robolin.inverse(arm, *state) for state in ((zero + 0.3, -zero), (q[None], 0.5))]
        cases[2:] = [(m, (*s[:2], tau)) for (m, s), tau in zip(cases[2:], hold, strict=True)]
    for computed, state in cases:
        for one, other in zip(
            _arrays(computed), _arrays(function(arm, *state, engine="python")), strict=True
        ):
            assert one.shape == other.shape
            assert one.tobytes() == other.tobytes()
    for wrong in ([0.3], [0.3, "a"], math.nan, [math.inf, 0.0], [True, False, True]):
        with pytest.raises(RobolinError):
            function(arm, q, wrong)
    if name.endswith("forward"):
        with pytest.raises(RobolinError, match="'hold'"):
            function(arm, q, tau="holds")


@native
def test_the_fast_call_takes_batches_of_one_state() -> None:
    """Two shapes are built-in; arrays of other or mixed shapes are for the general path."""
    arm = robolin.load("two-link")
    row = np.ones((1, arm.n))
    for _ in range(300):
        robolin.forward(arm, row, row, row)
    call = quick_call(arm, "forward")
    assert call is not no_quick_call
    assert call(row, row, row).shape == (1, arm.n)
    for other in (row[0], np.ones((2, arm.n)), np.ones((1, 1, arm.n)), row.astype("f4")):
        assert call(row, other, row) is None


def test_few_rows_have_the_bits_of_a_batch() -> None:
    """Rows of a small batch are computed one by one: same values, shapes and errors."""
    arm = robolin.load("two-link")
    many = np.random.default_rng(4).standard_normal((3, 80, 2))
    expected = robolin.forward(arm, *many), robolin.linearize_forward(arm, *many)
    for rows in (2, 3, 8):
        few = many[:, :rows]
        assert np.array_equal(robolin.forward(arm, *few), expected[0][:rows])
        model = robolin.linearize_forward(arm, *few)
        assert np.array_equal(model.dqdd_dq, expected[1].dqdd_dq[:rows])
        assert np.array_equal(model.q, few[0])
        # a number is the same for all rows
        alone = robolin.forward(arm, few[0], 0.0, few[2])
        zero = np.zeros((80, 2))
        assert np.array_equal(alone, robolin.forward(arm, many[0], zero, many[2])[:rows])
    wrong = many[:, :3].copy()
    wrong[0, 1, 0] = np.nan
    with pytest.raises(robolin.RobolinError, match="state 1: q: must be finite"):
        robolin.forward(arm, *wrong)
