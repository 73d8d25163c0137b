"""The tutorial about a corrected URDF: its program and its commands give what it shows."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.cli.command import robolin
from tools.markdown import DOCS, given_files

PAGE = DOCS / "start/correct-urdf.md"


@pytest.mark.slow
def test_the_tutorial_finds_the_load(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The commands of the page correct the file; the shown verdict is what is printed."""
    text = PAGE.read_text("utf-8")
    monkeypatch.chdir(tmp_path)
    exec(compile(given_files(PAGE)["record.py"], "record.py", "exec"), {"__name__": "__main__"})
    blocks = re.findall(r"```text\n(.*?)```", text, re.DOTALL)
    shown = next(block for block in blocks if block.startswith("error on held-out rows"))
    for line in blocks[0].splitlines()[1:]:
        run = robolin(*line.split()[1:])
        assert run.code == 0, run.err

    assert run.out.splitlines()[1].startswith("link 'wrist_3_link' has 0.79 ± 0.01 kg more")
    # the last digits depend on LAPACK
    assert run.out.split()[:5] == shown.split()[:5]
    joints = [line.split()[0] for line in shown.splitlines()[5:]]
    assert [line.split()[0] for line in run.out.splitlines()[5 : 5 + len(joints)]] == joints
    assert robolin("validate", "corrected.urdf").code == 0
