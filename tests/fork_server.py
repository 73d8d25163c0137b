"""Run programs in forks of a process that has imported robolin, which takes most of their time.

A fork has its own standard streams, folder, environment, signals, limits and exit code. Tests of
start-up, imports and memory start an interpreter instead.
"""

from __future__ import annotations

import atexit
import io
import json
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from functools import cache
from typing import IO

# the interpreter handles exceptions and the exit code of the program, since this is its last line
SERVER = "from tests.fork_server import serve; exec(compile(serve(), '<string>', 'exec'))"
LENGTH = 8


@cache
def _server() -> socket.socket:
    """Start the server of this process; it ends with the connection."""
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    ours, theirs = socket.socketpair()
    # one thread, as in the command: threads do not survive a fork
    env = {**os.environ, "PYTHONPATH": root, "OPENBLAS_NUM_THREADS": "1"}
    with theirs:
        command = [sys.executable, "-c", SERVER, str(theirs.fileno())]
        server = subprocess.Popen(command, env=env, pass_fds=[theirs.fileno()])
    atexit.register(server.wait)
    atexit.register(ours.close)
    return ours


def run_forked(
    program: str,
    args: Sequence[str],
    env: Mapping[str, str],
    *,
    stdin: bytes = b"",
    stdout: IO[bytes] | int | None = None,
    timeout: float = 120.0,
) -> subprocess.CompletedProcess[bytes]:
    """Run a program as `python -c` does; its standard output is captured, or goes to `stdout`."""
    channel = _server()
    channel.settimeout(timeout)
    with tempfile.TemporaryFile() as source, tempfile.TemporaryFile() as out:
        source.write(stdin)
        source.seek(0)
        with tempfile.TemporaryFile() as err:
            files = [source.fileno(), out.fileno(), err.fileno()]
            if stdout is not None:
                files[1] = stdout if isinstance(stdout, int) else stdout.fileno()
            request = {"program": program, "args": [*args], "env": {**env}, "folder": os.getcwd()}
            message = json.dumps(request).encode()
            socket.send_fds(channel, [len(message).to_bytes(LENGTH, "little")], files)
            channel.sendall(message)
            answer = channel.recv(LENGTH, socket.MSG_WAITALL)
            assert len(answer) == LENGTH, "the server has ended"
            code = int.from_bytes(answer, "little", signed=True)
            texts = []
            for stream in (out, err):
                stream.seek(0)
                texts.append(stream.read())
    return subprocess.CompletedProcess([program, *args], code, *texts)


def serve() -> str:
    """Fork for each request and send the exit code; return the program in the fork."""
    import numpy  # noqa: F401

    import robolin.cli.group
    import robolin.cli.main
    import robolin.queries.request  # noqa: F401

    channel = socket.socket(fileno=int(sys.argv[1]))
    while True:
        length, files, _, _ = socket.recv_fds(channel, LENGTH, 3)
        if not length:
            os._exit(0)
        size = int.from_bytes(length, "little")
        request = json.loads(channel.recv(size, socket.MSG_WAITALL))
        child = os.fork()
        if child == 0:
            channel.close()
            return _become(request, files)
        for file in files:
            os.close(file)
        status = os.waitpid(child, 0)[1]
        code = os.waitstatus_to_exitcode(status)
        channel.sendall(code.to_bytes(LENGTH, "little", signed=True))


def _become(request: dict[str, object], files: Sequence[int]) -> str:
    """Give this process the streams, arguments, folder and environment of a request."""
    for number, file in enumerate(files):
        os.dup2(file, number)
        os.close(file)
    sys.stdin = sys.__stdin__ = open(0, encoding=sys.stdin.encoding, closefd=False)  # noqa: SIM115
    for number, name in ((1, "stdout"), (2, "stderr")):
        old = getattr(sys, name)
        raw = open(number, "wb", closefd=False)  # noqa: SIM115
        new = io.TextIOWrapper(
            raw, encoding=old.encoding, errors=old.errors, line_buffering=name == "stderr"
        )
        setattr(sys, name, new)
        setattr(sys, f"__{name}__", new)
    env, args = request["env"], request["args"]
    assert isinstance(env, dict)
    assert isinstance(args, list)
    os.environ.clear()
    os.environ.update(env)
    os.chdir(str(request["folder"]))
    sys.argv = ["-c", *args]
    return str(request["program"])
