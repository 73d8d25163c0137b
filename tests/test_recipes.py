"""The recipe for a new verb, followed: an answer, a command, an entry in each table, no more."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import robolin
from robolin import Question, States
from robolin.cli.flags.flag import METHOD, flag
from robolin.cli.query_command import query_command, run_and_write
from robolin.core.arm import Arm
from robolin.core.quantity_table import QUANTITIES, Quantity
from robolin.core.results.result import Array, Result, ResultStream
from robolin.core.units import unit_of
from robolin.queries import verbs
from robolin.queries.algorithm_answer import AlgorithmQuery, answer_by_algorithms
from robolin.queries.option_specs import TRAJECTORY
from robolin.queries.query_context import QueryContext
from robolin.queries.values import Values
from tests.cli.command import robolin as command_line
from tests.cli.command import run_ok


# what would stand in robolin/queries/reach_answer.py
def answer_reach(posed: QueryContext) -> Result | ResultStream:
    """How far the centre of mass is from the base, or half of it; of one state or of every row."""
    share = 0.5 if posed.question.asked("halved") else 1.0

    def named(arm: Arm, found: Values) -> Iterator[Array]:
        unit = unit_of("reach", [joint.kind for joint in arm.joints])
        yield Array("reach", share * np.linalg.norm(found["com"], axis=-1), (), unit)

    return answer_by_algorithms(posed, AlgorithmQuery(("momentum",), named=named))


# what would stand in the table of verbs
REACH = verbs.Verb(
    "reach",
    "Motion",
    "How far the centre of mass is from the base.",
    states=("q", "qd"),
    states_from=TRAJECTORY,
    asks={"halved": verbs.SWITCH},
    answers="robolin.queries.reach_answer:answer_reach",
)

# and in the table of quantities
QUANTITY = Quantity(("length",), "abs c")


@pytest.fixture(autouse=True)
def reach(monkeypatch: pytest.MonkeyPatch) -> None:
    """The verb, as if its files were there."""
    monkeypatch.setitem(verbs.VERBS, "reach", REACH)
    monkeypatch.setitem(QUANTITIES, "reach", QUANTITY)  # type: ignore[arg-type]
    answering = ModuleType("robolin.queries.reach_answer")
    answering.answer_reach = answer_reach  # type: ignore[attr-defined]
    cli = ModuleType(REACH.command)

    # what would stand in robolin/cli/commands/reach_verb.py
    @query_command("reach", [flag("--halved", section=METHOD, is_flag=True, help="Half.")])
    def command(inquiry, out) -> None:
        """How far the centre of mass is from the base.

        \b
        Example:
          robolin reach panda
        """
        run_and_write(inquiry, out)

    cli.command = command  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, answering.__name__, answering)
    monkeypatch.setitem(sys.modules, cli.__name__, cli)


def reach_of(q: np.ndarray) -> np.ndarray:
    """The closed form for two uniform rods of 1 kg and 1 m: c = 3/4 along one, 1/4 along both."""
    return np.sqrt(0.75**2 + 0.25**2 + 2 * 0.75 * 0.25 * np.cos(q[..., 1]))


def test_a_new_verb_answers_from_python_and_from_the_command_line(tmp_path: Path) -> None:
    """With these parts the verb is asked, explained, written, recorded and checked."""
    arm, q = robolin.load("two-link"), np.array([0.5, -2.0])
    states = States(q=q)
    found = robolin.answer(arm, "reach", states)
    # a root of three sums of rounded numbers of size one
    np.testing.assert_allclose(found["reach"], reach_of(q), rtol=1e-14)
    assert found.arrays[0].unit == "m"
    halved = robolin.answer(arm, Question("reach", halved=True), states)
    assert halved["reach"] == found["reach"] / 2
    assert run_ok("reach", "two-link", "--q", "0.5,-2").numbers == [[found["reach"]]]
    assert "reach" in run_ok("--help").out
    assert "--halved" in run_ok("reach", "--help").out

    for extension in ("npz", "csv", "json", "parquet"):
        path = tmp_path / f"stored.{extension}"
        run_ok("record", "reach", "two-link", "--halved", "--q", "0.5,-2", "-o", path)
        run_ok("check", path)
        robolin.record(halved, path)
        assert robolin.check(path).status == "same"


def test_a_new_verb_takes_a_trajectory(tmp_path: Path) -> None:
    """Every row of a recording is answered, in Python and into a file that is checked."""
    q = np.random.default_rng(6).uniform(-3.0, 3.0, (20, 2))
    path, out = tmp_path / "motion.npz", tmp_path / "reach.csv"
    np.savez(path, joints=np.array(["shoulder", "elbow"]), q=q, qd=0.0 * q)
    found = robolin.answer(robolin.load("two-link"), "reach", States(trajectory=path))
    # the shorter c is, the more of it cancels: at least 1/2 of sums of size one is left
    np.testing.assert_allclose(found["reach"], reach_of(q), rtol=1e-14)

    run_ok("reach", "two-link", "--trajectory", path, "-q", "-o", out)
    assert robolin.read_result(out).arrays["reach"].tobytes() == found["reach"].tobytes()
    run_ok("check", out, "--root", tmp_path)


def test_a_new_verb_has_a_place_in_suites(tmp_path: Path) -> None:
    """A suite asks it by its flags, and refuses others."""
    suite = tmp_path / "robolin.toml"
    case = '[[case]]\nverb = "reach"\narm = "two-link"\nstored = "a.npz"\n'
    suite.write_text(case + "options = { halved = true }\n")
    run_ok("record", "--suite", suite)
    run_ok("check", "--suite", suite)

    suite.write_text(case + "options = { halve = true }\n")
    ran = command_line("check", "--suite", suite)
    assert ran.code == 3
    assert "did you mean 'halved'?" in ran.err
