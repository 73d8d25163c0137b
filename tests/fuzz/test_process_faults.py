"""Faults of a process: signals, limits, a full disk, no home, other writers of the same file."""

from __future__ import annotations

import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path

import numpy as np
import pytest

import robolin
from tests.cli.command import CommandRun, environment, python, run_ok

START = "from robolin.cli.entry_point import run; run()"
# for signals that are blocked until robolin's first statement, which handles SIGINT
HELD_BACK = f"""
import _signal
install = _signal.signal
# a shell that runs tests in the background may make them inherit an ignored SIGINT
install(_signal.SIGINT, _signal.default_int_handler)

def first(*args):
    _signal.signal = install
    install(*args)
    _signal.pthread_sigmask(_signal.SIG_SETMASK, [])

_signal.signal = first
{START}
"""
# enough rows for a file of some hundred kilobytes, more than a small disk holds
ROWS = 6_000


def _started(
    *words: str, limit: Callable[[], None] | None = None, start: str = START
) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-c", start, *words],
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=limit,
    )


def _ended(process: subprocess.Popen[bytes]) -> CommandRun:
    out, err = process.communicate(timeout=120)
    return CommandRun(process.returncode, out.decode(), err.decode())


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("t.csv").write_text(_table())
    return tmp_path


@cache
def _table() -> str:
    rows = (f"{i},{1e-4 * i!r},{-2e-4 * i!r}\n" for i in range(ROWS))
    return "time,shoulder/position,elbow/position\n" + "".join(rows)


def _numbers(path: str) -> bytes:
    return robolin.read_result(path).arrays["mass_matrix"].tobytes()


@cache
def _all_numbers() -> bytes:
    """The numbers in a file with all rows of t.csv."""
    rows = np.loadtxt(_table().splitlines(), delimiter=",", skiprows=1)
    return robolin.mass_matrix(robolin.load("two-link"), rows[:, 1:]).tobytes()


def _left(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir() if path.name.startswith(".robolin-")]


# signal -> exit codes: that of the signal, or 0 where it came too late
SIGNALS = {signal.SIGINT: 130, signal.SIGTERM: 143, signal.SIGHUP: 129, signal.SIGKILL: -9}


# every format with SIGKILL; signals that unwind the stack differ only in their number
SIGNALS_AND_FORMATS = [
    *((signal.SIGKILL, ext) for ext in ("csv", "npz", "parquet")),
    *((signal.SIGTERM, "parquet"), (signal.SIGINT, "csv"), (signal.SIGHUP, "npz")),
]


@pytest.mark.slow
@pytest.mark.parametrize(
    "number, ext", SIGNALS_AND_FORMATS, ids=lambda part: getattr(part, "name", part)
)
def test_signals_at_random_times(project: Path, number: signal.Signals, ext: str) -> None:
    """The file is absent or complete, and the next write at the latest removes partial files."""
    rng = random.Random(f"{number} {ext}")
    words = ("mass-matrix", "two-link", "--trajectory", "t.csv", "-o", f"out.{ext}")
    hold = partial(signal.pthread_sigmask, signal.SIG_BLOCK, [number])
    process = _started(*words, limit=hold, start=HELD_BACK)
    time.sleep(rng.uniform(0.1, 0.5))
    process.send_signal(number)
    ran = _ended(process)
    assert ran.code in (0, SIGNALS[number], -number), ran
    assert "Traceback" not in ran.err or ran.code == -number
    if Path(f"out.{ext}").exists():
        assert _numbers(f"out.{ext}") == _all_numbers()
    if number != signal.SIGKILL:
        assert _left(project) == []
    run_ok(*words)
    assert _numbers(f"out.{ext}") == _all_numbers()
    assert _left(project) == []


# kinds of output not covered above: a file with a companion, and a folder of files
KILLED = """
import random, sys
import llvmlite.binding
from robolin.cli.main import main
from tests.fuzz.kills import Kills, killed
# imports what each of them would: what is killed is work
main(["inverse", "two-link", "-o", "before.csv"])
found = Kills()
killed(sys.argv[1], 3, random.Random(1), found)
print(found.broken, found.ended["killed"])
"""


@pytest.mark.slow
@pytest.mark.parametrize("what", ["record csv", "new program"])
def test_a_few_kills_of_the_long_run(what: str) -> None:
    """A killed write leaves its target complete, and the next write removes partial files."""
    ran = python(KILLED, what)
    assert ran.out.split() == ["[]", "3"], ran


# one with a companion, and one without
@pytest.mark.slow
@pytest.mark.parametrize("ext", ["csv", "npz"])
def test_two_processes_and_one_target(project: Path, ext: str) -> None:
    """The file of the last writer is there, complete."""
    words = ("mass-matrix", "two-link", "--trajectory", "t.csv", "-o", f"out.{ext}")
    ended = [_ended(process) for process in [_started(*words) for _ in range(2)]]
    assert [ran.code for ran in ended] == [0, 0]
    assert _numbers(f"out.{ext}") == _all_numbers()
    assert _left(project) == []


# number of simultaneous processes with an empty kernel cache; each exits with 0 on success
AT_ONCE = """
import os, sys
import numpy as np, robolin
arm = robolin.load("two-link")
q = np.random.default_rng(0).uniform(-1, 1, (500, 2))
truth = robolin.mass_matrix(arm, q, engine="python").tobytes()
children = []
for _ in range(int(sys.argv[1])):
    children.append(os.fork())
    if children[-1] == 0:
        ended = 1
        try:
            ended = robolin.mass_matrix(arm, q, engine="compiled").tobytes() != truth
        finally:
            os._exit(ended)
print([os.waitpid(child, 0)[1] for child in children])
"""


@pytest.mark.slow
def test_an_empty_cache_under_many_processes(project: Path) -> None:
    """Each gets a correct kernel, one kernel is cached, and no partial file is left."""
    kept = project / "kernels"
    env = environment(ROBOLIN_CACHE=str(project))
    ran = subprocess.run(
        [sys.executable, "-c", AT_ONCE, "6"], env=env, capture_output=True, timeout=120
    )
    assert ran.stdout.decode().strip() == str([0] * 6), ran.stderr
    assert [path.suffix for path in kept.iterdir()] == [".kernel"]


# MB of address space, command line -> exit codes it may end with
MEMORY = {
    (60, "inverse two-link"): (3, 4),
    # below 101 MB, OpenBLAS itself ends the process while NumPy is imported
    (103, "inverse two-link"): (0, 3, 4),
    (60, "validate panda"): (0, 3, 4),
    (300, "forward panda -o out.parquet"): (3, 4),
    (700, "forward panda -o out.parquet"): (3, 4),
    (300, "inverse two-link --trajectory t.csv -o out.npz"): (0, 3, 4),
    (700, "inverse two-link --trajectory t.csv -o out.csv"): (0, 3, 4),
}


@pytest.mark.slow
@pytest.mark.parametrize(("size", "line"), list(MEMORY))
def test_a_limit_on_memory(project: Path, size: int, line: str) -> None:
    """The command returns a result or an error message, and leaves no partial file."""
    space = size * 1_000_000

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (space, space))

    ran = _ended(_started(*line.split(), limit=limit))
    assert ran.code in MEMORY[size, line], ran
    assert "bug" not in ran.err
    assert _left(project) == []


@pytest.mark.slow
@pytest.mark.parametrize("line", ["forward two-link", "inverse two-link --trajectory t.csv"])
def test_no_home_and_no_account(line: str) -> None:
    """Commands work for a user without an account or a home folder."""
    unknown = "import pwd\ndef none(*_): raise KeyError\npwd.getpwuid = pwd.getpwnam = none\n"
    kept = {"HOME", "ROBOLIN_CACHE", "XDG_CACHE_HOME", "USER", "LOGNAME"}
    env = {key: value for key, value in environment().items() if key not in kept}
    done = subprocess.run(
        [sys.executable, "-c", unknown + START, *line.split()], env=env, capture_output=True
    )
    assert done.returncode == 0, done.stderr
    assert b"Traceback" not in done.stderr


def _small_disk(size: str, script: str) -> CommandRun | None:
    """Run a script where ./small is a disk of its own; None if the system does not permit it."""
    tool = shutil.which("unshare")
    if tool is None:
        return None
    Path("small").mkdir()
    mount = f"mount -t tmpfs -o size={size} none small || exit 99\n"
    done = subprocess.run(
        [tool, "-Urm", "sh", "-c", mount + script], env=environment(), capture_output=True
    )
    out, err = done.stdout.decode(), done.stderr.decode()
    refused = done.returncode == 99 or "unshare" in err
    return None if refused else CommandRun(done.returncode, out, err)


@pytest.mark.parametrize(
    ("ext", "size"),
    [
        ("csv", "4k"),
        *(
            pytest.param(ext, size, marks=pytest.mark.slow)
            for ext, size in (("csv", "200k"), ("json", "4k"), ("npz", "200k"), ("parquet", "4k"))
        ),
    ],
)
def test_a_full_disk(ext: str, size: str) -> None:
    """Every format reports a full disk as such and leaves no file on it."""
    words = f"mass-matrix two-link --trajectory t.csv -o small/out.{ext}"
    start = f"{sys.executable} -c '{START}' {words}; code=$?; ls -A small; exit $code"
    ran = _small_disk(size, start)
    if ran is None:
        pytest.skip("mounting a small disk is not allowed here")
    assert (ran.code, ran.out) == (4, "")
    assert "hint: the disk is full; the file was not changed" in ran.err
    assert os.listdir("small") == []
