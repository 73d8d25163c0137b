"""Every bad robot file through the command: exit code 3, stdout empty, the place on stderr."""

from __future__ import annotations

from pathlib import Path

from tests.cases import in_groups
from tests.cli.command import robolin
from tests.description.bad_urdf import BAD_URDF, BadFile
from tests.description.bad_yaml import BAD_YAML

# a file with xacro in it is expanded: tests/description/test_xacro.py
URDF = [bad for bad in BAD_URDF if bad.id != "xacro-unexpanded"]
ROWS = [("bad.urdf", bad) for bad in URDF] + [("bad.yaml", bad) for bad in BAD_YAML]


@in_groups("name,bad", ROWS)
def test_a_bad_file_is_rejected_with_its_location(name: str, bad: BadFile, tmp_path: Path) -> None:
    """The error has the file, the line, the problem and a hint, without a traceback."""
    file = tmp_path / name
    file.write_bytes(bad.data)
    # alternate between verbs that read an arm in the same way
    ran = robolin(("inspect", "inverse")[ROWS.index((name, bad)) % 2], file)

    assert (ran.code, ran.out) == (3, ""), ran.err
    assert f"error: {file}:{bad.line}" in ran.err
    assert bad.says in ran.err
    assert "\nhint: " in ran.err
    assert all(line.startswith(("error: ", "hint: ")) for line in ran.err.splitlines())


@in_groups("name,bad", ROWS)
def test_validate_lists_the_same_finding(name: str, bad: BadFile, tmp_path: Path) -> None:
    """`validate` reports it with its id on stdout and exits with 1."""
    file = tmp_path / name
    file.write_bytes(bad.data)
    ran = robolin("validate", file)

    assert (ran.code, ran.err) == (1, "")
    assert f"{file}:{bad.line}" in ran.out
    assert f" error {bad.id}: " in ran.out


def test_control_characters_of_a_file_do_not_reach_the_terminal(tmp_path: Path) -> None:
    """A name that would steer a terminal is shown escaped."""
    file = tmp_path / "bad.yaml"
    file.write_text('robolin: 1\nname: x\n"ke\\e[31my": 1\n')
    ran = robolin("inspect", file)

    assert ran.code == 3
    assert "\x1b" not in ran.err
    assert "\\x1b[31m" in ran.err
