"""The JSON schema of a result fits the documents of every command, and rejects others."""

from __future__ import annotations

import json
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from robolin.cli.commands import bench_verbs
from robolin.io.formats.json_writer import result_schema
from robolin.queries.verbs import VERBS
from tests.cli.command import robolin, run_ok

jsonschema = pytest.importorskip("jsonschema", reason="needs the package jsonschema")

ONE_STATE = {
    "inverse": "two-link --q 0.3,-0.7",
    "forward": "two-link --q 0.3,-0.7",
    "mass-matrix": "two-link --q 0.3,-0.7 --inverse",
    "linearize-inverse": "two-link --q 0.3,-0.7",
    "linearize-forward": "four-bar",
    "jacobian": "two-link --frame tip",
    "ik": "two-link --goal tip=1.2,0.5,0",
    "momentum": "two-link",
    "diagonalize": "two-link",
    "regressor": "two-link",
    "state-space": "two-link",
    "poles": "acrobot --q 180deg,0",
    "lqr": "acrobot --q 180deg,0",
    "response": "two-link --frequencies 1,10",
    "retime": "ur5 --trajectory path.csv --max-acceleration 8,8,8,8,8,8",
    "simulate": "two-link --duration 0.01 --dt 0.001",
    "sweep": "inverse two-link --payload lower:0,1,2",
    "sensitivity": "two-link --trajectory motion.csv --differentiate savgol --matrices",
    "excite": "two-link --duration 2 --max-velocity 1,1 --max-acceleration 5,5",
    "optimize": "two-link --goal 0.1,0.1 --duration 0.5",
}
ROWS = ("inverse", "forward", "linearize-forward", "poles")


def valid(document: Any) -> bool:
    return bool(jsonschema.Draft202012Validator(result_schema()).is_valid(document))


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rows = ["time,shoulder/position,elbow/position"]
    rows += [f"{0.01 * i},{0.3 + 0.01 * i},{-0.7 + 0.02 * i}" for i in range(12)]
    Path("motion.csv").write_text("\n".join(rows) + "\n")
    joints = ",".join(f"q{i}" for i in range(1, 7))
    path = [",".join(str(0.02 * i * (j + 1) - 0.07 * j) for j in range(6)) for i in range(12)]
    Path("path.csv").write_text("\n".join([joints, *path]) + "\n")


def document(line: str) -> Any:
    return json.loads(run_ok(*line.split(), "--format", "json").out)


def test_the_command_prints_a_valid_schema() -> None:
    """`robolin models --schema result` prints the schema; without a kind, the one of robots."""
    schema = json.loads(run_ok("models", "--schema", "result").out)
    jsonschema.Draft202012Validator.check_schema(schema)
    assert schema == result_schema()
    assert json.loads(run_ok("models", "--schema").out)["title"] == "robolin arm"
    assert run_ok("models", "--schema", "robot").out == run_ok("models", "--schema").out


@pytest.mark.parametrize(
    "verb", ["inverse", *(pytest.param(each, marks=pytest.mark.slow) for each in ONE_STATE)]
)
def test_every_command_fits(verb: str) -> None:
    """The document of one state fits the schema."""
    made = document(f"{verb} {ONE_STATE[verb]}")
    jsonschema.validate(made, result_schema(), jsonschema.Draft202012Validator)
    assert made["results"]


@pytest.mark.parametrize("verb", [pytest.param(each, marks=pytest.mark.slow) for each in ROWS])
def test_rows_fit(verb: str) -> None:
    """The document of a trajectory has times and fits."""
    made = document(f"{verb} two-link --trajectory motion.csv")
    jsonschema.validate(made, result_schema(), jsonschema.Draft202012Validator)
    assert len(made["time"]) == 12


def test_every_command_with_a_result_is_listed() -> None:
    """A new command gets a row in the table of this test."""
    assert {verb.name for verb in VERBS.values() if verb.answers} <= set(ONE_STATE)


def test_wrong_documents_do_not_fit() -> None:
    """A missing section, an unknown one, a wrong hash and a text as results are rejected."""
    made = document("inverse two-link --q 0.3,-0.7")
    assert valid(made)
    for change in (
        lambda each: each.pop("units"),
        lambda each: each.update(more=1),
        lambda each: each["meta"].update(sha256="0"),
        lambda each: each["meta"].update(role="draft"),
        lambda each: each.update(results=[1.0]),
        lambda each: each["results"].update(tau={"re": [1.0]}),
        lambda each: each["meta"]["arrays"]["tau"].pop("shape"),
    ):
        other = deepcopy(made)
        change(other)
        assert not valid(other)


# commands that print a report instead of a result
REPORTS = {
    "models": "models",
    "inspect": "inspect two-link",
    "validate": "validate two-link",
    "verify": "verify two-link --samples 1",
    "diff": "diff two-link acrobot",
    "bench": "bench two-link --rows 10",
    "counts": "bench counts inverse --joints 2",
    "check": "check held.json",
}


@pytest.mark.parametrize(
    "name",
    [
        "inspect",
        *(pytest.param(each, marks=pytest.mark.slow) for each in REPORTS),
    ],
)
def test_reports_have_json(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every command that prints a table of a report prints JSON as well."""
    # the fewest runs of each command
    monkeypatch.setattr(bench_verbs, "ENOUGH_SECONDS", 0.0)
    run_ok("record", "inverse", "two-link", "--rtol", "1e-9", "-o", "held.json")
    # diff ends with 1 if the robots differ
    run = robolin(*REPORTS[name].split(), "--format", "json")
    assert run.code in (0, 1)
    assert json.loads(run.out)
