"""What Algorithms 1 to 6 of [L] cost, beside what the paper prints."""

from __future__ import annotations

from fractions import Fraction
from functools import cache

import pytest

from robolin.analysis.operation_counts import PUBLISHED, operation_counts, value_at
from robolin.engine.generic_chain import generic_chain
from tests.operator_algebra.subjects import apart

WRONG = 1e-3

KINDS = ("multiplication", "addition")


@cache
def counted(n: int) -> dict[str, tuple[int, int]]:
    """Multiplications and additions of every linearization algorithm on n revolute joints."""
    rows = [
        row
        for verb in ("linearize-inverse", "linearize-forward")
        for row in operation_counts(verb, generic_chain(n))
    ]
    return {row.algorithm: tuple(row.cost.algorithm[kind] for kind in KINDS) for row in rows}


def printed(algorithm: str, n: int) -> tuple[int, int]:
    paper = PUBLISHED[algorithm]
    return value_at(paper.multiplications, n), value_at(paper.additions, n)


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", PUBLISHED)
def test_L_operation_counts(algorithm: str) -> None:
    """Counts are polynomials of the printed degree: four of them give the count at n = 20."""
    degree = len(PUBLISHED[algorithm].multiplications) - 1
    for kind in range(2):
        known = {n: counted(n)[algorithm][kind] for n in range(2, 3 + degree)}
        assert apart(float(_through(known, 20)), float(counted(20)[algorithm][kind])) == 0.0


def _through(known: dict[int, int], x: int) -> Fraction:
    """The value at x of the polynomial of least degree through these points."""
    total = Fraction(0)
    for n, value in known.items():
        term = Fraction(value)
        for other in known:
            term *= Fraction(x - other, n - other) if other != n else 1
        total += term
    return total


@pytest.mark.parametrize("algorithm", ["Algorithm 1", "Algorithm 2", "Algorithm 4", "Algorithm 6"])
def test_L_counts_stay_below_the_printed_ones(algorithm: str) -> None:
    """Where the printed cost can hold, ours is lower at six and seven joints."""
    for n in (6, 7):
        assert sum(counted(n)[algorithm]) < sum(printed(algorithm, n))


@pytest.mark.slow
@pytest.mark.parametrize("n", [6, 7, 12])
def test_misprint_L_cost_of_algorithm_5(n: int) -> None:
    """Algorithm 5 contains Step 1 of Algorithm 1, and is printed as cheaper than all of it."""
    assert sum(printed("Algorithm 5", n)) < sum(printed("Algorithm 1", n))
    assert (
        apart(float(sum(printed("Algorithm 5", n))), float(sum(counted(n)["Algorithm 5"]))) > WRONG
    )


def test_misprint_L_cost_of_algorithm_3() -> None:
    """Less a Cholesky solve, the printed cost is linear: the n² of forming 𝓜 are missing."""
    solve = (Fraction(0), Fraction(1, 3), Fraction(3, 2), Fraction(1, 6))
    rest = [a - b for a, b in zip(PUBLISHED["Algorithm 3"].multiplications, solve, strict=True)]
    forming = [_composite_bodies(n) for n in (7, 8, 9)]

    assert rest[3] == 0
    assert apart(float(2 * rest[2]), float(forming[0] - 2 * forming[1] + forming[2])) > WRONG


def _composite_bodies(n: int) -> int:
    """Multiplications that form 𝓜."""
    rows = operation_counts("mass-matrix", generic_chain(n))
    (found,) = (row for row in rows if row.algorithm == "composite bodies")
    return found.cost.algorithm["multiplication"]
