"""Operation counts are exact, the same every time, polynomials of n, and as low as promised."""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest

from robolin.analysis.operation_counts import (
    PUBLISHED,
    candidates,
    operation_counts,
    value_at,
)
from robolin.dynamics.algebra.chain import counted_phase
from robolin.dynamics.algebra.scalar import sin_cos, sqrt, tanh
from robolin.dynamics.catalogue import counted_verbs
from robolin.engine.direct_storage import generic_chain
from robolin.engine.operation_graph import TalliedNumber
from robolin.engine.parameters import parameters_of
from robolin.engine.run import Cost, CountingChain, count_operations
from robolin.engine.run import cost_of as cost_of_results
from tests.robots import random_arm, with_follower

Formula = Callable[[int], Fraction | int]

# cost of the recursions on a serial chain of n revolute joints, without forward kinematics:
# multiplications, additions and divisions
BOUNDS: dict[tuple[str, str], tuple[Formula, Formula, Formula]] = {
    ("linearize-inverse", "Algorithm 1"): (
        lambda n: 255 * n,
        lambda n: 243 * n - 30,
        lambda n: 0,
    ),
    ("linearize-inverse", "Algorithm 2"): (
        lambda n: 18 * n**2 + 291 * n,
        lambda n: Fraction(31, 2) * n**2 + Fraction(573, 2) * n - 34,
        lambda n: 0,
    ),
    ("linearize-forward", "Algorithm 5b"): (
        lambda n: 343 * n - 39,
        lambda n: 333 * n - 87,
        lambda n: n,
    ),
    ("linearize-forward", "Algorithm 6"): (
        lambda n: 27 * n**2 + 597 * n - 234,
        lambda n: 24 * n**2 + 587 * n - 316,
        lambda n: n,
    ),
    ("mass-matrix", "composite bodies"): (
        lambda n: 3 * n**2 + 27 * n,
        lambda n: Fraction(5, 2) * n**2 + Fraction(61, 2) * n - 10,
        lambda n: 0,
    ),
}
KINDS = ("multiplication", "addition", "division")
EVERY = [(verb, each.title) for verb in counted_verbs() for each in candidates(verb)]


def cost_of(verb: str, title: str, n: int) -> Cost:
    [candidate] = [each for each in candidates(verb) if each.title == title]
    return count_operations(generic_chain(n), candidate.run, candidate.needs, candidate.gives)


@pytest.mark.parametrize("n", [1, 2, 3, 7, 12])
@pytest.mark.parametrize(("verb", "title"), BOUNDS, ids=lambda x: x.replace(" ", "-"))
def test_no_algorithm_costs_more_than_promised(verb: str, title: str, n: int) -> None:
    """Multiplications, additions and divisions stay within the formulas, kinematics apart."""
    spent = cost_of(verb, title, n).algorithm

    for kind, bound in zip(KINDS, BOUNDS[verb, title], strict=True):
        assert spent[kind] <= bound(n), kind


@pytest.mark.parametrize(("verb", "title"), EVERY, ids=lambda x: x.replace(" ", "-"))
def test_counts_are_reproducible(verb: str, title: str) -> None:
    """Counting twice gives the same numbers, with other counts in between."""
    first = cost_of(verb, title, 2)
    cost_of("linearize-forward", "Algorithm 6", 1)

    assert cost_of(verb, title, 2) == first


@pytest.mark.slow
@pytest.mark.parametrize(("verb", "title"), EVERY, ids=lambda x: x.replace(" ", "-"))
def test_counts_are_polynomials_of_the_number_of_joints(verb: str, title: str) -> None:
    """A cubic through the exact counts at n = 2 … 5 gives the exact counts at n = 7.

    Diagonalization's Coriolis recursions look two links ahead, so their pattern begins at n = 3.
    """
    first = 3 if verb == "diagonalize" else 2
    nodes = range(first, first + 4)
    costs = {n: cost_of(verb, title, n) for n in (*nodes, 7)}

    for phase in ("algorithm", "kinematics"):
        counted = {n: getattr(cost, phase) for n, cost in costs.items()}
        for kind in counted[7]:
            known = {n: counted[n][kind] for n in nodes}
            assert counted[7][kind] == _through(known, 7), (phase, kind)


def _through(known: dict[int, int], x: int) -> Fraction:
    """The value at x of the polynomial that runs through all known points."""
    total = Fraction(0)
    for n, value in known.items():
        term = Fraction(value)
        for other in known:
            if other != n:
                term *= Fraction(x - other, n - other)
        total += term
    return total


def test_published_formulas_are_evaluated_exactly() -> None:
    """Fractions in a published formula cancel to integers at every n."""
    assert PUBLISHED.keys() <= {title for _, title in EVERY}
    for title, published in PUBLISHED.items():
        for polynomial in (published.multiplications, published.additions):
            for n in range(1, 31):
                exact = sum(c * n**power for power, c in enumerate(polynomial))
                assert exact == value_at(polynomial, n), title


def test_counts_are_listed_with_published_formulas() -> None:
    """Every algorithm with a published formula is counted with it."""
    for each in operation_counts("linearize-inverse", generic_chain(2)):
        assert each.published is PUBLISHED.get(each.algorithm)


# counts that anyone can check by hand


def hand_made(chain: Any) -> None:
    """Per joint: x² + 3x is two products and a sum; the rest costs nothing or is not needed."""
    for k in chain.tip_to_base():
        x = chain.input("q")[k]
        never_read = x * x * x / x
        assert never_read is not None
        square = x * x
        # the same node twice is one operation; zeros, ones and signs cost nothing
        chain.out("y", (k,), -((square + 0.0) * 1.0 + 3.0 * x) - 0.0)
        chain.out("y_again", (k,), square)


@counted_phase("kinematics")
def placed(s: Any, c: Any, x: Any) -> Any:
    return s * c + x


def dear(chain: Any) -> None:
    for k in chain.tip_to_base():
        x = chain.input("q")[k]
        s, c = sin_cos(x)
        chain.out("y", (k,), sqrt(placed(s, c, x)) / (tanh(x) - 1.0))


def test_a_hand_count_agrees() -> None:
    """Needed operations count once; structure, signs and unused results do not count."""
    assert count_operations(generic_chain(4), hand_made, ("q",)) == Cost(
        Counter(multiplication=4 * 2, addition=4 * 1), Counter()
    )


def test_functions_divisions_and_phases_are_counted_apart() -> None:
    """Sines, roots and quotients have their own columns, and kinematics its own account."""
    assert count_operations(generic_chain(3), dear, ("q",)) == Cost(
        Counter(function=3 * 3, root=3, division=3, addition=3),
        Counter(multiplication=3, addition=3),
    )


ARMS = (
    generic_chain(4),
    *(parameters_of(arm) for arm in (random_arm(5, 7, tree=True), random_arm(6, 5, damping=True))),
    parameters_of(with_follower(random_arm(7, 5))),
)


@pytest.mark.parametrize(("verb", "title"), EVERY)
def test_discarding_nodes_changes_no_count(verb: str, title: str) -> None:
    """Counting while results arrive equals counting a complete graph at the end."""
    [candidate] = [each for each in candidates(verb) if each.title == title]
    # a frame that some joints do not reach has no inertia
    spans = candidate.kind in ("reaching", "spanning")
    for parameters in ARMS[:1] if spans else ARMS:
        if candidate.kind not in ("any", "reaching") and parameters.mimics:
            continue
        if candidate.kind == "serial" and not parameters.serial:
            continue
        kept = CountingChain(parameters, candidate.needs, candidate.gives)
        candidate.run(kept)
        entries = (value for each in kept.results.values() for value in each.values())
        shapes = (parameters, candidate.run, candidate.needs, candidate.gives)
        assert count_operations(*shapes) == cost_of_results(entries)


def test_counted_nodes_are_discarded() -> None:
    """Few of the 41 000 operations of ∂𝓜/∂q of ten joints are in memory at the end."""
    [candidate] = [each for each in candidates("mass-matrix") if each.title == "derivative"]
    alive = []

    def run(chain: Any) -> None:
        candidate.run(chain)
        alive.append(sum(type(each) is TalliedNumber for each in gc.get_objects()))

    before = sum(type(each) is TalliedNumber for each in gc.get_objects())
    cost = count_operations(generic_chain(10), run, candidate.needs, candidate.gives)
    assert sum(cost.total.values()) > 30_000
    assert alive[0] - before < 1_500
