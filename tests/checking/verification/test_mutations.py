"""A wrong algorithm does not pass: for every changed result, some check fails.

Mutants change a result by one part in 10⁹, far above the bounds and too small to notice by eye.
Kernels are left out: they would be compiled from the mutants.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import robolin
from robolin.checking.verification import checks
from robolin.checking.verification import identities as identity_checks
from robolin.checking.verification.algorithms import algorithms, engines
from robolin.checking.verification.check_context import CheckContext
from robolin.checking.verification.checks import Check
from robolin.checking.verification.digits import digits
from robolin.checking.verification.identities import identities
from robolin.checking.verification.verify import checked_states, derivatives
from robolin.core.arm import Arm
from robolin.dynamics.catalogue import ALGORITHMS
from robolin.engine.compiled.plan import Plan
from robolin.engine.parameters import Parameters, parameters_of
from tests.evaluation.loops.closed_arms import closed
from tests.robots import random_arm, with_wrench

ARM = with_wrench(random_arm(70, 3, armature=True, damping=True, friction_velocity=0.4), "follower")
# an arm that shares kernels with bundled arms
PLAIN = random_arm(71, 3, prismatic=False)
SLIGHTLY = 1.0 + 1e-9

Family = Callable[[CheckContext], Iterable[Check]]


STATES = {arm.name: checked_states(arm, 3, 0) for arm in (ARM, PLAIN)}


def subject(arm: Arm = ARM) -> CheckContext:
    return CheckContext(arm, STATES[arm.name])


def failing(*families: Family, arm: Arm = ARM) -> Iterator[str]:
    """The family of each check that fails, as it is found."""
    on = subject(arm)
    return (c.family for family in families for c in family(on) if c.verdict == "failed")


def fails(*families: Family) -> bool:
    """Return whether some check fails; later checks are not run."""
    return any(failing(*families))


def mutate(
    monkeypatch: pytest.MonkeyPatch, name: str, array: str, change: Callable[[Any], Any]
) -> None:
    """The algorithm with one of its results changed entry by entry."""
    algorithm = ALGORITHMS[name]

    def mutant(chain: Any) -> None:
        algorithm.run(chain)
        entries = chain.result(array).by_index
        entries.update({index: change(value) for index, value in entries.items()})

    monkeypatch.setitem(ALGORITHMS, name, replace(algorithm, function=mutant))


CORE = [
    (name, array)
    for name in (
        "inverse",
        "mass-matrix",
        "mass-matrix-derivative",
        "coriolis-matrix",
        "linearize-inverse",
        "perturb-inverse",
        "forward",
        "forward-conventional",
        "mass-matrix-inverse",
        "mass-matrix-inverse-tree",
        "mass-matrix-inverse-columns",
        "mass-matrix-inverse-conventional",
        "mass-matrix-factor",
        "linearize-forward",
        "linearize-forward-tree",
        "linearize-forward-columns",
        "linearize-forward-conventional",
        "perturb-forward",
        "perturb-forward-articulated",
        "perturb-forward-conventional",
        "diagonalize",
        "diagonalize-unnormalized",
        "undiagonalize",
        "undiagonalize-unnormalized",
        "energy",
    )
    for array in ALGORITHMS[name].gives
]


# a quick run takes the first result of each algorithm
@pytest.mark.parametrize(
    ("name", "array"),
    [
        pytest.param(
            name, array, marks=[] if array in [*ALGORITHMS[name].gives][:1] else [pytest.mark.slow]
        )
        for name, array in CORE
    ],
)
def test_a_slightly_wrong_result_fails(
    name: str, array: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One part in 10⁹ too much in any result of any algorithm is out of some bound."""
    mutate(monkeypatch, name, array, lambda value: value * SLIGHTLY)
    # in the order in which most are found soonest
    assert fails(identities, algorithms, derivatives)


LOOPS = [
    (name, array)
    for name in ("closures", "linearize-closures", "forward-closed")
    for array in ALGORITHMS[name].gives
    # the gaps are those of "closures", and a flag is 0 or 1
    if name != "forward-closed" or array in ("qdd", "lam")
]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "array"), LOOPS)
def test_a_slightly_wrong_closure_fails(
    name: str, array: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An error of one part in 10⁹ in a result of a closed loop exceeds some bound."""
    monkeypatch.setattr(identity_checks, "same_bits", lambda *_: ())
    monkeypatch.setattr(identity_checks, "digits_of", lambda *_: ())
    arm = closed(1, 7, ("rigid", 1, 0)).arm
    mutate(monkeypatch, name, array, lambda value: value * SLIGHTLY)
    checks = identity_checks.closed_loops(CheckContext(arm, checked_states(arm, 2, 0)))
    assert any(check.verdict == "failed" for check in checks)


def test_every_derivative_of_a_closed_motion_is_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    """An error of one part in 10⁹ in the linearization fails exactly six checks."""
    real = identity_checks.evaluate_any_arm_rows

    def wrong(arm: Arm, verb: str, *inputs: Any, **options: Any) -> Any:
        arrays, unanswered = real(arm, verb, *inputs, **options)
        by = SLIGHTLY if verb == "linearize-loops" else 1.0
        return {name: array * by for name, array in arrays.items()}, unanswered

    for name in ("same_bits", "digits_of"):
        monkeypatch.setattr(identity_checks, name, lambda *_: ())
    monkeypatch.setattr(identity_checks, "evaluate_any_arm_rows", wrong)
    arm = closed(1, 7, ("rigid", 1, 0)).arm
    checks = identity_checks.closed_loops(CheckContext(arm, checked_states(arm, 1, 0)))
    assert [check.name for check in checks if check.verdict == "failed"] == [
        f"d{name}_d{along} = ∂{name}/∂{along}"
        for along in ("tau", "qd", "q")
        for name in ("qdd", "lam")
    ]


@pytest.mark.parametrize(
    ("family", "name", "array"),
    [
        (derivatives, "linearize-inverse", "dtau_dq"),
        (derivatives, "mass-matrix-derivative", "dmass_matrix_dq"),
        (derivatives, "linearize-forward-conventional", "dqdd_dq"),
        (identities, "inverse", "tau"),
        (identities, "mass-matrix-factor", "D"),
        (identities, "diagonalize", "coriolis"),
        (algorithms, "forward", "qdd"),
        (algorithms, "perturb-inverse", "dtau"),
        (algorithms, "linearize-forward-columns", "dqdd_dqd"),
    ],
)
def test_a_flipped_sign_fails_in_its_family(
    family: Family, name: str, array: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each family by itself sees a sign that it should see."""
    mutate(monkeypatch, name, array, lambda value: -value)
    assert fails(family)


@pytest.mark.slow
def test_lost_digits_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    """A result that is right in 50 digits but not in floats has lost digits on the way."""
    mutate(
        monkeypatch,
        "inverse",
        "tau",
        lambda value: value * SLIGHTLY if isinstance(value, float | np.ndarray) else value,
    )
    assert set(failing(digits)) == {"digits"}


@pytest.mark.slow
def test_another_bit_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    """A kernel that differs in the last bit of one number is not the same."""
    call_batch = Plan.call_batch

    def nudged(self: Plan, *args: Any) -> Any:
        arrays, status = call_batch(self, *args)
        first = next(iter(arrays.values()))
        first.flat[0] = np.nextafter(first.flat[0], np.inf)
        return arrays, status

    monkeypatch.setattr(Plan, "call_batch", nudged)
    assert set(failing(engines, arm=PLAIN)) == {"engines"}


@pytest.mark.parametrize("change", ["gravity", "mass", "armature", "damping", "load", "axis"])
def test_an_arm_misunderstood_by_every_algorithm_fails(
    change: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If all algorithms agree on the wrong arm, the check of its bodies fails."""

    def misread(arm: Arm) -> Parameters:
        read = parameters_of(arm)
        if change == "gravity":
            return replace(read, gravity=tuple(-g for g in read.gravity))
        if change == "load":
            loads = [replace(load, force=tuple(-f for f in load.force)) for load in read.loads]
            return replace(read, loads=tuple(loads))
        first = read.links[1]
        if change == "axis":
            changed = replace(first, rotation=(*first.rotation[3:6], *first.rotation[:3],
                                               *(-x for x in first.rotation[6:])))  # fmt: skip
        else:
            changed = replace(first, **{change: getattr(first, change) * SLIGHTLY})
        return replace(read, links=(read.links[0], changed, *read.links[2:]))

    monkeypatch.setattr(checks, "parameters_of", misread)
    assert set(failing(identities)) == {"identities"}


@pytest.mark.slow
def test_the_unchanged_arm_passes() -> None:
    """None of the above fails for another reason."""
    assert not fails(derivatives, identities, algorithms, digits)


@pytest.mark.slow
def test_unchanged_kernels_pass() -> None:
    """Nor do kernels."""
    assert not list(failing(engines, arm=PLAIN))


@pytest.mark.slow
@pytest.mark.usefixtures("without_kernels")
def test_a_result_that_is_no_number_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    """NaN is never within bounds."""
    mutate(monkeypatch, "inverse", "tau", lambda value: value * np.nan)
    verification = robolin.verify(ARM, samples=2)
    assert not verification.passed
    assert verification.worst.share == np.inf
