"""Run the robolin command in this process or in a new one."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

from robolin.cli.main import main
from tests.fork_server import run_forked

ROOT = Path(__file__).parents[2]
START = "from robolin.cli.main import run; run()"


@dataclass(frozen=True)
class CommandRun:
    """Exit code, stdout and stderr of a command."""

    code: int
    out: str
    err: str

    @property
    def rows(self) -> list[list[str]]:
        """Cells of stdout, read as CSV."""
        return [line.split(",") for line in self.out.splitlines()]

    @property
    def numbers(self) -> list[list[float]]:
        """Numbers of the CSV rows below the header."""
        return [[float(cell) for cell in row] for row in self.rows[1:]]


def robolin(*args: str | Path, stdin: bytes = b"") -> CommandRun:
    """Run the command line in this process."""
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8") for _ in range(2))
    source = io.TextIOWrapper(io.BytesIO(stdin), encoding="utf-8")
    with patch.multiple(sys, stdin=source, stdout=out, stderr=err):
        code = main([str(arg) for arg in args])
    return CommandRun(code, _text(out), _text(err))


def run_ok(*args: str | Path, stdin: bytes = b"") -> CommandRun:
    """Run the command line and require exit code 0."""
    run = robolin(*args, stdin=stdin)
    assert run.code == 0, run.err
    return run


def python(program: str, *args: str) -> CommandRun:
    """Run a program in a new interpreter that can import robolin."""
    run = subprocess.run(
        [sys.executable, "-c", program, *args], env=environment(), capture_output=True, timeout=120
    )
    return CommandRun(run.returncode, run.stdout.decode(), run.stderr.decode())


def forked(program: str, *args: str, **variables: str) -> CommandRun:
    """Run a program in a process that has robolin imported, with variables of the environment."""
    run = run_forked(program, args, environment(**variables))
    return CommandRun(run.returncode, run.stdout.decode(), run.stderr.decode())


def process(*args: str) -> CommandRun:
    """Run the command line through the entry point, as a shell would."""
    return python(START, *args)


def environment(**variables: str) -> dict[str, str]:
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH", "")]))
    return {**os.environ, "PYTHONPATH": path, **variables}


def _text(stream: io.TextIOWrapper) -> str:
    stream.flush()
    buffer = stream.buffer
    assert isinstance(buffer, io.BytesIO)
    return buffer.getvalue().decode()
