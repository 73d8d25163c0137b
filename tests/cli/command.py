"""The robolin command, run inside the test or as a process of its own."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

from robolin.cli.main import main

ROOT = Path(__file__).parents[2]
START = "from robolin.cli.main import run; run()"


@dataclass(frozen=True)
class CommandRun:
    """How a command ended and what it left on stdout and stderr."""

    code: int
    out: str
    err: str

    @property
    def rows(self) -> list[list[str]]:
        """The answer as CSV cells."""
        return [line.split(",") for line in self.out.splitlines()]

    @property
    def numbers(self) -> list[list[float]]:
        """The answer's rows below the header."""
        return [[float(cell) for cell in row] for row in self.rows[1:]]


def robolin(*args: str | Path, stdin: bytes = b"") -> CommandRun:
    """Run the command line in this process."""
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8") for _ in range(2))
    source = io.TextIOWrapper(io.BytesIO(stdin), encoding="utf-8")
    with patch.multiple(sys, stdin=source, stdout=out, stderr=err):
        code = main([str(arg) for arg in args])
    return CommandRun(code, _text(out), _text(err))


def answered(*args: str | Path, stdin: bytes = b"") -> CommandRun:
    """Run a command line that must work."""
    ran = robolin(*args, stdin=stdin)
    assert ran.code == 0, ran.err
    return ran


def python(program: str, *args: str) -> CommandRun:
    """Run a program in a fresh interpreter that can import robolin."""
    done = subprocess.run(
        [sys.executable, "-c", program, *args], env=environment(), capture_output=True, timeout=120
    )
    return CommandRun(done.returncode, done.stdout.decode(), done.stderr.decode())


def process(*args: str) -> CommandRun:
    """Run the command line through the entry point, as a shell would."""
    return python(START, *args)


def environment(**more: str) -> dict[str, str]:
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH", "")]))
    return {**os.environ, "PYTHONPATH": path, **more}


def _text(stream: io.TextIOWrapper) -> str:
    stream.flush()
    held = stream.buffer
    assert isinstance(held, io.BytesIO)
    return held.getvalue().decode()
