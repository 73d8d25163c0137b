"""Straight-line kernels of one arm: the bits of general kernels, and the same doubtful rows."""

from __future__ import annotations

import operator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import robolin
from robolin.core.arm import Arm
from robolin.dynamics.algebra.scalar import sin_cos, sqrt, tanh
from robolin.dynamics.algebra.trigonometry import FLOAT
from robolin.dynamics.catalogue import ALGORITHMS
from robolin.engine.compiled import plan as plan_module
from robolin.engine.compiled import straight_kernel as straight_module
from robolin.engine.compiled.native import KERNEL_TYPE, KernelTable
from robolin.engine.compiled.plan import Plan, arm_tables, kernel_spec
from robolin.engine.compiled.straight_kernel import (
    SinglePrecisionConstant,
    StraightKernel,
    straight_kernel,
)
from robolin.evaluation.evaluate import MIN_LANES, algorithm_for, arm_cache
from robolin.evaluation.float32 import SinglePrecisionNumbers, float32_cache
from robolin.evaluation.state_call import fastest_kernel_of, kernel_of, straight_kernels
from tests.cli.command import forked
from tests.robots import arm_name, random_arm, random_states, with_follower, with_springs

ROWS = 19
TREE = random_arm(62, 5, tree=True, armature=True, damping=True, friction_velocity=0.05)
ARMS = (robolin.load("two-link"), TREE, with_follower(random_arm(63, 4)), with_springs(TREE))


def results_of(
    table: KernelTable, kernel: Any, inputs: list[np.ndarray]
) -> tuple[list[np.ndarray], np.ndarray]:
    """Results and status by calling the address in a table."""
    results = [np.full((len(inputs[0]), *shape), 7.0) for shape in kernel.outputs.values()]
    return kernel_results(table, results, inputs)


def kernel_results(
    table: KernelTable, results: list[np.ndarray], inputs: list[np.ndarray]
) -> tuple[list[np.ndarray], np.ndarray]:
    import ctypes

    status = np.full(len(inputs[0]), 7.0)
    pairs = [x for each in inputs for x in (each.ctypes.data, each.shape[1])]
    starts = (ctypes.c_int64 * len(pairs))(*pairs)
    ends = (ctypes.c_int64 * (len(results) + 1))(*(each.ctypes.data for each in results), 0)
    KERNEL_TYPE(table.call)(
        *(table.doubles, table.integers, starts, ends, status.ctypes.data),
        *(table.scratch, table.tables, table.staging, table.links, table.joints, 0, len(status)),
    )
    return results, status


def straight_table(arm: Arm, name: str, width: int) -> KernelTable:
    cache = arm_cache(arm)
    spec = cache.kernel_spec_of(name, width)
    kernel = straight_kernel(cache.tables, spec, True)
    assert kernel is not None
    return kernel.table()


@pytest.mark.parametrize("arm", ARMS, ids=arm_name)
@pytest.mark.parametrize(
    "verb", ["forward", "power", pytest.param("inverse", marks=pytest.mark.slow)]
)
def test_bits_are_those_of_the_general_kernel(arm: Arm, verb: str) -> None:
    """One state at a time and in lanes, with a last block that is not full."""
    states = random_states(arm, ROWS)
    inputs = [states.q, states.qd, states.qdd]
    kernel = kernel_of(arm, verb, "auto", None)
    expected, _ = kernel(kernel.table(), *inputs)
    for width in (1, 4):
        results, status = results_of(straight_table(arm, kernel.name, width), kernel, inputs)
        assert not status.any()
        for a, b in zip(results, expected, strict=True):
            assert np.array_equal(a.view(np.int64), b.view(np.int64))


@pytest.mark.parametrize("arm", ARMS, ids=arm_name)
@pytest.mark.parametrize("width", [4, pytest.param(8, marks=pytest.mark.slow), 16])
@pytest.mark.parametrize("verb", ["linearize-forward", "mass-matrix"])
def test_bits_in_single_precision(
    arm: Arm, verb: str, width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Constants are rounded before and after every operation, as float32 lanes are."""
    for module in (straight_module, plan_module):
        monkeypatch.setattr(module, "STRAIGHT_FROM", 1)
        monkeypatch.setattr(module, "LARGE_BATCH", 1)
    monkeypatch.setattr(straight_module, "COMPILED_FROM", 1)
    states = random_states(arm, ROWS)
    tables = arm_tables(float32_cache(arm).parameters)
    name = algorithm_for(arm, verb)
    plan = Plan(tables, kernel_spec(name, ALGORITHMS[name], tables, width, precision=FLOAT))
    needs = {"q": states.q, "qd": states.qd, "qdd": states.qdd, "tau": states.qdd}
    inputs = [needs[each].astype(np.float32) for each in ALGORITHMS[name].needs]
    kernels = [plan._kernel, plan._straight_kernel(ROWS)]
    (expected, _), (arrays, status) = (
        plan._run(kernel, inputs, (ROWS,), 1, None, lambda: None) for kernel in kernels
    )
    assert not status.any()
    for key, array in arrays.items():
        assert np.array_equal(array.view(np.int32), expected[key].view(np.int32))


def test_doubtful_rows_of_single_precision() -> None:
    """The largest angle is 2¹³ rad, and a row beyond it has no result."""
    arm = ARMS[0]
    tables = arm_tables(float32_cache(arm).parameters)
    spec = kernel_spec("inverse", ALGORITHMS["inverse"], tables, 16, precision=FLOAT)
    kernel = straight_kernel(tables, spec, True)
    assert kernel is not None
    states = random_states(arm, ROWS).q.astype(np.float32), np.zeros((2, ROWS, 2), np.float32)
    q, (qd, qdd) = states
    q[3, 0], q[17, 1], qd[5, 1] = 8193.0, np.nan, np.inf
    _, status = Plan(tables, spec)._run(kernel.kernel, [q, qd, qdd], (ROWS,), 1, None, lambda: None)
    assert np.flatnonzero(status).tolist() == [3, 5, 17]


def test_guards_of_single_precision_have_its_thresholds() -> None:
    """A rod that hangs at a massless link: the inertia of the first joint is m l² sin² q₂."""
    arm = robolin.load("two-link")
    mass, rod = replace(arm.links[0].inertia, mass=0.0, com=(0.0,) * 3, rotary=(0.0,) * 6), 1.0
    point = replace(mass, mass=1.0, com=(rod, 0.0, 0.0))
    upper, lower = arm.links
    by_name = {upper.name: mass, lower.name: point}
    links = (replace(each, inertia=by_name[each.name]) for each in arm.links_tip_to_base)
    arm = replace(arm, links_tip_to_base=tuple(links))
    q = np.zeros((40, 2), np.float32)
    q[:, 1] = np.logspace(-6.0, 0.0, 40)
    plan, zero = float32_cache(arm).plan("forward"), np.zeros((40, 2), np.float32)
    kernel = straight_kernel(plan._arm, plan._spec, True)
    assert kernel is not None
    (_, expected), (_, status) = (
        plan._run(each, [q, zero, zero], (40,), 1, None, lambda: None)
        for each in (plan._kernel, kernel.kernel)
    )
    assert 5 < np.count_nonzero(expected) < 35
    assert np.array_equal(status != 0, expected != 0)


@pytest.mark.parametrize(("width", "precision"), [(1, "DOUBLE"), (8, "DOUBLE"), (16, "FLOAT")])
def test_no_number_outside_the_arrays_is_read_or_written(width: int, precision: str) -> None:
    """Arrays end at protected pages, for numbers of rows and joints that fill no vector."""
    ran = forked(
        "from tests.engine.guarded import straight; "
        "from robolin.dynamics.algebra.trigonometry import DOUBLE, FLOAT; "
        f"straight({width}, {precision})"
    )
    assert (ran.code, ran.out, ran.err) == (0, "intact\n", "")


@pytest.mark.parametrize("name", ["add", "sub", "mul", "truediv"])
def test_operations_of_constants_are_those_of_float32(name: str) -> None:
    """With constants, with numbers of Python, in both orders; also sine, tanh and root."""
    operation = getattr(operator, name)
    for a, b in np.random.default_rng(5).uniform(0.1, 9.0, (200, 2)):
        first, second = np.float32(a), np.float32(b)
        x, y = SinglePrecisionConstant(a), SinglePrecisionConstant(b)
        assert float(x) == float(first)
        for each in (operation(x, y), operation(x, float(b)), operation(float(a), y)):
            assert type(each) is SinglePrecisionConstant
            assert float(each) == float(operation(first, second))
        assert float(sqrt(x)) == float(np.sqrt(first))
        for function in (sin_cos, tanh):
            expected = np.ravel(function(SinglePrecisionNumbers.of(first)))
            assert np.ravel(function(x)).tolist() == expected.tolist()


def test_doubtful_rows_are_marked() -> None:
    """NaN, infinite values and angles without an exact sine have a status, other rows have none."""
    arm = ARMS[0]
    states = random_states(arm, ROWS)
    q, qd, tau = states.q.copy(), states.qd.copy(), states.qdd.copy()
    q[1, 0], q[4, 1], qd[7, 0], tau[18, 1] = np.nan, 2.0**21, np.inf, np.nan
    kernel = kernel_of(arm, "forward", "auto", None)
    for width in (1, 4):
        _, status = results_of(straight_table(arm, kernel.name, width), kernel, [q, qd, tau])
        assert np.flatnonzero(status).tolist() == [1, 4, 7, 18]


def test_an_arm_without_inertia_has_no_straight_kernel() -> None:
    """A joint that moves no mass is reported by the general kernel."""
    arm = robolin.load("two-link")
    still = replace(arm.links[0].inertia, mass=0.0, com=(0.0,) * 3, rotary=(0.0,) * 6)
    links = tuple(replace(link, inertia=still) for link in arm.links_tip_to_base)
    empty = replace(arm, links_tip_to_base=links)
    spec = arm_cache(empty).kernel_spec_of("forward", 1)
    assert straight_kernels(empty).get(spec, 10**9) is None


def test_it_is_compiled_when_its_compilation_pays(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few blocks use the general kernel; enough of them, in one run or in several, do not."""
    monkeypatch.setattr(straight_module, "STRAIGHT_FROM", 10)
    monkeypatch.setattr(straight_module, "LARGE_BATCH", 1)
    monkeypatch.setattr(straight_module, "COMPILED_FROM", 100)

    def has_kernel(arm: Arm, blocks: int) -> bool:
        return isinstance(fastest_kernel_of(arm, "power", MIN_LANES, blocks), StraightKernel)

    arm = random_arm(71, 2)
    assert [has_kernel(arm, count) for count in (9, 60, 40)] == [False, False, True]
    assert has_kernel(replace(arm), 10), "the first arm has stored it"
    assert not has_kernel(random_arm(72, 2), 10)
    assert not has_kernel(random_arm(73, 13), 1000)


@pytest.mark.parametrize(("jobs", "streamed_from"), [(1, 0), (2, 0), (1, 1 << 40)])
def test_large_batches_use_it(
    jobs: int, streamed_from: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Batches have the same bits, also with stores past the caches.

    Rows without a result are reported by the general kernel.
    """
    monkeypatch.setattr(plan_module, "NONTEMPORAL_MIN", streamed_from)
    for module in (straight_module, plan_module):
        monkeypatch.setattr(module, "STRAIGHT_FROM", 2)
        monkeypatch.setattr(module, "LARGE_BATCH", 2)
    monkeypatch.setattr(straight_module, "COMPILED_FROM", 2)
    arm = random_arm(74, 3)
    # the last block is not full
    states = random_states(arm, 4003)
    motion = states.q, states.qd, states.qdd
    plan = arm_cache(arm).plan(algorithm_for(arm, "forward"))
    assert plan._straight_kernel(len(states.q)) is not None
    expected = robolin.forward(arm, *motion, engine="python")
    assert np.array_equal(robolin.forward(arm, *motion, jobs=jobs), expected)
    states.q[1234, 1] = np.nan
    with pytest.raises(robolin.RobolinError, match="state 1234: q: must be finite"):
        robolin.forward(arm, *motion, jobs=jobs)


@pytest.mark.parametrize("verb", ["linearize_forward", "mass_matrix"])
def test_stores_past_the_caches_have_the_same_bits(
    verb: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows of nine and three numbers do not end at cache lines, blocks of rows do."""
    arm = random_arm(75, 3)
    states = random_states(arm, 403)
    motion = [states.q, states.qd, states.qdd][: 1 if verb == "mass_matrix" else 3]
    function = getattr(robolin, verb)
    expected = function(arm, *motion, engine="compiled")
    monkeypatch.setattr(plan_module, "NONTEMPORAL_MIN", 0)
    for jobs in (1, 2):
        computed = function(arm, *motion, engine="compiled", jobs=jobs)
        if verb == "mass_matrix":
            assert np.array_equal(computed, expected)
        else:
            assert np.array_equal(computed.qdd, expected.qdd)
            assert np.array_equal(computed.dqdd_dq, expected.dqdd_dq)
            assert np.array_equal(computed.dqdd_dqd, expected.dqdd_dqd)
