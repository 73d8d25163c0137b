"""Arrays of decimals have fifty digits and run every algorithm."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal, getcontext

import mpmath
import numpy as np
import pytest

from robolin.checking.verification.digits import ExactNumbers, decimals, exact, fifty_digits
from robolin.dynamics.algebra.scalar import sin_cos, sqrt, tanh
from robolin.dynamics.algebra.trigonometry import if_less
from robolin.dynamics.catalogue import ALGORITHMS
from robolin.engine import run
from robolin.engine.parameters import parameters_of
from tests.robots import random_arm, random_states

CLOSE = mpmath.mpf(10) ** -47
ANGLES = [0.0, 1e-9, -0.5, 3.0, 1000.25, -7.5]


def as_mpmath(number: Decimal) -> mpmath.mpf:
    return mpmath.mpf(str(number))


@pytest.mark.parametrize(
    ("ours", "true"),
    [
        (lambda x: sin_cos(x)[0], mpmath.sin),
        (lambda x: sin_cos(x)[1], mpmath.cos),
        (tanh, mpmath.tanh),
        (lambda x: sqrt(x * x + 2.0), lambda x: mpmath.sqrt(x * x + 2)),
        (lambda x: 1.0 / (3.0 - x) - x / 7.0, lambda x: 1 / (3 - x) - x / 7),
        (lambda x: if_less(x, 0.25, -x, abs(x) + 1.0), lambda x: -x if x < 0.25 else x + 1),
    ],
)
def test_functions_have_fifty_digits(ours: object, true: object) -> None:
    """One number, and one number per state, compared with mpmath."""
    angles = [x for x in ANGLES if x != 3.0]
    with fifty_digits():
        together = ours(ExactNumbers(decimals(np.array(angles)))).value  # type: ignore[operator]
        for x, one_of_many in zip(angles, together, strict=True):
            alone = ours(exact(x)).value  # type: ignore[operator]
            expected = true(mpmath.mpf(x))  # type: ignore[operator]
            for computed in (Decimal(str(alone)), one_of_many):
                assert abs(as_mpmath(computed) - expected) <= CLOSE * max(1, abs(expected))


def test_algorithms_run_on_them_as_on_mpmaths_numbers() -> None:
    """Friction, rotors and a division by the mass matrix included, to fifty digits."""
    arm = random_arm(6, 3, armature=True, damping=True, friction_velocity=0.3)
    arm = replace(arm, name="with friction")
    s, entry = random_states(arm, 2), ALGORITHMS["forward"]
    inputs = {"q": s.q, "qd": s.qd, "tau": s.dtau}
    with fifty_digits():
        ours = {
            name: np.array([ExactNumbers(column) for column in decimals(x.T)], dtype=object)
            for name, x in inputs.items()
        }
        qdd = run.run_on(parameters_of(arm), entry.run, entry.gives, ours, exact).arrays["qdd"]
        for state in range(2):
            theirs = {
                name: np.array([mpmath.mpf(v) for v in x[state].tolist()])
                for name, x in inputs.items()
            }
            true = run.run_on(parameters_of(arm), entry.run, entry.gives, theirs, mpmath.mpf)
            for number, expected in zip(qdd, true.arrays["qdd"], strict=True):
                gap = abs(as_mpmath(number.value[state]) - expected)
                assert gap <= CLOSE * abs(true.arrays["qdd"]).max()


def test_precision_is_restored() -> None:
    """The decimal precision of the caller is restored."""
    before = getcontext().prec
    with fifty_digits():
        assert getcontext().prec == 50
    assert getcontext().prec == before
