"""Failures on one machine of several, in real processes: named, with the other parts correct.

Machines are processes in mount namespaces of their own, which requires root; without root the
cases that need one are skipped and reported.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from time import sleep

from robolin import __version__
from tests.batch.cluster.kill_rounds import PART_ROWS, files_of, write_recordings
from tests.cli.command import ROOT, START, environment

_QUIET = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
_OTHER_VERSION = "import robolin; robolin.__version__ = '0.0.1'"
# rows of a part that takes long enough to be interrupted
_LONG = 100_000


class NamedCases:
    """Cases in a folder of recordings, each with a folder of parts of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "arm").mkdir()
        shutil.copy(ROOT / "models" / "panda.urdf", folder / "arm")
        write_recordings(folder)
        self._names = [str(folder / f"{name}.csv") for name in "abcd"]
        done = self._robolin(*self._ask("single"))
        assert done.returncode == 0, done.stderr
        self._single = files_of(folder / "single")
        self._scheduler = folder / "scheduler.json"

    def run(self) -> list[str]:
        """Every case and its messages."""
        dask = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--host", "127.0.0.1"]
        options = ["--port", "0", "--no-dashboard", "--scheduler-file", str(self._scheduler)]
        with _running([*dask, *options]):
            _wait(self._scheduler.exists)
            cases = [self.full_disk, self.another_version, self.no_arm, self.changed_recording]
            lines = [f"{case.__name__}: {case()}" for case in cases]
            return [*lines, *(f"{each.__name__}: {each()}" for each in (self.vanished, self.unfit))]

    def full_disk(self) -> str:
        """A full disk of a worker is reported; another worker makes its parts."""
        out = self.folder / "full"
        out.mkdir()
        if not _can_mount():
            return "left out, as it takes the rights of root"
        full = ["unshare", "-m", "sh", "-c", f"mount -t tmpfs -o size=64k full {out} && exec $0 $@"]
        with self._worker(before=full):
            alone = self._robolin(*self._ask("full"), *self._cluster(1))
        _require(alone, 4, "could not write: No space left on device")
        assert not list(out.glob("*part-*"))
        with self._worker(before=full), self._worker():
            done = self._robolin(*self._ask("full"), *self._cluster(2))
        _require(done, 0, "failed: could not write: No space left on device")
        assert files_of(out) == self._single
        return f"{_summary(alone, 'No space')}; with another worker: {_summary(done, 'No space')}"

    def another_version(self) -> str:
        """A worker with another version of robolin is rejected before the first part."""
        shim = self.folder / "shim"
        shim.mkdir()
        (shim / "sitecustomize.py").write_text(_OTHER_VERSION)
        with self._worker(), self._worker(path=str(shim)):
            done = self._robolin(*self._ask("version"), *self._cluster(2))
        _require(done, 3, f"robolin must be {__version__}, got 0.0.1")
        assert not list((self.folder / "version").glob("part-*"))
        return _summary(done, "0.0.1")

    def no_arm(self) -> str:
        """A worker without the arm's file is rejected before the first part."""
        if not _can_mount():
            return "left out, as it takes the rights of root"
        hide = f"mount -t tmpfs none {self.folder / 'arm'} && exec $0 $@"
        with self._worker(), self._worker(before=["unshare", "-m", "sh", "-c", hide]):
            done = self._robolin(*self._ask("arm-less"), *self._cluster(2))
        _require(done, 3, "is missing or different")
        assert not list((self.folder / "arm-less").glob("part-*"))
        return _summary(done, "is missing")

    def changed_recording(self) -> str:
        """No part is left of a recording that changes while a worker reads it."""
        path, out = self.folder / "long.csv", self.folder / "changed"
        head, *rows = (self.folder / "a.csv").read_text().splitlines()
        path.write_text("\n".join([head, *(rows * (2 * _LONG // len(rows))), ""]))
        ask = self._ask("changed", [str(path), *self._names[:1]], _LONG)
        with self._worker() as worker, self._command(*ask, *self._cluster(1)) as client:
            _wait(lambda: any(out.glob(".robolin-*.part")))
            os.kill(worker.pid, signal.SIGSTOP)
            with open(path, "a") as stream:
                stream.write(f"{rows[0]}\n")
            os.kill(worker.pid, signal.SIGCONT)
            done = _ended(client)
        _require(done, 3, f"{path} on worker")
        assert "the recording was changed after planning" in done.stderr
        assert [path.name for path in out.glob("*part*")] == ["part-00002.parquet"]
        return _summary(done, "changed")

    def vanished(self) -> str:
        """Parts of a recording that is removed meanwhile are reported; all others are made."""
        shutil.copy(self.folder / "d.csv", self.folder / "gone.csv")
        names = [*self._names[:3], str(self.folder / "gone.csv")]
        out = self.folder / "vanished"
        assert self._robolin(*self._ask("not-vanished", names)).returncode == 0
        single = files_of(self.folder / "not-vanished")
        ask = self._ask("vanished", names)
        with self._worker(), self._command(*ask, *self._cluster(1)) as client:
            _wait(lambda: any(out.glob("part-*")))
            (self.folder / "gone.csv").unlink()
            done = _ended(client)
        _require(done, 4, "gone.csv")
        assert "no such file" in done.stderr
        there = files_of(out)
        assert len(there) >= 48
        assert there.items() <= single.items()
        return _summary(done, "no such file")

    def unfit(self) -> str:
        """A truncated part and one of another plan are reported and computed again."""
        out = self.folder / "unfit"
        shutil.copytree(self.folder / "single", out)
        done = self._robolin(*self._ask("other", self._names, 2 * PART_ROWS))
        assert done.returncode == 0, done.stderr
        shutil.copy(self.folder / "other" / "part-00009.parquet", out)
        (out / "part-00005.parquet").write_bytes(self._single["part-00005.parquet"][:-100])
        status = self._robolin("status", str(out))
        assert status.returncode == 1
        assert "1 damaged, 1 of another plan" in status.stdout
        with self._worker():
            done = self._robolin(*self._ask("unfit"), *self._cluster(1))
        _require(done, 0, "part-00005.parquet: damaged (not a valid Parquet file")
        assert "part-00009.parquet: of another plan (part 9" in done.stderr
        assert files_of(out) == self._single
        return _summary(done, "computed again")

    def _ask(self, out: str, names: Sequence[str] = (), rows: int = PART_ROWS) -> list[str]:
        files = [word for name in names or self._names for word in ("--trajectory", name)]
        words = ["mass-matrix", str(self.folder / "arm" / "panda.urdf"), *files]
        options = ["--part-rows", str(rows), "--resume", "--jobs", "1"]
        return [*words, "-o", str(self.folder / out), *options]

    def _cluster(self, workers: int) -> list[str]:
        """The flag that names the scheduler, once this number of workers has connected."""
        from distributed import Client

        with Client(scheduler_file=str(self._scheduler)) as client:
            client.wait_for_workers(workers, timeout=120)
            _wait(lambda: len(client.nthreads()) == workers)
            return ["--cluster", client.scheduler.address]

    @contextmanager
    def _worker(
        self, before: Sequence[str] = (), path: str = ""
    ) -> Iterator[subprocess.Popen[bytes]]:
        """A worker started by another command, with modules of its own."""
        dask = [sys.executable, "-m", "distributed.cli.dask_worker", "--no-nanny"]
        options = ["--nthreads", "1", "--no-dashboard", "--scheduler-file", str(self._scheduler)]
        env = environment()
        env["PYTHONPATH"] = os.pathsep.join(filter(None, [path, env["PYTHONPATH"]]))
        with _running([*before, *dask, *options], env) as process:
            yield process

    @contextmanager
    def _command(self, *words: str) -> Iterator[subprocess.Popen[str]]:
        command = [sys.executable, "-c", START, *words]
        with subprocess.Popen(
            command, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        ) as process:
            yield process

    def _robolin(self, *words: str) -> subprocess.CompletedProcess[str]:
        with self._command(*words) as process:
            return _ended(process)


def _ended(process: subprocess.Popen[str]) -> subprocess.CompletedProcess[str]:
    out, err = process.communicate()
    return subprocess.CompletedProcess(process.args, process.returncode, out, err)


@contextmanager
def _running(
    words: Sequence[str], env: dict[str, str] | None = None
) -> Iterator[subprocess.Popen[bytes]]:
    """A process that is killed in the end."""
    with subprocess.Popen(words, env=env or environment(), **_QUIET) as process:
        try:
            yield process
        finally:
            process.kill()


def _wait(ready: Callable[[], bool]) -> None:
    while not ready():
        sleep(0.001)


def _can_mount() -> bool:
    tried = subprocess.run(["unshare", "-m", "mount", "-t", "tmpfs", "none", "/mnt"], **_QUIET)
    return tried.returncode == 0


def _require(done: subprocess.CompletedProcess[str], code: int, words: str) -> None:
    assert done.returncode == code, (done.returncode, done.stderr[-2000:])
    assert words in done.stderr, done.stderr[-2000:]


def _summary(done: subprocess.CompletedProcess[str], words: str) -> str:
    """The exit code and the first line with these words."""
    line = next(line for line in done.stderr.splitlines() if words in line)
    return f"exit {done.returncode}: {line}"
