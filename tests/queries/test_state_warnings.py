"""Results of states that are probably a mistake have a warning."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import robolin as library
from robolin.queries.state_monitor import column_max, column_min
from tests.cli.command import robolin, run_ok
from tests.robots import ROOT

WEIGHTLESS = """<robot name="bare"><link name="a"/><link name="b"/>
<joint name="hinge" type="revolute"><parent link="a"/><child link="b"/><axis xyz="0 1 0"/>
<limit lower="-1" upper="1" effort="10" velocity="1"/></joint></robot>"""
SLIDER = """<robot name="slider"><link name="a"/><link name="b"><inertial><mass value="1"/>
<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="rail" type="prismatic"><parent link="a"/><child link="b"/><axis xyz="1 0 0"/>
<limit lower="0" upper="0.5" effort="10" velocity="1"/></joint></robot>"""
POSE = "0,-0.8,0,-2.4,0,1.6,0.8"


def trajectory(tmp_path: Path, rows: np.ndarray) -> Path:
    names = library.load("panda").joint_names
    lines = [",".join(f"{name}/position" for name in names)]
    lines += [",".join(map(repr, row)) for row in rows.tolist()]
    path = tmp_path / "motion.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


def test_a_state_far_outside_its_limits_has_a_warning() -> None:
    """An angle more than a revolution beyond its limits has a result and a warning."""
    err = run_ok("inverse", "panda", "--q", "panda_joint1=45,panda_joint4=-1.5").err
    assert "warning: joint 'panda_joint1' is at 45 rad, far outside its limits" in err
    assert "-2.8973 to 2.8973; 45deg would be 0.7854 rad" in err
    assert "panda_joint4" not in err


NOTED = "180 rad at joint 'shoulder'; 180deg would be 3.142 rad"


@pytest.mark.parametrize(
    "command",
    [
        "inverse two-link --q 180,0",
        "lqr acrobot --q 180,0",
        "poles acrobot --q 180,0 --trim",
        "simulate acrobot --q shoulder=180 --duration 0.01",
        "simulate acrobot --control pd --goal 180,0 --duration 0.01",
        "optimize acrobot --goal 180,0 --duration 1 --starts 1 --iterations 3",
    ],
)
def test_a_typed_angle_without_a_unit_has_a_note(command: str) -> None:
    """Whole numbers beyond a revolution are noted without limits too, also before an error."""
    flag = "--goal" if "--goal" in command else "--q"
    assert f"note: {flag}: {NOTED}" in robolin(*command.split()).err


def test_other_angles_beyond_a_revolution_have_no_note() -> None:
    """Angles with a unit, fractions of pi and velocities are plausible; limits have a warning."""
    for q in ("720deg,0", "4pi,-900deg", "6,-6"):
        assert "would be" not in run_ok("inverse", "two-link", "--q", q).err
    assert "would be" not in run_ok("inverse", "two-link", "--qd", "180,0").err
    err = run_ok("inverse", "panda", "--q", "panda_joint1=45,panda_joint4=-1.5").err
    assert err.count("45deg would be") == 1


def test_an_offset_without_a_unit_has_a_note(tmp_path: Path) -> None:
    gains = tmp_path / "gains.npz"
    run_ok("lqr", "acrobot", "--q", "180deg,0", "-o", gains)
    command = ("simulate", "acrobot", "--feedback", gains, "--duration", "0.01", "--offset")
    assert f"note: --offset: {NOTED}" in robolin(*command, "shoulder=180").err
    assert "would be" not in robolin(*command, "shoulder=2deg").err


def test_a_prismatic_joint_far_beyond_its_travel_has_a_warning(tmp_path: Path) -> None:
    """A prismatic joint is far outside when it is ten times its travel beyond."""
    path = tmp_path / "slider.urdf"
    path.write_text(SLIDER)
    assert "rail' is at 500 m, far outside" in run_ok("inverse", path, "--q", "500").err
    assert "far outside" not in run_ok("inverse", path, "--q", "0.7").err


def test_a_slightly_exceeded_limit_has_no_warning() -> None:
    """A limit that is merely exceeded has a note, and --limits lists it."""
    err = run_ok("inverse", "panda", "--q", "panda_joint1=3.5,panda_joint4=-1").err
    assert "warning" not in err
    assert "note: q is outside the joint limits: 'panda_joint1' is at 3.5 rad" in err


def test_a_column_in_degrees_has_a_warning(tmp_path: Path) -> None:
    """Columns that would fit their limits as degrees, and do not as rad, are named."""
    pose = np.array([float(x) for x in POSE.split(",")])
    rows = pose + 0.1 * np.random.default_rng(0).standard_normal((200, 7))
    path = trajectory(tmp_path, rows)
    fine = run_ok("inverse", "panda", "--trajectory", path, "-o", tmp_path / "a.npz")
    assert "degrees" not in fine.err
    rows[:, 3] = np.degrees(rows[:, 3])
    path = trajectory(tmp_path, rows)
    ran = run_ok("inverse", "panda", "--trajectory", path, "-o", tmp_path / "b.npz")
    assert "motion.csv: positions look like degrees, but are read as rad: 'panda_joint4'" in (
        ran.err
    )
    strict = robolin("inverse", "panda", "--strict", "--trajectory", path, "-o", tmp_path / "c.npz")
    assert strict.code != 0
    assert not (tmp_path / "c.npz").exists()


def test_degrees_of_joints_without_limits_have_a_warning() -> None:
    """Angles that stay beyond a revolution are named; one that winds up from 0 is plausible."""
    arm = library.load("two-link")
    (message,) = library.state_warnings(arm, np.array([[45.0, 1.0], [-60.0, 2.0]]))
    assert "look like degrees, but are read as rad: 'shoulder'; range of 'shoulder': -60" in message
    for fine in ([[0.0, 7.0], [90.0, 0.1]], [[400.0, 0.0], [420.0, 0.0]], [[45.0, 0.0]]):
        assert library.state_warnings(arm, np.array(fine)) == ()


@pytest.mark.parametrize("verb", ["inverse", "mass-matrix", "linearize-inverse"])
def test_an_arm_without_any_mass_has_a_warning(verb: str, tmp_path: Path) -> None:
    """Zeros of a file without masses come with a warning."""
    path = tmp_path / "bare.urdf"
    path.write_text(WEIGHTLESS)
    assert "warning: bare: moving links have no mass" in run_ok(verb, path).err
    assert robolin(verb, path, "--strict").code != 0
    assert "mass" not in run_ok(verb, path, "--payload", "b:1@0,0,1").err


def test_kinematics_need_no_mass(tmp_path: Path) -> None:
    """A Jacobian is right without masses, so it has no warning."""
    path = tmp_path / "bare.urdf"
    path.write_text(WEIGHTLESS)
    assert "moving links" not in run_ok("jacobian", path).err


def test_the_front_page_shows_a_possible_pose() -> None:
    """The pose of README's first command keeps every limit of the arm."""
    text = (ROOT / "README.md").read_text()
    pose = re.search(r"robolin linearize-forward panda --q (\S+)", text)
    assert pose is not None
    # --limits exits with 1 where one is exceeded
    assert robolin("inverse", "panda", "--q", pose.group(1), "--limits").code == 0


def test_state_warnings_in_python_are_those_of_commands() -> None:
    """`state_warnings` returns for arrays what a command prints; functions do not warn."""
    arm = library.load("panda")
    far = np.zeros(7)
    far[0] = 45.0
    (message,) = library.state_warnings(arm, far)
    assert f"warning: {message}" in run_ok("inverse", "panda", "--q", "45,0,0,0,0,0,0").err
    assert library.inverse(arm, far).shape == (7,)

    fine = np.array([float(x) for x in POSE.split(",")])
    assert library.state_warnings(arm, fine) == ()
    rows = np.degrees(fine + 0.1 * np.random.default_rng(0).standard_normal((200, 7)))
    assert any("look like degrees" in text for text in library.state_warnings(arm, rows))


def test_warnings_have_their_own_category() -> None:
    """Filters can distinguish warnings of robolin from others."""
    arm = library.load("panda")
    with pytest.warns(library.RobolinWarning, match="far outside"):
        library.answer(arm, "inverse", library.States(q="panda_joint1=45,panda_joint4=-1"))


@pytest.mark.parametrize("verb", ["state-space", "poles", "simulate", "linearize-forward"])
def test_every_command_with_a_state_warns(verb: str, tmp_path: Path) -> None:
    """Linear models and simulations are no exception."""
    more = ("--duration", "0.002") if verb == "simulate" else ()
    ran = run_ok(verb, "panda", "--q", "45,0,0,-1,0,1,0", *more, "-o", tmp_path / "out.npz")
    assert "warning: joint 'panda_joint1' is at 45 rad, far outside its limits" in ran.err


@pytest.mark.parametrize("rows", [1, 2, 63, 64, 65, 128, 200])
@pytest.mark.parametrize("gaps", [0.0, 0.2])
def test_extremes_are_those_of_numpy(rows: int, gaps: float) -> None:
    """Rows processed together give the extremes of single rows, NaN ignored."""
    rng = np.random.default_rng(rows)
    table = rng.normal(size=(rows, 7))
    table[rng.random(table.shape) < gaps] = np.nan
    table[:, 3] = np.nan if gaps else np.inf

    assert np.array_equal(column_min(table), np.fmin.reduce(table), equal_nan=True)
    assert np.array_equal(column_max(table), np.fmax.reduce(table), equal_nan=True)
    in_turn = table[::-1, ::-1]
    assert np.array_equal(column_max(in_turn), np.fmax.reduce(in_turn), equal_nan=True)


@pytest.mark.parametrize("name", ["two-link", "panda", "cart-pole"])
def test_no_rows_and_joints_without_numbers_give_no_warning(name: str) -> None:
    """A range of no numbers is infinite, but no position is far from 0 or from a limit."""
    arm = library.load(name)
    missing = np.zeros((4, arm.n))
    missing[:, 0] = np.nan
    for q in (np.zeros((0, arm.n)), np.zeros((3, 0, arm.n)), missing, np.full((4, arm.n), np.nan)):
        assert library.state_warnings(arm, q) == ()
