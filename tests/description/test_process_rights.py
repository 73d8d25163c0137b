"""A process that gave up its rights reads permitted files, and the system rejects all else."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

ATTEMPTS = {
    "landlock": (
        "open(outside).read()",
        "os.listdir(os.path.dirname(outside))",
        "open(inside, 'a')",
        "open(inside + '.new', 'w')",
        "os.unlink(inside)",
        "os.mkdir(inside + '.folder')",
        "os.rename(inside, inside + '.moved')",
        "os.symlink(inside, inside + '.link')",
    ),
    "seccomp": (
        "socket.socket(socket.AF_INET, socket.SOCK_STREAM)",
        "socket.socket(socket.AF_INET, socket.SOCK_DGRAM)",
        "socket.socketpair()",
        "os.fork() or os._exit(0)",
        "os.execv(sys.executable, [sys.executable, '-c', ''])",
        "os.posix_spawn(sys.executable, [sys.executable, '-c', ''], {})",
        "os.kill(os.getppid(), 0)",
    ),
}
PROGRAM = """
import json, os, socket, sys
from robolin.description.worker_process import give_up_rights
folder, inside, outside, attempts = json.load(sys.stdin)
held = give_up_rights([folder])
found = {}
for attempt in attempts:
    try:
        eval(attempt)
    except PermissionError:
        found[attempt] = "refused"
    except Exception as error:
        found[attempt] = repr(error)
    else:
        found[attempt] = "done"
print(json.dumps([held, open(inside).read(), found]))
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="Landlock and seccomp are Linux's")
@pytest.mark.parametrize("guard", ATTEMPTS)
def test_the_system_refuses_what_was_given_up(tmp_path, guard):
    """Landlock permits reading below one folder; seccomp denies sockets and other processes."""
    for name in ("packages", "private"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").write_text(name)
    inside, outside = tmp_path / "packages/file", tmp_path / "private/file"
    request = [str(inside.parent), str(inside), str(outside), ATTEMPTS[guard]]
    command = [sys.executable, "-c", PROGRAM]
    done = subprocess.run(command, input=json.dumps(request), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    held, text, outcomes = json.loads(done.stdout)
    if guard not in held:
        pytest.skip(f"this kernel has no {guard}")
    assert text == "packages"
    assert outcomes == dict.fromkeys(ATTEMPTS[guard], "refused")
    assert sorted(path.name for path in inside.parent.iterdir()) == ["file"]
