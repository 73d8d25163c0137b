"""Inject a fault at every system call of a command and check how the command handles it.

Each table is a test: a fault and its exit code. After any fault a file has its old or its new
content, no partial file is left, and the same command works again.
"""

from __future__ import annotations

import errno
import io
import os
import resource
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from itertools import cycle, islice
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from robolin.cli.main import main
from tests.cli.command import CommandRun, robolin, run_ok

MOTION = "time,shoulder/position,elbow/position\n" + "".join(
    f"{i},{0.1 * i:.3f},{-0.05 * i:.3f}\n" for i in range(40)
)

# every kind of output: the arguments, the name of the output file, the exit code
WRITERS: dict[str, tuple[str, str, int]] = {
    **{
        f"{verb} {ext}": (f"{words} -o out.{ext}", f"out.{ext}", 0)
        for ext in ("csv", "json", "npz", "parquet")
        for verb, words in (
            ("state", "inverse two-link"),
            ("rows", "mass-matrix two-link --trajectory t.csv"),
            ("record", "record forward two-link --trajectory t.csv"),
        )
    },
    "state mat": ("inverse two-link -o out.mat", "out.mat", 0),
    "gains npz": ("lqr two-link --q elbow=1 -o out.npz", "out.npz", 0),
    "momentum csv": ("momentum two-link --trajectory t.csv -o out.csv", "out.csv", 0),
    "state-space mat": ("state-space two-link -o out.mat", "out.mat", 0),
    "poles json": ("poles two-link -o out.json", "out.json", 0),
    "response npz": ("response two-link --duration 0.1 -o out.npz", "out.npz", 0),
    "simulate csv": ("simulate two-link --duration 0.002 -o out.csv", "out.csv", 0),
    **{f"inspect {x}": (f"inspect two-link -o out.{x}", f"out.{x}", 0) for x in ("txt", "json")},
    "count txt": ("count inverse two-link -o out.txt", "out.txt", 0),
    "models json": ("models -o out.json", "out.json", 0),
    **{
        f"validate {ext}": (f"validate arm.urdf -o out.{ext}", f"out.{ext}", 1)
        for ext in ("txt", "json", "xml", "sarif")
    },
    "baseline": ("validate arm.urdf --write-baseline out.json", "out.json", 0),
    **{
        f"diff {ext}": (f"diff two-link panda -o out.{ext}", f"out.{ext}", 1)
        for ext in ("txt", "md", "csv", "json")
    },
    **{
        f"check {ext}": (f"check held.json -o out.{ext}", f"out.{ext}", 0)
        for ext in ("txt", "json", "xml")
    },
}


# a quick run tries every command, every format and every kind of report
QUICK = {
    *("state csv", "rows parquet", "record npz", "state json", "simulate csv", "inspect txt"),
    *("count txt", "models json", "validate sarif", "baseline", "diff md", "check xml"),
}


def _of_writer(what: str, *more: str) -> Any:
    return pytest.param(what, *more, marks=() if what in QUICK else pytest.mark.slow)


every_writer = pytest.mark.parametrize("what", [_of_writer(what) for what in WRITERS])


@pytest.fixture(scope="session")
def held(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A stored result."""
    path = tmp_path_factory.mktemp("held") / "held.json"
    run_ok("record", "inverse", "two-link", "-o", path)
    return path.read_text("utf-8")


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, held: str) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("t.csv").write_text(MOTION)
    Path("arm.urdf").write_text(
        '<robot name="a"><link name="b"/><link name="l"/><joint name="j" type="revolute">'
        '<parent link="b"/><child link="l"/><limit lower="2" upper="1"/></joint></robot>'
    )
    Path("held.json").write_text(held, "utf-8")
    return tmp_path


class Failing:
    """A system function whose k-th call for a file of this folder fails."""

    def __init__(self, real: Callable[..., Any], at: int, number: int) -> None:
        self.real, self.at, self.number = real, at, number
        self.calls = 0

    @property
    def failed(self) -> bool:
        return self.calls >= self.at

    def __call__(self, *args: Any, **more: Any) -> Any:
        if self._here(args):
            self.calls += 1
            if self.calls == self.at:
                raise OSError(self.number, os.strerror(self.number))
        return self.real(*args, **more)

    def _here(self, args: tuple[Any, ...]) -> bool:
        name = os.readlink(f"/proc/self/fd/{args[0]}") if isinstance(args[0], int) else args[0]
        return os.path.realpath(os.path.dirname(str(name)) or ".") == os.path.realpath(".")


def _kept(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def _refused(ran: CommandRun, code: int = 4) -> None:
    assert ran.code == code, ran
    assert ran.err.startswith(("error: ", "warning: ", "note: ")), ran.err
    assert "error: " in ran.err
    assert "Traceback" not in ran.err
    assert "bug" not in ran.err


# system call -> the errors it may fail with
CALLS: dict[str, tuple[int, ...]] = {
    "fsync": (errno.EIO, errno.ENOSPC),
    "replace": (errno.EIO, errno.EACCES, errno.EROFS),
    "chmod": (errno.EPERM,),
    "open": (errno.ENOSPC, errno.EMFILE),
}


@pytest.mark.parametrize("call", CALLS)
@every_writer
def test_every_call_that_fails(project: Path, what: str, call: str) -> None:
    """Any failing call leaves the old file in place and gives exit code 4.

    Errors and existing files vary from call to call, and from writer to writer.
    """
    line, out, _ = WRITERS[what]
    words, turn = line.split(), list(WRITERS).index(what)
    reasons = islice(cycle(CALLS[call]), turn, None)
    for k, number in zip(range(1, 9), reasons, strict=False):
        _leave(project, out, b"as it was" if (turn // 2 + k) % 2 else None)
        before = _kept(project)
        failing = Failing(getattr(os, call), k, number)
        with patch.object(os, call, failing):
            ran = robolin(*words)
        if not failing.failed:
            assert k > 1 or call in ("chmod", "open"), "nothing was called at all"
            return
        _refused(ran)
        assert _kept(project) == before
    raise AssertionError("it never came to an end")


def _leave(folder: Path, out: str, old: bytes | None) -> None:
    """Remove an output and its provenance, or leave former ones behind."""
    for name in (out, f"{out}.meta.json"):
        (folder / name).unlink(missing_ok=True)
    if old is not None:
        (folder / out).write_bytes(old)
        if out.endswith(".csv"):
            (folder / f"{out}.meta.json").write_bytes(b"{}")


@contextmanager
def _at_most(size: int) -> Iterator[None]:
    """Limit the size of files to `size` bytes, as a full disk does."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@every_writer
def test_every_write_that_fails(project: Path, what: str) -> None:
    """A disk that takes a part of the file leaves no partial file, and the next run is complete."""
    line, out, code = WRITERS[what]
    words = line.split()
    assert robolin(*words).code == code
    expected = (project / out).read_bytes()
    before = _kept(project)
    for share in (0.0, 0.5, 0.99):
        with _at_most(int(share * (len(expected) - 1))):
            ran = robolin(*words)
        _refused(ran)
        assert "could not write: File too large" in ran.err
        assert _kept(project) == before
    assert robolin(*words).code == code
    if not what.startswith("check"):
        # the report contains the duration of a check
        assert (project / out).read_bytes() == expected


class Broken(io.RawIOBase):
    """Standard output that fails after some bytes."""

    def __init__(self, number: int, after: int) -> None:
        self._number, self._left = number, after

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self._left -= len(data)
        if self._left < 0:
            raise OSError(self._number, os.strerror(self._number))
        return len(data)


# error of standard output -> exit code: a reader that closed the pipe has read enough
STREAMS = {errno.EPIPE: 0, errno.ENOSPC: 4, errno.EIO: 4}
SHOWN = (
    *(f"inverse two-link --format {form}" for form in ("table", "csv", "json")),
    *(f"mass-matrix two-link --trajectory t.csv --format {form}" for form in ("csv", "json")),
    *(f"inspect two-link --format {form}" for form in ("table", "json")),
    *(f"validate arm.urdf --format {x}" for x in ("table", "json", "github", "junit", "sarif")),
    *(f"diff two-link panda --format {form}" for form in ("table", "markdown", "csv", "json")),
    *(f"check held.json --format {form}" for form in ("table", "json", "github", "junit")),
    "models",
    "count inverse two-link",
    "simulate two-link --duration 0.002",
    "--help",
    "inverse --help",
)


@pytest.mark.parametrize("number", STREAMS, ids=errno.errorcode.__getitem__)
@pytest.mark.parametrize("line", SHOWN)
def test_standard_output_that_fails(line: str, number: int) -> None:
    """A closed pipe ends the command, and a full disk is reported, wherever the output was cut."""
    # half of the lines fail at the first byte; with the next error the other half does
    after = 10 * ((SHOWN.index(line) + list(STREAMS).index(number)) % 2)
    out = io.TextIOWrapper(io.BufferedWriter(Broken(number, after), 1), encoding="utf-8")
    err = io.StringIO()
    with patch.multiple(sys, stdout=out, stderr=err):
        code = main(line.split())
    assert (code, "bug" in err.getvalue()) == (STREAMS[number], False), err.getvalue()
    # flush the buffer now: it fails once more, and must not do so in another test
    with suppress(OSError):
        out.close()


@pytest.mark.parametrize("what", [name for name in WRITERS if "rows" in name or "check" in name])
def test_no_threads_left(project: Path, what: str) -> None:
    """An error to start a thread is reported, and no partial file is left."""

    def refused(_: object) -> None:
        raise RuntimeError("can't start new thread")

    before = _kept(project)
    with patch.object(threading.Thread, "start", refused):
        ran = robolin(*WRITERS[what][0].split())
    _refused(ran)
    assert "cannot start another thread" in ran.err
    assert _kept(project) == before


# commands that choose the names: new files of one folder, or a folder of files
MADE = ("new out", "models --copy two-link", "generate two-link inverse -o out")


@pytest.mark.parametrize("call", [*CALLS, "write"])
@pytest.mark.parametrize("line", MADE)
def test_targets_that_are_created(project: Path, line: str, call: str) -> None:
    """A file that could not be created is named with exit code 4, and the next run creates it."""
    before, names = _kept(project), {path.name for path in project.iterdir()}
    if call == "write":
        with _at_most(10):
            ran = robolin(*line.split())
    else:
        with patch.object(os, call, FailingOnce(getattr(os, call))):
            ran = robolin(*line.split())
    if ran.code:
        _refused(ran)
        assert _kept(project) == before
        assert {path.name for path in project.iterdir()} <= names | {"out"}
        assert robolin(*line.split()).code == 0
    else:
        assert call in ("chmod", "open"), "it was called, and failed"
    assert not list(project.rglob(".robolin-*"))


class FailingOnce:
    """A function of the system that fails when it is called for the first time."""

    def __init__(self, real: Callable[..., Any]) -> None:
        self.real, self.failed = real, False

    def __call__(self, *args: Any, **more: Any) -> Any:
        if self.failed:
            return self.real(*args, **more)
        self.failed = True
        raise OSError(errno.EIO, os.strerror(errno.EIO))


# where an output cannot be
PLACES = {
    "a folder": "there/{out}",
    "does not exist": "nowhere/{out}",
    "a file as a folder": "t.csv/{out}",
    "a link to itself": "loop/{out}",
    "a name too long": "x" * 300 + "{out}",
}


def _two_of(names: Iterable[str], turn: int) -> Iterator[str]:
    return islice(cycle(names), 2 * turn, 2 * turn + 2)


# two targets for every writer, and the next two for the next writer
@pytest.mark.parametrize(
    ("what", "target"),
    [_of_writer(what, target) for i, what in enumerate(WRITERS) for target in _two_of(PLACES, i)],
)
def test_targets_that_cannot_be_written(project: Path, what: str, target: str) -> None:
    """They are named with exit code 4, and no other file is touched."""
    line, out, _ = WRITERS[what]
    path = PLACES[target].format(out=out)
    Path("there", out).mkdir(parents=True)
    Path("loop").symlink_to("loop")
    before = _kept(project)
    _refused(robolin(*(path if word == out else word for word in line.split())))
    assert _kept(project) == before


# an input, and the exit codes if it is a folder, missing, empty, or all zeros
INPUTS: dict[str, tuple[int, int, int, int]] = {
    "inverse IN.urdf": (4, 4, 3, 3),
    "inverse IN.yaml": (4, 4, 3, 3),
    "inverse two-link --trajectory IN.csv": (4, 4, 3, 3),
    "inverse two-link --trajectory IN.npz": (4, 4, 3, 3),
    "inverse two-link --trajectory IN.parquet": (4, 4, 3, 3),
    "simulate two-link --duration 1 --initial IN.csv": (4, 4, 3, 3),
    "simulate two-link --duration 1 --trajectory IN.csv": (4, 4, 3, 3),
    "sensitivity two-link --trajectory IN.csv --matrices": (4, 4, 3, 3),
    "simulate two-link --duration 1 --feedback IN.npz": (4, 4, 3, 3),
    "lqr IN.urdf": (4, 4, 3, 3),
    "poles IN.yaml": (4, 4, 3, 3),
    "state-space IN.urdf": (4, 4, 3, 3),
    "response IN.yaml --duration 1": (4, 4, 3, 3),
    "lqr two-link --time-varying --dt 0.1 --trajectory IN.csv": (4, 4, 3, 3),
    "diff two-link IN.urdf": (4, 4, 3, 3),
    "diff two-link two-link --torques IN.csv": (4, 4, 3, 3),
    "validate IN.urdf": (4, 4, 1, 1),
    "validate two-link --config IN.toml": (4, 4, 0, 4),
    "check IN.json": (4, 4, 3, 3),
    "check IN.csv": (4, 4, 3, 3),
    "check IN.npz": (4, 4, 3, 3),
    "check IN.parquet": (4, 4, 3, 3),
    "check held.json --against IN.json": (4, 4, 3, 3),
    "check held.json --model IN.urdf": (4, 4, 3, 3),
    "check --suite IN.toml": (4, 4, 3, 3),
    "record --suite IN.toml": (4, 4, 3, 3),
    "inspect IN.urdf": (4, 4, 3, 3),
    "momentum IN.urdf": (4, 4, 3, 3),
    "momentum two-link --trajectory IN.txt": (4, 4, 3, 3),
    "inverse two-link --trajectory IN.csv.gz": (4, 4, 3, 4),
    "inverse two-link --trajectory IN.tsv": (4, 4, 3, 3),
    "inverse IN.mjcf": (4, 4, 3, 3),
    "validate IN.mjcf": (4, 4, 1, 1),
    "generate IN.urdf inverse -o out": (4, 4, 3, 3),
    "count inverse IN.urdf": (4, 4, 3, 3),
    "verify IN.urdf": (4, 4, 3, 3),
    "bench IN.urdf": (4, 4, 3, 3),
}
KINDS = ("a folder", "not there", "empty", "zeros")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("line", INPUTS)
def test_invalid_inputs(line: str, kind: str) -> None:
    """Unreadable inputs give exit code 4, invalid ones 3, and a report of findings 1."""
    words = line.split()
    path = Path(next(word for word in words if word.startswith("IN")))
    if kind == "a folder":
        path.mkdir()
    elif kind != "not there":
        path.write_bytes(b"" if kind == "empty" else bytes(300))
    ran = robolin(*words)
    assert ran.code == INPUTS[line][KINDS.index(kind)], ran
    assert "Traceback" not in ran.err
    assert "bug" not in ran.err
