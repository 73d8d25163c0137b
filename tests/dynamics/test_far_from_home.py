"""Arms with large prismatic travel keep their digits, and every bit at the origin."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import robolin
from robolin.checking.verification.digits import ExactNumbers, decimals, exact, fifty_digits
from robolin.checking.verification.reference_programs import PinocchioPeer
from robolin.core.arm import FAR_SLID, Arm, Inertia, Joint, Limits, Pose, slides_far, travelling
from robolin.dynamics.catalogue import ALGORITHMS
from robolin.engine import run
from robolin.engine.parameters import Parameters, at_rest, parameters_of
from tests.engine.on_lanes import on_lanes
from tests.robots import TOOL, arm_name, random_arm, random_states, with_follower, with_wrench

AWAY = (100.0, 1000.0)
VERBS = (
    *("inverse", "forward", "mass-matrix", "mass-matrix-inverse", "linearize-inverse"),
    *("linearize-forward", "linearize-forward-conventional", "mass-matrix-derivative"),
    *("coriolis-matrix", "diagonalize", "regressor", "link-accelerations"),
)
PLACED = (
    *("jacobian", "frame-motion", "frame-derivatives", "operational-space", "energy", "power"),
    "momentum",
)
# of the 15.95 of a double: sums of some hundred products, and cond(M) below 1e3
DIGITS = 11.5

X, Y, Z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)
AXES = {"x": X, "y": Y, "z": Z, "yaw": Z, "pitch": Y}

# the joints under an arm of four joints, base to tip; massless links have capital letters
SLIDING = ("x", "X y", "x y", "x y z", "X Y yaw", "x y yaw", "x y z x")
TURNED = ("yaw x", "yaw x y", "yaw pitch x")


def on_stem(stem: str, seed: int = 5) -> Arm:
    """A random arm on prismatic and revolute joints as the letters specify."""
    letters = stem.split()
    arm = random_arm(seed, 4 + len(letters), prismatic=False, armature=True, damping=True)
    links = list(arm.links_tip_to_base)
    for i, letter in enumerate(letters, start=1):
        axis, link = AXES[letter.lower()], links[-i]
        kind = "revolute" if letter.lower() in ("yaw", "pitch") else "prismatic"
        joint = replace(link.joint, kind=kind, axis=axis, pose=Pose(translation=(0.0, 0.1, 0.2)))
        body = Inertia() if letter.isupper() else link.inertia
        links[-i] = replace(link, joint=joint, inertia=body)
    return replace(arm, name=stem, links_tip_to_base=tuple(links), tip=arm.frames[TOOL])


def given_far(arm: Arm, away: float) -> dict[str, np.ndarray]:
    """One state with every prismatic joint at a large position."""
    s = random_states(arm, 1)
    slides = np.array([not joint.turns for joint in arm.joints])
    return {"q": s.q[0] + away * slides, "qd": s.qd[0], "qdd": s.qdd[0], "tau": s.dtau[0]}


def floats(arm: Arm, name: str, inputs: Mapping[str, np.ndarray]) -> dict[str, Any]:
    entry = ALGORITHMS[name]
    values = {need: inputs[need] for need in entry.needs}
    return run.run_on(parameters_of(arm), entry.run, entry.gives, values).arrays


def exactly(parameters: Parameters, name: str, inputs: Mapping[str, np.ndarray]) -> dict[str, Any]:
    """Every result in 50 digits, as decimals."""
    entry = ALGORITHMS[name]
    with fifty_digits():
        values = {
            need: np.array([exact(x) for x in inputs[need].tolist()], dtype=object)
            for need in entry.needs
        }
        arrays = run.run_on(parameters, entry.run, entry.gives, values, exact).arrays
        plain = np.vectorize(
            lambda x: x.value if isinstance(x, ExactNumbers) else exact(x).value, "O"
        )
        return {key: plain(each) for key, each in arrays.items()}


def digits(computed: Any, true: Any) -> float:
    """How many digits of the largest entry are right in every entry."""
    with fifty_digits():
        gap = largest(decimals(np.asarray(computed)) - true)
        return 16.0 if gap == 0.0 else float(-np.log10(gap / largest(true)))


def largest(values: Any) -> float:
    return float(max(map(abs, np.ravel(values)), default=0))


@pytest.mark.parametrize("stem", SLIDING)
def test_prismatic_travel_loses_no_digits(stem: str) -> None:
    """A kilometre away, results are as accurate as those of any arm."""
    arm = on_stem(stem)
    inputs = given_far(arm, 1000.0)
    for name in VERBS:
        computed, true = (
            floats(arm, name, inputs),
            exactly(at_rest(parameters_of(arm)), name, inputs),
        )
        for key in computed:
            assert digits(computed[key], true[key]) > DIGITS, (name, key)


@pytest.mark.parametrize("stem", (*SLIDING, *TURNED))
def test_far_away_accelerations_are_as_right_as_pinocchios(stem: str) -> None:
    """Pinocchio computes every link in its own frame, which gains half a digit at most."""
    pin = pytest.importorskip("pinocchio")
    arm = replace(on_stem(stem), damping=False)
    peer, at = PinocchioPeer(arm), np.array(arm.coordinates)
    for away in AWAY:
        inputs = given_far(arm, away)
        true = exactly(at_rest(parameters_of(arm)), "forward", inputs)["qdd"]
        state = (
            peer._configuration(inputs["q"][at]),
            *(peer._spread(inputs[x][at]) for x in ("qd", "tau")),
        )
        theirs = np.empty(arm.n)
        theirs[at] = pin.aba(peer._model, peer._data, *state)[peer._indices]
        ours = floats(arm, "forward", inputs)["qdd"]
        assert digits(ours, true) > min(digits(theirs, true) - 0.5, 12.8), away


@pytest.mark.parametrize(
    ("stem", "load"), [("X y", ""), ("x y", "world"), ("yaw x", "dead"), ("yaw x", "world")]
)
def test_the_frame_that_goes_along_changes_no_result(stem: str, load: str) -> None:
    """In 50 digits every result is that of a frame which stays: poses, energies, loads and all."""
    arm = with_wrench(on_stem(stem), load) if load else on_stem(stem)
    inputs = given_far(arm, 30.0)
    for name in (*VERBS, *PLACED):
        moving, still = (
            exactly(each, name, inputs)
            for each in (parameters_of(arm), at_rest(parameters_of(arm)))
        )
        for key in moving:
            assert largest(moving[key] - still[key]) <= 1e-40 * largest(still[key]), (name, key)


@pytest.mark.parametrize("stem", ["X y", "x y z", "yaw x"])
def test_near_the_origin_every_bit_is_that_of_a_fixed_frame(stem: str) -> None:
    """Within a few metres nothing is computed differently."""
    arm = on_stem(stem)
    inputs = given_far(arm, FAR_SLID - 3.2)
    assert np.abs(inputs["q"]).max() < FAR_SLID
    still = at_rest(parameters_of(arm))
    for name in (*VERBS, *PLACED):
        entry = ALGORITHMS[name]
        values = {need: inputs[need] for need in entry.needs}
        at_home = run.run_on(still, entry.run, entry.gives, values).arrays
        for key, computed in floats(arm, name, inputs).items():
            assert computed.tobytes() == at_home[key].tobytes(), (name, key)


@pytest.mark.slow
@pytest.mark.parametrize(
    "arm", [on_stem("x y"), on_stem("yaw x"), with_follower(on_stem("x y z"))], ids=arm_name
)
def test_kernels_have_the_same_bits(arm: Arm) -> None:
    """Lanes shift the frame as Python does, to the bit, some rows near and some far away."""
    s = random_states(arm, 40)
    far = s.q + 100.0 * np.arange(40)[:, None] * np.array([not joint.turns for joint in arm.joints])
    inputs = {"q": far, "qd": s.qd, "qdd": s.qdd, "tau": s.dtau}
    for name in ("inverse", "mass-matrix", "forward-conventional", "energy", "jacobian"):
        entry = ALGORITHMS[name]
        values = {need: inputs[need] for need in entry.needs}
        python = run.run_on(parameters_of(arm), entry.run, entry.gives, values).arrays
        lanes, _ = on_lanes(arm, name, entry, values)
        assert all(lanes[key].tobytes() == python[key].tobytes() for key in python), name


def limited(arm: Arm, reach: float) -> Arm:
    """The same arm with a limit to every joint."""
    limits = Limits(-reach, reach)
    links = tuple(
        replace(link, joint=replace(link.joint, limits=limits)) for link in arm.links_tip_to_base
    )
    return replace(arm, links_tip_to_base=links)


def test_arms_without_long_travel_have_a_fixed_frame() -> None:
    """Branches, frames inboard of a prismatic joint, multi-DoF joints, and limited travel."""
    arm, turned = on_stem("x y yaw"), on_stem("yaw x y")
    assert travelling(arm) == travelling(limited(arm, 1.0)) == (7, 6)
    assert travelling(turned) == travelling(limited(turned, FAR_SLID + 1.0)) == (6, 5)
    assert travelling(limited(turned, FAR_SLID)) == ()
    assert travelling(robolin.load("panda-fingers")) == ()
    assert travelling(robolin.load("panda", floating_base=True)) == ()
    on_base = replace(arm, tip=replace(arm.frames[TOOL], link=arm.base))
    on_slide = replace(arm, tip=replace(arm.frames[TOOL], link=7))
    assert travelling(on_base) == ()
    assert travelling(on_slide) == (7,)
    assert travelling(robolin.load("cart-pole")) == (2,)


def test_a_joint_travels_far_unless_both_limits_are_set() -> None:
    """One side without a limit is enough."""
    sliding = Joint("joint", "prismatic", Pose(), X)
    assert slides_far(sliding)
    assert slides_far(replace(sliding, limits=Limits(-1.0, None)))
    assert slides_far(replace(sliding, limits=Limits(-100.0, 1.0)))
    assert not slides_far(replace(sliding, limits=Limits(-1.0, 1.0)))
    assert not slides_far(replace(sliding, kind="revolute"))


def test_the_contract_names_the_link_that_the_frame_follows() -> None:
    entry = robolin.load("cart-pole").contract["inertial_frame"]
    assert "moved with link 'cart' where it has slid over 4 m" in entry
