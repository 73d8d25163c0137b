"""The recipe for a new verb, followed: an answer, a command, an entry in the table, no more."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import robolin
from robolin import Question, States
from robolin.answering import verbs
from robolin.answering.posed_question import PosedQuestion
from robolin.cli.asking_command import asking_command
from robolin.cli.flags.flag import METHOD, flag
from robolin.cli.respond import respond
from robolin.results.result import Array, Result
from tests.cli.command import answered
from tests.cli.command import robolin as command_line


# what would stand in robolin/answering/reach_answer.py
def answer_reach(posed: PosedQuestion) -> Result:
    """How far each joint is from zero, or the square of it."""
    posed.tell_of_arm()
    given = "q" in posed.states.typed
    q = np.array(posed.states.of_joints(posed.arm, "q") if given else [0.0] * posed.arm.n)
    values = q**2 if posed.question.asked("squared") else abs(q)
    return posed.result((Array("reach", values, (posed.arm.joint_names,), "rad"),), {})


# what would stand in the table
REACH = verbs.Verb(
    "reach",
    "Motion",
    "How far joints are from zero.",
    states=("q",),
    asks={"squared": verbs.SWITCH},
    answers="robolin.answering.reach_answer:answer_reach",
)


@pytest.fixture(autouse=True)
def reach(monkeypatch: pytest.MonkeyPatch) -> None:
    """The verb, as if its files were there."""
    monkeypatch.setitem(verbs.VERBS, "reach", REACH)
    answering = ModuleType("robolin.answering.reach_answer")
    answering.answer_reach = answer_reach  # type: ignore[attr-defined]
    cli = ModuleType(REACH.command)

    # what would stand in robolin/cli/verbs/reach_verb.py
    @asking_command("reach", [flag("--squared", section=METHOD, is_flag=True, help="Squared.")])
    def command(inquiry, out) -> None:
        """How far joints are from zero.

        \b
        Example:
          robolin reach panda
        """
        respond(inquiry, out)

    cli.command = command  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, answering.__name__, answering)
    monkeypatch.setitem(sys.modules, cli.__name__, cli)


def test_a_new_verb_answers_from_python_and_from_the_command_line(tmp_path: Path) -> None:
    """With these three parts the verb is asked, explained, written, recorded and checked."""
    arm, states = robolin.load("two-link"), States(q=[0.5, -2.0])
    assert robolin.answer(arm, "reach", states)["reach"].tolist() == [0.5, 2.0]
    squared = robolin.answer(arm, Question("reach", squared=True), states)
    assert squared["reach"].tolist() == [0.25, 4.0]
    assert answered("reach", "two-link", "--q", "0.5,-2").numbers == [[0.5, 2.0]]
    assert "reach" in answered("--help").out
    assert "--squared" in answered("reach", "--help").out

    for extension in ("npz", "csv", "json", "parquet"):
        path = tmp_path / f"stored.{extension}"
        answered("record", "reach", "two-link", "--squared", "--q", "0.5,-2", "-o", path)
        answered("check", path)
        robolin.record(squared, path)
        assert robolin.check(path).status == "same"


def test_a_new_verb_has_a_place_in_suites(tmp_path: Path) -> None:
    """A suite asks it by its flags, and refuses others."""
    suite = tmp_path / "robolin.toml"
    case = '[[case]]\nverb = "reach"\narm = "two-link"\nstored = "a.npz"\n'
    suite.write_text(case + "options = { squared = true }\n")
    answered("record", "--suite", suite)
    answered("check", "--suite", suite)

    suite.write_text(case + "options = { square = true }\n")
    ran = command_line("check", "--suite", suite)
    assert ran.code == 3
    assert "did you mean 'squared'?" in ran.err
