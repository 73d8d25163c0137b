"""How many digits of every result are right, told by 50-digit arithmetic.

The algorithm that answers runs twice from the same figures, on floats and on 50-digit numbers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import log10
from typing import Any

import numpy as np

from robolin.dynamics.catalogue import ALGORITHMS
from robolin.verification.algorithms import answering
from robolin.verification.checks import (
    Array,
    Bound,
    Check,
    compared,
    not_applicable,
    not_run,
    worst,
)
from robolin.verification.running import run_on
from robolin.verification.states import FAR_STATE
from robolin.verification.subject import Subject

FAMILY = "digits"

DIGITS = 50

# a double has no more
MOST = 16.0

# joints up to which two states are worked out; 50 digits take a while
SMALL = 12

# joints beyond which a result is worked out by one algorithm only
LARGE = 24


def digits(on: Subject) -> Iterator[Check]:
    """For each question, the right digits of its results in the worst-conditioned state."""
    yield from digits_of(on, answering(on))


def digits_of(on: Subject, names: Sequence[str]) -> Iterator[Check]:
    """The same for these algorithms."""
    try:
        import mpmath
    except ImportError:
        yield not_run(FAMILY, "every result in 50 digits", "install robolin[verify] (mpmath)")
        return
    with mpmath.workdps(DIGITS):
        told: set[str] = set()
        for name in names:
            gives = set(ALGORITHMS[name].gives)
            if len(on.arm.links) > LARGE and gives <= told:
                yield not_run(FAMILY, name, "on a large arm one algorithm tells of each result")
                continue
            told |= gives
            rows = _rows(on, name)
            if rows:
                yield _digits_of(on, name, rows, mpmath.mpf)
            else:
                reason = f"it has no finite answer in any of the {len(on.q)} states"
                yield not_applicable(FAMILY, name, reason)


def _rows(on: Subject, name: str) -> list[int]:
    """The states to look at, of those with an answer: the worst conditioned, and the first."""
    finite = np.ones(len(on.q), dtype=bool)
    for values in on.ran(name).arrays.values():
        finite &= np.isfinite(values.reshape(len(values), -1)).all(axis=1)
    answered = np.flatnonzero(finite)
    if not len(answered):
        return []
    hardest = int(answered[np.argmax(on.condition[answered])])
    rows = {hardest, int(answered[0])} if len(on.arm.links) <= SMALL else {hardest}
    # an arm whose base slides is looked at far from home as well
    if on.arm.sliding_base and FAR_STATE in answered:
        rows.add(FAR_STATE)
    return sorted(rows)


def _digits_of(on: Subject, name: str, rows: list[int], number: Any) -> Check:
    found: dict[str, list[Array]] = {array: [] for array in ALGORITHMS[name].gives}
    for row in rows:
        given = {
            need: np.array([number(x) for x in values[row].tolist()])
            for need, values in on.given(name).items()
        }
        for array, true in run_on(on.arm, name, given, number).arrays.items():
            found[array].append(true)
    checks = {array: _compared(on, name, array, true, rows) for array, true in found.items()}
    told = ", ".join(f"{array} {_right(check):.1f}" for array, check in checks.items())
    decisive = worst(checks.values())
    state = rows[decisive.state or 0]
    return Check(
        FAMILY, name, decisive.verdict, decisive.error, decisive.bound, decisive.why, state, told
    )


def _compared(on: Subject, name: str, array: str, true: list[Array], rows: list[int]) -> Check:
    """Differences are taken in 50 digits, before anything is rounded."""
    bound, states = on.bound(name, array), len(on.q)
    here = Bound(bound.at(states)[rows], bound.why)
    terms = np.broadcast_to(on.terms(name, array), (states,))[rows]
    floats, exact = on.result(name, array)[rows].astype(object), np.array(true, dtype=object)
    return compared(FAMILY, name, floats, exact, here, terms)


def _right(check: Check) -> float:
    """Right digits of the worst entry beside the largest one."""
    error = check.error or 0.0
    return MOST if error < 10.0**-MOST else max(0.0, -log10(error)) if np.isfinite(error) else 0.0
