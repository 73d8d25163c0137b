"""Joints that move as prescribed, on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import robolin as library
from tests.cli.command import robolin, run_ok

ASKED = ("two-link", "--base-joint", "planar", "--prescribe", "base")


def test_forward_answers_accelerations_and_torques() -> None:
    """qdd of the joints and tau of the base, as the library has them."""
    state = ("--qdd", "base:x=2", "--tau", "shoulder=1", "--qd", "base:rz=0.5,elbow=1")
    found = json.loads(run_ok("forward", *ASKED, *state, "--format", "json").out)
    arm = library.load("two-link", base_joint="planar")
    told = {"qd": {"base:rz": 0.5, "elbow": 1.0}, "tau": {"shoulder": 1.0}}
    qdd = library.forward(arm, 0.0, **told, prescribe="base", qdd={"base:x": 2.0})
    assert found["results"]["qdd"] == qdd.tolist()
    needed = library.inverse(arm, 0.0, told["qd"], qdd)
    assert np.allclose(found["results"]["tau"], needed, rtol=0.0, atol=1e-13)


def test_every_row_of_a_recording(tmp_path: Path) -> None:
    """Rows are told apart: accelerations of the base and efforts of the joints, by columns."""
    arm = library.load("two-link", base_joint="planar")
    q, qd, qdd, tau = np.random.default_rng(0).uniform(-1.0, 1.0, (4, 7, 5))
    words = {"position": q, "velocity": qd, "acceleration": qdd, "effort": tau}
    head = ",".join(f"{joint}/{word}" for word in words for joint in arm.joint_names)
    rows = np.concatenate([*words.values()], -1)
    path = tmp_path / "moved.csv"
    lines = [head, *(",".join(map(repr, row)) for row in rows.tolist())]
    path.write_text("\n".join(lines))
    ran = run_ok("forward", *ASKED, "--trajectory", str(path), "--format", "json")
    assert "accelerations are used of joints that move as prescribed" in ran.err
    qdd[:, 3:], tau[:, :3] = 0.0, 0.0
    true = library.forward(arm, q, qd, tau, prescribe="base", qdd=qdd)
    assert json.loads(ran.out)["results"]["qdd"] == true.tolist()


@pytest.mark.parametrize("verb", ["forward", "linearize-forward", "simulate"])
def test_stored_results_are_asked_again(verb: str, tmp_path: Path) -> None:
    """`record` keeps which joints move as told, `check` asks the same again, the contract tells."""
    more = ("--duration", "0.003") if verb == "simulate" else ()
    path = str(tmp_path / "stored.json")
    run_ok("record", verb, *ASKED, "--qdd", "base:x=2", *more, "-o", path)
    assert robolin("check", path).code == 0
    meta = json.loads(Path(path).read_text())["meta"]
    assert meta["options"].items() >= {"prescribe": "base", "qdd": "base:x=2"}.items()
    told = "base: accelerations given (base:x 2), torques answered"
    assert meta["contract"]["prescribed"] == told


def test_the_linear_model_says_what_prescribed_accelerations_do() -> None:
    """dqdd_dprescribed is 1 on the prescribed joint, and the point has the torque it takes."""
    asked = ("linearize-forward", *ASKED, "--qdd", "base:y=2", "--format", "json")
    found = json.loads(run_ok(*asked).out)
    own = np.array(found["results"]["dqdd_dprescribed"])
    assert (own[:3, :3] == np.eye(3)).all()
    assert (own[:, 3:] == 0.0).all()
    # two rods of 1 kg each are lifted against their weight
    assert found["meta"]["contract"]["operating point"]["tau"][1] == pytest.approx(
        2.0 * (9.81 + 2.0)
    )


def shaken(path: Path, without: str = "") -> Path:
    """A file that moves a planar base by t² - t³ from 0.2 m on, and turns it: 11 rows, 0.1 s."""
    arm, t = library.load("two-link", base_joint="planar"), np.linspace(0.0, 0.1, 11)
    told = {
        "position": (0.2 + t**2 - t**3, 0.5 * t),
        "velocity": (2.0 * t - 3.0 * t**2, np.full(11, 0.5)),
        "acceleration": (2.0 - 6.0 * t, np.zeros(11)),
    }
    columns = {"time": t}
    for word, (way, turn) in told.items():
        if word != without:
            values = (way, np.zeros(11), turn)
            columns |= dict(zip((f"{x}/{word}" for x in arm.joint_names[:3]), values, strict=True))
    rows = np.stack([*columns.values()], axis=-1).tolist()
    lines = (",".join(map(repr, row)) for row in rows)
    path.write_text("\n".join([",".join(columns), *lines, ""]))
    return path


def test_a_base_follows_a_file(tmp_path: Path) -> None:
    """Accelerations over time lead the base from where the file begins; the library does the same.

    They are linear in time here, so straight lines between rows are all there is to them, and rk4
    is exact up to rounding: 1e-12.  The base slides along its own x, turned by then.
    """
    path = shaken(tmp_path / "base.csv")
    asked = ("simulate", *ASKED, "--tau", "hold", "--duration", "0.1", "--dt", "0.01")
    ran = run_ok(*asked, "--prescribe-from", path, "--format", "json")
    found = json.loads(ran.out)["results"]
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
        assert np.abs(np.array(found[name]) - getattr(true, name)).max() <= 1e-12, name
    assert abs(found["qd"][-1][0] - (0.2 - 0.03)) <= 1e-12
    # positions in the file are those of a base that does not turn
    assert "base.csv: prescribed joints end 0.0003 m from its positions" in ran.err


def test_what_a_file_does_not_say_is_typed(tmp_path: Path) -> None:
    """Without positions and velocities the base starts at rest at 0, or as --q and --qd have it."""
    path = shaken(tmp_path / "base.csv", without="position")
    asked = ("simulate", *ASKED, "--prescribe-from", path, "--duration", "0.01", "--format", "json")
    found = json.loads(run_ok(*asked).out)
    assert found["results"]["q"][0] == [0.0] * 5
    assert found["results"]["qd"][0] == [0.0, 0.0, 0.5, 0.0, 0.0]
    contract = found["meta"]["contract"]
    assert contract["prescribed"] == (
        "base: accelerations of base.csv, linear between rows, torques answered"
    )
    assert contract["start"] == "at rest at q = 0; qd of prescribed joints from base.csv"
    typed = json.loads(run_ok(*asked, "--q", "base:x=1", "--qd", "elbow=2").out)
    start = {name: typed["results"][name][0] for name in ("q", "qd")}
    assert (start["q"][0], start["qd"]) == (1.0, [0.0, 0.0, 0.0, 0.0, 2.0])
    assert typed["meta"]["contract"]["start"] == "--q and --qd given"


def led(path: Path, columns: str, *rows: str) -> Path:
    """A file with these lines."""
    path.write_text("\n".join([columns, *rows, ""]))
    return path


ELBOW = ("simulate", "two-link", "--duration", "0.02", "--dt", "0.01", "--prescribe", "elbow")
# the base of two-link has no inertia of its own
FREE_BASE = ("simulate", *ASKED[:3], "--armature", "base:rz=1")
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
    found = json.loads(run_ok(*ELBOW, "--prescribe-from", path, *rule, "--format", "json").out)
    assert [row[1] for row in found["results"]["qdd"]] == [0.2, 0.2, 0.2]


def test_arrays_without_names_count_every_joint(tmp_path: Path) -> None:
    """An array has a column for each joint of the arm, and one for some of them is refused."""
    path = tmp_path / "a.npz"
    np.savez(path, time=[0.0, 1.0], qdd=[[1.0, 0.2], [1.0, 0.2]])
    found = json.loads(run_ok(*ELBOW, "--prescribe-from", path, "--format", "json").out)
    assert found["results"]["qdd"][0][1] == 0.2
    np.savez(path, time=[0.0, 1.0], qdd=[[0.2], [0.2]])
    assert "expected shape (rows, 2)" in robolin(*ELBOW, "--prescribe-from", path).err
    led(path.with_suffix(".csv"), "time,qdd1", "0,0.2", "1,0.2")
    ran = robolin(*ELBOW, "--prescribe-from", path.with_suffix(".csv"))
    assert (ran.code, "'elbow/acceleration' is missing" in ran.err) == (3, True)


def test_an_offset_that_would_be_lost_is_refused(tmp_path: Path) -> None:
    """Where a file has a prescribed joint it starts there, so only others can be off."""
    columns = "time,elbow/position,elbow/acceleration"
    path = led(tmp_path / "full.csv", columns, "0,0.7,0", "1,0.7,0")
    way = led(tmp_path / "way.csv", "time,q1,q2,qd1,qd2", "0,0,0,0,0", "1,1,1,0,0")
    asked = (*ELBOW, "--prescribe-from", path, "--follow", way, "--control", "pd")
    asked = (*asked, "--kp", "10", "--kd", "1", "--format", "json", "--offset")
    ran = robolin(*asked, "elbow=0.3")
    assert (ran.code, "joint 'elbow' starts where full.csv has it" in ran.err) == (2, True)
    found = json.loads(run_ok(*asked, "shoulder=0.3").out)
    assert found["results"]["q"][0] == [0.3, 0.7]
    told = "--offset from where way.csv begins; q of prescribed joints from full.csv"
    assert found["meta"]["contract"]["start"] == told


def test_one_freedom_of_a_base_is_off_by_its_own_way(tmp_path: Path) -> None:
    """Other freedoms of the base, which the file says nothing of, do not count.

    With velocity w × r the body that spins at 2 rad/s and slides along its own y moves along x.
    """
    columns = "time,base:x/position,base:x/acceleration"
    path = led(tmp_path / "x.csv", columns, "0,0,0", "0.1,0,0")
    asked = (*FREE_BASE, "--prescribe", "base:x", "--prescribe-from", path)
    asked = (*asked, "--duration", "0.1", "--dt", "0.01", "--qd", "base:y=1,base:rz=2")
    ran = run_ok(*asked, "--format", "json")
    end = json.loads(ran.out)["results"]["q"][-1]
    assert abs(end[0]) > 1e-3
    assert abs(end[1]) > 2.0 * abs(end[0])
    assert f"end {abs(end[0]):.2g} m from its positions" in ran.err


def test_whole_turns_of_a_body_do_not_count(tmp_path: Path) -> None:
    """A base at rest at 3.2 rad is where the file has it, though its own angle stays below pi."""
    columns = "time,base:rz/position,base:rz/acceleration"
    path = led(tmp_path / "rz.csv", columns, "0,3.2,0", "1,3.2,0")
    asked = ("simulate", "ur5", "--base-joint", "spherical", "--gravity", "0", "--prescribe")
    asked = (*asked, "base:rz", "--prescribe-from", path, "--duration", "0.01", "--dt", "0.01")
    ran = run_ok(*asked, "--format", "json")
    found = json.loads(ran.out)
    last = dict(zip(found["joints"], found["results"]["q"][-1], strict=True))
    assert abs(last["base:rz"] - (3.2 - 2.0 * np.pi)) <= 1e-12
    assert "from its positions" not in ran.err


def test_accelerations_by_differences_of_one_joint_on_a_free_base(tmp_path: Path) -> None:
    """The elbow has one freedom; that the base has several matters only where it is prescribed."""
    path = led(tmp_path / "p.csv", "time,elbow/position,q1", "0,0,9", "0.5,0.25,9", "1,1,9")
    asked = (*FREE_BASE, "--duration", "0.01", "--differentiate", "central")
    asked = (*asked, "--prescribe-from", path, "--format", "json", "--prescribe")
    found = json.loads(run_ok(*asked, "elbow").out)["results"]
    # t² has the second derivative 2
    assert abs(found["qdd"][0][4] - 2.0) <= 1e-12
    assert "no derivatives of its angles" in robolin(*asked, "base:x").err
    # velocities are no positions
    led(path, "time,elbow/velocity", "0,0", "0.5,0.25", "1,1")
    assert "'elbow/position' is missing" in robolin(*asked, "elbow").err


def test_a_quaternion_alone_says_where_a_base_begins(tmp_path: Path) -> None:
    """The positions of a spherical base are its angles, which may come from four columns."""
    names = [f"base:{part}/acceleration" for part in ("rx", "ry", "rz")]
    names += [f"base:{part}/position" for part in ("qx", "qy", "qz", "qw")]
    path = led(tmp_path / "q.csv", ",".join(["time", *names]), "0,0,0,0,0,0,1,0", "1,0,0,0,0,0,1,0")
    asked = ("simulate", "ur5", "--base-joint", "spherical", "--prescribe", "base", "--dt", "0.01")
    ran = run_ok(*asked, "--prescribe-from", path, "--duration", "0.01", "--format", "json")
    found = json.loads(ran.out)
    turned = dict(zip(found["joints"], found["results"]["q"][0], strict=True))
    assert abs(abs(turned["base:rz"]) - np.pi) <= 1e-15


def test_a_file_of_starts_goes_first_and_is_told(tmp_path: Path) -> None:
    """What --initial has counts for prescribed joints too, their file has the rest; notes say so.

    The base starts 0.8 m and 0.5 m from where its file has it, 0.2 m, and ends as far away.
    """
    path, initial = shaken(tmp_path / "base.csv"), tmp_path / "starts.csv"
    arm = library.load("two-link", base_joint="planar")
    names = [f"{each}/position" for each in arm.joint_names]
    initial.write_text("\n".join([",".join(names), "1,0,0,0,0", "0.7,0,0,0,0", ""]))
    asked = ("simulate", *ASKED, "--prescribe-from", path, "--initial", initial, "--dt", "0.01")
    ran = run_ok(*asked, "--duration", "0.1", "--format", "json")
    assert "base.csv: prescribed joints start with q as --initial has them, not" in ran.err
    assert "base.csv: prescribed joints end up to 0.8 m from its positions" in ran.err
    found = json.loads(ran.out)
    begun = "2 rows of starts.csv, at rest; qd of prescribed joints from base.csv"
    assert found["meta"]["contract"]["start"] == begun
    # a turn at 0.5 rad/s, rounded
    assert np.allclose(np.array(found["results"]["q"])[:, 2], 0.05, rtol=0.0, atol=1e-12)


def test_torques_beyond_limits_are_counted() -> None:
    """Joints that move as told take what it takes; where that is too much, rows are counted."""
    lift = "shoulder_lift_joint"
    asked = ("simulate", "ur5", "--prescribe", lift, "--duration", "0.002", "--format", "json")
    ran = run_ok(*asked, "--qdd", f"{lift}=900")
    told = f"joints that move as told take more than their limits in 3 of 3 rows: {lift} 3"
    assert f"warning: {told}" in ran.err
    limits = json.loads(ran.out)["meta"]["contract"]["torque limits"]
    assert limits == f"respected, none was reached; {told}"
    assert "more than their limits" not in run_ok(*asked, "--qdd", f"{lift}=1").err
    ignored = run_ok(*asked, "--qdd", f"{lift}=900", "--ignore-limits")
    assert "more than their limits" not in ignored.err


def test_files_that_say_too_little(tmp_path: Path) -> None:
    """Accelerations and times are needed, and later ones than the simulation's are of no use."""
    asked = ("simulate", *ASKED, "--duration", "0.01", "--prescribe-from")
    ran = robolin(*asked, shaken(tmp_path / "base.csv", without="acceleration"))
    assert (ran.code, ran.out) == (3, "")
    assert "acceleration" in ran.err
    path = tmp_path / "positions.csv"
    path.write_text("time,elbow/position\n0.0,0\n0.5,1\n")
    for joint, offered in (("elbow", True), ("shoulder", False), ("base:x", False)):
        ran = robolin("simulate", *ASKED[:4], joint, "--duration", "0.01", "--prescribe-from", path)
        assert f"'{joint}/acceleration' is missing" in ran.err
        # nothing can be made from positions that are not there, or of a body that turns freely
        assert ("--differentiate central makes them" in ran.err) is offered
    path = tmp_path / "timeless.csv"
    text = shaken(tmp_path / "base.csv").read_text().splitlines()
    path.write_text("\n".join(line.partition(",")[2] for line in text))
    assert "there is no column 'time'" in robolin(*asked, path).err
    path.write_text("\n".join([text[0], *(f"{i}{line}" for i, line in enumerate(text[1:], 5))]))
    assert "the simulation goes from 0 s to 0.01 s" in robolin(*asked, path).err


REFUSED = [
    (("forward", "two-link", "--prescribe", "base"), "--prescribe: the base stands still"),
    (("forward", *ASKED, "--qdd", "elbow=1"), "joint 'elbow' is free"),
    (
        ("forward", "panda-fingers", "--prescribe", "panda_finger_joint2"),
        "joint 'panda_finger_joint2' follows 'panda_finger_joint1'\nhint: name 'panda_finger_",
    ),
    (("forward", *ASKED, "--tau", "base:x=1"), "joint 'base:x' moves as prescribed"),
    (("forward", "two-link", "--qdd", "elbow=1"), "--qdd: has no effect here"),
    (
        ("forward", "four-bar", "--prescribe", "drive"),
        "closed loops ('pin') can contradict",
    ),
]


@pytest.mark.parametrize(("asked", "message"), REFUSED, ids=range(len(REFUSED)))
def test_what_makes_no_sense_is_refused(asked: tuple[str, ...], message: str) -> None:
    """What would have no effect is a mistake of the command line."""
    ran = robolin(*asked)
    assert ran.code == 2
    assert message in ran.err
