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

    load = re.match(r"link 'wrist_3_link' is (\S+) ± (\S+) kg heavier", run.out.splitlines()[1])
    assert load is not None
    assert abs(float(load[1]) - 0.8) <= 0.02
    # the last digits depend on LAPACK
    assert run.out.split()[:5] == shown.split()[:5]
    joints = [line.split()[0] for line in shown.splitlines()[6:]]
    assert [line.split()[0] for line in run.out.splitlines()[6 : 6 + len(joints)]] == joints
    for line, printed in zip(shown.splitlines()[6:], run.out.splitlines()[6:], strict=False):
        values, others = (re.findall(r"([\d.]+) %", each) for each in (line, printed))
        assert [float(each) for each in values] == pytest.approx(
            [float(each) for each in others], rel=0.1
        )
    settings = run.out.partition("Settings")[2]
    for words in ("71 rows with spikes", "lag: 12.1 ms", "period 8 ms"):
        assert words in settings
    assert "wrist_3_link/mass" in Path("fit.html").read_text("utf-8")
    for block in blocks[2:]:
        for line in block.splitlines():
            # `diff` ends with 1, because the files differ; `validate`, because of the warning
            expected = 1 if " diff " in line or " validate " in line else 0
            assert robolin(*line.split()[1:]).code == expected, line
    warned = [
        re.findall(r"warning (\S+): link '(\w+)'", robolin("validate", file).out)
        for file in ("ur5.urdf", "corrected.urdf")
    ]
    assert warned[1] == [("radius-of-gyration", "wrist_2_link")]
    assert set(warned[1]) < set(warned[0])
