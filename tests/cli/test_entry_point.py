"""The command as a process: imported modules, exit codes and files left behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest

from robolin.queries.verbs import VERBS
from tests.cli.command import START, environment, forked, process, python
from tests.fork_server import run_forked

HEAVY = ("numpy", "rich", "yaml", "polars", "llvmlite", "scipy")
LIST_MODULES = """
import json, sys
from robolin.cli.main import main
code = main(sys.argv[1:])
print(json.dumps([name for name in sys.modules]), file=sys.stderr)
"""
# stop when the first bytes of a file are on disk, as a signal during a write would
STOPPED_WRITING = """
import os, signal, sys, time
import robolin.io.{module} as writer
signal.signal(signal.SIGINT, signal.default_int_handler)

def half(result, stream, *_):
    stream.write(b"half")
    stream.flush()
    os.kill(os.getpid(), signal.{name})
    time.sleep(60)

writer.{function} = half
from robolin.cli.main import run
run()
"""
BROKEN = """
import robolin.queries.algorithm_answer as answer

def evaluate(*args, **how):
    {body}

answer.evaluate_arm = evaluate
from robolin.cli.main import run
run()
"""


# Ctrl-C during the import of a module
INTERRUPTED_AT = """
import os, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)

class Interrupting:
    def find_spec(self, name, *more):
        if name == {name!r}:
            sys.meta_path.remove(self)
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Interrupting())
from robolin.cli.entry_point import run
run()
"""
# imported module -> exit code and stderr
INTERRUPTIONS = {
    "robolin.cli.main": (130, ""),
    "robolin.core.progress": (130, ""),
    "robolin.cli.group": (130, "error: interrupted\n"),
    "robolin.core.arm": (130, "error: interrupted\n"),
    "numpy": (130, "error: interrupted\n"),
}


@pytest.mark.parametrize("name", INTERRUPTIONS)
def test_an_interruption_while_modules_are_imported(name: str) -> None:
    """Ctrl-C ends the command without a traceback, however early it comes."""
    # inverse dynamics of one state does not import NumPy
    verb = "poles" if name == "numpy" else "inverse"
    ran = python(INTERRUPTED_AT.format(name=name), verb, "two-link")
    assert (ran.code, ran.err) == INTERRUPTIONS[name]
    assert ran.out == ""


# an interrupt is pending, or held back, until the first statement of ours has installed a handler
HELD_BACK = """
import _signal
install = _signal.signal

def first(*args):
    _signal.signal = install
    install(*args)
    _signal.pthread_sigmask(_signal.SIG_UNBLOCK, [_signal.SIGINT])

_signal.signal = first
from robolin.cli.entry_point import run
run()
"""
DELAYS = 10


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="signals are different there")
@pytest.mark.parametrize("args", [["--help"], ["inverse", "panda", "-q"]], ids=" ".join)
def test_an_interruption_at_any_time_ends_with_130(args: list[str]) -> None:
    """After our first statement, Ctrl-C gives exit code 130 without a traceback, or is too late."""
    hold = partial(signal.pthread_sigmask, signal.SIG_BLOCK, [signal.SIGINT])
    ends = []
    for i in range(DELAYS):
        command = subprocess.Popen(
            [sys.executable, "-c", HELD_BACK, *args],
            env=environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            preexec_fn=hold,
        )
        # some delays end during the imports, for any load of the machine
        time.sleep(0.04 * i)
        command.send_signal(signal.SIGINT)
        _, err = command.communicate(timeout=120)
        ends.append((command.returncode, err.decode()))
    assert {*ends} <= {(0, ""), (130, ""), (130, "error: interrupted\n")}
    assert ends[0] == (130, "")


TURNED = {
    "another exception": "try:\n        os.kill(os.getpid(), signal.SIGINT)\n"
    "    except KeyboardInterrupt:\n        raise ImportError('numpy could not be loaded')",
    "an ignored exception": "class Closed:\n        def __del__(self):\n"
    "            os.kill(os.getpid(), signal.SIGINT)\n"
    "    Closed()\n    time.sleep(600)",
}


@pytest.mark.skipif(os.name == "nt", reason="signals are different there")
@pytest.mark.parametrize("body", TURNED.values(), ids=TURNED)
def test_an_interruption_that_a_library_turns_into_something_else(body: str) -> None:
    """Ctrl-C ends with 130 although what it interrupted raises another exception, or none."""
    ran = forked("import os, signal, time\n" + BROKEN.format(body=body), "inverse", "two-link")
    assert (ran.code, ran.err) == (130, "error: interrupted\n")


@pytest.mark.parametrize(
    "args", [["--version"], ["--help"], ["inverse", "--help"], ["count", "--help"]], ids=" ".join
)
def test_help_and_version_import_nothing_heavy(args: list[str]) -> None:
    """Help needs neither NumPy nor any reader or writer."""
    ran = python(LIST_MODULES, *args)
    modules = set(json.loads(ran.err))

    assert modules.isdisjoint(HEAVY)
    assert "robolin.description.load" not in modules


def test_no_command_imports_anything_heavy_for_its_help_page() -> None:
    """The modules of all commands need neither NumPy nor any reader or writer."""
    commands = {verb.command.partition(":")[0] for verb in VERBS.values()}
    ran = python(f"import json, sys, {', '.join(commands)}; print(json.dumps([*sys.modules]))")
    assert set(json.loads(ran.out)).isdisjoint(HEAVY)


def test_the_list_of_verbs_needs_no_arm() -> None:
    """The list of verbs does not import the modules of an arm."""
    modules = set(json.loads(python(LIST_MODULES, "--help").err))

    assert modules.isdisjoint({"robolin.core.arm_parts", "robolin.core.arm", "html", "subprocess"})


@pytest.mark.slow
def test_one_state_imports_no_optional_writer() -> None:
    """One state of a URDF arm as CSV needs NumPy, but no table drawer, YAML or data frames."""
    modules = set(json.loads(python(LIST_MODULES, "inverse", "panda").err))

    assert modules.isdisjoint({"rich", "yaml", "polars", "llvmlite", "scipy"})


def test_results_are_on_stdout_and_messages_on_stderr() -> None:
    """stdout has two lines of CSV, stderr the note."""
    ran = process("inverse", "ur5")

    assert ran.code == 0
    assert [line.count(",") for line in ran.out.splitlines()] == [5, 5]
    assert ran.err.startswith("note: ur5: ")


def test_a_rejected_command_prints_nothing_on_stdout() -> None:
    """Errors have a place, a hint on its own line, an exit code and no traceback."""
    ran = process("inverse", "two-link", "--q", "0,x")

    assert (ran.code, ran.out) == (2, "")
    assert ran.err.splitlines()[0] == "error: --q=0,x: 'x' is not a number"
    assert ran.err.splitlines()[1].startswith("hint: ")


@pytest.mark.skipif(os.name == "nt", reason="pipes close differently there")
@pytest.mark.parametrize(
    "args", [["--help"], ["--version"], ["inverse", "panda"], ["inspect", "panda"]], ids=" ".join
)
def test_a_closed_pipe_ends_quietly(args: list[str]) -> None:
    """A closed pipe is not an error, and the interpreter prints no message."""
    read, write = os.pipe()
    os.close(read)
    try:
        done = run_forked(START, args, environment(), stdout=write)
    finally:
        os.close(write)

    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
@pytest.mark.parametrize("args", [["inverse", "two-link"], ["models"]], ids=" ".join)
def test_a_full_disk_is_reported_once(args: list[str]) -> None:
    """Output that cannot be written gives exit code 4 and one line."""
    with open("/dev/full", "wb") as full:
        done = run_forked(START, args, environment(), stdout=full)

    assert done.returncode == 4
    assert done.stderr.decode() == "error: standard output: No space left on device\n"


def test_a_closed_stdout_is_an_error() -> None:
    """With nowhere to write to, the command does not pretend to have worked."""
    ran = python("import sys; sys.stdout = None\n" + START, "inverse", "two-link")

    assert ran.code == 4
    assert "standard output is closed" in ran.err


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="signals are different there")
@pytest.mark.parametrize("name, code", [("SIGTERM", 143), ("SIGINT", 130)])
@pytest.mark.parametrize(
    "module, function, file",
    [
        ("formats.csv_writer", "_write_table", "out.csv"),
        ("formats.json_writer", "write_json_to", "out.json"),
    ],
)
def test_a_signal_leaves_no_half_written_file(
    name: str, code: int, module: str, function: str, file: str, tmp_path: Path
) -> None:
    """Terminated or interrupted in the middle of a file, no part of it stays behind."""
    program = STOPPED_WRITING.format(module=module, function=function, name=name)
    ran = forked(program, "inverse", "two-link", "-o", str(tmp_path / file))

    assert ran.code == code, ran.err
    assert "Traceback" not in ran.err
    assert list(tmp_path.iterdir()) == []


def test_a_bug_is_called_one() -> None:
    """An exception of ours is exit code 70, one line, and a way to see the traceback."""
    ran = forked(BROKEN.format(body="1 / 0"), "inverse", "two-link")

    assert (ran.code, ran.out) == (70, "")
    assert ran.err.splitlines()[0] == (
        "error: this is a bug in robolin: ZeroDivisionError: division by zero"
    )
    assert "ROBOLIN_DEBUG=1" in ran.err
    assert "Traceback" not in ran.err


def test_the_traceback_of_a_bug_can_be_seen() -> None:
    """ROBOLIN_DEBUG=1 shows where it happened."""
    debug = "import os\nos.environ['ROBOLIN_DEBUG'] = '1'\n"
    ran = forked(debug + BROKEN.format(body="1 / 0"), "inverse", "two-link")

    assert ran.code == 70
    assert "Traceback (most recent call last)" in ran.err


def test_too_little_memory_is_not_a_bug() -> None:
    """A MemoryError is reported as such."""
    ran = forked(BROKEN.format(body="raise MemoryError"), "inverse", "two-link")

    assert ran.code == 3
    assert ran.err.startswith("error: not enough memory")


def test_running_threads_do_not_keep_the_process() -> None:
    """An interrupted command does not wait for its threads.

    This thread never ends; without the exit the test would time out.
    """
    ran = python(
        "import sys, threading\n"
        "threading.Thread(target=threading.Event().wait).start()\n"
        "from robolin.cli.main import run\n"
        "sys.argv[1:] = ['inverse', 'two-link', '-q']\n"
        "run()"
    )
    assert ran.code == 0, ran.err
    assert ran.out.startswith("shoulder/effort"), ran.out


@pytest.mark.slow
def test_the_package_runs_as_the_command_does() -> None:
    """Where scripts are not on the path, `python -m robolin` is the same command."""
    line = [sys.executable, "-m", "robolin", "inverse", "two-link", "--format", "csv"]
    ran = subprocess.run(line, env=environment(), capture_output=True, timeout=120)
    script = python(START, *line[3:])
    assert (ran.returncode, ran.stdout.decode(), ran.stderr.decode()) == (0, script.out, script.err)
