"""The audit hook of the process that expands xacro files, under real calls of Python."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

# by the audit event that Python raises for it
ATTEMPTS = {
    "socket.__new__": "socket.socket()",
    "socket.getaddrinfo": "socket.getaddrinfo('localhost', 80)",
    "socket.gethostbyname": "socket.gethostbyname('localhost')",
    "socket.connect": "known.connect(('127.0.0.1', 9))",
    "socket.bind": "known.bind(('127.0.0.1', 0))",
    "socket.sendto": "datagrams.sendto(b'x', ('127.0.0.1', 9))",
    "subprocess.Popen": "subprocess.Popen([sys.executable, '-c', ''])",
    "os.system": "os.system('true')",
    "os.fork": "os.fork()",
    "os.exec": "os.execv(sys.executable, [sys.executable, '-c', ''])",
    "os.remove": "os.remove(inside)",
    "os.rename": "os.rename(inside, inside + '.moved')",
    "os.mkdir": "os.mkdir(inside + '.folder')",
    "os.chmod": "os.chmod(inside, 0)",
    "os.putenv": "os.putenv('A', 'b')",
    "shutil.rmtree": "shutil.rmtree(os.path.dirname(inside))",
    "ctypes.dlopen": "ctypes.CDLL(None)",
    "signal.pthread_kill": "signal.pthread_kill(0, 0)",
    "outside": "open(outside)",
    "the folder outside": "os.listdir(os.path.dirname(outside))",
    "all folders outside": "os.scandir(os.path.dirname(outside))",
}
PROGRAM = """
import ctypes, encodings.idna, json, os, shutil, signal, socket, subprocess, sys
from pathlib import Path
from robolin.description.xacro.xacro_worker import Roots
inside, outside, attempts = json.load(sys.stdin)
known, datagrams = socket.socket(), socket.socket(type=socket.SOCK_DGRAM)
roots = Roots(Path(inside), {})
sys.addaudithook(roots.guard)
found = {}
for event, attempt in attempts.items():
    try:
        eval(attempt)
    except Exception as error:
        found[event] = f"{type(error).__name__}: {error}"
    else:
        found[event] = "done"
print(json.dumps([found, open(inside).read(), sorted(os.listdir(os.path.dirname(inside)))]))
"""


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Results of all attempts in one process; the robot's own file stays readable."""
    folder = tmp_path_factory.mktemp("guard")
    for name in ("robot", "private"):
        (folder / name).mkdir()
        (folder / name / "arm.xacro").write_text(name)
    inside, outside = (str(folder / name / "arm.xacro") for name in ("robot", "private"))
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        input=json.dumps([inside, outside, ATTEMPTS]),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    attempts, text, files = json.loads(done.stdout)
    assert (text, files) == ("robot", ["arm.xacro"])
    assert Path(inside).stat().st_mode & 0o400
    return attempts


@pytest.mark.slow
@pytest.mark.parametrize("event", ATTEMPTS)
def test_network_processes_and_files_are_out_of_reach(outcomes: dict[str, str], event: str) -> None:
    """No socket, no process, no change of a file, and nothing read outside the robot's package."""
    outside = "outside" in event
    refusal = (
        "is outside the robot's packages"
        if outside
        else f"the file uses {event}, which is not allowed"
    )
    assert refusal in outcomes[event]
