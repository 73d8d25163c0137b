"""Console blocks of the docs: commands with their expected output, run in a separate shell."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from tools.markdown import ROOT

ANYTHING = "..."
# variables that are passed on: user folders, kernel cache key, bytecode folder and compiler
# settings
KEPT = ("HOME", "TMPDIR", "PYTHONPYCACHEPREFIX", "ROBOLIN_OPTIMIZE")
START = "import sys; sys.argv[0] = 'robolin'; from robolin.cli.main import run; sys.exit(run())"


def environment(folder: Path) -> dict[str, str]:
    """Environment without colour or terminal, 100 columns wide; `robolin` runs this source."""
    script = folder / "robolin"
    script.write_text(f'#!/bin/sh\nexec "{sys.executable}" -c "{START}" "$@"\n')
    script.chmod(0o755)
    kept = {name: os.environ[name] for name in KEPT if name in os.environ}
    if "PYTHONPYCACHEPREFIX" not in kept:
        kept["PYTHONDONTWRITEBYTECODE"] = "1"
    return kept | {
        "PATH": f"{folder}:{os.defpath}",
        "PYTHONPATH": str(ROOT),
        # use the existing kernel cache, so that kernels are not compiled again
        "ROBOLIN_CACHE": os.environ.get("ROBOLIN_CACHE", str(folder / "kernels")),
        "PYTHONIOENCODING": "utf-8",
        "LC_ALL": "C.UTF-8",
        "NO_COLOR": "1",
        "TERM": "dumb",
        "COLUMNS": "100",
    }


def printed(command: str, folder: Path, variables: dict[str, str]) -> list[str]:
    """Lines that a command prints, including errors, when run in `folder`."""
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
    # a page never shows a crash as the expected output
    assert "this is a bug in robolin" not in done.stdout, f"$ {command}\n{done.stdout}"
    return trimmed(done.stdout.splitlines())


def commands(text: str) -> Iterator[tuple[str, list[str]]]:
    """Commands with their expected output; a trailing backslash continues a command."""
    blocks: list[tuple[str, list[str]]] = []
    for line in text.splitlines():
        if blocks and not blocks[-1][1] and blocks[-1][0].endswith("\\"):
            blocks[-1] = (f"{blocks[-1][0]}\n{line}", [])
        elif line.startswith("$ "):
            blocks.append((line[2:], []))
        else:
            assert blocks, f"a console block starts with a command, not with {line!r}"
            blocks[-1][1].append(line)
    for command, shown in blocks:
        yield command, trimmed(shown)


def matches(shown: list[str], lines: list[str]) -> bool:
    """True if the lines match the expected ones; `...` matches any number of lines."""
    pattern = "".join(
        r"(?:.*\n)*" if line.strip() == ANYTHING else re.escape(line) + r"\n" for line in shown
    )
    return re.fullmatch(pattern, "".join(line + "\n" for line in lines)) is not None


def trimmed(lines: list[str]) -> list[str]:
    """Lines without trailing blanks and without trailing blank lines."""
    lines = [line.rstrip() for line in lines]
    while lines and not lines[-1]:
        lines.pop()
    return lines
