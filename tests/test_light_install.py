"""Without llvmlite and polars, every command gives the same bits, or names the package it needs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import robolin as library
from robolin.engine import run
from robolin.engine.compiled import kernels
from tests.cli.command import python, run_ok

# the import system treats None as a package that is not installed
LIGHT = """
import json, sys
sys.modules["llvmlite"] = sys.modules["polars"] = None
from robolin.cli.main import main
for words in json.loads(sys.argv[1]):
    code = main(words)
    print("exit", code, flush=True)
"""

# modules and names that Windows does not have
POSIX = """
import os, signal, sys
for name in ("fcntl", "grp", "pty", "pwd", "resource", "termios", "tty"):
    sys.modules[name] = None
for module, names in ((os, "fchmod fork getuid killpg mkfifo openpty pread sched_getaffinity "
                           "statvfs sysconf"), (signal, "SIGALRM SIGHUP SIGKILL SIGPIPE SIGQUIT")):
    for name in names.split():
        if hasattr(module, name):
            delattr(module, name)
"""

TWO_LINK_MOTION = ("--trajectory", "MOTION")
COMMANDS: tuple[tuple[str, ...], ...] = (
    ("inverse", "two-link", *TWO_LINK_MOTION),
    ("forward", "two-link", *TWO_LINK_MOTION),
    ("linearize-forward", "two-link", *TWO_LINK_MOTION),
    ("mass-matrix", "two-link", *TWO_LINK_MOTION),
    ("regressor", "two-link", *TWO_LINK_MOTION),
    ("poles", "two-link", *TWO_LINK_MOTION),
    ("simulate", "two-link", "--q", "1,-0.5", "--duration", "0.2"),
    ("excite", "two-link", "--max-velocity", "2,2", "--max-acceleration", "5,5",
     "--duration", "2", "--iterations", "3"),
    ("ik", "two-link", "--goal", "tip=1,0.5,0"),
)  # fmt: skip


def light(*commands: tuple[str, ...], before: str = LIGHT) -> tuple[list[int], str]:
    """Exit codes and messages of commands in a process without the two packages."""
    import json

    ran = python(before, json.dumps(commands))
    assert ran.code == 0, ran.err
    codes = [int(line.split()[1]) for line in ran.out.splitlines() if line.startswith("exit ")]
    assert len(codes) == len(commands), ran.err
    return codes, ran.err


@pytest.fixture
def motion(tmp_path: Path) -> str:
    """A trajectory of 200 rows, which a full installation runs in compiled code."""
    path = tmp_path / "motion.csv"
    time = 0.01 * np.arange(200)
    states = [np.sin(k * time) for k in range(1, 9)]
    words = ("position", "velocity", "acceleration", "effort")
    names = ["time", *(f"{joint}/{word}" for word in words for joint in ("shoulder", "elbow"))]
    np.savetxt(path, np.column_stack([time, *states]), delimiter=",", comments="",
               header=",".join(names))  # fmt: skip
    return str(path)


@pytest.mark.slow
def test_results_have_the_same_bytes(motion: str, tmp_path: Path) -> None:
    """Each table that is written without compiled code equals the one written with it."""
    commands = [tuple(motion if w == "MOTION" else w for w in words) for words in COMMANDS]
    here, there = (
        [(*words, "-o", str(tmp_path / f"{kind}-{i}.csv")) for i, words in enumerate(commands)]
        for kind in ("full", "light")
    )
    for words in here:
        run_ok(*words)
    codes, messages = light(*there)
    assert codes == [0] * len(there), messages
    for full, small in zip(here, there, strict=True):
        assert Path(full[-1]).read_bytes() == Path(small[-1]).read_bytes(), full
    assert messages.count("pip install llvmlite") == 1


@pytest.mark.slow
def test_missing_packages_are_named(motion: str, tmp_path: Path) -> None:
    """A command that needs one of the packages names it, and writes nothing."""
    table = tmp_path / "out.parquet"
    codes, messages = light(
        ("inverse", "two-link", "--trajectory", motion, "-o", str(table)),
        ("optimize", "two-link", "--goal", "0.3,0.3", "--duration", "0.5"),
    )
    assert codes == [3, 2]
    assert "Parquet and Arrow files require the package polars" in messages
    assert "optimize requires the package llvmlite" in messages
    assert not table.exists()


def test_functions_of_one_state_run_without_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    """`robolin.compile` gives the same bits on floats, and rejects the same states."""
    arm = library.load("two-link")
    q, qd, qdd = np.random.default_rng(3).uniform(-1, 1, (3, 2))
    expected = library.compile(arm, "inverse")(q, qd, qdd)
    monkeypatch.setattr(kernels, "has_compiler", lambda: False)
    monkeypatch.setattr(kernels, "warn_once", lambda message: None)
    call = library.compile(library.load("two-link"), "inverse")
    out = np.empty(2)
    assert call(q, qd, qdd).tobytes() == expected.tobytes()
    assert call(q, qd, qdd, out=out).tobytes() == expected.tobytes()
    with pytest.raises(library.RobolinError, match="finite"):
        call(q, np.array([np.nan, 0.0]), qdd)


def test_large_batches_run_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks of rows give the results and the rejected rows of one block."""
    arm = library.load("two-link")
    q = np.random.default_rng(4).uniform(-1, 1, (3, 7, 2))
    complete = library.linearize_forward(arm, q, engine="python")
    monkeypatch.setattr(run, "ROWS_AT_ONCE", 4)
    parts = library.linearize_forward(arm, q, engine="python")
    for name in ("dqdd_dtau", "dqdd_dqd", "dqdd_dq"):
        assert getattr(complete, name).tobytes() == getattr(parts, name).tobytes()


@pytest.mark.slow
def test_commands_run_without_posix_modules(motion: str, tmp_path: Path) -> None:
    """Commands need no module that Windows lacks, and write the same bytes without them."""
    code = POSIX + LIGHT.replace('sys.modules["llvmlite"] = sys.modules["polars"] = None', "")
    command = ("inverse", "two-link", "--trajectory", motion)
    commands = [
        (*command, "-o", str(tmp_path / "a b.csv")),
        (*command, "-o", str(tmp_path / "t.parquet")),
        ("record", *command, "-o", str(tmp_path / "stored.npz")),
        ("check", str(tmp_path / "stored.npz")),
    ]
    codes, messages = light(*commands, before=code)
    assert codes == [0] * len(commands), messages
    run_ok(*command, "-o", str(tmp_path / "here.csv"))
    assert (tmp_path / "a b.csv").read_bytes() == (tmp_path / "here.csv").read_bytes()
