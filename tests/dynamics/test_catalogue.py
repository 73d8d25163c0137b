"""Entries of the catalogue describe their algorithms correctly and can be looked up."""

from __future__ import annotations

import re

import pytest

import robolin
from robolin.core.arm import Arm
from robolin.dynamics.algorithm import PAPERS
from robolin.dynamics.catalogue import ALGORITHMS, algorithms_by_method
from robolin.evaluation.evaluate import algorithm_for
from robolin.evaluation.methods import (
    COMMON_METHODS,
    CONVENTIONAL_UP_TO,
    FORWARD_METHODS,
    METHOD_ALIASES,
    METHODS,
)
from tests.cases import for_each
from tests.cli.command import python, run_ok
from tests.robots import random_arm, with_follower
from tools.markdown import DOCS

CITED = {name: each.paper for name, each in ALGORITHMS.items() if each.paper}


@for_each("name", CITED)
def test_papers_have_what_is_cited(name: str) -> None:
    """The paper named in an entry has a result of that name, listed in docs/dev/papers.md."""
    tag, _, result = CITED[name].partition(" ")
    page = (DOCS / "dev/papers.md").read_text("utf-8")
    section = re.search(rf"^## {re.escape(tag)} .*?(?=^## )", page, re.MULTILINE | re.DOTALL)
    assert section, tag
    assert re.search(rf"^\| {re.escape(result)}[ |]", section[0], re.MULTILINE), CITED[name]


def test_titles_that_number_an_algorithm_have_its_paper() -> None:
    """An algorithm known by a number has the paper that numbered it."""
    for name, algorithm in ALGORITHMS.items():
        if re.search(r"Algorithm|Table|Control \d", algorithm.title):
            assert algorithm.paper, name


@for_each("name", ALGORITHMS)
def test_every_algorithm_can_be_selected(name: str) -> None:
    """By command and method on an arm where it is applicable, or else by its own name."""
    algorithm = ALGORITHMS[name]
    verb = algorithm.verb or name
    arm = random_arm(1, 14, tree=name.endswith("-tree"))
    if algorithm.method in METHODS:
        assert algorithm_for(arm, verb, algorithm.method) == name
    assert algorithm_for(arm, name, "operator") == name or algorithm.kind == "serial"


@pytest.mark.parametrize("verb, most", CONVENTIONAL_UP_TO.items())
def test_auto_takes_elimination_for_short_arms(verb: str, most: int) -> None:
    """Up to the number of joints in the table, and if there are mimic joints."""
    [conventional] = algorithms_by_method(verb)["conventional"]

    def taken(arm: Arm) -> str:
        return algorithm_for(arm, verb)

    assert taken(random_arm(2, most)) == conventional
    assert taken(random_arm(2, most + 1)) == verb
    assert taken(with_follower(random_arm(2, most + 5))) == conventional


def test_help_describes_auto() -> None:
    """The help of --method is made from the limits that auto uses."""
    help_text = " ".join(run_ok("linearize-forward", "--help-all").out.split())
    full, single = (CONVENTIONAL_UP_TO[f"{verb}-forward"] for verb in ("linearize", "perturb"))
    limits = f"up to {full} joints (up to {single} with --perturb)"
    assert f"for robots with mimic joints or {limits}" in help_text
    help_text = " ".join(run_ok("forward", "--help-all").out.split())
    assert "auto selects the recursions unless the robot has mimic joints." in help_text
    assert "forward" not in CONVENTIONAL_UP_TO


def test_flags_offer_every_method_once() -> None:
    """The methods of the flags are those available, and each letter but two is an alias."""
    assert sorted(COMMON_METHODS + FORWARD_METHODS) == sorted(METHODS)
    unwritten = {"three-sweeps-links", "two-sweeps"}
    assert {*METHOD_ALIASES.values()} | unwritten == {*algorithms_by_method("forward")} - {
        "conventional"
    }


def test_methods_need_no_numpy() -> None:
    """Flags can be made of the methods without loading NumPy, or any algorithm."""
    program = (
        "import sys, robolin.evaluation.methods\n"
        "print([x for x in ('numpy', 'robolin.dynamics') if x in sys.modules])"
    )
    assert python(program).out == "[]\n"


def test_a_method_of_another_verb_is_no_obstacle() -> None:
    """Methods that a command does not have select its recursion."""
    arm = robolin.load("two-link")
    assert algorithm_for(arm, "linearize-forward", "three-sweeps") == "linearize-forward"
    assert algorithm_for(arm, "inverse", "conventional") == "inverse"


def test_results_name_the_paper() -> None:
    """The contract names the paper of an algorithm by its authors, not its tag."""
    arm = robolin.load("two-link")
    for verb, title in (("linearize-forward", "Algorithm 4"), ("linearize-inverse", "Algorithm 2")):
        contract = robolin.answer(arm, verb).contract
        assert contract["algorithm"].startswith(title), "as it always was"
        assert contract["paper"].startswith(f"{title} of Jain and Rodriguez, linearization")
    question = robolin.Question("mass-matrix", inverse=True)
    long = robolin.load("panda", floating_base=True)
    paper = robolin.answer(long, question).contract["paper"]
    assert "mass_matrix_inverse: (4.23) of Jain and Rodriguez, linearization" in paper
    assert "paper" not in robolin.answer(arm, "regressor").contract


def test_every_tag_stands_for_a_paper() -> None:
    """The papers that algorithms name are those of the page of symbols, in the same words."""
    page = (DOCS / "reference/notation.md").read_text("utf-8")
    tags = {algorithm.paper.partition(" ")[0] for algorithm in ALGORITHMS.values()} - {""}
    assert tags == set(PAPERS)
    for tag, paper in PAPERS.items():
        row = next(line for line in page.splitlines() if line.startswith(f"| {tag} |"))
        assert all(word.strip(",").lower() in row.lower() for word in paper.split()), tag
