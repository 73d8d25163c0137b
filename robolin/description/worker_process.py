"""Separate process with few rights for readers that execute third-party content.

Its time and memory are bounded.  On Linux, Landlock restricts the process to reading below given
folders, and a seccomp filter denies sockets, new processes and access to other processes.  Both
need no privileges and no package.  Elsewhere, and on kernels without them, only the bounds remain.
"""

from __future__ import annotations

import json
import os
import struct
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from typing import Any, NamedTuple

# timeout in seconds, for slow disks and for systems without CPU limits
TIMEOUT = 60

# exit code if the system denies memory, threads or files
_NO_ROOM = 75

# start code of the process: sys.path is part of the request
_START = (
    "import json, sys; request = json.load(sys.stdin); sys.path[:] = request['path']; "
    f"from {__name__} import reply_on_stdout; reply_on_stdout(request)"
)


class ProcessBounds(NamedTuple):
    """Limits of a process: CPU time in seconds and memory in bytes."""

    seconds: int
    memory: int


class OutOfBoundsError(Exception):
    """The process exceeded its time or memory, or crashed."""


class WaitedTooLongError(OutOfBoundsError):
    """The process had too little CPU time, or waited for a disk."""


def run_in_separate_process(
    module: str, request: Mapping[str, Any], bounds: ProcessBounds
) -> dict[str, Any]:
    """Call the function `reply` of a module in a new process; request and result are JSON data."""
    folders = [os.path.abspath(folder) for folder in sys.path]
    message = {"module": module, "request": request, "path": folders, "bounds": bounds}
    command = [sys.executable, "-I", "-S", "-X", "utf8", "-c", _START]
    try:
        done = subprocess.run(
            command, input=json.dumps(message).encode(), capture_output=True, timeout=TIMEOUT
        )
    except subprocess.TimeoutExpired:
        raise WaitedTooLongError from None
    if done.returncode < 0 or done.returncode == _NO_ROOM:
        # killed by the system, or without memory, threads or files
        raise OutOfBoundsError
    if done.returncode:
        raise AssertionError(done.stderr.decode(errors="replace"))
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def reply_on_stdout(request: Mapping[str, Any]) -> None:
    """Write the reply to a request on standard output, inside the process."""
    output, sys.stdout = sys.stdout, sys.stderr
    try:
        module: Any = import_module(request["module"])
        module.prepare()
        bound_this_process(*request["bounds"])
        json.dump(module.reply(request["request"]), output)
        output.flush()
    except (MemoryError, ImportError, OSError):
        os._exit(_NO_ROOM)
    # exit immediately, without running code of the content
    os._exit(0)


def bound_this_process(seconds: int, memory: int) -> None:
    """Limit CPU time and memory of this process, unless the system's limits are lower."""
    try:
        import resource
    except ImportError:
        # Windows has no such limits: only the caller's timeout applies
        return
    for kind, most in ((resource.RLIMIT_CPU, seconds), (resource.RLIMIT_AS, memory)):
        _, hard = resource.getrlimit(kind)
        if hard == resource.RLIM_INFINITY or hard > most:
            resource.setrlimit(kind, (most, most))


# system calls of Landlock, the same on every architecture
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_VERSION_FLAG = 1
_PATH_BENEATH = 1
_READ_FILE, _READ_DIR = 1 << 2, 1 << 3
# number of file access rights in each version of Landlock
_FILE_RIGHTS = {1: 13, 2: 14, 3: 15, 4: 15, 5: 16}
_TCP_SINCE, _TCP = 4, 0b11
_SCOPES_SINCE, _SCOPES = 6, 0b11

_SET_NO_NEW_PRIVS, _SET_SECCOMP, _FILTER = 38, 22, 2
_NOT_PERMITTED = 0x0005_0001
_ALLOW = 0x7FFF_0000
# flag of the x32 system calls, which an x86-64 kernel may support
_X32 = 0x4000_0000

# numbers of: socket, socketpair; clone, fork, vfork, execve, execveat, clone3; kill, tkill, tgkill,
# ptrace, process_vm_readv, process_vm_writev, pidfd_open; io_uring_setup
_DENIED = {
    "x86_64": (
        0xC000_003E,
        (41, 53, 56, 57, 58, 59, 322, 435, 62, 200, 234, 101, 310, 311, 434, 425),
    ),
    "aarch64": (
        0xC000_00B7,
        (198, 199, 220, 221, 281, 435, 129, 130, 131, 117, 270, 271, 434, 425),
    ),
}


def give_up_rights(readable: Iterable[str]) -> tuple[str, ...]:
    """Keep only the right to read below some folders; return the names of the active measures.

    Open files stay open: standard output and imported modules are not affected.
    """
    held = []
    if _limit_resources():
        held.append("rlimit")
    if sys.platform == "linux":
        try:
            import ctypes

            libc = ctypes.CDLL(None)
        except (ImportError, OSError):
            return tuple(held)
        libc.syscall.restype = ctypes.c_long
        libc.prctl.argtypes = (ctypes.c_int, *[ctypes.c_ulong] * 4)
        if libc.prctl(_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0:
            if _landlock(libc.syscall, readable):
                held.append("landlock")
            if _seccomp(libc.prctl):
                held.append("seccomp")
    return tuple(held)


def _limit_resources() -> bool:
    """Set limits: no file writes, no core dumps and, except for root, no new processes."""
    try:
        import resource
    except ImportError:
        # Windows has no such limits
        return False
    for kind in (
        resource.RLIMIT_FSIZE,
        resource.RLIMIT_CORE,
        getattr(resource, "RLIMIT_NPROC", None),
    ):
        if kind is not None:
            resource.setrlimit(kind, (0, 0))
    return True


def _landlock(syscall: Callable[..., int], readable: Iterable[str]) -> bool:
    import ctypes

    def call(number: int, *values: int | bytes | None) -> int:
        wide = (ctypes.c_long(value) if isinstance(value, int) else value for value in values)
        return syscall(ctypes.c_long(number), *wide)

    version = call(_CREATE_RULESET, None, 0, _VERSION_FLAG)
    if version < 1:
        return False
    files = (1 << _FILE_RIGHTS[min(version, max(_FILE_RIGHTS))]) - 1
    rights = struct.pack("=Q", files)
    if version >= _TCP_SINCE:
        rights += struct.pack("=Q", _TCP)
    if version >= _SCOPES_SINCE:
        rights += struct.pack("=Q", _SCOPES)
    ruleset = call(_CREATE_RULESET, rights, len(rights), 0)
    if ruleset < 0:
        return False
    try:
        for folder in readable:
            _allow_reading(call, ruleset, folder)
        return call(_RESTRICT_SELF, ruleset, 0) == 0
    finally:
        os.close(ruleset)


def _allow_reading(call: Callable[..., int], ruleset: int, folder: str) -> None:
    try:
        descriptor = os.open(folder, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        # a folder that cannot be opened cannot be read either
        return
    try:
        rule = struct.pack("=Qi", _READ_FILE | _READ_DIR, descriptor)
        call(_ADD_RULE, ruleset, _PATH_BENEATH, rule, 0)
    finally:
        os.close(descriptor)


def _seccomp(prctl: Callable[..., int]) -> bool:
    """Deny system calls by number, and all calls of another architecture."""
    import ctypes

    machine = os.uname().machine
    if machine not in _DENIED or sys.maxsize < 2**32:
        return False
    architecture, numbers = _DENIED[machine]
    program = _filter(architecture, numbers)
    held = ctypes.create_string_buffer(program, len(program))
    header = struct.pack("@HP", len(program) // 8, ctypes.addressof(held))
    argument = ctypes.create_string_buffer(header, len(header))
    return prctl(_SET_SECCOMP, _FILTER, ctypes.addressof(argument), 0, 0) == 0


def _filter(architecture: int, numbers: tuple[int, ...]) -> bytes:
    """A BPF program of load, compare and return instructions."""
    load, equal, at_least, result = 0x20, 0x15, 0x35, 0x06
    # (code, jump if true, jump if false, operand)
    lines = [(load, 0, 0, 4), (equal, 1, 0, architecture), (result, 0, 0, _NOT_PERMITTED)]
    lines += [(load, 0, 0, 0), (at_least, len(numbers) + 1, 0, _X32)]
    lines += [(equal, len(numbers) - i, 0, number) for i, number in enumerate(numbers)]
    lines += [(result, 0, 0, _ALLOW), (result, 0, 0, _NOT_PERMITTED)]
    return b"".join(struct.pack("=HBBI", *line) for line in lines)
