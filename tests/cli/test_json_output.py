"""--format json: every command that has it writes one JSON document without NaN or Infinity."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click
import numpy as np
import pytest

import robolin as library
from robolin.cli.commands import bench_verbs
from robolin.io.formats.json_writer import result_schema
from tests.cli.command import robolin
from tools.command_pages import commands

# arguments of every command with --format json; MOTION is a recording, STORED a result
COMMANDS = {
    "models": "",
    "inspect": "acrobot",
    "validate": "ur5",
    "verify": "two-link --samples 1",
    "diff": "two-link acrobot",
    "identify": "two-link --trajectory MOTION --what friction -o NEW.yaml",
    "inverse": "two-link --trajectory MOTION",
    "inverse --limits": "panda",
    "inverse --residual": "two-link --trajectory MOTION",
    "inverse --external": "two-link --trajectory MOTION",
    "forward": "two-link",
    "mass-matrix": "two-link --inverse",
    "linearize-inverse": "two-link",
    "linearize-forward": "panda --q home",
    "jacobian": "two-link",
    "ik": "two-link --goal tip=1.2,0.5,0",
    "momentum": "two-link",
    "diagonalize": "two-link",
    "regressor": "two-link --rank --samples 5",
    "excite": "two-link --max-velocity 2 --max-acceleration 5 --duration 1 --iterations 1",
    "sensitivity": "two-link --trajectory MOTION --parameter upper/mass=0.1",
    "state-space": "two-link",
    "poles": "acrobot --q 180deg,0",
    "lqr": "acrobot --q 180deg,0",
    "response": "two-link --frequencies 0.1:10:5",
    "optimize": "two-link --goal 0.1,0.1 --duration 0.2 --dt 0.05 --iterations 5",
    "retime": "two-link --trajectory MOTION --max-velocity 2 --max-acceleration 5",
    "simulate": "two-link --duration 0.05",
    "sweep inverse": "two-link --payload tip:0,1",
    "check": "STORED",
    "batch status": "PARTS",
    "batch merge": "PARTS -o ALL.json",
    "bench": "two-link --rows 64",
    "bench counts": "inverse --joints 3",
}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """A recording of a two-link arm with another damping, a stored result, and parts."""
    folder = tmp_path_factory.mktemp("json")
    arm = library.load("two-link").with_parameters({"shoulder/damping": 0.3})
    time = np.arange(0.0, 4.0, 0.01)[:, None]
    q, qd = np.sin(time * [1.3, 2.1]), np.cos(time * [1.3, 2.1]) * [1.3, 2.1]
    qdd = -q * [1.69, 4.41]
    words = ("position", "velocity", "acceleration", "effort")
    header = ["time", *(f"{joint}/{word}" for word in words for joint in arm.joint_names)]
    table = np.hstack([time, q, qd, qdd, library.inverse(arm, q, qd, qdd)])
    motion = folder / "motion.csv"
    np.savetxt(motion, table, delimiter=",", header=",".join(header), comments="")
    stored, parts = folder / "stored.npz", folder / "parts"
    assert robolin("record", "inverse", "two-link", "-o", stored).code == 0
    assert robolin("inverse", "two-link", "--trajectory", motion, "-o", f"{parts}/").code == 0
    names = {"MOTION": motion, "STORED": stored, "PARTS": parts}
    return {name: str(path) for name, path in names.items()}


def test_every_command_with_json_is_here() -> None:
    """A new command with --format json needs a line in the table."""
    having = {
        name
        for name, command in commands().items()
        for param in command.params
        if "--format" in param.opts
        and isinstance(param.type, click.Choice)
        and "json" in param.type.choices
    }
    listed = {" ".join(word for word in name.split() if word[0] != "-") for name in COMMANDS}
    other = {"batch status": "status", "batch merge": "merge", "bench counts": "count"}
    assert {other.get(name, name) for name in listed} - {"sweep inverse"} == having


SLOW = ("bench", "verify", "optimize", "sensitivity")


@pytest.mark.parametrize(
    "name", [pytest.param(x, marks=pytest.mark.slow) if x in SLOW else x for x in COMMANDS]
)
def test_the_output_is_one_strict_document(
    name: str, files: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Standard output, or the output file, is JSON as RFC 8259 defines it."""
    # the fewest runs of each command
    monkeypatch.setattr(bench_verbs, "ENOUGH_SECONDS", 0.0)
    words = [files.get(word, word) for word in COMMANDS[name].split()]
    words = [str(tmp_path / word) if word.startswith(("NEW", "ALL")) else word for word in words]
    ran = robolin(*name.split(), *words, "--format", "json")

    assert ran.code in (0, 1), ran.err
    text = (tmp_path / "ALL.json").read_text() if "ALL.json" in COMMANDS[name] else ran.out
    document = json.loads(text, parse_constant=_reject)
    assert document
    if "meta" in document:
        _require_schema(document)


def _reject(constant: str) -> Any:
    raise AssertionError(f"{constant} is not JSON")


def _require_schema(document: Any) -> None:
    jsonschema = pytest.importorskip("jsonschema", reason="needs the package jsonschema")
    jsonschema.Draft202012Validator(result_schema()).validate(document)
