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


REFUSED = [
    (("forward", "two-link", "--prescribe", "base"), "--prescribe: the base stands still"),
    (("forward", *ASKED, "--qdd", "elbow=1"), "joint 'elbow' is free"),
    (("forward", *ASKED, "--tau", "base:x=1"), "joint 'base:x' moves as prescribed"),
    (("forward", *ASKED, "--method", "a"), "--method: cannot go together with --prescribe"),
    (("forward", "two-link", "--qdd", "elbow=1"), "--qdd: has no effect here"),
    (("linearize-forward", *ASKED, "--perturb", "dq=elbow=1"), "--perturb: cannot go together"),
    (("simulate", "two-link", "--qdd", "elbow=1", "--duration", "1"), "without --prescribe"),
]


@pytest.mark.parametrize(("asked", "message"), REFUSED, ids=range(len(REFUSED)))
def test_what_makes_no_sense_is_refused(asked: tuple[str, ...], message: str) -> None:
    """What would have no effect is a mistake of the command line."""
    ran = robolin(*asked)
    assert ran.code == 2
    assert message in ran.err
