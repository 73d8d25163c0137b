"""Arms whose base slides: far from home they keep their digits, at home nothing else changes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import mpmath
import numpy as np
import pytest

import robolin
from robolin.arm import Arm, Inertia
from robolin.dynamics.catalogue import ALGORITHMS
from robolin.engine import run
from robolin.engine.parameters import Parameters, at_rest, parameters_of
from tests.engine.on_lanes import on_lanes
from tests.robots import TOOL, named, random_arm, random_states, with_follower, with_wrench

VERBS = (
    *("inverse", "forward", "mass-matrix", "mass-matrix-inverse", "linearize-inverse"),
    *("linearize-forward", "linearize-forward-conventional", "mass-matrix-derivative"),
    *("coriolis-matrix", "diagonalize", "regressor", "link-accelerations"),
)
PLACED = ("jacobian", "frame-motion", "frame-derivatives", "operational-space", "energy", "power")
# of the 15.95 of a double: sums of some hundred products, and cond(M) below 1e3
DIGITS = 11.5


def mobile(slides: int, heavy: bool = False, seed: int = 5) -> Arm:
    """A random arm on slides, whose links weigh nothing unless heavy."""
    arm = random_arm(seed, 6 + slides, prismatic=False, armature=True, damping=True)
    links = list(arm.links_tip_to_base)
    for i in range(1, slides + 1):
        link = links[-i]
        body = link.inertia if heavy or i == slides else Inertia()
        links[-i] = replace(link, joint=replace(link.joint, kind="prismatic"), inertia=body)
    return replace(arm, links_tip_to_base=tuple(links), tip=arm.frames[TOOL])


def given_far(arm: Arm, away: float) -> dict[str, np.ndarray]:
    """One state with every sliding joint of the base so far away."""
    s = random_states(arm, 1)
    q = s.q[0].copy()
    for k in range(len(arm.links), 0, -1):
        if not arm.link(k).joint.turns:
            q[arm.coordinates[k - 1]] += away
    return {"q": q, "qd": s.qd[0], "qdd": s.qdd[0], "tau": s.dtau[0]}


def exactly(parameters: Parameters, name: str, given: Mapping[str, np.ndarray]) -> dict[str, Any]:
    """The result in 60 digits."""
    entry = ALGORITHMS[name]
    with mpmath.workdps(60):
        values = {
            need: np.array([mpmath.mpf(x) for x in given[need].tolist()]) for need in entry.needs
        }
        found = run.run_on(parameters, entry.run, entry.gives, values, mpmath.mpf)
    return {key: np.array(each, dtype=float) for key, each in found.arrays.items()}


def digits(found: Any, true: Any) -> float:
    """How many digits of the largest entry are right in every entry."""
    gap = float(np.abs(found - true).max())
    return 16.0 if gap == 0.0 else float(-np.log10(gap / np.abs(true).max()))


@pytest.mark.parametrize("slides", [1, 2, 3])
@pytest.mark.parametrize("away", [pytest.param(100.0, marks=pytest.mark.slow), 1000.0])
def test_far_from_home_no_digit_is_lost(slides: int, away: float) -> None:
    """A hundred metres or a kilometre away, results are as right as those of any arm."""
    arm = mobile(slides)
    given = given_far(arm, away)
    still = at_rest(parameters_of(arm))
    for name in VERBS:
        entry = ALGORITHMS[name]
        values = {need: given[need] for need in entry.needs}
        found = run.run_on(parameters_of(arm), entry.run, entry.gives, values).arrays
        true = exactly(still, name, given)
        for key in found:
            assert digits(found[key], true[key]) > DIGITS, (name, key)


# every number of slides and every load, on light and on heavy slides
@pytest.mark.parametrize(
    ("slides", "heavy", "wrench"),
    [
        (1, False, ""),
        (2, True, "dead"),
        *(
            pytest.param(*case, marks=pytest.mark.slow)
            for case in (
                (1, True, "world"),
                (2, False, "follower"),
                (2, True, ""),
                (3, False, "dead"),
                (3, False, "world"),
                (3, True, "follower"),
            )
        ),
    ],
)
def test_the_frame_that_goes_along_changes_no_result(slides: int, heavy: bool, wrench: str) -> None:
    """In 60 digits every result is that of a frame which stays: poses, energies, loads and all."""
    arm = mobile(slides, heavy)
    arm = with_wrench(arm, wrench) if wrench else arm
    assert len(arm.sliding_base) == (1 if heavy else slides)
    given = given_far(arm, 30.0)
    for name in (*VERBS, *PLACED):
        moving, still = (
            exactly(each, name, given) for each in (parameters_of(arm), at_rest(parameters_of(arm)))
        )
        for key in moving:
            # ways to slide are doubles themselves, a few roundings away from turned axes
            close = 1e-14 * float(np.abs(still[key]).max(initial=0.0))
            np.testing.assert_allclose(moving[key], still[key], rtol=0, atol=close)


@pytest.mark.slow
@pytest.mark.parametrize("arm", [mobile(1), mobile(3), with_follower(mobile(2))], ids=named)
def test_kernels_have_the_same_bits(arm: Arm) -> None:
    """Lanes go along as Python does, to the bit."""
    s = random_states(arm, 40)
    far = s.q + 100.0 * np.arange(40)[:, None] * np.array([not joint.turns for joint in arm.joints])
    given = {"q": far, "qd": s.qd, "qdd": s.qdd, "tau": s.dtau}
    for name in ("inverse", "mass-matrix", "forward-conventional", "energy", "jacobian"):
        entry = ALGORITHMS[name]
        values = {need: given[need] for need in entry.needs}
        python = run.run_on(parameters_of(arm), entry.run, entry.gives, values).arrays
        lanes, _ = on_lanes(arm, name, entry, values)
        assert all(lanes[key].tobytes() == python[key].tobytes() for key in python), name


def test_arms_that_do_not_slide_on_their_base_have_the_frame_they_had() -> None:
    """A slide further out, a branch on the base, or a question about the base moves no frame."""
    slider = mobile(2)
    assert slider.sliding_base == (8, 7)
    assert mobile(2, heavy=True).sliding_base == (8,)
    assert robolin.load("panda").sliding_base == ()
    assert robolin.load("panda", floating_base=True).sliding_base == ()
    on_base = replace(slider, tip=replace(slider.frames[TOOL], link=slider.base))
    on_slide = replace(slider, tip=replace(slider.frames[TOOL], link=8))
    assert on_base.sliding_base == ()
    assert on_slide.sliding_base == (8,)
    turning = random_arm(3, 5, prismatic=False)
    assert parameters_of(turning).roaming is None
    assert all(row.rests for row in parameters_of(turning).links)
