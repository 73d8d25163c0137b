"""robolin verify on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from robolin.dynamics.catalogue import ALGORITHMS
from tests.checking.verification.test_mutations import mutate
from tests.cli.command import robolin, run_ok


def test_the_verdict_is_the_first_line() -> None:
    """One screen: verdict, states, a line per family and the fewest correct digits."""
    lines = run_ok("verify", "two-link", "--samples", "3").out.splitlines()

    assert lines[0].startswith("two-link: passed, ")
    assert "of its bound" in lines[0]
    assert lines[1].startswith("2 joints, 3 states within the joint limits (seed 0), cond(M) ")
    assert len(lines) < 20
    families = [line.split()[0] for line in lines if line]
    assert {"derivatives", "identities", "algorithms", "engines", "float32", "digits"} <= {
        *families
    }


@pytest.mark.slow
def test_verbose_lists_every_check() -> None:
    """Checks with error, bound and worst state, digits, and bounds with reasons."""
    out = run_ok("verify", "two-link", "--samples", "3", "-v").out

    for text in (
        "Ṁ - 2C is skew-symmetric",
        "Algorithm 6 = Algorithm 4",
        "correct digits",
        "worst",
        "q = ",
    ):
        assert text in out
    assert "sum: 1e-12 of the largest entry" in out
    report = json.loads(run_ok("verify", "two-link", "--samples", "3", "--format", "json").out)
    for check in report["checks"]:
        assert check["error"] is None or check["family"] == "digits" or check["name"] in out


def test_json_has_everything_on_the_page() -> None:
    """Everything on the page is in the document, with the states used."""
    report = json.loads(run_ok("verify", "two-link", "--samples", "2", "--format", "json").out)

    assert report["passed"] is True
    assert (report["samples"], report["seed"], len(report["states"])) == (2, 0, 2)
    assert len(report["states"][0]["q"]) == 2
    compared = [check for check in report["checks"] if check["error"] is not None]
    assert {check["family"] for check in compared} == {
        "derivatives", "identities", "algorithms", "engines", "float32", "digits",
    }  # fmt: skip
    assert all(check["error"] <= check["bound"] for check in compared)
    assert {check["why"] for check in compared} <= set(report["bounds"])


@pytest.mark.slow
def test_a_wrong_result_exits_with_1(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first line says so, and failed checks are listed with their error."""
    assert "perturb-inverse" in ALGORITHMS
    mutate(monkeypatch, "perturb-inverse", "dtau", lambda value: -value)
    ran = robolin("verify", "two-link", "--samples", "2")
    assert ran.code == 1
    assert "exceeds its bound: derivatives, dtau of perturb-inverse" in ran.out
    assert ran.out.startswith("two-link: FAILED, 2 of ")


def test_a_defect_exits_with_1(tmp_path: Path) -> None:
    """A joint that moves nothing is a defect of the arm, named with a remedy."""
    path = tmp_path / "idle.yaml"
    path.write_text(
        "robolin: 1\nname: idle\njoints:\n"
        "  - {name: a, type: revolute, parent: base, child: one, axis: [0, 1, 0]}\n"
        "  - {name: b, type: revolute, parent: one, child: two, axis: [0, 0, 1]}\n"
        "links:\n"
        "  - {name: one, mass: 1, com: [0.5, 0, 0], inertia: {ixx: 0.1, iyy: 0.1, izz: 0.1}}\n"
        "  - {name: two, mass: 0}\n"
    )
    ran = robolin("verify", path, "--samples", "2")
    assert ran.code == 1
    assert "defect: joint 'b' moves no inertia" in ran.out
    assert ran.out.startswith("idle: DEFECT, ")
    assert "1 defect of the robot" in ran.out
    report = json.loads(robolin("verify", path, "--samples", "2", "--format", "json").out)
    assert report["condition"] == [None, None]


@pytest.mark.slow
def test_model_options_apply() -> None:
    """The options are applied to the checked arm."""
    wrench = ("--wrench", "lower=1,2,3,0,0,0")
    ran = run_ok("verify", "two-link", "--samples", "1", *wrench, "--format", "json")
    report = json.loads(ran.out)
    verdicts = {check["name"]: check["verdict"] for check in report["checks"]}
    assert (
        verdicts["dissipation and load torques = damping + friction + virtual work of the wrenches"]
        == "passed"
    )


@pytest.mark.slow
def test_against_names_the_source_of_the_other_model() -> None:
    """The page names the source of the other model and the treatment of damping."""
    pytest.importorskip("pinocchio")
    out = run_ok("verify", "ur5", "--samples", "1", "--against", "pinocchio").out
    assert "against Pinocchio" in out
    assert "model: read from the file" in out


@pytest.mark.parametrize("flags", [("--samples", "0"), ("--seed", "-1"), ("--against", "drake")])
def test_wrong_flags(flags: tuple[str, str]) -> None:
    """They are wrong usage."""
    assert robolin("verify", "two-link", *flags).code == 2
