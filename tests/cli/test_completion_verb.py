"""Shell completion."""

from __future__ import annotations

import json
import os
import pty
import shutil
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from unittest.mock import patch

import click
import pytest
from click.shell_completion import BashComplete

from robolin.cli.group import group
from robolin.description import robot_source
from tests.cli.command import robolin, run_ok


def completions(*words: str) -> list[str]:
    """Completions that bash receives for the last word of a command line."""
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
    (("inverse", "two-link", "--q", ""), ["home", "shoulder=", "elbow="]),
    (("inverse", "two-link", "--q", "shoulder=1,h"), []),
    (("inverse", "two-link", "--qd", "h"), []),
    (("simulate", "two-link", "--goal", "ho"), ["home"]),
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
    assert completions(*words) == offered


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_calls_robolin(shell):
    """The script of each shell calls the command with its variable."""
    text = run_ok("completion", shell).out
    assert "_ROBOLIN_COMPLETE" in text
    assert "robolin" in text


def test_an_unknown_shell_is_rejected():
    """The error lists the supported shells."""
    ran = robolin("completion", "tcsh")
    assert ran.code == 2
    assert "zsh" in ran.err


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_bash_reads_the_script(tmp_path):
    """The script is one that bash accepts, and it names a function to complete with."""
    script = tmp_path / "robolin.bash"
    script.write_text(run_ok("completion", "bash").out)
    command = f"source {script} && complete -p robolin"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "-F _robolin_completion robolin" in done.stdout


# typed line, line that robolin receives, its answer, and text that bash adds after the last = or :
TYPED = [
    ("robolin inv", "robolin inv", "plain,inverse", "inverse"),
    ("robolin x --q a=0,b", "robolin x --q a=0,b", "plain,a=0,beta=", "0,beta="),
    ("robolin x --q=a=0,b", "robolin x --q=a=0,b", "plain,a=0,beta=", "0,beta="),
    ("robolin x --payload ha", "robolin x --payload ha", "plain,hand:", "hand:"),
    ("robolin x --trajectory=mo", "robolin x --trajectory=mo", "file,mo", ""),
    ("robolin x ", "robolin x ", "plain,panda", "panda"),
]


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
@pytest.mark.parametrize(("typed", "received", "answer", "reply"), TYPED, ids=range(len(TYPED)))
def test_bash_completes_words_with_word_breaks(tmp_path, typed, received, answer, reply):
    """bash splits words at = and :, but robolin receives complete words."""
    fake = tmp_path / "robolin"
    fake.write_text(f'#!/bin/sh\nprintf "%s" "$COMP_WORDS" > {tmp_path}/asked\necho "{answer}"\n')
    fake.chmod(0o755)
    script = tmp_path / "robolin.bash"
    script.write_text(run_ok("completion", "bash").out)
    command = (
        f"source {script}; compopt() {{ :; }}; COMP_LINE='{typed}'; COMP_POINT=${{#COMP_LINE}}; "
        f'_robolin_completion {fake}; printf "%s" "${{COMPREPLY[*]}}"'
    )
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == (reply, "")
    assert (tmp_path / "asked").read_text() == received


def test_the_entry_point_returns_completions(capsys):
    """With the variable set, the command prints completions instead of running."""
    variables = {
        "_ROBOLIN_COMPLETE": "bash_complete",
        "COMP_WORDS": "robolin inver",
        "COMP_CWORD": "1",
    }
    with patch.dict(os.environ, variables), pytest.raises((SystemExit, click.exceptions.Exit)):
        group.main(prog_name="robolin")
    assert capsys.readouterr().out.split() == ["plain,inverse"]


@pytest.mark.parametrize("name", ["arm.xacro", "arm.xml", "arm.mjcf", "robot_descriptions:ur10"])
@pytest.mark.parametrize("flag", ["--q", "--joints", "--tip", "--lock"])
def test_completing_starts_no_program(here, monkeypatch, name, flag):
    """Joints of a file that another program would expand, compile or download are not offered."""

    def started(*_args, **_kwargs):
        raise AssertionError("a program was started")

    monkeypatch.setattr(subprocess, "Popen", started)
    monkeypatch.setattr(os, "system", started)
    monkeypatch.setattr(robot_source, "fetched_description", started)
    if ":" not in name:
        Path(name).write_text('<mujoco><worldbody><body name="a"/></worldbody></mujoco>')
    assert completions("inverse", name, flag, "") == []


def test_completing_does_not_wait_for_a_pipe(here):
    """A named pipe is not opened: its writer may come later."""
    os.mkfifo("pipe.urdf")
    assert completions("inverse", "pipe.urdf", "--q", "") == []


def with_joint(name: str) -> str:
    """A robot file with one joint of that name."""
    return f"""robolin: 1
name: arm
joints:
  - {{name: {json.dumps(name)}, type: revolute, parent: base, child: link, axis: [0, 0, 1]}}
links:
  - {{name: link, mass: 1.0, com: [0.1, 0, 0], inertia: {{ixx: 0.1, iyy: 0.1, izz: 0.1}}}}
"""


@pytest.mark.parametrize("name", ["a\nplain,b", "a\tb", "a\x1b[31m", "a\u2028b", "-o", "--output"])
def test_names_on_several_lines_and_like_flags_are_not_offered(here, name):
    """A name that a shell's script would take for several, or a command for a flag, is left out."""
    Path("odd.yaml").write_text(with_joint(name))
    Path(f"{name}.yaml").write_text("")
    offered = completions("inverse", "odd.yaml", "--joints", "") + completions("inverse", "")
    assert "odd.yaml" in offered
    assert [word for word in offered if not word.isprintable() or word.startswith("-")] == []


# every character with a meaning in bash, zsh or fish
HOSTILE = "a`touch ran`$(touch ran);touch ran&touch ran|x>y<z'\"\\ !{b}[c]*?~#^é"
SHELLS = {
    "bash": ["bash", "--norc", "--noprofile", "-i"],
    "zsh": ["zsh", "-f", "-i"],
    "fish": ["fish", "--no-config", "-i"],
}
SETUP = {"zsh": "autoload -U compinit; compinit -u -D; "}


@pytest.mark.slow
@pytest.mark.parametrize("quote", ["", "'", '"'])
@pytest.mark.parametrize("shell", SHELLS)
def test_no_shell_executes_the_content_of_a_name(tmp_path, shell, quote):
    """Tab and Enter pass the name of the joint to the command, and execute no part of it."""
    if shutil.which(shell) is None:
        pytest.skip(f"needs {shell}")
    if quote and shell != "bash":
        pytest.skip("zsh and fish know by themselves in which quotes they are")
    (tmp_path / "arm.yaml").write_text(with_joint(HOSTILE))
    (tmp_path / "script").write_text(run_ok("completion", shell).out)
    command = tmp_path / "bin/robolin"
    command.parent.mkdir()
    real = f"exec {sys.executable} -c 'from robolin.cli.entry_point import run; run()'"
    record = f"printf '%s\\n' \"$@\" > {tmp_path}/words"
    command.write_text(
        f'#!/bin/sh\nif [ -n "$_ROBOLIN_COMPLETE" ]; then {real} "$@"; fi\n{record}\n'
    )
    command.chmod(0o755)
    setup = f"{SETUP.get(shell, '')}source {tmp_path}/script\r"
    typed = [setup, f"robolin inverse arm.yaml --joints {quote}a\t\r"]
    # what is behind an opening quote ends with a closing one at the latest
    typed += [f"{quote}\r"] if quote else ["exit\r"]
    in_terminal(SHELLS[shell], typed, tmp_path)
    words = (tmp_path / "words").read_text().splitlines()
    assert not (tmp_path / "ran").exists()
    if not quote:
        assert words == ["inverse", "arm.yaml", "--joints", HOSTILE]


def in_terminal(command: list[str], typed: list[str], folder: Path) -> None:
    """Run a shell in a new terminal, and type each line when it prompts for one."""
    places = {"PATH": f"{folder}/bin:{os.environ['PATH']}", "HOME": str(folder)}
    settings = {"TERM": "dumb", "LC_ALL": "C.UTF-8", "PYTHONPATH": os.pathsep.join(sys.path)}
    child, terminal = pty.fork()
    if child == 0:
        os.chdir(folder)
        prompts = {"PS1": "> ", "PS2": "> "}
        os.execvpe(command[0], command, {**os.environ, **places, **settings, **prompts})
    try:
        for line in typed:
            until_prompted(terminal)
            os.write(terminal, line.encode())
        until_prompted(terminal)
    finally:
        os.kill(child, signal.SIGKILL)
        os.close(terminal)
        os.waitpid(child, 0)


def until_prompted(terminal: int) -> None:
    """Read what a shell shows until it prompts or ends."""
    shown = b""
    with suppress(OSError):
        while b"> " not in shown and (more := os.read(terminal, 4096)):
            shown += more
