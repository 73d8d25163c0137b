"""Joints that move as prescribed, on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import robolin as library
from tests.cli.command import answered, robolin

ASKED = ("two-link", "--base-joint", "planar", "--prescribe", "base")


def test_forward_answers_accelerations_and_torques() -> None:
    """qdd of the joints and tau of the base, as the library has them."""
    state = ("--qdd", "base:x=2", "--tau", "shoulder=1", "--qd", "base:rz=0.5,elbow=1")
    found = json.loads(answered("forward", *ASKED, *state, "--format", "json").out)
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
    ran = answered("forward", *ASKED, "--trajectory", str(path), "--format", "json")
    assert "accelerations are used of joints that move as prescribed" in ran.err
    qdd[:, 3:], tau[:, :3] = 0.0, 0.0
    true = library.forward(arm, q, qd, tau, prescribe="base", qdd=qdd)
    assert json.loads(ran.out)["results"]["qdd"] == true.tolist()


@pytest.mark.parametrize("verb", ["forward", "linearize-forward", "simulate"])
def test_stored_results_are_asked_again(verb: str, tmp_path: Path) -> None:
    """`record` keeps which joints move as told, `check` asks the same again, the contract tells."""
    more = ("--duration", "0.003") if verb == "simulate" else ()
    path = str(tmp_path / "stored.json")
    answered("record", verb, *ASKED, "--qdd", "base:x=2", *more, "-o", path)
    assert robolin("check", path).code == 0
    meta = json.loads(Path(path).read_text())["meta"]
    assert meta["options"].items() >= {"prescribe": "base", "qdd": "base:x=2"}.items()
    assert meta["contract"]["prescribed"] == "base: accelerations given, torques answered"


def test_the_linear_model_says_what_prescribed_accelerations_do() -> None:
    """dqdd_dprescribed is 1 on the prescribed joint, and the point has the torque it takes."""
    asked = ("linearize-forward", *ASKED, "--qdd", "base:y=2", "--format", "json")
    found = json.loads(answered(*asked).out)
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
    ran = answered(*asked, "--prescribe-from", path, "--format", "json")
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
    assert "prescribed joints end within" in ran.err


def test_what_a_file_does_not_say_is_typed(tmp_path: Path) -> None:
    """Without positions and velocities the base starts at rest at 0, or as --q and --qd have it."""
    path = shaken(tmp_path / "base.csv", without="position")
    asked = ("simulate", *ASKED, "--prescribe-from", path, "--duration", "0.01", "--format", "json")
    found = json.loads(answered(*asked).out)
    assert found["results"]["q"][0] == [0.0] * 5
    assert found["results"]["qd"][0] == [0.0, 0.0, 0.5, 0.0, 0.0]
    assert found["meta"]["contract"]["prescribed"] == (
        "base: accelerations of base.csv, linear between rows, torques answered"
    )
    typed = json.loads(answered(*asked, "--q", "base:x=1", "--qd", "elbow=2").out)["results"]
    assert (typed["q"][0][0], typed["qd"][0]) == (1.0, [0.0, 0.0, 0.0, 0.0, 2.0])


def test_files_that_say_too_little(tmp_path: Path) -> None:
    """Accelerations and times are needed, and later ones than the simulation's are of no use."""
    asked = ("simulate", *ASKED, "--duration", "0.01", "--prescribe-from")
    ran = robolin(*asked, shaken(tmp_path / "base.csv", without="acceleration"))
    assert (ran.code, ran.out) == (3, "")
    assert "acceleration" in ran.err
    path = tmp_path / "timeless.csv"
    text = shaken(tmp_path / "base.csv").read_text().splitlines()
    path.write_text("\n".join(line.partition(",")[2] for line in text))
    assert "there is no column 'time'" in robolin(*asked, path).err
    path.write_text("\n".join([text[0], *(f"{i}{line}" for i, line in enumerate(text[1:], 5))]))
    assert "the simulation goes from 0 s to 0.01 s" in robolin(*asked, path).err


REFUSED = [
    (("forward", "two-link", "--prescribe", "base"), "--prescribe: the base stands still"),
    (("forward", *ASKED, "--qdd", "elbow=1"), "joint 'elbow' is free"),
    (("forward", *ASKED, "--tau", "base:x=1"), "joint 'base:x' moves as prescribed"),
    (("forward", *ASKED, "--method", "a"), "--method: cannot go together with --prescribe"),
    (("forward", "two-link", "--qdd", "elbow=1"), "--qdd: has no effect here"),
    (
        ("forward", "four-bar", "--prescribe", "drive"),
        "closed loops ('pin') can contradict",
    ),
    (("linearize-forward", *ASKED, "--perturb", "dq=elbow=1"), "--perturb: cannot go together"),
    (("simulate", "two-link", "--qdd", "elbow=1", "--duration", "1"), "without --prescribe"),
    (("simulate", "two-link", "--prescribe-from", "a.csv", "--duration", "1"), "without --prescr"),
    (
        ("simulate", *ASKED, "--prescribe-from", "a.csv", "--qdd", "base:x=1", "--duration", "1"),
        "--qdd: cannot go together with --prescribe-from",
    ),
]


@pytest.mark.parametrize(("asked", "message"), REFUSED, ids=range(len(REFUSED)))
def test_what_makes_no_sense_is_refused(asked: tuple[str, ...], message: str) -> None:
    """What would have no effect is a mistake of the command line."""
    ran = robolin(*asked)
    assert ran.code == 2
    assert message in ran.err
