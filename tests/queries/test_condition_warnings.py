"""Results that lose many digits in dividing by the mass matrix have a warning, and no others."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import mpmath
import numpy as np
import pytest

import robolin
from robolin.checking.verification import checks
from robolin.core.arm import Arm, Inertia
from robolin.description.robot_source import bundled_names
from robolin.dynamics.catalogue import ALGORITHMS
from robolin.engine.parameters import parameters_of
from robolin.engine.run import run_on
from robolin.queries.state_monitor import (
    DIGITS_PER_CONDITION,
    MAX_CONDITION,
    condition_number_bound,
    max_prismatic_travel,
)
from tests.cli.command import robolin as run_robolin
from tests.cli.command import run_ok
from tests.robots import random_arm, with_follower

THIN = """<robot name="thin"><link name="a"/>
<link name="b"><inertial><origin xyz="0.5 0 0"/><mass value="1"/>
<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<link name="c"><inertial><origin xyz="{arm} 0 0"/><mass value="{mass}"/>
<inertia ixx="{i}" iyy="{i}" izz="{i}" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="one" type="continuous"><parent link="a"/><child link="b"/><axis xyz="0 1 0"/></joint>
<joint name="two" type="continuous"><parent link="b"/><child link="c"/><origin xyz="1 0 0"/>
<axis xyz="0 1 0"/></joint></robot>"""


def thin(folder: Path, size: float) -> Path:
    """An arm whose last link has this small inertia."""
    path = folder / "thin.urdf"
    path.write_text(THIN.format(arm=size, mass=size, i=size**3))
    return path


def test_the_bound_is_the_one_that_verify_uses() -> None:
    """Both use the same limit for the condition number."""
    assert DIGITS_PER_CONDITION == checks.PER_CONDITION


@pytest.mark.parametrize("tree", [False, True])
@pytest.mark.parametrize("seed", range(12))
def test_masses_and_lengths_bound_the_condition(seed: int, tree: bool) -> None:
    """No pose of a random arm, sliding and following joints included, is worse than the bound."""
    rng = np.random.default_rng(seed)
    plain = random_arm(seed, 3 + seed % 5, tree=tree)
    for arm in (plain, random_arm(seed, 5, tree=tree, armature=True), with_follower(plain)):
        q = rng.uniform(-3.0, 3.0, (20, arm.n))
        true = np.linalg.cond(robolin.mass_matrix(arm, q)).max()
        assert true <= condition_number_bound(arm, max_prismatic_travel(arm, q))


def test_most_bundled_arms_need_no_check_by_pose() -> None:
    """The bound from masses and lengths is sufficient for common arms."""
    names = ("ur5", "ur10", "panda", "panda-fingers", "iiwa14", "j2s6s200", "xarm7", "puma560")
    assert set(names) <= set(bundled_names())
    for name in names:
        arm = robolin.load(name)
        assert (
            condition_number_bound(arm, max_prismatic_travel(arm, np.ones((1, arm.n))))
            < 1e-2 * MAX_CONDITION
        )


def test_bodies_without_extent_are_checked_pose_by_pose() -> None:
    """Thin rods have no inertia about their axis, so the bound gives nothing; their poses do."""
    arm = robolin.load("two-link")
    assert condition_number_bound(arm, max_prismatic_travel(arm, np.zeros((1, 2)))) == np.inf
    assert "singular" not in run_ok("forward", "two-link", "--q", "0.3,-0.7").err


def _right(arm: Arm, q: np.ndarray) -> float:
    """Relative error of the accelerations, by 50-digit arithmetic."""
    with mpmath.workdps(50):
        inputs = {"q": q, "qd": np.zeros(2), "tau": np.zeros(2)}
        exact = {name: np.array([mpmath.mpf(x) for x in v.tolist()]) for name, v in inputs.items()}
        algorithm = ALGORITHMS["forward"]
        true = run_on(parameters_of(arm), algorithm.run, algorithm.gives, exact, mpmath.mpf)
        expected = true.arrays["qdd"]
        off = [
            abs(mpmath.mpf(x) - y) for x, y in zip(robolin.forward(arm, q), expected, strict=True)
        ]
        return float(max(off) / max(map(abs, expected)))


@pytest.mark.parametrize("size", [1e-1, 1e-2, 1e-3, 1e-4, 1e-5])
def test_lost_digits_are_reported(size: float, tmp_path: Path) -> None:
    """Fewer than six correct digits always give a warning, also without -v."""
    path = thin(tmp_path, size)
    arm = robolin.load(path)
    err = run_ok("forward", path, "--q", "0.1,0.2").err
    condition = float(np.linalg.cond(robolin.mass_matrix(arm, [0.1, 0.2])))
    if _right(arm, np.array([0.1, 0.2])) > 1e-6:
        assert "warning: the mass matrix is nearly singular" in err
    assert ("nearly singular" in err) == (condition > MAX_CONDITION)


@pytest.mark.parametrize(
    "arguments",
    [
        *(("forward",), ("linearize-forward",), ("mass-matrix", "--inverse"), ("diagonalize",)),
        *(("linearize-forward", "--perturb", "dq=0.1,0"), ("state-space",), ("poles",)),
        ("simulate", "--duration", "0.002"),
    ],
    ids=" ".join,
)
def test_every_command_that_divides_warns(arguments: tuple[str, ...], tmp_path: Path) -> None:
    """Commands that divide by the mass matrix warn, and others do not."""
    verb, *more = arguments
    out = tmp_path / "out.npz"
    ran = run_ok(verb, thin(tmp_path, 1e-5), "--q", "0.1,0.2", *more, "-o", out)
    assert "warning: the mass matrix is nearly singular: cond(M) = " in ran.err
    assert "singular" not in run_ok("inverse", tmp_path / "thin.urdf", "--q", "0.1,0.2").err


@pytest.mark.parametrize("verb", ["linearize-forward", "state-space"])
def test_rows_are_counted_and_the_first_is_named(verb: str, tmp_path: Path) -> None:
    """A trajectory has one warning, with the number of rows and the first of them."""
    path, motion = thin(tmp_path, 1e-5), tmp_path / "motion.csv"
    motion.write_text("one/position,two/position\n" + "0.1,0.2\n" * 150)
    arguments = (
        verb,
        path,
        "--trajectory",
        motion,
        "-o",
        tmp_path / "out.npz",
        "--chunk-rows",
        "64",
    )
    err = run_ok(*arguments).err
    assert err.count("nearly singular") == 1
    assert f"nearly singular in 150 rows, first {motion}:2, row 1: cond(M)" in err


def test_only_bad_rows_count(tmp_path: Path) -> None:
    """A point on two massless links has inertia in all directions unless they are stretched."""
    arm = robolin.load("two-link")
    lower, upper = arm.links_tip_to_base
    point = replace(lower, inertia=Inertia(1.0, (1.0, 0.0, 0.0)))
    pendulum = replace(arm, links_tip_to_base=(point, replace(upper, inertia=Inertia())))
    q = np.array([[0.0, 1.5], [0.0, 1e-6], [0.0, 0.5]])
    conditions = np.linalg.cond(robolin.mass_matrix(pendulum, q))
    bad = int((conditions > MAX_CONDITION).sum())
    messages: list[str] = []
    states = robolin.States(q=q)
    robolin.answer(pendulum, "forward", states, notify=lambda kind, text: messages.append(text))
    assert bad == 1
    assert any("in 1 row, first row 2: cond(M)" in text for text in messages)


@pytest.mark.parametrize(
    ("name", "arm", "values"),
    [
        ("inertia", {"arm": 1.0, "mass": 1.0, "i": 1e160}, ()),
        ("reach", {"arm": 1e160, "mass": 1e-200, "i": 1.0}, ()),
        ("stroke", {}, ("--q", "1e160,0")),
    ],
)
def test_bounds_that_overflow_are_not_an_error(
    tmp_path: Path, name: str, arm: dict[str, float], values: tuple[str, ...]
) -> None:
    """Huge inertias and lengths make the bound infinite, and the state itself is checked."""
    path = tmp_path / "huge.urdf"
    path.write_text(THIN.format(**arm) if arm else "")
    run = run_robolin("forward", str(path) if arm else "cart-pole", *values)
    # a result, or an error about the numbers
    assert run.code in (0, 3), (name, run.err)
