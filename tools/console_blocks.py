"""Console blocks: commands with the output shown below each, run in a shell of their own."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from tools.markdown import ROOT

ANYTHING = "..."
# besides the user's places, those of the key of kernels and of bytecode, and how kernels are made,
# if the caller has chosen
KEPT = ("HOME", "TMPDIR", "XDG_CONFIG_HOME", "PYTHONPYCACHEPREFIX", "ROBOLIN_OPTIMIZE")
START = "import sys; sys.argv[0] = 'robolin'; from robolin.cli.main import run; sys.exit(run())"


def environment(folder: Path) -> dict[str, str]:
    """No colour, no terminal, 100 columns, and a `robolin` in `folder` that runs this source."""
    script = folder / "robolin"
    script.write_text(f'#!/bin/sh\nexec "{sys.executable}" -c "{START}" "$@"\n')
    script.chmod(0o755)
    kept = {name: os.environ[name] for name in KEPT if name in os.environ}
    if "PYTHONPYCACHEPREFIX" not in kept:
        kept["PYTHONDONTWRITEBYTECODE"] = "1"
    return kept | {
        "PATH": f"{folder}:{os.defpath}",
        "PYTHONPATH": str(ROOT),
        # kernels that are there already need not be compiled again
        "ROBOLIN_CACHE": os.environ.get("ROBOLIN_CACHE", str(folder / "kernels")),
        "PYTHONIOENCODING": "utf-8",
        "LC_ALL": "C.UTF-8",
        "NO_COLOR": "1",
        "TERM": "dumb",
        "COLUMNS": "100",
    }


def printed(command: str, folder: Path, variables: dict[str, str]) -> list[str]:
    """The lines that a command prints, errors included, run in `folder`."""
    done = subprocess.run(
        ["sh", "-c", command],
        cwd=folder,
        env=variables,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
        timeout=120,
        check=False,
    )
    return trimmed(done.stdout.splitlines())


def commands(text: str) -> Iterator[tuple[str, list[str]]]:
    """Commands with the output shown below each; a trailing backslash continues a command."""
    found: list[tuple[str, list[str]]] = []
    for line in text.splitlines():
        if found and not found[-1][1] and found[-1][0].endswith("\\"):
            found[-1] = (f"{found[-1][0]}\n{line}", [])
        elif line.startswith("$ "):
            found.append((line[2:], []))
        else:
            assert found, f"a console block starts with a command, not with {line!r}"
            found[-1][1].append(line)
    for command, shown in found:
        yield command, trimmed(shown)


def matches(shown: list[str], lines: list[str]) -> bool:
    """Whether the lines are the ones shown, `...` standing for any number of them."""
    pattern = "".join(
        r"(?:.*\n)*" if line.strip() == ANYTHING else re.escape(line) + r"\n" for line in shown
    )
    return re.fullmatch(pattern, "".join(line + "\n" for line in lines)) is not None


def trimmed(lines: list[str]) -> list[str]:
    """Without blanks at the end of lines and without blank lines at the end."""
    lines = [line.rstrip() for line in lines]
    while lines and not lines[-1]:
        lines.pop()
    return lines
