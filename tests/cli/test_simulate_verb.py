"""`robolin simulate` on the command line: output, input, messages and errors."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import robolin as library
from tests.cli.command import robolin, run_ok

FALL = ("simulate", "two-link", "--q", "1,-0.5", "--qd", "0,1", "--duration", "0.1")


def columns(text: str) -> dict[str, np.ndarray]:
    names, *rows = (line.split(",") for line in text.splitlines())
    return dict(zip(names, np.array(rows, dtype=float).T, strict=True))


def test_columns_are_those_of_the_library() -> None:
    """Every column of the output has the bits of `robolin.simulate`."""
    motion = columns(run_ok(*FALL, "--every", "20").out)
    true = library.simulate(library.load("two-link"), [1, -0.5], [0, 1], duration=0.1, every=20)

    assert np.array_equal(motion["time"], true.time)
    for i, joint in enumerate(("shoulder", "elbow")):
        for word, name in (("position", "q"), ("velocity", "qd"), ("acceleration", "qdd")):
            assert np.array_equal(motion[f"{joint}/{word}"], getattr(true, name)[:, i])
    for name in ("kinetic_energy", "potential_energy", "work", "energy_error"):
        assert np.array_equal(motion[name], getattr(true, name))
    assert "lyapunov" not in motion


@pytest.mark.parametrize("extension", ["csv", "npz", "parquet"])
def test_other_verbs_read_the_motion_back(tmp_path: Path, extension: str) -> None:
    """`inverse` on the written motion gives the efforts that drove it."""
    file = tmp_path / f"motion.{extension}"
    run_ok(*FALL, "--tau", "3,1", "--every", "25", "-o", file)
    ran = run_ok("inverse", "two-link", "--trajectory", file)

    efforts = columns(ran.out)
    assert np.abs(efforts["shoulder/effort"] - 3.0).max() < 1e-12
    assert np.abs(efforts["elbow/effort"] - 1.0).max() < 1e-12
    assert np.array_equal(efforts["time"], [0.0, 0.025, 0.05, 0.075, 0.1])


def test_torques_of_a_file_drive_the_arm(tmp_path: Path) -> None:
    """Efforts of a motion, read back as torques, give that motion again."""
    file = tmp_path / "motion.csv"
    there = run_ok(*FALL, "--tau", "hold+3,1", "-o", file, "--every", "1")
    again = run_ok(*FALL, "--trajectory", file)

    first, second = columns(file.read_text()), columns(again.out)
    assert there.out == ""
    # on straight lines between rows 1 ms apart, the torque is right to the square of 1 ms
    assert np.abs(first["elbow/position"] - second["elbow/position"]).max() < 1e-7
    assert np.abs(first["elbow/position"][-1] - first["elbow/position"][0]) > 1e-2
    assert "unused columns" in again.err


def test_short_file_is_noted(tmp_path: Path) -> None:
    """Torques that end before the simulation are reported, and held."""
    file = tmp_path / "torques.csv"
    file.write_text("time,shoulder/effort,elbow/effort\n0,1,2\n0.05,1,2\n")
    ran = run_ok(*FALL, "--trajectory", file, "--every", "100")

    assert "the file covers 0 s to 0.05 s; at other times, the nearest row is used" in ran.err
    assert columns(ran.out)["elbow/effort"].tolist() == [2.0, 2.0]


def test_duration_of_a_followed_motion_is_that_of_its_file(tmp_path: Path) -> None:
    """Without --duration, a simulation with --follow ends with the file."""
    file = tmp_path / "motion.csv"
    file.write_text("time,shoulder/position,elbow/position\n0,0,0\n0.05,0.1,0\n0.1,0.1,0.1\n")
    following = ("simulate", "two-link", "--follow", file, "--control", "pd", "--dt", "0.005")
    ran = run_ok(*following)
    assert columns(ran.out)["time"][-1] == 0.1
    assert ran.out == run_ok(*following, "--duration", "0.1").out


def test_a_followed_motion_starts_at_its_first_time(tmp_path: Path) -> None:
    """Times from 8 s, or Unix times, change nothing but a note; torques must overlap."""
    rows = [(0.0, 0.1, 0.2), (0.125, 0.3, 0.1), (0.25, 0.2, 0.0)]
    results = []
    for origin in (0.0, 8.0, 1.7e9):
        file = tmp_path / f"from-{origin:g}.csv"
        lines = [f"{time + origin!r},{a},{b}" for time, a, b in rows]
        file.write_text("\n".join(["time,shoulder/position,elbow/position", *lines]) + "\n")
        following = ("simulate", "two-link", "--follow", file, "--control", "pd", "--dt", "0.005")
        ran = run_ok(*following)
        note = f"0 s in the simulation is the first row, at {origin:.12g} s in the file"
        assert (note in ran.err) == (origin > 0.0)
        results.append(ran.out)
    assert results[0] == results[1] == results[2]
    # messages state the times that the file contains
    following = (*following, "--duration", "1")
    late = run_ok(*following).err
    assert "from-1.7e+09.csv: the file covers 1700000000 s to 1700000000.25 s; at other" in late
    prescribed = tmp_path / "prescribed.csv"
    prescribed.write_text("time,elbow/acceleration\n0,0\n1,0\n")
    ran = robolin(*following, "--prescribe", "elbow", "--prescribe-from", prescribed)
    assert ran.code == 3
    assert "0 s to 1 s, but the simulation covers 1700000000 s to 1700000001 s" in ran.err
    torques = tmp_path / "torques.csv"
    torques.write_text("time,shoulder/effort,elbow/effort\n1700000000,1,0\n1700000001,2,0\n")
    ran = robolin("simulate", "two-link", "--trajectory", torques, "--duration", "1")
    assert ran.code == 3
    assert "1700000000 s to 1700000001 s, but the simulation covers 0 s to 1 s" in ran.err


@pytest.mark.slow
def test_rate_control_from_the_command_line() -> None:
    """--control rate brings the energy down as exp(-2 c t), in any velocities."""
    slow = ("simulate", "panda", "--qd", "0.2,0,0,0.1,0,0,0", "--duration", "0.1", "--every", "50")
    for state in ("rates", "xi", "nu"):
        ran = run_ok(*slow, "--control", "rate", "--gain", "3", "--state", state)
        energy = columns(ran.out)["kinetic_energy"]
        assert energy[-1] / energy[0] == pytest.approx(np.exp(-0.6), rel=1e-9)
        assert np.array_equal(columns(ran.out)["lyapunov"], energy)


def test_pose_control_from_the_command_line() -> None:
    """--control pose drives a frame to its target, and reports the remaining distance."""
    target = "tool0=0.3,0.2,0.5,180deg,0,90deg"
    start = "0.5,-1.2,1.5,-1.8,-1.5,0"
    ran = run_ok(
        *("simulate", "ur5", "--q", start, "--duration", "0.5", "--dt", "0.005", "--every", "50"),
        *("--control", "pose", "--target", target, "--gain", "8"),
        *("--position-gain", "300", "--orientation-gain", "10,12,14"),
    )
    motion = columns(ran.out)

    assert motion["position_error"][-1] < 0.8 * motion["position_error"][0]
    assert motion["lyapunov"][-1] < 0.8 * motion["lyapunov"][0]
    assert (np.diff(motion["lyapunov"]) < 0.0).all()


def test_saturated_torques_are_reported(tmp_path: Path) -> None:
    """Torques cut at their limits are counted on stderr and in the contract."""
    file = tmp_path / "push.json"
    push = ("simulate", "ur5", "--duration", "0.01", "--tau", "1000,0,0,0,0,0", "-o", file)
    ran = run_ok(*push)
    rows = "in 11 of 11 rows: shoulder_pan_joint 11"

    assert f"torques are saturated at the joint limits {rows}" in ran.err
    stored = json.loads(file.read_text())
    assert stored["meta"]["contract"]["torque limits"].endswith(rows)
    assert stored["results"]["tau"][0][0] == 150.0
    assert "saturated" not in run_ok(*push, "--ignore-limits").err


def test_joints_beyond_their_range_are_reported() -> None:
    """Nothing stops a joint at its limit, and a warning states it."""
    ran = run_ok("simulate", "panda", "--duration", "0.05", "--q", "panda_joint4=-0.08")

    assert "position limits are exceeded (the simulation has no end stops): panda_joint4" in ran.err


def test_joints_beyond_their_velocity_limit_are_counted() -> None:
    """The limit of panda_joint1 is 2.175 rad/s: a warning counts the rows beyond it."""
    start = (
        "simulate",
        "panda",
        "--duration",
        "0.002",
        "--tau",
        "hold",
        "--q",
        "panda_joint4=-1.5",
    )
    fast = run_ok(*start, "--qd", "panda_joint1=2.5")
    assert "velocity limits are exceeded in 3 of 3 rows: panda_joint1 3; " in fast.err
    assert "; panda_joint1 reaches 2.5 rad/s, limit 2.175 rad/s" in fast.err
    assert "velocity limits" not in run_ok(*start, "--qd", "panda_joint1=2").err


def test_many_starts_at_once(tmp_path: Path) -> None:
    """--initial starts from every row of a file: where each ends, or all rows with --every."""
    states = tmp_path / "states.csv"
    states.write_text("q1,q2,qd1,qd2\n1,-0.5,0,1\n0.2,0.1,0,0\n")
    start = ("simulate", "two-link", "--initial", states, "--duration", "0.1")
    ends = columns(run_ok(*start).out)
    rows = columns(run_ok(*start, "--every", "50").out)
    alone = columns(run_ok(*FALL, "--every", "50").out)

    assert "time" not in ends
    assert len(ends["elbow/position"]) == 2
    assert rows["initial"].tolist() == [1.0] * 3 + [2.0] * 3
    assert rows["time"].tolist() == [0.0, 0.05, 0.1] * 2
    for name in ("shoulder/position", "elbow/velocity", "kinetic_energy", "energy_error"):
        assert np.array_equal(rows[name][:3], alone[name])
        assert ends[name][0] == alone[name][-1]


def test_adaptive_steps_from_the_command_line() -> None:
    """--rtol adapts the steps, --rows or --dt sets the output times."""
    by_rows = columns(run_ok(*FALL, "--rtol", "1e-9", "--rows", "5").out)
    by_dt = columns(run_ok(*FALL, "--rtol", "1e-9", "--dt", "0.025").out)

    assert np.abs(by_rows["time"] - by_dt["time"]).max() < 1e-16
    assert np.abs(by_rows["elbow/position"] - by_dt["elbow/position"]).max() < 1e-9


def test_many_initial_states_with_adaptive_steps(tmp_path: Path) -> None:
    """With a tolerance, --dt or --rows sets the output times of every start."""
    states = tmp_path / "states.csv"
    states.write_text("q1,q2\n1,-0.5\n0.2,0.1\n")
    start = ("simulate", "two-link", "--initial", states, "--duration", "0.1", "--rtol", "1e-9")

    assert columns(run_ok(*start, "--dt", "0.05").out)["time"].tolist() == [0.0, 0.05, 0.1] * 2
    assert columns(run_ok(*start, "--rows", "3").out)["time"].tolist() == [0.0, 0.05, 0.1] * 2
    assert "time" not in columns(run_ok(*start).out)


def test_an_energy_error_is_reported() -> None:
    """Steps that are too long give a warning with the error of the energy error."""
    start = ("simulate", "two-link", "--duration", "1", "--every", "1000")
    ran = run_ok(*start, "--dt", "0.2")

    assert "the energy error is" in ran.err
    assert "a smaller --dt" in ran.err
    assert run_ok(*start, "--dt", "0.001").err == ""


AT_REST = {
    "hold": ("--tau", "hold"),
    "hold in nu": ("--tau", "hold", "--state", "nu"),
    "hold by dop853": ("--tau", "hold", "--rtol", "1e-9"),
    "rate control": ("--control", "rate"),
    "computed torque": ("--control", "computed-torque", "--goal", "POSE"),
    # higher gains are too stiff for steps of 1 ms on light wrists, and do make up energy
    "pd": ("--control", "pd", "--goal", "POSE", "--kp", "1", "--kd", "0.01"),
}


@pytest.mark.slow
@pytest.mark.parametrize("drive", AT_REST)
@pytest.mark.parametrize("arm", ["two-link", "panda", "ur10"])
def test_an_arm_at_rest_loses_no_energy(arm: str, drive: str) -> None:
    """Round-off of energies at rest is not reported as a loss, for any controller."""
    loaded = library.load(arm)
    pose = 0.7 * np.random.default_rng(loaded.n).uniform(-1.0, 1.0, loaded.n)
    if arm == "panda":
        pose[3] = -1.5
    text = ",".join(map(repr, pose.tolist()))
    flags = [text if flag == "POSE" else flag for flag in AT_REST[drive]]
    ran = run_ok("simulate", arm, "--q", text, "--duration", "0.1", *flags)
    assert "energy" not in ran.err
    assert "range" not in ran.err


def test_energy_errors_of_small_motions_are_reported() -> None:
    """The tolerance for rounding hides no loss of a motion of a thousandth of a degree."""
    start = ("simulate", "two-link", "--gravity", "0,0,0", "--qd", "0,1e-5", "--damping", "none")
    ran = robolin(*start, "--duration", "1")
    assert "energy error" not in ran.err
    # steps of 0.5 s on a spring of 1000 N·m/rad lose all energy
    held = ("simulate", "two-link", "--q", "-1.5707963,1e-5", "--control", "pd", "--kd", "0")
    ran = robolin(*held, "--goal", "-1.5707963,0", "--kp", "10", "--dt", "0.2", "--duration", "2")
    assert "the energy error is" in ran.err


def test_rounding_is_no_torque_on_a_passive_joint() -> None:
    """Upright, where the torque that holds a passive joint is rounding, nothing acts on it."""
    start = ("simulate", "acrobot", "--tau", "hold", "--duration", "0.01", "--q")
    assert "passive" not in run_ok(*start, "pi,0").err
    assert "passive" in run_ok(*start, "pi,1e-6").err


@pytest.mark.slow
def test_a_joint_held_at_its_limit_is_not_beyond_it() -> None:
    """Rounding of a position at its limit gives no warning; a thousandth of a rad does."""
    panda = library.load("panda")
    lower = panda.joints[3].limits.lower
    pose = [0.3, 0.4, 0.2, lower, 0.1, 1.2, 0.3]
    for less, warned in ((0.0, False), (1e-3, True)):
        pose[3] = lower - less
        ran = run_ok(
            *("simulate", "panda", "--tau", "hold", "--duration", "0.05"),
            *("--q", ",".join(map(repr, pose))),
        )
        assert ("position limits are exceeded" in ran.err) == warned


def test_divergence_names_time_joint_and_step() -> None:
    """Steps too long for the gains are an error with time, joint and a remedy."""
    pd = ("simulate", "two-link", "--control", "pd", "--kp", "1e5", "--kd", "0", "--ignore-limits")
    ran = robolin(
        *pd, "--goal", "0.1,0.1", "--dt", "0.1", "--duration", "5", "--integrator", "euler"
    )
    assert ran.code == 3
    assert "error: the simulation diverged at t = " in ran.err
    assert "joint '" in ran.err
    assert "(--dt 0.01);" in ran.err


def test_the_table_shows_times_from_first_to_last() -> None:
    """A terminal shows ten rows of all, and the contract states the energy error."""
    ran = run_ok(*FALL, "--format", "table")

    assert "10 of 101 rows; min and max are over all rows; -o FILE keeps them all" in ran.out
    assert "Runge–Kutta of order 4, dt = 0.001 s, 100 steps" in ran.out
    assert "energy error" in ran.out
    assert "\n0.1 " in ran.out
    assert "in the stored rows" not in ran.out
    assert " J in the stored rows" in run_ok(*FALL, "--every", "50", "--format", "table").out


WRONG = [
    ("--duration 0", "duration: must be > 0, got 0", ""),
    ("--duration x", "--duration=x: 'x' is not a number", ""),
    ("", "missing option '--duration'", ""),
    ("--duration 1 --dt 0", "--dt: must be > 0, got 0", ""),
    ("--duration 1 --rtol 1e-9 --every 2", "every: applies only to integrators with fixed", "rows"),
    ("--duration 1 --rows 5", "the number of rows cannot be set", ""),
    (
        "--duration 1 --integrator rk4 --rtol 1e-6",
        "rk4 has fixed steps",
        "",
    ),
    ("--duration 1 --gain 2", "--gain: has no effect without --control rate or pose", "--kp"),
    ("--duration 1 --control pose", "--control pose: requires --target", "--target"),
    ("--duration 1 --control pose --target tip=0,0,0", "the form FRAME=X,Y,Z,ROLL,PITCH,YAW", ""),
    ("--duration 1 --control pose --target tip=1deg,0,0,0,0,0", "X, Y and Z are in m", ""),
    ("--duration 1 --control rate --gain x", "--gain=x: 'x' is not a number", ""),
    ("--duration 1 --initial s.csv --q 0,0", "cannot be used with --q", "with a file"),
    ("--duration 1 --state qd", "'qd' is not one of", ""),
    ("--duration 1 --tau hold+1", "1 value, but 'two-link' has 2 joints", ""),
]


@pytest.mark.parametrize("flags, message, hint", WRONG, ids=[each[0] or "none" for each in WRONG])
def test_flags_that_make_no_sense(flags: str, message: str, hint: str) -> None:
    """Wrong flags end with exit code 2, nothing on stdout, and what is wrong with which flag."""
    ran = robolin("simulate", "two-link", *flags.split())

    assert (ran.code, ran.out) == (2, "")
    assert message in ran.err
    assert hint in ran.err


def test_unknown_frame_is_rejected() -> None:
    """A target for a frame the arm does not have is rejected input."""
    ran = robolin(
        *("simulate", "two-link", "--duration", "1", "--control", "pose"),
        *("--target", "tpi=0,0,0,0,0,0"),
    )

    assert (ran.code, ran.out) == (3, "")
    assert "--target: link 'tpi' not found" in ran.err
    assert "did you mean 'tip'?" in ran.err


def test_a_file_without_time_is_rejected(tmp_path: Path) -> None:
    """Torques without times cannot be followed."""
    file = tmp_path / "torques.csv"
    file.write_text("shoulder/effort,elbow/effort\n1,2\n")
    ran = robolin(*FALL, "--trajectory", file)

    assert (ran.code, ran.out) == (3, "")
    assert "column 'time' is missing" in ran.err


@pytest.mark.parametrize("extension", ["csv", "npz", "parquet"])
def test_a_motion_written_in_parts_has_the_same_bytes(
    tmp_path: Path, extension: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Small parts change neither the file nor the messages about limits."""
    pull = ("--q", "home", "--tau", "panda_joint1=500", "--duration", "0.1", "--every", "3")
    words = ("simulate", "panda", *pull)
    complete, parts = (tmp_path / f"{name}.{extension}" for name in ("complete", "parts"))
    expected = run_ok(*words, "-o", complete).err
    monkeypatch.setattr("robolin.queries.simulate_answer._NUMBERS_PER_PART", 36 * 7)
    assert run_ok(*words, "-o", parts).err == expected
    assert "saturated" in expected
    assert parts.read_bytes() == complete.read_bytes()


def test_a_motion_that_diverges_after_the_first_part_leaves_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows that were already computed are not kept."""
    monkeypatch.setattr("robolin.queries.simulate_answer._NUMBERS_PER_PART", 16)
    pulled = ("simulate", "two-link", "--q", "1,-0.5", "--control", "pd", "--kd", "3000")
    steps = ("--integrator", "euler", "--duration", "1")
    ran = robolin(*pulled, *steps, "-o", tmp_path / "motion.csv")
    assert ran.code == 3
    assert "diverged" in ran.err
    assert not list(tmp_path.iterdir())
