"""Sine, cosine and tanh are accurate to about one ulp, and bit-identical everywhere."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest

import robolin
from robolin.core.arm import Arm
from robolin.dynamics.algebra.scalar import sin_cos, tanh
from robolin.dynamics.algebra.trigonometry import LARGEST_ANGLE, _cosine, _sine
from robolin.dynamics.algorithm import VECTOR, Algorithm
from robolin.errors import RobolinError
from tests.dynamics.algebra.arguments import (
    closest_to_multiples,
    edges,
    near_multiples,
    random_angles,
)
from tests.dynamics.algebra.truth import true_sin_cos, ulps_off
from tests.engine.on_lanes import WIDTHS, on_lanes
from tests.robots import random_arm, with_follower

MANY = 200_000


def adversarial(count: int) -> np.ndarray:
    rng = np.random.default_rng(7)
    return np.concatenate([edges(), closest_to_multiples(), near_multiples(rng, count)])


def some_angles(count: int) -> np.ndarray:
    """Half of them nasty."""
    nasty = adversarial(count // 2)
    return np.concatenate([nasty, random_angles(np.random.default_rng(8), count - len(nasty))])


# accuracy


@pytest.mark.slow
def test_sine_and_cosine_are_within_one_unit_of_the_last_place() -> None:
    """On 200 000 angles within ±2²⁰ rad, half of them difficult, every error is below 1 ulp.

    The reference values of `truth.py` have some 30 digits.
    """
    x = some_angles(MANY)
    assert len(x) >= MANY
    assert np.abs(x).max() == LARGEST_ANGLE

    for computed, true in zip(sin_cos(x), true_sin_cos(x), strict=True):
        assert ulps_off(computed, true).max() <= 1.0


def test_series_miss_far_less_than_rounding_does() -> None:
    """In 60 digits, where nothing is rounded, sine and cosine of r + tail are right to 2⁻⁵⁶.

    Tails go in to first order: of the cosine, r³ tail/6 ≤ 2⁻⁵⁷ is left.
    """
    rng = np.random.default_rng(11)
    for r in rng.uniform(-np.pi / 4, np.pi / 4, 300).tolist():
        # the part that does not fit into r is at most half a unit of its last place
        tail = rng.uniform(-0.5, 0.5) * math.ulp(r)
        with mpmath.workdps(60):
            exact = mpmath.mpf(r) + mpmath.mpf(tail)
            for computed, true in (
                (_sine(mpmath.mpf(r), mpmath.mpf(tail)), mpmath.sin(exact)),
                (_cosine(mpmath.mpf(r), mpmath.mpf(tail)), mpmath.cos(exact)),
            ):
                assert abs(computed - true) <= mpmath.mpf(2) ** -56 * abs(true)


def test_the_truth_agrees_with_50_digits() -> None:
    """The sines that all those are compared with are those of mpmath, to 28 digits."""
    rng = np.random.default_rng(9)
    x = np.concatenate([closest_to_multiples(), near_multiples(rng, 3000), random_angles(rng, 999)])
    # where a sine is smaller than 1e-290 its second double is too small to be one
    x = x[np.abs(x) > 1e-290]
    with mpmath.workdps(50):
        for function, true in zip((mpmath.sin, mpmath.cos), true_sin_cos(x), strict=True):
            for angle, high, low in zip(x, *true, strict=True):
                exact = function(mpmath.mpf(float(angle)))
                gap = mpmath.mpf(float(high)) + mpmath.mpf(float(low)) - exact
                assert abs(gap) <= abs(exact) * mpmath.mpf("1e-28"), angle


@pytest.mark.slow
def test_the_nastiest_angles_are_right_by_50_digits() -> None:
    """Against mpmath itself: edges, best approximations of multiples of π/2, and neighbours."""
    x = adversarial(3000)
    for function, values in zip((mpmath.sin, mpmath.cos), sin_cos(x), strict=True):
        assert ulps_from_mpmath(function, x, values).max() <= 1.0


def ulps_from_mpmath(function: Any, x: np.ndarray, computed: np.ndarray) -> np.ndarray:
    off = []
    with mpmath.workdps(50):
        for angle, value in zip(x.tolist(), computed.tolist(), strict=True):
            exact = function(mpmath.mpf(angle))
            unit = float(np.spacing(abs(float(exact))))
            off.append(float(abs(mpmath.mpf(value) - exact) / mpmath.mpf(unit)))
    return np.array(off)


def test_a_tiny_angle_is_its_own_sine() -> None:
    """sin x = x below 2⁻²⁷, down to denormals and to the sign of zero; cos x = 1."""
    x = np.concatenate([edges()[np.abs(edges()) < 2.0**-28], [0.0, -0.0]])
    sine, cosine = sin_cos(x)
    assert sine.tobytes() == x.tobytes()
    assert (cosine == 1.0).all()


def tanh_arguments() -> np.ndarray:
    rng = np.random.default_rng(10)
    size = np.concatenate(
        [
            rng.uniform(0.0, 25.0, 2000),
            rng.uniform(0.0, 1.0, 2000),
            np.ldexp(rng.uniform(0.5, 1.0, 1000), rng.integers(-1073, 1024, 1000)),
            np.array([0.0, 5e-324, 0.17328679513998633, 20.0, np.nextafter(20.0, 21.0), 1e308]),
        ]
    )
    return np.concatenate([size, -size])


def tanh_of(x: np.ndarray) -> np.ndarray:
    """As the engine runs it: 2|x| may overflow on the way to a result of 1."""
    with np.errstate(over="ignore"):
        value: np.ndarray = tanh(x)
    return value


@pytest.mark.slow
def test_tanh_is_within_three_units_of_the_last_place() -> None:
    """From denormals to far beyond where it is 1, tanh is within 3 ulp of 50-digit truth."""
    x = tanh_arguments()
    assert ulps_from_mpmath(mpmath.tanh, x, tanh_of(x)).max() <= 3.0


# the same bits on every kind of number


def _sines(chain: Any) -> None:
    """Sine and cosine of every joint; the reciprocal distinguishes zeros of either sign."""
    for k in chain.tip_to_base():
        s, c = sin_cos(chain.input("q")[k])
        chain.out("s", (k,), s)
        chain.out("c", (k,), c)
        chain.out("reciprocal", (k,), 1.0 / s)


def _tanhs(chain: Any) -> None:
    for k in chain.tip_to_base():
        chain.out("t", (k,), tanh(chain.input("q")[k]))


SINES = Algorithm(
    _sines, ("q",), dict.fromkeys(("s", "c", "reciprocal"), VECTOR), "sines of the joints"
)
TANHS = Algorithm(_tanhs, ("q",), {"t": VECTOR}, "hyperbolic tangents of the joints")
ONE_JOINT = random_arm(1, 1, prismatic=False)


def on_floats(function: Callable[[float], tuple[float, ...]], x: np.ndarray) -> np.ndarray:
    return np.array([function(number) for number in x.tolist()]).T


def test_floats_and_arrays_have_the_same_sines() -> None:
    """Every bit of sin and cos is the same on Python's floats and on NumPy's arrays."""
    x = some_angles(20_000)
    assert on_floats(sin_cos, x).tobytes() == np.array(sin_cos(x)).tobytes()


def test_floats_and_arrays_have_the_same_tanh() -> None:
    """Every bit of tanh is the same on Python's floats and on NumPy's arrays."""
    x = tanh_arguments()
    assert on_floats(lambda number: (tanh(number),), x).tobytes() == tanh_of(x).tobytes()


@pytest.mark.parametrize("width", WIDTHS)
def test_lanes_have_the_same_sines(width: int) -> None:
    """Every bit of sin and cos is the same on NumPy's arrays and on lanes."""
    x = some_angles(100_001)
    lanes, _ = on_lanes(ONE_JOINT, "test-sines", SINES, {"q": x[:, None]}, width=width)

    s, c = sin_cos(x)
    with np.errstate(divide="ignore", over="ignore"):
        reciprocal = 1.0 / s
    # a result has one zero only, so -0.0 comes out as 0.0
    assert lanes["s"].tobytes() == (s + 0.0).tobytes()
    assert lanes["c"].tobytes() == (c + 0.0).tobytes()
    assert lanes["reciprocal"].tobytes() == (reciprocal + 0.0).tobytes()


@pytest.mark.parametrize("width", WIDTHS)
def test_lanes_have_the_same_tanh(width: int) -> None:
    """Every bit of tanh is the same on NumPy's arrays and on lanes."""
    x = tanh_arguments()
    lanes, _ = on_lanes(ONE_JOINT, "test-tanhs", TANHS, {"q": x[:, None]}, width=width)
    assert lanes["t"].tobytes() == (tanh_of(x) + 0.0).tobytes()


# beyond the range

BEYOND = float(np.nextafter(LARGEST_ANGLE, np.inf))
ENGINES = ("python", "compiled")


def mixed_arm() -> tuple[Arm, int, int]:
    """An arm, with the indices of a revolute and of a prismatic joint."""
    arm = random_arm(3, 5)
    turning = [joint.turns for joint in arm.joints]
    return arm, turning.index(True), turning.index(False)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("angle", [BEYOND, -BEYOND, 1e300])
def test_an_angle_beyond_the_range_is_a_located_error(engine: Any, angle: float) -> None:
    """An angle of more than 2²⁰ rad is an error with its row, joint and value."""
    arm, turns, _ = mixed_arm()
    q = np.zeros((4, arm.n))
    q[2, turns] = angle
    with pytest.raises(RobolinError, match="must be within ±1048576 rad") as caught:
        robolin.inverse(arm, q, engine=engine)
    assert re.search(r"\b(row|state) 2\b", caught.value.message)
    assert f"joint '{arm.joint_names[turns]}'" in caught.value.message
    assert f"{angle:g} rad" in caught.value.message
    assert caught.value.hint


def test_one_angle_beyond_the_range_is_refused_with_a_warm_kernel_too() -> None:
    """The fast path for one state checks the range too."""
    arm, turns, _ = mixed_arm()
    robolin.inverse(arm, np.zeros(arm.n), engine="compiled")
    q = np.zeros(arm.n)
    q[turns] = BEYOND
    with pytest.raises(
        RobolinError,
        match=rf"q: must be within ±\d+ rad, got \S+ rad at joint '{arm.joint_names[turns]}'",
    ):
        robolin.inverse(arm, q, engine="compiled")


@pytest.mark.parametrize("engine", ENGINES)
def test_the_end_of_the_range_and_long_travel_are_accepted(engine: Any) -> None:
    """2²⁰ rad itself is an angle, and a prismatic joint may be at any position."""
    arm, turns, slides = mixed_arm()
    q = np.zeros((2, arm.n))
    q[0, turns] = LARGEST_ANGLE
    q[1, slides] = 1e7
    assert np.isfinite(robolin.inverse(arm, q, engine=engine)).all()


@pytest.mark.parametrize("engine", ENGINES)
def test_a_follower_beyond_the_range_is_an_error(engine: Any) -> None:
    """A mimic joint that rotates farther than its leader has to be in the range itself."""
    arm = with_follower(random_arm(4, 3, prismatic=False), ratio=2.0)
    q = np.zeros(arm.n)
    leader = next(link.joint.mimic.leader for link in arm.links_tip_to_base if link.joint.mimic)
    q[arm.joint_names.index(leader)] = 0.75 * LARGEST_ANGLE
    with pytest.raises(RobolinError, match="must be within"):
        robolin.inverse(arm, q, engine=engine)
