"""Generated C gives robolin's bits with every compiler and on every machine.

`python -m tests.codegen` does the same for every bundled arm, all verbs and 200 states.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import robolin
from robolin.codegen.c_files import LARGEST_ERROR
from robolin.codegen.functions import QUESTIONS, chosen_question
from robolin.core.arm import Arm
from robolin.errors import RobolinError
from tests.codegen.compilers import CORTEX_M7, GCC, QUICKEST, RUNNING
from tests.robots import random_arm, with_follower, with_springs, with_wrench

LAYOUTS = ("unrolled", "loops")
SHORT, LONG = ["inverse", "forward", "mass-matrix"], ["linearize-forward"]


def verbs_of(arm: Arm) -> list[str]:
    """The verbs that have a result on the arm, which has fewer than six joints."""
    verbs = []
    for verb in QUESTIONS:
        try:
            chosen_question(arm, verb, frame=arm.links[-1].name)
            verbs.append(verb)
        except RobolinError:
            pass
    return [verb for verb in verbs if verb != "operational-space"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "layout"),
    [("two-link", "unrolled"), ("cart-pole", "loops"), *(("four-bar", each) for each in LAYOUTS)],
)
def test_all_verbs_of_small_arms(name: str, layout: str, tmp_path: Path) -> None:
    """Every verb of the arm, at 20 states, on this machine."""
    arm = robolin.load(name, friction_velocity=0.1)
    verbs = verbs_of(arm)
    assert len(verbs) > 8
    made, frame = tmp_path / "made", arm.links[-1].name
    robolin.generate(arm, verbs, made, layout=layout, frame=frame, states=20, prefix="arm")
    summary = (GCC if layout == "unrolled" else QUICKEST).checked(made, "arm", ["-O0"])
    assert summary.startswith(f"arm: {20 * len(verbs)} states, 0 differences")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("compiler", "layout", "verbs"),
    # what takes longest to compile meets loops once
    [
        ("gcc", "loops", SHORT),
        ("aarch64", "loops", LONG),
        ("clang", "unrolled", SHORT + LONG),
        ("aarch64", "unrolled", SHORT + LONG),
    ],
)
def test_other_compilers_and_machines(
    compiler: str, layout: str, verbs: list[str], tmp_path: Path
) -> None:
    """A tree with a follower and a wrench, at 50 states: the same bits on every machine."""
    arm = with_wrench(with_follower(random_arm(51, 3, tree=True, damping=True)), "follower")
    robolin.generate(arm, verbs, tmp_path / "made", layout=layout, states=50, prefix="arm")
    RUNNING[compiler].checked(tmp_path / "made", "arm")


@pytest.mark.slow
@pytest.mark.parametrize("layout", LAYOUTS)
def test_springs_have_the_same_bits(layout: str, tmp_path: Path) -> None:
    """Springs of joints, of one that follows and where loops are closed."""
    arm = with_springs(with_wrench(with_follower(random_arm(52, 3, damping=True)), "world"))
    verbs = ["inverse", "forward", "linearize-inverse", "linearize-forward", "energy"]
    robolin.generate(arm, verbs, tmp_path / "made", layout=layout, states=20, prefix="arm")
    QUICKEST.checked(tmp_path / "made", "arm", ["-O0"])
    closed = with_springs(robolin.load("four-bar"))
    robolin.generate(
        closed, ["forward-closed"], tmp_path / "bar", layout=layout, states=20, prefix="bar"
    )
    QUICKEST.checked(tmp_path / "bar", "bar", ["-O0"])


@pytest.mark.slow
@pytest.mark.parametrize("layout", LAYOUTS)
def test_rotors_of_translations_have_the_same_bits(layout: str, tmp_path: Path) -> None:
    """Armature of a floating joint, whose Coriolis terms only such kernels have."""
    arm = robolin.load("cart-pole", base_joint="planar", armature={"base": 0.3})
    verbs = ["inverse", "forward", "linearize-inverse", "linearize-forward", "coriolis-matrix"]
    robolin.generate(arm, verbs, tmp_path / "made", layout=layout, states=20, prefix="arm")
    QUICKEST.checked(tmp_path / "made", "arm", ["-O0"])


def test_roots_and_friction_have_the_same_bits(tmp_path: Path) -> None:
    """Square roots and tanh are bit-identical; C99 without a library has neither."""
    arm = robolin.load("cart-pole", friction_velocity=0.1)
    robolin.generate(arm, ["diagonalize"], tmp_path / "made", states=15)
    GCC.checked(tmp_path / "made", "cart_pole")


def test_many_joints_have_loops(tmp_path: Path) -> None:
    """Above 12 joints the source has loops over the links, and does not grow with them."""
    sizes = []
    for joints in (13, 26):
        folder = tmp_path / str(joints)
        robolin.generate(random_arm(5, joints), ["inverse"], folder, prefix="arm", states=1)
        text = (folder / "arm.c").read_text()
        assert "for (int " in text
        body = text.partition("int arm_inverse")[2]
        sizes.append(len(body.splitlines()))
    assert sizes[0] == sizes[1]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "layout"), [("puma560", "unrolled"), ("j2s6s200", "loops")])
def test_single_precision_is_nearly_exact(name: str, layout: str, tmp_path: Path) -> None:
    """In floats, 200 states are within 1e-4 of a result's largest entry, with a light wrist too."""
    arm, verbs = robolin.load(name), ["inverse", "forward", "mass-matrix"]
    options = {"real": "float", "layout": layout, "states": 200, "prefix": "arm"}
    robolin.generate(arm, verbs, tmp_path / "made", **options)
    summary = QUICKEST.checked(tmp_path / "made", "arm", ["-O0"])
    assert "largest error 0" not in summary.replace("largest error 0.", "")
    text = (tmp_path / "made" / "arm_test.c").read_text()
    allowed = dict(re.findall(r'compare\("([\w-]+): .*, ([\d.e-]+)\);', text))
    # larger errors are allowed for results that lose more digits
    assert allowed.keys() == {*verbs}
    assert all(float(each) == LARGEST_ERROR for each in allowed.values())


@pytest.mark.slow
def test_microcontrollers_compile_it(tmp_path: Path) -> None:
    """Strict C for a Cortex-M7, in both precisions."""
    for real in ("double", "float"):
        folder = tmp_path / real
        robolin.generate(robolin.load("two-link"), ["inverse"], folder, real=real)
        CORTEX_M7.compile(folder, "two_link.c", into="two_link.o", flags=("-c", "-O2"))
