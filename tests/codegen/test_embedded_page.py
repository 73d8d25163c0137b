"""Follow docs/howto/embedded.md from a robot file to a running program."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

import robolin
from tools.console_blocks import environment
from tools.markdown import DOCS, ROOT

MARK = "<!-- run: embedded -->\n```sh\n"


def test_the_way_is_as_short_as_promised() -> None:
    """Ten lines of C, two commands before them and one after."""
    script = (DOCS / "howto/embedded.md").read_text("utf-8").partition(MARK)[2].partition("```")[0]
    before, program, after = script.partition("<<'END'\n")[0], "", ""
    program, _, after = script.partition("<<'END'\n")[2].partition("END\n")
    assert len(before.splitlines()) == 3
    assert len(program.splitlines()) <= 10
    assert len(after.splitlines()) == 1


@pytest.mark.slow
def test_the_program_runs(tmp_path: Path) -> None:
    """Its test finds no other bit, and what the last line prints are robolin's own torques."""
    for needed in ("make", "cc"):
        if shutil.which(needed) is None:
            pytest.skip(f"{needed} is not installed")
    script = (DOCS / "howto/embedded.md").read_text("utf-8").partition(MARK)[2].partition("```")[0]
    shutil.copy(ROOT / "models" / "ur5.urdf", tmp_path / "arm.urdf")
    variables = environment(tmp_path)
    done = subprocess.run(
        ["sh", "-eu", "-c", script],
        cwd=tmp_path,
        env=variables,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "0 differences" in done.stdout
    arm = robolin.load("ur5")
    printed = dict(line.split() for line in done.stdout.splitlines()[-arm.n :])
    assert [*map(float, printed.values())] == robolin.inverse(arm, 0.0).tolist()
    assert tuple(printed) == arm.joint_names
