"""Joints with prescribed acceleration, on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import robolin as library
from tests.cli.command import robolin, run_ok

PRESCRIBED_BASE = ("two-link", "--base-joint", "planar", "--prescribe", "base")


def test_forward_returns_accelerations_and_torques() -> None:
    """qdd of the joints and tau of the base are those of the library."""
    state = ("--qdd", "base:x=2", "--tau", "shoulder=1", "--qd", "base:rz=0.5,elbow=1")
    document = json.loads(run_ok("forward", *PRESCRIBED_BASE, *state, "--format", "json").out)
    arm = library.load("two-link", base_joint="planar")
    inputs = {"qd": {"base:rz": 0.5, "elbow": 1.0}, "tau": {"shoulder": 1.0}}
    qdd = library.forward(arm, 0.0, **inputs, prescribe="base", qdd={"base:x": 2.0})
    assert document["results"]["qdd"] == qdd.tolist()
    needed = library.inverse(arm, 0.0, inputs["qd"], qdd)
    assert np.allclose(document["results"]["tau"], needed, rtol=0.0, atol=1e-13)


def test_every_row_of_a_recording(tmp_path: Path) -> None:
    """Columns give accelerations of the base and efforts of the joints, row by row."""
    arm = library.load("two-link", base_joint="planar")
    q, qd, qdd, tau = np.random.default_rng(0).uniform(-1.0, 1.0, (4, 7, 5))
    words = {"position": q, "velocity": qd, "acceleration": qdd, "effort": tau}
    head = ",".join(f"{joint}/{word}" for word in words for joint in arm.joint_names)
    rows = np.concatenate([*words.values()], -1)
    path = tmp_path / "moved.csv"
    lines = [head, *(",".join(map(repr, row)) for row in rows.tolist())]
    path.write_text("\n".join(lines))
    ran = run_ok("forward", *PRESCRIBED_BASE, "--trajectory", str(path), "--format", "json")
    assert "prescribed joints use the acceleration columns" in ran.err
    qdd[:, 3:], tau[:, :3] = 0.0, 0.0
    true = library.forward(arm, q, qd, tau, prescribe="base", qdd=qdd)
    assert json.loads(ran.out)["results"]["qdd"] == true.tolist()


@pytest.mark.parametrize("verb", ["forward", "linearize-forward", "simulate"])
def test_stored_results_are_checked(verb: str, tmp_path: Path) -> None:
    """`record` stores the prescribed joints, `check` uses them, and the contract names them."""
    more = ("--duration", "0.003") if verb == "simulate" else ()
    path = str(tmp_path / "stored.json")
    run_ok("record", verb, *PRESCRIBED_BASE, "--qdd", "base:x=2", *more, "-o", path)
    assert robolin("check", path).code == 0
    meta = json.loads(Path(path).read_text())["meta"]
    assert meta["options"].items() >= {"prescribe": "base", "qdd": "base:x=2"}.items()
    text = "base: accelerations given (base:x 2), torques computed"
    assert meta["contract"]["prescribed"] == text


def test_the_linear_model_has_derivatives_by_prescribed_accelerations() -> None:
    """dqdd_dprescribed is 1 on the prescribed joint, and the operating point has its torque."""
    command = ("linearize-forward", *PRESCRIBED_BASE, "--qdd", "base:y=2", "--format", "json")
    document = json.loads(run_ok(*command).out)
    own = np.array(document["results"]["dqdd_dprescribed"])
    assert (own[:3, :3] == np.eye(3)).all()
    assert (own[:, 3:] == 0.0).all()
    # two rods of 1 kg each are lifted against gravity
    assert document["meta"]["contract"]["operating point"]["tau"][1] == pytest.approx(
        2.0 * (9.81 + 2.0)
    )


def shaken(path: Path, without: str = "") -> Path:
    """A file that moves a planar base by t² - t³ from 0.2 m, and rotates it: 11 rows, 0.1 s."""
    arm, t = library.load("two-link", base_joint="planar"), np.linspace(0.0, 0.1, 11)
    motion = {
        "position": (0.2 + t**2 - t**3, 0.5 * t),
        "velocity": (2.0 * t - 3.0 * t**2, np.full(11, 0.5)),
        "acceleration": (2.0 - 6.0 * t, np.zeros(11)),
    }
    columns = {"time": t}
    for word, (way, turn) in motion.items():
        if word != without:
            values = (way, np.zeros(11), turn)
            columns |= dict(zip((f"{x}/{word}" for x in arm.joint_names[:3]), values, strict=True))
    rows = np.stack([*columns.values()], axis=-1).tolist()
    lines = (",".join(map(repr, row)) for row in rows)
    path.write_text("\n".join([",".join(columns), *lines, ""]))
    return path


def test_a_base_follows_a_file(tmp_path: Path) -> None:
    """Accelerations over time move the base from the start of the file, as in the library.

    They are linear in time, so linear interpolation between rows is exact, and rk4 is exact up to
    rounding: 1e-12.  The base moves along its own x axis, which has rotated by then.
    """
    path = shaken(tmp_path / "base.csv")
    command = ("simulate", *PRESCRIBED_BASE, "--tau", "hold", "--duration", "0.1", "--dt", "0.01")
    ran = run_ok(*command, "--prescribe-from", path, "--format", "json")
    results = json.loads(ran.out)["results"]
    arm = library.load("two-link", base_joint="planar")
    true = library.simulate(
        arm,
        [0.2, 0.0, 0.0, 0.0, 0.0],
        [0.0, 0.0, 0.5, 0.0, 0.0],
        duration=0.1,
        dt=0.01,
        hold=True,
        prescribe="base",
        qdd=lambda t: [2.0 - 6.0 * t, 0.0, 0.0, 0.0, 0.0],
    )
    for name in ("q", "qd", "qdd", "tau"):
        assert np.abs(np.array(results[name]) - getattr(true, name)).max() <= 1e-12, name
    assert abs(results["qd"][-1][0] - (0.2 - 0.03)) <= 1e-12
    # positions in the file are those of a base that does not rotate
    away = "0.0003 m away from the positions in the file"
    assert f"base.csv: at the end, the prescribed joints are {away}" in ran.err


def test_the_initial_state_may_come_from_flags(tmp_path: Path) -> None:
    """Without positions and velocities the base starts at rest at 0, or as --q and --qd state."""
    path = shaken(tmp_path / "base.csv", without="position")
    command = (
        "simulate",
        *PRESCRIBED_BASE,
        "--prescribe-from",
        path,
        "--duration",
        "0.01",
        "--format",
        "json",
    )
    document = json.loads(run_ok(*command).out)
    assert document["results"]["q"][0] == [0.0] * 5
    assert document["results"]["qd"][0] == [0.0, 0.0, 0.5, 0.0, 0.0]
    contract = document["meta"]["contract"]
    assert contract["prescribed"] == (
        "base: accelerations of base.csv, interpolated linearly between rows, torques computed"
    )
    assert contract["start"] == "at rest at q = 0; qd of prescribed joints from base.csv"
    typed = json.loads(run_ok(*command, "--q", "base:x=1", "--qd", "elbow=2").out)
    start = {name: typed["results"][name][0] for name in ("q", "qd")}
    assert (start["q"][0], start["qd"]) == (1.0, [0.0, 0.0, 0.0, 0.0, 2.0])
    assert typed["meta"]["contract"]["start"] == "--q and --qd given"


def led(path: Path, columns: str, *rows: str) -> Path:
    """A file with these lines."""
    path.write_text("\n".join([columns, *rows, ""]))
    return path


ELBOW = ("simulate", "two-link", "--duration", "0.02", "--dt", "0.01", "--prescribe", "elbow")
# the base of two-link has no inertia of its own
FREE_BASE = ("simulate", *PRESCRIBED_BASE[:3], "--armature", "base:rz=1")
RULE = ("--columns", "acceleration=a{index}")
NUMBERED = [
    ("told", "a0,a1", RULE),
    ("from one", "qdd1,qdd2", ()),
    ("from zero", "qdd[0],qdd[1]", ()),
    ("of the elbow alone", "qdd2,other", ()),
]


@pytest.mark.parametrize(
    ("columns", "rule"), [row[1:] for row in NUMBERED], ids=[row[0] for row in NUMBERED]
)
def test_numbers_of_columns_count_every_joint(
    columns: str, rule: tuple[str, ...], tmp_path: Path
) -> None:
    """The elbow is the second joint, whether or not the first one is prescribed."""
    rows = ("0,1.0,0.2", "1,1.0,0.2") if "2," not in columns else ("0,0.2,1.0", "1,0.2,1.0")
    path = led(tmp_path / "a.csv", f"time,{columns}", *rows)
    document = json.loads(run_ok(*ELBOW, "--prescribe-from", path, *rule, "--format", "json").out)
    assert [row[1] for row in document["results"]["qdd"]] == [0.2, 0.2, 0.2]


def test_arrays_without_names_count_every_joint(tmp_path: Path) -> None:
    """An array has a column for each joint of the arm, and one for some of them is rejected."""
    path = tmp_path / "a.npz"
    np.savez(path, time=[0.0, 1.0], qdd=[[1.0, 0.2], [1.0, 0.2]])
    document = json.loads(run_ok(*ELBOW, "--prescribe-from", path, "--format", "json").out)
    assert document["results"]["qdd"][0][1] == 0.2
    np.savez(path, time=[0.0, 1.0], qdd=[[0.2], [0.2]])
    assert (
        "'qdd' must have shape (rows, 2), got (2, 1)"
        in robolin(*ELBOW, "--prescribe-from", path).err
    )
    led(path.with_suffix(".csv"), "time,qdd1", "0,0.2", "1,0.2")
    ran = robolin(*ELBOW, "--prescribe-from", path.with_suffix(".csv"))
    assert (ran.code, "'elbow/acceleration' is missing" in ran.err) == (3, True)


def test_an_offset_of_a_prescribed_joint_is_rejected(tmp_path: Path) -> None:
    """A prescribed joint starts where its file does, so only other joints have an offset."""
    columns = "time,elbow/position,elbow/acceleration"
    path = led(tmp_path / "full.csv", columns, "0,0.7,0", "1,0.7,0")
    way = led(tmp_path / "way.csv", "time,q1,q2,qd1,qd2", "0,0,0,0,0", "1,1,1,0,0")
    command = (*ELBOW, "--prescribe-from", path, "--follow", way, "--control", "pd")
    command = (*command, "--kp", "10", "--kd", "1", "--format", "json", "--offset")
    ran = robolin(*command, "elbow=0.3")
    assert (ran.code, "full.csv already sets the initial position of joint 'elbow'" in ran.err) == (
        2,
        True,
    )
    document = json.loads(run_ok(*command, "shoulder=0.3").out)
    assert document["results"]["q"][0] == [0.3, 0.7]
    start = "--offset from the start of way.csv; q of prescribed joints from full.csv"
    assert document["meta"]["contract"]["start"] == start


def test_the_tracking_error_is_of_the_prescribed_coordinate(tmp_path: Path) -> None:
    """Other coordinates of the base, which are not in the file, do not count.

    With velocity w × r the body that rotates at 2 rad/s and moves along its own y moves along x.
    """
    columns = "time,base:x/position,base:x/acceleration"
    path = led(tmp_path / "x.csv", columns, "0,0,0", "0.1,0,0")
    command = (*FREE_BASE, "--prescribe", "base:x", "--prescribe-from", path)
    command = (*command, "--duration", "0.1", "--dt", "0.01", "--qd", "base:y=1,base:rz=2")
    ran = run_ok(*command, "--format", "json")
    end = json.loads(ran.out)["results"]["q"][-1]
    assert abs(end[0]) > 1e-3
    assert abs(end[1]) > 2.0 * abs(end[0])
    assert f"are {abs(end[0]):.2g} m away from the positions in the file" in ran.err


def test_full_revolutions_of_a_body_do_not_count(tmp_path: Path) -> None:
    """A base at rest at 3.2 rad agrees with the file, although its own angle stays below pi."""
    columns = "time,base:rz/position,base:rz/acceleration"
    path = led(tmp_path / "rz.csv", columns, "0,3.2,0", "1,3.2,0")
    command = ("simulate", "ur5", "--base-joint", "spherical", "--gravity", "0", "--prescribe")
    command = (*command, "base:rz", "--prescribe-from", path, "--duration", "0.01", "--dt", "0.01")
    ran = run_ok(*command, "--format", "json")
    document = json.loads(ran.out)
    last = dict(zip(document["joints"], document["results"]["q"][-1], strict=True))
    assert abs(last["base:rz"] - (3.2 - 2.0 * np.pi)) <= 1e-12
    assert "from the positions" not in ran.err


def test_accelerations_by_differences_of_one_joint_on_a_free_base(tmp_path: Path) -> None:
    """The elbow has one DoF; the multi-DoF base matters only if it is prescribed."""
    path = led(tmp_path / "p.csv", "time,elbow/position,q1", "0,0,9", "0.5,0.25,9", "1,1,9")
    command = (*FREE_BASE, "--duration", "0.01", "--differentiate", "central")
    command = (*command, "--prescribe-from", path, "--format", "json", "--prescribe")
    results = json.loads(run_ok(*command, "elbow").out)["results"]
    # t² has the second derivative 2
    assert abs(results["qdd"][0][4] - 2.0) <= 1e-12
    assert "not derivatives of their angles" in robolin(*command, "base:x").err
    # velocities do not replace positions
    led(path, "time,elbow/velocity", "0,0", "0.5,0.25", "1,1")
    assert "'elbow/position' is missing" in robolin(*command, "elbow").err


def test_a_quaternion_gives_the_initial_orientation(tmp_path: Path) -> None:
    """The positions of a spherical base are its angles, which may come from four columns."""
    names = [f"base:{part}/acceleration" for part in ("rx", "ry", "rz")]
    names += [f"base:{part}/position" for part in ("qx", "qy", "qz", "qw")]
    path = led(tmp_path / "q.csv", ",".join(["time", *names]), "0,0,0,0,0,0,1,0", "1,0,0,0,0,0,1,0")
    command = (
        "simulate",
        "ur5",
        "--base-joint",
        "spherical",
        "--prescribe",
        "base",
        "--dt",
        "0.01",
    )
    ran = run_ok(*command, "--prescribe-from", path, "--duration", "0.01", "--format", "json")
    document = json.loads(ran.out)
    turned = dict(zip(document["joints"], document["results"]["q"][0], strict=True))
    assert abs(abs(turned["base:rz"]) - np.pi) <= 1e-15


def test_initial_states_take_precedence(tmp_path: Path) -> None:
    """--initial applies to prescribed joints too, their file gives the rest; notes state it.

    The base starts 0.8 m and 0.5 m from the position in its file, 0.2 m, and ends as far away.
    """
    path, initial = shaken(tmp_path / "base.csv"), tmp_path / "starts.csv"
    arm = library.load("two-link", base_joint="planar")
    names = [f"{each}/position" for each in arm.joint_names]
    initial.write_text("\n".join([",".join(names), "1,0,0,0,0", "0.7,0,0,0,0", ""]))
    command = (
        "simulate",
        *PRESCRIBED_BASE,
        "--prescribe-from",
        path,
        "--initial",
        initial,
        "--dt",
        "0.01",
    )
    ran = run_ok(*command, "--duration", "0.1", "--format", "json")
    assert "base.csv: prescribed joints start with q set by --initial, instead" in ran.err
    away = "up to 0.8 m away from the positions in the file"
    assert f"base.csv: at the end, the prescribed joints are {away}" in ran.err
    document = json.loads(ran.out)
    begun = "2 rows of starts.csv, at rest; qd of prescribed joints from base.csv"
    assert document["meta"]["contract"]["start"] == begun
    # a rotation at 0.5 rad/s, with rounding
    assert np.allclose(np.array(document["results"]["q"])[:, 2], 0.05, rtol=0.0, atol=1e-12)


def test_torques_beyond_limits_are_counted() -> None:
    """Prescribed joints may exceed their effort limits, and these rows are counted."""
    lift = "shoulder_lift_joint"
    command = ("simulate", "ur5", "--prescribe", lift, "--duration", "0.002", "--format", "json")
    ran = run_ok(*command, "--qdd", f"{lift}=900")
    text = f"prescribed joints exceed their effort limits in 3 of 3 rows: {lift} 3"
    assert f"warning: {text}" in ran.err
    limits = json.loads(ran.out)["meta"]["contract"]["torque limits"]
    assert limits.endswith(f"exceed their effort limits in 3 of 3 rows: {lift} 3")
    assert "exceed their effort limits" not in run_ok(*command, "--qdd", f"{lift}=1").err
    ignored = run_ok(*command, "--qdd", f"{lift}=900", "--ignore-limits")
    assert "exceed their effort limits" not in ignored.err


def test_incomplete_files_are_rejected(tmp_path: Path) -> None:
    """Accelerations and times are required, and the times must cover the simulation."""
    command = ("simulate", *PRESCRIBED_BASE, "--duration", "0.01", "--prescribe-from")
    ran = robolin(*command, shaken(tmp_path / "base.csv", without="acceleration"))
    assert (ran.code, ran.out) == (3, "")
    assert "acceleration" in ran.err
    path = tmp_path / "positions.csv"
    path.write_text("time,elbow/position\n0.0,0\n0.5,1\n")
    for joint, offered in (("elbow", True), ("shoulder", False), ("base:x", False)):
        ran = robolin(
            "simulate", *PRESCRIBED_BASE[:4], joint, "--duration", "0.01", "--prescribe-from", path
        )
        assert f"'{joint}/acceleration' is missing" in ran.err
        # no derivatives of missing positions, or of a freely rotating body
        assert ("with --differentiate savgol" in ran.err) is offered
    path = tmp_path / "timeless.csv"
    text = shaken(tmp_path / "base.csv").read_text().splitlines()
    path.write_text("\n".join(line.partition(",")[2] for line in text))
    assert "timeless.csv: column 'time' is missing" in robolin(*command, path).err
    path.write_text("\n".join([text[0], *(f"{i}{line}" for i, line in enumerate(text[1:], 5))]))
    assert (
        "covers 50 s to 150.1 s, but the simulation covers 0 s to 0.01 s"
        in robolin(*command, path).err
    )


REFUSED = [
    (("forward", "two-link", "--prescribe", "base"), "--prescribe: the base is fixed"),
    (
        ("forward", *PRESCRIBED_BASE, "--qdd", "elbow=1"),
        "--qdd: joint 'elbow' is free, so its acceleration is a result, not an input",
    ),
    (
        ("forward", "panda-fingers", "--prescribe", "panda_finger_joint2"),
        "joint 'panda_finger_joint2' mimics 'panda_finger_joint1'\nhint: name 'panda_finger_",
    ),
    (
        ("forward", *PRESCRIBED_BASE, "--tau", "base:x=1"),
        "--tau: joint 'base:x' is prescribed, so its torque is a result, not an input",
    ),
    (("forward", "two-link", "--qdd", "elbow=1"), "--qdd: has no effect on this command"),
    (
        ("forward", "four-bar", "--prescribe", "drive"),
        "--prescribe: prescribed joints are not supported with closed loops ('pin')",
    ),
]


@pytest.mark.parametrize(("command", "message"), REFUSED, ids=range(len(REFUSED)))
def test_options_without_effect_are_rejected(command: tuple[str, ...], message: str) -> None:
    """Options without an effect are wrong usage."""
    ran = robolin(*command)
    assert ran.code == 2
    assert message in ran.err
