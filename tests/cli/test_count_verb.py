"""`robolin count` counts every verb on every arm, or reports why it cannot."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from robolin.cli.commands.bench_verbs import COUNTED_VERBS, count_command
from robolin.queries.verbs import VERBS
from tests.cli.command import robolin, run_ok

# a prismatic joint, and a revolute joint that mimics it
GEARED = """\
robolin: 1
name: geared
joints:
  - {name: slide, type: prismatic, parent: base, child: cart, axis: [1, 0, 0]}
  - name: wheel
    type: continuous
    parent: cart
    child: rim
    axis: [0, 1, 0]
    mimic: {joint: slide, ratio: 5}
links:
  - {name: cart, mass: 2}
  - {name: rim, mass: 1, inertia: {ixx: 0.1, iyy: 0.2, izz: 0.1}}
"""


def test_counted_algorithms_are_verbs() -> None:
    """The counted algorithms of the catalogue are verbs, and the help names them."""
    assert set(COUNTED_VERBS) <= set(VERBS)
    text = " ".join((count_command.help or "").split())
    assert all(verb in text for verb in COUNTED_VERBS)


@pytest.fixture
def geared(tmp_path: Path) -> Path:
    file = tmp_path / "geared.yaml"
    file.write_text(GEARED)
    return file


@pytest.mark.parametrize("verb", list(COUNTED_VERBS))
def test_verbs_are_counted_with_mimic_joints(verb: str, geared: Path) -> None:
    """A verb that supports an arm with a mimic joint can be counted on it."""
    assert run_ok("count", verb, "panda-fingers").out
    assert json.loads(run_ok("count", verb, geared, "--format", "json").out)["algorithms"]


@pytest.mark.parametrize(
    ("args", "joints", "sines"),
    [
        (["--joints", "1"], "1 revolute joint\n", "1 sine and cosine\n"),
        (["--joints", "3"], "3 revolute joints\n", "3 sines and cosines\n"),
        (["panda-fingers"], "'panda-fingers', 8 joints\n", "7 sines and cosines\n"),
    ],
)
@pytest.mark.parametrize("verb", ["inverse", "forward"])
def test_sines_are_those_of_joints_that_turn(
    verb: str, args: list[str], joints: str, sines: str
) -> None:
    """Prismatic joints need no sine, and one joint is not in the plural."""
    text = run_ok("count", verb, *args).out
    assert joints in text
    assert sines in text
    document = json.loads(run_ok("count", verb, *args, "--format", "json").out)
    counts = {row["kinematics"]["sines_and_cosines"] for row in document["algorithms"]}
    assert counts == {int(sines.split()[0])}


def test_mimic_joints_need_sines_but_are_not_counted_as_joints(geared: Path) -> None:
    """A revolute mimic joint needs its sine, while only its leader counts as a joint."""
    document = json.loads(run_ok("count", "inverse", geared, "--format", "json").out)
    assert document["joints"] == 1
    assert document["algorithms"][0]["kinematics"]["sines_and_cosines"] == 1


@pytest.mark.parametrize(
    ("args", "message", "hint"),
    [
        (["invers", "panda"], "unknown command 'invers'", "did you mean 'inverse' or"),
        (["Mass_Matrix", "panda"], "unknown command 'Mass_Matrix'", "did you mean 'mass-matrix'?"),
        (["inspect", "panda"], "unknown command 'inspect'", "'diagonalize'"),
        ([], "missing argument 'COMMAND'", "for example: robolin bench counts"),
        (["inverse"], "robolin bench counts: requires ARM or --joints", "--joints 7"),
        (["inverse", "panda", "--joints", "3"], "--joints: cannot be used with ARM", "ARM"),
        (
            ["inverse", "--joints", "3", "--lock", "a=1"],
            "--lock: has no effect without ARM",
            "--joints N",
        ),
    ],
)
def test_wrong_usage_is_reported(args: list[str], message: str, hint: str) -> None:
    """Requests that cannot be counted are wrong usage, with one line and a hint."""
    ran = robolin("count", *args)
    assert (ran.code, ran.out) == (2, "")
    assert message in ran.err
    assert hint in ran.err
    assert ran.err.count("\n") == 2


def test_model_flags_are_those_of_every_verb(tmp_path: Path) -> None:
    """A rotor or a load costs operations, and the output can go to a file."""

    def additions(*flags: str) -> int:
        document = json.loads(run_ok("count", "inverse", "ur5", "--format=json", *flags).out)
        return document["algorithms"][0]["additions"]

    assert additions("--armature", "elbow_joint=0.1") > additions()
    assert additions("--wrench", "tool0=0,0,1,0,0,0") > additions()
    run_ok("count", "inverse", "ur5", "-o", tmp_path / "cost.json")
    stored = json.loads((tmp_path / "cost.json").read_text("utf-8"))
    assert stored == json.loads(run_ok("count", "inverse", "ur5", "--format=json").out)


@pytest.mark.parametrize("flag", ["--gravity=0", "--strict", "--floating-base", "--tip=x"])
def test_model_flags_are_for_an_arm(flag: str) -> None:
    """A generic chain has no model to change."""
    ran = robolin("count", "inverse", "--joints", "3", flag)

    assert ran.code == 2
    assert f"{flag.partition('=')[0]}: has no effect without ARM" in ran.err


@pytest.mark.slow
def test_algorithms_that_invert_bodies_are_not_counted_on_a_floating_base() -> None:
    """An algorithm that does not apply to an arm has no count."""
    assert "all bodies" in run_ok("count", "forward", "ur5").out
    assert "all bodies" not in run_ok("count", "forward", "ur5", "--floating-base").out
