"""Graphs of operations: each operation is there once, constants are folded, no bit changes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import robolin
from robolin.core.arm import Arm, Inertia
from robolin.dynamics.algebra.scalar import sin_cos, sqrt, tanh
from robolin.dynamics.catalogue import ALGORITHMS
from robolin.engine.operation_graph import OperationGraph, ancestors, unrolled_program
from robolin.engine.parameters import parameters_of
from robolin.engine.run import run_on
from robolin.errors import RobolinError
from tests.engine.unrolled_values import carried_out
from tests.robots import (
    arm_name,
    grouped_arm,
    has_full_inertia,
    random_arm,
    with_follower,
    with_wrench,
)


@pytest.fixture
def x_and_y():
    graph = OperationGraph()
    return graph.input("x", 0), graph.input("y", 1)


def test_repeated_operations_are_one_node(x_and_y) -> None:
    """Sums and products do not depend on the order of operands, differences only in their sign."""
    x, y = x_and_y
    assert x + y is y + x
    assert x * y is y * x
    assert (x - y) is (-(y - x))
    assert (-x) * y is not x * y
    assert ((-x) * y).unsigned is x * y
    assert sqrt(x) is sqrt(x)
    assert sin_cos(x)[0] is sin_cos(x)[0]
    assert tanh(x) is not tanh(y)


def test_zeros_and_ones_leave_no_trace(x_and_y) -> None:
    """Adding zero and multiplying by one give no node, and constant zeros are folded."""
    x, _ = x_and_y
    assert x + 0.0 is x
    assert x * 1.0 is x
    assert x / 1.0 is x
    assert (-x).__neg__() is x
    assert (x * -1.0).unsigned is x
    assert x * 0.0 == x - x == 0.0 / x == 0.0


def test_different_operations_are_different_nodes(x_and_y) -> None:
    """Operations that round differently are never merged."""
    x, y = x_and_y
    numbers = [x + 2.0, x * 2.0, x / 2.0, 2.0 / x, x - 2.0, x + y, x - y, x * y, x / y, y / x]
    assert len({number.unsigned.number for number in numbers}) == len(numbers)
    assert (x + 1.0) + 2.0 is not x + 3.0


def test_only_what_results_need_is_left(x_and_y) -> None:
    x, y = x_and_y
    never_read = x * y * y
    kinds = [number.kind for number in ancestors([x + y, 3.0])]
    assert never_read.kind == "multiplication"
    assert kinds == ["input", "input", "addition"]


ARMS = [
    robolin.load("cart-pole", friction_velocity=0.1),
    robolin.load("four-bar"),
    robolin.load("acrobot"),
    with_wrench(random_arm(41, 3, tree=True, armature=True, damping=True), "dead"),
    with_wrench(with_follower(random_arm(42, 3)), "world"),
]


def is_applicable(name: str, arm: Arm) -> bool:
    algorithm = ALGORITHMS[name]
    if algorithm.kind in ("spanning", "reaching"):
        return False
    if (algorithm.kind == "closed") != bool(arm.loops) or (algorithm.inverts_bodies and arm.groups):
        return False
    if name == "forward-constraint-forces" and not has_full_inertia(arm):
        return False
    independent = algorithm.independent or algorithm.kind in ("independent", "serial")
    return not (independent and (arm.has_mimic or not arm.serial))


FLOATING = grouped_arm(3, ("floating",))


@pytest.mark.parametrize(
    "arm", [*ARMS, pytest.param(FLOATING, marks=pytest.mark.slow)], ids=arm_name
)
def test_unrolling_changes_no_bit(arm: Arm) -> None:
    """Every algorithm applicable to the arm gives the same bits when its graph is evaluated."""
    parameters, rng = parameters_of(arm), np.random.default_rng(7)
    for name, algorithm in ALGORITHMS.items():
        if not is_applicable(name, arm):
            continue
        program = unrolled_program(parameters, algorithm.run, algorithm.needs, algorithm.gives)
        state = {each: rng.uniform(-2.0, 2.0, arm.n) for each in algorithm.needs}
        expected, _, divides = run_on(parameters, algorithm.run, algorithm.gives, state)
        assert all(np.isfinite(values).all() for values in expected.values())
        # divisors are checked first
        assert program.guards or not divides
        called = dict(zip(program.inputs, state.values(), strict=True))
        for result, values in carried_out(program, called).items():
            assert values.tobytes() == expected[result].tobytes(), (name, result)


def test_a_joint_that_never_has_inertia_is_an_error() -> None:
    """A constant divisor of zero is an error before any state is known."""
    algorithm = ALGORITHMS["forward"]
    arm = robolin.load("two-link")
    light = tuple(replace(link, inertia=Inertia()) for link in arm.links_tip_to_base)
    bare = parameters_of(replace(arm, links_tip_to_base=light))
    with pytest.raises(RobolinError, match="moves no inertia"):
        unrolled_program(bare, algorithm.run, algorithm.needs, algorithm.gives)
