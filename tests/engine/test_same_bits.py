"""One source, one result: every way of running an algorithm gives the same bits.

Eleven arms, 203 states each, every algorithm of the catalogue that is applicable to the arm. NumPy
runs all states in one pass and is the reference for everything else: floats (on a few states, as
they take milliseconds each), lanes, threads and chunks (on all). Compiling takes most of the time,
so an algorithm has one kernel for a variant of arms. Their widths alternate between this machine's
lanes and those of other machines. One of them is optimized, which takes ten times longer, except
for the algorithms in FAST. Default algorithms of a verb are optimized too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
import pytest

import robolin
from robolin.core.arm import Arm, Wrench
from robolin.dynamics.catalogue import ALGORITHMS, algorithms_by_method
from robolin.engine.compiled import kernels
from robolin.engine.compiled.layout import Variant
from robolin.engine.compiled.plan import arm_tables, kernel_spec, variant_of
from robolin.engine.compiled.trace import BLOCK_LINKS
from robolin.engine.parameters import parameters_of as parameters
from robolin.engine.run import run_on
from tests.engine.on_lanes import WIDTHS, plan_for
from tests.robots import (
    TOOL,
    WRENCH_MODELS,
    arm_name,
    has_full_inertia,
    random_arm,
    with_follower,
)

# not a multiple of any block size
STATES = 203
# rows of every kind that `on_arrays` makes: plain, of many revolutions, at rest, and both
ON_FLOATS = (0, 1, 2, 29, 202)
JOBS, CHUNKS = (1, 2, 4), (1, 7, 4096)
LARGEST_OBJECT = 200_000


def loaded(arm: Arm, tip: str) -> Arm:
    """The arm with a wrench of each model, one at its tip, the others nearer to its base."""
    frames = [tip, arm.links_tip_to_base[len(arm.links) // 2].name, arm.links_tip_to_base[-1].name]
    wrenches = tuple(
        Wrench(frame, model, (3.0 + i, -2.0, 1.0), (0.5, 0.25 * i, -0.75))
        for i, (frame, model) in enumerate(zip(frames, WRENCH_MODELS, strict=True))
    )
    return replace(arm, name=f"{arm.name}-loaded", wrenches=wrenches)


def rough(seed: int, joints: int, tree: bool) -> Arm:
    return random_arm(seed, joints, tree, armature=True, damping=True, friction_velocity=0.05)


ARMS = {
    arm.name: arm
    for arm in (
        robolin.load("panda"),
        robolin.load("ur5"),
        robolin.load("puma560"),
        random_arm(31, 1, prismatic=False),
        random_arm(32, 6),
        random_arm(33, 8, tree=True),
        random_arm(34, 5, tree=True, armature=True),
        robolin.load("panda-fingers"),
        with_follower(random_arm(37, 5, tree=True)),
        loaded(rough(35, 5, tree=False), TOOL),
        loaded(rough(36, 7, tree=True), TOOL),
    )
}


@cache
def kernel_mates() -> list[list[Arm]]:
    """The arms in groups that have their kernels in common."""
    groups: dict[Variant, list[Arm]] = {}
    for arm in ARMS.values():
        groups.setdefault(variant_of(parameters(arm)), []).append(arm)
    return list(groups.values())


# LLVM optimizes each of these in a third of a second or less, on any arm and for any width: they
# are optimized for all in turn, and the others for the simplest arms and the narrowest lanes
FAST = {
    *("inverse", "inverse-from-rest", "linearize-inverse", "forward", "forward-delayed"),
    *("forward-bias-free", "forward-bias-free-links", "forward-three-sweeps-links"),
    *("forward-prescribed", "mass-matrix", "mass-matrix-derivative", "mass-matrix-factor"),
    *("mass-matrix-second-derivative", "mass-matrix-factor-conventional", "mass-matrix-inverse"),
    *("mass-matrix-inverse-tree", "mass-matrix-inverse-columns", "undiagonalize"),
    *("mass-matrix-inverse-conventional", "undiagonalize-conventional", "coriolis-matrix"),
    *(
        "regressor",
        "spring-regressor",
        "slotine-li-regressor",
        "link-accelerations",
        "tip-acceleration",
    ),
    *("energy", "momentum", "power"),
}


def is_optimized(name: str) -> bool:
    """True for a fast algorithm and for the default algorithm of a verb."""
    verb = ALGORITHMS[name].verb or name
    return name in FAST or name == next(iter(algorithms_by_method(verb).values()))[0]


# they invert every body's inertia about the base, which loses all digits at a position of 2 km
OF_ALL_BODIES = {"forward-all-bodies", "forward-constraint-forces"}

# arms of a quick run: between them every field of a variant is set and unset; multi-DoF joints and
# floating bases have their own tests in tests/dynamics/test_groups.py
QUICK = {"inverse", "forward", "mass-matrix", "linearize-inverse"}
QUICK_ARMS = {"panda", "panda-fingers", "tree-7-36-loaded"}

# short arms and singular poses have no result, arms without loops are not closed: the tests of
# these kinds choose others
ELSEWHERE = {"spanning", "reaching", "closed"}


def holds(name: str, arm: Arm) -> bool:
    """Return whether an algorithm has a result for the arm."""
    kind = ALGORITHMS[name].kind
    if name == "forward-constraint-forces" and not has_full_inertia(arm):
        return False
    return (kind == "any" or not arm.has_mimic) and (kind != "serial" or arm.serial)


def groups_in_turn(turn: int, name: str) -> list[list[Arm]]:
    """The groups an algorithm is tried on: independent joints, mimic joints, and arms with loads.

    Two kinds in turn, and a group of each in turn; the most used algorithms are tried on all.
    """
    tried = ([arm for arm in mates if holds(name, arm)] for mates in kernel_mates())
    groups = [mates for mates in tried if mates]
    bearing = [mates for mates in groups if mates[0].wrenches]
    following = [mates for mates in groups if mates[0].has_mimic]
    free = [mates for mates in groups if mates not in bearing and mates not in following]
    kinds = [kind for kind in (free, following, bearing) if kind]
    if name in QUICK:
        return free + [kind[turn % len(kind)] for kind in kinds[1:]]
    if len(kinds) > 2:
        kinds.pop(turn % len(kinds))
    return [kind[(turn // 3) % len(kind)] for kind in kinds]


def widths_in_turn(turn: int, count: int, met: int) -> list[tuple[int, ...]]:
    """Widths for the kernels of `count` variants, so that enough different ones occur."""
    # kinds of arms come in threes as well
    first = turn + turn // len(WIDTHS)
    turning = [WIDTHS[(first + i) % len(WIDTHS)] for i in range(len(WIDTHS))]
    widths = [(turning[i % len(turning)],) for i in range(count)]
    return [*widths[:-1], (*widths[-1], *turning[count:met])]


def widths_met(name: str) -> int:
    """Number of widths an algorithm is tried on; the most used algorithms get all."""
    return len(WIDTHS) if name in QUICK else 2


@dataclass(frozen=True)
class Case:
    """An algorithm and arms that share its kernel, so that no two tests compile the same one.

    widths:    of its kernels, of which the first is optimized or none
    turn:      which numbers of threads meet which chunks
    """

    name: str
    mates: list[Arm]
    widths: tuple[int, ...]
    optimized: bool
    turn: int

    @property
    def arm(self) -> str:
        return self.mates[0].name


def cases() -> Iterator[Case]:
    tried = [name for name, each in ALGORITHMS.items() if each.kind not in ELSEWHERE]
    optimized: set[tuple[str, int]] = set()
    for turn, name in enumerate(tried):
        groups = groups_in_turn(turn, name)
        first = turn if name in FAST else 0
        widths_of_groups = widths_in_turn(first, len(groups), widths_met(name))
        kernels = [(mates[0].name, w[0]) for mates, w in zip(groups, widths_of_groups, strict=True)]
        # one that no algorithm before was optimized for, or else in turn
        new = [index for index, kernel in enumerate(kernels) if kernel not in optimized]
        chosen = (new or [first % len(groups)])[0] if name in FAST else 0
        chosen = chosen if is_optimized(name) else None
        if chosen is not None:
            optimized.add(kernels[chosen])
        for index, (mates, widths) in enumerate(zip(groups, widths_of_groups, strict=True)):
            yield Case(name, mates, widths, index == chosen, turn + index)


CASES = list(cases())


def test_every_variant_meets_every_width_and_every_algorithm_two() -> None:
    by_algorithm = {(case.name, width) for case in CASES for width in case.widths}
    by_variant = {(case.arm, width) for case in CASES for width in case.widths}
    for name in {case.name for case in CASES}:
        assert len([each for each, _ in by_algorithm if each == name]) == widths_met(name)
    assert len(by_variant) == len(WIDTHS) * len(kernel_mates())


def test_optimized_kernels_cover_all_verbs_variants_and_widths() -> None:
    """Kernels without optimization, as in all other tests, equal the default ones to the bit."""
    with_it = [case for case in CASES if case.optimized]
    assert {case.name for case in with_it} == {c.name for c in CASES if is_optimized(c.name)}
    verbs = {ALGORITHMS[case.name].verb or case.name for case in CASES}
    assert {ALGORITHMS[case.name].verb or case.name for case in with_it} == verbs
    by_variant = {(case.arm, case.widths[0]) for case in with_it}
    assert len(by_variant) == len(WIDTHS) * len(kernel_mates())


def on_arrays(name: str, arm: Arm) -> tuple[Mapping[str, np.ndarray], dict[str, np.ndarray]]:
    """States of all kinds and their results by NumPy."""
    algorithm = ALGORITHMS[name]
    rng = np.random.default_rng([arm.n, len(algorithm.needs)])
    inputs = {each: rng.uniform(-2.0, 2.0, (STATES, arm.n)) for each in algorithm.needs}
    if "prescribed" in inputs:
        inputs["prescribed"] = np.where(inputs["prescribed"] > 0.0, 1.0, 0.0)
    # angles of many revolutions, joints at rest and zeros of both signs are states too
    if name not in OF_ALL_BODIES:
        inputs["q"][1::7] *= 1000.0
    for values in inputs.values():
        values[2::9] = np.where(rng.random(values[2::9].shape) < 0.5, 0.0, -0.0)
    return inputs, run_on(parameters(arm), algorithm.run, algorithm.gives, inputs)[0]


def bits(results: Mapping[str, np.ndarray]) -> dict[str, bytes]:
    return {name: np.ascontiguousarray(array).tobytes() for name, array in results.items()}


def _parameter(case: Case) -> Any:
    quick = case.name in QUICK and case.arm in QUICK_ARMS
    marks = () if quick else (pytest.mark.slow,)
    return pytest.param(case, id=f"{case.name}-{case.arm}", marks=marks)


@pytest.mark.parametrize("case", [*map(_parameter, CASES)])
def test_every_way_of_running_gives_the_same_bits(case: Case) -> None:
    """Floats, NumPy, lanes of any width, and any number of threads and chunks agree to the bit."""
    for arm in case.mates:
        _require_the_same_bits(arm, case)


def _require_the_same_bits(arm: Arm, case: Case) -> None:
    algorithm, of_arm = ALGORITHMS[case.name], parameters(arm)
    states, expected = on_arrays(case.name, arm)
    assert all(np.isfinite(array).all() for array in expected.values())
    true = bits(expected)

    for row in ON_FLOATS if arm is case.mates[0] else ON_FLOATS[-2:]:
        state = {each: values[row] for each, values in states.items()}
        results = run_on(of_arm, algorithm.run, algorithm.gives, state)[0]
        one = {each: array[row] for each, array in expected.items()}
        assert bits(results) == bits(one), f"{arm.name}, row {row}"

    inputs = [np.ascontiguousarray(states[each]) for each in algorithm.needs]
    for index, width in enumerate(case.widths):
        # the first as users have it
        made = case.optimized and index == 0
        plan = plan_for(arm, case.name, algorithm, width, made)
        results, status = plan.call_batch(inputs, (STATES,), 1)
        assert bits(results) == true, f"{arm.name}, width {width}"
        assert not status.any()

        # every number of threads and every chunk, and in three cases all pairs of them
        for i, jobs in enumerate(JOBS if index == 0 else ()):
            chunk = CHUNKS[(case.turn + i) % len(CHUNKS)]
            results, _ = plan.call_batch(inputs, (STATES,), jobs, chunk)
            assert bits(results) == true, f"{arm.name}, {jobs} jobs, chunks of {chunk}"


@pytest.mark.slow
@pytest.mark.parametrize("name", ["linearize-forward", "linearize-forward-conventional"])
def test_the_largest_kernels_are_small(name: str) -> None:
    """The machine code of the longest algorithms takes no more than 200 kB, optimized or not."""
    for case in (case for case in CASES if case.name == name):
        tables = arm_tables(parameters(case.mates[0]))
        recipe = kernel_spec(name, ALGORITHMS[name], tables, case.widths[0], case.optimized)
        kernels.kernel_for(recipe)
        stored = kernels.read_kernel(kernels._key(recipe))
        assert stored is not None
        assert len(stored) <= LARGEST_OBJECT


LONG = [
    *(random_arm(38, BLOCK_LINKS + i, prismatic=False) for i in (-1, 0, 1, 2, BLOCK_LINKS + 1)),
    # the sum over six joints depends on the order
    with_follower(random_arm(39, 40, prismatic=False), followers=6),
]


@pytest.mark.slow
@pytest.mark.parametrize("arm", LONG, ids=arm_name)
@pytest.mark.parametrize("name", ["linearize-inverse", "linearize-forward-conventional"])
def test_pairs_of_links_in_any_order_give_the_same_bits(name: str, arm: Arm) -> None:
    algorithm, rng = ALGORITHMS[name], np.random.default_rng(len(arm.links))
    inputs = {each: rng.uniform(-2.0, 2.0, (13, arm.n)) for each in algorithm.needs}
    expected = run_on(parameters(arm), algorithm.run, algorithm.gives, inputs)[0]
    # old content of the memory must not pass for a result
    plan = plan_for(arm, name, algorithm)
    plan.call_batch([np.full((13, arm.n), 0.5) for _ in inputs], (13,), jobs=1)
    values, status = plan.call_batch([*inputs.values()], (13,), jobs=1)
    assert bits(values) == bits(expected)
    assert not status.any()
