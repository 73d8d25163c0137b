"""The tab key completes what can be known."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from unittest.mock import patch

import click
import pytest
from click.shell_completion import BashComplete

from robolin.cli.group import group
from tests.cli.command import answered, robolin


def completed(*words: str) -> list[str]:
    """What bash is offered for the last word of a command line."""
    *before, last = words
    offered = BashComplete(group, {}, "robolin", "_ROBOLIN_COMPLETE")
    return [
        item.value if item.type == "plain" else f"<{item.type}>"
        for item in offered.get_completions(list(before), last)
    ]


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("mine.urdf", "notes.txt", "pandora.xacro"):
        Path(name).write_text("")
    Path("robots").mkdir()
    Path("robots/two.yaml").write_text("")


OFFERED = [
    (("linearize-",), ["linearize-inverse", "linearize-forward"]),
    (("inverse", "pan"), ["panda", "panda-fingers", "pandora.xacro"]),
    (("inverse", "mi"), ["mine.urdf"]),
    (("inverse", "robots/"), ["robots/two.yaml"]),
    (("inverse", "ro"), ["robots/"]),
    (("inverse", "notes"), ["<file>"]),
    (("inverse", "two-link", "--q", "el"), ["elbow="]),
    (("inverse", "two-link", "--q", "shoulder=1,el"), ["shoulder=1,elbow="]),
    (("inverse", "two-link", "--joints", "sh"), ["shoulder"]),
    (("inverse", "two-link", "--tip", "lo"), ["lower"]),
    (("inverse", "two-link", "--payload", "lo"), ["lower:"]),
    (("inverse", "two-link", "--trajectory", "m"), ["<file>"]),
    (("inverse", "nothing-like-it", "--q", "e"), []),
    (("inverse", "-", "--q", "e"), []),
    (("forward", "panda", "--method", "conv"), ["conventional"]),
    (("validate", "mine.urdf", "mi"), ["mine.urdf"]),
]


@pytest.mark.parametrize(("words", "offered"), OFFERED, ids=[" ".join(w) for w, _ in OFFERED])
def test_what_is_offered(here, words, offered):
    """Verbs, arms, files, joints and links are offered where they belong."""
    assert completed(*words) == offered


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_asks_robolin(shell):
    """The script of each shell asks the command itself, by the variable it looks for."""
    text = answered("completion", shell).out
    assert "_ROBOLIN_COMPLETE" in text
    assert "robolin" in text


def test_an_unknown_shell_is_refused():
    """A shell nobody knows is wrong usage, with those that are known."""
    ran = robolin("completion", "tcsh")
    assert ran.code == 2
    assert "zsh" in ran.err


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_bash_reads_the_script(tmp_path):
    """The script is one that bash accepts, and it names a function to complete with."""
    script = tmp_path / "robolin.bash"
    script.write_text(answered("completion", "bash").out)
    command = f"source {script} && complete -p robolin"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "-F _robolin_completion robolin" in done.stdout


# what is typed, what robolin is asked for and answers, and what bash puts behind the last = or :
TYPED = [
    ("robolin inv", "robolin inv", "plain,inverse", "inverse"),
    ("robolin x --q a=0,b", "robolin x --q a=0,b", "plain,a=0,beta=", "0,beta="),
    ("robolin x --q=a=0,b", "robolin x --q=a=0,b", "plain,a=0,beta=", "0,beta="),
    ("robolin x --payload ha", "robolin x --payload ha", "plain,hand:", "hand:"),
    ("robolin x --trajectory=mo", "robolin x --trajectory=mo", "file,mo", ""),
    ("robolin x ", "robolin x ", "plain,panda", "panda"),
]


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
@pytest.mark.parametrize(("typed", "asked", "answer", "reply"), TYPED, ids=range(len(TYPED)))
def test_bash_completes_what_stands_behind_its_word_breaks(tmp_path, typed, asked, answer, reply):
    """bash takes words apart at = and :; robolin is asked about whole ones nevertheless."""
    fake = tmp_path / "robolin"
    fake.write_text(f'#!/bin/sh\nprintf "%s" "$COMP_WORDS" > {tmp_path}/asked\necho "{answer}"\n')
    fake.chmod(0o755)
    script = tmp_path / "robolin.bash"
    script.write_text(answered("completion", "bash").out)
    command = (
        f"source {script}; compopt() {{ :; }}; COMP_LINE='{typed}'; COMP_POINT=${{#COMP_LINE}}; "
        f'_robolin_completion {fake}; printf "%s" "${{COMPREPLY[*]}}"'
    )
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == (reply, "")
    assert (tmp_path / "asked").read_text() == asked


def test_the_entry_point_answers_the_shell(capsys):
    """With the variable set, the command answers what the shell asks instead of running."""
    asked = {"_ROBOLIN_COMPLETE": "bash_complete", "COMP_WORDS": "robolin inver", "COMP_CWORD": "1"}
    with patch.dict(os.environ, asked), pytest.raises((SystemExit, click.exceptions.Exit)):
        group.main(prog_name="robolin")
    assert capsys.readouterr().out.split() == ["plain,inverse"]
