"""No output replaces a file that the same command reads, for any spelling of the paths."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from contextlib import nullcontext
from itertools import cycle
from pathlib import Path
from typing import Any

import click
import pytest

from robolin import States, answer, answer_stream, load, write
from robolin.cli.flags.flag import OUTPUTS, VerbCommand
from robolin.cli.group import group
from robolin.errors import UsageError
from robolin.queries.verbs import VERBS
from tests.cases import for_each
from tests.cli.command import START, environment, robolin, run_ok

MOTION = "time,shoulder/position,elbow/position\n0,0.1,0.2\n1,0.3,0.4\n"

# command line -> the file it would replace; OUT stands for another name of that file
COMMANDS: dict[str, str] = {
    "inverse arm.xml --trajectory t.csv -o OUT.csv": "t.csv",
    "mass-matrix arm.xml --trajectory t.csv -o OUT.npz": "t.csv",
    "inverse arm.xml --trajectory t.csv --limits -o OUT.json": "t.csv",
    "record forward arm.xml --trajectory t.csv -o OUT.csv": "t.csv",
    "forward arm.xml --trajectory t.csv -o OUT.json": "arm.xml",
    "forward arm.xml --trajectory t.csv -o OUT.parquet": "arm.xml",
    "simulate arm.xml --initial t.csv --duration 0.01 -o OUT.csv": "t.csv",
    "inspect arm.xml -o OUT.json": "arm.xml",
    "verify arm.xml -o OUT.txt": "arm.xml",
    "count inverse arm.xml -o OUT.txt": "arm.xml",
    "bench arm.xml -o OUT.txt": "arm.xml",
    "validate arm.xml -o OUT.xml": "arm.xml",
    "validate arm.xml --write-baseline OUT": "arm.xml",
    "validate *.xml -o OUT.txt": "arm.xml",
    "validate arm.xml --config set.toml -o OUT.txt": "set.toml",
    "validate arm.xml --config set.toml --write-baseline OUT": "set.toml",
    "validate arm.xml --config set.toml -o OUT.json": "known.json",
    "diff arm.xml other.xml -o OUT.txt": "other.xml",
    "diff arm.xml other.xml -o OUT.md": "arm.xml",
    "diff arm.xml other.xml --torques t.csv -o OUT.txt": "t.csv",
    "check st.json -o OUT.json": "st.json",
    "check st.json -o OUT.xml": "arm.xml",
    "check st.json -o OUT.txt": "t.csv",
    "check st.json --model other.xml -o OUT.xml": "other.xml",
    "check st.json --against st2.csv -o OUT.json": "st2.csv",
    "check st2.csv -o OUT.json": "st2.csv.meta.json",
    "check --suite suite.toml -o OUT.txt": "suite.toml",
    "check --suite suite.toml -o OUT.json": "st.json",
    "check --suite suite.toml -o OUT.xml": "arm.xml",
    "check -o OUT.xml": "robolin.toml",
}

NAMES: dict[str, Callable[[Path, Path], None]] = {
    "symbolic link": lambda file, name: name.symlink_to(file.name),
    "link of a link": lambda file, name: _twice(file, name),
    "hard link": lambda file, name: os.link(file, name),
}


def _twice(file: Path, name: Path) -> None:
    between = name.with_name("between")
    between.symlink_to(file.resolve())
    name.symlink_to(between)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Every kind of input, in a folder that is copied for each test."""
    folder = tmp_path_factory.mktemp("made")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        _make_inputs()
    return folder


@pytest.fixture
def project(tmp_path: Path, made: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def _make_inputs() -> None:
    arm = _urdf()
    Path("arm.xml").write_text(arm)
    Path("other.xml").write_text(arm.replace('mass value="1"', 'mass value="2"'))
    Path("t.csv").write_text(MOTION)
    Path("known.json").write_text('{"format": 1, "findings": []}')
    Path("set.toml").write_text('[validate]\nbaseline = "known.json"\n')
    run_ok("record", "inverse", "arm.xml", "--trajectory", "t.csv", "-o", "st.json")
    run_ok("record", "inverse", "arm.xml", "--trajectory", "t.csv", "-o", "st2.csv")
    case = '[[case]]\nverb = "inverse"\narm = "arm.xml"\ntrajectory = "t.csv"\nstored = "st.json"\n'
    Path("suite.toml").write_text(case)
    Path("robolin.toml").write_text(case)


def _urdf() -> str:
    link = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>'
    joint = '<axis xyz="0 1 0"/><limit lower="-3" upper="3" effort="99" velocity="9"/></joint>'
    return (
        '<robot name="a"><link name="base"/>'
        f'<link name="l1">{link}</inertial></link><link name="l2">{link}</inertial></link>'
        f'<joint name="shoulder" type="revolute"><parent link="base"/><child link="l1"/>{joint}'
        f'<joint name="elbow" type="revolute"><parent link="l1"/><child link="l2"/>{joint}'
        "</robot>\n"
    )


def _kept(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir()) if path.is_file()}


@pytest.mark.parametrize(
    ("line", "way"), list(zip(COMMANDS, cycle(NAMES), strict=False)), ids=lambda name: name
)
def test_an_output_that_is_an_input_under_another_name(project: Path, line: str, way: str) -> None:
    """It is rejected as wrong usage before anything is done, and no file changes."""
    words = line.split()
    out = next(word for word in words if word.startswith("OUT"))
    NAMES[way](project / COMMANDS[line], project / out)
    before = _kept(project)
    ran = robolin(*words)
    assert ran.code == 2, ran
    assert ran.err.startswith(f"error: {out}: the output must not be the input ")
    assert ran.out == ""
    assert _kept(project) == before


@pytest.mark.parametrize(
    "line",
    [
        "inverse arm.xml --trajectory t.csv -o t.csv",
        "inverse arm.xml --trajectory t.csv -o ../{folder}/t.csv",
        "inverse arm.xml --trajectory {full}/t.csv -o t.csv",
        "record forward arm.xml --trajectory t.csv -o ./t.csv",
        "check st.json -o st.json",
        "check st.json --model other.xml -o ./other.xml",
        "diff arm.xml other.xml --torques t.csv -o t.csv",
        "validate arm.xml -o arm.xml",
    ],
)
def test_an_output_that_is_an_input_by_its_path(project: Path, line: str) -> None:
    """The same path, in any spelling, is rejected and nothing changes."""
    before = _kept(project)
    ran = robolin(*line.format(folder=project.name, full=project).split())
    assert (ran.code, ran.out) == (2, "")
    assert "the output must not be the input" in ran.err
    assert _kept(project) == before


def test_the_provenance_of_an_output_is_an_output(project: Path) -> None:
    """The companion file of a CSV may not be an input either."""
    (project / "out.csv.meta.json").symlink_to("arm.xml")
    before = _kept(project)
    ran = robolin("inverse", "arm.xml", "--trajectory", "t.csv", "-o", "out.csv")
    assert ran.code == 2
    assert _kept(project) == before


@pytest.mark.parametrize("where", ["standard input", "standard output"])
def test_redirected_files_count(project: Path, where: str) -> None:
    """A file that comes through standard input, or goes out through standard output, counts."""
    reads = where == "standard input"
    words = ["inverse", "arm.xml", "--trajectory", "-" if reads else "t.csv"]
    words += ["-o", "t.csv"] if reads else []
    with open("t.csv", "rb" if reads else "ab") as stream:
        done = subprocess.run(
            [sys.executable, "-c", START, *words],
            **({"stdin": stream} if reads else {"stdout": stream}),
            stderr=subprocess.PIPE,
            env=environment(),
        )
    assert done.returncode == 2
    assert b"the output must not be the input" in done.stderr
    assert Path("t.csv").read_text() == MOTION


def test_two_outputs_are_two_files(project: Path) -> None:
    """A report and a baseline cannot be stored in one place."""
    Path("found.json").write_text("")
    ran = robolin("validate", "arm.xml", "-o", "found.json", "--write-baseline", "found.json")
    assert ran.code == 2


@pytest.mark.parametrize(
    "line",
    [
        "inverse arm.xml --trajectory t.csv -o fresh.csv",
        "check st.json -o report.json",
        "validate arm.xml --config set.toml --write-baseline known.json",
        "record forward arm.xml --trajectory t.csv -o st.json",
        "inverse arm.xml --trajectory t.csv -o /dev/null --format csv",
    ],
)
def test_other_files_are_replaced(project: Path, line: str) -> None:
    """A file that is not an input is written, also repeatedly."""
    for _ in range(2):
        run_ok(*line.split())


def test_a_copy_is_another_file(project: Path) -> None:
    """Only the same file is rejected, not one with the same content."""
    Path("copy.csv").write_text(MOTION)
    run_ok("inverse", "arm.xml", "--trajectory", "t.csv", "-o", "copy.csv")


@pytest.mark.parametrize("ask", [answer, answer_stream])
def test_a_file_written_from_python(project: Path, ask: Callable[..., Any]) -> None:
    """A result does not replace the trajectory it was computed from."""
    answered = ask(load("arm.xml"), "mass-matrix", States(trajectory="t.csv"))
    with answered if ask is answer_stream else nullcontext(answered) as result:
        with pytest.raises(UsageError, match="must not be the input"):
            write(result, "t.csv")
        assert Path("t.csv").read_text() == MOTION


@for_each("verb", VERBS)
def test_every_flag_that_writes_is_checked(verb: str) -> None:
    """A flag whose help starts with Write or Store is one of the checked flags."""
    command = group.get_command(click.Context(group), verb)
    assert command is not None
    assert isinstance(command, VerbCommand)
    for param in command.params:
        text = getattr(param, "help", None) or ""
        if text.startswith(("Write", "Store")) and not getattr(param, "is_flag", False):
            assert param.name in OUTPUTS or verb == "record", f"{verb} {param.opts[0]}"


@pytest.mark.parametrize("start", ["<mujocoinclude>", '<?xml version="1.0"?>\n<robot name="part">'])
@pytest.mark.parametrize("line", ["validate two-link -o part.xml", "check held.json -o part.xml"])
def test_a_report_replaces_no_robot_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, start: str, line: str
) -> None:
    """A file that the arm may include is kept, though the command line does not name it."""
    monkeypatch.chdir(tmp_path)
    Path("part.xml").write_text(start)
    ran = robolin(*line.split())
    assert (ran.code, "is a robot file" in ran.err) == (2, True)
    assert Path("part.xml").read_text() == start
